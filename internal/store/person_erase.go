package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/turn"
)

// Erased stands where a person's words, name or number stood.
const Erased = "(erased)"

// erased is the same for JSON columns.
func erased(more map[string]any) db.JSON {
	out := map[string]any{"erased": true}
	maps.Copy(out, more)
	return db.JSON{V: out}
}

// erasedKey is the dedupe key of a message whose own, which tells its writer's
// phone, was erased: the same message delivered again is known by it.
func erasedKey(dedupe string) string {
	sum := sha256.Sum256([]byte(dedupe))
	return "erased:" + hex.EncodeToString(sum[:])
}

// Erasure is what an erasure did.
type Erasure struct {
	Counts Counts `json:"counts"` // rows that were changed or removed
	// Mentions are rows of others' open conversations that still name the
	// person's number: they are needed until those are over.
	Mentions int64 `json:"mentions"`
}

func adminPhones(reg Registered) (phones []string) {
	for _, a := range reg.Tenant.Admins {
		phones = append(phones, a.Phone)
	}
	return phones
}

// ErasePerson takes from a business's data, in one transaction, all that tells
// who a person is and what they wrote. Money, receipts and times stay: books
// must balance. Their turns can no longer be replayed. While a payment of theirs
// is open, a turn or a send under way, or a human in their chat, it is refused
// with fault.Conflict; so is an admin.
func (s *Store) ErasePerson(ctx context.Context, slug string, i contact.Identity, now time.Time) (Erasure, error) {
	reg, err := s.Find(ctx, slug)
	if err != nil {
		return Erasure{}, err
	}
	t, err := s.Tenant(reg.Tenant.ID, reg.Tenant.App)
	if err != nil {
		return Erasure{}, err
	}
	admin := func(k contact.Identity) bool {
		return k.Kind == contact.Phone && reg.Tenant.AdminByPhone(k.Value) != nil
	}
	var out Erasure
	var e *eraser
	err = t.Write(ctx, func(tx db.Tx) error {
		e = &eraser{ctx: ctx, tx: tx, now: now, counts: map[string]int64{}}
		if e.contacts, e.known, err = contactsOf(ctx, tx, i); err != nil {
			return err
		}
		if len(e.contacts) == 0 {
			return unknownPerson(slug)
		}
		if slices.ContainsFunc(e.known, admin) {
			return fault.E(fault.Conflict, "That is the phone of an admin. Take them out of the definition first.")
		}
		if err := e.refuse(s.clock.Now()); err != nil {
			return err
		}
		// Their mailboxes are locked now: who was merged until then is found again.
		c, err := contactBy(ctx, tx, i)
		if err == nil && c != "" && c != e.contacts[0] {
			err = db.ErrAgain
		}
		if err != nil {
			return err
		}
		if err := e.run(t.part, adminPhones(reg)); err != nil {
			return fmt.Errorf("erase person: %w", err)
		}
		out = e.result()
		return nil
	})
	if err != nil {
		return out, err
	}
	n, err := s.eraseQuarantined(ctx, e.needles(false))
	if n > 0 {
		out.Counts = append(out.Counts, Count{Table: "quarantine", Rows: n})
	}
	return out, err
}

// eraseQuarantined removes what nobody could place, whoever it was for, that
// holds a person's number or id.
func (s *Store) eraseQuarantined(ctx context.Context, needles []needle) (n int64, err error) {
	err = s.control.Write(ctx, func(tx db.Tx) error {
		n = 0
		found, err := quarantined(ctx, tx, needles)
		for _, seq := range found {
			if err == nil {
				err = db.Exec(ctx, tx, "erase from quarantine", "DELETE FROM quarantine WHERE seq = $1", seq)
				n++
			}
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("the business's data are erased, the quarantine is not: %w", err)
	}
	return n, nil
}

// quarantined looks through the bodies one by one: together they may be large.
func quarantined(ctx context.Context, q db.Q, needles []needle) (found []int64, err error) {
	rows, err := q.QueryContext(ctx, "SELECT seq, body FROM quarantine ORDER BY seq")
	if err != nil {
		return nil, fmt.Errorf("look through the quarantine: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var seq int64
		var body []byte
		if err := rows.Scan(&seq, &body); err != nil {
			return nil, fmt.Errorf("look through the quarantine: %w", err)
		}
		if slices.ContainsFunc(needles, func(n needle) bool { return n.form.Match(body) }) {
			found = append(found, seq)
		}
	}
	return found, rows.Err()
}

// eraser erases one person until the first error.
type eraser struct {
	ctx      context.Context //nolint:containedctx // lives for one erasure.
	tx       db.Tx
	now      time.Time
	contacts []ids.ContactID
	known    []contact.Identity
	names    []string // what they were called
	counts   map[string]int64
	mentions int64
	err      error
}

func (e *eraser) result() Erasure {
	out := Erasure{Mentions: e.mentions}
	for _, table := range slices.Sorted(maps.Keys(e.counts)) {
		if n := e.counts[table]; n > 0 {
			out.Counts = append(out.Counts, Count{Table: table, Rows: n})
		}
	}
	return out
}

// do runs a statement and counts what it touched.
func (e *eraser) do(table, query string, args ...any) {
	if e.err != nil {
		return
	}
	n, err := db.Changed(e.ctx, e.tx, "erase from "+table, query, args...)
	e.counts[table] += n
	e.err = err
}

// refuse says why the person cannot be erased now, nil when they can. It locks
// their mailboxes, so that no turn begins.
func (e *eraser) refuse(real time.Time) error {
	reasons := []struct {
		sentence, query string
		more            []any
	}{
		{
			"Something they wrote is being answered at this moment. Try again in a minute.",
			"SELECT COUNT(*) FROM mailboxes WHERE key = 'contact:' || CAST($1 AS TEXT) AND lease_token <> '' AND lease_until > $2",
			[]any{db.At(real)},
		},
		{
			"A payment of theirs is open. Try again once it is settled.",
			`SELECT COUNT(*) FROM payment_attempts WHERE status IN ('created', 'sending', 'prompted', 'unknown')
				AND (contact_id = $1 OR phone IN (SELECT value FROM contact_identities WHERE contact_id = $1))`, nil,
		},
		{
			"A message to them is being sent at this moment. Try again in a minute.",
			"SELECT COUNT(*) FROM outbox WHERE contact_id = $1 AND state = 'sending'", nil,
		},
		{
			"Their chat waits for a person or is with one. End that first, with /done.",
			`SELECT COUNT(*) FROM conversation_threads WHERE contact_id = $1 AND closed_at IS NULL
				AND driver IN ('SUSPENDED_FOR_HUMAN', 'HUMAN_DRIVING')`, nil,
		},
	}
	for _, c := range e.contacts {
		if err := db.Exec(e.ctx, e.tx, "lock mailbox", "UPDATE mailboxes SET wake_seq = wake_seq + 1 WHERE key = $1", string(KeyOf(c))); err != nil {
			return err
		}
		for _, r := range reasons {
			var found int
			if err := e.tx.QueryRowContext(e.ctx, r.query, append([]any{string(c)}, r.more...)...).Scan(&found); err != nil {
				return fmt.Errorf("look at the person: %w", err)
			}
			if found > 0 {
				return fault.E(fault.Conflict, r.sentence)
			}
		}
	}
	return nil
}

func (e *eraser) run(part AppPart, admins []string) error {
	e.readNames()
	for _, c := range e.contacts {
		e.conversation(string(c))
		e.inbox(c)
		e.facts(string(c))
		if part.Erase != nil && e.err == nil {
			e.err = part.Erase(e.ctx, e.tx, c, e.now)
		}
	}
	e.elsewhere(admins)
	return e.err
}

// conversation erases what was said and decided.
func (e *eraser) conversation(c string) {
	e.do("transcript", "UPDATE transcript SET body = $2, provider_id = '' WHERE "+inTheirTalk, c, erased(map[string]any{"text": Erased}))
	e.do("outbox", `UPDATE outbox SET payload = $2, provider_id = '', error_detail = '',
		state = CASE WHEN state IN ('queued', 'doubt') THEN 'silenced' ELSE state END
		WHERE contact_id = $1 OR `+inTheirTalk, c, erased(nil))
	e.do("voice_calls", "DELETE FROM voice_calls WHERE contact_id = $1", c)
	e.do("held_messages", "DELETE FROM held_messages WHERE contact_id = $1 OR thread_id IN "+theirThreads, c)
	for _, table := range []string{"handoff_log", "handoff_log_archive"} {
		e.do(table, "UPDATE "+table+` SET content = $2, message_metadata = $3,
			actor_phone = CASE WHEN actor = 'admin' THEN actor_phone ELSE '' END WHERE thread_id IN `+theirThreads, c, Erased, erased(nil))
	}
	e.do("tool_calls", "UPDATE tool_calls SET args = $2, result = NULL, digest = '' WHERE "+inTheirTalk, c, erased(nil))
	e.do("llm_calls", "UPDATE llm_calls SET answer = '', request_hash = '' WHERE "+inTheirTalk, c)
	e.do("tasks", "UPDATE tasks SET detail = $2 WHERE contact_id = $1 OR thread_id IN "+theirThreads, c, Erased)
	e.escalations(c)
	e.do("turns", "UPDATE turns SET inputs = $2, digest = '' WHERE id IN "+theirTurns, c, turn.ErasedInputs)
	e.do("timers", "DELETE FROM timers WHERE "+inTheirBox, c)
	e.do("mailboxes", `UPDATE mailboxes SET due_at = NULL, lease_token = '', lease_until = NULL, wake_seq = wake_seq + 1
		WHERE key = 'contact:' || CAST($1 AS TEXT)`, c)
	e.do("conversation_threads", `UPDATE conversation_threads SET state = $2, handoff = NULL, pending = NULL,
		closed_at = COALESCE(closed_at, $3), version = version + 1, epoch = epoch + 1 WHERE contact_id = $1`, c, erased(nil), db.At(e.now))
}

// inbox erases what came in. A row keeps the shape that those who read it
// expect.
func (e *eraser) inbox(c ids.ContactID) {
	if e.err != nil {
		return
	}
	type row struct {
		seq          int64
		kind, dedupe string
	}
	rows, err := db.Collect(e.ctx, e.tx, "list inbound", func(s db.Scanner) (r row, err error) {
		return r, s.Scan(&r.seq, &r.kind, &r.dedupe)
	}, "SELECT seq, kind, dedupe_key FROM inbox WHERE mailbox_key = $1", string(KeyOf(c)))
	if err != nil {
		e.err = err
		return
	}
	// A translation of theirs waits, or waited, in an admin's mailbox.
	e.do("inbox", `UPDATE inbox SET payload = $2, done_at = COALESCE(done_at, $3)
		WHERE kind = 'event' AND mailbox_key <> 'contact:' || CAST($1 AS TEXT) AND (payload -> 'event') ->> 'scope' IN `+theirThreads,
		string(c), erased(map[string]any{"event": struct{}{}}), db.At(e.now))
	for _, r := range rows {
		if r.kind == "message" {
			r.dedupe = erasedKey(r.dedupe)
		}
		e.do("inbox", "UPDATE inbox SET payload = $2, dedupe_key = $3, done_at = COALESCE(done_at, $4) WHERE seq = $1",
			r.seq, erased(map[string]any{r.kind: struct{}{}}), r.dedupe, db.At(e.now))
	}
}

// facts erases who the person is. What they paid stays, without their number.
func (e *eraser) facts(c string) {
	e.do("payment_attempts", "UPDATE payment_attempts SET phone = '' WHERE contact_id = $1 AND phone <> ''", c)
	e.do("broadcast_recipients", "UPDATE broadcast_recipients SET outbox_id = $2 WHERE contact_id = $1 AND outbox_id = ''", c, notTold)
	e.do("contact_identities", "DELETE FROM contact_identities WHERE contact_id = $1", c)
	e.do("contacts", "UPDATE contacts SET name = '', profile = '', payer_phone = '', last_inbound_at = NULL WHERE id = $1", c)
}

// readNames learns what the person was called.
func (e *eraser) readNames() {
	for _, c := range e.contacts {
		if e.err != nil {
			return
		}
		var name, profile string
		if err := e.tx.QueryRowContext(e.ctx, "SELECT name, profile FROM contacts WHERE id = $1", string(c)).Scan(&name, &profile); err != nil {
			e.err = fmt.Errorf("read names: %w", err)
			return
		}
		e.names = append(e.names, name, profile)
	}
}

// leaves changes every text within a JSON document.
func leaves(v any, change func(string) string) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = leaves(v[k], change)
		}
	case []any:
		for i := range v {
			v[i] = leaves(v[i], change)
		}
	case string:
		return change(v)
	}
	return v
}

// rewritten is a document with every text in it changed.
func rewritten(raw string, change func(string) string) (string, error) {
	doc, err := db.CanonicalJSON([]byte(raw))
	if err != nil {
		return "", err
	}
	var v any
	if err := json.Unmarshal(doc, &v); err != nil {
		return "", fmt.Errorf("read document: %w", err)
	}
	out, err := json.Marshal(leaves(v, change))
	if err != nil {
		return "", fmt.Errorf("write document: %w", err)
	}
	return string(out), nil
}
