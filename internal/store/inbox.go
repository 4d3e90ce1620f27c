package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/outbox"
)

// Delivered counts what a delivery stored; what was already known is not counted.
type Delivered struct {
	Messages, Receipts, Events int
	Unblocked                  bool // a receipt proved that a send in doubt had arrived: its lane may go on
}

// Deliver stores everything one webhook brought for this tenant, in one
// transaction: new messages into their contacts' mailboxes, receipts onto
// their outbox rows. What was delivered before changes nothing (P2).
func (t *Tenant) Deliver(ctx context.Context, messages []message.Inbound, receipts []message.Receipt, now time.Time, quiet time.Duration) (Delivered, error) {
	var d Delivered
	err := t.db.Write(ctx, func(tx db.Tx) error {
		d = Delivered{}
		for _, m := range messages {
			fresh, err := t.deliverMessage(ctx, tx, m, now, quiet)
			if err != nil {
				return err
			}
			if fresh {
				d.Messages++
			}
		}
		for _, r := range receipts {
			moved, failed, unblocked, err := applyReceipt(ctx, tx, r, now)
			if err != nil {
				return err
			}
			d.Unblocked = d.Unblocked || unblocked
			if moved {
				d.Receipts++
			}
			if failed {
				d.Events++
			}
		}
		return nil
	})
	return d, err
}

func (t *Tenant) deliverMessage(ctx context.Context, tx db.Tx, m message.Inbound, now time.Time, quiet time.Duration) (bool, error) {
	dedupe := m.Channel + ":" + m.Number + ":" + m.ProviderID
	var seen int
	if err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM inbox WHERE dedupe_key = $1", dedupe).Scan(&seen); err != nil {
		return false, fmt.Errorf("look for message: %w", err)
	}
	if seen > 0 {
		return false, nil
	}
	c, err := t.ensureContact(ctx, tx, m, now)
	if err != nil {
		return false, err
	}
	key := KeyOf(c)
	if err := insertInbox(ctx, tx, key, dedupe, mailbox.Item{Message: &m}, now); err != nil {
		return false, err
	}
	return true, wake(ctx, tx, key, now.Add(quiet))
}

// KeyOf returns the mailbox of a contact.
func KeyOf(c ids.ContactID) ids.MailboxKey { return ids.MailboxKey("contact:" + string(c)) }

func insertInbox(ctx context.Context, tx db.Tx, key ids.MailboxKey, dedupe string, it mailbox.Item, now time.Time) error {
	kind := "message"
	if it.Event != nil {
		kind = "event"
	}
	return db.Exec(ctx, tx, "store inbound", `
		INSERT INTO inbox (mailbox_key, kind, dedupe_key, payload, received_at) VALUES ($1, $2, $3, $4, $5)`,
		string(key), kind, dedupe, db.JSON{V: it}, db.At(now))
}

// wake makes a mailbox due at at, unless it is due earlier, and raises
// wake_seq, so that a release that did not see this row makes it due again.
func wake(ctx context.Context, tx db.Tx, key ids.MailboxKey, at time.Time) error {
	return db.Exec(ctx, tx, "wake mailbox", `
		INSERT INTO mailboxes (key, due_at, wake_seq) VALUES ($1, $2, 1)
		ON CONFLICT (key) DO UPDATE SET wake_seq = mailboxes.wake_seq + 1,
			due_at = CASE WHEN mailboxes.due_at IS NULL OR mailboxes.due_at > excluded.due_at
				THEN excluded.due_at ELSE mailboxes.due_at END`,
		string(key), db.At(at))
}

// Post stores an event in a contact's mailbox, once per dedupe key.
func (t *Tenant) Post(ctx context.Context, key ids.MailboxKey, e mailbox.Event, dedupe string, now time.Time) (fresh bool, err error) {
	err = t.db.Write(ctx, func(tx db.Tx) error {
		fresh, err = post(ctx, tx, key, mailbox.Item{Event: &e}, dedupe, now)
		return err
	})
	return fresh, err
}

func post(ctx context.Context, tx db.Tx, key ids.MailboxKey, it mailbox.Item, dedupe string, now time.Time) (bool, error) {
	var seen int
	if err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM inbox WHERE dedupe_key = $1", dedupe).Scan(&seen); err != nil {
		return false, fmt.Errorf("look for event: %w", err)
	}
	if seen > 0 {
		return false, nil
	}
	if err := insertInbox(ctx, tx, key, dedupe, it, now); err != nil {
		return false, err
	}
	return true, wake(ctx, tx, key, now)
}

// ensureContact finds the contact a message is from, or makes one. Identities
// that one signed message carries together belong to one person: the ones not
// yet known are added, and two people they are known as are merged.
func (t *Tenant) ensureContact(ctx context.Context, tx db.Tx, m message.Inbound, now time.Time) (ids.ContactID, error) {
	var id ids.ContactID
	var missing []contact.Identity
	for _, i := range append(append([]contact.Identity{}, m.From...), m.NewIDs...) {
		found, err := contactBy(ctx, tx, i)
		switch {
		case err != nil:
			return "", err
		case found == "":
			missing = append(missing, i)
		case id == "":
			id = found
		case found != id && slices.Contains(m.From, i):
			if id, err = t.merge(ctx, tx, id, found, now); err != nil {
				return "", err
			}
		}
	}
	if id == "" {
		id = ids.ContactID(ids.New(now))
		if err := db.Exec(ctx, tx, "make contact", "INSERT INTO contacts (id, profile, created_at) VALUES ($1, $2, $3)",
			string(id), m.Profile, db.At(now)); err != nil {
			return "", err
		}
	}
	if err := leave(ctx, tx, id, m, missing); err != nil {
		return "", err
	}
	for _, i := range missing {
		if err := db.Exec(ctx, tx, "add identity", "INSERT INTO contact_identities (kind, value, contact_id) VALUES ($1, $2, $3) ON CONFLICT (kind, value) DO NOTHING",
			string(i.Kind), i.Value, string(id)); err != nil {
			return "", err
		}
	}
	return id, db.Exec(ctx, tx, "note contact wrote", `
		UPDATE contacts SET last_inbound_at = $2, profile = CASE WHEN $3 = '' THEN profile ELSE $3 END WHERE id = $1`,
		string(id), db.At(now), m.Profile)
}

// leave takes from a contact the identities that new ones of the same kind
// replace: somebody changed their number. Answers must not go to the old one,
// which may become another person's.
func leave(ctx context.Context, tx db.Tx, id ids.ContactID, m message.Inbound, missing []contact.Identity) error {
	for _, i := range missing {
		if m.Kind == message.System && !slices.Contains(m.NewIDs, i) {
			continue // what somebody is leaving replaces nothing
		}
		if err := db.Exec(ctx, tx, "leave identity", "DELETE FROM contact_identities WHERE contact_id = $1 AND kind = $2 AND value <> $3",
			string(id), string(i.Kind), i.Value); err != nil {
			return err
		}
	}
	return nil
}

func contactBy(ctx context.Context, q db.Q, i contact.Identity) (ids.ContactID, error) {
	var id string
	err := q.QueryRowContext(ctx, "SELECT contact_id FROM contact_identities WHERE kind = $1 AND value = $2",
		string(i.Kind), i.Value).Scan(&id)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("find contact: %w", err)
	}
	return ids.ContactID(id), nil
}

// applyReceipt moves an outbox row's status forward, never back. A failure
// becomes an event in the receiver's mailbox.
func applyReceipt(ctx context.Context, tx db.Tx, r message.Receipt, now time.Time) (moved, failed, unblocked bool, err error) {
	var id, status, state, contactID, thread string
	err = tx.QueryRowContext(ctx, `
		SELECT id, status, state, contact_id, thread_id FROM outbox
		WHERE (provider_id = $1 AND $1 <> '') OR (id = $2 AND $2 <> '') ORDER BY seq LIMIT 1`,
		r.ProviderID, r.Opaque).Scan(&id, &status, &state, &contactID, &thread)
	if errors.Is(err, sql.ErrNoRows) {
		return false, false, false, nil
	}
	if err != nil {
		return false, false, false, fmt.Errorf("find sent message: %w", err)
	}
	if r.Status.Rank() <= message.Status(status).Rank() {
		return false, false, false, nil
	}
	// A receipt proves that an attempt in doubt arrived at the provider.
	if err := db.Exec(ctx, tx, "move receipt", `
		UPDATE outbox SET status = $2, status_at = $3, error_code = $4, error_detail = $5,
			provider_id = CASE WHEN provider_id = '' THEN $6 ELSE provider_id END,
			sent_at = CASE WHEN sent_at IS NULL AND state IN ('doubt', 'sending') THEN $7 ELSE sent_at END,
			state = CASE WHEN state IN ('doubt', 'sending') THEN 'sent' ELSE state END
		WHERE id = $1`, id, string(r.Status), db.At(r.At), r.ErrorCode, r.ErrorText, r.ProviderID, db.At(now)); err != nil {
		return false, false, false, err
	}
	unblocked = state == string(outbox.Doubt)
	if r.Status != message.StatusFailed {
		return true, false, unblocked, nil
	}
	e := mailbox.Event{Kind: mailbox.ReceiptFailed, Name: strconv.Itoa(r.ErrorCode), Scope: ids.ThreadID(thread), Data: jsonOf(map[string]any{
		"outbox_id": id, "code": r.ErrorCode, "detail": r.ErrorText,
	})}
	fresh, err := post(ctx, tx, KeyOf(ids.ContactID(contactID)), mailbox.Item{Event: &e}, "failed:"+id, now)
	return true, fresh, unblocked, err
}
