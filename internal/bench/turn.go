package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
)

// Turn measures booking conversations: first as many turns as the engine
// commits, then half of that in paced arrivals; then, if asked, the peer, alone.
func Turn(ctx context.Context, opt Options) (r Report, err error) {
	if err := opt.check(); err != nil {
		return r, err
	}
	if r, err = ours(ctx, opt); err == nil && opt.Peer != nil {
		err = opt.Peer.measure(ctx, opt, &r)
	}
	return r, err
}

func ours(ctx context.Context, opt Options) (r Report, err error) {
	cfg, remove, err := opt.place()
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	load := busy()
	disk, err := flushTime(cfg.Dir)
	if err != nil {
		return r, err
	}
	w, err := newWorld(ctx, cfg, opt.Tenants)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	w.pump.Start(ctx)

	opt.Progress("%d businesses, %d customers at once, %s at full speed", opt.Tenants, opt.Contacts, opt.Span)
	stop, err := profile(opt.Profile)
	if err != nil {
		return r, err
	}
	full, err := w.phase(ctx, opt, 0)
	if err = errors.Join(err, stop()); err != nil {
		return r, err
	}
	speed := rate(len(full.turns), full.span)
	opt.Progress("%.0f turns/s; now %s at half of that, arrivals paced", speed, opt.Span)
	half, err := w.phase(ctx, opt, speed/2)
	if err != nil {
		return r, err
	}
	found, err := w.audit(ctx, full.held+half.held)
	if err != nil {
		return r, err
	}
	r.turns(full, half, found)
	r.add("tenants", float64(opt.Tenants), "")
	r.add("contacts_at_once", float64(opt.Contacts), "")
	r.add("flush_p50_ms", disk, "of 4 KiB to this disk")
	r.add("load_average_before", load, "of this machine when the run began: above its cores, others took part in it")
	return r, nil
}

func (r *Report) turns(full, half phase, found counts) {
	r.add("turns_per_s", rate(len(full.turns), full.span), "committed, at full speed")
	r.add("turn_p50_ms", quantile(full.turns, 0.5), "from stored to committed, at full speed")
	r.add("turn_p95_ms", quantile(full.turns, 0.95), "")
	r.add("turn_p99_ms", quantile(full.turns, 0.99), "")
	r.add("ack_p99_ms", quantile(full.acks, 0.99), "from received to stored, at full speed")
	r.add("cpu_ms_per_turn", round(milliseconds(full.cpu)/float64(full.held*turnsPer)), "of this process, its customers included")
	r.add("half_turns_per_s", rate(len(half.turns), half.span), "committed, at half of full speed, arrivals paced")
	r.add("half_turn_p50_ms", quantile(half.turns, 0.5), "from stored to committed")
	r.add("half_turn_p95_ms", quantile(half.turns, 0.95), "")
	r.add("half_turn_p99_ms", quantile(half.turns, 0.99), "")
	r.add("half_ack_p99_ms", quantile(half.acks, 0.99), "from received to stored")
	r.add("half_late_p99_ms", quantile(half.late, 0.99), "from the time an arrival was due to its start")
	r.add("conversations", float64(full.held+half.held), "each a confirmed paid booking, checked")
	r.add("model_calls_per_turn", round(float64(found.calls)/float64(found.turns)), "answered at once, recorded")
	r.add("outbox_rows_per_turn", round(float64(found.queued)/float64(found.turns)), "")
}

// phase is what one measured phase found: durations in ascending order.
type phase struct {
	span              time.Duration
	turns, acks, late []time.Duration
	held              int           // conversations, those that ended outside of the span included
	cpu               time.Duration // what this process took for them
}

// phase has customers hold conversations one after the other, for a warm-up and
// the span. At speed 0 each writes as soon as it is answered; otherwise they
// write speed times a second together, at random intervals.
func (w *world) phase(ctx context.Context, opt Options, speed float64) (phase, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var turns, acks, late series
	arrival := func(context.Context) error { return nil }
	begun := w.clock.Now()
	from := begun.Add(opt.Span / 5)
	until := from.Add(opt.Span)
	over, end := context.WithDeadline(ctx, until)
	defer end()
	var pacing sync.WaitGroup
	if speed > 0 {
		p := &pacer{due: make(chan time.Time, int(speed*patience.Seconds())+1), late: &late, clock: w.clock, over: over}
		arrival = p.wait
		pacing.Go(func() { p.run(speed) })
	}
	before, err := cpuTime()
	if err != nil {
		return phase{}, err
	}
	var held atomic.Int64
	var people sync.WaitGroup
	for i := range opt.Contacts {
		b := w.businesses[i%len(w.businesses)]
		people.Go(func() {
			for ctx.Err() == nil && w.clock.Now().Before(until) {
				n := int(b.held.Add(1)) - 1
				t := &talk{w: w, b: b, n: n, phone: fmt.Sprintf("+2547%03d%05d", i%len(w.businesses), n), turns: &turns, acks: &acks, arrival: arrival}
				if err := t.hold(ctx); err != nil {
					cancel(fmt.Errorf("conversation %d of %s: %w", n, b.turns.Tenant.Slug, err))
					return
				}
				held.Add(1)
			}
		})
	}
	people.Wait()
	end()
	pacing.Wait()
	after, err := cpuTime()
	if err != nil {
		return phase{}, err
	}
	return phase{
		span: opt.Span, turns: turns.within(from, until), acks: acks.within(from, until), late: late.within(from, until), held: int(held.Load()),
		cpu: after - before,
	}, context.Cause(ctx)
}

// pacer says when to write: at random intervals, whether or not what was
// written before is answered.
type pacer struct {
	clock clock.Clock
	over  context.Context //nolint:containedctx // the phase: when it is over, what was begun ends unpaced.
	due   chan time.Time
	late  *series
}

// run makes arrivals due, speed of them a second, until the phase is over.
func (p *pacer) run(speed float64) {
	gaps := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // arrivals, the same in every run.
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	next := p.clock.Now()
	for {
		select {
		case <-p.over.Done():
			return
		case <-tick.C:
		}
		for now := p.clock.Now(); !next.After(now); next = next.Add(time.Duration(gaps.ExpFloat64() / speed * float64(time.Second))) {
			select {
			case p.due <- next:
			case <-p.over.Done():
				return
			}
		}
	}
}

// wait returns when it is time to write, and notes by how much it is late.
func (p *pacer) wait(ctx context.Context) error {
	select {
	case due := <-p.due:
		now := p.clock.Now()
		p.late.add(now, now.Sub(due))
		return nil
	case <-p.over.Done():
		return ctx.Err()
	}
}
