package store_test

import (
	"testing"

	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/thread"
	"github.com/ratiba/ratiba/internal/turn"
)

// Two contacts become one when a signed webhook carries both ids, and only
// then: the older stands, the younger's thread closes, and what waited for the
// younger waits for the older.
func TestContactsAreMergedByAWebhookWithBothIDs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("m1")
	older := b.text("SELECT id FROM contacts")
	user := contact.Identity{Kind: contact.BSUID, Value: "KE.1"}
	hidden := said("m2", amina)
	hidden.From = []contact.Identity{user}
	b.deliver(hidden, 60)
	b.want("2", "SELECT COUNT(*) FROM contacts")

	both := said("m3", amina)
	both.From = append(both.From, user)
	b.deliver(both, 120)
	b.want("2", "SELECT COUNT(*) FROM contact_identities WHERE contact_id = $1", older)
	b.want("3", "SELECT COUNT(*) FROM inbox WHERE mailbox_key = $1 AND done_at IS NULL", "contact:"+older)

	again := said("m4", amina)
	again.From = []contact.Identity{user}
	b.deliver(again, 180)
	b.want("4", "SELECT COUNT(*) FROM inbox WHERE mailbox_key = $1", "contact:"+older)
}

// While a turn of one of them is under way, or a human drives, nothing moves
// under their feet: the next webhook tries again.
func TestContactsUnderAHumanAreNotMerged(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("m1")
	b.turn(func(c *turn.Commit) { c.Thread.Driver = thread.HumanDriving })
	user := contact.Identity{Kind: contact.BSUID, Value: "KE.1"}
	hidden := said("m2", amina)
	hidden.From = []contact.Identity{user}
	b.deliver(hidden, 60)
	both := said("m3", amina)
	both.From = append(both.From, user)
	b.deliver(both, 120)
	b.want("2", "SELECT COUNT(DISTINCT contact_id) FROM contact_identities WHERE kind IN ('phone', 'bsuid')")
}

func (b *bundle) deliver(m message.Inbound, seconds int) {
	b.t.Helper()
	if _, err := b.Deliver(b.t.Context(), []message.Inbound{m}, nil, later(seconds), 0); err != nil {
		b.t.Fatal(err)
	}
}
