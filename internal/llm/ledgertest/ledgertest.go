// Package ledgertest holds what every llm.Ledger promises, as tests that each
// implementation runs. The package imports only leaves and llm, and stays in
// tests.
package ledgertest

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/money"
)

// Tenant is the business in whose name every test spends: Open makes sure that
// it exists.
const Tenant ids.TenantID = "01J00000000000000000LEDGER"

// Open returns an empty ledger. Real time, by which reservations run out, is
// the clock's.
type Open func(t *testing.T, real clock.Clock) llm.Ledger

var start = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// cents makes ceilings readable.
const cent = money.USD / 100

var ceilings = llm.Ceilings{
	Soft: 5 * cent, Hard: 20 * cent, ContactDay: 30 * cent, TenantDay: 50 * cent, OperationsDay: 10 * cent, EvalDay: 15 * cent,
}

// Run proves a ledger.
func Run(t *testing.T, open Open) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Open){
		"a reservation is held until it is settled":             holds,
		"every ceiling refuses by its name":                     names,
		"a reservation is held in every purse or in none":       allOrNone,
		"a day's purse is new the next day, a thread's is not":  days,
		"settling twice charges once":                           twice,
		"the soft ceiling is told once":                         soft,
		"what runs out is settled at its worst case":            expires,
		"a late settlement replaces the estimate":               late,
		"an answer is found by its hash":                        lookup,
		"concurrent reservations never exceed a ceiling":        concurrent,
		"64 calls on one thread never exceed the hard ceiling":  Overshoot,
		"an attempt that cost more than reserved is still paid": dearer,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open)
		})
	}
}

// bench is one ledger under test.
type bench struct {
	*testing.T

	ledger llm.Ledger
	clock  *clock.Fixed
	n      int
}

func newBench(t *testing.T, open Open) *bench {
	t.Helper()
	c := clock.NewFixed(start)
	return &bench{T: t, ledger: open(t, c), clock: c}
}

// reservation is one on the thread's account that a test may change.
func (b *bench) reservation(worst money.Pico) llm.Reservation {
	b.n++
	id := ids.New(start.Add(time.Duration(b.n) * time.Millisecond))
	r := llm.Reservation{
		ID: id, Tenant: Tenant, Thread: "thread-1", Contact: "contact-1", Account: llm.AccountThread, Worst: worst,
		Owner: "node-1", At: start, ExpiresAt: b.clock.Now().Add(time.Minute), Ceilings: ceilings,
	}
	return r
}

// lost fills in what stands if nobody settles.
func lost(r llm.Reservation) llm.Reservation {
	r.Lost = llm.Record{
		ID: r.ID, Role: llm.IntentClassifier, Tenant: r.Tenant, Thread: r.Thread, Contact: r.Contact, Turn: "turn-1", Tier: 1,
		Provider: "p", Model: "m", PromptVersion: "v@1", Usage: llm.Usage{Input: 10, Output: 5}, Estimated: true, Cost: r.Worst,
		Outcome: llm.Lost, CanaryArm: string(llm.Stable), Account: r.Account, RequestHash: "hash-" + r.ID, At: r.At,
	}
	return r
}

func (b *bench) reserve(r llm.Reservation) error {
	b.Helper()
	err := b.ledger.Reserve(b.Context(), lost(r))
	if err != nil && !errors.Is(err, llm.ErrBudget) {
		b.Fatal(err)
	}
	return err
}

func (b *bench) settle(r llm.Reservation, cost money.Pico) llm.Standing {
	b.Helper()
	r = lost(r)
	rec := r.Lost
	rec.Outcome, rec.Estimated, rec.Cost, rec.Answer = llm.OK, false, cost, "yes"
	standing, err := b.ledger.Settle(b.Context(), r, rec)
	if err != nil {
		b.Fatal(err)
	}
	return standing
}

// spend reserves and settles at once.
func (b *bench) spend(cost money.Pico) llm.Standing {
	b.Helper()
	r := b.reservation(cost)
	if err := b.reserve(r); err != nil {
		b.Fatal(err)
	}
	return b.settle(r, cost)
}

// room is what a purse says is left, by asking for more than there is.
func (b *bench) room(change func(*llm.Reservation)) money.Pico {
	b.Helper()
	r := b.reservation(1000 * money.USD)
	if change != nil {
		change(&r)
	}
	var be *llm.BudgetError
	if err := b.reserve(r); !errors.As(err, &be) {
		b.Fatalf("got %v, want a refusal", err)
	}
	return be.Left
}

func (b *bench) wantRoom(want money.Pico, change func(*llm.Reservation)) {
	b.Helper()
	if got := b.room(change); got != want {
		b.Errorf("$%s is left, want $%s", got.Dollars(), want.Dollars())
	}
}

func holds(t *testing.T, open Open) {
	t.Helper()
	b := newBench(t, open)
	r := b.reservation(12 * cent)
	if err := b.reserve(r); err != nil {
		t.Fatal(err)
	}
	b.wantRoom(8*cent, nil)
	if err := b.reserve(b.reservation(8*cent + 1)); err == nil {
		t.Error("a pico-dollar too much was reserved")
	}
	if err := b.reserve(b.reservation(8 * cent)); err != nil {
		t.Errorf("exactly the ceiling: %v", err)
	}
	if s := b.settle(r, 2*cent); s.Spent != 2*cent {
		t.Errorf("spent $%s, want $0.02", s.Spent.Dollars())
	}
	b.wantRoom(10*cent, nil)
}

func names(t *testing.T, open Open) {
	t.Helper()
	for want, change := range map[llm.Ceiling]func(*llm.Reservation){
		llm.CeilingThread:     func(*llm.Reservation) {},
		llm.CeilingContactDay: func(r *llm.Reservation) { r.Ceilings.Hard = money.USD },
		llm.CeilingTenantDay:  func(r *llm.Reservation) { r.Ceilings.Hard, r.Contact = money.USD, "" },
		llm.CeilingOperations: func(r *llm.Reservation) { r.Account = llm.AccountOperations },
		llm.CeilingEval:       func(r *llm.Reservation) { r.Account = llm.AccountEval },
	} {
		b := newBench(t, open)
		r := b.reservation(60 * cent)
		change(&r)
		var be *llm.BudgetError
		if err := b.reserve(r); !errors.As(err, &be) || be.Ceiling != want || be.Worst != r.Worst || be.Left != be.Limit {
			t.Errorf("got %v, want a refusal by %s", err, want)
		}
	}
}

func allOrNone(t *testing.T, open Open) {
	t.Helper()
	b := newBench(t, open)
	other := b.reservation(20 * cent)
	other.Thread = "thread-2"
	if err := b.reserve(other); err != nil {
		t.Fatal(err)
	}
	// The thread has room for this one, its contact has not.
	if err := b.reserve(b.reservation(15 * cent)); err == nil {
		t.Fatal("the contact's ceiling let 35 cents through")
	}
	b.wantRoom(20*cent, func(r *llm.Reservation) { r.Contact = "" })
	b.wantRoom(10*cent, func(r *llm.Reservation) { r.Account = llm.AccountOperations })
}

func days(t *testing.T, open Open) {
	t.Helper()
	b := newBench(t, open)
	b.spend(20 * cent)
	tomorrow := func(r *llm.Reservation) { r.At = start.Add(15 * time.Hour) }
	b.wantRoom(0, tomorrow)
	b.wantRoom(30*cent, func(r *llm.Reservation) { tomorrow(r); r.Thread = "" })
	b.wantRoom(10*cent, func(r *llm.Reservation) { r.Thread = "" })
	b.wantRoom(30*cent, func(r *llm.Reservation) { r.Thread, r.Contact = "", "" })
}

func twice(t *testing.T, open Open) {
	t.Helper()
	b := newBench(t, open)
	r := b.reservation(4 * cent)
	if err := b.reserve(r); err != nil {
		t.Fatal(err)
	}
	b.settle(r, 3*cent)
	b.settle(r, 3*cent)
	b.wantRoom(17*cent, nil)
}

func soft(t *testing.T, open Open) {
	t.Helper()
	b := newBench(t, open)
	if s := b.spend(5 * cent); s.SoftBreach || s.Spent != 5*cent {
		t.Errorf("%+v at the ceiling", s)
	}
	if s := b.spend(1); !s.SoftBreach || s.Spent != 5*cent+1 {
		t.Errorf("%+v above the ceiling, want it told", s)
	}
	if s := b.spend(1); s.SoftBreach {
		t.Error("the breach was told twice")
	}
}

func expires(t *testing.T, open Open) {
	t.Helper()
	b := newBench(t, open)
	r := b.reservation(9 * cent)
	if err := b.reserve(r); err != nil {
		t.Fatal(err)
	}
	b.clock.Add(59 * time.Second)
	b.wantRoom(11*cent, nil)
	b.clock.Add(2 * time.Minute)
	b.wantRoom(11*cent, nil)
	if s := b.spend(1 * cent); s.Spent != 10*cent {
		t.Errorf("spent $%s, want the lost attempt at its worst case: $0.10", s.Spent.Dollars())
	}
	if found, err := b.ledger.Lookup(t.Context(), Tenant, "hash-"+r.ID); err != nil || found != nil {
		t.Errorf("a lost attempt answers: %+v, %v", found, err)
	}
}

func late(t *testing.T, open Open) {
	t.Helper()
	b := newBench(t, open)
	r := b.reservation(9 * cent)
	if err := b.reserve(r); err != nil {
		t.Fatal(err)
	}
	b.clock.Add(2 * time.Minute)
	b.wantRoom(11*cent, nil)
	b.settle(r, 2*cent)
	b.wantRoom(18*cent, nil)
	if found, err := b.ledger.Lookup(t.Context(), Tenant, "hash-"+r.ID); err != nil || found == nil || found.Cost != 2*cent {
		t.Errorf("got %+v, %v; want the late answer", found, err)
	}
}

func lookup(t *testing.T, open Open) {
	t.Helper()
	b := newBench(t, open)
	for _, row := range []struct {
		tier    int
		outcome llm.Outcome
	}{{1, llm.Unsure}, {3, llm.Outcome(llm.Malformed)}, {2, llm.OK}, {1, llm.Unsure}} {
		r := lost(b.reservation(1))
		if err := b.ledger.Reserve(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		rec := r.Lost
		confidence := 0.5
		rec.Tier, rec.Outcome, rec.RequestHash, rec.Answer, rec.Confidence, rec.Estimated = row.tier, row.outcome, "same", "answer", &confidence, false
		if _, err := b.ledger.Settle(t.Context(), r, rec); err != nil {
			t.Fatal(err)
		}
	}
	found, err := b.ledger.Lookup(t.Context(), Tenant, "same")
	if err != nil || found == nil || found.Tier != 2 || found.Outcome != llm.OK || found.Answer != "answer" || found.Contact != "contact-1" || found.Tenant != Tenant {
		t.Errorf("got %+v, %v; want the valid answer of the highest tier", found, err)
	}
	if found, err := b.ledger.Lookup(t.Context(), Tenant, "other"); err != nil || found != nil {
		t.Errorf("an answer to nothing: %+v, %v", found, err)
	}
	if err := b.ledger.Record(t.Context(), llm.ByCode(ids.New(start), llm.Request{Role: llm.IntentClassifier, Tenant: Tenant, Thread: "thread-1"}, 0.9, start)); err != nil {
		t.Errorf("a classification by code: %v", err)
	}
}

func dearer(t *testing.T, open Open) {
	t.Helper()
	b := newBench(t, open)
	r := b.reservation(19 * cent)
	if err := b.reserve(r); err != nil {
		t.Fatal(err)
	}
	if s := b.settle(r, 21*cent); s.Spent != 21*cent {
		t.Errorf("spent $%s, want what was billed", s.Spent.Dollars())
	}
	b.wantRoom(-cent, nil)
	if err := b.reserve(b.reservation(0)); err == nil {
		t.Error("a call was allowed beyond the ceiling")
	}
}

func concurrent(t *testing.T, open Open) {
	t.Helper()
	b := newBench(t, open)
	const calls, worst = 64, 3 * cent
	list := make([]llm.Reservation, calls)
	for i := range list {
		list[i] = b.reservation(worst)
		list[i].Contact = ids.ContactID("contact-" + strconv.Itoa(i)) // only the thread bounds them
	}
	held := make(chan llm.Reservation, calls)
	var all sync.WaitGroup
	for _, r := range list {
		all.Go(func() {
			err := b.ledger.Reserve(context.WithoutCancel(t.Context()), lost(r))
			switch {
			case err == nil:
				held <- r
			case !errors.Is(err, llm.ErrBudget):
				t.Error(err)
			}
		})
	}
	all.Wait()
	close(held)
	if len(held) != 6 {
		t.Errorf("%d reservations of 3 cents under a ceiling of 20, want 6", len(held))
	}
	for r := range held {
		b.settle(r, cent)
	}
	b.wantRoom(14*cent, nil)
}
