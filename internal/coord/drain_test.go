package coord_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ratiba/ratiba/internal/coord"
	"github.com/ratiba/ratiba/internal/ids"
)

// A drain claims no more, lets finish what can, cuts off the rest when its time
// is over and says how much that was.
func TestStopCutsOffWhatDoesNotFinish(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		n, finished, cut := 0, 0, 0
		s := &source{}
		s.job = func(ctx context.Context) {
			mu.Lock()
			n++
			takes := time.Duration(n) * 3 * time.Second
			mu.Unlock()
			select {
			case <-time.After(takes):
				mu.Lock()
				finished++
				mu.Unlock()
			case <-ctx.Done():
				mu.Lock()
				cut++
				mu.Unlock()
			}
		}
		for range 10 {
			s.add(time.Now())
		}
		p := pump(s, func(c *coord.PumpConfig) { c.Workers = 5 })
		p.Start(t.Context())
		synctest.Wait()
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
		defer cancel()
		if got := p.Stop(ctx); got != 3 {
			t.Errorf("Stop = %d, want the 3 that take 9 s and more", got)
		}
		if d := time.Since(start); d != 8*time.Second {
			t.Errorf("took %v, want 8 s", d)
		}
		if finished != 2 || cut != 3 || len(s.due) != 5 {
			t.Errorf("%d finished, %d cut off, %d unclaimed; want 2, 3 and 5", finished, cut, len(s.due))
		}
		if got := p.Stop(ctx); got != 0 {
			t.Errorf("a second Stop = %d", got)
		}
	})
}

// A job that does not listen cannot hold up the process's end.
func TestStopDoesNotWaitForTheDeaf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := &source{due: []time.Time{time.Now()}, job: func(context.Context) { <-release }}
		p := pump(s, nil)
		p.Start(t.Context())
		synctest.Wait()
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
		defer cancel()
		if got := p.Stop(ctx); got != 1 {
			t.Errorf("Stop = %d, want 1", got)
		}
		if d := time.Since(start); d > 9*time.Second {
			t.Errorf("took %v, want 9 s at most", d)
		}
		close(release)
	})
}

// lagging is a source whose claim answers late.
type lagging struct {
	begun chan struct{}
	takes time.Duration
	job   func(context.Context)
}

func (l lagging) Claim(ctx context.Context, _ ids.TenantID, _ int) ([]coord.Job, time.Time, error) {
	close(l.begun)
	select {
	case <-time.After(l.takes):
		return []coord.Job{{Run: l.job}}, time.Time{}, nil
	case <-ctx.Done():
		return nil, time.Time{}, ctx.Err()
	}
}

func TestADrainRunsWhatWasBeingClaimed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		takes time.Duration
		ran   bool
	}{"in time": {2 * time.Second, true}, "too late": {20 * time.Second, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log strings.Builder
				ran := false
				l := lagging{make(chan struct{}), c.takes, func(ctx context.Context) { ran = ctx.Err() == nil }}
				p := pump(&source{}, func(c *coord.PumpConfig) {
					c.Source, c.Logger = l, slog.New(slog.NewTextHandler(&log, nil))
				})
				p.Start(t.Context())
				<-l.begun
				ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
				defer cancel()
				if n := p.Stop(ctx); n != 0 || ran != c.ran || log.String() != "" {
					t.Errorf("Stop = %d, ran %v, logged %q; want 0, %v and nothing", n, ran, &log, c.ran)
				}
			})
		})
	}
}

// leased is a source of one job with a lease.
type leased struct {
	mu    sync.Mutex
	given bool
	job   coord.Job
}

func (l *leased) Claim(context.Context, ids.TenantID, int) ([]coord.Job, time.Time, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.given {
		return nil, time.Time{}, nil
	}
	l.given = true
	return []coord.Job{l.job}, time.Time{}, nil
}

func TestALeaseIsExtendedWhileItsJobRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		start := time.Now()
		var beats []time.Duration
		whole := false
		s := &leased{job: coord.Job{
			Run: func(ctx context.Context) {
				<-time.After(18 * time.Second)
				whole = ctx.Err() == nil
			},
			Beat: func(ctx context.Context) error {
				if beats = append(beats, time.Since(start)); len(beats) == 1 {
					<-ctx.Done() // a database that hangs
				}
				return errors.New("lease lost")
			},
		}}
		p := pump(&source{}, func(c *coord.PumpConfig) {
			c.Source = s
			c.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		p.Start(t.Context())
		if err := p.Idle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !whole {
			t.Error("a lost lease cut the job off")
		}
		n := len(beats)
		if n < 3 || beats[0] != 5*time.Second || beats[n-1] > 18*time.Second {
			t.Errorf("beats at %v, want one each 5 s while the job runs", beats)
		}
		<-time.After(time.Minute)
		if len(beats) != n {
			t.Errorf("beats at %v after the job's end", beats[n:])
		}
		p.Stop(t.Context())
		if got := strings.Count(log.String(), "level=DEBUG msg=work.beat_failed"); got != n {
			t.Errorf("%d of %d failed beats are logged: %s", got, n, &log)
		}
	})
}
