package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/money"
)

// Config makes a Router. Roles, Catalogue, Providers and Ledger are required.
type Config struct {
	Roles     Roles
	Canaries  Roles // ladders on trial, by role; see ParseCanaries
	Catalogue *Catalogue
	Providers map[string]Provider // by the catalogue's provider name; those with a key
	Ledger    Ledger
	// Policies has what businesses changed; nil gives all DefaultCeilings.
	Policies Policies
	// Rollouts are the trials that run; nil for none.
	Rollouts Rollouts
	// Escalations is where a ladder's last rung asks people. Without it a ladder
	// that ends in a person ends in an error.
	Escalations Escalations
	// Owner names this process in reservations.
	Owner     string
	Clock     clock.Clock  // stamps records and picks prices and days; clock.Real when nil
	Stopwatch clock.Clock  // real time, for latency, expiry and breakers; clock.Real when nil
	Logger    *slog.Logger // discards when nil
	// Wait lets a rate limit's pause pass; a timer when nil. Its error is the
	// context's.
	Wait func(ctx context.Context, d time.Duration) error
	// Schemas are checked against every provider in use before the first call.
	Schemas []*Schema
}

// Router resolves roles to models and owns retries, validation and bills.
type Router struct {
	roles, canaries map[Role]assignment
	overrides       sync.Map // ids.TenantID to *compiled
	catalogue       *Catalogue
	providers       map[string]Provider
	breakers        map[string]*breaker
	ledger          Ledger
	policies        Policies
	rollouts        Rollouts
	escalations     Escalations
	owner           string
	clock           clock.Clock
	stopwatch       clock.Clock
	wait            func(ctx context.Context, d time.Duration) error
	log             *slog.Logger
}

// rung is a Rung with its catalogue entry.
type rung struct {
	Rung
	model Model
}

// New checks the assignment and makes a Router. A role that names an unknown
// model, a provider without a key, a model without a price or an effort the
// model does not take is refused; all faults are reported at once, one line
// each.
func New(cfg Config) (*Router, error) {
	if cfg.Catalogue == nil || cfg.Ledger == nil {
		return nil, errors.New("model router: catalogue and ledger are required")
	}
	r := &Router{
		catalogue: cfg.Catalogue, providers: cfg.Providers, breakers: make(map[string]*breaker, len(cfg.Providers)),
		ledger: cfg.Ledger, policies: cfg.Policies, rollouts: cfg.Rollouts, escalations: cfg.Escalations, owner: cfg.Owner,
		clock: cfg.Clock, stopwatch: cfg.Stopwatch, wait: cfg.Wait, log: cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)),
	}
	r.defaults(cfg)
	var faults []error
	if len(cfg.Roles) == 0 {
		faults = append(faults, errors.New("no role is assigned"))
	}
	var wrong []error
	r.roles, wrong = r.compile(cfg.Roles)
	faults = append(faults, wrong...)
	r.canaries, wrong = r.compile(cfg.Canaries)
	for _, err := range wrong {
		faults = append(faults, fmt.Errorf("canary of %w", err))
	}
	faults = append(faults, r.checkSchemas(cfg.Schemas)...)
	if len(faults) > 0 {
		sortFaults(faults)
		return nil, fmt.Errorf("model router: %w", errors.Join(faults...))
	}
	return r, nil
}

// defaults fills in what the configuration leaves out.
func (r *Router) defaults(cfg Config) {
	if r.policies == nil {
		r.policies = defaultPolicy{}
	}
	if r.clock == nil {
		r.clock = clock.Real{}
	}
	if r.stopwatch == nil {
		r.stopwatch = clock.Real{}
	}
	if r.wait == nil {
		r.wait = pause
	}
	for name := range cfg.Providers {
		r.breakers[name] = &breaker{}
	}
}

func (r *Router) compile(roles Roles) (map[Role]assignment, []error) {
	out := make(map[Role]assignment, len(roles))
	var faults []error
	for role, ladder := range roles {
		a, wrong := r.assign(role, ladder)
		faults = append(faults, wrong...)
		out[role] = a
	}
	return out, faults
}

// checkSchemas asks every provider that serves some role.
func (r *Router) checkSchemas(schemas []*Schema) []error {
	used := make(map[string]bool)
	for _, set := range []map[Role]assignment{r.roles, r.canaries} {
		for _, a := range set {
			for _, step := range a.rungs {
				used[step.Provider] = true
			}
		}
	}
	var faults []error
	for name := range used {
		checker, ok := r.providers[name].(SchemaChecker)
		if !ok {
			continue
		}
		for _, s := range schemas {
			if err := checker.CheckSchema(s); err != nil {
				faults = append(faults, fmt.Errorf("provider %s: %w", name, err))
			}
		}
	}
	return faults
}

// pause waits in real time.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// WorstCase is the most an attempt at a request may cost on the default
// ladder's first rung: what is reserved before it. It is 0 for a role without a
// ladder.
func (r *Router) WorstCase(req Request) money.Pico {
	rungs := r.roles[req.Role].rungs
	if len(rungs) == 0 || rungs[0].Human {
		return 0
	}
	call := rungs[0].call(&req)
	return rungs[0].model.Worst(worstCase(&call), r.clock.Now())
}
