package store

import (
	"context"

	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/thread"
	"github.com/ratiba/ratiba/internal/turn"
)

const threadColumns = `id, mailbox_key, contact_id, actor_type, app, graph_version, node, state, driver, handoff,
	language, disclosed, counters, pending, version, epoch, opened_at, last_at, closed_at, arms`

func scanThread(row db.Scanner) (thread.Thread, error) {
	var th thread.Thread
	var opened, last, closed db.Time
	err := row.Scan(&th.ID, &th.Mailbox, &th.ContactID, &th.Actor, &th.App, &th.GraphVer, &th.Node, db.JSON{V: &th.State},
		&th.Driver, db.JSON{V: &th.Handoff}, &th.Language, &th.Disclosed, db.JSON{V: &th.Counters}, db.JSON{V: &th.Pending},
		&th.Version, &th.Epoch, &opened, &last, &closed, db.JSON{V: &th.Arms})
	th.OpenedAt, th.LastAt, th.ClosedAt = opened.Time, last.Time, closed.Time
	return th, err
}

func askThread(key ids.MailboxKey, into **thread.Thread) db.Ask {
	return db.Each("load open thread", func(row db.Scanner) error {
		th, err := scanThread(row)
		*into = &th
		return err
	}, "SELECT "+threadColumns+" FROM conversation_threads WHERE id = "+openOf, string(key))
}

// handoffs returns the threads that wait for a human or are driven by one.
func handoffs(ctx context.Context, q db.Q) ([]thread.Thread, error) {
	return db.Collect(ctx, q, "load handoffs", scanThread, "SELECT "+threadColumns+` FROM conversation_threads
		WHERE closed_at IS NULL AND driver IN ('SUSPENDED_FOR_HUMAN', 'HUMAN_DRIVING') ORDER BY last_at LIMIT 500`)
}

// askCodes lists the codes of all open handoffs.
func askCodes(into *[]string) db.Ask {
	return db.Each("load handoff codes", func(row db.Scanner) error {
		var h thread.Handoff
		err := row.Scan(db.JSON{V: &h})
		*into = append(*into, h.Code)
		return err
	}, "SELECT handoff FROM conversation_threads WHERE closed_at IS NULL AND driver IN ('SUSPENDED_FOR_HUMAN', 'HUMAN_DRIVING')")
}

// writeThread inserts a thread (before is 0) or replaces the version it was
// read at; done is called when it did.
func writeThread(th *thread.Thread, before int64, done func(db.Scanner) error) db.Ask {
	var handoff, pending, arms any
	if th.Handoff != nil {
		handoff = th.Handoff
	}
	if th.Pending != nil {
		pending = th.Pending
	}
	if len(th.Arms) > 0 {
		arms = th.Arms
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
		db.JSON{V: arms},
	}
	if before == 0 {
		return db.Each("open thread", done, "INSERT INTO conversation_threads ("+threadColumns+`)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20) RETURNING id`, args...)
	}
	return db.Each("write thread", done, `
		UPDATE conversation_threads SET mailbox_key = $2, contact_id = $3, actor_type = $4, app = $5, graph_version = $6,
			node = $7, state = $8, driver = $9, handoff = $10, language = $11, disclosed = $12, counters = $13, pending = $14,
			version = $15, epoch = $16, opened_at = $17, last_at = $18, closed_at = $19, arms = $20
		WHERE id = $1 AND version = $21 RETURNING id`, append(args, before)...)
}

func askContact(id ids.ContactID, c *contact.Contact, lastInbound *db.Time, number *string) db.Ask {
	return db.Each("load contact", func(row db.Scanner) error {
		var opted db.Time
		err := row.Scan(&c.ID, &c.Name, &c.Profile, &c.Language, &c.PayerPhone, lastInbound, number, &opted)
		c.OptedOut = opted.Time
		return err
	}, "SELECT id, name, profile, language, payer_phone, last_inbound_at, last_number, opted_out_at FROM contacts WHERE id = $1", string(id))
}

func askIdentities(id ids.ContactID, into *[]contact.Identity) db.Ask {
	return db.Each("load identities", func(row db.Scanner) error {
		var i contact.Identity
		err := row.Scan(&i.Kind, &i.Value)
		*into = append(*into, i)
		return err
	}, "SELECT kind, value FROM contact_identities WHERE contact_id = $1 ORDER BY kind DESC, value", string(id))
}

// askLines reads the last lines of the thread that the expression of $1 names,
// newest first.
func askLines(into *[]turn.Line, thread, key string, limit int) db.Ask {
	return db.Each("load transcript", func(row db.Scanner) error {
		var l turn.Line
		var body struct {
			Text       string              `json:"text"`
			Kind       string              `json:"kind"`
			Attachment *message.Attachment `json:"attachment"`
		}
		var at db.Time
		err := row.Scan(&l.Direction, &l.Origin, db.JSON{V: &body}, &at)
		l.Text, l.Kind, l.Attachment, l.At = body.Text, body.Kind, body.Attachment, at.Time
		*into = append(*into, l)
		return err
	}, "SELECT direction, origin, body, at FROM transcript WHERE thread_id = "+thread+" ORDER BY seq DESC LIMIT $2", key, limit)
}

// askAdmins reads where the tenant's admins can be written to.
func askAdmins(phones []string, into map[string]turn.AdminContact) []db.Ask {
	var asks []db.Ask
	for _, phone := range phones {
		asks = append(asks, db.Each("load admin", func(row db.Scanner) error {
			var a turn.AdminContact
			var last db.Time
			err := row.Scan(&a.ID, &last, &a.Number)
			a.LastInbound = last.Time
			into[phone] = a
			return err
		}, `SELECT c.id, c.last_inbound_at, c.last_number FROM contact_identities i JOIN contacts c ON c.id = i.contact_id
			WHERE i.kind = $1 AND i.value = $2`, string(contact.Phone), phone))
	}
	return asks
}

// EnsureContact makes a contact for an identity, so that it can be written to
// before it ever wrote.
func (t *Tenant) EnsureContact(ctx context.Context, i contact.Identity, name string, at db.Time) error {
	return t.Write(ctx, func(tx db.Tx) error {
		known, err := contactBy(ctx, tx, i)
		if err != nil || known != "" {
			return err
		}
		id := ids.New(at.Time)
		if err := db.Exec(ctx, tx, "make contact", "INSERT INTO contacts (id, name, created_at) VALUES ($1, $2, $3)", id, name, at); err != nil {
			return err
		}
		return identify(ctx, tx, i, ids.ContactID(id))
	})
}
