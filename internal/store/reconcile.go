package store

import (
	"context"
	"time"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/turn"
)

// Reconciliation is the mailbox of a tenant's daily comparison of payments, which
// has no contact, and the name of its timer.
const (
	Reconciliation = ids.MailboxKey("system:reconciliation")
	reconcileTimer = "reconcile"
)

// NextReconciliation is when payments made at now are compared: the next
// midnight of UTC.
func NextReconciliation(now time.Time) time.Time {
	return now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
}

// expectReconciliation has a payment that begins now compared with what it paid
// for. The first of a day sets the timer; the others find it set.
func expectReconciliation(ctx context.Context, tx db.Tx, now time.Time) error {
	var set bool
	if err := db.Gather(ctx, tx, db.Into("look for reconciliation", []any{&set},
		"SELECT EXISTS (SELECT 1 FROM timers WHERE mailbox_key = $1 AND name = $2)", string(Reconciliation), reconcileTimer)); err != nil || set {
		return err
	}
	return writeTimer(ctx, tx, turn.TimerRow{Mailbox: Reconciliation, Name: reconcileTimer, At: NextReconciliation(now)}, "")
}

// maxCompared bounds the attempts of one comparison.
const maxCompared = 10_000

// Compared is what a reconciliation reads: attempts that are open, or were made
// or settled at since or later and made before until; what the app says was
// paid meanwhile; and attempts by the receipts that it names beyond those.
type Compared struct {
	Attempts []payment.Attempt
	Entries  []payment.Entry
	Known    map[string]payment.Attempt
}

// Compare reads, over one snapshot, what a reconciliation compares.
func (t *Tenant) Compare(ctx context.Context, since, until time.Time, paid func(ctx context.Context, q db.Q, since, until time.Time) ([]payment.Entry, error)) (c Compared, err error) {
	err = t.Read(ctx, func(q db.Q) (err error) {
		c = Compared{Known: map[string]payment.Attempt{}}
		if c.Attempts, err = db.Collect(ctx, q, "load attempts to compare", scanAttempt, "SELECT "+attemptColumns+` FROM payment_attempts
			WHERE created_at < $2 AND (created_at >= $1 OR settled_at >= $1 OR status IN ('created', 'sending', 'prompted', 'unknown'))
			ORDER BY created_at, id LIMIT $3`, db.At(since), db.At(until), maxCompared); err != nil {
			return err
		}
		// A payment may be used a while after it came.
		if c.Entries, err = paid(ctx, q, since, until.Add(24*time.Hour)); err != nil {
			return err
		}
		seen := map[string]bool{}
		for _, a := range c.Attempts {
			seen[a.Receipt] = true
		}
		for _, e := range c.Entries {
			if e.Receipt == "" || seen[e.Receipt] {
				continue
			}
			a, err := one(ctx, q, "receipt", e.Receipt, "")
			if fault.CodeOf(err) == fault.NotFound {
				continue
			}
			if err != nil {
				return err
			}
			c.Known[e.Receipt] = a
		}
		return nil
	})
	return c, err
}

// EndReconciliation raises the tasks of a comparison, each once however often it
// is found, sets the next one, none when zero, and gives the mailbox back.
func (t *Tenant) EndReconciliation(ctx context.Context, c mailbox.Claim, tasks []turn.TaskRow, next, now time.Time) error {
	return t.Write(ctx, func(tx db.Tx) error {
		for _, task := range tasks {
			if err := insertTask(ctx, tx, task, now); err != nil {
				return err
			}
		}
		if err := writeTimer(ctx, tx, turn.TimerRow{Mailbox: Reconciliation, Name: reconcileTimer, At: next}, Reconciliation); err != nil {
			return err
		}
		return release(ctx, tx, c, next, 0)
	})
}
