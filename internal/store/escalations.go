package store

import (
	"context"
	"fmt"
	"time"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/turn"
)

// listed is how many escalations a list shows, the newest.
const listed = 200

const caseColumns = `asked, state, decision, decided_by, decided_at, channel, message, expires_at, mailbox_key, contact_id`

// waiting is an escalation with what waits for it.
type waiting struct {
	llm.Case

	mailbox ids.MailboxKey // "" when nothing does
}

func scanCase(row db.Scanner) (w waiting, err error) {
	var decision *llm.Decision
	var by string
	var at, expires db.Time
	err = row.Scan(db.JSON{V: &w.Escalation}, &w.State, db.JSON{V: &decision}, &by, &at, &w.Place.Channel, &w.Place.Message, &expires, &w.mailbox, &w.Contact)
	w.Expires = expires.Time
	if decision != nil {
		decision.By, decision.At = by, at.Time
		w.Decision = decision
	}
	return w, err
}

// seen is an escalation as it stands at now: one that nobody decided in time is
// expired, whether or not anybody has noted it.
func (w waiting) seen(now time.Time) llm.Case {
	if w.State == llm.CaseOpen && !now.Before(w.Expires) {
		w.State = llm.CaseExpired
	}
	return w.Case
}

// PostEscalation puts an escalation into the queue, once: one that is there
// already changes nothing. With chat its card is an effect of the same
// transaction, due at real. The mailbox that waits gets a timer for the case
// that nobody decides.
func (t *Tenant) PostEscalation(ctx context.Context, e llm.Escalation, chat bool, real time.Time) (fresh bool, err error) {
	err = t.Write(ctx, func(tx db.Tx) error {
		fresh = false
		key, err := waitsAt(ctx, tx, e)
		if err != nil {
			return err
		}
		if key != "" {
			if err := lockMailbox(ctx, tx, key); err != nil {
				return err
			}
		}
		expires := e.At.Add(llm.EscalationLife)
		n, err := db.Changed(ctx, tx, "post escalation", `
			INSERT INTO escalations (id, role, cause, mailbox_key, thread_id, contact_id, turn_id, task_id, step, asked, created_at, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT (id) DO NOTHING`,
			e.ID, string(e.Role), string(e.Cause), string(key), string(e.Thread), string(e.Contact), string(e.Turn), e.TaskID, e.Step,
			db.JSON{V: e}, db.At(e.At), db.At(expires))
		if err != nil || n == 0 {
			return err
		}
		fresh = true
		if key != "" {
			if err := writeTimer(ctx, tx, undecided(key, e, expires), ""); err != nil {
				return err
			}
		}
		if !chat {
			return nil
		}
		return cardEffect(ctx, tx, e, effect{llm.EffectCard, "card:" + e.ID, llm.EscalationEffect{Escalation: e.ID}}, real)
	})
	return fresh, err
}

// waitsAt is the mailbox of what waits for an escalation's decision: its
// thread's, or, while the thread is not stored yet, its contact's.
func waitsAt(ctx context.Context, q db.Q, e llm.Escalation) (ids.MailboxKey, error) {
	keys, err := db.Collect(ctx, q, "find who waits", func(row db.Scanner) (k ids.MailboxKey, err error) { return k, row.Scan(&k) },
		"SELECT mailbox_key FROM conversation_threads WHERE id = $1", string(e.Thread))
	switch {
	case err != nil:
		return "", err
	case len(keys) > 0:
		return keys[0], nil
	case e.Contact != "" && e.Thread != "":
		return KeyOf(e.Contact), nil
	}
	return "", nil
}

// undecided is the timer that tells a thread that nobody decided; a zero time
// removes it.
func undecided(key ids.MailboxKey, e llm.Escalation, at time.Time) turn.TimerRow {
	return turn.TimerRow{Mailbox: key, Scope: e.Thread, Name: turn.Undecided + e.ID, At: at}
}

// effect is something to be done in the chat, once per key.
type effect struct {
	kind, key string
	payload   llm.EscalationEffect
}

// cardEffect queues what is to be done in the chat. What goes to staff is
// nobody's answer, so no takeover silences it.
func cardEffect(ctx context.Context, tx db.Tx, e llm.Escalation, f effect, real time.Time) error {
	return insertOutbox(ctx, tx, outbox.Row{
		ID: ids.New(real), Lane: "escalation:" + e.ID, Kind: f.kind, Origin: outbox.System, Key: f.key, ContactID: e.Contact, ThreadID: e.Thread,
		TurnID: e.Turn, Payload: jsonOf(f.payload), DueAt: real, CreatedAt: real,
	})
}

// Escalation returns one escalation as it stands at now, or fault.NotFound.
func (t *Tenant) Escalation(ctx context.Context, id string, now time.Time) (c llm.Case, err error) {
	err = t.Read(ctx, func(q db.Q) error {
		w, err := caseOf(ctx, q, id, "")
		c = w.seen(now)
		return err
	})
	return c, err
}

func caseOf(ctx context.Context, q db.Q, id, lock string) (waiting, error) {
	found, err := db.Collect(ctx, q, "read escalation", scanCase, "SELECT "+caseColumns+" FROM escalations WHERE id = $1"+lock, id)
	if err != nil {
		return waiting{}, err
	}
	if len(found) == 0 {
		return waiting{}, fault.E(fault.NotFound, "No such escalation.")
	}
	return found[0], nil
}

// Escalations lists those that stand so at now, all when state is "", the
// newest first and no more than 200.
func (t *Tenant) Escalations(ctx context.Context, state llm.CaseState, now time.Time) (out []llm.Case, err error) {
	where, args := "$1 = '' OR state = $1", []any{string(state), listed}
	switch state {
	case llm.CaseOpen:
		where, args = "state = $1 AND expires_at > $3", append(args, db.At(now))
	case llm.CaseExpired:
		where, args = "state = $1 OR state = 'open' AND expires_at <= $3", append(args, db.At(now))
	case llm.CaseDecided:
	}
	err = t.Read(ctx, func(q db.Q) error {
		found, err := db.Collect(ctx, q, "list escalations", scanCase,
			"SELECT "+caseColumns+" FROM escalations WHERE "+where+" ORDER BY created_at DESC, id LIMIT $2", args...)
		out = make([]llm.Case, len(found))
		for i, w := range found {
			out[i] = w.seen(now)
		}
		return err
	})
	return out, err
}

// Tap is where in the chat a decision was made; zero when it was made elsewhere.
type Tap struct {
	Place llm.Place
	User  string // as the chat knows them
	Key   string // of this very tap: the chat may deliver it again
}

// Decide records a person's decision and, in the same transaction, gives it to
// what waits and has the card say so. The first decision stands: who comes later
// gets the case as it was decided, first being false, and is told in the chat
// when they tapped there. It returns fault.NotFound for an escalation this
// business has not, fault.Forbidden for a tap on another channel's card, and
// what llm.Escalation.Accepts says. An expired one is returned as such.
func (t *Tenant) Decide(ctx context.Context, id string, d llm.Decision, tap Tap, real time.Time) (c llm.Case, first bool, err error) {
	err = t.Write(ctx, func(tx db.Tx) error {
		first = false
		w, err := lockedCase(ctx, tx, id)
		if err != nil {
			return err
		}
		if tap.Place.Channel != "" && w.Place.Channel != "" && tap.Place.Channel != w.Place.Channel {
			return fault.E(fault.Forbidden, "This escalation was not put before that channel.")
		}
		c = w.seen(d.At)
		if c.State != llm.CaseOpen {
			return late(ctx, tx, w, made{d, tap, real})
		}
		if err := w.Accepts(d); err != nil {
			return err
		}
		first, c.State, c.Decision = true, llm.CaseDecided, &d
		return decided(ctx, tx, w, made{d, tap, real})
	})
	return c, first, err
}

// lockedCase locks what waits and then the escalation, as commits do.
func lockedCase(ctx context.Context, tx db.Tx, id string) (waiting, error) {
	w, err := caseOf(ctx, tx, id, "")
	if err != nil {
		return w, err
	}
	if w.mailbox != "" {
		if err := lockMailbox(ctx, tx, w.mailbox); err != nil {
			return w, err
		}
	}
	before := w.mailbox
	if w, err = caseOf(ctx, tx, id, tx.Dialect().ForUpdate); err == nil && w.mailbox != before {
		err = db.ErrAgain // its contact was merged meanwhile
	}
	return w, err
}

// made is a decision with where and, in real time, when it was made.
type made struct {
	llm.Decision

	tap  Tap
	real time.Time
}

func decided(ctx context.Context, tx db.Tx, w waiting, d made) error {
	err := db.Exec(ctx, tx, "decide escalation",
		"UPDATE escalations SET state = 'decided', decision = $2, decided_by = $3, decided_at = $4 WHERE id = $1",
		w.ID, db.JSON{V: d.Decision}, d.By, db.At(d.At))
	if err == nil && w.mailbox != "" {
		e := mailbox.Event{Kind: mailbox.Decided, Name: w.ID, Scope: w.Thread, Data: jsonOf(d.Decision)}
		_, err = post(ctx, tx, w.mailbox, mailbox.Item{Event: &e}, "decided:"+w.ID, d.At)
		if err == nil {
			err = writeTimer(ctx, tx, undecided(w.mailbox, w.Escalation, time.Time{}), "")
		}
	}
	if err != nil {
		return err
	}
	return updateCards(ctx, tx, w.Escalation, llm.CaseDecided, d.real, w.Place, d.tap.Place)
}

// late notes that nobody decided in time, and tells who tapped too late; who
// tapped twice knows.
func late(ctx context.Context, tx db.Tx, w waiting, d made) error {
	c := w.seen(d.At)
	if w.State != c.State {
		if err := db.Exec(ctx, tx, "expire escalation", "UPDATE escalations SET state = 'expired' WHERE id = $1", w.ID); err != nil {
			return err
		}
	}
	if err := updateCards(ctx, tx, w.Escalation, c.State, d.real, w.Place, d.tap.Place); err != nil {
		return err
	}
	if d.tap.User == "" || c.Decision != nil && c.Decision.Same(d.Decision) {
		return nil
	}
	return cardEffect(ctx, tx, w.Escalation, effect{
		llm.EffectNotice, "notice:" + w.ID + ":" + d.tap.Key,
		llm.EscalationEffect{Escalation: w.ID, Place: d.tap.Place, User: d.tap.User},
	}, d.real)
}

// updateCards has every card of an escalation say how it stands, once per card
// and state.
func updateCards(ctx context.Context, tx db.Tx, e llm.Escalation, s llm.CaseState, real time.Time, cards ...llm.Place) error {
	for _, p := range cards {
		if p.Message == "" {
			continue
		}
		if err := cardEffect(ctx, tx, e, effect{
			llm.EffectUpdate, fmt.Sprintf("card:%s:%s:%s:%s", e.ID, p.Channel, p.Message, s), llm.EscalationEffect{Escalation: e.ID, Place: p},
		}, real); err != nil {
			return err
		}
	}
	return nil
}

// PlaceEscalation notes where a card stands. One that was decided while it was
// being posted is brought up to date.
func (t *Tenant) PlaceEscalation(ctx context.Context, id string, at llm.Place, real time.Time) error {
	return t.Write(ctx, func(tx db.Tx) error {
		w, err := lockedCase(ctx, tx, id)
		if err != nil {
			return err
		}
		if err := db.Exec(ctx, tx, "place escalation", "UPDATE escalations SET channel = $2, message = $3 WHERE id = $1",
			id, at.Channel, at.Message); err != nil || w.State == llm.CaseOpen {
			return err
		}
		return updateCards(ctx, tx, w.Escalation, w.State, real, at)
	})
}

// escalations takes a person's words out of what people were asked about
// them, and has the cards say no more than that. What nobody decided is over.
func (e *eraser) escalations(c string) {
	if e.err != nil {
		return
	}
	found, err := db.Collect(e.ctx, e.tx, "list escalations", scanCase, "SELECT "+caseColumns+" FROM escalations WHERE contact_id = $1 OR thread_id IN "+theirThreads, c)
	e.err = err
	for _, w := range found {
		bare := llm.Escalation{
			ID: w.ID, Tenant: w.Tenant, Thread: w.Thread, Contact: w.Contact, Turn: w.Turn, Role: w.Role, TaskID: w.TaskID, Step: w.Step,
			Cause: w.Cause, Card: llm.Card{Title: Erased}, Cost: w.Cost, At: w.At,
		}
		var decision db.JSON
		if w.Decision != nil {
			decision = erased(nil)
		}
		e.do("escalations", `UPDATE escalations SET asked = $2, decision = $3, state = CASE WHEN state = 'open' THEN 'expired' ELSE state END
			WHERE id = $1`, w.ID, db.JSON{V: bare}, decision)
		if e.err == nil {
			e.err = updateCards(e.ctx, e.tx, bare, "erased", e.now, w.Place)
		}
	}
}
