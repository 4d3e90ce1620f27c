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

// claimable is the condition under which this node may claim a mailbox: nobody
// holds it, and its open thread is not of a newer checkpoint version that
// another node can read ($2 is what this build reads, $3 what any live node
// does). When none can, it is claimed, and the turn hands over to a human.
const claimable = `(lease_until IS NULL OR lease_until <= $1) AND NOT EXISTS (
	SELECT 1 FROM conversation_threads c WHERE c.mailbox_key = mailboxes.key AND c.closed_at IS NULL
		AND c.graph_version > $2 AND c.graph_version <= $3)`

// ClaimMailboxes leases up to limit mailboxes that are due at now and says when
// the next one is due. Leases follow real time.
func (t *Tenant) ClaimMailboxes(ctx context.Context, now, real time.Time, limit int) (claims []mailbox.Claim, next time.Time, err error) {
	if !t.store.shared() {
		// Looking costs no flush: most wakes find nothing left to do.
		var due db.Time
		err := t.look(ctx, func(d *db.DB) (bool, error) { return false, d.Ask(ctx, t.askDue(real, &due)) })
		if next = due.Time; err != nil || next.IsZero() || next.After(now) {
			return nil, next, err
		}
	}
	var due db.Time
	var newer []ids.MailboxKey
	token := ids.New(real)
	lease := func(tx db.Tx) error {
		claims, newer, due = nil, nil, db.Time{}
		// Every lease counts as a crash until it is given back.
		ask := db.Each("lease mailboxes", func(row db.Scanner) error {
			c := mailbox.Claim{Token: token}
			err := row.Scan(&c.Key, &c.WakeSeq, &c.Tries, &c.Crashes)
			claims = append(claims, c)
			return err
		}, `WITH due AS MATERIALIZED (
				SELECT key FROM mailboxes WHERE due_at <= $4 AND `+claimable+` ORDER BY due_at, key LIMIT $5`+tx.Dialect().SkipLocked+`)
			UPDATE mailboxes SET lease_token = $6, lease_until = $7, crashes = crashes + 1
			WHERE key IN (SELECT key FROM due) RETURNING key, wake_seq, tries, crashes - 1`,
			db.At(real), t.part.Version, t.newest(), db.At(now), limit, token, db.At(real.Add(mailbox.LeaseTime)))
		asks := []db.Ask{ask, t.askDue(real, &due)}
		if t.store.shared() {
			asks = append(asks, t.askNewer(token, &newer))
		}
		return tx.Last(ctx, asks...)
	}
	err = t.look(ctx, func(d *db.DB) (bool, error) {
		err := d.Write(ctx, lease)
		return len(claims) > 0, err
	})
	if err == nil && len(newer) > 0 {
		claims, err = t.giveBack(ctx, claims, newer)
	}
	return claims, due.Time, err
}

// askNewer lists the mailboxes just leased whose thread this build cannot read.
// It is a question of its own: the condition of a claim looks at the threads as
// they were when it began.
func (t *Tenant) askNewer(token string, into *[]ids.MailboxKey) db.Ask {
	return db.Each("look for newer threads", func(row db.Scanner) error {
		var key ids.MailboxKey
		err := row.Scan(&key)
		*into = append(*into, key)
		return err
	}, `SELECT m.key FROM mailboxes m WHERE m.lease_token = $1 AND EXISTS (SELECT 1 FROM conversation_threads c
		WHERE c.mailbox_key = m.key AND c.closed_at IS NULL AND c.graph_version > $2)`, token, t.part.Version)
}

// giveBack leaves mailboxes alone whose thread this build cannot read and
// another node can, asking now who lives: what the last beat told may be older
// than a node that has just started.
func (t *Tenant) giveBack(ctx context.Context, claims []mailbox.Claim, newer []ids.MailboxKey) (kept []mailbox.Claim, err error) {
	if err := t.store.learn(ctx); err != nil {
		return nil, err
	}
	given := map[ids.MailboxKey]bool{}
	err = t.Write(ctx, func(tx db.Tx) error {
		clear(given)
		var asks []db.Ask
		for _, key := range newer {
			asks = append(asks, db.Each("leave mailbox", func(db.Scanner) error { given[key] = true; return nil }, `
				UPDATE mailboxes SET lease_token = '', lease_until = NULL, crashes = crashes - 1
				WHERE key = $1 AND lease_token = $4 AND EXISTS (SELECT 1 FROM conversation_threads c WHERE c.mailbox_key = mailboxes.key
					AND c.closed_at IS NULL AND c.graph_version > $2 AND c.graph_version <= $3) RETURNING key`,
				string(key), t.part.Version, t.newest(), claims[0].Token))
		}
		return db.Gather(ctx, tx, asks...)
	})
	for _, c := range claims {
		if !given[c.Key] {
			kept = append(kept, c)
		}
	}
	return kept, err
}

// newest is the newest checkpoint version of the tenant's app that any live node reads.
func (t *Tenant) newest() int { return (*t.store.reads.Load())[t.app] }

// askDue asks when the next mailbox that this node may claim is due.
func (t *Tenant) askDue(real time.Time, into *db.Time) db.Ask {
	return db.Into("find next mailbox", []any{into}, "SELECT MIN(due_at) FROM mailboxes WHERE "+claimable,
		db.At(real), t.part.Version, t.newest())
}

// Extend lengthens a lease whose turn is still under way. A lease that was lost
// is answered with turn.ErrLost.
func (t *Tenant) Extend(ctx context.Context, c mailbox.Claim, real time.Time) error {
	return t.Write(ctx, func(tx db.Tx) error {
		n, err := db.Changed(ctx, tx, "extend lease", "UPDATE mailboxes SET lease_until = $3 WHERE key = $1 AND lease_token = $2",
			string(c.Key), c.Token, db.At(real.Add(mailbox.LeaseTime)))
		if err == nil && n == 0 {
			return turn.ErrLost
		}
		return err
	})
}

// Release implements turn.Store.
func (t *Tenant) Release(ctx context.Context, c mailbox.Claim, due time.Time, failed bool) error {
	return t.Write(ctx, func(tx db.Tx) error {
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

// askInbound loads what came in and waits, in order of arrival.
func askInbound(key ids.MailboxKey, into *[]mailbox.Item) db.Ask {
	return db.Each("load inbound", func(row db.Scanner) error {
		var it mailbox.Item
		var seq int64
		var at db.Time
		err := row.Scan(&seq, db.JSON{V: &it}, &at)
		it.Seq, it.ReceivedAt = seq, at.Time
		*into = append(*into, it)
		return err
	}, "SELECT seq, payload, received_at FROM inbox WHERE mailbox_key = $1 AND done_at IS NULL ORDER BY seq LIMIT $2",
		string(key), 2*mailbox.MaxBurst)
}

// askTimers loads a mailbox's timers by their due time.
func askTimers(key ids.MailboxKey, into *[]mailbox.Item) db.Ask {
	return db.Each("load timers", func(row db.Scanner) error {
		e := mailbox.Event{Kind: mailbox.Timer}
		var at db.Time
		err := row.Scan(&e.Scope, &e.Name, &at, db.JSON{V: &e.Data})
		*into = append(*into, mailbox.Item{Event: &e, ReceivedAt: at.Time})
		return err
	}, "SELECT scope, name, due_at, data FROM timers WHERE mailbox_key = $1 ORDER BY due_at, scope, name LIMIT $2",
		string(key), mailbox.MaxBurst)
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
