package store

import (
	"context"
	"fmt"
	"time"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/turn"
)

// systemPrefix begins the mailboxes of work that has no contact.
const systemPrefix = "system:"

// archiveMailbox is where the archive's next run waits, durably and leased like
// any other work, so that many nodes do it once.
const archiveMailbox ids.MailboxKey = systemPrefix + "archive"

// LogRetention is how long the handoff log of a chat stays live once the chat is
// closed. ArchiveEvery is how often it is looked at, archiveThreads how many
// chats one transaction moves.
const (
	LogRetention   = 90 * 24 * time.Hour
	ArchiveEvery   = 24 * time.Hour
	archiveThreads = 20
)

// IsArchive reports whether a claimed mailbox is the archive's: work of the tenant itself.
func IsArchive(key ids.MailboxKey) bool { return key == archiveMailbox }

// scheduleArchive makes sure that the archive will run: from the first row on
// it does for good.
func scheduleArchive(ctx context.Context, tx db.Tx, now time.Time) error {
	return db.Exec(ctx, tx, "schedule archive", "INSERT INTO mailboxes (key, due_at) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING",
		string(archiveMailbox), db.At(now.Add(ArchiveEvery)))
}

const logColumns = "id, thread_id, actor, actor_phone, content, language, sent_at, message_metadata, outbox_id"

// ArchiveLog moves the handoff logs of chats that are closed since LogRetention
// into the archive, a batch of chats in one transaction, and gives the mailbox
// back with the time of its next run: at once while there is more. It can be
// interrupted at any instant. A lost lease is turn.ErrLost.
func (t *Tenant) ArchiveLog(ctx context.Context, c mailbox.Claim, now time.Time) (chats int, due time.Time, err error) {
	err = t.Write(ctx, func(tx db.Tx) error {
		var token string
		if err := tx.QueryRowContext(ctx, "SELECT lease_token FROM mailboxes WHERE key = $1"+tx.Dialect().ForUpdate, string(c.Key)).Scan(&token); err != nil {
			return fmt.Errorf("lock archive: %w", err)
		}
		if token != c.Token {
			return turn.ErrLost
		}
		closed, err := db.Collect(ctx, tx, "find old chats", func(row db.Scanner) (id string, err error) {
			return id, row.Scan(&id)
		}, `SELECT c.id FROM conversation_threads c WHERE c.closed_at < $1
			AND EXISTS (SELECT 1 FROM handoff_log l WHERE l.thread_id = c.id) ORDER BY c.closed_at, c.id LIMIT $2`,
			db.At(now.Add(-LogRetention)), archiveThreads)
		if err != nil {
			return err
		}
		for _, id := range closed {
			if err := moveLog(ctx, tx, id, now); err != nil {
				return err
			}
		}
		chats, due = len(closed), now.Add(ArchiveEvery)
		if chats == archiveThreads {
			due = now
		}
		return db.Exec(ctx, tx, "give archive back", `UPDATE mailboxes SET lease_token = '', lease_until = NULL, tries = 0, crashes = 0, due_at = $2
			WHERE key = $1`, string(c.Key), db.At(due))
	})
	return chats, due, err
}

func moveLog(ctx context.Context, tx db.Tx, thread string, now time.Time) error {
	if err := db.Exec(ctx, tx, "archive log", "INSERT INTO handoff_log_archive ("+logColumns+", archived_at) SELECT "+logColumns+
		", $2 FROM handoff_log WHERE thread_id = $1", thread, db.At(now)); err != nil {
		return err
	}
	return db.Exec(ctx, tx, "clear log", "DELETE FROM handoff_log WHERE thread_id = $1", thread)
}
