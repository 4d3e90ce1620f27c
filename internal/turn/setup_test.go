package turn_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/store"
	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/thread"
	"github.com/ratiba/ratiba/internal/tool"
	"github.com/ratiba/ratiba/internal/turn"
	"github.com/ratiba/ratiba/internal/understand"
)

var noon = time.Date(2026, 4, 25, 9, 0, 0, 0, time.UTC)

const (
	amina = "+254700000001"
	brian = "+254700000002"
	wangu = "+254722000001" // an admin
	otis  = "+254722000002" // another
)

// reader is the fake understanding: code alone, always sure. Before runs first,
// so that a test can let things happen while a turn is computed.
type reader struct {
	mu     sync.Mutex
	reads  int
	before func(n int)
	inject func(in *graph.Input)
	err    error
	unpaid bool // nothing can be phrased any more
}

func (u *reader) Understand(_ context.Context, req understand.Request, _ understand.IDs) (graph.Input, []string, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.reads++
	if u.before != nil {
		u.before(u.reads)
	}
	in := understand.Tier0(req)
	in.Confidence, in.Sentiment = 1, understand.Neutral
	if u.inject != nil {
		u.inject(&in)
	}
	return in, nil, u.err
}

func (u *reader) Shape(_ context.Context, _ llm.Role, _ []string, draft, _ string, _ understand.IDs) (string, string, error) {
	if u.unpaid {
		return "", "", fmt.Errorf("call model: %w", llm.ErrBudget)
	}
	return "phrased: " + draft, "call-1", nil
}

// world is an engine over a real store, with the fake app.
type world struct {
	*testing.T
	store.Turns
	engine *turn.Engine
	b      turn.Business
	clock  *clock.Fixed
	reader *reader
	// refuse is how many more grabs are refused.
	refuse int
	models bool // that brief and translate
	dir    string
	store  *store.Store
	seq    int
	log    *bytes.Buffer
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir := t.TempDir()
	s, err := store.Open(t.Context(), store.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	rows, err := s.Tenant("01TENANT", "fake")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		T: t, Turns: store.Turns{Tenant: rows, Admins: []string{wangu, otis}}, clock: clock.NewFixed(noon), reader: &reader{}, log: &bytes.Buffer{},
		dir: dir, store: s,
	}
	for _, phone := range w.Admins {
		if err := rows.EnsureContact(t.Context(), contact.Identity{Kind: contact.Phone, Value: phone}, "", db.At(noon)); err != nil {
			t.Fatal(err)
		}
	}
	w.engineWith(w.reader)
	w.b, err = turn.NewBusiness(&tenant.Tenant{
		ID: "01TENANT", Slug: "spa", Name: "The Spa", Assistant: "Savannah", Locale: "en", Country: "KE", TimeZone: "Africa/Nairobi",
		Numbers: []tenant.Number{{ID: "100"}, {ID: "200"}}, Thresholds: tenant.BaseThresholds("spa"),
		Admins: []tenant.Admin{{Name: "Wangu", Phone: wangu, Language: "en"}, {Name: "Otis", Phone: otis, Language: "en"}},
	}, fakeApp(t, 1), w.tools(), w.Turns)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// restart ends the process and begins another over the same data.
func (w *world) restart() {
	w.Helper()
	if err := w.store.Close(); err != nil {
		w.Fatal(err)
	}
	s, err := store.Open(w.Context(), store.Config{Dir: w.dir})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = s.Close() })
	rows, err := s.Tenant("01TENANT", "fake")
	if err != nil {
		w.Fatal(err)
	}
	w.store, w.Turns.Tenant = s, rows
	w.b.Store = w.Turns
	w.engineWith(w.reader)
}

// engineWith has another understanding, or models, from now on.
func (w *world) engineWith(u turn.Understander) {
	w.Helper()
	texts, err := turn.Texts()
	if err != nil {
		w.Fatal(err)
	}
	w.engine = turn.New(turn.Config{
		Understander: u, Texts: texts, Payments: store.Payments{}, Clock: w.clock, Real: w.clock,
		Logger: slog.New(slog.NewJSONHandler(w.log, nil)), Typing: func(turn.Business, string, string) {}, Models: w.models,
	})
}

func (w *world) tools() *tool.Registry {
	w.Helper()
	var tools []tool.Tool
	for name, class := range map[string]string{"pay": "irreversible", "grab": "write", "release": "write", "look": "read"} {
		made := tool.Typed[number]
		if class == "irreversible" {
			made = tool.Guarded[number]
		}
		tools = append(tools, tool.Tool{
			Definition: fmt.Appendf(nil, `{"name":%q,"description":"d","inputSchema":{"type":"object","properties":{"n":{"type":"integer","description":"n","minimum":-1000000,"maximum":1000000}},"required":["n"],"additionalProperties":false}}`, name),
			Metadata:   fmt.Appendf(nil, "version: 1.0.0\nowner: test\nsafety_class: %s\naudit_log_required: %t\nmin_role: staff\n", class, class == "irreversible"),
			Args:       number{},
			Handler: made(func(ctx context.Context, env tool.Env, n number) (graph.Result, error) {
				if name == "grab" && w.refuse > 0 {
					w.refuse--
					return tool.Conflict("taken", "It is taken.", "", nil)
				}
				if name == "pay" {
					return graph.Result{OK: true}, env.Enqueue(ctx, tool.Effect{Lane: "mpesa", Kind: payment.EffectPrompt, Key: fmt.Sprint("p", n.N), Payload: n})
				}
				return tool.OK(n)
			}),
		})
	}
	r, err := tool.NewRegistry(tools...)
	if err != nil {
		w.Fatal(err)
	}
	return r
}

// deliver stores a message of any kind.
func (w *world) deliver(m message.Inbound, from string) {
	w.Helper()
	w.seq++
	if m.Number == "" {
		m.Number = "100"
	}
	m.Channel, m.ProviderID, m.SentAt = "whatsapp", fmt.Sprint("m", w.seq), w.clock.Now()
	if m.Kind == "" {
		m.Kind = message.Text
	}
	m.From = []contact.Identity{{Kind: contact.Phone, Value: from}}
	if _, err := w.Deliver(w.Context(), []message.Inbound{m}, nil, w.clock.Now(), w.b.Tenant.QuietTime); err != nil {
		w.Fatal(err)
	}
}

func (w *world) write(from string, texts ...string) {
	w.Helper()
	for _, text := range texts {
		w.deliver(message.Inbound{Text: text}, from)
	}
}

func (w *world) tap(from, choice string) {
	w.Helper()
	w.deliver(message.Inbound{Kind: message.Button, Choice: choice, Text: "Yes"}, from)
}

// run handles everything that is due and returns how many turns committed. Like
// the pump, it looks again only when a claim or a turn said so.
func (w *world) run() (committed int) {
	w.Helper()
	for range 200 {
		claims, next, err := w.ClaimMailboxes(w.Context(), w.clock.Now(), w.clock.Now(), 10)
		if err != nil {
			w.Fatal(err)
		}
		wakes := []time.Time{next}
		for _, c := range claims {
			done, due := w.engine.Handle(w.Context(), w.b, c)
			if done {
				committed++
			}
			wakes = append(wakes, due)
		}
		if !slices.ContainsFunc(wakes, func(at time.Time) bool { return !at.IsZero() && !at.After(w.clock.Now()) }) {
			return committed
		}
	}
	w.Fatal("the mailboxes do not come to rest")
	return 0
}

// say writes and handles.
func (w *world) say(from string, texts ...string) {
	w.Helper()
	w.write(from, texts...)
	w.run()
}

// sent is a row of the outbox.
type sent struct {
	outbox.Row
	out message.Outbound
	to  string
	num string // the business number it leaves from
}

// send carries out everything that waits and returns it. It fails on what was
// silenced only by leaving it out.
func (w *world) send() (all []sent) {
	w.Helper()
	for {
		rows, next, err := w.ClaimOutbox(w.Context(), w.clock.Now(), w.clock.Now(), 100)
		if err != nil {
			w.Fatal(err)
		}
		for _, r := range rows {
			s := sent{Row: r}
			if r.Kind == outbox.SendMessage {
				var p outbox.Send
				if err := json.Unmarshal(r.Payload, &p); err != nil {
					w.Fatal(err)
				}
				s.out, s.to, s.num = p.Out, p.To[0].Value, p.Number
			}
			all = append(all, s)
			if err := w.SettleOutbox(w.Context(), r, outbox.Sent, w.clock.Now(), outbox.Outcome{Verdict: outbox.Done, ProviderID: "wamid." + r.ID}, w.clock.Now()); err != nil {
				w.Fatal(err)
			}
		}
		if next.IsZero() || next.After(w.clock.Now()) {
			return all
		}
	}
}

// heard carries out everything and returns the texts one phone got.
func (w *world) heard(phone string) (texts []string) {
	w.Helper()
	for _, s := range w.send() {
		if s.to == phone {
			texts = append(texts, s.out.Text)
		}
	}
	return texts
}

// hears wants one phone to get exactly one message that says all of want.
func (w *world) hears(phone string, want ...string) {
	w.Helper()
	texts := w.heard(phone)
	if len(texts) != 1 {
		w.Fatalf("%s hears %q, want one message that says %q", phone, texts, want)
	}
	for _, x := range want {
		if !strings.Contains(texts[0], x) {
			w.Errorf("%s hears %q, want %q in it", phone, texts[0], x)
		}
	}
}

func (w *world) silent(phone string) {
	w.Helper()
	if texts := w.heard(phone); len(texts) > 0 {
		w.Errorf("%s hears %q, want nothing", phone, texts)
	}
}

// text reads one value of the database.
func (w *world) text(query string, args ...any) string {
	w.Helper()
	var v any
	if err := w.Read(w.Context(), func(q db.Q) error { return q.QueryRowContext(w.Context(), query, args...).Scan(&v) }); err != nil {
		w.Fatalf("%s: %v", query, err)
	}
	return fmt.Sprint(v)
}

func (w *world) want(want, query string, args ...any) {
	w.Helper()
	if got := w.text(query, args...); got != want {
		w.Errorf("%s: got %s, want %s", query, got, want)
	}
}

// key is a contact's mailbox.
func (w *world) key(phone string) ids.MailboxKey {
	w.Helper()
	return ids.MailboxKey("contact:" + w.text("SELECT contact_id FROM contact_identities WHERE value = $1", phone))
}

func (w *world) thread(phone string) thread.Thread {
	w.Helper()
	s, err := w.Load(w.Context(), w.key(phone))
	if err != nil {
		w.Fatal(err)
	}
	if s.Thread == nil {
		w.Fatalf("%s has no open thread", phone)
	}
	return *s.Thread
}

func (w *world) logged(event string) bool {
	return slices.ContainsFunc(strings.Split(w.log.String(), "\n"), func(line string) bool { return strings.Contains(line, `"msg":"`+event+`"`) })
}

// replays computes every recorded turn again and wants the same commit (P12).
func (w *world) replays() {
	w.Helper()
	all, err := w.Recorded(w.Context())
	if err != nil || len(all) == 0 {
		w.Fatalf("%d recorded turns, %v", len(all), err)
	}
	for _, rec := range all {
		if got, err := w.engine.Replay(w.Context(), w.b, rec.Inputs); err != nil || got.Digest != rec.Digest {
			w.Errorf("turn %s replays to %s, %v; want %s\n%s", rec.ID, got.Digest, err, rec.Digest, rec.Inputs)
		}
	}
}

// attempt stores a payment attempt of a contact that is on the phone.
func (w *world) attempt(id, phone, subject string) payment.Attempt {
	w.Helper()
	a := payment.Attempt{
		ID: id, Thread: w.thread(phone).ID, ContactID: w.thread(phone).ContactID, Subject: subject, Provider: "mpesa", Reference: "RTB-" + id,
		Account: id, Phone: phone, CheckoutID: "ws_" + id, Status: payment.Prompted, CreatedAt: w.clock.Now(), SentAt: w.clock.Now(),
	}
	a.Amount.Minor, a.Amount.Currency = 50000, "KES"
	w.insert(a)
	return a
}

// paid delivers the provider's word that a was paid.
func (w *world) paid(a payment.Attempt, receipt string) {
	w.Helper()
	if _, err := w.Report(w.Context(), a, payment.Report{Source: payment.FromCallback, Outcome: payment.Outcome{
		Kind: payment.Success, Code: "0", CheckoutID: a.CheckoutID, Receipt: receipt, Amount: a.Amount, Phone: a.Phone,
	}}, w.clock.Now()); err != nil {
		w.Fatal(err)
	}
}

func (w *world) post(phone string, e mailbox.Event) {
	w.Helper()
	if _, err := w.Post(w.Context(), w.key(phone), e, ids.New(noon), w.clock.Now()); err != nil {
		w.Fatal(err)
	}
}

func (w *world) exec(query string, args ...any) {
	w.Helper()
	if err := w.Write(w.Context(), func(tx db.Tx) error { return db.Exec(w.Context(), tx, "test", query, args...) }); err != nil {
		w.Fatal(err)
	}
}

func (w *world) insert(a payment.Attempt) {
	w.Helper()
	if err := w.Write(w.Context(), func(tx db.Tx) error { return store.Payments{}.Insert(w.Context(), tx, a) }); err != nil {
		w.Fatal(err)
	}
}
