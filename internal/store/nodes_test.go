package store_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/db/dbtest"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/store"
	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/turn"
)

// hand is a clock that is moved by hand, from noon on.
type hand struct{ moved atomic.Int64 }

func (h *hand) Now() time.Time       { return noon.Add(time.Duration(h.moved.Load())) }
func (h *hand) move(d time.Duration) { h.moved.Add(int64(d)) }

// node opens a home, as one process would, and the tenant in it.
func node(t *testing.T, cfg store.Config) *bundle {
	t.Helper()
	s, err := store.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	b := &bundle{t: t, dir: cfg.Dir, url: cfg.URL, store: s}
	b.Turns = store.Turns{Tenant: b.tenant("01TENANT")}
	return b
}

func (b *bundle) tenant(id ids.TenantID) *store.Tenant {
	b.t.Helper()
	t, err := b.store.Tenant(id, "booking")
	if err != nil {
		b.t.Fatal(err)
	}
	return t
}

// two are two nodes on one PostgreSQL database, whose clocks agree.
func two(t *testing.T) (a, b *bundle, clock *hand) {
	t.Helper()
	clock = &hand{}
	cfg := store.Config{URL: dbtest.Postgres(t), Conns: 8, Real: clock}
	cfg.Node = "a"
	a = node(t, cfg)
	cfg.Node = "b"
	return a, node(t, cfg), clock
}

// home is a home on the backend that the suite runs on, with a clock for leases.
func home(t *testing.T) (store.Config, *hand) {
	t.Helper()
	clock := &hand{}
	cfg := store.Config{Dir: t.TempDir(), Alone: true, Real: clock}
	if dbtest.Backend(t) == "postgres" {
		cfg.URL = dbtest.Postgres(t)
	}
	return cfg, clock
}

// opened lists the tenants whose files are open.
func (b *bundle) opened() (out []string) {
	b.t.Helper()
	logs, err := filepath.Glob(filepath.Join(b.dir, "tenants", "*-wal"))
	if err != nil {
		b.t.Fatal(err)
	}
	for _, l := range logs {
		out = append(out, strings.TrimSuffix(filepath.Base(l), ".db-wal"))
	}
	return out
}

// wakes tells which tenants are due, and when, in seconds after noon.
func (b *bundle) wakes(until time.Time) map[ids.TenantID]int {
	b.t.Helper()
	wakes, err := b.store.Wakes(b.t.Context(), until)
	if err != nil {
		b.t.Fatal(err)
	}
	out := map[ids.TenantID]int{}
	for _, w := range wakes {
		out[w.Tenant] = int(w.At.Sub(noon).Seconds())
	}
	return out
}

func (b *bundle) due(want map[ids.TenantID]int, until time.Time) {
	b.t.Helper()
	if diff := cmp.Diff(want, b.wakes(until)); diff != "" {
		b.t.Errorf("tenants that may have work (-want +got):\n%s", diff)
	}
}

func (b *bundle) tend() {
	b.t.Helper()
	if err := b.store.Tend(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

func TestDatabasesAreOpenedWhenTheyAreUsed(t *testing.T) {
	t.Parallel()
	clock := &hand{}
	cfg := store.Config{Dir: t.TempDir(), Real: clock} // a schema of PostgreSQL has no file to open
	b := node(t, cfg)
	for i := range 50 {
		def := tenant.Tenant{Slug: fmt.Sprintf("duka-%02d", i), App: "booking"}
		reg, err := b.store.Register(t.Context(), def, noon)
		if err != nil {
			t.Fatal(err)
		}
		if i%10 > 0 {
			continue
		}
		if _, _, err := b.tenant(reg.Tenant.ID).ClaimOutbox(t.Context(), noon, noon, 1); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(b.opened()); n != 5 {
		t.Errorf("%d files are open, want the 5 that were used", n)
	}
	if err := b.store.Close(); err != nil {
		t.Fatal(err)
	}
	b = node(t, cfg)
	all, err := b.store.Tenants(t.Context())
	if err != nil || len(all) != 50 {
		t.Fatalf("%d tenants, %v; want 50", len(all), err)
	}
	for _, reg := range all {
		b.tenant(reg.Tenant.ID)
	}
	b.wakes(time.Time{})
	b.tend()
	if got := b.opened(); len(got) != 0 {
		t.Errorf("after the start %v are open, want none", got)
	}
	b.write("m1")
	if diff := cmp.Diff([]string{"01TENANT"}, b.opened()); diff != "" {
		t.Errorf("open files (-want +got):\n%s", diff)
	}
	clock.move(29 * time.Second)
	b.tend()
	if n := len(b.opened()); n != 1 {
		t.Errorf("%d files are open just after use, want 1", n)
	}
	clock.move(2 * time.Second)
	b.tend()
	if got := b.opened(); len(got) != 0 {
		t.Errorf("after a rest %v are open, want none", got)
	}
	b.want("1", "SELECT COUNT(*) FROM inbox") // opened again
	if n := len(b.opened()); n != 1 {
		t.Errorf("%d files are open after use, want 1", n)
	}
}

func TestWorkIsAnnouncedBeforeItIsWritten(t *testing.T) {
	t.Parallel()
	cfg, clock := home(t)
	b := node(t, cfg)
	b.due(map[ids.TenantID]int{}, time.Time{})
	b.want("0", "SELECT COUNT(*) FROM inbox")
	b.due(map[ids.TenantID]int{}, time.Time{}) // reading is no work
	if err := b.Write(t.Context(), func(db.Tx) error {
		b.due(map[ids.TenantID]int{"01TENANT": 0}, noon)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	b.write("m1")
	if err := b.Release(t.Context(), b.claim(noon, noon), later(1800), false); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]ids.TenantID{"01TENANT"}, b.store.Awake()); diff != "" {
		t.Errorf("awake (-want +got):\n%s", diff)
	}
	b.due(map[ids.TenantID]int{"01TENANT": 0}, noon)
	clock.move(31 * time.Second)
	b.tend()
	if got := b.store.Awake(); len(got) != 0 {
		t.Errorf("awake after a rest: %v", got)
	}
	b.due(map[ids.TenantID]int{}, later(1799))
	b.due(map[ids.TenantID]int{"01TENANT": 1800}, later(1800))
	b.due(map[ids.TenantID]int{"01TENANT": 1800}, time.Time{})
	// The next work is announced anew.
	b.write("m2")
	b.due(map[ids.TenantID]int{"01TENANT": 31}, later(31))
	if err := b.store.Close(); err != nil {
		t.Fatal(err)
	}
	b = node(t, cfg)
	b.due(map[ids.TenantID]int{"01TENANT": 0}, time.Time{}) // m2 is due since noon
	if c := b.claim(noon, clock.Now()); c.Key == "" {
		t.Error("what waited was not claimed")
	} else if err := b.Release(t.Context(), c, time.Time{}, false); err != nil {
		t.Error(err)
	}
	clock.move(31 * time.Second)
	b.tend()
	b.due(map[ids.TenantID]int{}, time.Time{}) // nothing waits, nothing is due
}

// sweep does for a node what its pumps do: it claims wherever work may be.
func (b *bundle) sweep(now time.Time) {
	b.t.Helper()
	for id := range b.wakes(now.Add(20 * time.Second)) {
		claims, _, err := b.tenant(id).ClaimMailboxes(b.t.Context(), now, now, 10)
		if err != nil || len(claims) > 0 {
			b.t.Errorf("a sweep claimed %v, %v; want nothing", claims, err)
		}
		if rows, _, err := b.tenant(id).ClaimOutbox(b.t.Context(), now, now, 10); err != nil || len(rows) > 0 {
			b.t.Errorf("a sweep claimed %v, %v; want nothing", rows, err)
		}
	}
}

func TestSweepsLetATenantRest(t *testing.T) {
	t.Parallel()
	run := func(clock *hand, nodes ...*bundle) {
		first := nodes[0]
		first.write("m1")
		if err := first.Release(t.Context(), first.claim(noon, noon), later(7200), false); err != nil {
			t.Fatal(err)
		}
		for i := range 24 {
			clock.move(5 * time.Second)
			for n, b := range nodes {
				b.tend()
				if i%3 == n {
					b.sweep(clock.Now())
				}
			}
		}
		for _, b := range nodes {
			if got := b.store.Awake(); len(got) != 0 {
				t.Errorf("awake after two minutes of sweeps alone: %v", got)
			}
		}
		first.due(map[ids.TenantID]int{"01TENANT": 7200}, time.Time{})
	}
	cfg, clock := home(t)
	run(clock, node(t, cfg))
	if cfg.URL != "" {
		a, b, clock := two(t)
		run(clock, a, b)
	}
}

func TestANodeTakenForDeadAnnouncesAnew(t *testing.T) {
	t.Parallel()
	a, b, clock := two(t)
	a.write("m1")
	if err := a.Release(t.Context(), a.claim(noon, noon), later(1800), false); err != nil {
		t.Fatal(err)
	}
	clock.move(40 * time.Second) // it hangs
	b.tend()
	if err := b.Write(t.Context(), nothingTx); err != nil {
		t.Fatal(err)
	}
	clock.move(31 * time.Second)
	b.tend()
	b.due(map[ids.TenantID]int{"01TENANT": 1800}, time.Time{})
	a.write("m2") // it lives, and is in use
	a.tend()
	a.write("m3")
	a.due(map[ids.TenantID]int{"01TENANT": 71}, time.Time{})
}

func TestTheWorkOfADeadNodeIsFound(t *testing.T) {
	t.Parallel()
	a, b, clock := two(t)
	a.write("m1") // and is killed later: it is never closed
	b.due(map[ids.TenantID]int{"01TENANT": 0}, noon)
	c := b.claim(noon, noon)
	if err := b.Release(t.Context(), c, later(1800), false); err != nil {
		t.Fatal(err)
	}
	// While the other may still live, what it announced stands.
	clock.move(20 * time.Second)
	a.tend()
	clock.move(11 * time.Second)
	b.tend()
	b.due(map[ids.TenantID]int{"01TENANT": 0}, noon)
	clock.move(31 * time.Second)
	b.write("m2") // used again, and rests now that the other is dead
	if err := b.Release(t.Context(), b.claim(noon, clock.Now()), later(3600), false); err != nil {
		t.Fatal(err)
	}
	b.tend()
	clock.move(31 * time.Second)
	b.tend()
	b.due(map[ids.TenantID]int{"01TENANT": 3600}, time.Time{})
}

func TestNodesThatLiveAreCounted(t *testing.T) {
	t.Parallel()
	a, b, clock := two(t)
	count := func(want int) {
		t.Helper()
		if n, err := a.store.Nodes(t.Context()); n != want || err != nil {
			t.Errorf("Nodes = %d, %v; want %d", n, err, want)
		}
	}
	count(2)
	visitor, err := store.Open(t.Context(), store.Config{URL: a.url, Visitor: true, Node: "cli", Real: clock})
	if err != nil {
		t.Fatal(err)
	}
	count(2)
	if err := visitor.Close(); err != nil {
		t.Error(err)
	}
	clock.move(31 * time.Second)
	a.tend()
	count(1)
	b.tend()
	count(2)
	if err := b.store.Close(); err != nil {
		t.Error(err)
	}
	count(1)
}

func TestANodeThatIsAloneSharesWithNobody(t *testing.T) {
	t.Parallel()
	url := dbtest.Postgres(t)
	try := func(alone bool, want fault.Code, says string) *store.Store {
		t.Helper()
		s, err := store.Open(t.Context(), store.Config{URL: url, Node: "n", Alone: alone})
		if s != nil {
			t.Cleanup(func() { _ = s.Close() })
		}
		if fault.CodeOf(err) != want || err != nil && !strings.Contains(err.Error(), says) {
			t.Fatalf("alone %v: %v; want %q and %q", alone, err, want, says)
		}
		return s
	}
	leave := func(s *store.Store) {
		t.Helper()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	alone := try(true, "", "")
	try(true, fault.Conflict, "redis.url_env")
	try(false, fault.Conflict, "redis.url_env")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_ = alone.Ready(gone) // a probe that gives up does not give the place up
	try(false, fault.Conflict, "Redis")
	leave(alone)
	one, another := try(false, "", ""), try(false, "", "")
	try(true, fault.Conflict, "Redis")
	leave(one)
	try(true, fault.Conflict, "Redis")
	leave(another)
	leave(try(true, "", ""))
}

func TestANewerCheckpointIsLeftToWhoReadsIt(t *testing.T) {
	t.Parallel()
	cfg := store.Config{URL: dbtest.Postgres(t), Conns: 8, Real: &hand{}, Node: "old", Apps: map[string]store.AppPart{"booking": {Version: 1}}}
	old := node(t, cfg)
	cfg.Node, cfg.Apps = "new", map[string]store.AppPart{"booking": {Version: 2}}
	newer := node(t, cfg)
	newer.write("m1")
	newer.turn(func(c *turn.Commit) { c.Thread.GraphVer = 2 })
	newer.write("m2")
	old.tend()
	if claims, next, err := old.ClaimMailboxes(t.Context(), later(60), noon, 10); len(claims) != 0 || !next.IsZero() || err != nil {
		t.Errorf("the old node claimed %v, next %v, %v; want to leave it", claims, next, err)
	}
	newer.turn(nil)
	newer.write("m3")
	if err := newer.store.Close(); err != nil {
		t.Fatal(err)
	}
	old.tend() // nobody is left who can read it: it is claimed, for a human
	if c := old.claim(later(60), noon); c.Key != newer.key {
		t.Errorf("claimed %v, want %s", c, newer.key)
	}
	// What both can read both may claim.
	newer = node(t, cfg)
	newer.deliver(said("n1", "+254700000005"), 0)
	old.tend()
	old.claim(later(60), noon)
}

func TestClosingWaitsForWhoReads(t *testing.T) {
	t.Parallel()
	cfg, _ := home(t)
	b := node(t, cfg)
	b.write("m1")
	reading, goOn := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		err := b.Read(t.Context(), func(q db.Q) error {
			close(reading)
			<-goOn
			var n int
			return q.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM inbox").Scan(&n)
		})
		if err != nil {
			t.Errorf("the reader was disturbed: %v", err)
		}
	})
	<-reading
	wg.Go(func() {
		if err := b.store.Close(); err != nil {
			t.Error(err)
		}
	})
	close(goOn)
	wg.Wait()
	nothingRead := func(db.Q) error { t.Error("a closed store was read"); return nil }
	for range 2 {
		if err := b.Read(t.Context(), nothingRead); fault.CodeOf(err) != fault.Unavailable {
			t.Errorf("Read = %v, want unavailable", err)
		}
		if err := b.Write(t.Context(), nothingTx); fault.CodeOf(err) != fault.Unavailable {
			t.Errorf("Write = %v, want unavailable", err)
		}
		if err := b.store.Close(); err != nil {
			t.Errorf("closing again: %v", err)
		}
	}
	b = node(t, cfg) // its home is free
	b.want("1", "SELECT COUNT(*) FROM inbox")
}

func TestAForgottenTenantIsNotUsed(t *testing.T) {
	t.Parallel()
	cfg, _ := home(t)
	b := node(t, cfg)
	b.write("m1")
	if err := errors.Join(b.store.Forget(t.Context(), "01TENANT"), b.store.Forget(t.Context(), "01NOBODY")); err != nil {
		t.Fatal(err)
	}
	if err := b.Write(t.Context(), nothingTx); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("Write = %v, want not found", err)
	}
	if got := b.store.Awake(); len(got) != 0 {
		t.Errorf("awake: %v", got)
	}
	b.Turns = store.Turns{Tenant: b.tenant("01TENANT")}
	b.want("1", "SELECT COUNT(*) FROM inbox") // its database was not removed
	for _, id := range []ids.TenantID{"", ".", "..", "../control", "a/b"} {
		if _, err := b.store.Tenant(id, "booking"); err == nil {
			t.Errorf("%q was taken for a tenant's id", id)
		}
	}
}

// A process that starts puts in doubt what another, which is not gone after all,
// has under way. The other's word ends the doubt.
func TestP11AnOutcomeThatComesAfterAStartIsNoted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("m1")
	b.turn(func(c *turn.Commit) { c.Outbox = []outbox.Row{row(c, "o1", "a", outbox.Agent)} })
	rows, _ := b.send(noon, noon)
	b.reopen(later(1))
	b.want("doubt", "SELECT state FROM outbox WHERE id = 'o1'")
	b.settle(rows[0], outbox.Sent, later(1), outbox.Outcome{Verdict: outbox.Done, ProviderID: "p1"})
	if _, sent := b.send(noon, later(600)); sent != nil {
		t.Errorf("sent %v again", sent)
	}
}
