package store

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/mailbox"
)

// The rows of one contact, $1.
const (
	theirThreads = "(SELECT id FROM conversation_threads WHERE contact_id = $1)"
	theirTurns   = "(SELECT id FROM turns WHERE mailbox_key = 'contact:' || CAST($1 AS TEXT) OR thread_id IN " + theirThreads + ")"
	inTheirTalk  = "thread_id IN " + theirThreads + " OR turn_id IN " + theirTurns
	inTheirLog   = "thread_id IN " + theirThreads + " OR actor_phone IN (SELECT value FROM contact_identities WHERE contact_id = $1 AND kind = 'phone')"
	inTheirBox   = "mailbox_key = 'contact:' || CAST($1 AS TEXT)"
)

// kept is what is kept about a contact, $1, in the platform's tables. Recorded
// turns are left out: they repeat what is here, beside what is not about them.
func kept() []db.Selection {
	return []db.Selection{
		{Table: "contacts", Where: "id = $1", Columns: []string{
			"id", "name", "profile", "language", "payer_phone", "last_inbound_at", "opted_out_at", "created_at",
		}},
		{Table: "contact_identities", Where: "contact_id = $1", Columns: []string{"kind", "value"}},
		{Table: "inbox", Where: inTheirBox, Columns: []string{"seq", "kind", "payload", "received_at", "done_at"}},
		{Table: "timers", Where: inTheirBox, Columns: []string{"scope", "name", "due_at", "data"}},
		{Table: "conversation_threads", Where: "contact_id = $1", Columns: []string{
			"id", "app", "node", "state", "driver", "language", "pending", "opened_at", "last_at", "closed_at",
		}},
		{Table: "transcript", Where: "thread_id IN " + theirThreads, Columns: []string{"seq", "thread_id", "direction", "origin", "body", "at"}},
		{Table: "outbox", Where: "contact_id = $1", Columns: []string{
			"seq", "kind", "origin", "thread_id", "payload", "state", "status", "created_at", "sent_at", "delivered_at", "read_at", "failed_at",
		}},
		{Table: "voice_calls", Where: "contact_id = $1", Columns: []string{"id", "phase", "language", "answer", "started_at", "ended_at"}},
		{Table: "held_messages", Where: "contact_id = $1 OR thread_id IN " + theirThreads, Columns: []string{"seq", "thread_id", "body", "at"}},
		{Table: "handoff_log", Where: inTheirLog, Columns: logged()},
		{Table: "handoff_log_archive", Where: inTheirLog, Columns: append(logged(), "archived_at")},
		{Table: "tool_calls", Where: inTheirTalk, Columns: []string{"seq", "thread_id", "tool", "args", "ok", "code", "result", "at"}},
		{Table: "tasks", Where: "contact_id = $1 OR thread_id IN " + theirThreads, Columns: []string{
			"id", "kind", "detail", "owner", "state", "due_at", "created_at",
		}},
		{Table: "broadcast_recipients", Where: "contact_id = $1", Columns: []string{"broadcast_id", "outbox_id"}},
		{Table: "payment_attempts", Where: "contact_id = $1", Columns: []string{
			"id", "subject", "provider", "reference", "account", "amount", "currency", "phone", "status", "outcome", "receipt", "surplus",
			"created_at", "sent_at", "settled_at", "refund",
		}},
		{Table: "escalations", Where: "contact_id = $1 OR thread_id IN " + theirThreads, Columns: []string{
			"id", "role", "cause", "asked", "state", "decision", "decided_by", "decided_at", "created_at",
		}},
		{Table: "llm_calls", Where: inTheirTalk, Columns: []string{
			"id", "role", "thread_id", "provider", "model", "prompt_version", "cost_pico", "outcome", "answer", "at",
		}},
	}
}

// logged are the columns of a handoff log that are about people.
func logged() []string {
	return []string{"id", "thread_id", "actor", "actor_phone", "content", "language", "sent_at", "message_metadata"}
}

// contactsOf are the contacts that an identity is or was: who has it, and whom
// the platform found to be the same person. Such a one keeps its conversations
// and has no identity any more; its messages say who wrote them.
func contactsOf(ctx context.Context, q db.Q, i contact.Identity) ([]ids.ContactID, []contact.Identity, error) {
	known := []contact.Identity{i}
	var out []ids.ContactID
	c, err := contactBy(ctx, q, i)
	if err != nil {
		return nil, nil, err
	}
	if c != "" {
		out = append(out, c)
		all, err := db.Collect(ctx, q, "load identities", func(row db.Scanner) (i contact.Identity, err error) {
			return i, row.Scan(&i.Kind, &i.Value)
		}, "SELECT kind, value FROM contact_identities WHERE contact_id = $1 AND value <> $2 ORDER BY kind, value", string(c), i.Value)
		if err != nil {
			return nil, nil, err
		}
		known = append(known, all...)
	}
	for _, i := range known {
		type from struct {
			key  string
			item mailbox.Item
		}
		wrote, err := db.Collect(ctx, q, "look for merged contacts", func(row db.Scanner) (f from, err error) {
			return f, row.Scan(&f.key, db.JSON{V: &f.item})
		}, `SELECT mailbox_key, payload FROM inbox WHERE kind = 'message' AND CAST(payload AS TEXT) LIKE $1 ESCAPE '!'
			AND NOT EXISTS (SELECT 1 FROM contact_identities i WHERE 'contact:' || i.contact_id = inbox.mailbox_key)
			ORDER BY seq`, containing(i.Value))
		if err != nil {
			return nil, nil, err
		}
		for _, f := range wrote {
			c := ids.ContactID(strings.TrimPrefix(f.key, "contact:"))
			if m := f.item.Message; m != nil && slices.Contains(append(m.From, m.NewIDs...), i) && !slices.Contains(out, c) {
				out = append(out, c)
			}
		}
	}
	return out, known, nil
}

// containing is the LIKE pattern, escaped with !, of what contains s.
func containing(s string) string {
	return "%" + strings.NewReplacer("!", "!!", "%", "!%", "_", "!_").Replace(s) + "%"
}

func unknownPerson(slug string) error {
	return fault.E(fault.NotFound, fmt.Sprintf("%s knows nobody by that.", slug))
}

// ExportPerson writes all that a business keeps about one person as readable
// JSON, as it is at one instant. A person nobody knows is fault.NotFound, and
// nothing is written.
func (s *Store) ExportPerson(ctx context.Context, slug string, i contact.Identity, now time.Time, w io.Writer) error {
	reg, err := s.Find(ctx, slug)
	if err != nil {
		return err
	}
	t, err := s.Tenant(reg.Tenant.ID, reg.Tenant.App)
	if err != nil {
		return err
	}
	tables, err := db.Catalogue(ctx, s.setsAt(reg.Tenant.App, nil)...)
	if err != nil {
		return err
	}
	return t.Read(ctx, func(q db.Q) error {
		contacts, known, err := contactsOf(ctx, q, i)
		if err != nil {
			return err
		}
		if len(contacts) == 0 {
			return unknownPerson(slug)
		}
		p := &pages{w: w}
		p.print(`{"business":%s,"person":%s,"at":%s,"kept":{`, reg.Tenant.Name, known, now.UTC())
		for n, sel := range append(kept(), t.part.Person...) {
			if n > 0 {
				p.raw(",")
			}
			p.print("\n%s:[", sel.Table)
			if err := p.rows(ctx, q, tables, sel, contacts); err != nil {
				return err
			}
			p.raw("]")
		}
		p.raw("\n}}\n")
		return p.err
	})
}

// pages writes JSON until the first error.
type pages struct {
	w     io.Writer
	first bool // no row of the table was written yet
	err   error
}

// print writes text in which each %s is a value as JSON.
func (p *pages) print(format string, values ...any) {
	if p.err != nil {
		return
	}
	encoded := make([]any, len(values))
	for i, v := range values {
		var raw []byte
		if raw, p.err = json.Marshal(v); p.err != nil {
			return
		}
		encoded[i] = raw
	}
	_, p.err = fmt.Fprintf(p.w, format, encoded...)
}

// raw writes text as it is.
func (p *pages) raw(text string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, text)
	}
}

// rows writes the rows of a selection, as objects, for each contact.
func (p *pages) rows(ctx context.Context, q db.Q, tables []db.Table, sel db.Selection, contacts []ids.ContactID) error {
	at := slices.IndexFunc(tables, func(t db.Table) bool { return t.Name == sel.Table })
	if at < 0 {
		return fmt.Errorf("export person: no table %s", sel.Table)
	}
	table := db.Table{Name: sel.Table, Key: tables[at].Key}
	for _, name := range sel.Columns {
		c := slices.IndexFunc(tables[at].Columns, func(c db.Column) bool { return c.Name == name })
		if c < 0 {
			return fmt.Errorf("export person: no column %s.%s", sel.Table, name)
		}
		table.Columns = append(table.Columns, tables[at].Columns[c])
	}
	query := "SELECT " + strings.Join(table.Names(), ", ") + " FROM " + sel.Table + " WHERE " + sel.Where + " ORDER BY " + tables[at].Order(q.Dialect())
	p.first = true
	for _, c := range contacts {
		if err := p.contactRows(ctx, q, table, query, c); err != nil {
			return fmt.Errorf("export person: read %s: %w", sel.Table, err)
		}
	}
	return p.err
}

func (p *pages) contactRows(ctx context.Context, q db.Q, t db.Table, query string, c ids.ContactID) error {
	rows, err := q.QueryContext(ctx, query, string(c))
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		values, err := db.ScanColumns(rows, t.Columns)
		if err != nil {
			return err
		}
		if !p.first {
			p.raw(",")
		}
		p.first = false
		p.raw("\n {")
		for i, v := range values {
			if i > 0 {
				p.raw(",")
			}
			p.print("%s:%s", t.Columns[i].Name, v)
		}
		p.raw("}")
	}
	return rows.Err()
}
