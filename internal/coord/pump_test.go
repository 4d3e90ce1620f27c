package coord_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/coord"
	"github.com/ratiba/ratiba/internal/ids"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// source hands out jobs at their due times.
type source struct {
	mu     sync.Mutex
	due    []time.Time
	job    func(context.Context)
	err    error
	claims int
	hidden bool // announces no next time, as if the wake was lost
}

func (s *source) Claim(_ context.Context, _ ids.TenantID, limit int) (jobs []coord.Job, next time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.claims++
	if s.err != nil {
		err, s.err = s.err, nil
		return nil, time.Time{}, err
	}
	var rest []time.Time
	for _, at := range s.due {
		if !at.After(time.Now()) && len(jobs) < limit {
			jobs = append(jobs, coord.Job{Run: s.job})
			continue
		}
		rest = append(rest, at)
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	if s.due = rest; s.hidden {
		next = time.Time{}
	}
	return jobs, next, nil
}

func (s *source) add(at ...time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.due = append(s.due, at...)
}

func pump(s *source, change func(c *coord.PumpConfig)) *coord.Pump {
	cfg := coord.PumpConfig{
		Name: "test", Source: s, Clock: clock.Real{}, Logger: slog.New(slog.DiscardHandler),
		Due: func(context.Context) ([]ids.TenantID, error) { return []ids.TenantID{"t"}, nil },
	}
	if change != nil {
		change(&cfg)
	}
	return coord.NewPump(cfg)
}

func TestAWakeRunsWorkAtOnceAndADueTimeLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var ran []time.Duration
		s := &source{job: func(context.Context) { ran = append(ran, time.Since(start)) }}
		p := pump(s, func(c *coord.PumpConfig) { c.Sweep = time.Hour; c.Workers = 1 })
		p.Start(t.Context())
		synctest.Wait()
		s.add(start, start.Add(90*time.Second))
		p.Wake("t", start)
		synctest.Wait()
		if len(ran) != 1 || ran[0] != 0 {
			t.Fatalf("ran at %v, want at once", ran)
		}
		if next := p.Next(); !next.Equal(start.Add(90 * time.Second)) {
			t.Errorf("Next = %v, want 90 s on", next)
		}
		if err := p.Idle(t.Context()); err != nil {
			t.Errorf("Idle: %v; what is due later is no work", err)
		}
		<-time.After(91 * time.Second)
		p.Stop(t.Context())
		if len(ran) != 2 || ran[1] != 90*time.Second {
			t.Errorf("ran at %v, want the second after 90 s", ran)
		}
		if !p.Next().IsZero() {
			t.Errorf("Next = %v, want none", p.Next())
		}
	})
}

func TestASweepFindsWhatAWakeMissed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ran := make(chan time.Time, 1)
		s := &source{hidden: true, job: func(context.Context) { ran <- time.Now() }}
		p := pump(s, nil)
		p.Start(t.Context())
		synctest.Wait()
		start := time.Now()
		s.add(start)
		if d := (<-ran).Sub(start); d > 15*time.Second {
			t.Errorf("found after %v, want within the sweep of 15 s", d)
		}
		p.Stop(t.Context())
	})
}

func TestAFailedClaimIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ran := make(chan time.Time, 1)
		start := time.Now()
		s := &source{err: errors.New("disk full"), due: []time.Time{start}, job: func(context.Context) { ran <- time.Now() }}
		p := pump(s, nil)
		p.Start(t.Context())
		if d := (<-ran).Sub(start); d != time.Second {
			t.Errorf("tried again after %v, want 1 s", d)
		}
		p.Stop(t.Context())
	})
}

func TestWorkersAreBoundedAndAllWorkIsDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var running, most, done int
		s := &source{job: func(context.Context) {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			<-time.After(time.Second)
			mu.Lock()
			running--
			done++
			mu.Unlock()
		}}
		for range 20 {
			s.add(time.Now())
		}
		p := pump(s, func(c *coord.PumpConfig) { c.Workers = 3 })
		p.Start(t.Context())
		if err := p.Idle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if most != 3 || done != 20 {
			t.Errorf("%d at once, %d done; want 3 and 20", most, done)
		}
		p.Stop(t.Context())
	})
}

// What is claimed holds a lease, which must not run out while it waits for a worker.
func TestNothingIsClaimedThatCannotRunAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		started := 0
		s := &source{}
		s.job = func(context.Context) {
			mu.Lock()
			started++
			mu.Unlock()
			<-time.After(time.Second)
		}
		for range 20 {
			s.add(time.Now())
		}
		p := pump(s, func(c *coord.PumpConfig) { c.Workers = 3 })
		p.Start(t.Context())
		for range 5 {
			synctest.Wait()
			s.mu.Lock()
			mu.Lock()
			if claimed := 20 - len(s.due); claimed != started {
				t.Errorf("%d are claimed and %d have started", claimed, started)
			}
			mu.Unlock()
			s.mu.Unlock()
			<-time.After(time.Second)
		}
		if err := p.Idle(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.Stop(t.Context())
	})
}

func TestIdleEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := &source{due: []time.Time{time.Now()}, job: func(context.Context) { <-release }}
		p := pump(s, nil)
		p.Start(t.Context())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.Idle(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Idle = %v, want the deadline", err)
		}
		close(release)
		p.Stop(t.Context())
	})
}

func TestStopLetsJobsFinish(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		started := make(chan struct{})
		var finished bool
		s := &source{due: []time.Time{time.Now()}, job: func(ctx context.Context) {
			close(started)
			<-time.After(time.Minute)
			finished = ctx.Err() == nil
		}}
		p := pump(s, nil)
		ctx, cancel := context.WithCancel(t.Context())
		p.Start(ctx)
		<-started
		cancel() // the caller's end is no order to drop work
		p.Stop(t.Context())
		if !finished {
			t.Error("the job was cut off")
		}
		p.Stop(t.Context())
	})
	pump(&source{}, nil).Stop(t.Context()) // one that never started
}

func TestNudgeLooksAtAClockThatWasMoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		product := clock.NewFixed(time.Now())
		claimed := make(chan struct{}, 10)
		s := &source{}
		p := pump(s, func(c *coord.PumpConfig) {
			c.Clock, c.Sweep = product, 100*time.Hour
			c.Source = claimer(func() { claimed <- struct{}{} })
		})
		p.Start(t.Context())
		<-claimed
		synctest.Wait()
		p.Wake("t", product.Now().Add(time.Hour))
		p.Wake("t", product.Now().Add(2*time.Hour)) // the earlier time stands
		synctest.Wait()
		start := time.Now()
		product.Add(time.Hour)
		p.Nudge()
		<-claimed
		if d := time.Since(start); d != 0 {
			t.Errorf("looked after %v, want at once", d)
		}
		p.Stop(t.Context())
	})
}

// claimer is a source without work that tells when it is asked.
type claimer func()

func (c claimer) Claim(context.Context, ids.TenantID, int) ([]coord.Job, time.Time, error) {
	c()
	return nil, time.Time{}, nil
}
