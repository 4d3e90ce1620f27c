package store_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/bookingsql"
	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/db/dbtest"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/store"
	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/thread"
	"github.com/ratiba/ratiba/internal/turn"
)

// Zawadi is the person whose data are asked for; Kamau the admin.
const (
	zawadi = "+254700000077"
	kamau  = "+254722000009"
)

// asks is what Zawadi wrote.
const asks = "nyumba yangu ni ya kijani"

// place is a store of one backend, with the booking app.
func place(t *testing.T, backend string) *store.Store {
	t.Helper()
	cfg := store.Config{Dir: t.TempDir(), Alone: true, Real: fixed{noon}, Apps: map[string]store.AppPart{"booking": apps()}}
	if backend == "postgres" {
		cfg.URL = dbtest.Postgres(t)
	}
	s, err := store.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func barber() tenant.Tenant {
	return tenant.Tenant{
		Slug: "kinyozi", Name: "Kinyozi Bora", App: "booking", Currency: "KES", TimeZone: "Africa/Nairobi",
		Numbers:  []tenant.Number{{Provider: "meta", ID: "100", TokenEnv: "KINYOZI_TOKEN", AppSecretEnv: "KINYOZI_SECRET"}},
		Admins:   []tenant.Admin{{Name: "Kamau", Phone: kamau}},
		Settings: json.RawMessage(`{"b":1,"a":"<&>"}`),
	}
}

// business is a tenant with some history: Zawadi booked and paid, Kamau was
// told, Amina wrote something else.
func business(t *testing.T, s *store.Store) *bundle {
	t.Helper()
	reg, err := s.Register(t.Context(), barber(), noon)
	if err != nil {
		t.Fatal(err)
	}
	handle, err := s.Tenant(reg.Tenant.ID, "booking")
	if err != nil {
		t.Fatal(err)
	}
	b := &bundle{t: t, store: s, Turns: store.Turns{Tenant: handle, Admins: []string{kamau}}}
	b.define()
	hers := b.booked()
	b.told(hers)
	b.history(said("m-amina", amina), thread.Customer, func(c *turn.Commit) {
		c.Thread.State = json.RawMessage(`{"note":"Zawadi is also a word"}`)
	})
	return b
}

// define fills what a definition is written into.
func (b *bundle) define() {
	b.exec("INSERT INTO staff (id, position, name, aliases, removed) VALUES ('juma', 0, 'Juma', '[\"Jay\"]', FALSE)")
	b.exec(`INSERT INTO services (id, position, name, aliases, description, minutes, buffer_before, buffer_after, interval_minutes,
		price_minor, deposit_minor, currency, hidden, removed)
		VALUES ('cut', 0, '{"sw":"Kunyoa","en":"Haircut"}', '[]', '{}', 30, 0, 0, 30, 80000, 20000, 'KES', FALSE, FALSE)`)
	b.exec("INSERT INTO service_staff (service_id, staff_id) VALUES ('cut', 'juma')")
	b.exec("INSERT INTO closures (from_moment, to_moment, name) VALUES ('2026-12-25 00:00', '2026-12-26 00:00', '{\"en\":\"Christmas\"}')")
}

func (b *bundle) exec(query string, args ...any) {
	b.t.Helper()
	if err := b.Write(b.t.Context(), func(tx db.Tx) error { return db.Exec(b.t.Context(), tx, "fill", query, args...) }); err != nil {
		b.t.Fatal(err)
	}
}

// history delivers a message and commits a turn over it.
func (b *bundle) history(m message.Inbound, actor thread.Actor, change func(c *turn.Commit)) *turn.Commit {
	b.t.Helper()
	b.deliver(m, 0)
	c := b.claim(later(60), noon)
	b.key = c.Key
	commit := b.commit(c)
	commit.Thread.Actor = actor
	commit.Said = []turn.Spoken{{
		Thread: commit.Thread.ID, Direction: "in", Origin: string(actor), ProviderID: m.ProviderID, At: noon, Body: map[string]any{"text": m.Text},
	}}
	change(commit)
	b.do(commit)
	return commit
}

// booked is Zawadi's history: a booking that is paid.
func (b *bundle) booked() *turn.Commit {
	m := said("wamid.zawadi", zawadi)
	m.Text, m.Profile = asks, "Zawadi K."
	m.From = append(m.From, contact.Identity{Kind: contact.BSUID, Value: "KE.77"})
	hers := b.history(m, thread.Customer, func(c *turn.Commit) {
		c.Contact.Name, c.Contact.PayerPhone = "Zawadi Kiprono", zawadi
		c.Inputs = json.RawMessage(`{"batch":[{"text":"` + asks + `"}],"tenant_version":1}`)
		c.Thread.State = json.RawMessage(`{"name":"Zawadi Kiprono","z":1.50,"a":[1e2]}`)
		page := row(c, "o-page", "admin:whatsapp", outbox.System)
		page.ContactID, page.ThreadID = ids.ContactID(b.person(kamau)), ""
		page.Payload = json.RawMessage(`{"out":{"text":"*#K7 Zawadi Kiprono* ` + asks + `"}}`)
		answer := row(c, "o-answer", "zawadi:whatsapp", outbox.Agent)
		answer.Payload = json.RawMessage(`{"to":[{"kind":"phone","value":"` + zawadi + `"}],"out":{"text":"Karibu Zawadi"}}`)
		c.Outbox = []outbox.Row{answer, page}
		c.Tools = []turn.ToolCall{{
			Call: graph.Call{Tool: "hold_slot", Args: map[string]any{"name": "Zawadi Kiprono"}}, Result: graph.Result{OK: true},
		}}
		c.Tasks = []turn.TaskRow{{ID: "task-1", Kind: "refund", Key: "refund:b1", Detail: "call Zawadi", Contact: c.Contact.ID, Thread: c.Thread.ID}}
		c.Timers = []turn.TimerRow{{Mailbox: c.Claim.Key, Scope: c.Thread.ID, Name: turn.TTLTimer, At: later(3600), Data: map[string]any{"a": nil}}}
	})
	contactID := string(hers.Contact.ID)
	b.exec(`INSERT INTO bookings (id, code, contact_id, name, service_id, staff_id, starts_at, ends_at, buffer_before, buffer_after, status,
		price_minor, deposit_minor, paid_minor, currency, receipt, cancel_minutes, version, created_at, updated_at)
		VALUES ('b1', 'K7Q', $1, 'Zawadi Kiprono', 'cut', 'juma', $2, $3, 0, 0, 'confirmed', 80000, 20000, 20000, 'KES', 'SFF6XYZ123', 60, 2, $2, $2)`,
		contactID, db.At(later(86400)), db.At(later(88200)))
	b.exec("INSERT INTO occupancy (booking_id, subject, starts_at, ends_at) VALUES ('b1', 'juma', $1, $2)", db.At(later(86400)), db.At(later(88200)))
	b.exec(`INSERT INTO booking_history (booking_id, version, event, status, staff_id, starts_at, detail, at)
		VALUES ('b1', 2, 'cancelled', 'confirmed', 'juma', $1, 'because Zawadi Kiprono is ill', $1)`, db.At(later(86400)))
	b.exec(`INSERT INTO waitlist (id, contact_id, name, service_id, staff_id, from_date, to_date, time_from, time_to, status, skips, booking_id, joined_at)
		VALUES ('w1', $1, 'Zawadi Kiprono', 'cut', '', '2026-12-01', '2026-12-02', '', '', 'waiting', 0, '', $2)`, contactID, db.At(noon))
	b.exec(`INSERT INTO feedback (booking_id, contact_id, rating, comment, thread_id, turn_id, models, at)
		VALUES ('b1', $1, 'up', 'Zawadi Kiprono was happy', '', '', '[]', $2)`, contactID, db.At(later(90000)))
	b.insert(payment.Attempt{
		ID: "a1", Thread: hers.Thread.ID, ContactID: hers.Contact.ID, Subject: "b1", Provider: "mpesa", Reference: "RTB-1", Account: "K7Q",
		Phone: zawadi, Status: payment.Succeeded, Receipt: "SFF6XYZ123", CreatedAt: noon, SettledAt: noon,
	})
	b.called(hers.Thread.ID, hers.TurnID, "Karibu Zawadi Kiprono")
	b.asked(llm.Escalation{
		ID: "esc-1", Contact: hers.Contact.ID, Role: llm.ProcedureStep, Cause: llm.CauseUnsure, At: noon,
		Card: llm.Card{Title: "Refund?", Question: "Zawadi Kiprono wants her money back"}, Messages: []llm.Message{{Role: llm.User, Content: asks}},
	}, llm.Decision{Text: "give it to Zawadi Kiprono", By: "Kamau", At: noon})
	b.talkedWithAPerson(hers)
	return hers
}

// asked is an escalation that was decided and that nothing waited for.
func (b *bundle) asked(e llm.Escalation, d llm.Decision) {
	b.t.Helper()
	_, err := b.PostEscalation(b.t.Context(), e, false, noon)
	if err == nil {
		_, _, err = b.Decide(b.t.Context(), e.ID, d, store.Tap{}, noon)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// talkedWithAPerson is what a handoff leaves behind: the log, its archive, and a
// card an admin has not seen yet.
func (b *bundle) talkedWithAPerson(hers *turn.Commit) {
	for table, more := range map[string][2]string{"handoff_log": {"", ""}, "handoff_log_archive": {", archived_at", ", $6"}} {
		b.exec("INSERT INTO "+table+` (id, thread_id, actor, actor_phone, content, language, sent_at, message_metadata`+more[0]+`)
			VALUES ($1, $2, 'customer', $3, $4, 'sw', $6, $5`+more[1]+`)`, "l-"+table, string(hers.Thread.ID), zawadi, "ni mimi, Zawadi Kiprono",
			db.JSON{V: map[string]any{"wa_message_id": "wamid.zawadi"}}, db.At(noon))
	}
	b.exec(`INSERT INTO voice_calls (id, contact_id, number, phase, language, seq, answer, started_at, changed_at)
		VALUES ('c1', $1, '100', 'ended', 'sw', 1, $2, $3, $3)`, string(hers.Contact.ID), db.JSON{V: map[string]any{"say": "Karibu Zawadi Kiprono"}}, db.At(noon))
	b.exec("INSERT INTO held_messages (contact_id, thread_id, code, body, at) VALUES ($1, $2, 'K7', $3, $4)",
		b.person(kamau), string(hers.Thread.ID), db.JSON{V: map[string]any{"text": "*#K7 Zawadi Kiprono* " + asks}}, db.At(noon))
}

func (b *bundle) called(th ids.ThreadID, turnID ids.TurnID, answer string) {
	b.t.Helper()
	confidence := 1.0 / 3
	calls := store.Calls{Open: openAs(b.Tenant)}
	rec := llm.Record{
		ID: "call-" + string(turnID), Tenant: b.ID(), Role: llm.AnswerShaper, Thread: th, Turn: turnID, Provider: "p", Model: "m", Outcome: llm.OK,
		Confidence: &confidence, Account: "tenant", Answer: answer, RequestHash: "hash", Cost: 60_000_000, Latency: time.Second, At: noon,
	}
	r := llm.Reservation{
		ID: rec.ID, Tenant: rec.Tenant, Thread: th, Account: llm.AccountThread, Worst: rec.Cost, At: noon, ExpiresAt: later(60),
		Ceilings: llm.DefaultCeilings(), Lost: rec,
	}
	err := calls.Reserve(b.t.Context(), r)
	if err == nil {
		_, err = calls.Settle(b.t.Context(), r, rec)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// person is the contact with that phone, made when missing.
func (b *bundle) person(phone string) string {
	b.t.Helper()
	i := contact.Identity{Kind: contact.Phone, Value: phone}
	if err := b.EnsureContact(b.t.Context(), i, "", db.At(noon)); err != nil {
		b.t.Fatal(err)
	}
	return b.text("SELECT contact_id FROM contact_identities WHERE value = $1", phone)
}

// told is Kamau's history: he was shown Zawadi's chat and wrote about it.
func (b *bundle) told(hers *turn.Commit) {
	m := said("wamid.kamau", kamau)
	m.Text, m.Profile = "niambie zaidi kuhusu zawadi, 0700000077", "Kamau"
	b.history(m, thread.Admin, func(c *turn.Commit) {
		c.Inputs = json.RawMessage(`{"handoffs":[{"contact_id":"` + string(hers.Contact.ID) + `"}],"lines":["` + asks + `"]}`)
		shown := row(c, "o-shown", "kamau:whatsapp", outbox.System)
		shown.Payload = json.RawMessage(`{"out":{"text":"` + asks + `"}}`)
		c.Outbox = []outbox.Row{shown}
	})
}

// rows are an archive's files by name.
func rows(t *testing.T, archive []byte) map[string]string {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(strings.TrimPrefix(f.Name, "tables/"), ".jsonl")] = string(raw)
	}
	return out
}

func openAs(t *store.Tenant) func(context.Context, ids.TenantID) (*store.Tenant, error) {
	return func(context.Context, ids.TenantID) (*store.Tenant, error) { return t, nil }
}

func apps() store.AppPart {
	return store.AppPart{
		Migrations: bookingsql.Migrations(), Version: 1, Merge: bookingsql.Merge, Person: bookingsql.Person(), Erase: bookingsql.Erase,
	}
}

func nothingTx(db.Tx) error { return nil }
