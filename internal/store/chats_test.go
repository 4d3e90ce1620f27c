package store_test

import (
	"encoding/json"
	"testing"

	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/thread"
	"github.com/ratiba/ratiba/internal/turn"
)

func TestChatsAreFoundAsAdminsDescribeThem(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("m1")
	c := b.turn(func(c *turn.Commit) { c.Contact.Name = "Amina Wambui" })
	chats := func(q turn.ChatQuery) int {
		t.Helper()
		q.Limit = 5
		got, err := b.Chats(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, chat := range got {
			if chat.Thread.ID != c.Thread.ID || chat.Name != "Amina Wambui" || chat.Phone != amina || string(chat.Thread.State) == "" {
				t.Errorf("%+v finds %+v", q, chat)
			}
		}
		return len(got)
	}
	for _, row := range []struct {
		name string
		q    turn.ChatQuery
		want int
	}{
		{"all", turn.ChatQuery{}, 1},
		{"by the thread", turn.ChatQuery{Thread: c.Thread.ID}, 1},
		{"by another's thread", turn.ChatQuery{Thread: "X"}, 0},
		{"by the contact", turn.ChatQuery{Contact: c.Contact.ID}, 1},
		{"by nobody", turn.ChatQuery{Contact: "X"}, 0},
		{"by the end of the phone", turn.ChatQuery{Digits: "001"}, 1},
		{"by another end", turn.ChatQuery{Digits: "002"}, 0},
		{"by a part of the name", turn.ChatQuery{Name: "wamb"}, 1},
		{"by another name", turn.ChatQuery{Name: "njeri"}, 0},
		{"with the agent", turn.ChatQuery{Agent: true}, 1},
	} {
		if got := chats(row.q); got != row.want {
			t.Errorf("%s: %d chats, want %d", row.name, got, row.want)
		}
	}
	b.write("m2")
	b.turn(func(c *turn.Commit) {
		c.Thread.Driver, c.Thread.Handoff = thread.HumanDriving, &thread.Handoff{Code: "K7", Draft: "d", Engaged: []string{"+1"}}
	})
	if chats(turn.ChatQuery{Agent: true}) != 0 || chats(turn.ChatQuery{}) != 1 {
		t.Error("a chat that a human drives is none of the agent's")
	}
	if s := b.load(); len(s.Handoffs) != 1 || s.Handoffs[0].Handoff.Draft != "d" {
		t.Errorf("a customer's turn under a human sees %d handoffs", len(s.Handoffs))
	}
	b.write("m3")
	b.turn(func(c *turn.Commit) { c.Thread.ClosedAt = noon })
	if chats(turn.ChatQuery{}) != 0 {
		t.Error("a closed chat is found")
	}
}

func TestAQuotedMessageIsFoundForItsReader(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("m1")
	c := b.turn(func(c *turn.Commit) {
		r := row(c, "card", "lane", outbox.System)
		raw, err := json.Marshal(outbox.Send{Handoff: "K7"})
		if err != nil {
			t.Fatal(err)
		}
		r.Payload = raw
		c.Contact.Name = "Amina"
		c.Outbox = append(c.Outbox, r)
	})
	rows, _ := b.send(noon, noon)
	b.settle(rows[0], outbox.Sent, noon, outbox.Outcome{Verdict: outbox.Done, ProviderID: "wamid.1"})
	for _, row := range []struct {
		name  string
		to    ids.ContactID
		id    string
		found bool
	}{
		{"who got it", c.Contact.ID, "wamid.1", true},
		{"who did not", "X", "wamid.1", false},
		{"another message", c.Contact.ID, "wamid.2", false},
		{"no message", c.Contact.ID, "", false},
	} {
		q, found, err := b.Quoted(t.Context(), row.to, row.id)
		if err != nil || found != row.found || found && (q != turn.Quoted{Thread: c.Thread.ID, Contact: c.Contact.ID, Name: "Amina", Handoff: "K7"}) {
			t.Errorf("%s: %+v, %v, %v", row.name, q, found, err)
		}
	}
}
