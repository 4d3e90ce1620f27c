package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/thread"
)

// CallPhase is where a telephone call stands.
type CallPhase string

// The phases of a call.
const (
	CallTalking CallPhase = "talking"
	CallOffered CallPhase = "offered" // the caller was told that somebody will write, and is asked whether that is right
	CallEnded   CallPhase = "ended"
)

// callStale is after how long an event whose answer never came may be worked on
// again: whoever had it is gone. Real time.
const callStale = 20 * time.Second

// PhoneCall is a telephone call.
type PhoneCall struct {
	ID       string
	Contact  ids.ContactID
	Number   string // the business number's provider id
	Phase    CallPhase
	Language string
	Seq      int
	Answer   json.RawMessage  // to event Seq; empty while it is being found out
	Choices  []message.Choice // that were read out last
}

const voiceColumns = "id, contact_id, number, phase, language, seq, answer, choices"

func scanVoice(row db.Scanner) (c PhoneCall, err error) {
	err = row.Scan(&c.ID, &c.Contact, &c.Number, &c.Phase, &c.Language, &c.Seq, db.JSON{V: &c.Answer}, db.JSON{V: &c.Choices})
	if string(c.Answer) == "null" {
		c.Answer = nil
	}
	return c, err
}

// voiceCall reads a call, locked; fault.NotFound when there is none.
func voiceCall(ctx context.Context, tx db.Tx, id string) (PhoneCall, error) {
	c, err := scanVoice(tx.QueryRowContext(ctx, "SELECT "+voiceColumns+" FROM voice_calls WHERE id = $1"+tx.Dialect().ForUpdate, id))
	if errors.Is(err, sql.ErrNoRows) {
		return c, fault.E(fault.NotFound, "There is no such call.")
	}
	if err != nil {
		return c, fmt.Errorf("load call: %w", err)
	}
	return c, nil
}

// BeginCall notes that a phone calls a business number. The caller's earlier
// calls end: a line that was cut is often dialled again. It reports whether the
// call is new. begun has its id, number and the language for who has none of
// their own yet.
func (t *Tenant) BeginCall(ctx context.Context, begun PhoneCall, phone string, now, real time.Time) (c PhoneCall, fresh bool, err error) {
	err = t.Write(ctx, func(tx db.Tx) error {
		fresh = false
		if c, err = voiceCall(ctx, tx, begun.ID); err == nil || fault.CodeOf(err) != fault.NotFound {
			return err
		}
		i := contact.Identity{Kind: contact.Phone, Value: phone}
		who, err := contactBy(ctx, tx, i)
		if err == nil && who == "" {
			who = ids.ContactID(ids.New(now))
			err = db.Exec(ctx, tx, "make contact", "INSERT INTO contacts (id, created_at) VALUES ($1, $2)", string(who), db.At(now))
			if err == nil {
				err = identify(ctx, tx, i, who)
			}
		}
		if err != nil {
			return err
		}
		var known string
		if err := tx.QueryRowContext(ctx, "SELECT language FROM contacts WHERE id = $1", string(who)).Scan(&known); err != nil {
			return fmt.Errorf("load caller: %w", err)
		}
		language := cmp.Or(known, begun.Language)
		if err := db.Exec(ctx, tx, "end earlier calls", "UPDATE voice_calls SET phase = 'ended', ended_at = $2 WHERE contact_id = $1 AND ended_at IS NULL",
			string(who), db.At(now)); err != nil {
			return err
		}
		c, fresh = PhoneCall{ID: begun.ID, Contact: who, Number: begun.Number, Phase: CallTalking, Language: language, Seq: 1}, true
		n, err := db.Changed(ctx, tx, "begin call", `
			INSERT INTO voice_calls (id, contact_id, number, phase, language, seq, started_at, changed_at) VALUES ($1, $2, $3, $4, $5, 1, $6, $7)
			ON CONFLICT (id) DO NOTHING`, c.ID, string(who), c.Number, string(c.Phase), language, db.At(now), db.At(real))
		if err == nil && n == 0 {
			return db.ErrAgain // the same call, told twice at once
		}
		return err
	})
	return c, fresh, err
}

// NextEvent takes an event of a call. It reports false for one that is taken
// already: its answer, once there is one, is the call's. One that does not
// follow the last is fault.Conflict.
func (t *Tenant) NextEvent(ctx context.Context, id string, seq int, real time.Time) (c PhoneCall, fresh bool, err error) {
	err = t.Write(ctx, func(tx db.Tx) error {
		fresh = false
		if c, err = voiceCall(ctx, tx, id); err != nil {
			return err
		}
		if seq == c.Seq && len(c.Answer) > 0 {
			return nil
		}
		if c.Phase != CallEnded && seq != c.Seq && seq != c.Seq+1 {
			return fault.E(fault.Conflict, fmt.Sprintf("The last event of this call was %d, so %d does not follow.", c.Seq, seq))
		}
		if c.Phase == CallEnded {
			return nil
		}
		n, err := db.Changed(ctx, tx, "take event", `UPDATE voice_calls SET seq = $2, answer = NULL, changed_at = $3
			WHERE id = $1 AND (seq = $2 - 1 OR seq = $2 AND changed_at <= $4)`, id, seq, db.At(real), db.At(real.Add(-callStale)))
		c.Seq, fresh = seq, n > 0
		return err
	})
	return c, fresh, err
}

// Call reads a call.
func (t *Tenant) Call(ctx context.Context, id string) (c PhoneCall, err error) {
	err = t.Read(ctx, func(q db.Q) error {
		c, err = scanVoice(q.QueryRowContext(ctx, "SELECT "+voiceColumns+" FROM voice_calls WHERE id = $1", id))
		return err
	})
	return c, err
}

// Answered notes the answer to the event that was taken, and how the call goes
// on. An event that another has overtaken meanwhile changes nothing.
func (t *Tenant) Answered(ctx context.Context, c PhoneCall, now time.Time) error {
	return t.Write(ctx, func(tx db.Tx) error {
		ended := db.Time{}
		if c.Phase == CallEnded {
			ended = db.At(now)
		}
		return db.Exec(ctx, tx, "note answer", `UPDATE voice_calls SET answer = $3, phase = CASE WHEN ended_at IS NULL THEN $4 ELSE phase END,
			language = $5, choices = $6, ended_at = COALESCE(ended_at, $7) WHERE id = $1 AND seq = $2`,
			c.ID, c.Seq, db.JSON{V: c.Answer}, string(c.Phase), c.Language, db.JSON{V: c.Choices}, ended)
	})
}

// Hearing is how far a caller's words have come.
type Hearing struct {
	Waiting bool // they, or others of theirs, wait for a turn
	Thread  ids.ThreadID
	Driver  thread.Driver // "" while no thread is open
	Epoch   int64
	Lang    string
}

// Hearing tells whether a contact's words have been turned into an answer, and
// who speaks in their chat.
func (t *Tenant) Hearing(ctx context.Context, c ids.ContactID) (h Hearing, err error) {
	err = t.Ask(ctx,
		db.Into("look what waits", []any{&h.Waiting}, "SELECT EXISTS (SELECT 1 FROM inbox WHERE mailbox_key = $1 AND done_at IS NULL AND kind = 'message')", string(KeyOf(c))),
		db.Each("look who speaks", func(row db.Scanner) error { return row.Scan(&h.Thread, &h.Driver, &h.Epoch, &h.Lang) },
			"SELECT id, driver, epoch, language FROM conversation_threads WHERE mailbox_key = $1 AND closed_at IS NULL AND actor_type = 'customer'", string(KeyOf(c))))
	return h, err
}

// TakeSpoken takes what is to be said to a caller, in order, and marks it as
// said. As for every send it is decided in the same transaction whether the
// agent may still speak (P5).
func (t *Tenant) TakeSpoken(ctx context.Context, c ids.ContactID, now time.Time) (said []outbox.Send, err error) {
	err = t.Write(ctx, func(tx db.Tx) error {
		said = nil
		rows, err := db.Collect(ctx, tx, "find what to say", scanOutbox, "SELECT "+outboxColumns+
			" FROM outbox WHERE kind = $1 AND contact_id = $2 AND state = 'queued' ORDER BY seq", outbox.SpeakMessage, string(c))
		if err != nil {
			return err
		}
		speak, err := lookDrivers(ctx, tx, rows)
		if err != nil {
			return err
		}
		for _, r := range rows {
			state, err := admit(ctx, tx, r, speak, now)
			if err != nil {
				return err
			}
			send, err := sendOf(r)
			if err != nil {
				return err
			}
			sent := db.Time{}
			if state == outbox.Sending {
				state, sent = outbox.Sent, db.At(now)
				said = append(said, send)
			}
			if err := db.Exec(ctx, tx, "mark as said", "UPDATE outbox SET state = $2, sent_at = $3, tries = tries + 1 WHERE id = $1 AND state = 'queued'",
				r.ID, string(state), sent); err != nil {
				return err
			}
		}
		return nil
	})
	return said, err
}

// Queue adds effects outside a turn, each once per key.
func (t *Tenant) Queue(ctx context.Context, rows ...outbox.Row) error {
	return t.Write(ctx, func(tx db.Tx) error {
		for _, r := range rows {
			if err := insertOutbox(ctx, tx, r); err != nil {
				return err
			}
		}
		return nil
	})
}

// SendState tells how a row with that key stands: its state and what its
// receipts said.
func (t *Tenant) SendState(ctx context.Context, key string) (state outbox.State, status message.Status, err error) {
	err = t.Ask(ctx, db.Into("look at send", []any{&state, &status}, "SELECT state, status FROM outbox WHERE idempotency_key = $1", key))
	return state, status, err
}
