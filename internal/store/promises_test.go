package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/thread"
	"github.com/ratiba/ratiba/internal/turn"
)

// Messages, statuses and callbacks come often, in any order and at once.
func TestP2Once(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("m0")
	c := b.turn(func(c *turn.Commit) { c.Outbox = []outbox.Row{row(c, "o1", "a", outbox.Agent)} })
	rows, _ := b.send(noon, noon)
	b.settle(rows[0], outbox.Sent, noon, outbox.Outcome{Verdict: outbox.Done, ProviderID: "p1"})

	var deliveries []func() error
	report := payment.Report{Source: payment.FromCallback, Outcome: payment.Outcome{Code: "0", Receipt: "SFF6XYZ123"}}
	for i := range 5 {
		deliveries = append(deliveries, func() error {
			_, err := b.Deliver(t.Context(), []message.Inbound{said(fmt.Sprintf("m%d", i), amina)}, nil, noon, 0)
			return err
		})
	}
	for _, s := range []message.Status{message.StatusSent, message.StatusDelivered, message.StatusRead, message.StatusFailed} {
		deliveries = append(deliveries, func() error {
			_, err := b.Deliver(t.Context(), nil, []message.Receipt{{ProviderID: "p1", Status: s, At: noon}}, noon, 0)
			return err
		})
	}
	deliveries = append(deliveries, func() error {
		_, err := b.Report(t.Context(), payment.Attempt{ID: "a1", ContactID: c.Contact.ID}, report, noon)
		return err
	})
	var wg sync.WaitGroup
	for range 10 {
		for _, i := range rand.Perm(len(deliveries)) {
			wg.Go(func() {
				if err := deliveries[i](); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	b.want("5", "SELECT COUNT(*) FROM inbox WHERE kind = 'message'")
	b.want("1", "SELECT COUNT(*) FROM inbox WHERE dedupe_key LIKE 'payment:%'")
	b.want("1", "SELECT COUNT(*) FROM contacts")
	b.want("1", "SELECT COUNT(*) FROM mailboxes")
	b.want("read", "SELECT status FROM outbox WHERE id = 'o1'")
}

func TestP2ReceiptsOnlyMoveForward(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("m1")
	b.turn(func(c *turn.Commit) { c.Outbox = []outbox.Row{row(c, "o1", "a", outbox.Agent)} })
	rows, _ := b.send(noon, noon)
	b.settle(rows[0], outbox.Sent, noon, outbox.Outcome{Verdict: outbox.Done, ProviderID: "p1"})
	steps := []struct {
		receipt       message.Receipt
		want          string
		moves, events int
	}{
		{message.Receipt{ProviderID: "unknown", Status: message.StatusRead}, "", 0, 0},
		{message.Receipt{ProviderID: "p1", Status: message.StatusSent}, "sent", 1, 0},
		{message.Receipt{Opaque: "o1", Status: message.StatusFailed, ErrorCode: 131026}, "failed", 1, 1},
		{message.Receipt{ProviderID: "p1", Status: message.StatusFailed, ErrorCode: 131026}, "failed", 0, 0},
		{message.Receipt{ProviderID: "p1", Status: message.StatusSent}, "failed", 0, 0},
		{message.Receipt{ProviderID: "p1", Status: message.StatusDelivered}, "delivered", 1, 0},
		{message.Receipt{ProviderID: "p1", Status: "played"}, "delivered", 0, 0},
		{message.Receipt{ProviderID: "p1", Status: message.StatusRead}, "read", 1, 0},
		{message.Receipt{ProviderID: "p1", Status: message.StatusDelivered}, "read", 0, 0},
	}
	for i, s := range steps {
		s.receipt.At = noon
		d, err := b.Deliver(t.Context(), nil, []message.Receipt{s.receipt}, noon, 0)
		if err != nil || d.Receipts != s.moves || d.Events != s.events {
			t.Errorf("step %d: %+v, %v; want %d moves, %d events", i, d, err, s.moves, s.events)
		}
		b.want(s.want, "SELECT status FROM outbox WHERE id = 'o1'")
	}
}

func TestP3OneWriter(t *testing.T) {
	t.Parallel()
	t.Run("one lease at a time", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.write("m1")
		b.claim(noon, noon)
		if claims, _, err := b.ClaimMailboxes(t.Context(), noon, noon, 10); err != nil || len(claims) != 0 {
			t.Errorf("a second claim got %v, %v; want none", claims, err)
		}
	})
	t.Run("a worker whose lease ran out changes nothing", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.write("m1")
		slow := b.commit(b.claim(noon, noon))
		slow.Outbox = []outbox.Row{row(slow, "o1", "a", outbox.Agent)}
		fast := b.commit(b.claim(noon, noon.Add(mailbox.LeaseTime)))
		ran := false
		err := b.Commit(t.Context(), slow, func(context.Context, db.Tx) error { ran = true; return nil })
		if !errors.Is(err, turn.ErrLost) || ran {
			t.Errorf("slow worker: got %v, ran %v; want ErrLost before anything runs", err, ran)
		}
		if err := b.Release(t.Context(), slow.Claim, noon, true); !errors.Is(err, turn.ErrLost) {
			t.Errorf("slow release: got %v, want ErrLost", err)
		}
		b.want("0", "SELECT COUNT(*) FROM outbox")
		b.do(fast)
		if err := b.Commit(t.Context(), fast, nothing); !errors.Is(err, turn.ErrLost) {
			t.Errorf("the same commit again: got %v, want ErrLost", err)
		}
	})
	t.Run("a stale commit fails whole", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.write("m1")
		b.turn(nil)
		b.write("m2")
		c := b.commit(b.claim(noon, noon))
		c.Before--
		c.Said = []turn.Spoken{{Thread: c.Thread.ID, Direction: "in", Body: map[string]string{"text": "hi"}, At: noon}}
		c.Outbox = []outbox.Row{row(c, "o1", "a", outbox.Agent)}
		c.Timers = []turn.TimerRow{{Mailbox: b.key, Name: "ttl", At: later(60)}}
		c.Tasks = []turn.TaskRow{{ID: "t1", Kind: "callback", Key: "k"}}
		err := b.Commit(t.Context(), c, func(ctx context.Context, tx db.Tx) error {
			return db.Exec(ctx, tx, "domain row", "UPDATE contacts SET name = 'Changed'")
		})
		if !errors.Is(err, turn.ErrStale) {
			t.Errorf("got %v, want ErrStale", err)
		}
		for _, table := range []string{"outbox", "timers", "tasks", "transcript", "contacts WHERE name = 'Changed'", "inbox WHERE dedupe_key LIKE '%m2' AND done_at IS NOT NULL"} {
			b.want("0", "SELECT COUNT(*) FROM "+table)
		}
		c.Before++
		b.do(c) // the lease is still held
	})
	t.Run("two turns cannot open two threads of one contact", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.write("m1")
		b.turn(nil)
		b.write("m2")
		c := b.commit(b.claim(noon, noon))
		second := *c.Thread
		second.ID = ids.ThreadID(ids.New(noon))
		c.Thread, c.Before = &second, 0
		if err := b.Commit(t.Context(), c, nothing); !errors.Is(err, turn.ErrStale) {
			t.Errorf("got %v, want ErrStale", err)
		}
	})
	t.Run("many claimers at once", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		for i := range 20 {
			if _, err := b.Deliver(t.Context(), []message.Inbound{said(strconv.Itoa(i), fmt.Sprintf("+2547000000%02d", i))}, nil, noon, 0); err != nil {
				t.Fatal(err)
			}
		}
		var mu sync.Mutex
		times := map[ids.MailboxKey]int{}
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				claims, _, err := b.ClaimMailboxes(t.Context(), noon, noon, 5)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				for _, c := range claims {
					times[c.Key]++
				}
			})
		}
		wg.Wait()
		for key, n := range times {
			if n != 1 {
				t.Errorf("%s was claimed %d times", key, n)
			}
		}
		if len(times) != 20 {
			t.Errorf("%d mailboxes were claimed, want 20", len(times))
		}
	})
}

func TestP4ANewerMessageSupersedes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("m1")
	c := b.commit(b.claim(noon, noon))
	b.write("m2")
	if err := b.Commit(t.Context(), c, nothing); !errors.Is(err, turn.ErrSuperseded) {
		t.Errorf("got %v, want ErrSuperseded", err)
	}
	c.Supersede = false
	b.do(c)
	b.want("1", "SELECT COUNT(*) FROM inbox WHERE done_at IS NULL")
	b.claim(noon, noon) // what came meanwhile is due at once
}

func TestP5SilenceUnderAHuman(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("m1")
	c := b.turn(func(c *turn.Commit) {
		for _, o := range []outbox.Origin{outbox.Agent, outbox.Reminder, outbox.Payment, outbox.Relay, outbox.System} {
			c.Outbox = append(c.Outbox, row(c, string(o), string(o), o))
		}
		c.Outbox = append(c.Outbox, row(c, "under way", "first", outbox.Agent))
	})
	rows, _, err := b.ClaimOutbox(t.Context(), noon, noon, 1) // one agent-written message has started
	if err != nil || len(rows) != 1 || rows[0].ID != "agent" {
		t.Fatalf("ClaimOutbox = %v, %v; want the first row", rows, err)
	}
	if n, err := b.InFlight(t.Context(), c.Contact.ID); n != 1 || err != nil {
		t.Errorf("InFlight = %d, %v; want 1", n, err)
	}
	// The takeover commits in the admin's turn.
	if _, err := b.Deliver(t.Context(), []message.Inbound{said("a1", "+254700000009")}, nil, noon, 0); err != nil {
		t.Fatal(err)
	}
	customer := b.key
	taken := *b.load().Thread
	b.key = ids.MailboxKey(b.text("SELECT key FROM mailboxes WHERE key <> $1 AND key LIKE 'contact:%'", string(customer)))
	admin := b.commit(b.claim(noon, noon))
	admin.Thread, admin.Other, admin.OtherBefore = nil, &taken, taken.Version
	taken.Driver, taken.Epoch = thread.HumanDriving, taken.Epoch+1
	b.do(admin)

	if _, sent := b.send(noon, noon); !cmp.Equal(sent, []string{"reminder", "payment", "relay", "system"}) {
		t.Errorf("sent %v, want everything but what the agent wrote", sent)
	}
	b.want("silenced", "SELECT state FROM outbox WHERE id = 'under way'")
	b.want("sending", "SELECT state FROM outbox WHERE id = 'agent'")
	b.settle(rows[0], outbox.Sent, noon, outbox.Outcome{Verdict: outbox.Done, ProviderID: "p1"})
	if n, err := b.InFlight(t.Context(), c.Contact.ID); n != 0 || err != nil {
		t.Errorf("InFlight = %d, %v; want 0", n, err)
	}
	b.key = customer
	snap := b.load()
	if len(snap.Handoffs) != 0 || snap.Thread.Driver != thread.HumanDriving || snap.Thread.Version != taken.Version+1 {
		t.Errorf("after the takeover: %d handoffs, thread %+v", len(snap.Handoffs), snap.Thread)
	}
	b.key = admin.Claim.Key
	if n := len(b.load().Handoffs); n != 1 {
		t.Errorf("the admin sees %d handoffs, want the one", n)
	}
}

func TestP5ATakeoverWithdrawsWhatWasNotSent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("m1")
	c := b.turn(func(c *turn.Commit) {
		prompt := row(c, "o1", "mpesa", outbox.Payment)
		prompt.Kind = payment.EffectPrompt
		c.Outbox = []outbox.Row{prompt}
	})
	b.insert(attempt("a1", c))
	b.write("m2")
	taken := *b.load().Thread
	b.turn(func(c *turn.Commit) {
		c.Other, c.OtherBefore, c.Withdraw, c.Thread = &taken, taken.Version, true, nil
		taken.Epoch++
	})
	if _, sent := b.send(noon, noon); sent != nil {
		t.Errorf("sent %v after the takeover, want nothing", sent)
	}
	a, err := b.Attempt(t.Context(), "a1")
	if err != nil || a.Status != payment.Withdrawn || !a.SettledAt.Equal(noon) {
		t.Errorf("attempt: %s settled at %v, %v; want withdrawn at noon", a.Status, a.SettledAt, err)
	}
}

func TestP10TenantWalls(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("m1")
	c := b.turn(nil)
	other, err := b.store.Tenant("01OTHER", "booking")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Deliver(t.Context(), []message.Inbound{said("m2", amina)}, nil, noon, 0); err != nil {
		t.Fatal(err)
	}
	if claims, next, err := other.ClaimMailboxes(t.Context(), later(60), later(60), 10); len(claims) != 0 || !next.IsZero() || err != nil {
		t.Errorf("another tenant claimed %v, %v, %v", claims, next, err)
	}
	err = other.Read(t.Context(), func(q db.Q) error {
		for _, table := range []string{"contacts", "inbox", "conversation_threads", "turns"} {
			var n int
			if err := q.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table).Scan(&n); err != nil {
				return err
			}
			if n != 0 {
				t.Errorf("another tenant sees %d rows of %s", n, table)
			}
		}
		var n int
		if err := q.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM tenants").Scan(&n); err == nil {
			t.Error("a tenant's handle reads control data")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	// The same person is another contact there.
	if _, err := other.Deliver(t.Context(), []message.Inbound{said("m1", amina)}, nil, noon, 0); err != nil {
		t.Error(err)
	}
	if err := other.Read(t.Context(), func(q db.Q) error {
		var id string
		err := q.QueryRowContext(t.Context(), "SELECT id FROM contacts").Scan(&id)
		if id == string(c.Contact.ID) {
			t.Error("two tenants share a contact")
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	for _, id := range []ids.TenantID{"", ".", "..", "../control", "a/b"} {
		if _, err := b.store.Tenant(id, "booking"); err == nil {
			t.Errorf("the id %q opened a database", id)
		}
	}
}

func TestP11TimersSurvive(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("m1")
	c := b.turn(func(c *turn.Commit) {
		c.Timers = []turn.TimerRow{{Mailbox: b.key, Scope: c.Thread.ID, Name: "ttl", At: later(1800), Data: map[string]int{"n": 1}}}
		c.Outbox = []outbox.Row{row(c, "o1", "a", outbox.Agent), row(c, "o2", "a", outbox.Agent)}
	})
	b.write("m2")
	b.claim(noon, noon) // a lease the crash leaves behind
	if _, sent := b.send(noon, noon); !cmp.Equal(sent, []string{"o1"}) {
		t.Fatalf("sent %v, want o1", sent)
	}
	restart := later(600)
	b.reopen(restart)

	again := b.commit(b.claim(noon, restart))
	if got := again.Batch.Messages(); len(got) != 1 || got[0].ProviderID != "m2" {
		t.Errorf("messages after the restart: %v, want m2", got)
	}
	// The send under way may have arrived: it waits for its receipt, and its lane with it.
	b.want("doubt", "SELECT state FROM outbox WHERE id = 'o1'")
	if _, sent := b.send(noon, restart.Add(outbox.DoubtWait-time.Millisecond)); sent != nil {
		t.Errorf("sent %v within the wait for a receipt, want nothing", sent)
	}
	rows, sent := b.send(noon, restart.Add(outbox.DoubtWait))
	if !cmp.Equal(sent, []string{"o1"}) || rows[0].Resends != 1 {
		t.Fatalf("sent %v after the wait, want o1 once more", sent)
	}
	b.settle(rows[0], outbox.Sent, restart, outbox.Outcome{Verdict: outbox.Done, ProviderID: "p1"})
	if _, sent := b.send(noon, restart.Add(outbox.DoubtWait)); !cmp.Equal(sent, []string{"o2"}) {
		t.Errorf("sent %v, want o2 after o1", sent)
	}
	b.do(again)
	// The timer is what the mailbox is due for next.
	if claims, next, err := b.ClaimMailboxes(t.Context(), later(1799), restart, 10); len(claims) != 0 || !next.Equal(later(1800)) || err != nil {
		t.Errorf("claimed %v, next %v, %v; want the timer at %v", claims, next, err, later(1800))
	}
	claim := b.claim(later(1800), restart)
	items := b.load().Items
	if len(items) != 1 || items[0].Event.Name != "ttl" || items[0].Event.Scope != c.Thread.ID ||
		!cmp.Equal(items[0].Event.Data, json.RawMessage(`{"n":1}`), sameJSON) {
		t.Fatalf("items = %+v, want the timer with its data", items)
	}
	fire := b.commit(claim)
	fire.Batch.Items, fire.Now = items, later(1800)
	b.do(fire)
	b.want("0", "SELECT COUNT(*) FROM timers")
	if _, next, err := b.ClaimMailboxes(t.Context(), later(9999), restart, 10); !next.IsZero() || err != nil {
		t.Errorf("next = %v, %v; want never", next, err)
	}
}

func TestP11AReceiptEndsDoubt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("m1")
	b.turn(func(c *turn.Commit) {
		c.Outbox = []outbox.Row{row(c, "o1", "a", outbox.Agent), row(c, "o2", "a", outbox.Agent)}
		c.Thread.Pending = &thread.Confirmation{Nonce: "n", OutboxID: "o1"}
	})
	b.send(noon, noon)
	b.reopen(noon)
	d, err := b.Deliver(t.Context(), nil, []message.Receipt{{Opaque: "o1", ProviderID: "p1", Status: message.StatusSent, At: noon}}, later(5), 0)
	if err != nil || !d.Unblocked {
		t.Errorf("Deliver = %+v, %v; want the lane unblocked", d, err)
	}
	if _, sent := b.send(noon, noon); !cmp.Equal(sent, []string{"o2"}) {
		t.Errorf("sent %v, want o2 and o1 never again", sent)
	}
	if at := b.load().AskedAt; !at.Equal(later(5)) {
		t.Errorf("the question was asked at %v, want when its receipt came: a yes must count", at)
	}
}

func TestP11EveryAcknowledgedMessageIsThereAfterACrash(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			if _, err := b.Deliver(t.Context(), []message.Inbound{said(strconv.Itoa(i), amina)}, nil, noon, 0); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	b.reopen(noon)
	b.want("50", "SELECT COUNT(*) FROM inbox WHERE done_at IS NULL")
}

func TestASecondProcessIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if _, err := openBeside(t, b); err == nil {
		t.Fatal("two stores share a home")
	}
	b.reopen(noon)
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, file); err == nil {
		t.Error("a file was opened as a data directory")
	}
	if err := b.store.Ready(t.Context()); err != nil {
		t.Errorf("Ready: %v", err)
	}
	if err := b.store.Close(); err != nil {
		t.Error(err)
	}
	if err := b.store.Ready(t.Context()); err == nil {
		t.Error("a closed store is ready")
	}
}

// attempt is a created attempt of the turn's thread.
func attempt(id string, c *turn.Commit) payment.Attempt {
	return payment.Attempt{
		ID: id, Thread: c.Thread.ID, ContactID: c.Contact.ID, Subject: "b1", Provider: "mpesa", Reference: "RTB-" + id, Account: id,
		Phone: amina, TokenHash: "hash-" + id, Status: payment.Created, CreatedAt: noon,
	}
}

// A batch that processes keep dying over is counted, so that it can be put
// aside: every lease counts until it is given back.
func TestP11LostLeasesAreCounted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("m1")
	for n := range 3 {
		at := later((n + 1) * 3600)
		if c := b.claim(at, at); c.Crashes != n {
			t.Errorf("claim %d counts %d crashes", n+1, c.Crashes)
		}
	}
	at := later(4 * 3600)
	c := b.claim(at, at)
	if err := b.Release(t.Context(), c, at, true); err != nil {
		t.Fatal(err)
	}
	if again := b.claim(at, at); again.Crashes != 0 || again.Tries != 1 {
		t.Errorf("after it was given back: %d crashes, %d tries", again.Crashes, again.Tries)
	}
}

// A send whose outcome nobody could note does not block its lane for ever: when
// its mark runs out it is in doubt and is sent again, up to a bound: then a
// person is told.
func TestP11AnUnnotedSendIsSentAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("m1")
	b.turn(func(c *turn.Commit) {
		c.Outbox = []outbox.Row{row(c, "first", "lane", outbox.System), row(c, "second", "lane", outbox.System)}
	})
	claim := func(real time.Time) (ids []string) {
		t.Helper()
		rows, _, err := b.ClaimOutbox(t.Context(), noon, real, 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			ids = append(ids, r.ID)
		}
		return ids
	}
	life := int((outbox.CarryTime + outbox.DoubtWait).Seconds())
	for _, step := range []struct {
		after int
		want  []string
	}{
		{0, []string{"first"}},
		{life - 1, nil},
		{life, []string{"first"}},
		{2 * life, []string{"first"}},
		{3 * life, []string{"first"}},
		{4*life - 1, nil},
		{4 * life, nil},
		{4*life + 1, []string{"second"}},
	} {
		if got := claim(later(step.after)); !cmp.Equal(got, step.want) {
			t.Errorf("after %d s: started %v, want %v", step.after, got, step.want)
		}
	}
	b.want("failed", "SELECT state FROM outbox WHERE id = $1", "first")
	b.want("1", "SELECT COUNT(*) FROM inbox WHERE dedupe_key = $1", "failed:first")
}
