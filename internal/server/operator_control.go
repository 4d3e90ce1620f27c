package server

import (
	"context"
	"net/http"
	"time"

	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/store"
	"github.com/ratiba/ratiba/internal/tenant"
)

// operatorRoutes are the commands that look at an installation, and the one that
// tries something on it.
func (s *Server) operatorRoutes(mux *http.ServeMux) {
	mux.HandleFunc("POST /rollouts", answers(func(ctx context.Context, _ asked) (out told, err error) {
		out.Trials, err = s.Rollouts(ctx)
		return out, err
	}))
	mux.HandleFunc("POST /rollouts/set", answers(func(ctx context.Context, a asked) (told, error) {
		return told{}, s.SetRollout(ctx, a.Role, a.Trial)
	}))
	mux.HandleFunc("POST /tenants/list", answers(func(ctx context.Context, _ asked) (out told, err error) {
		out.Tenants, err = s.Definitions(ctx)
		return out, err
	}))
	mux.HandleFunc("POST /tenants/costs", answers(func(ctx context.Context, a asked) (out told, err error) {
		out.Costs, err = s.Costs(ctx, a.Since)
		return out, err
	}))
	mux.HandleFunc("POST /tenants/replay", answers(func(ctx context.Context, a asked) (told, error) {
		r, err := s.ReplayTurn(ctx, a.Slug, a.Turn, a.Clear)
		return told{Replay: &r}, err
	}))
}

// Definitions lists who is served, by slug.
func (s *Server) Definitions(context.Context) ([]tenant.Tenant, error) { return s.Tenants(), nil }

// Costs is what a business's roles cost it, the dearest first.
type Costs struct {
	Slug  string           `json:"slug"`
	Roles []store.RoleCost `json:"roles"`
}

// Costs sums what models cost from a time on, by business.
func (s *Server) Costs(ctx context.Context, since time.Time) ([]Costs, error) {
	var out []Costs
	for _, t := range s.Tenants() {
		st, err := s.Store(t.ID)
		if err != nil {
			return nil, err
		}
		roles, err := st.RoleCosts(ctx, since)
		if err != nil {
			return nil, err
		}
		out = append(out, Costs{t.Slug, roles})
	}
	return out, nil
}

// Rollouts is Server.Rollouts.
func (r *Remote) Rollouts(ctx context.Context) ([]store.Rollout, error) {
	var out told
	err := r.ask(ctx, "/rollouts", asked{}, into(&out))
	return out.Trials, err
}

// SetRollout is Server.SetRollout.
func (r *Remote) SetRollout(ctx context.Context, role llm.Role, trial llm.Rollout) error {
	return r.ask(ctx, "/rollouts/set", asked{Role: role, Trial: trial}, into(&told{}))
}

// Definitions is Server.Definitions.
func (r *Remote) Definitions(ctx context.Context) ([]tenant.Tenant, error) {
	var out told
	err := r.ask(ctx, "/tenants/list", asked{}, into(&out))
	return out.Tenants, err
}

// Costs is Server.Costs.
func (r *Remote) Costs(ctx context.Context, since time.Time) ([]Costs, error) {
	var out told
	err := r.ask(ctx, "/tenants/costs", asked{Since: since}, into(&out))
	return out.Costs, err
}

// ReplayTurn is Server.ReplayTurn.
func (r *Remote) ReplayTurn(ctx context.Context, slug string, turn ids.TurnID, plain bool) (Replay, error) {
	var out told
	err := r.ask(ctx, "/tenants/replay", asked{Slug: slug, Turn: turn, Clear: plain}, into(&out))
	if err != nil || out.Replay == nil {
		return Replay{}, err
	}
	return *out.Replay, nil
}
