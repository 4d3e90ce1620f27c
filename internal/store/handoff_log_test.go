package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/store"
	"github.com/ratiba/ratiba/internal/thread"
	"github.com/ratiba/ratiba/internal/turn"
)

const wangu = "+254700000009" // the admin of setup

// says is the payload of a row that says text.
func says(text string) json.RawMessage {
	raw, _ := json.Marshal(outbox.Send{Out: message.Outbound{Kind: message.Text, Text: text}})
	return raw
}

// relays commits a turn of Amina's in which her words go to an admin, and one
// line of the system to two people.
func relays(b *bundle) *turn.Commit {
	b.t.Helper()
	return b.turn(func(c *turn.Commit) {
		c.Thread.Driver = thread.HumanDriving
		c.Thread.Handoff = &thread.Handoff{Code: "K7", AdminPhone: wangu, Since: noon}
		to := row(c, "o-relay", "wangu:whatsapp", outbox.Relay)
		to.ContactID, to.Payload = ids.ContactID(b.person(wangu)), says("*#K7 Amina*\nhabari m1")
		paid, again := row(c, "o-paid", "wangu:whatsapp", outbox.Payment), row(c, "o-paid2", "otis:whatsapp", outbox.Payment)
		paid.Payload, again.Payload = says("M-Pesa: paid"), says("M-Pesa: paid")
		c.Outbox = []outbox.Row{to, paid, again}
	})
}

func TestTheHandoffLogHasWhatBothSidesSaidAndTheSystem(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("m1", "m2")
	hers := relays(b)
	const line = "actor || '/' || actor_phone || '/' || content || '/' || language"
	b.want("4", "SELECT COUNT(*) + 1 FROM handoff_log")
	b.want("customer/"+amina+"/habari m1/en", "SELECT "+line+" FROM handoff_log WHERE message_metadata ->> 'wa_message_id' = 'm1'")
	b.want("o-relay", "SELECT outbox_id FROM handoff_log WHERE message_metadata ->> 'wa_message_id' = 'm2'")
	b.want("system//M-Pesa: paid/en", "SELECT "+line+" FROM handoff_log WHERE actor = 'system'")

	// The admin answers in a turn of their own, on no thread.
	if _, err := b.Deliver(t.Context(), []message.Inbound{said("m3", wangu)}, nil, noon, 0); err != nil {
		t.Fatal(err)
	}
	b.key = store.KeyOf(ids.ContactID(b.person(wangu)))
	b.turn(func(c *turn.Commit) {
		answer := row(c, "o-answer", "amina:whatsapp", outbox.Relay)
		answer.ContactID, answer.ThreadID, answer.Payload = hers.Contact.ID, hers.Thread.ID, says("Karibu, Amina")
		c.Outbox, c.Thread = []outbox.Row{answer}, nil
	})
	b.want("admin/"+wangu+"/Karibu, Amina/", "SELECT "+line+" FROM handoff_log WHERE outbox_id = 'o-answer' AND thread_id = $1", string(hers.Thread.ID))

	rows, _ := b.send(noon, noon)
	for _, r := range rows {
		if r.ID == "o-answer" {
			b.settle(r, outbox.Sent, noon, outbox.Outcome{Verdict: outbox.Done, ProviderID: "wamid.out"})
		}
	}
	b.want("wamid.out", "SELECT message_metadata ->> 'wa_message_id' FROM handoff_log WHERE outbox_id = 'o-answer'")
	receive := func(s message.Status, at time.Time, code int) {
		t.Helper()
		if _, err := b.Deliver(t.Context(), nil, []message.Receipt{{ProviderID: "wamid.out", Status: s, At: at, ErrorCode: code, ErrorText: "blocked"}}, noon, 0); err != nil {
			t.Fatal(err)
		}
	}
	meta := func(path string) string {
		return b.text("SELECT COALESCE(message_metadata -> 'delivery' ->> $1, '') FROM handoff_log WHERE outbox_id = 'o-answer'", path)
	}
	receive(message.StatusFailed, later(1), 131026)
	if got := meta("failure_reason"); got != "131026 blocked" {
		t.Errorf("the log's reason is %q", got)
	}
	receive(message.StatusRead, later(9), 0)
	receive(message.StatusDelivered, later(5), 0)
	if d, r, f := meta("delivered_at"), meta("read_at"), meta("failed_at"); d != "2026-04-25T09:00:05Z" || r != "2026-04-25T09:00:09Z" || f != "" {
		t.Errorf("delivered %s, read %s, failed %q; want the earliest of each, and no failure", d, r, f)
	}
}

// In whatever order receipts come, and however often, the same is known at the
// end.
func TestP2ReceiptsSayTheSameInAnyOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("m1")
	all := []message.Receipt{
		{Status: message.StatusSent, At: later(1)}, {Status: message.StatusDelivered, At: later(2)}, {Status: message.StatusRead, At: later(3)},
	}
	var names []string
	for i := range 40 {
		names = append(names, fmt.Sprintf("o%d", i))
	}
	b.turn(func(c *turn.Commit) {
		for _, n := range names {
			c.Outbox = append(c.Outbox, row(c, n, "lane "+n, outbox.System))
		}
	})
	next := 0
	rapid.Check(t, func(rt *rapid.T) {
		if next == len(names) {
			return // as many as there are rows
		}
		name := names[next]
		next++
		order := rapid.SliceOfN(rapid.SampledFrom(all), 0, 6).Draw(rt, "repeats")
		for _, r := range append(order, rapid.Permutation(all).Draw(rt, "order")...) {
			r.Opaque = name
			if _, err := b.Deliver(t.Context(), nil, []message.Receipt{r}, noon, 0); err != nil {
				rt.Fatal(err)
			}
		}
		got := b.text("SELECT status FROM outbox WHERE id = $1", name) + " " +
			b.text("SELECT delivered_at FROM outbox WHERE id = $1", name) + " " + b.text("SELECT read_at FROM outbox WHERE id = $1", name)
		if want := "read " + stamp(later(2)) + " " + stamp(later(3)); got != want {
			rt.Errorf("got %s, want %s", got, want)
		}
	})
}

func TestOldLogsMoveIntoTheArchiveOnceAndWhole(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("m1")
	relays(b)
	due := noon.Add(store.ArchiveEvery)
	archive := func(now time.Time) (int, error) {
		t.Helper()
		claims, _, err := b.ClaimMailboxes(t.Context(), now, noon, 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range claims {
			if store.IsArchive(c.Key) {
				n, _, err := b.ArchiveLog(t.Context(), c, now)
				if _, _, again := b.ArchiveLog(t.Context(), c, now); !errors.Is(again, turn.ErrLost) {
					t.Errorf("a second run under the same lease: %v, want ErrLost", again)
				}
				return n, err
			}
		}
		t.Fatalf("no archive run is due at %s", now)
		return 0, nil
	}
	if n, err := archive(due); n != 0 || err != nil {
		t.Errorf("an open chat: %d, %v; want nothing moved", n, err)
	}
	b.exec("UPDATE conversation_threads SET closed_at = $1", stamp(noon))
	if n, err := archive(noon.Add(store.LogRetention)); n != 0 || err != nil {
		t.Errorf("on the last day: %d, %v", n, err)
	}
	for i := range 20 { // more chats than one batch has
		id := fmt.Sprintf("t%02d", i)
		b.exec(`INSERT INTO conversation_threads (id, mailbox_key, contact_id, actor_type, app, graph_version, node, state, driver, language, disclosed,
			counters, version, epoch, opened_at, last_at, closed_at)
			SELECT $1, mailbox_key, contact_id, actor_type, app, graph_version, node, state, driver, language, disclosed, counters, version, epoch,
			opened_at, last_at, closed_at FROM conversation_threads WHERE id NOT LIKE 't%' LIMIT 1`, id)
		b.exec(`INSERT INTO handoff_log (id, thread_id, actor, content, sent_at, message_metadata) VALUES ($1, $2, 'system', 'x', $3, '{}')`,
			"l"+id, id, stamp(noon))
	}
	old := noon.Add(store.LogRetention + 2*store.ArchiveEvery)
	if n, err := archive(old); n != 20 || err != nil {
		t.Errorf("first batch: %d, %v; want 20 chats", n, err)
	}
	if n, err := archive(old); n != 1 || err != nil {
		t.Errorf("second batch, due at once: %d, %v; want the last chat", n, err)
	}
	b.want("0", "SELECT COUNT(*) FROM handoff_log")
	b.want("22", "SELECT COUNT(*) FROM handoff_log_archive")
	b.want("habari m1", "SELECT content FROM handoff_log_archive WHERE actor = 'customer'")
}

// stamp is an instant as the database has it.
func stamp(at time.Time) string {
	v, _ := db.At(at).Value()
	return fmt.Sprint(v)
}
