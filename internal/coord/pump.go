// Package coord coordinates workers: it wakes them, bounds them and shares
// rates between them. Everything here is a hint that saves time; losing it
// costs speed, never correctness. One process needs nothing outside itself.
// The package imports only leaves.
package coord

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/ids"
)

// Job is one claimed piece of work. It owns its errors.
type Job func(ctx context.Context)

// Source claims work of one tenant.
type Source interface {
	// Claim leases due work and returns it, and when work is due next (zero:
	// when woken). Work that is due now but over limit is announced by a next
	// time that has passed.
	Claim(ctx context.Context, tenant ids.TenantID, limit int) (jobs []Job, next time.Time, err error)
}

// PumpConfig configures a Pump.
type PumpConfig struct {
	Name    string // for logs
	Source  Source
	Clock   clock.Clock // what due times of this kind of work follow
	Logger  *slog.Logger
	Workers int           // jobs at once, default 16
	Sweep   time.Duration // how often tenants are looked at without a wake, default 15 s
	// Tenants lists who a sweep looks at.
	Tenants func() []ids.TenantID
}

// Pump runs due work of many tenants: at once when woken, at its due time, and
// on a sweep for what a wake missed. It is safe for concurrent use.
type Pump struct {
	cfg  PumpConfig
	kick chan struct{}

	mu      sync.Mutex
	due     map[ids.TenantID]time.Time // known next due times
	running int
	change  chan struct{} // closed and replaced whenever the state moves

	stop context.CancelFunc
	done chan struct{}
}

// NewPump returns a pump that does nothing until it is started.
func NewPump(cfg PumpConfig) *Pump {
	if cfg.Workers == 0 {
		cfg.Workers = 16
	}
	if cfg.Sweep == 0 {
		cfg.Sweep = 15 * time.Second
	}
	return &Pump{cfg: cfg, kick: make(chan struct{}, 1), due: map[ids.TenantID]time.Time{}, change: make(chan struct{})}
}

// Wake says that the tenant has work due at at. An earlier known time stands.
func (p *Pump) Wake(tenant ids.TenantID, at time.Time) {
	p.mu.Lock()
	if known, ok := p.due[tenant]; !ok || at.Before(known) {
		p.due[tenant] = at
	}
	p.mu.Unlock()
	p.Nudge()
}

// Nudge makes the pump look again at its clock and at what is due. It does not
// block.
func (p *Pump) Nudge() {
	select {
	case p.kick <- struct{}{}:
	default:
	}
}

// Next returns the earliest known due time, zero when there is none.
func (p *Pump) Next() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	var next time.Time
	for _, at := range p.due {
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next
}

// Idle waits until nothing runs and nothing known is due.
func (p *Pump) Idle(ctx context.Context) error {
	for {
		p.mu.Lock()
		busy, change := p.running > 0, p.change
		for _, at := range p.due {
			busy = busy || !at.After(p.cfg.Clock.Now())
		}
		p.mu.Unlock()
		if !busy {
			return nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Start runs the pump until Stop.
func (p *Pump) Start(ctx context.Context) {
	ctx, p.stop = context.WithCancel(context.WithoutCancel(ctx))
	p.done = make(chan struct{})
	p.sweep()
	go p.loop(ctx)
}

// Stop ends the loop, lets jobs under way finish, and returns.
func (p *Pump) Stop() {
	if p.stop == nil {
		return
	}
	p.stop()
	<-p.done
}

func (p *Pump) sweep() {
	now := p.cfg.Clock.Now()
	for _, t := range p.cfg.Tenants() {
		p.Wake(t, now)
	}
}

func (p *Pump) loop(ctx context.Context) {
	var jobs sync.WaitGroup
	defer close(p.done)
	defer jobs.Wait()
	slots := make(chan struct{}, p.cfg.Workers)
	sweep := time.NewTicker(p.cfg.Sweep)
	defer sweep.Stop()
	// A claim outlives the stop signal, so that what it leased is run.
	work := context.WithoutCancel(ctx)
	for {
		wait := p.round(work, slots, &jobs)
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-p.kick:
		case <-timer.C:
		case <-sweep.C:
			p.sweep()
		}
		timer.Stop()
	}
}

// round claims for every tenant that is due and returns how long to sleep.
func (p *Pump) round(ctx context.Context, slots chan struct{}, jobs *sync.WaitGroup) time.Duration {
	now := p.cfg.Clock.Now()
	var due []ids.TenantID
	wait := p.cfg.Sweep
	p.mu.Lock()
	for t, at := range p.due {
		if !at.After(now) {
			due = append(due, t)
			p.running++ // the claim itself
			delete(p.due, t)
		} else if d := at.Sub(now); d < wait {
			wait = d
		}
	}
	p.mu.Unlock()
	for i, t := range due {
		if len(slots) == cap(slots) {
			p.postpone(due[i:], now)
			return wait // a job that ends kicks the loop
		}
		p.claim(ctx, t, slots, jobs)
	}
	if len(due) > 0 {
		return 0
	}
	return wait
}

// postpone keeps tenants due for which no worker is free.
func (p *Pump) postpone(due []ids.TenantID, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range due {
		p.running--
		if known, ok := p.due[t]; !ok || now.Before(known) {
			p.due[t] = now
		}
	}
}

func (p *Pump) claim(ctx context.Context, t ids.TenantID, slots chan struct{}, jobs *sync.WaitGroup) {
	// What is claimed runs at once: waiting here, its lease would run out.
	claimed, next, err := p.cfg.Source.Claim(ctx, t, cap(slots)-len(slots))
	if err != nil {
		p.cfg.Logger.LogAttrs(ctx, slog.LevelError, "work.claim_failed",
			slog.String("pump", p.cfg.Name), slog.String("tenant_id", string(t)), slog.String("error", err.Error()))
		next = p.cfg.Clock.Now().Add(time.Second)
	}
	if !next.IsZero() {
		p.Wake(t, next) // before the claim ends, so that Idle sees one or the other
	}
	p.mu.Lock()
	p.running += len(claimed) - 1
	p.mu.Unlock()
	p.moved()
	for _, job := range claimed {
		slots <- struct{}{}
		jobs.Go(func() {
			job(ctx)
			<-slots
			p.mu.Lock()
			p.running--
			p.mu.Unlock()
			p.moved()
			p.Nudge()
		})
	}
}

func (p *Pump) moved() {
	p.mu.Lock()
	close(p.change)
	p.change = make(chan struct{})
	p.mu.Unlock()
}
