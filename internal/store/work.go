package store

import (
	"context"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/turn"
)

// Wake sets timers of mailboxes that belong to no contact, each unless it is due
// earlier already.
func (t *Tenant) Wake(ctx context.Context, timers ...turn.TimerRow) error {
	return t.Write(ctx, func(tx db.Tx) error {
		for _, tm := range timers {
			if err := lockMailbox(ctx, tx, tm.Mailbox); err != nil {
				return err
			}
			if err := db.Exec(ctx, tx, "wake job", `INSERT INTO timers (mailbox_key, scope, name, due_at) VALUES ($1, '', $2, $3)
				ON CONFLICT (mailbox_key, scope, name) DO UPDATE SET due_at = excluded.due_at WHERE timers.due_at > excluded.due_at`,
				string(tm.Mailbox), tm.Name, db.At(tm.At)); err != nil {
				return err
			}
			if err := wake(ctx, tx, tm.Mailbox, tm.At); err != nil {
				return err
			}
		}
		return nil
	})
}

// Act writes what an operation came to: inside first, then the commit's events,
// timers and tasks, all of it or nothing.
func (t *Tenant) Act(ctx context.Context, c *turn.Commit, inside func(ctx context.Context, tx db.Tx) error) error {
	return t.once(ctx, func(tx db.Tx) error {
		if err := db.Gather(ctx, tx, lockAll(tx, c, func(ids.MailboxKey, string) {})...); err != nil {
			return err
		}
		if err := inside(ctx, tx); err != nil {
			return err
		}
		return writeOthers(ctx, tx, c)
	})
}

// FinishWork writes what a job came to and gives its mailbox back: the timers
// that had fallen due at now are done, the commit's events, timers and tasks
// are written, inside first, all of it or nothing. A lease that was lost is
// answered with turn.ErrLost, what another transaction was faster at with
// turn.ErrStale.
func (t Turns) FinishWork(ctx context.Context, c *turn.Commit, inside func(ctx context.Context, tx db.Tx) error) error {
	return t.commit(ctx, c, func(tx db.Tx) error {
		if err := inside(ctx, tx); err != nil {
			return err
		}
		// Whoever woke the job since it was claimed is not forgotten.
		if err := db.Exec(ctx, tx, "finish timers", `DELETE FROM timers WHERE mailbox_key = $1 AND due_at <= $2
			AND EXISTS (SELECT 1 FROM mailboxes WHERE key = $1 AND wake_seq = $3)`,
			string(c.Claim.Key), db.At(c.Now), c.Claim.WakeSeq); err != nil {
			return err
		}
		return writeOthers(ctx, tx, c)
	})
}
