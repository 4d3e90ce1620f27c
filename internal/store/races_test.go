package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/db/dbtest"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/store"
	"github.com/ratiba/ratiba/internal/turn"
)

// race runs everything at once, n times each, and reports errors.
func race(t *testing.T, n int, fns ...func(i int) error) {
	t.Helper()
	start := make(chan struct{})
	var wg sync.WaitGroup
	for _, fn := range fns {
		for i := range n {
			wg.Go(func() {
				<-start
				if err := fn(i); err != nil {
					t.Error(err)
				}
			})
		}
	}
	close(start)
	wg.Wait()
}

func TestOneMessageTwiceAtOnceIsOne(t *testing.T) {
	t.Parallel()
	a, b, _ := two(t)
	deliver := func(n *bundle) func(i int) error {
		return func(i int) error {
			m := said(fmt.Sprintf("m%02d", i), fmt.Sprintf("+2547000001%02d", i)) // nobody has written yet
			_, err := n.Deliver(t.Context(), []message.Inbound{m}, nil, noon, 0)
			return err
		}
	}
	race(t, 40, deliver(a), deliver(b), deliver(a), deliver(b))
	for _, table := range []string{"inbox", "contacts", "contact_identities", "mailboxes"} {
		a.want("40", "SELECT COUNT(*) FROM "+table)
	}
	a.want("0", "SELECT COUNT(*) FROM inbox i WHERE NOT EXISTS (SELECT 1 FROM contact_identities c WHERE 'contact:' || c.contact_id = i.mailbox_key)")
}

func TestALeaseThatRanOutIsTaken(t *testing.T) {
	t.Parallel()
	a, b, _ := two(t)
	a.write("m1")
	slow := a.commit(a.claim(noon, noon))
	slow.Outbox = []outbox.Row{row(slow, "o1", "a", outbox.Agent)}
	slow.Timers = []turn.TimerRow{{Mailbox: a.key, Name: "ttl", At: later(60)}}
	none := func(real time.Time) {
		t.Helper()
		if claims, _, err := b.ClaimMailboxes(t.Context(), noon, real, 10); len(claims) != 0 || err != nil {
			t.Fatalf("claimed %v, %v under a lease", claims, err)
		}
	}
	none(noon.Add(mailbox.LeaseTime - time.Second))
	if err := a.Extend(t.Context(), slow.Claim, later(50)); err != nil {
		t.Fatal(err)
	}
	none(noon.Add(mailbox.LeaseTime))
	b.key = a.key
	fast := b.commit(b.claim(noon, later(50).Add(mailbox.LeaseTime)))
	if fast.Claim.Crashes != 1 {
		t.Errorf("crashes = %d, want the lease that ran out", fast.Claim.Crashes)
	}
	ran := false
	inside := func(context.Context, db.Tx) error { ran = true; return nil }
	for name, err := range map[string]error{
		"Extend": a.Extend(t.Context(), slow.Claim, later(200)), "Commit": a.Commit(t.Context(), slow, inside),
		"Release": a.Release(t.Context(), slow.Claim, noon, true),
	} {
		if !errors.Is(err, turn.ErrLost) {
			t.Errorf("%s after the lease ran out: %v, want ErrLost", name, err)
		}
	}
	if ran {
		t.Error("the lost turn's writes ran")
	}
	for _, table := range []string{"outbox", "timers", "turns", "conversation_threads", "inbox WHERE done_at IS NOT NULL"} {
		a.want("0", "SELECT COUNT(*) FROM "+table)
	}
	b.do(fast)
}

const waits = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

// blocked waits until a transaction waits for another's lock.
func (b *bundle) blocked() {
	b.t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for b.text(waits) == "0" {
		select {
		case <-tick.C:
		case <-deadline.C:
			b.t.Fatal("nobody waits")
		}
	}
}

// takeover is what an admin's turn does to a customer's thread.
func takeover(ctx context.Context, tx db.Tx, th ids.ThreadID) error {
	n, err := db.Changed(ctx, tx, "take over",
		"UPDATE conversation_threads SET driver = 'HUMAN_DRIVING', epoch = epoch + 1, version = version + 1 WHERE id = $1", string(th))
	if err == nil && n != 1 {
		err = errors.New("no thread to take over")
	}
	return err
}

func TestP5ASendWaitsForATakeoverUnderWay(t *testing.T) {
	t.Parallel()
	a, b, _ := two(t)
	a.write("m1")
	c := a.turn(func(c *turn.Commit) {
		c.Outbox = []outbox.Row{row(c, "o1", "a", outbox.Agent), row(c, "o2", "b", outbox.Reminder)}
	})
	var wg sync.WaitGroup
	err := a.Write(t.Context(), func(tx db.Tx) error {
		if err := takeover(t.Context(), tx, c.Thread.ID); err != nil {
			return err
		}
		wg.Go(func() {
			if _, sent := b.send(noon, noon); !cmp.Equal(sent, []string{"o2"}) {
				t.Errorf("sent %v after the takeover, want the reminder alone", sent)
			}
		})
		b.blocked()
		return nil
	})
	wg.Wait()
	if err != nil {
		t.Fatal(err)
	}
	a.want("silenced", "SELECT state FROM outbox WHERE id = 'o1'")
}

func TestP5NoSendStartsAfterATakeover(t *testing.T) {
	t.Parallel()
	a, b, _ := two(t)
	const rounds = 30
	var threads []ids.ThreadID
	for i := range rounds {
		a.deliver(said(fmt.Sprintf("m%d", i), fmt.Sprintf("+2547000002%02d", i)), 0)
		claim := a.claim(later(60), noon)
		a.key = claim.Key
		c := a.commit(claim)
		for _, o := range []string{"x", "y"} {
			c.Outbox = append(c.Outbox, row(c, fmt.Sprint(o, i), fmt.Sprint(o, i), outbox.Agent))
		}
		a.do(c)
		threads = append(threads, c.Thread.ID)
	}
	queued := make([]string, rounds) // what had not started when the takeover committed
	claim := func(n *bundle) func(int) error {
		return func(int) error { _, _, err := n.ClaimOutbox(t.Context(), noon, noon, 3); return err }
	}
	race(t, rounds, claim(a), claim(b), func(i int) error {
		return b.Write(t.Context(), func(tx db.Tx) error {
			if err := takeover(t.Context(), tx, threads[i]); err != nil {
				return err
			}
			return tx.QueryRowContext(t.Context(), "SELECT COALESCE(string_agg(id, ','), '') FROM outbox WHERE thread_id = $1 AND state = 'queued'",
				string(threads[i])).Scan(&queued[i])
		})
	})
	for range rounds {
		if _, _, err := a.ClaimOutbox(t.Context(), noon, noon, 10); err != nil {
			t.Fatal(err)
		}
	}
	a.want("0", "SELECT COUNT(*) FROM outbox WHERE state = 'queued'")
	for _, q := range queued {
		if q != "" {
			a.want("0", "SELECT COUNT(*) FROM outbox WHERE state <> 'silenced' AND id = ANY(string_to_array($1, ','))", q)
		}
	}
}

func TestTwoNodesSendEachEffectOnce(t *testing.T) {
	t.Parallel()
	a, b, _ := two(t)
	a.write("m1")
	const lanes, each = 20, 3
	a.turn(func(c *turn.Commit) {
		for i := range lanes * each {
			c.Outbox = append(c.Outbox, row(c, fmt.Sprintf("o%02d", i), fmt.Sprintf("lane %d", i%lanes), outbox.Agent))
		}
	})
	var mu sync.Mutex
	sent := map[string][]string{}
	work := func(n *bundle) func(int) error {
		return func(int) error {
			for {
				rows, next, err := n.ClaimOutbox(t.Context(), noon, noon, 4)
				if err != nil || len(rows) == 0 && !next.Equal(noon) {
					return err
				}
				for _, r := range rows {
					mu.Lock()
					sent[r.Lane] = append(sent[r.Lane], r.ID)
					mu.Unlock()
					if err := n.SettleOutbox(t.Context(), r, outbox.Sent, noon, outbox.Outcome{ProviderID: "p" + r.ID}, noon); err != nil {
						return err
					}
				}
			}
		}
	}
	race(t, 3, work(a), work(b))
	race(t, 1, work(a)) // what was behind others' last
	for lane, got := range sent {
		if !slices.IsSorted(got) || len(got) != each {
			t.Errorf("%s sent %v, want %d in order", lane, got, each)
		}
	}
	if len(sent) != lanes {
		t.Errorf("%d lanes sent, want %d", len(sent), lanes)
	}
}

func TestASettlementThatComesTooLateChangesNothing(t *testing.T) {
	t.Parallel()
	a, b, _ := two(t)
	a.write("m1")
	a.turn(func(c *turn.Commit) { c.Outbox = []outbox.Row{row(c, "o1", "a", outbox.Agent)} })
	slow, _ := a.send(noon, noon)
	after := noon.Add(outbox.CarryTime + outbox.DoubtWait + time.Second)
	again, sent := b.send(noon, after)
	if !cmp.Equal(sent, []string{"o1"}) || again[0].Resends != 1 {
		t.Fatalf("sent %v, want the row once more", sent)
	}
	for _, state := range []outbox.State{outbox.Failed, outbox.Queued, outbox.Sent} {
		a.settle(slow[0], state, later(9), outbox.Outcome{ProviderID: "late", Code: 7, Class: outbox.ClassLocal})
	}
	a.want("sending:2::0", "SELECT state || ':' || tries || ':' || provider_id || ':' || error_code FROM outbox")
	a.want("0", "SELECT COUNT(*) FROM inbox WHERE dedupe_key LIKE 'failed:%'")
	b.settle(again[0], outbox.Failed, noon, outbox.Outcome{Code: 131026})
	a.want("failed:131026", "SELECT state || ':' || error_code FROM outbox")
	a.want("1", "SELECT COUNT(*) FROM inbox WHERE dedupe_key = 'failed:o1'")
}

func TestReceiptsRaceWithTheAnswer(t *testing.T) {
	t.Parallel()
	a, b, _ := two(t)
	a.write("m1")
	const rounds = 30
	a.turn(func(c *turn.Commit) {
		for i := range rounds {
			c.Outbox = append(c.Outbox, row(c, fmt.Sprintf("o%d", i), fmt.Sprintf("lane %d", i), outbox.Agent))
		}
	})
	rows, _, err := a.ClaimOutbox(t.Context(), noon, noon, rounds)
	if err != nil || len(rows) != rounds {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	receipt := func(n *bundle, s message.Status) func(i int) error {
		return func(i int) error {
			r := message.Receipt{Opaque: rows[i].ID, ProviderID: "p" + rows[i].ID, Status: s, At: noon}
			_, err := n.Deliver(t.Context(), nil, []message.Receipt{r}, noon, 0)
			return err
		}
	}
	race(t, rounds, func(i int) error {
		return a.SettleOutbox(t.Context(), rows[i], outbox.Sent, noon, outbox.Outcome{ProviderID: "p" + rows[i].ID}, noon)
	}, receipt(b, message.StatusSent), receipt(a, message.StatusDelivered), receipt(b, message.StatusRead), receipt(a, message.StatusDelivered))
	a.want(strconv.Itoa(rounds), "SELECT COUNT(*) FROM outbox WHERE state = 'sent' AND status = 'read' AND provider_id = 'p' || id AND sent_at IS NOT NULL")
}

// both is one signed message that carries two identities.
func both(id, one, other string) message.Inbound {
	m := said(id, one)
	m.From = append(m.From, contact.Identity{Kind: contact.BSUID, Value: other})
	return m
}

func TestAMergeRacesWithTurnsAndMessages(t *testing.T) {
	t.Parallel()
	a, b, _ := two(t)
	const rounds = 25
	for i := range rounds {
		phone, user := fmt.Sprintf("+2547000003%02d", i), fmt.Sprintf("user-%d", i)
		known := said(fmt.Sprintf("k%d", i), phone)
		other := said(fmt.Sprintf("u%d", i), phone)
		other.From = []contact.Identity{{Kind: contact.BSUID, Value: user}}
		a.deliver(known, 0)
		a.deliver(other, 0)
		claims, _, err := a.ClaimMailboxes(t.Context(), later(60), noon, 10)
		if err != nil || len(claims) == 0 {
			t.Fatalf("claims %v, %v", claims, err)
		}
		var commits []*turn.Commit
		for _, c := range claims {
			a.key = c.Key
			commits = append(commits, a.commit(c))
		}
		again := other
		again.ProviderID += "again"
		deliver := func(n *bundle, m message.Inbound) func(int) error {
			return func(int) error {
				_, err := n.Deliver(t.Context(), []message.Inbound{m}, nil, noon, 0)
				return err
			}
		}
		race(t, 1, func(int) error {
			for _, c := range commits {
				err := a.Commit(t.Context(), c, nothing)
				if errors.Is(err, turn.ErrSuperseded) || errors.Is(err, turn.ErrStale) {
					err = a.Release(t.Context(), c.Claim, noon, false)
				}
				if err != nil {
					return err
				}
			}
			return nil
		}, deliver(b, both(fmt.Sprintf("b%d", i), phone, user)), deliver(b, both(fmt.Sprintf("c%d", i), phone, user)), deliver(a, again))
	}
	// Whoever was merged away holds nothing that anybody should still do.
	a.want("0", `SELECT COUNT(*) FROM inbox WHERE done_at IS NULL AND NOT EXISTS (
		SELECT 1 FROM contact_identities i WHERE 'contact:' || i.contact_id = inbox.mailbox_key)`)
	a.want("0", `SELECT COUNT(*) FROM conversation_threads t WHERE closed_at IS NULL AND NOT EXISTS (
		SELECT 1 FROM contact_identities i WHERE i.contact_id = t.contact_id)`)
	a.want("0", "SELECT COUNT(*) FROM mailboxes m WHERE lease_token <> ''")
	a.want("0", "SELECT COUNT(*) FROM mailboxes m WHERE due_at IS NULL AND EXISTS (SELECT 1 FROM inbox i WHERE i.mailbox_key = m.key AND i.done_at IS NULL)")
	a.want(strconv.Itoa(5*rounds), "SELECT COUNT(*) FROM inbox")
}

// A message that waits for a merge's lock is delivered to whom the merge made
// of the two.
func TestAMessageWaitsForAMergeUnderWay(t *testing.T) {
	t.Parallel()
	merging, merge := make(chan struct{}), make(chan struct{})
	cfg := store.Config{URL: dbtest.Postgres(t), Node: "a", Real: &hand{}, Apps: map[string]store.AppPart{"booking": {
		Merge: func(context.Context, db.Tx, ids.ContactID, ids.ContactID) error { close(merging); <-merge; return nil },
	}}}
	a := node(t, cfg)
	cfg.Node = "b"
	b := node(t, cfg)
	if err := a.EnsureContact(t.Context(), contact.Identity{Kind: contact.BSUID, Value: "user"}, "Amina", db.At(later(1))); err != nil {
		t.Fatal(err) // the younger, who never wrote
	}
	a.deliver(said("m1", amina), 0)
	var wg sync.WaitGroup
	wg.Go(func() { a.deliver(both("m2", amina, "user"), 2) })
	<-merging
	wg.Go(func() {
		m := said("m3", amina)
		m.From = []contact.Identity{{Kind: contact.BSUID, Value: "user"}}
		b.deliver(m, 3)
	})
	b.blocked()
	close(merge)
	wg.Wait()
	a.want("1", "SELECT COUNT(DISTINCT mailbox_key) FROM inbox")
	a.want("1", "SELECT COUNT(DISTINCT contact_id) FROM contact_identities")
}

func TestAnAttemptLosesNoChange(t *testing.T) {
	t.Parallel()
	a, b, _ := two(t)
	a.write("m1")
	a.insert(attempt("a1", a.turn(nil)))
	const each = 15
	change := func(n *bundle) func(int) error {
		return func(int) error {
			_, err := n.ChangeAttempt(t.Context(), "a1", func(p payment.Attempt) (payment.Attempt, bool) { p.Queries++; return p, true },
				func(payment.Attempt) time.Time { return later(90) })
			return err
		}
	}
	turns := 0
	settle := func(int) error {
		for turns < 10 { // one turn after another, as a mailbox's are
			a.write(fmt.Sprintf("s%d", turns))
			claims, _, err := a.ClaimMailboxes(t.Context(), later(60), noon, 1)
			if err != nil {
				return err
			}
			if len(claims) == 0 {
				continue // it is locked just now
			}
			claim := claims[0]
			err = a.Commit(t.Context(), a.commit(claim), func(ctx context.Context, tx db.Tx) error {
				p, err := store.Payments{}.Locked(ctx, tx, "a1")
				if err != nil {
					return err
				}
				p.Queries++
				return store.Payments{}.Update(ctx, tx, p)
			})
			if errors.Is(err, turn.ErrStale) || errors.Is(err, turn.ErrSuperseded) {
				if err := a.Release(t.Context(), claim, noon, false); err != nil {
					return err
				}
				continue
			}
			if err != nil {
				return err
			}
			turns++
		}
		return nil
	}
	race(t, each, change(a), change(b), func(i int) error {
		if i > 0 {
			return nil
		}
		return settle(i)
	})
	a.want(strconv.Itoa(2*each+turns), "SELECT queries FROM payment_attempts")
}

// Two nodes do whatever nodes do, in any order: every message is done exactly
// once, in the order in which it came.
func TestTwoNodesDoEveryMessageOnce(t *testing.T) {
	t.Parallel()
	a, b, clock := two(t)
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		id := ids.TenantID(fmt.Sprintf("01ROUND%d", round))
		m := &machine{rt: rt, clock: clock, held: map[*bundle][]*turn.Commit{}}
		for _, n := range []*bundle{a, b} {
			c := *n
			c.Turns = store.Turns{Tenant: n.tenant(id)}
			m.nodes = append(m.nodes, &c)
		}
		rt.Repeat(map[string]func(*rapid.T){
			"deliver": m.deliver, "claim": m.claim, "commit": m.commit, "fail": m.fail, "extend": m.extend,
			"wait": func(*rapid.T) { clock.move(25 * time.Second) },
		})
		m.drain()
	})
}

// machine is two nodes and what must be true of them.
type machine struct {
	rt    *rapid.T
	clock *hand
	nodes []*bundle
	held  map[*bundle][]*turn.Commit
	said  int
	done  []string // provider ids in the order of the commits
}

func (m *machine) node() *bundle { return rapid.SampledFrom(m.nodes).Draw(m.rt, "node") }

func (m *machine) check(err error) {
	m.rt.Helper()
	if err != nil {
		m.rt.Fatal(err)
	}
}

func (m *machine) deliver(rt *rapid.T) {
	n := rapid.IntRange(max(0, m.said-2), m.said).Draw(rt, "message") // some come again
	m.said = max(m.said, n+1)
	_, err := m.node().Deliver(m.nodes[0].t.Context(), []message.Inbound{said(fmt.Sprintf("%03d", n), fmt.Sprintf("+2547000004%02d", n%3))}, nil, noon, 0)
	m.check(err)
}

func (m *machine) claim(*rapid.T) {
	n := m.node()
	claims, _, err := n.ClaimMailboxes(n.t.Context(), later(1e6), m.clock.Now(), 2)
	m.check(err)
	for _, c := range claims {
		n.key = c.Key
		m.held[n] = append(m.held[n], n.commit(c))
	}
}

// one takes a turn that a node holds.
func (m *machine) one() (*bundle, *turn.Commit) {
	n := m.node()
	if len(m.held[n]) == 0 {
		m.rt.Skip("the node holds nothing")
	}
	i := rapid.IntRange(0, len(m.held[n])-1).Draw(m.rt, "turn")
	c := m.held[n][i]
	m.held[n] = slices.Delete(slices.Clone(m.held[n]), i, i+1)
	return n, c
}

func (m *machine) commit(*rapid.T) {
	n, c := m.one()
	err := n.Commit(n.t.Context(), c, nothing)
	switch {
	case errors.Is(err, turn.ErrSuperseded):
		if err := n.Release(n.t.Context(), c.Claim, noon, false); !errors.Is(err, turn.ErrLost) {
			m.check(err)
		}
		return
	case errors.Is(err, turn.ErrLost):
		return
	}
	m.check(err)
	for _, it := range c.Batch.Items {
		m.done = append(m.done, it.Message.ProviderID)
	}
}

func (m *machine) fail(*rapid.T) {
	n, c := m.one()
	if err := n.Release(n.t.Context(), c.Claim, noon, true); !errors.Is(err, turn.ErrLost) {
		m.check(err)
	}
}

func (m *machine) extend(*rapid.T) {
	n, c := m.one()
	m.held[n] = append(m.held[n], c)
	if err := n.Extend(n.t.Context(), c.Claim, m.clock.Now()); !errors.Is(err, turn.ErrLost) {
		m.check(err)
	}
}

// drain lets every lease run out and does what is left.
func (m *machine) drain() {
	m.clock.move(10 * mailbox.LeaseTime)
	for {
		clear(m.held)
		for _, n := range m.nodes {
			m.rt.Helper()
			claims, _, err := n.ClaimMailboxes(n.t.Context(), later(1e6), m.clock.Now(), 10)
			m.check(err)
			for _, c := range claims {
				n.key = c.Key
				turn := n.commit(c)
				m.check(n.Commit(n.t.Context(), turn, nothing))
				m.held[n] = append(m.held[n], turn)
				for _, it := range turn.Batch.Items {
					m.done = append(m.done, it.Message.ProviderID)
				}
			}
		}
		if len(m.held) == 0 {
			break
		}
	}
	last := map[byte]string{}
	for _, id := range m.done {
		var n int
		_, err := fmt.Sscanf(id, "%d", &n)
		m.check(err)
		who := byte('0' + n%3)
		if last[who] >= id {
			m.rt.Errorf("%s was done after %s (all: %s)", id, last[who], strings.Join(m.done, " "))
		}
		last[who] = id
	}
	if got := len(m.done); got < m.said {
		m.rt.Errorf("%d messages were done of %d", got, m.said)
	}
}
