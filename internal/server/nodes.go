package server

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/ratiba/ratiba/internal/coord"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/ids"
)

// What nodes tell each other: that a tenant's definition changed, and that a
// tenant, named in the payload, has work which its node leaves behind.
const (
	topicTenants = "tenants"
	topicWakes   = "wakes"
)

// How often this process says that it lives and looks whether definitions
// changed, and how far ahead a sweep looks; the machine's time.
const (
	tendEvery  = 5 * time.Second
	sweepAhead = 20 * time.Second
)

func (s *Server) tendLoop(ctx context.Context) {
	ticker := time.NewTicker(tendEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		s.tend(ctx)
	}
}

// Shared reports whether other nodes may go on when this process stops.
func (s *Server) Shared() bool { return s.cfg.Secrets(s.cfg.Settings.Database.URLEnv) != "" }

// tend does what recurs.
func (s *Server) tend(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, tendEvery)
	defer cancel()
	if err := s.store.Tend(ctx); err != nil && ctx.Err() == nil {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelError, "store.tend_failed", slog.String("error", err.Error()))
	}
	s.reload(ctx)
}

// due lists the tenants that may have work now or shortly. Claiming one tells
// the pump when exactly.
func (s *Server) due(ctx context.Context) ([]ids.TenantID, error) {
	until := s.real.Now()
	if now := s.cfg.Clock.Now(); now.After(until) {
		until = now
	}
	wakes, err := s.store.Wakes(ctx, until.Add(sweepAhead))
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []ids.TenantID
	for _, w := range wakes {
		if s.businesses[w.Tenant] != nil {
			out = append(out, w.Tenant)
		}
	}
	return out, nil
}

// served is a source that has nothing for a tenant who is not served here. One
// who was deleted would else be asked for again and again; what one has who is
// served later, a sweep finds.
type served struct {
	s *Server
	coord.Source
}

// Claim implements coord.Source.
func (v served) Claim(ctx context.Context, id ids.TenantID, limit int) ([]coord.Job, time.Time, error) {
	if _, err := v.s.business(id); err != nil {
		return nil, time.Time{}, nil //nolint:nilerr // no work is no failure.
	}
	return v.Source.Claim(ctx, id, limit)
}

// expect sets the pumps to the times at which tenants' next work is due.
func (s *Server) expect(ctx context.Context) error {
	wakes, err := s.store.Wakes(ctx, time.Time{})
	if err != nil {
		return err
	}
	for _, w := range wakes {
		s.turns.Wake(w.Tenant, w.At)
		s.sends.Wake(w.Tenant, w.At)
	}
	return nil
}

// handOn tells the other nodes to look at the tenants this one worked on.
func (s *Server) handOn() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, id := range s.store.Awake() {
		if err := s.hot.Publish(ctx, topicWakes, []byte(id)); err != nil {
			return // a sweep finds them
		}
	}
}

// wakeFor takes on what another node left.
func (s *Server) wakeFor(n coord.Note) {
	if id := ids.TenantID(n.Payload); !n.Gap && id != "" {
		s.turns.Wake(id, s.cfg.Clock.Now())
		s.sends.Wake(id, s.real.Now())
	}
}

// reload serves the tenants as they are registered now.
func (s *Server) reload(ctx context.Context) {
	if err := s.loadChanged(ctx); err != nil && ctx.Err() == nil {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelError, "server.reload_failed", slog.String("error", err.Error()))
	}
}

func (s *Server) loadChanged(ctx context.Context) error {
	s.loading.Lock()
	defer s.loading.Unlock()
	if err := s.loadRollouts(ctx); err != nil {
		return err
	}
	versions, err := s.store.Versions(ctx)
	if err != nil || maps.Equal(versions, s.versions()) {
		return err
	}
	known, err := s.store.Tenants(ctx)
	if err != nil {
		return err
	}
	for _, k := range known {
		if err := errors.Join(s.lacks(k.Tenant)...); err != nil && !s.cfg.Offline && s.versions()[k.Tenant.ID] != k.Tenant.Version {
			s.cfg.Logger.LogAttrs(ctx, slog.LevelError, "server.secrets_missing",
				slog.String("tenant_id", string(k.Tenant.ID)), slog.String("error", err.Error()))
		}
	}
	return s.serve(known)
}

func (s *Server) versions() map[ids.TenantID]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[ids.TenantID]int64{}
	for id, b := range s.businesses {
		out[id] = b.tenant.Version
	}
	return out
}

// Ready implements httpd.Intake: whether deliveries can be stored now, by a
// process that means to stay.
func (s *Server) Ready(ctx context.Context) error {
	if s.draining.Load() {
		return fault.E(fault.Unavailable, "This process is stopping.")
	}
	return s.store.Ready(ctx)
}

// all lists the businesses, in no order.
func (s *Server) all() []*business {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.businesses))
}
