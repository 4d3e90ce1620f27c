package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/message"
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
	err := t.Write(ctx, func(tx db.Tx) error {
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
	var seen bool
	known := map[contact.Identity]ids.ContactID{}
	asks := []db.Ask{db.Into("look for message", []any{&seen}, "SELECT EXISTS (SELECT 1 FROM inbox WHERE dedupe_key IN ($1, $2))", dedupe, erasedKey(dedupe))}
	for _, i := range append(append([]contact.Identity{}, m.From...), m.NewIDs...) {
		asks = append(asks, db.Each("find contact", func(row db.Scanner) error {
			var id ids.ContactID
			err := row.Scan(&id)
			known[i] = id
			return err
		}, selectContact, string(i.Kind), i.Value))
	}
	if err := db.Gather(ctx, tx, asks...); err != nil || seen {
		return false, err
	}
	c, err := t.ensureContact(ctx, tx, m, known, now)
	if err != nil {
		return false, err
	}
	// The mailbox is locked before what waits in it gets its place: the order of
	// arrival is that of the commits.
	if err := wake(ctx, tx, KeyOf(c), now.Add(quiet)); err != nil {
		return false, err
	}
	// Nor can the contact be merged away or erased from here on; when it was
	// while the lock was waited for, all is read again.
	stands, fresh := false, false
	if err := db.Gather(ctx, tx,
		db.Into("look whether the contact stands", []any{&stands}, "SELECT EXISTS (SELECT 1 FROM contact_identities WHERE contact_id = $1)", string(c)),
		askInsert(KeyOf(c), dedupe, mailbox.Item{Message: &m}, now, &fresh)); err != nil {
		return false, err
	}
	if !stands {
		return false, db.ErrAgain
	}
	if !fresh {
		return false, nil
	}
	if m.Channel == message.Voice {
		return true, db.Exec(ctx, tx, "note contact called", "UPDATE contacts SET last_number = CASE WHEN last_number = '' THEN $2 ELSE last_number END WHERE id = $1",
			string(c), m.Number)
	}
	return true, db.Exec(ctx, tx, "note contact wrote", `
		UPDATE contacts SET last_inbound_at = $2, last_number = $3, profile = CASE WHEN $4 = '' THEN profile ELSE $4 END WHERE id = $1`,
		string(c), db.At(now), m.Number, m.Profile)
}

// KeyOf returns the mailbox of a contact.
func KeyOf(c ids.ContactID) ids.MailboxKey { return ids.MailboxKey("contact:" + string(c)) }

// askInsert stores what waits, unless another transaction stored the same
// meanwhile.
func askInsert(key ids.MailboxKey, dedupe string, it mailbox.Item, now time.Time, fresh *bool) db.Ask {
	kind := "message"
	if it.Event != nil {
		kind = "event"
	}
	return db.Each("store inbound", func(db.Scanner) error { *fresh = true; return nil }, `
		INSERT INTO inbox (mailbox_key, kind, dedupe_key, payload, received_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (dedupe_key) DO NOTHING RETURNING seq`,
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
	err = t.Write(ctx, func(tx db.Tx) error {
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
	if err := wake(ctx, tx, key, now); err != nil {
		return false, err
	}
	fresh := false
	err := db.Gather(ctx, tx, askInsert(key, dedupe, it, now, &fresh))
	return fresh, err
}

// ensureContact finds the contact a message is from, among those its identities
// are known as, or makes one, and adds the identities that are not known yet.
func (t *Tenant) ensureContact(ctx context.Context, tx db.Tx, m message.Inbound, known map[contact.Identity]ids.ContactID, now time.Time) (ids.ContactID, error) {
	id, missing, err := t.whose(ctx, tx, m, known, now)
	if err != nil {
		return "", err
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
		if err := identify(ctx, tx, i, id); err != nil {
			return "", err
		}
	}
	return id, nil
}

// whose tells whose identities a message carries, nobody's when "", and which of
// them are not known. Identities that one signed message carries together belong
// to one person: two people they are known as are merged.
func (t *Tenant) whose(ctx context.Context, tx db.Tx, m message.Inbound, known map[contact.Identity]ids.ContactID, now time.Time) (id ids.ContactID, missing []contact.Identity, err error) {
	for _, i := range append(append([]contact.Identity{}, m.From...), m.NewIDs...) {
		switch found := known[i]; {
		case found == "" && slices.Contains(missing, i):
		case found == "":
			missing = append(missing, i)
		case id == "":
			id = found
		case found != id && slices.Contains(m.From, i):
			stands, err := t.merge(ctx, tx, id, found, now)
			if err != nil {
				return "", nil, err
			}
			for other, c := range known {
				if stands != id && c == id || stands == id && c == found {
					known[other] = stands // a second merge must not find the one that is gone
				}
			}
			id = stands
		}
	}
	return id, missing, nil
}

// identify makes an identity a contact's. When another transaction gave it to
// somebody meanwhile, all is read again.
func identify(ctx context.Context, tx db.Tx, i contact.Identity, id ids.ContactID) error {
	n, err := db.Changed(ctx, tx, "add identity",
		"INSERT INTO contact_identities (kind, value, contact_id) VALUES ($1, $2, $3) ON CONFLICT (kind, value) DO NOTHING",
		string(i.Kind), i.Value, string(id))
	if err == nil && n == 0 {
		return db.ErrAgain
	}
	return err
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

const selectContact = "SELECT contact_id FROM contact_identities WHERE kind = $1 AND value = $2"

func contactBy(ctx context.Context, q db.Q, i contact.Identity) (ids.ContactID, error) {
	var id string
	err := q.QueryRowContext(ctx, selectContact, string(i.Kind), i.Value).Scan(&id)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("find contact: %w", err)
	}
	return ids.ContactID(id), nil
}
