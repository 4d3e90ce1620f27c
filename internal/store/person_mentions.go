package store

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/turn"
)

// nationalDigits is how many of a phone's last digits stand in every way to
// write it.
const nationalDigits = 9

// shortestName is the fewest letters of a name that is looked for in others'
// rows: a shorter one is part of too many words.
const shortestName = 3

// elsewhere erases the person from the rows of others: their number wherever it
// stands, and their name and words from what admins were told and wrote.
func (e *eraser) elsewhere(admins []string) {
	own := e.needles(false)
	for _, k := range e.known {
		e.do("contacts", "UPDATE contacts SET payer_phone = '' WHERE payer_phone = $1", k.Value)
		e.do("payment_attempts", "UPDATE payment_attempts SET phone = '' WHERE phone = $1", k.Value)
		e.do("handoff_log", "UPDATE handoff_log SET actor_phone = '' WHERE actor_phone = $1", k.Value)
		e.do("handoff_log_archive", "UPDATE handoff_log_archive SET actor_phone = '' WHERE actor_phone = $1", k.Value)
	}
	desks := e.desks(admins)
	for _, turnID := range e.mentioning() {
		e.do("turns", "UPDATE turns SET inputs = $2, digest = '' WHERE id = $1", turnID, turn.ErasedInputs)
		for _, admin := range desks {
			e.do("outbox", `UPDATE outbox SET payload = $3, state = CASE WHEN state IN ('queued', 'doubt') THEN 'silenced' ELSE state END
				WHERE turn_id = $1 AND contact_id = $2`, turnID, admin, erased(nil))
			e.do("transcript", `UPDATE transcript SET body = $3 WHERE turn_id = $1
				AND thread_id IN (SELECT id FROM conversation_threads WHERE contact_id = $2)`, turnID, admin, erased(map[string]any{"text": Erased}))
		}
	}
	for _, text := range texts() {
		e.scrub(text, text.anywhere, own)
		if text.atDesk == "" {
			continue
		}
		for _, admin := range desks {
			e.scrub(text, text.atDesk, e.needles(true), admin)
		}
	}
	e.count(own)
}

// text is a column with words in it.
type text struct {
	table, key, column string
	document           bool
	// anywhere is a condition on all rows, atDesk on those of an admin's own
	// conversation ($1).
	anywhere, atDesk string
}

func texts() []text {
	const (
		atDesk = "thread_id IN (SELECT id FROM conversation_threads WHERE contact_id = $1)"
		done   = "thread_id NOT IN (SELECT id FROM conversation_threads WHERE closed_at IS NULL AND actor_type = 'customer')"
	)
	return []text{
		{"inbox", "seq", "payload", true, "done_at IS NOT NULL", "done_at IS NOT NULL AND mailbox_key = 'contact:' || CAST($1 AS TEXT)"},
		{"transcript", "seq", "body", true, "1 = 1", atDesk},
		{"outbox", "id", "payload", true, "state NOT IN ('queued', 'sending', 'doubt')", "state NOT IN ('queued', 'sending', 'doubt') AND contact_id = $1"},
		{"outbox", "id", "error_detail", false, "1 = 1", ""},
		{"handoff_log", "id", "content", false, "1 = 1", ""},
		{"handoff_log_archive", "id", "content", false, "1 = 1", ""},
		{"voice_calls", "id", "answer", true, "1 = 1", "contact_id = $1"},
		{"held_messages", "seq", "body", true, "1 = 1", "contact_id = $1"},
		{"tool_calls", "seq", "args", true, "1 = 1", atDesk},
		{"tool_calls", "seq", "result", true, "1 = 1", atDesk},
		{"tool_calls", "seq", "actor", false, "1 = 1", ""},
		{"tasks", "id", "detail", false, "1 = 1", "contact_id = $1"},
		{"escalations", "id", "asked", true, "state <> 'open'", ""},
		{"escalations", "id", "decision", true, "1 = 1", ""},
		{"llm_calls", "id", "answer", false, done, atDesk},
		{"conversation_threads", "id", "state", true, "closed_at IS NOT NULL", ""},
		{"conversation_threads", "id", "handoff", true, "closed_at IS NOT NULL", ""},
		{"conversation_threads", "id", "pending", true, "closed_at IS NOT NULL", ""},
	}
}

// needle is something to find: a part that a row has in any case, in lower
// case, and the whole.
type needle struct {
	part string
	form *regexp.Regexp
}

// needles are what the person is known by, names on demand.
func (e *eraser) needles(names bool) (out []needle) {
	for _, k := range e.known {
		if digits := strings.TrimPrefix(k.Value, "+"); k.Kind == contact.Phone && len(digits) >= nationalDigits {
			national := digits[len(digits)-nationalDigits:]
			out = append(out, needle{national, regexp.MustCompile(`\+?\d{0,6}` + national)})
		} else {
			out = append(out, needle{strings.ToLower(k.Value), regexp.MustCompile(`(?i)` + regexp.QuoteMeta(k.Value))})
		}
	}
	if !names {
		return out
	}
	var words []string
	for _, n := range e.names {
		words = append(words, append([]string{strings.TrimSpace(n)}, strings.FieldsFunc(n, func(r rune) bool { return !unicode.IsLetter(r) })...)...)
	}
	slices.SortFunc(words, func(a, b string) int { return len(b) - len(a) }) // a whole name before its parts
	for _, w := range slices.Compact(words) {
		if utf8.RuneCountInString(w) >= shortestName {
			out = append(out, needle{strings.ToLower(w), regexp.MustCompile(`(?i)` + regexp.QuoteMeta(w))})
		}
	}
	return out
}

// desks are the contacts of admins, of today and of before.
func (e *eraser) desks(admins []string) []string {
	if e.err != nil {
		return nil
	}
	out, err := db.Collect(e.ctx, e.tx, "list admins", func(row db.Scanner) (id string, err error) { return id, row.Scan(&id) },
		"SELECT DISTINCT contact_id FROM conversation_threads WHERE actor_type = 'admin'")
	for _, phone := range admins {
		if err != nil {
			break
		}
		id, found := contactBy(e.ctx, e.tx, contact.Identity{Kind: contact.Phone, Value: phone})
		if err = found; id != "" && !slices.Contains(out, string(id)) {
			out = append(out, string(id))
		}
	}
	e.err = err
	return out
}

// mentioning are others' turns that read something of the person.
func (e *eraser) mentioning() (turns []string) {
	var parts []string
	for _, c := range e.contacts {
		parts = append(parts, string(c))
	}
	for _, n := range e.needles(false) {
		parts = append(parts, n.part)
	}
	for _, part := range parts {
		if e.err != nil {
			return nil
		}
		found, err := db.Collect(e.ctx, e.tx, "find turns that mention the person", func(row db.Scanner) (id string, err error) {
			return id, row.Scan(&id)
		}, "SELECT id FROM turns WHERE LOWER(inputs) LIKE $1 ESCAPE '!'", containing(strings.ToLower(part)))
		turns, e.err = append(turns, found...), err
	}
	slices.Sort(turns)
	return slices.Compact(turns)
}

// scrub puts a mark where a needle stands in a column.
func (e *eraser) scrub(t text, where string, needles []needle, args ...any) {
	mark := func(s string) string {
		for _, n := range needles {
			s = n.form.ReplaceAllString(s, Erased)
		}
		return s
	}
	type row struct {
		key any
		old string
	}
	for _, n := range needles {
		if e.err != nil {
			return
		}
		query := "SELECT " + t.key + ", CAST(" + t.column + " AS TEXT) FROM " + t.table + " WHERE " + t.column + " IS NOT NULL AND (" + where +
			") AND LOWER(CAST(" + t.column + " AS TEXT)) LIKE $" + strconv.Itoa(len(args)+1) + " ESCAPE '!'"
		rows, err := db.Collect(e.ctx, e.tx, "look through "+t.table, func(s db.Scanner) (r row, err error) {
			return r, s.Scan(&r.key, &r.old)
		}, query, append(slices.Clone(args), containing(n.part))...)
		e.err = err
		for _, r := range rows {
			if e.err != nil {
				return
			}
			changed := mark(r.old)
			if t.document {
				changed, e.err = rewritten(r.old, mark)
			}
			e.do(t.table, "UPDATE "+t.table+" SET "+t.column+" = $2 WHERE "+t.key+" = $1", r.key, changed)
		}
	}
}

// count notes where the person is still named: in what is not over.
func (e *eraser) count(needles []needle) {
	for _, t := range texts() {
		for _, n := range needles {
			if e.err != nil {
				return
			}
			var rows int64
			e.err = e.tx.QueryRowContext(e.ctx, "SELECT COUNT(*) FROM "+t.table+" WHERE LOWER(CAST("+t.column+" AS TEXT)) LIKE $1 ESCAPE '!'",
				containing(n.part)).Scan(&rows)
			e.mentions += rows
		}
	}
}
