package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/turn"
)

func jsonOf(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("store: %T cannot be encoded: %v", v, err)) // our own structs and maps
	}
	return b
}

// ClaimMailboxes leases up to limit mailboxes that are due at now and says when
// the next one is due. Leases follow real time.
func (t *Tenant) ClaimMailboxes(ctx context.Context, now, real time.Time, limit int) (claims []mailbox.Claim, next time.Time, err error) {
	// Looking costs no write: most wakes find nothing left to do.
	if next, err = t.nextMailbox(ctx, real); err != nil || next.IsZero() || next.After(now) {
		return nil, next, err
	}
	err = t.db.Write(ctx, func(tx db.Tx) error {
		claims, err = db.Collect(ctx, tx, "find due mailboxes", func(row db.Scanner) (mailbox.Claim, error) {
			var c mailbox.Claim
			return c, row.Scan(&c.Key, &c.WakeSeq, &c.Tries, &c.Crashes)
		}, `SELECT key, wake_seq, tries, crashes FROM mailboxes
			WHERE due_at <= $1 AND (lease_until IS NULL OR lease_until <= $2) ORDER BY due_at, key LIMIT $3`,
			db.At(now), db.At(real), limit)
		if err != nil {
			return err
		}
		for i := range claims {
			claims[i].Token = ids.New(real)
			// Every lease counts as a crash until it is given back.
			if err := db.Exec(ctx, tx, "lease mailbox",
				"UPDATE mailboxes SET lease_token = $2, lease_until = $3, crashes = crashes + 1 WHERE key = $1",
				string(claims[i].Key), claims[i].Token, db.At(real.Add(mailbox.LeaseTime))); err != nil {
				return err
			}
		}
		next, err = minDue(ctx, tx, real)
		return err
	})
	return claims, next, err
}

func (t *Tenant) nextMailbox(ctx context.Context, real time.Time) (next time.Time, err error) {
	err = t.db.Read(ctx, func(q db.Q) error { next, err = minDue(ctx, q, real); return err })
	return next, err
}

// minDue is when the next mailbox that nobody holds is due.
func minDue(ctx context.Context, q db.Q, real time.Time) (time.Time, error) {
	var due db.Time
	if err := q.QueryRowContext(ctx, "SELECT MIN(due_at) FROM mailboxes WHERE lease_until IS NULL OR lease_until <= $1", db.At(real)).Scan(&due); err != nil {
		return time.Time{}, fmt.Errorf("find next mailbox: %w", err)
	}
	return due.Time, nil
}

// Release implements turn.Store.
func (t *Tenant) Release(ctx context.Context, c mailbox.Claim, due time.Time, failed bool) error {
	return t.db.Write(ctx, func(tx db.Tx) error {
		tries := 0
		if failed {
			tries = c.Tries + 1
		}
		return release(ctx, tx, c, due, tries)
	})
}

// release gives a lease back. A row that came after the claim makes the
// mailbox due at once, because due was computed without it.
func release(ctx context.Context, tx db.Tx, c mailbox.Claim, due time.Time, tries int) error {
	n, err := db.Changed(ctx, tx, "release mailbox", `
		UPDATE mailboxes SET lease_token = '', lease_until = NULL, tries = $4, crashes = 0,
			due_at = CASE WHEN wake_seq = $5 OR due_at IS NULL OR due_at > $3 THEN $3 ELSE due_at END
		WHERE key = $1 AND lease_token = $2`, string(c.Key), c.Token, db.At(due), tries, c.WakeSeq)
	if err != nil {
		return err
	}
	if n == 0 {
		return turn.ErrLost
	}
	return nil
}

// nextDue says when a mailbox is due after what was done: now when something
// waits, at its next timer otherwise.
func nextDue(ctx context.Context, tx db.Tx, key ids.MailboxKey, now time.Time) (time.Time, error) {
	var open int
	if err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM inbox WHERE mailbox_key = $1 AND done_at IS NULL", string(key)).Scan(&open); err != nil {
		return time.Time{}, fmt.Errorf("count waiting: %w", err)
	}
	if open > 0 {
		return now, nil
	}
	var at db.Time
	if err := tx.QueryRowContext(ctx, "SELECT MIN(due_at) FROM timers WHERE mailbox_key = $1", string(key)).Scan(&at); err != nil {
		return time.Time{}, fmt.Errorf("next timer: %w", err)
	}
	return at.Time, nil
}

// finish marks a batch as done.
func finish(ctx context.Context, tx db.Tx, key ids.MailboxKey, b mailbox.Batch, turnID ids.TurnID, now time.Time) error {
	for _, it := range b.Items {
		var err error
		if it.Seq == 0 {
			err = db.Exec(ctx, tx, "finish timer", "DELETE FROM timers WHERE mailbox_key = $1 AND scope = $2 AND name = $3 AND due_at = $4",
				string(key), string(it.Event.Scope), it.Event.Name, db.At(it.ReceivedAt))
		} else {
			err = db.Exec(ctx, tx, "finish inbound", "UPDATE inbox SET done_at = $2, turn_id = $3 WHERE seq = $1 AND done_at IS NULL",
				it.Seq, db.At(now), string(turnID))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// waiting loads what waits in a mailbox: inbound in order of arrival, and
// timers by their due time among them.
func waiting(ctx context.Context, q db.Q, key ids.MailboxKey) ([]mailbox.Item, error) {
	items, err := db.Collect(ctx, q, "load inbound", func(row db.Scanner) (mailbox.Item, error) {
		var it mailbox.Item
		var seq int64
		var at db.Time
		if err := row.Scan(&seq, db.JSON{V: &it}, &at); err != nil {
			return it, err
		}
		it.Seq, it.ReceivedAt = seq, at.Time
		return it, nil
	}, "SELECT seq, payload, received_at FROM inbox WHERE mailbox_key = $1 AND done_at IS NULL ORDER BY seq LIMIT $2",
		string(key), 2*mailbox.MaxBurst)
	if err != nil {
		return nil, err
	}
	timers, err := db.Collect(ctx, q, "load timers", func(row db.Scanner) (mailbox.Item, error) {
		e := mailbox.Event{Kind: mailbox.Timer}
		var at db.Time
		if err := row.Scan(&e.Scope, &e.Name, &at, db.JSON{V: &e.Data}); err != nil {
			return mailbox.Item{}, err
		}
		return mailbox.Item{Event: &e, ReceivedAt: at.Time}, nil
	}, "SELECT scope, name, due_at, data FROM timers WHERE mailbox_key = $1 ORDER BY due_at, scope, name LIMIT $2",
		string(key), mailbox.MaxBurst)
	if err != nil {
		return nil, err
	}
	return interleave(items, timers), nil
}

// interleave puts each timer before the first item that arrived after it was due.
func interleave(items, timers []mailbox.Item) []mailbox.Item {
	out := make([]mailbox.Item, 0, len(items)+len(timers))
	for _, it := range items {
		for len(timers) > 0 && timers[0].ReceivedAt.Before(it.ReceivedAt) {
			out, timers = append(out, timers[0]), timers[1:]
		}
		out = append(out, it)
	}
	return append(out, timers...)
}
