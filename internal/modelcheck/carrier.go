package modelcheck

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/turn"
)

// carry takes a flight one step on. The outbox's own worker decides what an
// outcome makes of the row.
func (s *state) carry(ctx context.Context, a Action) error {
	f := &s.flights[a.Arg]
	if a.Kind == Push || a.Kind == Reject {
		ended, err := s.push(ctx, f, a.Kind == Reject)
		if err != nil || !ended {
			return err
		}
	}
	outcome := outbox.Outcome{Verdict: outbox.Done, ProviderID: "wamid." + f.ID}
	var err error
	switch f.Kind {
	case promptKind:
		err = s.note(ctx, f, a.Kind)
	case queryKind:
		err = s.query(ctx, f, a.Kind == Succeed)
	default:
		if outcome, err = s.message(ctx, f, outcome); err != nil {
			return err
		}
		if button := yesButton(f.Row); button != "" {
			s.seen = button
		}
	}
	if err != nil {
		return err
	}
	row := f.Row
	s.flights = slices.Delete(s.flights, int(a.Arg), int(a.Arg)+1)
	return s.settle(ctx, row, outcome)
}

// settle has the outbox's worker note an outcome.
func (s *state) settle(ctx context.Context, row outbox.Row, o outbox.Outcome) error {
	said := complain()
	w := outbox.NewWorker(outbox.WorkerConfig{
		Open:     func(context.Context, ids.TenantID) (outbox.Store, error) { return marked{Store: s.db, row: row}, nil },
		Carriers: map[string]outbox.Carrier{row.Kind: known(o)}, Clock: clock.NewFixed(s.now), Real: clock.NewFixed(s.real),
		Logger: slog.New(said), Settled: func(ids.TenantID, outbox.State) {},
	})
	jobs, _, err := w.Claim(ctx, s.kit.tenant.ID, 1)
	if err != nil {
		return err
	}
	for _, job := range jobs {
		job.Run(ctx)
	}
	return said.err()
}

// marked is a store whose next row was claimed before.
type marked struct {
	outbox.Store
	row outbox.Row
}

// ClaimOutbox implements outbox.Store.
func (m marked) ClaimOutbox(context.Context, time.Time, time.Time, int) ([]outbox.Row, time.Time, error) {
	return []outbox.Row{m.row}, time.Time{}, nil
}

// known is a carrier whose outcome is known already.
type known outbox.Outcome

// Carry implements outbox.Carrier.
func (k known) Carry(context.Context, ids.TenantID, outbox.Row) outbox.Outcome {
	return outbox.Outcome(k)
}

// message holds back what must not overtake sends under way.
func (s *state) message(ctx context.Context, f *flight, done outbox.Outcome) (outbox.Outcome, error) {
	send := sends(f.Row)
	if !send.Yields(f.Row, s.now) {
		return done, nil
	}
	n, err := s.db.InFlight(ctx, send.After)
	if err == nil && n > 0 {
		return outbox.Outcome{Verdict: outbox.Retry, Class: outbox.ClassLocal, RetryAfter: outbox.YieldStep}, nil
	}
	if err == nil && s.agentFlights() {
		err = breach("P5", "a takeover was acknowledged while a send of the agent was under way")
	}
	return done, err
}

// agentFlights reports whether something the agent wrote is on its way to the
// customer, as the world sees it.
func (s *state) agentFlights() bool {
	return slices.ContainsFunc(s.flights, func(f flight) bool {
		return f.Origin == outbox.Agent && f.ContactID == s.contact(partyCustomer)
	})
}

// push begins the attempt and has the provider take the prompt, or refuse it.
// ended says that there is nothing more to note.
func (s *state) push(ctx context.Context, f *flight, refuse bool) (ended bool, err error) {
	id := attemptIn(f.Row)
	started, err := s.db.ChangeAttempt(ctx, id, func(a payment.Attempt) (payment.Attempt, bool) {
		a, ok := payment.Begin(a, s.now)
		a.TokenHash = "secret-of-" + a.ID
		return a, ok
	}, s.nextCheck)
	blindly := s.mem != nil && s.mem.faults.Blindly
	if err != nil || !started && !blindly {
		return true, err
	}
	if s.mem != nil && s.mem.driven(f.ContactID) {
		return true, breach("P5", "a prompt that was not sent before the takeover is sent under a human")
	}
	a, err := s.db.Attempt(ctx, id)
	if err != nil {
		return true, err
	}
	if refuse {
		_, err := s.db.Report(ctx, a, payment.Report{Source: payment.FromPrompt, Outcome: payment.Outcome{
			Kind: payment.Rejected, Code: "refused",
		}}, s.now)
		return true, err
	}
	f.pushed = fmt.Sprint("ws_", len(s.prompts))
	s.prompts = append(s.prompts, prompt{attempt: id, checkout: f.pushed, amount: a.Amount, at: s.now})
	return false, s.onPhone()
}

// note writes the provider's acceptance down, or that it was lost.
func (s *state) note(ctx context.Context, f *flight, k Kind) error {
	if f.pushed == "" {
		return nil
	}
	_, err := s.db.ChangeAttempt(ctx, attemptIn(f.Row), func(a payment.Attempt) (payment.Attempt, bool) {
		if k == Lose {
			return payment.Lose(a), true
		}
		return payment.Accept(a, payment.Accepted{MerchantID: "m-" + f.pushed, CheckoutID: f.pushed}), true
	}, s.nextCheck)
	return err
}

// query asks what became of a prompt, or gives it up when its time is over.
func (s *state) query(ctx context.Context, f *flight, succeed bool) error {
	a, err := s.db.Attempt(ctx, attemptIn(f.Row))
	if err != nil {
		return err
	}
	ask, giveUp := payment.Asks(a, s.now)
	if giveUp {
		_, err = s.db.Report(ctx, a, payment.Report{Source: payment.FromClose}, s.now)
	}
	if !ask {
		return err
	}
	if succeed {
		if _, err := s.db.Report(ctx, a, payment.Report{Source: payment.FromQuery, Outcome: payment.Outcome{
			Kind: payment.Success, Code: "0", CheckoutID: a.CheckoutID,
		}}, s.now); err != nil {
			return err
		}
	}
	_, err = s.db.ChangeAttempt(ctx, a.ID, func(a payment.Attempt) (payment.Attempt, bool) {
		return payment.Asked(a, s.now), true
	}, s.nextCheck)
	return err
}

func (s *state) nextCheck(a payment.Attempt) time.Time { return payment.NextCheck(a, s.now) }

// witness stands between the engine and the store: it hands out what was read
// before, and checks every commit against the store as it was.
type witness struct {
	turn.Store
	s    *state
	read *turn.Snapshot
	seen error
}

// Load implements turn.Store.
func (w *witness) Load(ctx context.Context, key ids.MailboxKey) (turn.Snapshot, error) {
	if w.read != nil {
		snap := *w.read
		w.read = nil
		if snap.Thread != nil {
			th := detached(snap.Thread)
			snap.Thread = &th
		}
		return snap, nil
	}
	return w.Store.Load(ctx, key)
}

// Commit implements turn.Store.
func (w *witness) Commit(ctx context.Context, c *turn.Commit, inside func(ctx context.Context, tx db.Tx) error) error {
	before := w.s.mem
	if before != nil {
		before = before.clone()
	}
	err := w.Store.Commit(ctx, c, inside)
	if before != nil && w.seen == nil {
		w.seen = committed(before, w.s.mem, c, err)
	}
	return err
}
