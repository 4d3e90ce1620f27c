package coord

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/ids"
)

// Job is one claimed piece of work.
type Job struct {
	// Run does the work. It owns its errors. Its context ends when a drain runs
	// out of time.
	Run func(ctx context.Context)
	// Beat extends the job's lease; nil where there is none to extend. It is
	// called while Run runs. An error ends nothing: a database that is away for
	// a moment is no reason to drop work, and what is done without the lease is
	// refused at its commit. A job that should end with its lease sees to that
	// in its own Beat.
	Beat func(ctx context.Context) error
}

// Source claims work of one tenant.
type Source interface {
	// Claim leases due work, at most limit of it, and returns it, and when work
	// is due next (zero: when woken). Work that is due now but over limit is
	// announced by a next time that has passed. Claims of different tenants run
	// at the same time, those of one tenant never in one process.
	Claim(ctx context.Context, tenant ids.TenantID, limit int) (jobs []Job, next time.Time, err error)
}

// PumpConfig configures a Pump.
type PumpConfig struct {
	Name     string // for logs
	Source   Source
	Clock    clock.Clock // what due times of this kind of work follow
	Logger   *slog.Logger
	Workers  int           // jobs at once, default 16
	Claimers int           // claims at once, default 8
	Sweep    time.Duration // how often Due is asked, default 15 s
	Beat     time.Duration // how often a running job's lease is extended, default 5 s
	// Due lists the tenants that may have work which nobody was woken for. Its
	// context ends after Sweep.
	Due func(ctx context.Context) ([]ids.TenantID, error)
}

// The pauses before a tenant is claimed again.
const (
	afterError   = time.Second
	afterNothing = 50 * time.Millisecond // work was announced as due and could not be had
)

// claimTime bounds a claim, so that a database that hangs does not keep the
// claimers from tenants on another. What it may have leased is free when the
// lease runs out.
const claimTime = 10 * time.Second

// unwind is how long jobs that were cut off have to come to an end.
const unwind = time.Second

// Pump runs due work of many tenants: at once when woken, at its due time, and
// on a sweep for what a wake missed. Tenants are served in rotation, the longest
// waiting first, and one claim takes a quarter of the workers at most, so that a
// tenant with much work delays the others by little. It is safe for concurrent
// use.
type Pump struct {
	cfg   PumpConfig
	share int // what one claim may take
	kick  chan struct{}

	mu       sync.Mutex
	queue    queue
	free     int // workers without a job
	jobs     int
	claims   int
	pauses   int // tenants that are asked again in a moment
	sweeping bool
	change   chan struct{} // closed when the state moves; nil when nobody waits

	halt  context.CancelFunc // ends claiming
	cut   context.CancelFunc // ends jobs
	done  chan struct{}      // closed when the loop is over
	tasks sync.WaitGroup     // claims, jobs and sweeps
}

// NewPump returns a pump that does nothing until it is started.
func NewPump(cfg PumpConfig) *Pump {
	if cfg.Workers == 0 {
		cfg.Workers = 16
	}
	if cfg.Claimers == 0 {
		cfg.Claimers = 8
	}
	if cfg.Sweep == 0 {
		cfg.Sweep = 15 * time.Second
	}
	if cfg.Beat == 0 {
		cfg.Beat = 5 * time.Second
	}
	return &Pump{cfg: cfg, share: max(1, cfg.Workers/4), free: cfg.Workers, kick: make(chan struct{}, 1), queue: newQueue()}
}

// Wake says that the tenant has work due at at. An earlier known time stands.
// It does not block.
func (p *Pump) Wake(tenant ids.TenantID, at time.Time) {
	// Whoever is due waits from now on: an old time is no way past the others.
	if now := p.cfg.Clock.Now(); at.Before(now) {
		at = now
	}
	p.mu.Lock()
	first := p.queue.add(tenant, at)
	p.mu.Unlock()
	if first {
		p.Nudge()
	}
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
	return p.queue.earliest()
}

// Idle waits until nothing runs and nothing known is due.
func (p *Pump) Idle(ctx context.Context) error {
	for {
		p.mu.Lock()
		if !p.busy() {
			p.mu.Unlock()
			return nil
		}
		if p.change == nil {
			p.change = make(chan struct{})
		}
		change := p.change
		p.mu.Unlock()
		select {
		case <-change:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Busy reports whether something is under way or due.
func (p *Pump) Busy() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.busy()
}

func (p *Pump) busy() bool {
	return p.jobs > 0 || p.claims > 0 || p.pauses > 0 || p.sweeping || p.queue.due(p.cfg.Clock.Now())
}

// Start runs the pump until Stop. The end of ctx does not stop it. A pump is
// started once.
func (p *Pump) Start(ctx context.Context) {
	work, cut := context.WithCancel(context.WithoutCancel(ctx))
	loop, halt := context.WithCancel(work)
	p.cut, p.halt, p.done = cut, halt, make(chan struct{})
	p.sweep(loop)
	go p.loop(loop, work)
}

// Stop ends claiming at once and lets jobs under way finish. Those that have
// not when ctx ends are cut off: their context ends, they have a second to come
// to an end, and Stop returns how many they were. What they had leased is free
// again when the lease runs out.
func (p *Pump) Stop(ctx context.Context) int {
	if p.halt == nil {
		return 0
	}
	p.halt()
	<-p.done
	ended := make(chan struct{})
	go func() {
		p.tasks.Wait()
		close(ended)
	}()
	defer p.cut()
	select {
	case <-ended:
		return 0
	case <-ctx.Done():
	}
	p.mu.Lock()
	cut := p.jobs
	p.mu.Unlock()
	p.cut()
	select {
	case <-ended:
	case <-time.After(unwind):
	}
	return cut
}

// sweep wakes every tenant that may have work, unless the last sweep is still
// waiting for the list.
func (p *Pump) sweep(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sweeping {
		return
	}
	p.sweeping = true
	p.tasks.Go(func() {
		asking, cancel := context.WithTimeout(ctx, p.cfg.Sweep)
		defer cancel()
		tenants, err := p.cfg.Due(asking)
		if err != nil && ctx.Err() == nil {
			p.cfg.Logger.LogAttrs(ctx, slog.LevelError, "work.sweep_failed",
				slog.String("pump", p.cfg.Name), slog.String("error", err.Error()))
		}
		now := p.cfg.Clock.Now()
		for _, t := range tenants {
			p.Wake(t, now)
		}
		p.mu.Lock()
		p.sweeping = false
		p.moved()
		p.mu.Unlock()
	})
}

// loop starts claims until ctx ends; they and their jobs run on with work.
func (p *Pump) loop(ctx, work context.Context) {
	defer close(p.done)
	sweep := time.NewTicker(p.cfg.Sweep)
	defer sweep.Stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		timer.Reset(p.dispatch(work))
		select {
		case <-ctx.Done():
		case <-p.kick:
		case <-timer.C:
		case <-sweep.C:
			p.sweep(ctx)
		}
	}
}

// dispatch starts a claim for each tenant that is due and for which there is a
// claimer and a worker. It returns how long nothing else can become due;
// whatever ends before that and makes room kicks the loop.
func (p *Pump) dispatch(work context.Context) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.cfg.Clock.Now()
	var tenants []ids.TenantID
	for len(tenants) < min(p.cfg.Claimers-p.claims, p.free) && p.queue.due(now) {
		tenants = append(tenants, p.queue.claim())
	}
	for i, t := range tenants {
		// What is claimed runs at once: waiting for a worker, its lease would run
		// out. So workers are set aside, as many for each of these claims.
		limit := min(p.share, p.free/(len(tenants)-i))
		p.free -= limit
		p.claims++
		p.tasks.Go(func() { p.claim(work, t, limit) })
	}
	at, ok := p.queue.head()
	if !ok || !at.After(now) {
		return p.cfg.Sweep
	}
	return min(p.cfg.Sweep, at.Sub(now))
}

func (p *Pump) claim(ctx context.Context, t ids.TenantID, limit int) {
	asking, cancel := context.WithTimeout(ctx, claimTime)
	jobs, next, err := p.cfg.Source.Claim(asking, t, limit)
	cancel()
	later := false
	now := p.cfg.Clock.Now()
	switch {
	case ctx.Err() != nil: // cut off; what it may have leased is free when the lease runs out
		jobs, next = nil, time.Time{}
	case err != nil:
		p.cfg.Logger.LogAttrs(ctx, slog.LevelError, "work.claim_failed",
			slog.String("pump", p.cfg.Name), slog.String("tenant_id", string(t)), slog.String("error", err.Error()))
		jobs, next = nil, now.Add(afterError)
	case next.IsZero() || next.After(now):
	case len(jobs) == 0:
		next, later = time.Time{}, true
	default:
		next = now // behind those who are due already
	}
	p.mu.Lock()
	p.queue.done(t, next)
	p.claims--
	if later {
		p.pauses++
		p.tasks.Go(func() { p.pause(ctx, t) })
	}
	p.free += limit - len(jobs)
	p.jobs += len(jobs)
	for _, job := range jobs {
		p.tasks.Go(func() { p.run(ctx, t, job) })
	}
	p.moved()
	p.mu.Unlock()
	p.Nudge()
}

// pause wakes a tenant after a moment of the machine's time, whatever the pump's
// clock does meanwhile: somebody held for an instant what was due.
func (p *Pump) pause(ctx context.Context, t ids.TenantID) {
	select {
	case <-time.After(afterNothing):
	case <-ctx.Done():
	}
	p.Wake(t, p.cfg.Clock.Now())
	p.mu.Lock()
	p.pauses--
	p.moved()
	p.mu.Unlock()
}

// run runs a job and keeps its lease meanwhile.
func (p *Pump) run(ctx context.Context, t ids.TenantID, job Job) {
	if job.Beat == nil {
		job.Run(ctx)
	} else {
		p.runLeased(ctx, t, job)
	}
	p.mu.Lock()
	p.jobs--
	p.free++
	waiting := p.queue.due(p.cfg.Clock.Now())
	p.moved()
	p.mu.Unlock()
	if waiting {
		p.Nudge()
	}
}

func (p *Pump) runLeased(ctx context.Context, t ids.TenantID, job Job) {
	beating, end := context.WithCancel(ctx)
	var heart sync.WaitGroup
	defer heart.Wait()
	defer end()
	heart.Go(func() {
		ticker := time.NewTicker(p.cfg.Beat)
		defer ticker.Stop()
		for {
			select {
			case <-beating.Done():
				return
			case <-ticker.C:
			}
			if err := p.beat(beating, job); err != nil && beating.Err() == nil {
				p.cfg.Logger.LogAttrs(ctx, slog.LevelDebug, "work.beat_failed",
					slog.String("pump", p.cfg.Name), slog.String("tenant_id", string(t)), slog.String("error", err.Error()))
			}
		}
	})
	job.Run(ctx)
}

// beat extends a lease, in the time until it is to be extended next.
func (p *Pump) beat(ctx context.Context, job Job) error {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Beat)
	defer cancel()
	return job.Beat(ctx)
}

// moved tells who waits for a change. The caller holds mu.
func (p *Pump) moved() {
	if p.change != nil {
		close(p.change)
		p.change = nil
	}
}
