package store

import (
	"context"
	"fmt"
	"time"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/ids"
)

// merge makes one person of two contacts that one signed webhook carried the
// ids of. The older survives; the younger's open thread closes, and what it
// held, waited for and paid moves over. It returns the contact that stands.
//
// While a turn of either is under way, or one of them is with a human, nothing
// is merged: it returns a, and the next webhook with both ids tries again.
func (t *Tenant) merge(ctx context.Context, tx db.Tx, a, b ids.ContactID, now time.Time) (ids.ContactID, error) {
	older, younger := min(a, b), max(a, b) // a ULID sorts by the time it was made
	for _, c := range []ids.ContactID{older, younger} {
		// One that nobody wrote to yet is made, so that there is what to lock.
		if err := db.Exec(ctx, tx, "lock mailbox", `INSERT INTO mailboxes (key) VALUES ($1)
			ON CONFLICT (key) DO UPDATE SET wake_seq = mailboxes.wake_seq`, string(KeyOf(c))); err != nil {
			return a, err
		}
		var busy int
		if err := tx.QueryRowContext(ctx, `SELECT (SELECT COUNT(*) FROM mailboxes WHERE key = $1 AND lease_token <> '')
			+ (SELECT COUNT(*) FROM conversation_threads WHERE mailbox_key = $1 AND closed_at IS NULL AND driver <> 'AGENT_DRIVING')`,
			string(KeyOf(c))).Scan(&busy); err != nil {
			return a, fmt.Errorf("look at contacts to merge: %w", err)
		}
		if busy > 0 {
			return a, nil
		}
	}
	if err := mergeMailboxes(ctx, tx, string(KeyOf(younger)), string(KeyOf(older)), now); err != nil {
		return a, err
	}
	for _, table := range []string{"contact_identities", "payment_attempts", "tasks", "escalations", "held_messages", "voice_calls"} {
		if err := db.Exec(ctx, tx, "move "+table, "UPDATE "+table+" SET contact_id = $2 WHERE contact_id = $1",
			string(younger), string(older)); err != nil {
			return a, err
		}
	}
	if err := db.Exec(ctx, tx, "keep what is known of the younger", `
		UPDATE contacts SET name = CASE WHEN name = '' THEN (SELECT y.name FROM contacts y WHERE y.id = $2) ELSE name END,
			payer_phone = CASE WHEN payer_phone = '' THEN (SELECT y.payer_phone FROM contacts y WHERE y.id = $2) ELSE payer_phone END
		WHERE id = $1`, string(older), string(younger)); err != nil {
		return a, err
	}
	if err := mergeAnnouncements(ctx, tx, string(younger), string(older)); err != nil {
		return a, err
	}
	if t.part.Merge != nil {
		if err := t.part.Merge(ctx, tx, younger, older); err != nil {
			return a, fmt.Errorf("merge the app's rows: %w", err)
		}
	}
	return older, wake(ctx, tx, KeyOf(older), now)
}

// mergeMailboxes closes the thread of one mailbox and moves what waits in it to
// another.
func mergeMailboxes(ctx context.Context, tx db.Tx, from, to string, now time.Time) error {
	for _, step := range []struct {
		doing, query string
		args         []any
	}{
		{"close thread", `UPDATE conversation_threads SET closed_at = $2, version = version + 1, epoch = epoch + 1
			WHERE mailbox_key = $1 AND closed_at IS NULL`, []any{from, db.At(now)}},
		{"drop the thread's timers", "DELETE FROM timers WHERE mailbox_key = $1 AND scope <> ''", []any{from}},
		{"move timers", "UPDATE timers SET mailbox_key = $2 WHERE mailbox_key = $1", []any{from, to}},
		{"move what waits for people", "UPDATE escalations SET mailbox_key = $2 WHERE mailbox_key = $1 AND state = 'open'", []any{from, to}},
		{"move what waits", "UPDATE inbox SET mailbox_key = $2 WHERE mailbox_key = $1 AND done_at IS NULL", []any{from, to}},
		{"empty mailbox", "UPDATE mailboxes SET due_at = NULL, wake_seq = wake_seq + 1 WHERE key = $1", []any{from}},
	} {
		if err := db.Exec(ctx, tx, step.doing, step.query, step.args...); err != nil {
			return err
		}
	}
	return nil
}

// mergeAnnouncements keeps an opt-out of either, and tells one person once what
// both were to be told.
func mergeAnnouncements(ctx context.Context, tx db.Tx, from, to string) error {
	for _, step := range []struct{ doing, query string }{
		{"keep opt-out", `UPDATE contacts SET opted_out_at = COALESCE(opted_out_at, (SELECT y.opted_out_at FROM contacts y WHERE y.id = $1)) WHERE id = $2`},
		{"drop second copies", `DELETE FROM broadcast_recipients WHERE contact_id = $1
			AND broadcast_id IN (SELECT o.broadcast_id FROM broadcast_recipients o WHERE o.contact_id = $2)`},
		{"move recipients", `UPDATE broadcast_recipients SET contact_id = $2 WHERE contact_id = $1`},
	} {
		if err := db.Exec(ctx, tx, step.doing, step.query, from, to); err != nil {
			return err
		}
	}
	return nil
}
