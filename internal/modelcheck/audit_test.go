package modelcheck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/app/booking"
	"github.com/ratiba/ratiba/internal/app/booking/bookingsql"
	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/flow"
	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/store"
	"github.com/ratiba/ratiba/internal/tool"
)

// sqlite is the store itself, as the checker drives it.
type sqlite struct {
	store.Turns
	t    *testing.T
	dir  string
	open *store.Store
}

// Receive implements rows.
func (q *sqlite) Receive(ctx context.Context, m message.Inbound, now time.Time) (bool, error) {
	d, err := q.Deliver(ctx, []message.Inbound{m}, nil, now, 0)
	return d.Messages == 1, err
}

// Restart implements rows: the store is closed and opened again.
func (q *sqlite) Restart(ctx context.Context, real time.Time) error {
	if q.open != nil {
		if err := q.open.Close(); err != nil {
			return err
		}
	}
	s, err := store.Open(ctx, store.Config{
		Dir: q.dir, Apps: map[string]store.AppPart{booking.Name: {Migrations: bookingsql.Migrations()}}, Real: clock.NewFixed(real),
	})
	if err != nil {
		return err
	}
	q.open = s
	q.Tenant, err = s.Tenant("01TENANT", booking.Name)
	return err
}

// beside is the product over SQLite, with the app's own tools.
func beside(t *testing.T) *state {
	t.Helper()
	k, err := newKit(store.Payments{}, func(all []tool.Tool) []tool.Tool { return all })
	if err != nil {
		t.Fatal(err)
	}
	q := &sqlite{t: t, dir: t.TempDir(), Turns: store.Turns{Admins: []string{phone(partyA), phone(partyB)}}}
	if err := q.Restart(t.Context(), morning()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = q.open.Close() })
	s := &state{db: q, kit: k, now: morning(), real: morning(), left: unbounded()}
	for i, p := range founded(Faults{}).contacts {
		at := morning().Add(time.Duration(i-10) * time.Second)
		if err := q.EnsureContact(t.Context(), contact.Identity{Kind: contact.Phone, Value: phone(i)}, p.Name, db.At(at)); err != nil {
			t.Fatal(err)
		}
		s.people[i] = ids.ContactID(q.list(t, "SELECT contact_id FROM contact_identities WHERE value = '"+phone(i)+"'")[0])
	}
	if err := q.Write(t.Context(), func(tx db.Tx) error { return k.app.Apply(t.Context(), tx, k.tenant, morning()) }); err != nil {
		t.Fatal(err)
	}
	return s
}

// list reads rows of one text column.
func (q *sqlite) list(t *testing.T, query string) (out []string) {
	t.Helper()
	err := q.Read(t.Context(), func(r db.Q) (err error) {
		out, err = db.Collect(t.Context(), r, "audit", func(row db.Scanner) (s string, err error) { return s, row.Scan(&s) }, query)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// audit is what both stores must agree on, as lines. The daily work of a tenant
// has no part in the explored orders.
func (q *sqlite) audit(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, query := range []string{
		`SELECT 'thread ' || node || ' ' || driver || ' v' || version || ' e' || epoch || ' ' || (closed_at IS NULL) || ' ' || (pending IS NULL)
			|| ' ' || language || ' ' || disclosed FROM conversation_threads ORDER BY opened_at, id`,
		`SELECT 'attempt ' || status || ' ' || outcome || ' ' || COALESCE(receipt, '') || ' ' || COALESCE(checkout_id, '') || ' ' || queries
			FROM payment_attempts ORDER BY created_at, id`,
		`SELECT 'effect ' || kind || ' ' || origin || ' ' || state || ' e' || epoch || ' t' || tries || ' ' || resent FROM outbox ORDER BY seq`,
		`SELECT 'letter ' || kind || ' ' || (done_at IS NOT NULL) FROM inbox ORDER BY seq`,
		`SELECT 'timer ' || SUBSTR(name, 1, 13) || ' ' || (scope = '') FROM timers WHERE mailbox_key LIKE 'contact:%' ORDER BY due_at, name`,
		`SELECT 'booking ' || status || ' ' || receipt || ' ' || paid_minor || ' v' || version FROM bookings ORDER BY created_at, id`,
		`SELECT 'task ' || kind FROM tasks ORDER BY kind`,
		`SELECT 'mailbox ' || (due_at IS NULL) || ' ' || (lease_token <> '') || ' ' || tries || ' ' || crashes FROM mailboxes WHERE key LIKE 'contact:%' ORDER BY key`,
	} {
		out = append(out, q.list(t, query)...)
	}
	return out
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// audit says the same of memory.
func (m *memory) audit() []string {
	var out []string
	line := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, th := range m.threads {
		line("thread %s %s v%d e%d %d %d %s %d", th.Node, th.Driver, th.Version, th.Epoch, bit(th.Open()), bit(th.Pending == nil), th.Language, bit(th.Disclosed))
	}
	for _, a := range m.attempts {
		line("attempt %s %s %s %s %d", a.Status, a.Outcome, a.Receipt, a.CheckoutID, a.Queries)
	}
	for _, e := range m.outbox {
		line("effect %s %s %s e%d t%d %d", e.Kind, e.Origin, e.State, e.Epoch, e.Tries, e.Resends)
	}
	for _, l := range m.inbox {
		kind := "message"
		if l.item.Event != nil {
			kind = "event"
		}
		line("letter %s %d", kind, bit(l.done != ""))
	}
	timers := slices.Clone(m.timers)
	slices.SortFunc(timers, func(a, b alarm) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		return strings.Compare(a.name, b.name)
	})
	for _, a := range timers {
		line("timer %s %d", a.name[:min(13, len(a.name))], bit(a.scope == ""))
	}
	for _, v := range m.bookings {
		line("booking %s %s %d v%d", v.Status, v.receipt, v.Paid.Minor, v.Version)
	}
	var kinds []string
	for _, task := range m.tasks {
		kinds = append(kinds, "task "+task.Kind)
	}
	slices.Sort(kinds)
	out = append(out, kinds...)
	boxes := slices.Clone(m.boxes)
	slices.SortFunc(boxes, func(a, b box) int { return strings.Compare(string(a.key), string(b.key)) })
	for _, b := range boxes {
		line("mailbox %d %d %d %d", bit(b.due.IsZero()), bit(b.token != ""), b.tries, b.crashes)
	}
	return out
}

// TestMemoryIsTheStore walks sampled paths on SQLite with the app's own tools
// and wants the same rows after every action.
func TestMemoryIsTheStore(t *testing.T) {
	t.Parallel()
	starts, n, limit := Starts(), 4, 3000 // short and long paths
	if Raced {
		starts, n, limit = starts[1:3], 1, 500
	}
	for _, start := range starts {
		t.Run(start, func(t *testing.T) {
			t.Parallel()
			var paths [][]Action
			_, err := Explore(t.Context(), Config{
				Start: start, Depth: 40, Budget: sampled(), Every: 97, Limit: limit, Sample: func(p []Action) { paths = append(paths, p) },
			})
			if err != nil {
				t.Fatal(err)
			}
			for i := range n {
				walkBoth(t, paths[(i+1)*(len(paths)-1)/n])
			}
		})
	}
}

// TestP5AnEarlierThreadIsSilenced walks the way on which an answer that an
// earlier thread left unsent would speak over the human who took the next one.
func TestP5AnEarlierThreadIsSilenced(t *testing.T) {
	t.Parallel()
	r, err := Explore(t.Context(), Config{
		Start: Prompted, Depth: 14, Budget: Budget{Outside: 3, Messages: 1, Commands: 1, Callback: 1}, Faults: Faults{OwnThread: true},
	})
	if err != nil || r.Violation == nil {
		t.Fatalf("%s, %v, want a breach", r, err)
	}
	walkBoth(t, slices.Concat(r.Begin, r.Path))
}

// TestP8MoneyIsNotClosedAwayAfterAHandBack walks the way on which a customer
// ends the chat between the hand-back and the turn that resumes it.
func TestP8MoneyIsNotClosedAwayAfterAHandBack(t *testing.T) {
	t.Parallel()
	r, err := Explore(t.Context(), Config{Start: Late})
	if err != nil {
		t.Fatal(err)
	}
	done := Action{Kind: Command, Who: partyA, Arg: 1}
	walkBoth(t, slices.Concat(r.Begin, []Action{
		{Kind: Says, Arg: stop}, done, {Kind: Turn, Who: partyA}, {Kind: Turn}, {Kind: Turn}, {Kind: Turn},
	}))
}

// walk takes the quiet way from a start and on.
func walk(t *testing.T, start string) *walker {
	t.Helper()
	k, err := inMemory()
	if err != nil {
		t.Fatal(err)
	}
	s, path, err := begin(t.Context(), k, Config{Start: start, Budget: unbounded()})
	if err != nil {
		t.Fatal(err)
	}
	return &walker{s: s, path: path}
}

// TestP6ANewBookingWaitsForThePhone walks the way on which a customer gives a
// booking up and makes another while the first prompt is still on the phone:
// the second waits, and the money of the first is a person's to return.
func TestP6ANewBookingWaitsForThePhone(t *testing.T) {
	t.Parallel()
	w := walk(t, Prompted)
	ctx := t.Context()
	w.do(ctx, Action{Kind: Says, Arg: stop}, Action{Kind: Says, Arg: yes}, Action{Kind: Says, Arg: book}, Action{Kind: Tap})
	if w.err != nil || len(w.s.prompts) != 1 || !w.resting(string(flow.PaymentFailed)) {
		t.Fatalf("%v, %d prompts, want the first alone\n%s", w.err, len(w.s.prompts), Trace(w.path))
	}
	w.do(ctx, Action{Kind: Paid}, Action{Kind: Says, Arg: chat})
	if len(w.s.mem.tasks) != 1 || w.s.mem.tasks[0].Kind != "refund" {
		t.Fatalf("%v, tasks %v, want the money returned\n%s", w.err, w.s.mem.tasks, Trace(w.path))
	}
	for w.err == nil && w.s.now.Sub(w.s.prompts[0].at) < payment.BetweenPrompts {
		w.do(ctx, Action{Kind: Clock})
	}
	w.do(ctx, Action{Kind: Tap})
	if w.err != nil || len(w.s.prompts) != 2 || !w.resting(string(flow.AwaitPayment)) {
		t.Fatalf("%v, %d prompts, want the second after two minutes\n%s", w.err, len(w.s.prompts), Trace(w.path))
	}
	walkBoth(t, w.path)
}

// TestAStalledPromptIsGivenUp walks the way on which the provider's answer is
// lost after the attempt's last check has fallen due: the check is set again
// for the time it had, and is another one.
func TestAStalledPromptIsGivenUp(t *testing.T) {
	t.Parallel()
	for _, end := range []Action{{Kind: Lose}, {Kind: Settle}} {
		w := walk(t, Question)
		ctx := t.Context()
		w.step(ctx, Action{Kind: Tap})
		for !slices.ContainsFunc(w.s.flights, func(f flight) bool { return f.Kind == promptKind }) && w.err == nil {
			w.step(ctx, w.s.enabled()[w.own()])
		}
		end.Arg = uint8(slices.IndexFunc(w.s.flights, func(f flight) bool { return f.Kind == promptKind }))
		w.step(ctx, Action{Kind: Push, Arg: end.Arg})
		for at, _ := payment.CloseAt(*w.s.mem.attempts[0]); w.err == nil && w.s.now.Before(at); {
			w.step(ctx, Action{Kind: Clock})
			w.step(ctx, Action{Kind: Turn})
		}
		w.step(ctx, end)
		w.rest(ctx)
		for range 8 {
			if !w.s.nextTimer().IsZero() {
				w.do(ctx, Action{Kind: Clock})
			}
		}
		if w.err != nil || w.s.mem.attempts[0].Status != payment.UnknownClosed {
			t.Errorf("%v, the attempt is %s, want it given up\n%s", w.err, w.s.mem.attempts[0].Status, Trace(w.path))
			continue
		}
		walkBoth(t, w.path)
	}
}

// TestTheReceiptReachesABookingThatWaited walks the ways on which a query says
// paid under a human, the callback brings the receipt, and the human hands back
// or closes the chat: only then is the booking confirmed.
func TestTheReceiptReachesABookingThatWaited(t *testing.T) {
	t.Parallel()
	for verb := uint8(1); verb <= 2; verb++ {
		w := walk(t, Driven)
		ctx := t.Context()
		isQuery := func(f flight) bool { return f.Kind == queryKind }
		w.step(ctx, Action{Kind: Clock})
		for !slices.ContainsFunc(w.s.flights, isQuery) && w.err == nil {
			w.step(ctx, w.s.enabled()[w.own()])
		}
		w.do(ctx, Action{Kind: Succeed, Arg: uint8(slices.IndexFunc(w.s.flights, isQuery))})
		w.do(ctx, Action{Kind: Paid}, Action{Kind: Command, Who: partyA, Arg: verb})
		if v := w.s.mem.bookings[0]; w.err != nil || v.Status != calendar.Confirmed || v.receipt != "RECEIPT0" {
			t.Errorf("%v, the booking is %s with receipt %q\n%s", w.err, v.Status, v.receipt, Trace(w.path))
			continue
		}
		walkBoth(t, w.path)
	}
}

func sampled() Budget {
	return Budget{Outside: 3, Messages: 2, Commands: 2, Relays: 1, Callback: 2, Clock: 2, Wait: 1, Crash: 1, Loads: 1, Trouble: 1}
}

func walkBoth(t *testing.T, path []Action) {
	t.Helper()
	k, err := inMemory()
	if err != nil {
		t.Fatal(err)
	}
	lead, _, err := begin(t.Context(), k, Config{Start: Fresh, Budget: unbounded()})
	if err != nil {
		t.Fatal(err)
	}
	real := beside(t)
	real.lead = lead
	for i, a := range path {
		if err := errors.Join(lead.apply(t.Context(), a), lead.check()); err != nil {
			t.Fatalf("memory: %v\n%s", err, Trace(path[:i+1]))
		}
		if err := real.apply(t.Context(), a); err != nil {
			t.Fatalf("SQLite: %v\n%s", err, Trace(path[:i+1]))
		}
		got, ok := real.db.(*sqlite)
		if !ok {
			t.Fatal("not SQLite")
		}
		if diff := cmp.Diff(lead.mem.audit(), got.audit(t)); diff != "" {
			t.Fatalf("memory (-) and SQLite (+) differ:\n%s\n%s", diff, Trace(path[:i+1]))
		}
	}
	if len(real.flights) != len(lead.flights) || len(real.hands) != len(lead.hands) || len(real.prompts) != len(lead.prompts) {
		t.Errorf("the world differs: %d and %d flights\n%s", len(lead.flights), len(real.flights), Trace(path))
	}
}
