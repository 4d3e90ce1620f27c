package coord_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/coord"
	"github.com/ratiba/ratiba/internal/ids"
)

// town is a source of many tenants that checks what a pump promises it.
type town struct {
	workers, share, claimers int
	claimTime, jobTime       time.Duration

	mu       sync.Mutex
	random   *rand.Rand
	work     map[ids.TenantID]int // due now
	claiming map[ids.TenantID]bool
	waits    map[ids.TenantID][]string // who was claimed since the tenant is due
	running  int
	most     int // claims at once
	done     int
	faults   []string
}

func (w *town) fault(format string, args ...any) {
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

// add gives a tenant work. It has waited since then, unless it waits already or
// is being claimed.
func (w *town) add(t ids.TenantID, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.work[t] += n
	if _, waiting := w.waits[t]; !waiting && !w.claiming[t] {
		w.waits[t] = nil
	}
}

func (w *town) begin(t ids.TenantID, limit int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.claiming[t] {
		w.fault("two claims of %s at once", t)
	}
	if limit < 1 || limit > w.share {
		w.fault("a claim of %d, with a share of %d", limit, w.share)
	}
	w.claiming[t] = true
	w.most = max(w.most, len(w.claiming))
	delete(w.waits, t)
	for other, before := range w.waits {
		if slices.Contains(before, string(t)) {
			w.fault("%s was claimed twice while %s waited", t, other)
		}
		w.waits[other] = append(before, string(t))
	}
}

// end takes work off the tenant; what is left waits from now on.
func (w *town) end(t ids.TenantID, limit int) (n, left int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n = min(limit, w.work[t])
	w.work[t] -= n
	delete(w.claiming, t)
	if w.running += n; w.running > w.workers {
		w.fault("%d jobs at once", w.running)
	}
	if w.work[t] > 0 {
		w.waits[t] = nil
	}
	return n, w.work[t]
}

func (w *town) upTo(d time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Duration(w.random.Int64N(int64(d) + 1))
}

func (w *town) Claim(_ context.Context, t ids.TenantID, limit int) (jobs []coord.Job, next time.Time, err error) {
	w.begin(t, limit)
	<-time.After(w.upTo(w.claimTime))
	n, left := w.end(t, limit)
	for range n {
		jobs = append(jobs, coord.Job{Run: func(context.Context) {
			<-time.After(w.upTo(w.jobTime))
			w.mu.Lock()
			defer w.mu.Unlock()
			w.running--
			w.done++
		}})
	}
	if left > 0 {
		next = time.Now().Add(-time.Hour) // due long since is no reason to go first
	}
	return jobs, next, nil
}

// Whatever the load: no tenant is claimed twice while another one waits, none
// twice at once, none beyond its share, no more runs than there are workers,
// and all work is done.
func TestTenantsAreServedInRotation(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := &town{
			workers: rapid.IntRange(1, 20).Draw(rt, "workers"), claimers: rapid.IntRange(1, 9).Draw(rt, "claimers"),
			claimTime: 3 * time.Millisecond, jobTime: time.Second,
			random: rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0)),
			work:   map[ids.TenantID]int{}, claiming: map[ids.TenantID]bool{}, waits: map[ids.TenantID][]string{},
		}
		w.share = max(1, w.workers/4)
		type arrival struct {
			Tenant, Work int
			After        time.Duration
		}
		arrivals := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) arrival {
			return arrival{
				rapid.IntRange(0, 12).Draw(rt, "tenant"), rapid.SampledFrom([]int{1, 1, 2, 80}).Draw(rt, "work"),
				time.Duration(rapid.IntRange(0, 500).Draw(rt, "after_ms")) * time.Millisecond,
			}
		}), 1, 40).Draw(rt, "arrivals")
		total := 0
		synctest.Test(t, func(t *testing.T) {
			p := coord.NewPump(coord.PumpConfig{
				Name: "test", Source: w, Clock: clock.Real{}, Logger: slog.New(slog.DiscardHandler), Workers: w.workers, Claimers: w.claimers,
				Due: func(context.Context) ([]ids.TenantID, error) { return nil, nil },
			})
			p.Start(t.Context())
			for _, a := range arrivals {
				<-time.After(a.After)
				synctest.Wait()
				total += a.Work
				name := ids.TenantID(fmt.Sprint("t", a.Tenant))
				w.add(name, a.Work)
				p.Wake(name, time.Now())
			}
			if err := p.Idle(t.Context()); err != nil {
				w.fault("%v", err)
			}
			p.Stop(t.Context())
		})
		if w.done != total {
			w.fault("%d jobs done of %d", w.done, total)
		}
		if w.most > w.claimers {
			w.fault("%d claims at once", w.most)
		}
		if len(w.faults) > 0 {
			rt.Fatal(strings.Join(w.faults, "\n"))
		}
	})
}

// slowly is a source whose claims take a while.
type slowly struct {
	mu       sync.Mutex
	now, max int
}

func (s *slowly) Claim(context.Context, ids.TenantID, int) ([]coord.Job, time.Time, error) {
	s.mu.Lock()
	s.now++
	s.max = max(s.max, s.now)
	s.mu.Unlock()
	<-time.After(time.Second)
	s.mu.Lock()
	s.now--
	s.mu.Unlock()
	return nil, time.Time{}, nil
}

func TestTenantsAreClaimedSideBySide(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slowly{}
		p := pump(&source{}, func(c *coord.PumpConfig) {
			c.Source = s
			c.Due = func(context.Context) (all []ids.TenantID, err error) {
				for i := range 24 {
					all = append(all, ids.TenantID(strconv.Itoa(i)))
				}
				return all, nil
			}
		})
		start := time.Now()
		p.Start(t.Context())
		if err := p.Idle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d != 3*time.Second || s.max != 8 {
			t.Errorf("24 claims of 1 s took %v, %d at once; want 3 s and 8", d, s.max)
		}
		p.Stop(t.Context())
	})
}

// gate is a source without work whose claims wait to be let through.
type gate chan ids.TenantID

func (g gate) Claim(_ context.Context, t ids.TenantID, _ int) ([]coord.Job, time.Time, error) {
	g <- t
	return nil, time.Time{}, nil
}

// Who came first is served first, and an old due time is no way past the others.
func TestTheLongestWaitingIsFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := make(gate)
		p := pump(&source{}, func(c *coord.PumpConfig) { c.Source, c.Claimers, c.Sweep = g, 1, 100*time.Hour })
		p.Start(t.Context())
		synctest.Wait() // "t" is being claimed
		now := time.Now()
		p.Wake("t", now.Add(2*time.Hour))
		p.Wake("t", now.Add(time.Hour))
		if next := p.Next(); !next.Equal(now.Add(time.Hour)) {
			t.Errorf("Next = %v, want the earlier of those woken for during a claim", next)
		}
		for _, name := range []ids.TenantID{"a", "b", "c", "d", "e"} {
			p.Wake(name, now)
		}
		<-time.After(time.Second)
		p.Wake("late", now.Add(-time.Hour))
		var order []ids.TenantID
		for range 7 {
			order = append(order, <-g)
		}
		if want := []ids.TenantID{"t", "a", "b", "c", "d", "e", "late"}; !slices.Equal(order, want) {
			t.Errorf("claimed %v, want %v", order, want)
		}
		start := time.Now()
		if <-g; !time.Now().Equal(now.Add(time.Hour)) {
			t.Errorf("claimed again after %v, want an hour after the wake", time.Since(start))
		}
		p.Stop(t.Context())
	})
}

// A database that answers slowly, or not, holds up the sweep and nothing else.
func TestASlowListHoldsNothingUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked []time.Duration
		start := time.Now()
		ran := make(chan time.Time, 1)
		s := &source{job: func(context.Context) { ran <- time.Now() }}
		p := pump(s, func(c *coord.PumpConfig) {
			c.Due = func(ctx context.Context) ([]ids.TenantID, error) {
				asked = append(asked, time.Since(start))
				<-time.After(20 * time.Second) // a driver that does not listen
				return nil, ctx.Err()
			}
		})
		p.Start(t.Context())
		synctest.Wait()
		s.add(start)
		p.Wake("t", start)
		if d := (<-ran).Sub(start); d != 0 {
			t.Errorf("ran after %v, want at once", d)
		}
		<-time.After(80 * time.Second)
		if n := p.Stop(t.Context()); n != 0 || len(asked) < 2 {
			t.Errorf("%d cut off, asked at %v", n, asked)
		}
		for i := range asked[1:] {
			if asked[i+1]-asked[i] < 20*time.Second {
				t.Errorf("asked at %v, want one at a time", asked)
			}
		}
	})
}

func TestAFailedListIsAskedForAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ran := make(chan time.Time, 1)
		start := time.Now()
		var log strings.Builder
		s := &source{due: []time.Time{start}, job: func(context.Context) { ran <- time.Now() }}
		failed := false
		p := pump(s, func(c *coord.PumpConfig) {
			c.Logger = slog.New(slog.NewTextHandler(&log, nil))
			c.Due = func(context.Context) ([]ids.TenantID, error) {
				if !failed {
					failed = true
					return nil, errors.New("connection refused")
				}
				return []ids.TenantID{"t"}, nil
			}
		})
		p.Start(t.Context())
		if d := (<-ran).Sub(start); d != 15*time.Second {
			t.Errorf("ran after %v, want at the next sweep", d)
		}
		p.Stop(t.Context())
		if n := strings.Count(log.String(), "work.sweep_failed"); n != 1 {
			t.Errorf("logged %s", &log)
		}
	})
}

// A source that announces due work and has none, as when another process holds
// the lease, is asked again, and not all the time.
func TestThePumpDoesNotSpin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		claims := 0
		p := pump(&source{}, func(c *coord.PumpConfig) {
			c.Source = announcer(func() { claims++ })
			c.Sweep = time.Hour
		})
		p.Start(t.Context())
		<-time.After(time.Second)
		p.Stop(t.Context())
		if claims < 2 || claims > 25 {
			t.Errorf("%d claims in a second without work, want about 20", claims)
		}
	})
}

// announcer is a source that always announces due work and never has any.
type announcer func()

func (a announcer) Claim(context.Context, ids.TenantID, int) ([]coord.Job, time.Time, error) {
	a()
	return nil, time.Now(), nil
}

// While every worker is busy nothing is claimed, however often it is woken.
func TestABusyPumpClaimsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := &source{job: func(context.Context) { <-release }}
		for range 10 {
			s.add(time.Now())
		}
		p := pump(s, func(c *coord.PumpConfig) { c.Workers = 4 })
		p.Start(t.Context())
		synctest.Wait()
		before := s.claims
		for range 100 {
			p.Wake("t", time.Now())
			p.Wake("other", time.Now())
			p.Nudge()
			synctest.Wait()
		}
		if s.claims != before || len(s.due) != 6 {
			t.Errorf("%d claims while busy, %d left; want none and 6", s.claims-before, len(s.due))
		}
		close(release)
		p.Stop(t.Context())
	})
}

// Next is the earliest of all due times, whoever was woken for what in between.
func TestNextIsTheEarliest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		now := time.Date(2026, 4, 25, 9, 0, 0, 0, time.UTC)
		p := pump(&source{}, func(c *coord.PumpConfig) { c.Clock = clock.NewFixed(now) })
		var want time.Time
		for range rapid.IntRange(0, 60).Draw(rt, "wakes") {
			at := now.Add(time.Duration(rapid.IntRange(0, 1000).Draw(rt, "in_s")) * time.Second)
			p.Wake(ids.TenantID(strconv.Itoa(rapid.IntRange(0, 20).Draw(rt, "tenant"))), at)
			if want.IsZero() || at.Before(want) {
				want = at
			}
			if !p.Next().Equal(want) {
				rt.Fatalf("Next = %v, want %v", p.Next(), want)
			}
		}
	})
}

// A wake takes as long with 2,000 tenants as with one.
func BenchmarkWake(b *testing.B) {
	for _, tenants := range []int{1, 2000} {
		b.Run(strconv.Itoa(tenants), func(b *testing.B) {
			p := pump(&source{}, func(c *coord.PumpConfig) {
				c.Due = func(context.Context) ([]ids.TenantID, error) { return nil, nil }
			})
			names := make([]ids.TenantID, tenants)
			for i := range names {
				names[i] = ids.TenantID(strconv.Itoa(i))
			}
			p.Start(b.Context())
			defer p.Stop(b.Context())
			later := time.Now().Add(100 * time.Hour)
			i := 0
			for b.Loop() {
				i++
				p.Wake(names[i%tenants], later.Add(-time.Duration(i)*time.Microsecond))
			}
		})
	}
}
