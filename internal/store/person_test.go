package store_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/db/dbtest"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/thread"
	"github.com/ratiba/ratiba/internal/turn"
)

func phone(value string) contact.Identity {
	return contact.Identity{Kind: contact.Phone, Value: value}
}

// traces lists the tables in which a word stands, in any case.
func traces(t *testing.T, b *bundle, word string) (found []string) {
	t.Helper()
	archive, _ := export(t, b.store, "kinyozi")
	for name, content := range rows(t, archive) {
		if strings.Contains(strings.ToLower(content), strings.ToLower(word)) && name != "manifest.json" {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

// After an erasure no table holds a person's phone, names or words; the books
// and everybody else's data are as they were.
func TestAnErasedPersonIsNowhere(t *testing.T) {
	t.Parallel()
	b := business(t, place(t, dbtest.Backend(t)))
	words := []string{"700000077", "kiprono", "zawadi k", "kijani", "KE.77", "wamid.zawadi"}
	for _, w := range words {
		if len(traces(t, b, w)) == 0 {
			t.Errorf("%q stands nowhere before, so that nothing is shown", w)
		}
	}
	amina := b.text("SELECT CAST(state AS TEXT) FROM conversation_threads WHERE contact_id NOT IN (SELECT contact_id FROM bookings) AND actor_type = 'customer'")

	everyTableIsFilled(t, b)
	for _, body := range []string{`{"from":"254700000077"}`, `{"from":"254700000055"}`} {
		if err := b.store.Quarantine(t.Context(), "meta", "unreadable", []byte(body), noon); err != nil {
			t.Fatal(err)
		}
	}

	// Somebody else's mailbox has her chat, translated.
	her := b.text("SELECT id FROM conversation_threads WHERE contact_id IN (SELECT contact_id FROM bookings)")
	other := b.text("SELECT mailbox_key FROM conversation_threads WHERE contact_id NOT IN (SELECT contact_id FROM bookings) AND actor_type = 'customer'")
	if _, err := b.Post(t.Context(), ids.MailboxKey(other), mailbox.Event{
		Kind: mailbox.Translated, Name: "K7", Scope: ids.ThreadID(her), Data: json.RawMessage(`{"text":"the hall painted kijani"}`),
	}, "translated", noon); err != nil {
		t.Fatal(err)
	}

	e, err := b.store.ErasePerson(t.Context(), "kinyozi", phone(zawadi), later(60))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := b.store.Quarantined(t.Context()); err != nil || n != 1 {
		t.Errorf("%d payloads in quarantine, %v; want the other person's", n, err)
	}
	if e.Mentions != 0 || !strings.Contains(e.Counts.String(), "2 contact identities") {
		t.Errorf("erased %s, %d mentions left; want both identities and no mention", e.Counts, e.Mentions)
	}
	for _, w := range words {
		if found := traces(t, b, w); len(found) > 0 {
			t.Errorf("%q still stands in %v", w, found)
		}
	}
	b.want("20000/SFF6XYZ123/confirmed/(erased)", "SELECT paid_minor || '/' || receipt || '/' || status || '/' || name FROM bookings")
	b.want("50000/SFF6XYZ123/", "SELECT amount || '/' || receipt || '/' || phone FROM payment_attempts")
	b.want("1", "SELECT COUNT(*) FROM occupancy")
	b.want("60000000", "SELECT cost_pico FROM llm_calls")
	b.want("0", "SELECT COUNT(*) FROM timers WHERE mailbox_key IN (SELECT 'contact:' || contact_id FROM bookings)")
	b.want("1", "SELECT COUNT(*) FROM contact_identities WHERE value = $1", kamau)
	b.want(amina, "SELECT CAST(state AS TEXT) FROM conversation_threads WHERE contact_id NOT IN (SELECT contact_id FROM bookings) AND actor_type = 'customer'")
	if found := traces(t, b, "habari m-amina"); len(found) != 2 {
		t.Errorf("another customer's words stand in %v, want inbox and transcript", found)
	}

	recorded, err := b.Recorded(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	replayable := 0
	for _, r := range recorded {
		if string(r.Inputs) != turn.ErasedInputs {
			replayable++
		}
	}
	if len(recorded) != 3 || replayable != 1 {
		t.Errorf("%d of %d turns are replayable, want Amina's alone", replayable, len(recorded))
	}
	_, err = turn.New(turn.Config{}).Replay(t.Context(), turn.Business{}, json.RawMessage(turn.ErasedInputs))
	if !errors.Is(err, turn.ErrErased) {
		t.Errorf("Replay: %v, want turn.ErrErased", err)
	}
	if _, err := b.store.ErasePerson(t.Context(), "kinyozi", phone(zawadi), noon); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("again: %v, want that nobody is known by it", err)
	}
}

// everyTableIsFilled checks that an erasure is shown on every table that can
// hold something of a person: a new one needs a row in the history above, and
// maybe a step in the erasure.
func everyTableIsFilled(t *testing.T, b *bundle) {
	t.Helper()
	definition := []string{
		"booking_policy", "closures", "service_staff", "services", "staff", "staff_exceptions", "staff_hours", "time_off",
		"broadcasts", "documents", "mcp_tokens", "staff_blocks", "tool_confirmations", "broadcast_recipients",
		"resources",
		"service_resources", "blocks", "group_sessions", "waitlist_offers", "calendar_links",
		"busy_calendars", "busy_times",
	}
	_, m := export(t, b.store, "kinyozi")
	for _, table := range m.Tables {
		if table.Rows == 0 && !slices.Contains(definition, table.Name) {
			t.Errorf("%s is empty before, so that its erasure is not shown", table.Name)
		}
	}
}

// Whoever wrote and was erased may write again, as somebody new; what they
// wrote before is known when the provider delivers it once more.
func TestAnErasedPersonComesBackAsANewOne(t *testing.T) {
	t.Parallel()
	b := business(t, place(t, dbtest.Backend(t)))
	if _, err := b.store.ErasePerson(t.Context(), "kinyozi", phone(zawadi), noon); err != nil {
		t.Fatal(err)
	}
	old := said("wamid.zawadi", zawadi)
	d, err := b.Deliver(t.Context(), []message.Inbound{old}, nil, noon, 0)
	if err != nil || d.Messages != 0 {
		t.Errorf("the old message again: %d stored, %v; want none", d.Messages, err)
	}
	d, err = b.Deliver(t.Context(), []message.Inbound{said("wamid.new", zawadi)}, nil, noon, 0)
	if err != nil || d.Messages != 1 {
		t.Errorf("a new message: %d stored, %v; want one", d.Messages, err)
	}
	b.want("1", "SELECT COUNT(*) FROM contact_identities WHERE value = $1", zawadi)
	snapshot, err := b.Load(t.Context(), b.claim(later(60), noon).Key)
	if err != nil || snapshot.Thread != nil || snapshot.Contact.Name != "" {
		t.Errorf("loaded %+v, %v; want somebody without a past", snapshot.Contact, err)
	}
}

// Two contacts that were found to be one person are erased as one.
func TestBothHalvesOfAMergedPersonAreErased(t *testing.T) {
	t.Parallel()
	b := business(t, place(t, dbtest.Backend(t)))
	hidden := said("m-hidden", "")
	hidden.From = []contact.Identity{{Kind: contact.BSUID, Value: "KE.88"}}
	hidden.Text, hidden.Profile = "siri yangu", "Mwanaidi"
	b.history(hidden, thread.Customer, func(*turn.Commit) {})
	both := said("m-both", zawadi)
	both.From = append(both.From, hidden.From...)
	b.deliver(both, 120)
	b.want("1", "SELECT COUNT(*) FROM contact_identities WHERE value = 'KE.88'")
	if _, err := b.store.ErasePerson(t.Context(), "kinyozi", phone(zawadi), noon); err != nil {
		t.Fatal(err)
	}
	for _, w := range []string{"siri yangu", "mwanaidi", "KE.88", "700000077"} {
		if found := traces(t, b, w); len(found) > 0 {
			t.Errorf("%q still stands in %v", w, found)
		}
	}
}

func TestAnErasureIsRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		who    string
		before func(b *bundle)
		code   fault.Code
		want   string
	}{
		"while a payment is open": {zawadi, func(b *bundle) {
			b.insert(payment.Attempt{ID: "a2", ContactID: "x", Provider: "mpesa", Reference: "RTB-2", Phone: zawadi, Status: payment.Prompted, CreatedAt: noon})
		}, fault.Conflict, "A payment of theirs is open"},
		"while a turn is under way": {zawadi, func(b *bundle) {
			b.deliver(said("m9", zawadi), 0)
			b.claim(later(60), noon)
		}, fault.Conflict, "being answered"},
		"while a message is being sent": {zawadi, func(b *bundle) { b.send(noon, noon) }, fault.Conflict, "being sent"},
		"while a human drives": {zawadi, func(b *bundle) {
			b.exec("UPDATE conversation_threads SET driver = 'HUMAN_DRIVING' WHERE contact_id IN (SELECT contact_id FROM bookings)")
		}, fault.Conflict, "/done"},
		"of an admin":         {kamau, func(*bundle) {}, fault.Conflict, "admin"},
		"of somebody unknown": {"+254700000099", func(*bundle) {}, fault.NotFound, "knows nobody"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := business(t, place(t, dbtest.Backend(t)))
			tt.before(b)
			before := traces(t, b, "kiprono")
			_, err := b.store.ErasePerson(t.Context(), "kinyozi", phone(tt.who), noon)
			if fault.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want a refusal that says %q", err, tt.want)
			}
			if after := traces(t, b, "kiprono"); !slices.Equal(before, after) {
				t.Errorf("a refusal erased: %v before, %v after", before, after)
			}
		})
	}
	b := business(t, place(t, dbtest.Backend(t)))
	if _, err := b.store.ErasePerson(t.Context(), "nowhere", phone(zawadi), noon); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("of a business that is none: %v", err)
	}
}

// What others' open conversations need of a person's number stays until they
// are over, and is counted.
func TestWhatOthersStillNeedIsCounted(t *testing.T) {
	t.Parallel()
	b := business(t, place(t, dbtest.Backend(t)))
	m := said("m-friend", "+254700000055")
	friend := b.history(m, thread.Customer, func(c *turn.Commit) {
		c.Contact.PayerPhone = zawadi
		c.Thread.State = json.RawMessage(`{"payer":"` + zawadi + `"}`)
		c.Outbox = []outbox.Row{row(c, "o-friend", "friend:whatsapp", outbox.Agent)}
	})
	b.insert(payment.Attempt{
		ID: "a3", ContactID: friend.Contact.ID, Provider: "mpesa", Reference: "RTB-3", Phone: zawadi, Status: payment.Failed, CreatedAt: noon,
	})
	e, err := b.store.ErasePerson(t.Context(), "kinyozi", phone(zawadi), noon)
	if err != nil || e.Mentions != 1 {
		t.Errorf("%d mentions, %v; want the friend's open conversation", e.Mentions, err)
	}
	b.want("", "SELECT payer_phone FROM contacts WHERE id = $1", string(friend.Contact.ID))
	b.want("RTB-3/", "SELECT reference || '/' || phone FROM payment_attempts WHERE id = 'a3'")
	b.want("queued", "SELECT state FROM outbox WHERE id = 'o-friend'")
}

// What is kept of a person is theirs to read: everything about them, and
// nothing about anybody else.
func TestAPersonReadsWhatIsKept(t *testing.T) {
	t.Parallel()
	b := business(t, place(t, dbtest.Backend(t)))
	var out bytes.Buffer
	if err := b.store.ExportPerson(t.Context(), "kinyozi", phone(zawadi), noon, &out); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Business string
		Person   []contact.Identity
		Kept     map[string][]map[string]any
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%v in %s", err, out.String())
	}
	want := map[string]int{
		"contacts": 1, "contact_identities": 2, "inbox": 1, "timers": 1, "conversation_threads": 1, "transcript": 1, "outbox": 1,
		"tool_calls": 1, "tasks": 1, "payment_attempts": 1, "llm_calls": 1, "escalations": 1, "bookings": 1, "booking_history": 1, "feedback": 1, "waitlist": 1,
		"handoff_log": 1, "handoff_log_archive": 1, "held_messages": 1, "voice_calls": 1, "broadcast_recipients": 0,
	}
	for table, n := range want {
		if len(got.Kept[table]) != n {
			t.Errorf("%s: %d rows, want %d", table, len(got.Kept[table]), n)
		}
	}
	for table := range got.Kept {
		if _, ok := want[table]; !ok {
			t.Errorf("%s is told of, and nothing is wanted of it", table)
		}
	}
	if len(got.Kept) != len(want) || got.Business != "Kinyozi Bora" || len(got.Person) != 2 {
		t.Errorf("got %d tables of %s for %v", len(got.Kept), got.Business, got.Person)
	}
	message, _ := got.Kept["inbox"][0]["payload"].(map[string]any)["message"].(map[string]any)
	if message["text"] != asks || got.Kept["bookings"][0]["receipt"] != "SFF6XYZ123" {
		t.Errorf("the message reads %v, the booking %v", message, got.Kept["bookings"][0])
	}
	for _, other := range []string{kamau, "m-amina"} {
		if strings.Contains(out.String(), other) {
			t.Errorf("%s of somebody else is in it", other)
		}
	}
	out.Reset()
	err := b.store.ExportPerson(t.Context(), "kinyozi", phone("+254700000099"), noon, &out)
	if fault.CodeOf(err) != fault.NotFound || out.Len() > 0 {
		t.Errorf("somebody unknown: %v and %d bytes, want a refusal and nothing", err, out.Len())
	}
}
