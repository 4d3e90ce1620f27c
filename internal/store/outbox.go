package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/thread"
	"github.com/ratiba/ratiba/internal/turn"
)

func insertOutbox(ctx context.Context, tx db.Tx, r outbox.Row) error {
	return db.Exec(ctx, tx, "queue effect", `
		INSERT INTO outbox (id, lane, kind, origin, idempotency_key, contact_id, thread_id, turn_id, epoch, payload, state,
			due_at, expires_at, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'queued', $11, $12, $13)
		ON CONFLICT (idempotency_key) DO NOTHING`,
		r.ID, r.Lane, r.Kind, string(r.Origin), r.Key, string(r.ContactID), string(r.ThreadID), string(r.TurnID), r.Epoch,
		db.JSON{V: r.Payload}, db.At(r.DueAt), db.At(r.ExpiresAt), db.At(r.CreatedAt))
}

const outboxColumns = `seq, id, lane, kind, origin, idempotency_key, contact_id, thread_id, turn_id, epoch, payload, state, tries,
	resends, due_at, expires_at, created_at`

func scanOutbox(row db.Scanner) (outbox.Row, error) {
	var r outbox.Row
	var due, expires, created db.Time
	err := row.Scan(&r.Seq, &r.ID, &r.Lane, &r.Kind, &r.Origin, &r.Key, &r.ContactID, &r.ThreadID, &r.TurnID, &r.Epoch,
		db.JSON{V: &r.Payload}, &r.State, &r.Tries, &r.Resends, &due, &expires, &created)
	r.DueAt, r.ExpiresAt, r.CreatedAt = due.Time, expires.Time, created.Time
	return r, err
}

// ClaimOutbox implements outbox.Store. The mark it commits is the start of the
// attempt: whether an agent-written row may start is decided in the same
// transaction that marks it (P5).
func (t *Tenant) ClaimOutbox(ctx context.Context, now, real time.Time, limit int) (rows []outbox.Row, next time.Time, err error) {
	if !t.store.shared() {
		err = t.look(ctx, func(d *db.DB) (bool, error) {
			return false, d.Read(ctx, func(q db.Q) (err error) { next, err = nextEffect(ctx, q); return err })
		})
		if err != nil || next.IsZero() || next.After(real) {
			return nil, next, err
		}
	}
	found := false
	mark := func(tx db.Tx) error {
		rows = nil
		heads, err := db.Collect(ctx, tx, "find due effects", scanOutbox, "SELECT "+outboxColumns+` FROM outbox o
			WHERE state IN ('queued', 'sending', 'doubt') AND due_at <= $1 AND NOT EXISTS (
				SELECT 1 FROM outbox e WHERE e.lane = o.lane AND e.seq < o.seq AND e.state IN ('queued', 'sending', 'doubt'))
			ORDER BY seq LIMIT $2`, db.At(real), limit)
		if err != nil {
			return err
		}
		found = len(heads) > 0
		speak, err := lookDrivers(ctx, tx, heads)
		if err != nil {
			return err
		}
		for _, r := range heads {
			r, starts, err := begin(ctx, tx, r, speak, now, real)
			if err != nil {
				return err
			}
			if starts {
				rows = append(rows, r)
			}
		}
		if len(heads) > 0 {
			next = real // more may wait behind what was put aside or beyond the limit
			return nil
		}
		next, err = nextEffect(ctx, tx)
		return err
	}
	err = t.look(ctx, func(d *db.DB) (bool, error) {
		err := d.Write(ctx, mark)
		return found, err
	})
	return rows, next, err
}

// drivers are who speaks in the chats that agent-written rows belong to.
type drivers struct {
	epochs map[ids.ThreadID]int64
	human  map[ids.ContactID]bool // a human drives what the contact has open now
}

// lookDrivers reads who speaks, and keeps it so until the rows are marked: the
// contacts' mailboxes are locked, so that no thread of theirs is opened or
// closed, and the threads, so that no takeover commits. All are locked in the
// order of their ids, and before the rows, as commits do.
func lookDrivers(ctx context.Context, tx db.Tx, rows []outbox.Row) (drivers, error) {
	d := drivers{epochs: map[ids.ThreadID]int64{}, human: map[ids.ContactID]bool{}}
	var contacts []ids.ContactID
	var threads []ids.ThreadID
	for _, r := range rows {
		if r.Origin == outbox.Agent && r.ThreadID != "" {
			contacts, threads = append(contacts, r.ContactID), append(threads, r.ThreadID)
		}
	}
	slices.Sort(contacts)
	var asks []db.Ask
	for _, c := range slices.Compact(contacts) {
		asks = append(asks, db.Each("lock mailbox", nothing, "SELECT key FROM mailboxes WHERE key = $1"+tx.Dialect().ForUpdate, string(KeyOf(c))))
	}
	for _, c := range slices.Compact(contacts) {
		asks = append(asks, db.Each("find open thread", func(row db.Scanner) error {
			var id ids.ThreadID
			err := row.Scan(&id)
			threads = append(threads, id)
			return err
		}, "SELECT id FROM conversation_threads WHERE mailbox_key = $1 AND closed_at IS NULL", string(KeyOf(c))))
	}
	if err := db.Gather(ctx, tx, asks...); err != nil {
		return d, err
	}
	slices.Sort(threads)
	asks = nil
	for _, id := range slices.Compact(threads) {
		asks = append(asks, db.Each("check driver", func(row db.Scanner) error {
			var contact ids.ContactID
			var epoch int64
			var driver thread.Driver
			var closed db.Time
			err := row.Scan(&contact, &epoch, &driver, &closed)
			d.epochs[id] = epoch
			d.human[contact] = d.human[contact] || closed.IsZero() && driver == thread.HumanDriving
			return err
		}, "SELECT contact_id, epoch, driver, closed_at FROM conversation_threads WHERE id = $1"+tx.Dialect().ForShare, string(id)))
	}
	return d, db.Gather(ctx, tx, asks...)
}

func nothing(db.Scanner) error { return nil }

// begin marks a row as started, or puts it aside. A row that is still marked as
// sending when its mark runs out was started by someone who could not note the
// outcome: it is in doubt. What was sent again as often as that may happen is
// shown to a person instead. A row that another node marked meanwhile is that node's.
func begin(ctx context.Context, tx db.Tx, r outbox.Row, speak drivers, now, real time.Time) (outbox.Row, bool, error) {
	tries, was := r.Tries, r.State
	state, err := admit(ctx, tx, r, speak, now)
	if err != nil {
		return r, false, err
	}
	unknown := r.State != outbox.Queued
	if unknown && r.Resends == outbox.MaxResends && state == outbox.Sending {
		state = outbox.Failed
	}
	if unknown && state == outbox.Sending {
		r.Resends++
	}
	r.State = state
	r.Tries++
	n, err := db.Changed(ctx, tx, "mark effect",
		"UPDATE outbox SET state = $2, tries = $3, resends = $4, resent = $5, due_at = $6 WHERE id = $1 AND state = $7 AND tries = $8",
		r.ID, string(state), r.Tries, r.Resends, r.Resends > 0, db.At(real.Add(outbox.CarryTime+outbox.DoubtWait)), string(was), tries)
	if err == nil && n > 0 && state == outbox.Failed {
		err = givenUp(ctx, tx, r, outbox.Outcome{Detail: "sent again and again, and no receipt came"}, now)
	}
	return r, n > 0 && state == outbox.Sending, err
}

// nextEffect is when the next row that is first in its lane is due.
func nextEffect(ctx context.Context, q db.Q) (time.Time, error) {
	var due db.Time
	err := q.QueryRowContext(ctx, `SELECT MIN(due_at) FROM outbox o WHERE state IN ('queued', 'sending', 'doubt') AND NOT EXISTS (
		SELECT 1 FROM outbox e WHERE e.lane = o.lane AND e.seq < o.seq AND e.state IN ('queued', 'sending', 'doubt'))`).Scan(&due)
	if err != nil {
		return time.Time{}, fmt.Errorf("find next effect: %w", err)
	}
	return due.Time, nil
}

// admit decides whether a row may be sent at this instant.
func admit(ctx context.Context, tx db.Tx, r outbox.Row, speak drivers, now time.Time) (outbox.State, error) {
	if !r.ExpiresAt.IsZero() && now.After(r.ExpiresAt) {
		task := insertTask(ctx, tx, turn.TaskRow{
			ID: ids.New(now), Kind: "stale", Key: "stale:" + r.ID, Thread: r.ThreadID, Contact: r.ContactID, Detail: r.Kind,
		}, now)
		return outbox.Stale, errors.Join(task, promptDropped(ctx, tx, r, "stale", now))
	}
	if r.Origin != outbox.Agent || r.ThreadID == "" {
		return outbox.Sending, nil
	}
	// What an earlier thread left unsent is silenced as well while a human drives.
	if epoch, ok := speak.epochs[r.ThreadID]; ok && epoch != r.Epoch || speak.human[r.ContactID] {
		return outbox.Silenced, nil
	}
	return outbox.Sending, nil
}

// promptDropped tells the thread of a payment prompt that will not be sent: no
// callback and no timer would. An attempt that was begun all the same has its
// own timer, and the report does not end it otherwise.
func promptDropped(ctx context.Context, tx db.Tx, r outbox.Row, code string, now time.Time) error {
	if r.Kind != payment.EffectPrompt {
		return nil
	}
	var p payment.EffectPayload
	if err := json.Unmarshal(r.Payload, &p); err != nil {
		return fmt.Errorf("read payment prompt: %w", err)
	}
	a, err := one(ctx, tx, "id", p.AttemptID, "")
	if err != nil || a.Status != payment.Created {
		return err
	}
	it, dedupe := reported(a, payment.Report{Source: payment.FromPrompt, Outcome: payment.Outcome{Kind: payment.Rejected, Code: code}})
	_, err = post(ctx, tx, KeyOf(a.ContactID), it, dedupe, now)
	return err
}

// SettleOutbox implements outbox.Store.
func (t *Tenant) SettleOutbox(ctx context.Context, r outbox.Row, state outbox.State, due time.Time, o outbox.Outcome, now time.Time) error {
	return t.Write(ctx, func(tx db.Tx) error {
		sent := db.Time{}
		if state == outbox.Sent {
			sent = db.At(now)
		}
		untried := 0 // what our own limits held back was not tried
		if state == outbox.Queued && o.Class == outbox.ClassLocal {
			untried = 1
		}
		// An attempt whose mark ran out is somebody else's now, who settles it.
		// A receipt may have come before the provider's answer: a row it has
		// already moved out of sending keeps its state. What another process's
		// start put in doubt meanwhile is in doubt no more.
		n, err := db.Changed(ctx, tx, "settle effect", `
			UPDATE outbox SET state = CASE WHEN state IN ('sending', 'doubt') THEN $2 ELSE state END, due_at = $3,
				provider_id = CASE WHEN $4 = '' THEN provider_id ELSE $4 END, error_class = $5, error_code = $6, error_detail = $7,
				sent_at = CASE WHEN sent_at IS NULL THEN $8 ELSE sent_at END, tries = tries - $9,
				failed_at = CASE WHEN $2 = 'failed' AND failed_at IS NULL THEN $11 ELSE failed_at END
			WHERE id = $1 AND tries = $10`, r.ID, string(state), db.At(due), o.ProviderID, o.Class, o.Code, o.Detail, sent, untried, r.Tries, db.At(now))
		if err != nil || n == 0 {
			return err
		}
		if err := noteSettled(ctx, tx, r, state, o, now); err != nil || state != outbox.Failed {
			return err
		}
		return givenUp(ctx, tx, r, o, now)
	})
}

// noteSettled tells the handoff log what the provider made of relayed words.
func noteSettled(ctx context.Context, tx db.Tx, r outbox.Row, state outbox.State, o outbox.Outcome, now time.Time) error {
	switch {
	case r.Origin != outbox.Relay:
		return nil
	case state == outbox.Failed:
		return noteDelivery(ctx, tx, r.ID, o.ProviderID, delivery{FailedAt: when(db.At(now)), FailureReason: reason(o.Code, o.Detail)})
	case state == outbox.Sent && o.ProviderID != "":
		return noteDelivery(ctx, tx, r.ID, o.ProviderID, delivery{})
	}
	return nil
}

// givenUp tells the thread of a row that will not be sent any more.
func givenUp(ctx context.Context, tx db.Tx, r outbox.Row, o outbox.Outcome, now time.Time) error {
	if r.Kind == outbox.SendMessage && r.ContactID != "" {
		e := failedEvent(receipted{
			id: r.ID, kind: r.Kind, thread: string(r.ThreadID), origin: r.Origin, epoch: r.Epoch, payload: r.Payload,
		}, o.Code, o.Detail)
		if _, err := post(ctx, tx, KeyOf(r.ContactID), mailbox.Item{Event: &e}, "failed:"+r.ID, now); err != nil {
			return err
		}
	}
	return promptDropped(ctx, tx, r, "failed", now)
}

// InFlight counts agent-written sends of a contact that have started and not
// settled; a takeover waits for them before it is acknowledged.
func (t *Tenant) InFlight(ctx context.Context, c ids.ContactID) (int, error) {
	var n int
	err := t.Read(ctx, func(q db.Q) error {
		return q.QueryRowContext(ctx, "SELECT COUNT(*) FROM outbox WHERE contact_id = $1 AND state = 'sending' AND origin = 'agent'",
			string(c)).Scan(&n)
	})
	return n, err
}
