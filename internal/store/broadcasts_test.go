package store_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/broadcast"
	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/people"
	"github.com/ratiba/ratiba/internal/retrieve"
	"github.com/ratiba/ratiba/internal/store"
)

// audience makes n contacts who wrote an hour or three days before noon, in turn.
func audience(t *testing.T, b *bundle, n int) {
	t.Helper()
	if err := b.Write(t.Context(), func(tx db.Tx) error {
		for i := range n {
			id, phone := fmt.Sprintf("c%05d", i), fmt.Sprintf("+2547%08d", i)
			seen := noon.Add(-time.Hour)
			if i%2 == 1 {
				seen = noon.Add(-72 * time.Hour)
			}
			if err := db.Exec(t.Context(), tx, "contact", "INSERT INTO contacts (id, name, last_inbound_at, created_at) VALUES ($1, $1, $2, $2)", id, db.At(seen)); err != nil {
				return err
			}
			if err := db.Exec(t.Context(), tx, "identity", "INSERT INTO contact_identities (kind, value, contact_id) VALUES ('phone', $1, $2)", phone, id); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func start(t *testing.T, b *bundle, o broadcast.Order) (c broadcast.Counts, fresh bool) {
	t.Helper()
	if err := b.Write(t.Context(), func(tx db.Tx) (err error) {
		c, fresh, err = store.Broadcasts{}.Start(t.Context(), tx, o, noon)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return c, fresh
}

func TestABroadcastReachesWhoWantsItAndCountsTheRest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	audience(t, b, 10)
	b.exec("UPDATE contacts SET opted_out_at = $1 WHERE id = 'c00000'", db.At(noon))
	b.exec("UPDATE contacts SET last_inbound_at = NULL WHERE id = 'c00002'")
	b.exec("UPDATE contact_identities SET kind = 'email' WHERE contact_id = 'c00004'")
	b.exec("DELETE FROM contact_identities WHERE contact_id = 'c00006'") // merged or erased: nobody
	o := broadcast.Order{ID: "x", Text: "Open on Sunday", Number: "100", Locale: "sw", Admins: []string{"+254700000008"}}
	want := broadcast.Counts{ByTemplate: 5, OptedOut: 1, NeverWrote: 1, Unreachable: 1}
	got, fresh := start(t, b, o)
	if diff := cmp.Diff(want, got); diff != "" || !fresh {
		t.Errorf("fresh %v (-want +got):\n%s", fresh, diff)
	}
	if _, again := start(t, b, o); again {
		t.Error("the same order was started twice")
	}
	b.want("5", "SELECT COUNT(*) FROM broadcast_recipients")
	o.ID, o.Days, o.Admins = "y", 1, nil
	if got, _ := start(t, b, o); got.InWindow != 1 || got.ByTemplate != 0 || got.Quiet != 5 {
		t.Errorf("of one day: %+v", got)
	}
	if got, fresh := start(t, b, broadcast.Order{ID: "z", Days: 1, Admins: []string{"+254700000008"}}); fresh || got.Recipients() != 0 {
		t.Errorf("to nobody: %+v", got)
	}
}

// Batches are carried out at least once, by any number of workers at a time.
// Each recipient gets one message, whoever dies between two batches.
func TestABroadcastLosesNobodyAndDoublesNobody(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const n = 3*broadcast.BatchSize + 7
	audience(t, b, n)
	start(t, b, broadcast.Order{ID: "x", Text: "Open on Sunday", Number: "100", Locale: "sw"})
	b.exec("UPDATE contacts SET opted_out_at = $1 WHERE id = 'c00001'", db.At(noon)) // after the order
	real := noon
	for step := range int64(6) {
		var workers sync.WaitGroup
		for range 3 {
			workers.Go(func() {
				if err := b.Feed(context.WithoutCancel(t.Context()), broadcast.Batch{ID: "x", Step: step}, noon, real); err != nil {
					t.Error(err)
				}
			})
		}
		workers.Wait()
		real = real.Add(broadcast.Pause)
		if step == 3 { // the backlog holds the next batch back
			b.want(strconv.Itoa(n-3*broadcast.BatchSize), "SELECT COUNT(*) FROM broadcast_recipients WHERE outbox_id = ''")
			b.exec("UPDATE outbox SET state = 'sent' WHERE kind = 'message.send'")
		}
	}
	b.want(strconv.Itoa(n-1), "SELECT COUNT(*) FROM outbox WHERE kind = 'message.send'")
	b.want(strconv.Itoa(n-1), "SELECT COUNT(DISTINCT contact_id) FROM outbox WHERE kind = 'message.send'")
	b.want("0", "SELECT COUNT(*) FROM broadcast_recipients WHERE outbox_id = ''")
	b.want("4", "SELECT COUNT(*) FROM outbox WHERE kind = 'broadcast.batch'")
	var p []broadcast.Progress
	if err := b.Read(t.Context(), func(q db.Q) (err error) {
		p, err = store.Broadcasts{}.Progress(t.Context(), q, "x", 1)
		return err
	}); err != nil || len(p) != 1 || p[0].Total != n || p[0].Waiting != 0 || p[0].Sent != n-8 || p[0].Sending != 7 {
		t.Errorf("progress %+v, %v", p, err)
	}
}

func TestTheAddressBook(t *testing.T) {
	t.Parallel()
	b := setup(t)
	put := func(e people.Entry) (p people.Person, err error) {
		err = b.Write(t.Context(), func(tx db.Tx) (err error) {
			p, err = store.People{}.Put(t.Context(), tx, e, ids.ContactID(ids.New(noon)), noon)
			return err
		})
		return p, err
	}
	no, yes := false, true
	mary, err := put(people.Entry{Phone: "+254700000099", Name: "Mary 100%", Announcements: &no})
	if err != nil || mary.OptedOut.IsZero() || mary.Phone() != "+254700000099" {
		t.Fatalf("made %+v, %v", mary, err)
	}
	same, err := put(people.Entry{Phone: "+254700000099", Language: "sw", Announcements: &yes})
	if err != nil || same.ID != mary.ID || same.Name != mary.Name || same.Language != "sw" || !same.OptedOut.IsZero() {
		t.Errorf("changed %+v, %v", same, err)
	}
	for _, bad := range []people.Entry{{Name: "No phone"}, {ID: "nobody", Name: "x"}} {
		if _, err := put(bad); err == nil {
			t.Errorf("%+v was written", bad)
		}
	}
	other, err := put(people.Entry{Phone: "+254700000098"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := put(people.Entry{ID: other.ID, Phone: "+254700000099"}); err == nil {
		t.Error("one phone became two people's")
	}
	for text, want := range map[string]int{"mary": 1, "0700 000 099": 1, "99": 0, "100%": 1, "%": 1, "nobody": 0, "' OR 1=1 --": 0} {
		var found []people.Person
		if err := b.Read(t.Context(), func(q db.Q) (err error) {
			found, err = store.People{}.Find(t.Context(), q, text, 10)
			return err
		}); err != nil || len(found) != want {
			t.Errorf("%q finds %d, %v; want %d", text, len(found), err, want)
		}
	}
	b.want("1", "SELECT COUNT(*) FROM contact_identities WHERE kind = $1 AND value = '+254700000099'", string(contact.Phone))
}

func TestDocumentsAreFoundByTheirWords(t *testing.T) {
	t.Parallel()
	b := setup(t)
	replace := func(d retrieve.Document) {
		t.Helper()
		if err := b.Write(t.Context(), func(tx db.Tx) error { return store.Documents{}.Replace(t.Context(), tx, d, noon) }); err != nil {
			t.Fatal(err)
		}
	}
	search := func(question string) (titles []string) {
		t.Helper()
		var found []retrieve.Passage
		if err := b.Read(t.Context(), func(q db.Q) (err error) {
			found, err = store.Documents{}.Search(t.Context(), q, retrieve.Words(question), 3)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		for _, p := range found {
			titles = append(titles, p.Title)
		}
		return titles
	}
	replace(retrieve.Document{Key: "house", Title: "Parking and the house", Text: "You can leave your car behind the house. The gate closes at eight."})
	replace(retrieve.Document{Key: "refund", Title: "Kurudishiwa pesa", Text: "Malipo hurudishwa ndani ya siku saba ukighairi mapema."})
	if got := search("Is there parking for a car?"); len(got) != 1 || got[0] != "Parking and the house" {
		t.Errorf("parking: %v", got)
	}
	if got := search("malipo yangu yatarudishwa lini"); len(got) == 0 || got[0] != "Kurudishiwa pesa" {
		t.Errorf("malipo: %v", got)
	}
	for _, q := range []string{"shoes", "", `" OR * NEAR(`, "a & | ! :*", "') --"} {
		if got := search(q); len(got) != 0 {
			t.Errorf("%q finds %v", q, got)
		}
	}
	replace(retrieve.Document{Key: "house", Title: "The garden", Text: "Roses."})
	if got := search("parking car"); len(got) != 0 {
		t.Errorf("what was replaced is still found: %v", got)
	}
	replace(retrieve.Document{Key: "house"})
	if got := search("roses garden"); len(got) != 0 {
		t.Errorf("what was removed is still found: %v", got)
	}
}
