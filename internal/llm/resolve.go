package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/ids"
)

// Target is what a ladder is resolved for.
type Target struct {
	Role   Role
	Tenant ids.TenantID
	Thread ids.ThreadID
	// PromptVersion is here for trials of one version of a prompt; empty when the
	// prompt is chosen by the resolved arm.
	PromptVersion string
	Arm           Arm // what the thread stored for the role; empty for nothing yet
}

// Resolution is what serves a target.
type Resolution struct {
	Ladder   Ladder
	Arm      Arm // what the thread stores; its Alias says which prompt to use
	Ceilings Ceilings
	// Overridden reports that the ladder is the business's own. A trial of other
	// models leaves such a ladder alone; a trial of a prompt does not.
	Overridden bool
}

// Resolve says which ladder and which arm serve a target. The caller asks it
// before rendering a prompt and hands the arm on in Request.Arm; Call resolves
// in the same way. A role without a ladder is a fault.Unavailable. A rollout
// that cannot be read counts as 0 %; a policy that cannot be read is an error,
// because its ceilings are unknown.
func (r *Router) Resolve(ctx context.Context, t Target) (Resolution, error) {
	res, _, err := r.resolve(ctx, t)
	return res, err
}

func (r *Router) resolve(ctx context.Context, t Target) (Resolution, []rung, error) {
	policy, err := r.policies.Policy(ctx, t.Tenant)
	if err != nil {
		return Resolution{}, nil, fmt.Errorf("read the model policy: %w", err)
	}
	arm, err := r.arm(ctx, t)
	if err != nil {
		return Resolution{}, nil, err
	}
	res := Resolution{Arm: arm, Ceilings: policy.Ceilings}
	if own := r.overridden(ctx, t.Tenant, policy)[t.Role]; own.rungs != nil {
		res.Ladder, res.Overridden = own.ladder, true
		return res, own.rungs, nil
	}
	serving := r.roles[t.Role]
	if trial, ok := r.canaries[t.Role]; ok && arm != Stable {
		serving = trial
	}
	if serving.rungs == nil {
		return res, nil, fault.Wrap(fmt.Errorf("role %q has no ladder", t.Role), fault.Unavailable, "No model is assigned to this task.")
	}
	res.Ladder = serving.ladder
	return res, serving.rungs, nil
}

func (r *Router) arm(ctx context.Context, t Target) (Arm, error) {
	if r.rollouts == nil {
		return Stable, nil
	}
	rollout, err := r.rollouts.Rollout(ctx, t.Role)
	if err != nil {
		if ctx.Err() != nil {
			return "", fmt.Errorf("read rollout: %w", ctx.Err())
		}
		r.log.LogAttrs(ctx, slog.LevelWarn, "llm.rollout.unread", slog.String("role", string(t.Role)), slog.String("error", err.Error()))
		rollout = Rollout{}
	}
	return rollout.Arm(t.Role, t.Tenant, t.Thread, t.Arm), nil
}

// assignment is a role's ladder with the catalogue's entries.
type assignment struct {
	ladder Ladder
	rungs  []rung
}

// compiled is what became of one version of a tenant's overrides.
type compiled struct {
	version int64
	roles   map[Role]assignment
}

// overridden compiles a tenant's overrides once per version. One that cannot
// serve any more (its model left the catalogue, its provider has no key) is
// reported once, and the default ladder serves.
func (r *Router) overridden(ctx context.Context, tenant ids.TenantID, p Policy) map[Role]assignment {
	if len(p.Overrides) == 0 {
		return nil
	}
	if kept, ok := r.overrides.Load(tenant); ok {
		if c := kept.(*compiled); c.version == p.Version { //nolint:forcetypeassert // nothing else is stored.
			return c.roles
		}
	}
	c := &compiled{version: p.Version, roles: make(map[Role]assignment, len(p.Overrides))}
	for role, ladder := range p.Overrides {
		a, faults := r.assign(role, ladder)
		if len(faults) == 0 {
			c.roles[role] = a
			continue
		}
		r.log.LogAttrs(ctx, slog.LevelError, "llm.override.refused", slog.String("tenant_id", string(tenant)),
			slog.String("role", string(role)), slog.String("error", errors.Join(faults...).Error()))
	}
	r.overrides.Store(tenant, c)
	return c.roles
}

// CheckOverrides says whether a business's overrides can serve: each role is
// known, each model in the catalogue with a price, not retired and able to give
// structured answers in the effort it is asked for, and each provider has a
// key. All faults are returned at once, one line each; it is called before
// overrides are written.
func (r *Router) CheckOverrides(o Overrides) error {
	var faults []error
	for role, ladder := range o {
		if !slices.Contains(KnownRoles(), role) {
			faults = append(faults, fmt.Errorf("role %q is unknown", role))
			continue
		}
		a, wrong := r.assign(role, ladder)
		faults = append(faults, wrong...)
		for i, step := range a.rungs {
			if step.model.RetiredAt(r.clock.Now()) {
				faults = append(faults, fmt.Errorf("role %s, rung %d: model %q was retired on %s%s",
					role, i+1, step.Model, step.model.Retires.Format(time.DateOnly), successor(step.model)))
			}
		}
	}
	sortFaults(faults)
	return errors.Join(faults...)
}

// assign finds the catalogue's entries of a ladder. Each fault is one line that
// names the role and the rung.
func (r *Router) assign(role Role, ladder Ladder) (assignment, []error) {
	var faults []error
	if len(ladder) == 0 {
		faults = append(faults, fmt.Errorf("role %s: the ladder is empty", role))
	}
	a := assignment{ladder: ladder, rungs: make([]rung, 0, len(ladder))}
	for i, step := range ladder {
		if step.Human {
			if i != len(ladder)-1 {
				faults = append(faults, fmt.Errorf("role %s, rung %d: a person is the last rung", role, i+1))
			}
			a.rungs = append(a.rungs, rung{Rung: step})
			continue
		}
		m, wrong := r.check(step)
		if len(wrong) == 0 && m.Embeds != (role == Embedder) {
			wrong = append(wrong, fmt.Errorf("model %q %s", step.Model, map[bool]string{true: "makes vectors and nothing else", false: "makes no vectors"}[m.Embeds]))
		}
		for _, err := range wrong {
			faults = append(faults, fmt.Errorf("role %s, rung %d: %w", role, i+1, err))
		}
		step.Threshold = cmp.Or(step.Threshold, DefaultThreshold)
		step.Timeout = cmp.Or(step.Timeout, defaultTimeout)
		step.MaxTokens = cmp.Or(step.MaxTokens, defaultMaxTokens)
		a.rungs = append(a.rungs, rung{Rung: step, model: m})
	}
	return a, faults
}

// check finds a rung's model and says what keeps it from serving.
func (r *Router) check(step Rung) (Model, []error) {
	if r.providers[step.Provider] == nil {
		return Model{}, []error{fmt.Errorf("provider %q has no key", step.Provider)}
	}
	var faults []error
	m, ok := r.catalogue.Model(step.Provider, step.Model)
	switch {
	case !ok:
		faults = append(faults, fmt.Errorf("model %q of %q is not in the catalogue", step.Model, step.Provider))
	case len(m.Prices) == 0:
		faults = append(faults, fmt.Errorf("model %q has no price", step.Model))
	}
	if ok && step.Effort != "" && !m.takes(step.Effort) {
		faults = append(faults, fmt.Errorf("model %q does not take effort %q", step.Model, step.Effort))
	}
	if ok && m.OutputTokens > 0 && step.MaxTokens > m.OutputTokens {
		faults = append(faults, fmt.Errorf("model %q answers with at most %d tokens, not %d", step.Model, m.OutputTokens, step.MaxTokens))
	}
	return m, faults
}

func successor(m Model) string {
	if m.Successor == "" {
		return ""
	}
	return fmt.Sprintf("; its successor is %q", m.Successor)
}

// nobody's policy: the defaults.
type defaultPolicy struct{}

func (defaultPolicy) Policy(context.Context, ids.TenantID) (Policy, error) {
	return Policy{Ceilings: DefaultCeilings()}, nil
}
