package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/thread"
	"github.com/ratiba/ratiba/internal/turn"
)

const threadColumns = `id, mailbox_key, contact_id, actor_type, app, graph_version, node, state, driver, handoff,
	language, disclosed, counters, pending, version, epoch, opened_at, last_at, closed_at`

func scanThread(row db.Scanner) (thread.Thread, error) {
	var th thread.Thread
	var opened, last, closed db.Time
	err := row.Scan(&th.ID, &th.Mailbox, &th.ContactID, &th.Actor, &th.App, &th.GraphVer, &th.Node, db.JSON{V: &th.State},
		&th.Driver, db.JSON{V: &th.Handoff}, &th.Language, &th.Disclosed, db.JSON{V: &th.Counters}, db.JSON{V: &th.Pending},
		&th.Version, &th.Epoch, &opened, &last, &closed)
	th.OpenedAt, th.LastAt, th.ClosedAt = opened.Time, last.Time, closed.Time
	return th, err
}

func openThread(ctx context.Context, q db.Q, key ids.MailboxKey) (*thread.Thread, error) {
	found, err := db.Collect(ctx, q, "load open thread", scanThread,
		"SELECT "+threadColumns+" FROM conversation_threads WHERE mailbox_key = $1 AND closed_at IS NULL LIMIT 1", string(key))
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// handoffs returns the threads that wait for a human or are driven by one.
func handoffs(ctx context.Context, q db.Q) ([]thread.Thread, error) {
	return db.Collect(ctx, q, "load handoffs", scanThread, "SELECT "+threadColumns+` FROM conversation_threads
		WHERE closed_at IS NULL AND driver IN ('SUSPENDED_FOR_HUMAN', 'HUMAN_DRIVING') ORDER BY last_at LIMIT 500`)
}

// codes lists the codes of all open handoffs.
func codes(ctx context.Context, q db.Q) ([]string, error) {
	return db.Collect(ctx, q, "load handoff codes", func(row db.Scanner) (string, error) {
		var h thread.Handoff
		err := row.Scan(db.JSON{V: &h})
		return h.Code, err
	}, "SELECT handoff FROM conversation_threads WHERE closed_at IS NULL AND driver IN ('SUSPENDED_FOR_HUMAN', 'HUMAN_DRIVING')")
}

// writeThread inserts a thread (before is 0) or replaces the version it was
// read at; otherwise it answers turn.ErrStale and the commit fails whole.
func writeThread(ctx context.Context, tx db.Tx, th *thread.Thread, before int64) error {
	var handoff, pending any
	if th.Handoff != nil {
		handoff = th.Handoff
	}
	if th.Pending != nil {
		pending = th.Pending
	}
	args := []any{
		string(th.ID), string(th.Mailbox), string(th.ContactID), string(th.Actor), th.App, th.GraphVer, th.Node,
		db.JSON{V: th.State},
		string(th.Driver),
		db.JSON{V: handoff},
		th.Language, th.Disclosed,
		db.JSON{V: th.Counters},
		db.JSON{V: pending},
		before + 1, th.Epoch, db.At(th.OpenedAt), db.At(th.LastAt), db.At(th.ClosedAt),
	}
	if before == 0 {
		_, err := tx.ExecContext(ctx, "INSERT INTO conversation_threads ("+threadColumns+`)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)`, args...)
		if db.IsUnique(err) {
			return turn.ErrStale
		}
		if err != nil {
			return fmt.Errorf("open thread: %w", err)
		}
		return nil
	}
	n, err := db.Changed(ctx, tx, "write thread", `
		UPDATE conversation_threads SET mailbox_key = $2, contact_id = $3, actor_type = $4, app = $5, graph_version = $6,
			node = $7, state = $8, driver = $9, handoff = $10, language = $11, disclosed = $12, counters = $13, pending = $14,
			version = $15, epoch = $16, opened_at = $17, last_at = $18, closed_at = $19
		WHERE id = $1 AND version = $20`, append(args, before)...)
	if err != nil {
		return err
	}
	if n == 0 {
		return turn.ErrStale
	}
	return nil
}

func loadContact(ctx context.Context, q db.Q, id ids.ContactID) (c contact.Contact, lastInbound db.Time, err error) {
	err = q.QueryRowContext(ctx, "SELECT id, name, profile, language, payer_phone, last_inbound_at FROM contacts WHERE id = $1",
		string(id)).Scan(&c.ID, &c.Name, &c.Profile, &c.Language, &c.PayerPhone, &lastInbound)
	if err != nil {
		return c, lastInbound, fmt.Errorf("load contact: %w", err)
	}
	c.Identities, err = db.Collect(ctx, q, "load identities", func(row db.Scanner) (i contact.Identity, err error) {
		return i, row.Scan(&i.Kind, &i.Value)
	}, "SELECT kind, value FROM contact_identities WHERE contact_id = $1 ORDER BY kind DESC, value", string(id))
	return c, lastInbound, err
}

func recent(ctx context.Context, q db.Q, th ids.ThreadID, limit int) ([]turn.Line, error) {
	lines, err := db.Collect(ctx, q, "load transcript", func(row db.Scanner) (turn.Line, error) {
		var l turn.Line
		var body struct {
			Text string `json:"text"`
		}
		var at db.Time
		err := row.Scan(&l.Direction, &l.Origin, db.JSON{V: &body}, &at)
		l.Text, l.At = body.Text, at.Time
		return l, err
	}, "SELECT direction, origin, body, at FROM transcript WHERE thread_id = $1 ORDER BY seq DESC LIMIT $2", string(th), limit)
	for i, j := 0, len(lines)-1; i < j; i, j = i+1, j-1 {
		lines[i], lines[j] = lines[j], lines[i]
	}
	return lines, err
}

// adminContacts returns where the given phones can be written to.
func (t *Tenant) adminContacts(ctx context.Context, q db.Q, phones []string) (map[string]turn.AdminContact, error) {
	out := map[string]turn.AdminContact{}
	for _, phone := range phones {
		id, err := contactBy(ctx, q, contact.Identity{Kind: contact.Phone, Value: phone})
		if err != nil {
			return nil, err
		}
		if id == "" {
			continue
		}
		var last db.Time
		if err := q.QueryRowContext(ctx, "SELECT last_inbound_at FROM contacts WHERE id = $1", string(id)).Scan(&last); err != nil {
			return nil, fmt.Errorf("load admin: %w", err)
		}
		number, err := lastNumber(ctx, q, KeyOf(id))
		if err != nil {
			return nil, err
		}
		out[phone] = turn.AdminContact{ID: id, LastInbound: last.Time, Number: number}
	}
	return out, nil
}

// EnsureContact makes a contact for an identity, so that it can be written to
// before it ever wrote.
func (t *Tenant) EnsureContact(ctx context.Context, i contact.Identity, name string, at db.Time) error {
	return t.db.Write(ctx, func(tx db.Tx) error {
		known, err := contactBy(ctx, tx, i)
		if err != nil || known != "" {
			return err
		}
		id := ids.New(at.Time)
		if err := db.Exec(ctx, tx, "make contact", "INSERT INTO contacts (id, name, created_at) VALUES ($1, $2, $3)", id, name, at); err != nil {
			return err
		}
		return db.Exec(ctx, tx, "add identity", "INSERT INTO contact_identities (kind, value, contact_id) VALUES ($1, $2, $3)",
			string(i.Kind), i.Value, id)
	})
}

func noRows(err error) bool { return errors.Is(err, sql.ErrNoRows) }
