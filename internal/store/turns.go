package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
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
	"github.com/ratiba/ratiba/internal/tool"
	"github.com/ratiba/ratiba/internal/turn"
)

// recentLines is how much of a thread a turn sees.
const recentLines = 20

// Turns is a tenant's database as turns see it: with its admins' phones.
type Turns struct {
	*Tenant
	Admins []string // E.164
}

// Load implements turn.Store. Nearly always one look is enough; what few turns
// need more is read with all the rest once more, over one snapshot.
func (t Turns) Load(ctx context.Context, key ids.MailboxKey) (turn.Snapshot, error) {
	var l loading
	if err := t.Ask(ctx, l.asks(t.Admins, key)...); err != nil {
		return l.s, err
	}
	if err := l.put(); err != nil || !l.more(t.Admins) {
		return l.s, err
	}
	err := t.Read(ctx, func(q db.Q) error {
		l = loading{}
		if err := db.Gather(ctx, q, l.asks(t.Admins, key)...); err != nil {
			return err
		}
		return errors.Join(l.put(), l.rest(ctx, q, t.Admins))
	})
	return l.s, err
}

// loading is a snapshot on its way.
type loading struct {
	s             turn.Snapshot
	last, asked   db.Time
	items, timers []mailbox.Item
}

// openOf finds the open thread of the mailbox $1.
const openOf = "(SELECT id FROM conversation_threads WHERE mailbox_key = $1 AND closed_at IS NULL LIMIT 1)"

// asks is everything in one go, because each question may be a way to a server
// and back.
func (l *loading) asks(admins []string, key ids.MailboxKey) []db.Ask {
	id := ids.ContactID(strings.TrimPrefix(string(key), "contact:"))
	l.s.Admins = map[string]turn.AdminContact{}
	return append(askAdmins(admins, l.s.Admins),
		askContact(id, &l.s.Contact, &l.last, &l.s.Number), askIdentities(id, &l.s.Contact.Identities),
		askInbound(key, &l.items), askTimers(key, &l.timers), askThread(key, &l.s.Thread), askCodes(&l.s.Codes),
		askLines(&l.s.Recent, openOf, string(key), recentLines),
		db.Into("look for open payments", []any{&l.s.PaymentOpen}, `SELECT EXISTS (SELECT 1 FROM payment_attempts
			WHERE thread_id = `+openOf+` AND status IN ('created', 'sending', 'prompted', 'unknown'))`, string(key)),
		db.Into("load pending question", []any{&l.asked}, `SELECT sent_at FROM outbox WHERE id = (
			SELECT pending ->> 'outbox_id' FROM conversation_threads WHERE id = `+openOf+")", string(key)))
}

// put puts together what was read.
func (l *loading) put() error {
	if l.s.Contact.ID == "" {
		return fmt.Errorf("load contact: %w", sql.ErrNoRows)
	}
	l.s.LastInbound, l.s.AskedAt, l.s.Items = l.last.Time, l.asked.Time, interleave(l.items, l.timers)
	slices.Reverse(l.s.Recent)
	return nil
}

// more reports whether the turn needs what rest reads.
func (l *loading) more(admins []string) bool {
	th := l.s.Thread
	return th != nil && th.Handoff != nil && (th.Driver == thread.Resumed || th.Driver == thread.HumanDriving) || slices.Contains(admins, l.s.Contact.Phone()) || attemptIn(l.s.Items) != ""
}

// rest reads what few turns need: attempts that a takeover withdrew, what waits
// for an admin, and the payment an event is about.
func (l *loading) rest(ctx context.Context, q db.Q, admins []string) (err error) {
	if th := l.s.Thread; th != nil && th.Driver == thread.Resumed && th.Handoff != nil {
		if l.s.Withdrawn, err = db.Collect(ctx, q, "load withdrawn attempts", scanAttempt, "SELECT "+attemptColumns+
			" FROM payment_attempts WHERE thread_id = $1 AND status = $2 AND settled_at >= $3 ORDER BY created_at, id",
			string(th.ID), string(payment.Withdrawn), db.At(th.Handoff.Since)); err != nil {
			return err
		}
	}
	if th := l.s.Thread; slices.Contains(admins, l.s.Contact.Phone()) || th != nil && th.Driver == thread.HumanDriving {
		if l.s.Handoffs, err = handoffs(ctx, q); err != nil {
			return err
		}
		if l.s.Held, err = held(ctx, q, l.s.Contact.ID); err != nil {
			return err
		}
	}
	if id := attemptIn(l.s.Items); id != "" {
		a, err := Payments{}.ByID(ctx, q, id)
		if err != nil {
			return err
		}
		l.s.Attempt = &a
	}
	return nil
}

// attemptIn names the attempt that the first payment event is about.
func attemptIn(items []mailbox.Item) string {
	for _, it := range items {
		if it.Event != nil && strings.HasPrefix(it.Event.Name, turn.PaymentAttempt) {
			return strings.TrimPrefix(it.Event.Name, turn.PaymentAttempt)
		}
	}
	return ""
}

// Contact implements turn.Store.
func (t Turns) Contact(ctx context.Context, id ids.ContactID) (c contact.Contact, last time.Time, err error) {
	var at db.Time
	var number string
	err = t.Ask(ctx, askContact(id, &c, &at, &number), askIdentities(id, &c.Identities))
	if err == nil && c.ID == "" {
		err = fmt.Errorf("load contact: %w", sql.ErrNoRows)
	}
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
	err = t.Read(ctx, func(q db.Q) error {
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

// Answered implements turn.Store.
func (t Turns) Answered(ctx context.Context, q db.Q, th ids.ThreadID) ([]tool.Answered, error) {
	out, err := db.Collect(ctx, q, "read models of thread", func(row db.Scanner) (a tool.Answered, err error) {
		err = row.Scan(&a.Role, &a.Prompt, &a.Arm)
		return a, err
	}, "SELECT DISTINCT role, prompt_version, canary_arm FROM llm_calls WHERE thread_id = $1 ORDER BY role, prompt_version, canary_arm", string(th))
	return append([]tool.Answered{}, out...), err
}

// Commit implements turn.Store. It runs once: what another transaction was
// faster at is read again by a new run of the turn.
func (t Turns) Commit(ctx context.Context, c *turn.Commit, inside func(ctx context.Context, tx db.Tx) error) error {
	return t.commit(ctx, c, func(tx db.Tx) error {
		if err := inside(ctx, tx); err != nil {
			return err
		}
		if c.Withdraw && c.Other != nil {
			if err := withdraw(ctx, tx, c.Other.ID, c.Now); err != nil {
				return err
			}
		}
		if err := writeFacts(ctx, tx, c); err != nil {
			return err
		}
		return finish(ctx, tx, c.Claim.Key, c.Batch, c.TurnID, c.Now)
	})
}

// commit runs what is written under the fence and gives the mailbox back.
func (t Turns) commit(ctx context.Context, c *turn.Commit, write func(tx db.Tx) error) error {
	err := t.once(ctx, func(tx db.Tx) error {
		if err := fence(ctx, tx, c); err != nil {
			return err
		}
		if err := write(tx); err != nil {
			return err
		}
		return tx.Last(ctx, askDone(c))
	})
	if errors.Is(err, db.ErrAgain) {
		return fmt.Errorf("%w: %w", turn.ErrStale, err)
	}
	return err
}

// once is Write for what must not run twice by itself.
func (t *Tenant) once(ctx context.Context, fn func(tx db.Tx) error) error {
	d, release, err := t.use(ctx, true)
	if err != nil {
		return err
	}
	defer release()
	return d.Once(ctx, fn)
}

// fence refuses a commit whose lease is gone, whose thread is no longer what was
// read, or which a newer message makes stale. It locks the mailboxes the commit
// touches, in the order of their keys: from here on nobody delivers into them,
// and no two commits wait for each other. Threads follow in the order of their
// ids.
func fence(ctx context.Context, tx db.Tx, c *turn.Commit) error {
	var token string
	var newer bool
	asks := lockAll(tx, c, func(key ids.MailboxKey, held string) {
		if key == c.Claim.Key {
			token = held
		}
	})
	if c.Supersede {
		asks = append(asks, db.Into("look for newer messages", []any{&newer}, `SELECT EXISTS (SELECT 1 FROM inbox
			WHERE mailbox_key = $1 AND done_at IS NULL AND kind = 'message' AND seq > $2)`, string(c.Claim.Key), c.Batch.Items[len(c.Batch.Items)-1].Seq))
	}
	threads, written := writeThreads(c)
	err := db.Gather(ctx, tx, append(asks, threads...)...)
	unique := db.IsUnique(err) // a thread was opened meanwhile
	switch {
	case err != nil && !unique:
		return err
	case token != c.Claim.Token:
		return turn.ErrLost
	case unique:
		return turn.ErrStale
	case newer:
		return turn.ErrSuperseded
	case *written < len(threads):
		return turn.ErrStale
	}
	return nil
}

// lockAll locks the mailboxes a commit touches, in the order of their keys, and
// tells who holds each.
func lockAll(tx db.Tx, c *turn.Commit, holder func(key ids.MailboxKey, token string)) []db.Ask {
	keys := []ids.MailboxKey{c.Claim.Key}
	for _, e := range c.Events {
		keys = append(keys, e.Mailbox)
	}
	for _, tm := range c.Timers {
		keys = append(keys, tm.Mailbox)
	}
	slices.Sort(keys)
	var asks []db.Ask
	for _, key := range slices.Compact(keys) {
		asks = append(asks, db.Each("lock mailbox", func(row db.Scanner) error {
			var held string
			err := row.Scan(&held)
			holder(key, held)
			return err
		}, "SELECT lease_token FROM mailboxes WHERE key = $1"+tx.Dialect().ForUpdate, string(key)))
	}
	return asks
}

// lockMailbox keeps others from delivering into a mailbox, or claiming it,
// until the transaction ends. Who locks a mailbox and rows that belong to its
// contact locks the mailbox first. SQLite has one writer, who needs no lock.
func lockMailbox(ctx context.Context, tx db.Tx, key ids.MailboxKey) error {
	return db.Exec(ctx, tx, "lock mailbox", "SELECT key FROM mailboxes WHERE key = $1"+tx.Dialect().ForUpdate, string(key))
}

// writeThreads writes the turn's thread and the one other it may change, in id
// order. It counts those that were as they had been read.
func writeThreads(c *turn.Commit) (asks []db.Ask, written *int) {
	written = new(int)
	type write struct {
		th     *thread.Thread
		before int64
	}
	writes := []write{{c.Thread, c.Before}, {c.Other, c.OtherBefore}}
	if c.Other != nil && c.Thread != nil && c.Other.ID < c.Thread.ID {
		writes[0], writes[1] = writes[1], writes[0]
	}
	for _, w := range writes {
		if w.th != nil {
			asks = append(asks, writeThread(w.th, w.before, func(db.Scanner) error { *written++; return nil }))
		}
	}
	return asks, written
}

// askDone gives the mailbox back and says when it is due: now when something
// waits, at its next timer otherwise. Nobody has delivered into it since it was
// locked. It also sums what the turn's model calls cost.
func askDone(c *turn.Commit) db.Ask {
	var due db.Time
	return db.Each("give mailbox back", func(row db.Scanner) error {
		err := row.Scan(&due, &c.Cost)
		c.Due = due.Time
		return err
	}, `UPDATE mailboxes SET lease_token = '', lease_until = NULL, tries = 0, crashes = 0,
			due_at = CASE WHEN EXISTS (SELECT 1 FROM inbox WHERE mailbox_key = $1 AND done_at IS NULL) THEN $2
				ELSE (SELECT MIN(due_at) FROM timers WHERE mailbox_key = $1) END
		WHERE key = $1
		RETURNING due_at, (SELECT CAST(COALESCE(SUM(cost_pico), 0) AS BIGINT) FROM llm_calls WHERE turn_id = $3)`,
		string(c.Claim.Key), db.At(c.Now), string(c.TurnID))
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
	if err := errors.Join(writeHeld(ctx, tx, c), logRelayed(ctx, tx, c)); err != nil {
		return err
	}
	return writeOthers(ctx, tx, c)
}

// writeOthers writes what is not said: timers, tasks and events.
func writeOthers(ctx context.Context, tx db.Tx, c *turn.Commit) error {
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
	if err := db.Exec(ctx, tx, "write contact", `
		UPDATE contacts SET name = $2, language = $3, payer_phone = $4, opted_out_at = $5 WHERE id = $1
			AND (name <> $2 OR language <> $3 OR payer_phone <> $4 OR (opted_out_at IS NULL) <> $6)`,
		string(c.Contact.ID), c.Contact.Name, c.Contact.Language, c.Contact.PayerPhone, db.At(c.Contact.OptedOut), c.Contact.OptedOut.IsZero()); err != nil {
		return err
	}
	if err := db.Exec(ctx, tx, "record turn", `
		INSERT INTO turns (id, mailbox_key, thread_id, inputs, digest, started_at, committed_at) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		string(c.TurnID), string(c.Claim.Key), string(threadID), string(c.Inputs), c.Digest, db.At(c.Started), db.At(c.Now)); err != nil {
		return err
	}
	if err := writeSaid(ctx, tx, c); err != nil {
		return err
	}
	for _, call := range c.Tools {
		if err := db.Exec(ctx, tx, "record tool call", `
			INSERT INTO tool_calls (turn_id, thread_id, tool, digest, args, ok, code, result, at, actor) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
			string(c.TurnID), string(threadID), call.Call.Tool, call.Call.Digest(), db.JSON{V: call.Call.Args}, call.Result.OK,
			call.Result.Code, db.JSON{V: call.Result}, db.At(c.Now), call.Actor); err != nil {
			return err
		}
	}
	if c.Signal == "" {
		return nil
	}
	return db.Exec(ctx, tx, "mark classification", "UPDATE llm_calls SET failure_signal = $2 WHERE turn_id = $1 AND role = $3",
		string(c.TurnID), c.Signal, string(llm.IntentClassifier))
}

// writeSaid writes what was said as one statement: each has its price at a
// server, and a turn mostly says two lines.
func writeSaid(ctx context.Context, tx db.Tx, c *turn.Commit) error {
	for said := range slices.Chunk(c.Said, 2*mailbox.MaxBurst) {
		var rows []string
		var args []any
		for _, s := range said {
			n := len(args)
			rows = append(rows, fmt.Sprintf("($%d, $%d, $%d, $%d, $%d, $%d, $%d)", n+1, n+2, n+3, n+4, n+5, n+6, n+7))
			args = append(args, string(s.Thread), string(c.TurnID), s.Direction, s.Origin, db.JSON{V: s.Body}, s.ProviderID, db.At(s.At))
		}
		if err := db.Exec(ctx, tx, "write transcript",
			"INSERT INTO transcript (thread_id, turn_id, direction, origin, body, provider_id, at) VALUES "+strings.Join(rows, ", "), args...); err != nil {
			return err
		}
	}
	return nil
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
