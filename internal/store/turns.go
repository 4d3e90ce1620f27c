package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/thread"
	"github.com/ratiba/ratiba/internal/turn"
)

// recentLines is how much of a thread a turn sees.
const recentLines = 20

// Turns is a tenant's database as turns see it: with its admins' phones.
type Turns struct {
	*Tenant
	Admins []string // E.164
}

// Load implements turn.Store.
func (t Turns) Load(ctx context.Context, key ids.MailboxKey) (turn.Snapshot, error) {
	var s turn.Snapshot
	err := t.db.Read(ctx, func(q db.Q) (err error) {
		c, last, err := loadContact(ctx, q, ids.ContactID(strings.TrimPrefix(string(key), "contact:")))
		if err != nil {
			return err
		}
		s.Contact, s.LastInbound = c, last.Time
		if s.Items, err = waiting(ctx, q, key); err != nil {
			return err
		}
		if s.Thread, err = openThread(ctx, q, key); err != nil {
			return err
		}
		if s.Thread != nil {
			if err := t.loadThread(ctx, q, &s); err != nil {
				return err
			}
		}
		if s.Number, err = lastNumber(ctx, q, key); err != nil {
			return err
		}
		if err := t.loadAdmins(ctx, q, &s); err != nil {
			return err
		}
		s.Attempt, err = attemptOf(ctx, q, s.Items)
		return err
	})
	return s, err
}

// loadAdmins reads who can take over, the codes given out, and for an admin's
// own turn what waits for one.
func (t Turns) loadAdmins(ctx context.Context, q db.Q, s *turn.Snapshot) (err error) {
	if s.Admins, err = t.adminContacts(ctx, q, t.Admins); err != nil {
		return err
	}
	if s.Codes, err = codes(ctx, q); err != nil {
		return err
	}
	if slices.Contains(t.Admins, s.Contact.Phone()) {
		s.Handoffs, err = handoffs(ctx, q)
	}
	return err
}

// Contact implements turn.Store.
func (t Turns) Contact(ctx context.Context, id ids.ContactID) (c contact.Contact, last time.Time, err error) {
	var at db.Time
	err = t.db.Read(ctx, func(q db.Q) error { c, at, err = loadContact(ctx, q, id); return err })
	return c, at.Time, err
}

// Recorded is a stored turn.
type Recorded struct {
	ID     ids.TurnID
	Inputs json.RawMessage
	Digest string
}

// Recorded reads the stored turns, oldest first.
func (t *Tenant) Recorded(ctx context.Context) (out []Recorded, err error) {
	err = t.db.Read(ctx, func(q db.Q) error {
		out, err = db.Collect(ctx, q, "load turns", func(row db.Scanner) (r Recorded, err error) {
			var inputs string
			err = row.Scan(&r.ID, &inputs, &r.Digest)
			r.Inputs = json.RawMessage(inputs)
			return r, err
		}, "SELECT id, inputs, digest FROM turns ORDER BY committed_at, id")
		return err
	})
	return out, err
}

// Transcript implements turn.Store.
func (t Turns) Transcript(ctx context.Context, th ids.ThreadID) (lines []turn.Line, err error) {
	err = t.db.Read(ctx, func(q db.Q) error { lines, err = recent(ctx, q, th, recentLines); return err })
	return lines, err
}

// loadThread adds what belongs to the open thread.
func (t Turns) loadThread(ctx context.Context, q db.Q, s *turn.Snapshot) (err error) {
	if s.Recent, err = recent(ctx, q, s.Thread.ID, recentLines); err != nil {
		return err
	}
	if p := s.Thread.Pending; p != nil {
		var at db.Time
		err := q.QueryRowContext(ctx, "SELECT sent_at FROM outbox WHERE id = $1", p.OutboxID).Scan(&at)
		if err != nil && !noRows(err) {
			return fmt.Errorf("load pending question: %w", err)
		}
		s.AskedAt = at.Time
	}
	var open int
	err = q.QueryRowContext(ctx, `SELECT COUNT(*) FROM payment_attempts
		WHERE thread_id = $1 AND status IN ('created', 'sending', 'prompted', 'unknown')`, string(s.Thread.ID)).Scan(&open)
	s.PaymentOpen = open > 0
	if err == nil && s.Thread.Driver == thread.Resumed && s.Thread.Handoff != nil {
		s.Withdrawn, err = db.Collect(ctx, q, "load withdrawn attempts", scanAttempt, "SELECT "+attemptColumns+
			" FROM payment_attempts WHERE thread_id = $1 AND status = $2 AND settled_at >= $3 ORDER BY created_at, id",
			string(s.Thread.ID), string(payment.Withdrawn), db.At(s.Thread.Handoff.Since))
	}
	return err
}

// lastNumber returns the business number a contact last wrote to.
func lastNumber(ctx context.Context, q db.Q, key ids.MailboxKey) (string, error) {
	var it mailbox.Item
	err := q.QueryRowContext(ctx, "SELECT payload FROM inbox WHERE mailbox_key = $1 AND kind = 'message' ORDER BY seq DESC LIMIT 1",
		string(key)).Scan(db.JSON{V: &it})
	if noRows(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("find number: %w", err)
	}
	return it.Message.Number, nil
}

func attemptOf(ctx context.Context, q db.Q, items []mailbox.Item) (*payment.Attempt, error) {
	for _, it := range items {
		if it.Event == nil || !strings.HasPrefix(it.Event.Name, turn.PaymentAttempt) {
			continue
		}
		a, err := Payments{}.ByID(ctx, q, strings.TrimPrefix(it.Event.Name, turn.PaymentAttempt))
		if err != nil {
			return nil, err
		}
		return &a, nil
	}
	return nil, nil //nolint:nilnil // most mailboxes hold no payment event.
}

// Commit implements turn.Store.
func (t Turns) Commit(ctx context.Context, c *turn.Commit, inside func(ctx context.Context, tx db.Tx) error) error {
	return t.db.Write(ctx, func(tx db.Tx) error {
		if err := fence(ctx, tx, c); err != nil {
			return err
		}
		if err := inside(ctx, tx); err != nil {
			return err
		}
		if err := writeThreads(ctx, tx, c); err != nil {
			return err
		}
		if err := writeFacts(ctx, tx, c); err != nil {
			return err
		}
		if err := finish(ctx, tx, c.Claim.Key, c.Batch, c.TurnID, c.Now); err != nil {
			return err
		}
		if err := tx.QueryRowContext(ctx, "SELECT COALESCE(SUM(cost_pico), 0) FROM llm_calls WHERE turn_id = $1", string(c.TurnID)).Scan(&c.Cost); err != nil {
			return fmt.Errorf("sum the turn's cost: %w", err)
		}
		due, err := nextDue(ctx, tx, c.Claim.Key, c.Now)
		if err != nil {
			return err
		}
		return release(ctx, tx, c.Claim, due, 0)
	})
}

// fence refuses a commit whose lease is gone or which a newer message makes stale.
func fence(ctx context.Context, tx db.Tx, c *turn.Commit) error {
	var token string
	if err := tx.QueryRowContext(ctx, "SELECT lease_token FROM mailboxes WHERE key = $1", string(c.Claim.Key)).Scan(&token); err != nil {
		return fmt.Errorf("check lease: %w", err)
	}
	if token != c.Claim.Token {
		return turn.ErrLost
	}
	if !c.Supersede {
		return nil
	}
	last := c.Batch.Items[len(c.Batch.Items)-1].Seq
	var newer int
	if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM inbox
		WHERE mailbox_key = $1 AND done_at IS NULL AND kind = 'message' AND seq > $2`, string(c.Claim.Key), last).Scan(&newer); err != nil {
		return fmt.Errorf("look for newer messages: %w", err)
	}
	if newer > 0 {
		return turn.ErrSuperseded
	}
	return nil
}

// writeThreads writes the turn's thread and the one other it may change, in id
// order, so that two turns that touch the same two never wait for each other.
func writeThreads(ctx context.Context, tx db.Tx, c *turn.Commit) error {
	type write struct {
		th     *thread.Thread
		before int64
	}
	writes := []write{{c.Thread, c.Before}, {c.Other, c.OtherBefore}}
	if c.Other != nil && c.Thread != nil && c.Other.ID < c.Thread.ID {
		writes[0], writes[1] = writes[1], writes[0]
	}
	for _, w := range writes {
		if w.th == nil {
			continue
		}
		if err := writeThread(ctx, tx, w.th, w.before); err != nil {
			return err
		}
	}
	if !c.Withdraw || c.Other == nil {
		return nil
	}
	return withdraw(ctx, tx, c.Other.ID, c.Now)
}

func writeFacts(ctx context.Context, tx db.Tx, c *turn.Commit) error {
	threadID := ids.ThreadID("")
	if c.Thread != nil {
		threadID = c.Thread.ID
	}
	if err := recordTurn(ctx, tx, c, threadID); err != nil {
		return err
	}
	for _, r := range c.Outbox {
		if err := insertOutbox(ctx, tx, r); err != nil {
			return err
		}
	}
	for _, tm := range c.Timers {
		if err := writeTimer(ctx, tx, tm, c.Claim.Key); err != nil {
			return err
		}
	}
	for _, task := range c.Tasks {
		if err := insertTask(ctx, tx, task, c.Now); err != nil {
			return err
		}
	}
	for _, p := range c.Events {
		if _, err := post(ctx, tx, p.Mailbox, mailbox.Item{Event: &p.Event}, p.Dedupe, c.Now); err != nil {
			return err
		}
	}
	return nil
}

// recordTurn writes what happened: who, what was read, said and called.
func recordTurn(ctx context.Context, tx db.Tx, c *turn.Commit, threadID ids.ThreadID) error {
	if err := db.Exec(ctx, tx, "write contact", "UPDATE contacts SET name = $2, language = $3, payer_phone = $4 WHERE id = $1",
		string(c.Contact.ID), c.Contact.Name, c.Contact.Language, c.Contact.PayerPhone); err != nil {
		return err
	}
	if err := db.Exec(ctx, tx, "record turn", `
		INSERT INTO turns (id, mailbox_key, thread_id, inputs, digest, started_at, committed_at) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		string(c.TurnID), string(c.Claim.Key), string(threadID), string(c.Inputs), c.Digest, db.At(c.Started), db.At(c.Now)); err != nil {
		return err
	}
	for _, s := range c.Said {
		if err := db.Exec(ctx, tx, "write transcript", `
			INSERT INTO transcript (thread_id, turn_id, direction, origin, body, provider_id, at) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			string(s.Thread), string(c.TurnID), s.Direction, s.Origin, db.JSON{V: s.Body}, s.ProviderID, db.At(s.At)); err != nil {
			return err
		}
	}
	for _, call := range c.Tools {
		if err := db.Exec(ctx, tx, "record tool call", `
			INSERT INTO tool_calls (turn_id, thread_id, tool, digest, args, ok, code, result, at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			string(c.TurnID), string(threadID), call.Call.Tool, call.Call.Digest(), db.JSON{V: call.Call.Args}, call.Result.OK,
			call.Result.Code, db.JSON{V: call.Result}, db.At(c.Now)); err != nil {
			return err
		}
	}
	if c.Signal == "" {
		return nil
	}
	return db.Exec(ctx, tx, "mark classification", "UPDATE llm_calls SET failure_signal = $2 WHERE turn_id = $1 AND role = $3",
		string(c.TurnID), c.Signal, string(llm.IntentClassifier))
}

// writeTimer sets or removes a timer and wakes its mailbox, unless that is the
// one whose release follows in the same transaction and sees the timer itself.
func writeTimer(ctx context.Context, tx db.Tx, tm turn.TimerRow, own ids.MailboxKey) error {
	if tm.At.IsZero() {
		return db.Exec(ctx, tx, "remove timer", "DELETE FROM timers WHERE mailbox_key = $1 AND scope = $2 AND name = $3",
			string(tm.Mailbox), string(tm.Scope), tm.Name)
	}
	if err := db.Exec(ctx, tx, "set timer", `
		INSERT INTO timers (mailbox_key, scope, name, due_at, data) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (mailbox_key, scope, name) DO UPDATE SET due_at = excluded.due_at, data = excluded.data`,
		string(tm.Mailbox), string(tm.Scope), tm.Name, db.At(tm.At), db.JSON{V: tm.Data}); err != nil {
		return err
	}
	if tm.Mailbox == own {
		return nil
	}
	return wake(ctx, tx, tm.Mailbox, tm.At)
}

func insertTask(ctx context.Context, tx db.Tx, r turn.TaskRow, now time.Time) error {
	return db.Exec(ctx, tx, "raise task", `
		INSERT INTO tasks (id, kind, task_key, thread_id, contact_id, detail, due_at, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (task_key) DO NOTHING`,
		r.ID, r.Kind, r.Key, string(r.Thread), string(r.Contact), r.Detail, db.At(r.Due), db.At(now))
}

// withdraw takes back payment prompts of a thread that were not sent yet: a
// human drives now.
func withdraw(ctx context.Context, tx db.Tx, th ids.ThreadID, now time.Time) error {
	if err := db.Exec(ctx, tx, "withdraw attempts", `
		UPDATE payment_attempts SET status = $2, settled_at = $4 WHERE thread_id = $1 AND status = $3`,
		string(th), string(payment.Withdrawn), string(payment.Created), db.At(now)); err != nil {
		return err
	}
	return db.Exec(ctx, tx, "withdraw prompts", `
		UPDATE outbox SET state = $2 WHERE thread_id = $1 AND kind = $3 AND state = 'queued'`,
		string(th), string(outbox.Silenced), payment.EffectPrompt)
}
