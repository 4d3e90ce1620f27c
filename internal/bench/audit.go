package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ratiba/ratiba/internal/db"
)

// counts is what a tenant's database holds after a run.
type counts struct {
	bookings, paid, settled, turns, waiting, tasks, calls, queued int
}

func (c *counts) add(o counts) {
	c.bookings += o.bookings
	c.paid += o.paid
	c.settled += o.settled
	c.turns += o.turns
	c.waiting += o.waiting
	c.tasks += o.tasks
	c.calls += o.calls
	c.queued += o.queued
}

func count(ctx context.Context, q db.Q) (counts, error) {
	var c counts
	for _, x := range []struct {
		into  *int
		query string
	}{
		{&c.bookings, "SELECT COUNT(*) FROM bookings"},
		{&c.paid, "SELECT COUNT(*) FROM bookings WHERE status = 'confirmed' AND deposit_minor > 0 AND paid_minor = deposit_minor AND receipt <> ''"},
		{&c.settled, "SELECT COUNT(*) FROM payment_attempts WHERE status = 'succeeded'"},
		{&c.turns, "SELECT COUNT(*) FROM turns"},
		{&c.waiting, "SELECT COUNT(*) FROM inbox WHERE done_at IS NULL"},
		{&c.tasks, "SELECT COUNT(*) FROM tasks"},
		{&c.calls, "SELECT COUNT(*) FROM llm_calls WHERE outcome = 'ok'"},
		{&c.queued, "SELECT COUNT(*) FROM outbox"},
	} {
		if err := q.QueryRowContext(ctx, x.query).Scan(x.into); err != nil {
			return c, fmt.Errorf("audit: %w", err)
		}
	}
	return c, nil
}

// audit checks that every conversation that was held ended as one confirmed
// paid booking, and that nothing else happened.
func (w *world) audit(ctx context.Context, conversations int) (counts, error) {
	var all counts
	for _, b := range w.businesses {
		err := b.store.Read(ctx, func(q db.Q) error {
			c, err := count(ctx, q)
			all.add(c)
			return err
		})
		if err != nil {
			return all, err
		}
	}
	var errs []error
	want := func(what string, got, want int) {
		if got != want {
			errs = append(errs, fmt.Errorf("%s: %d, want %d", what, got, want))
		}
	}
	want("confirmed paid bookings", all.paid, conversations)
	want("bookings of any kind", all.bookings, conversations)
	want("succeeded payment attempts", all.settled, conversations)
	want("turns", all.turns, conversations*turnsPer)
	want("inbox rows still waiting", all.waiting, 0)
	want("tasks for a person", all.tasks, 0)
	want("recorded model calls", all.calls, int(w.model.calls.Load()))
	if len(errs) > 0 {
		return all, fmt.Errorf("the run produced wrong results: %w", errors.Join(append(errs, w.events.err())...))
	}
	return all, nil
}

// messages counts the messages a tenant was ever sent.
func messages(ctx context.Context, q db.Q) (n int, err error) {
	if err := q.QueryRowContext(ctx, "SELECT COUNT(*) FROM inbox WHERE kind = 'message'").Scan(&n); err != nil {
		return 0, fmt.Errorf("audit: %w", err)
	}
	return n, nil
}

// openThreads counts the conversations of a tenant that are under way.
func openThreads(ctx context.Context, q db.Q) (n int, err error) {
	if err := q.QueryRowContext(ctx, "SELECT COUNT(*) FROM conversation_threads WHERE closed_at IS NULL").Scan(&n); err != nil {
		return 0, fmt.Errorf("audit: %w", err)
	}
	return n, nil
}

// setTimers sets the measured timer of every open handoff of a business, the
// i-th for due(i), and counts them.
func setTimers(ctx context.Context, tx db.Tx, due func(i int) time.Time) (int, error) {
	type open struct{ id, mailbox string }
	all, err := db.Collect(ctx, tx, "list handoffs", func(row db.Scanner) (o open, err error) {
		return o, row.Scan(&o.id, &o.mailbox)
	}, "SELECT id, mailbox_key FROM conversation_threads WHERE closed_at IS NULL AND driver = 'SUSPENDED_FOR_HUMAN' ORDER BY id")
	if err != nil {
		return 0, err
	}
	for i, o := range all {
		if err := db.Exec(ctx, tx, "set timer", `INSERT INTO timers (mailbox_key, scope, name, due_at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (mailbox_key, scope, name) DO UPDATE SET due_at = excluded.due_at`, o.mailbox, o.id, clockTimer, db.At(due(i))); err != nil {
			return 0, err
		}
		if err := db.Exec(ctx, tx, "wake mailbox", "UPDATE mailboxes SET due_at = $2 WHERE key = $1", o.mailbox, db.At(due(i))); err != nil {
			return 0, err
		}
	}
	return len(all), nil
}
