package chaos_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/app/booking"
	"github.com/ratiba/ratiba/internal/app/booking/tools"
	"github.com/ratiba/ratiba/internal/chaos"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/sim/journal"
	"github.com/ratiba/ratiba/internal/store"
)

// began is when the run of these scenes began; they last ten minutes.
var began = time.Date(2026, 11, 23, 6, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return began.Add(time.Duration(seconds * float64(time.Second))) }

// scene is a small run in which all is well, to be doctored: a customer books
// and pays, a person takes their chat over and hands it back, another hold runs
// out in nobody's way.
type scene struct {
	t *testing.T
	d *db.DB
	e chaos.Evidence
}

func newScene(t *testing.T) *scene {
	t.Helper()
	dir := t.TempDir()
	a, err := booking.New(tools.Stores{Payments: store.Payments{}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), store.Config{Dir: dir, Apps: map[string]store.AppPart{a.Name: {Migrations: a.Migrations}}})
	if err != nil {
		t.Fatal(err)
	}
	tenant, err := s.Tenant("spa", a.Name)
	if err == nil {
		err = tenant.Write(t.Context(), func(db.Tx) error { return nil }) // makes the tables
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	d, err := db.OpenSQLite(t.Context(), filepath.Join(dir, "tenants", "spa.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	sc := &scene{t: t, d: d, e: chaos.Evidence{Businesses: map[string]*db.DB{"spa": d}, Stopped: at(600)}}
	sc.people()
	sc.conversation()
	sc.bookings()
	sc.provider()
	return sc
}

func (s *scene) sql(query string, args ...any) {
	s.t.Helper()
	for i, arg := range args {
		if t, ok := arg.(time.Time); ok {
			args[i] = db.At(t)
		}
	}
	err := s.d.Write(s.t.Context(), func(tx db.Tx) error { return db.Exec(context.Background(), tx, "doctor", query, args...) })
	if err != nil {
		s.t.Fatalf("%v in %s", err, query)
	}
}

func (s *scene) people() {
	s.sql("INSERT INTO contacts (id, created_at) VALUES ('c1', $1), ('admin', $1)", at(0))
	s.sql("INSERT INTO contact_identities (kind, value, contact_id) VALUES ('phone', '+254710000001', 'c1'), ('phone', '+254722500001', 'admin')")
	s.sql(`INSERT INTO conversation_threads (id, mailbox_key, contact_id, actor_type, app, graph_version, node, state, driver, language, disclosed,
		counters, version, epoch, opened_at, last_at) VALUES ('th1', 'contact:c1', 'c1', 'customer', 'booking', 1, 'GREET', '{}', 'AGENT_DRIVING',
		'en', 1, '{}', 9, 2, $1, $1)`, at(0))
	s.sql("INSERT INTO timers (mailbox_key, scope, name, due_at) VALUES ('contact:c1', 'th1', 'ttl', $1)", at(2000))
	s.sql("INSERT INTO mailboxes (key, due_at) VALUES ('contact:c1', $1)", at(2000))
}

// in stores something that came in and the turn that took it, which found the
// thread under driver.
func (s *scene) in(seq int, kind, dedupe, turn, driver string, when time.Time) {
	s.sql("INSERT INTO inbox (seq, mailbox_key, kind, dedupe_key, payload, received_at, done_at, turn_id) VALUES ($1, 'contact:c1', $2, $3, '{}', $4, $5, $6)",
		seq, kind, dedupe, when, when.Add(time.Second), turn)
	s.turn(turn, driver, when.Add(time.Second), seq)
}

func (s *scene) turn(id, driver string, when time.Time, seq int) {
	thread := "null"
	if driver != "" {
		thread = fmt.Sprintf(`{"driver":%q}`, driver)
	}
	s.sql("INSERT INTO turns (id, mailbox_key, thread_id, inputs, digest, started_at, committed_at) VALUES ($1, 'contact:c1', 'th1', $2, '', $3, $3)",
		id, fmt.Sprintf(`{"batch":[{"seq":%d}],"snapshot":{"Thread":%s}}`, seq, thread), when)
}

// out stores a send that was sent, and notes at the platform that it was taken.
func (s *scene) out(id, contact, origin, turn, payload string, when time.Time) {
	s.sql(`INSERT INTO outbox (id, lane, kind, origin, idempotency_key, contact_id, thread_id, turn_id, payload, state, tries, due_at, created_at, sent_at)
		VALUES ($1, $2, 'message.send', $3, $1, $4, 'th1', $5, $6, 'sent', 1, $7, $7, $7)`,
		id, contact+":whatsapp", origin, contact, turn, payload, when)
	s.note(journal.Entry{Kind: journal.SendAccepted, ID: "wamid." + id, Opaque: id, Phone: "254710000001", At: when.Add(50 * time.Millisecond)})
	s.note(journal.Entry{Kind: journal.StatusPosted, ID: "wamid." + id, Opaque: id, Status: "sent", HTTPStatus: 200, Attempt: 1, At: when.Add(100 * time.Millisecond)})
}

func (s *scene) note(e journal.Entry) {
	e.Seq = int64(len(s.e.Journal) + 1)
	s.e.Journal = append(s.e.Journal, e)
}

func (s *scene) conversation() {
	s.note(journal.Entry{Kind: journal.InboundPosted, ID: "wamid.A", Phone: "254710000001", HTTPStatus: 502, Attempt: 1, At: at(1)})
	s.note(journal.Entry{Kind: journal.InboundPosted, ID: "wamid.A", Phone: "254710000001", HTTPStatus: 200, Attempt: 2, At: at(2)})
	s.in(1, "message", "whatsapp:700:wamid.A", "t1", "", at(2))
	s.out("o1", "c1", "agent", "t1", "{}", at(3))
	s.in(2, "message", "whatsapp:700:wamid.B", "t2", "SUSPENDED_FOR_HUMAN", at(20)) // nobody answers while a person is awaited
	s.note(journal.Entry{Kind: journal.InboundPosted, ID: "wamid.B", HTTPStatus: 200, Attempt: 1, At: at(20)})
	s.out("ack", "admin", "system", "take", `{"after":"c1"}`, at(30))
	s.out("relay", "c1", "relay", "words", "{}", at(40))
	s.in(3, "event", "resume:done", "t3", "RESUMED_BY_AGENT", at(50))
	s.out("o3", "c1", "agent", "t3", "{}", at(51))
}

func (s *scene) bookings() {
	s.sql(`INSERT INTO services (id, position, name, aliases, description, minutes, buffer_before, buffer_after, interval_minutes, price_minor,
		deposit_minor, currency, hidden, removed) VALUES ('massage', 1, '{}', '[]', '{}', 60, 0, 15, 30, 300000, 50000, 'KES', 0, 0)`)
	s.sql("INSERT INTO staff (id, position, name, aliases, removed) VALUES ('grace', 1, 'Grace', '[]', 0)")
	s.booking("b1", "confirmed", at(90_000), nil)
	s.sql("UPDATE bookings SET receipt = 'R1', paid_minor = 50000 WHERE id = 'b1'")
	s.occupy("b1", at(90_000), 75)
	s.booking("b2", "held", at(100_000), at(300))
	s.occupy("b2", at(100_000), 75)
	s.sql(`INSERT INTO payment_attempts (id, thread_id, contact_id, subject, provider, reference, account, amount, currency, phone, token_hash,
		checkout_id, status, outcome, receipt, created_at, sent_at, settled_at) VALUES ('p1', 'th1', 'c1', 'b1', 'mpesa', 'RTB-1', 'B1', 50000, 'KES',
		'+254710000001', $1, 'ws_1', 'succeeded', 'success', 'R1', $2, $2, $3)`, hashed("secret1"), at(10), at(15))
}

// hashed is a callback's secret as it is stored.
func hashed(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

func (s *scene) booking(id, status string, starts time.Time, hold any) {
	if hold == nil {
		hold = db.Time{}
	}
	s.sql(`INSERT INTO bookings (id, code, contact_id, name, service_id, staff_id, starts_at, ends_at, buffer_before, buffer_after, status,
		price_minor, deposit_minor, paid_minor, currency, receipt, hold_until, cancel_minutes, version, created_at, updated_at)
		VALUES ($1, $1, 'c1', 'Asha', 'massage', 'grace', $2, $3, 0, 15, $4, 300000, 50000, 0, 'KES', '', $5, 0, 1, $6, $6)`,
		id, starts, starts.Add(time.Hour), status, hold, at(9))
}

func (s *scene) occupy(id string, from time.Time, minutes int) {
	s.sql("INSERT INTO occupancy (booking_id, subject, starts_at, ends_at) VALUES ($1, 'grace', $2, $3)", id, from, from.Add(time.Duration(minutes)*time.Minute))
}

func (s *scene) provider() {
	s.note(journal.Entry{Kind: journal.PushAccepted, ID: "ws_1", Phone: "254710000001", Amount: 500, URL: "http://gate/webhooks/daraja/route.secret1", At: at(11)})
	s.note(journal.Entry{Kind: journal.PromptEnded, ID: "ws_1", Phone: "254710000001", Amount: 500, Status: "success", Receipt: "R1", At: at(14)})
	s.note(journal.Entry{Kind: journal.CallbackPost, ID: "ws_1", Status: "success", Receipt: "R1", HTTPStatus: 200, Attempt: 1, At: at(14)})
}

// again notes that the platform took a send once more, and that the product
// knows it repeated it.
func (s *scene) again(id string, when time.Time) {
	s.note(journal.Entry{Kind: journal.SendAccepted, ID: "wamid." + id + ".2", Opaque: id, Phone: "254710000001", At: when})
	s.sql("UPDATE outbox SET resends = resends + 1, tries = tries + 1 WHERE id = $1", id)
}

// without drops journal entries.
func (s *scene) without(drop func(e journal.Entry) bool) {
	var kept []journal.Entry
	for _, e := range s.e.Journal {
		if !drop(e) {
			e.Seq = int64(len(kept) + 1)
			kept = append(kept, e)
		}
	}
	s.e.Journal = kept
}

func receiptsOf(id string) func(e journal.Entry) bool {
	return func(e journal.Entry) bool { return e.Kind == journal.StatusPosted && e.Opaque == id }
}

// TestTheAuditorFindsEachFault makes every column count at least once: an
// auditor that finds nothing proves nothing.
func TestTheAuditorFindsEachFault(t *testing.T) {
	t.Parallel()
	for _, tt := range doctored() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			if tt.doctor != nil {
				tt.doctor(s)
			}
			findings, totals, err := chaos.Audit(t.Context(), s.e)
			if err != nil {
				t.Fatal(err)
			}
			got := map[chaos.Column]int{}
			for _, f := range findings {
				t.Logf("%s: %s", f.Column, f.What)
				got[f.Column]++
			}
			for _, c := range chaos.Columns() {
				if (got[c] > 0) != (c == tt.want) {
					t.Errorf("%s: %d findings, want only %q", c, got[c], tt.want)
				}
			}
			if totals.MessagesIn != 2 || totals.Redeliveries != 1 {
				t.Errorf("totals %+v", totals)
			}
		})
	}
}
