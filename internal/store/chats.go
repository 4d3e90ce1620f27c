package store

import (
	"context"
	"slices"

	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/thread"
	"github.com/ratiba/ratiba/internal/turn"
)

// wholeLines is how much of a thread its transcript has.
const wholeLines = 1000

// Transcript implements turn.Store.
func (t Turns) Transcript(ctx context.Context, th ids.ThreadID) (lines []turn.Line, err error) {
	err = t.Ask(ctx, askLines(&lines, "$1", string(th), wholeLines))
	slices.Reverse(lines)
	return lines, err
}

// named is what a contact is called: their name, else that of their profile.
const named = "SELECT CASE WHEN p.name <> '' THEN p.name ELSE p.profile END FROM contacts p WHERE p.id = "

// Quoted implements turn.Store.
func (t Turns) Quoted(ctx context.Context, to ids.ContactID, providerID string) (q turn.Quoted, found bool, err error) {
	if providerID == "" {
		return q, false, nil
	}
	err = t.Ask(ctx, db.Each("find quoted message", func(row db.Scanner) error {
		found = true
		var send outbox.Send
		err := row.Scan(&q.Thread, &q.Contact, &q.Name, db.JSON{V: &send})
		q.Handoff = send.Handoff
		return err
	}, `SELECT c.id, c.contact_id, (`+named+`c.contact_id), o.payload
		FROM outbox o JOIN conversation_threads c ON c.id = o.thread_id
		WHERE o.provider_id = $1 AND o.contact_id = $2 AND o.kind = $3 AND c.actor_type = 'customer'`,
		providerID, string(to), outbox.SendMessage))
	return q, found, err
}

// Chats implements turn.Store.
func (t Turns) Chats(ctx context.Context, q turn.ChatQuery) (chats []turn.Chat, err error) {
	err = t.Ask(ctx, db.Each("find chats", func(row db.Scanner) error {
		var c turn.Chat
		th, err := scanThread(tail{row, []any{&c.Name, &c.Phone}})
		c.Thread = th
		chats = append(chats, c)
		return err
	}, "SELECT "+threadColumns+`, (`+named+`conversation_threads.contact_id),
			COALESCE((SELECT MIN(i.value) FROM contact_identities i WHERE i.contact_id = conversation_threads.contact_id AND i.kind = $5), '')
		FROM conversation_threads WHERE closed_at IS NULL AND actor_type = 'customer'
			AND (CAST($1 AS TEXT) = '' OR id = $1) AND (CAST($2 AS TEXT) = '' OR contact_id = $2)
			AND (CAST($3 AS TEXT) = '' OR EXISTS (SELECT 1 FROM contact_identities i
				WHERE i.contact_id = conversation_threads.contact_id AND i.kind = $5 AND i.value LIKE '%' || CAST($3 AS TEXT)))
			AND (CAST($4 AS TEXT) = '' OR LOWER((`+named+`conversation_threads.contact_id)) LIKE '%' || CAST($4 AS TEXT) || '%')
			AND (CAST($6 AS TEXT) = '' OR driver = $6)
		ORDER BY last_at DESC, id LIMIT $7`,
		string(q.Thread), string(q.Contact), q.Digits, q.Name, string(contact.Phone), onlyDriver(q.Agent), q.Limit))
	return chats, err
}

func onlyDriver(agent bool) string {
	if agent {
		return string(thread.AgentDriving)
	}
	return ""
}

// tail scans more columns behind those of a row.
type tail struct {
	db.Scanner
	more []any
}

// Scan implements db.Scanner.
func (t tail) Scan(dest ...any) error { return t.Scanner.Scan(append(dest, t.more...)...) }
