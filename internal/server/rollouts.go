package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/prompt"
	"github.com/ratiba/ratiba/internal/store"
)

// rollouts answers from what was read last. It implements llm.Rollouts.
type rollouts struct{ s *Server }

// Rollout implements llm.Rollouts.
func (r rollouts) Rollout(_ context.Context, role llm.Role) (llm.Rollout, error) {
	known := r.s.trials.Load()
	if known == nil {
		return llm.Rollout{}, errors.New("the rollouts were not read yet")
	}
	return (*known)[role], nil
}

// loadRollouts reads the rollouts anew.
func (s *Server) loadRollouts(ctx context.Context) error {
	all, err := s.store.Rollouts(ctx)
	if err != nil {
		return err
	}
	known := make(map[llm.Role]llm.Rollout, len(all))
	for _, r := range all {
		known[r.Role] = r.Rollout
	}
	s.trials.Store(&known)
	return nil
}

// Rollouts lists every rollout that was ever set, by role.
func (s *Server) Rollouts(ctx context.Context) ([]store.Rollout, error) { return s.store.Rollouts(ctx) }

// experimentForm keeps an experiment's name readable in an arm and in a log.
var experimentForm = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,39}$`)

// SetRollout says how much of a role's conversations what is on trial gets from
// now on, here at once and on other nodes within seconds. A percentage of 0
// stops it, also for conversations that have it. A rollout of a role that has
// nothing on trial, or something that cannot serve, is refused with
// fault.Invalid.
func (s *Server) SetRollout(ctx context.Context, role llm.Role, r llm.Rollout) error {
	if err := s.checkRollout(role, r); err != nil {
		return fault.Wrap(err, fault.Invalid, err.Error())
	}
	if err := s.store.SetRollout(ctx, role, r, s.cfg.Clock.Now()); err != nil {
		return err
	}
	s.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "audit.rollout.changed", slog.String("role", string(role)),
		slog.Int("percent", r.Percent), slog.String("experiment", r.Experiment))
	return s.registered(ctx)
}

// checkRollout names every fault of a rollout. Stopping one has none but an
// unknown role.
func (s *Server) checkRollout(role llm.Role, r llm.Rollout) error {
	if !slices.Contains(llm.KnownRoles(), role) {
		return fmt.Errorf("role %q is unknown", role)
	}
	var faults []error
	if r.Percent < 0 || r.Percent > 100 {
		faults = append(faults, fmt.Errorf("percent %d: want 0 to 100", r.Percent))
	}
	if r.Experiment != "" && !experimentForm.MatchString(r.Experiment) {
		faults = append(faults, fmt.Errorf("experiment %q: want up to 40 of a-z 0-9 _ -, a letter or digit first", r.Experiment))
	}
	if len(faults) > 0 || r.Percent == 0 {
		return errors.Join(faults...)
	}
	a, err := s.assignments() // names unknown roles and cycles of canaries
	if err != nil {
		return err
	}
	prompts, err := prompt.Embedded()
	if err != nil {
		return fmt.Errorf("load prompts: %w", err)
	}
	ladder, own := a.canaries[role]
	if !own && prompts.Version(string(role), prompt.Canary) == prompts.Version(string(role), prompt.Stable) {
		return fmt.Errorf("role %s has nothing on trial: give it a canary in the roles file, or its prompt a canary.md", role)
	}
	for i, rung := range ladder {
		if rung.Human {
			continue
		}
		switch m, ok := a.catalogue.Model(rung.Provider, rung.Model); {
		case !ok:
			faults = append(faults, fmt.Errorf("canary of role %s, rung %d: model %q of %q is not in the catalogue", role, i+1, rung.Model, rung.Provider))
		case len(m.Prices) == 0:
			faults = append(faults, fmt.Errorf("canary of role %s, rung %d: model %q has no price", role, i+1, rung.Model))
		case m.RetiredAt(s.cfg.Clock.Now()):
			faults = append(faults, fmt.Errorf("canary of role %s, rung %d: model %q is retired", role, i+1, rung.Model))
		}
	}
	return errors.Join(faults...)
}
