package store

import (
	"context"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/turn"
)

// stillWaits is the condition that a held card is still of use: its handoff waits.
const stillWaits = `EXISTS (SELECT 1 FROM conversation_threads c WHERE c.id = held_messages.thread_id
	AND c.closed_at IS NULL AND c.driver = 'SUSPENDED_FOR_HUMAN')`

// held lists the cards that wait for an admin's word, oldest first.
func held(ctx context.Context, q db.Q, c ids.ContactID) ([]turn.Held, error) {
	return db.Collect(ctx, q, "load held cards", func(row db.Scanner) (h turn.Held, err error) {
		err = row.Scan(&h.Contact, &h.Thread, &h.Code, db.JSON{V: &h.Out})
		return h, err
	}, "SELECT contact_id, thread_id, code, body FROM held_messages WHERE contact_id = $1 AND "+stillWaits+" ORDER BY seq LIMIT 100", string(c))
}

// writeHeld keeps the cards of a commit, and drops those that are of no use any
// more: the ones it shows, and for admins it adds to those of handoffs that
// somebody has taken meanwhile.
func writeHeld(ctx context.Context, tx db.Tx, c *turn.Commit) error {
	if c.Shown {
		if err := db.Exec(ctx, tx, "drop held cards", "DELETE FROM held_messages WHERE contact_id = $1", string(c.Contact.ID)); err != nil {
			return err
		}
	}
	swept := map[ids.ContactID]bool{}
	for _, h := range c.Held {
		if !swept[h.Contact] {
			swept[h.Contact] = true
			if err := db.Exec(ctx, tx, "drop old cards", "DELETE FROM held_messages WHERE contact_id = $1 AND NOT "+stillWaits, string(h.Contact)); err != nil {
				return err
			}
		}
		if err := db.Exec(ctx, tx, "hold card", "INSERT INTO held_messages (contact_id, thread_id, code, body, at) VALUES ($1, $2, $3, $4, $5)",
			string(h.Contact), string(h.Thread), h.Code, db.JSON{V: h.Out}, db.At(c.Now)); err != nil {
			return err
		}
	}
	return nil
}
