package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/message"
)

// Memory fills the store with open threads, each opened by a turn of its own,
// and measures this process's resident memory, at once and while it serves.
func Memory(ctx context.Context, opt Options, threads int) (r Report, err error) {
	if err := opt.check(); err != nil {
		return r, err
	}
	cfg, remove, err := opt.place()
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	w, err := newWorld(ctx, cfg, opt.Tenants)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	w.pump.Start(ctx)
	before, err := resident()
	if err != nil {
		return r, err
	}
	opt.Progress("opening %d threads at %d businesses", threads, opt.Tenants)
	start := w.clock.Now()
	if err := w.open(ctx, opt, threads); err != nil {
		return r, err
	}
	took := w.clock.Now().Sub(start)
	filled, err := resident()
	if err != nil {
		return r, err
	}
	opt.Progress("serving %d turns/s for %s", opt.Rate, opt.Span)
	highest, err := watchMemory(ctx, func(ctx context.Context) error {
		_, err := w.phase(ctx, opt, float64(opt.Rate))
		return err
	})
	if err != nil {
		return r, err
	}
	r.add("resident_before_mib", before, "before the first thread")
	r.add("resident_filled_mib", filled, "once all threads are open")
	r.add("resident_serving_mib", highest, fmt.Sprintf("the most while serving %d turns/s", opt.Rate))
	r.add("open_threads", float64(threads), "counted")
	r.add("tenants", float64(opt.Tenants), "")
	r.add("fill_s", round(took.Seconds()), "")
	return r, nil
}

// open has so many new customers say hello, and counts the threads after it.
func (w *world) open(ctx context.Context, opt Options, threads int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var people sync.WaitGroup
	for range opt.Contacts {
		people.Go(func() {
			for ctx.Err() == nil {
				n := int(next.Add(1)) - 1
				if n >= threads {
					return
				}
				var turns, acks series
				t := &talk{
					w: w, b: w.businesses[n%len(w.businesses)], phone: fmt.Sprintf("+2557%08d", n), turns: &turns, acks: &acks,
					arrival: func(context.Context) error { return nil },
				}
				if err := t.greet(ctx); err != nil {
					cancel(fmt.Errorf("customer %d: %w", n, err))
				}
			}
		})
	}
	people.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	open := 0
	for _, b := range w.businesses {
		err := b.store.Read(ctx, func(q db.Q) error {
			n, err := openThreads(ctx, q)
			open += n
			return err
		})
		if err != nil {
			return err
		}
	}
	if open != threads {
		return fmt.Errorf("the run produced wrong results: %d threads are open, want %d", open, threads)
	}
	return nil
}

// greet says the first word of a conversation and leaves it at that.
func (t *talk) greet(ctx context.Context) error {
	defer t.listen()()
	var last answer
	return t.step(ctx, &last, func(now time.Time) error {
		_, err := t.b.store.Deliver(ctx, []message.Inbound{t.says(0, message.Choice{})}, nil, now, 0)
		return err
	})
}

// watchMemory runs fn and returns the most memory seen meanwhile, in MiB.
func watchMemory(ctx context.Context, fn func(ctx context.Context) error) (highest float64, err error) {
	done := make(chan error, 1)
	go func() { done <- fn(ctx) }()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return highest, err
		case <-tick.C:
		}
		now, err := resident()
		if err != nil {
			return highest, errors.Join(err, <-done)
		}
		highest = max(highest, now)
	}
}

// Start measures how long the product takes from nothing to its first answer
// that it is ready, with the businesses of opt registered.
func Start(ctx context.Context, opt Options) (r Report, err error) {
	opt.Progress("defining %d businesses", opt.Tenants)
	p, err := newProduct(ctx, opt)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	took, err := p.restart(ctx, opt)
	if err != nil {
		return r, err
	}
	memory, err := resident()
	if err != nil {
		return r, err
	}
	r.add("start_ms", milliseconds(took), "from nothing to the first answer that it is ready")
	r.add("resident_mib", memory, "after it, what defining the businesses left included")
	r.add("tenants", float64(opt.Tenants), "")
	r.add("load_average_before", p.busy, "of this machine when the run began")
	return r, nil
}

// restart stops the product and starts it again, timed.
func (p *product) restart(ctx context.Context, opt Options) (time.Duration, error) {
	if err := p.down(); err != nil {
		return 0, err
	}
	watch := clock.Real{}
	start := watch.Now()
	if err := p.up(ctx, opt); err != nil {
		return 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/readyz", nil)
	if err != nil {
		return 0, fmt.Errorf("ask whether it is ready: %w", err)
	}
	client := &http.Client{Timeout: patience, Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	res, err := client.Do(req)
	if err != nil {
		return 0, fmt.Errorf("ask whether it is ready: %w", err)
	}
	took := watch.Now().Sub(start)
	if err := res.Body.Close(); err != nil {
		return 0, fmt.Errorf("ask whether it is ready: %w", err)
	}
	if res.StatusCode != http.StatusOK || len(p.server.Tenants()) != opt.Tenants {
		return 0, fmt.Errorf("the product started with %d businesses of %d and answered %s", len(p.server.Tenants()), opt.Tenants, res.Status)
	}
	return took, nil
}
