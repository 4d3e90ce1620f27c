package store

import (
	"context"
	"time"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/outbox"
)

// Tenant is one tenant's database. It is safe for concurrent use.
type Tenant struct {
	id     ids.TenantID
	db     *db.DB
	merged func(ctx context.Context, tx db.Tx, from, to ids.ContactID) error // the app's share of a merge, nil for none
}

// ID returns whose database it is.
func (t *Tenant) ID() ids.TenantID { return t.id }

// Read runs fn over a snapshot.
func (t *Tenant) Read(ctx context.Context, fn func(q db.Q) error) error { return t.db.Read(ctx, fn) }

// Write runs fn in a transaction, for an app that applies its definition.
func (t *Tenant) Write(ctx context.Context, fn func(tx db.Tx) error) error {
	return t.db.Write(ctx, fn)
}

// recover makes work claimable that a crashed process had under way. One
// process owns an embedded database, so every lease found at opening is dead;
// it stays counted in crashes.
// A send that was under way may have arrived: it waits for its receipt from
// now on, because none could come in while nobody listened.
func (t *Tenant) recover(ctx context.Context, real time.Time) error {
	return t.db.Write(ctx, func(tx db.Tx) error {
		if err := db.Exec(ctx, tx, "drop dead leases",
			"UPDATE mailboxes SET lease_token = '', lease_until = NULL WHERE lease_token <> ''"); err != nil {
			return err
		}
		return db.Exec(ctx, tx, "doubt interrupted sends", "UPDATE outbox SET state = 'doubt', due_at = $1 WHERE state = 'sending'",
			db.At(real.Add(outbox.DoubtWait)))
	})
}

// NextWork returns when the next mailbox and the next outbox row are due, zero
// for never.
func (t *Tenant) NextWork(ctx context.Context) (mail, out time.Time, err error) {
	var m, o db.Time
	err = t.db.Read(ctx, func(q db.Q) error {
		if err := q.QueryRowContext(ctx, "SELECT MIN(due_at) FROM mailboxes").Scan(&m); err != nil {
			return err
		}
		return q.QueryRowContext(ctx, "SELECT MIN(due_at) FROM outbox WHERE state IN ('queued', 'sending', 'doubt')").Scan(&o)
	})
	return m.Time, o.Time, err
}
