package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/app"
	"github.com/ratiba/ratiba/internal/coord"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/turn"
)

// Operate has a business's app do what a person of the business asks for by
// command, and returns its answer as JSON. What others were faster at is tried
// again a few times.
func (s *Server) Operate(ctx context.Context, slug, operation string, args json.RawMessage) (json.RawMessage, error) {
	b, err := s.bySlug(slug)
	if err != nil {
		return nil, err
	}
	run, ok := b.turns.App.Operations[operation]
	if !ok {
		return nil, fault.E(fault.Invalid, fmt.Sprintf("Businesses of the app %s know no %s, but %s.", b.tenant.App, operation,
			strings.Join(slices.Sorted(maps.Keys(b.turns.App.Operations)), ", ")))
	}
	const tries = 4
	for n := 1; ; n++ {
		now := s.cfg.Clock.Now()
		source := ids.NewSource(ids.NewSeed(), now)
		piece, answer, err := run(ctx, s.workFor(b, now, source), args)
		if err != nil {
			return nil, err
		}
		c := &turn.Commit{Now: now}
		if err := put(c, piece, source); err != nil {
			return nil, err
		}
		if err := b.store.Act(ctx, c, writing(piece)); err != nil {
			if n < tries && (errors.Is(err, app.ErrAgain) || errors.Is(err, turn.ErrStale)) {
				continue
			}
			return nil, err
		}
		s.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "audit.config.changed", s.audited(b.tenant, slog.String("tool", operation))...)
		if err := s.wakeJobs(ctx, b.tenant.ID); err != nil {
			return nil, err
		}
		return json.Marshal(answer)
	}
}

func (s *Server) workFor(b *business, now time.Time, source *ids.Source) app.Work {
	return app.Work{
		Tenant: &b.tenant, Now: now, IDs: source, Read: b.store.Read, Secret: s.cfg.Secrets, Fetch: s.fetch.Get,
		FeedURL: func(secret string) string {
			return strings.TrimSuffix(s.cfg.Settings.PublicURL, "/") + "/ics/" + b.route + "." + secret + ".ics"
		},
	}
}

// feedRate is how often one business's calendars may be asked for: programs ask
// every few minutes, and who guesses secrets gets nowhere.
func feedRate() coord.Rate { return coord.Rate{Every: 200 * time.Millisecond, Burst: 100} }

// Feed implements httpd.Intake. The token names the tenant by its route and the
// calendar by a secret.
func (s *Server) Feed(ctx context.Context, token string) ([]byte, error) {
	gone := fault.E(fault.NotFound, "No such calendar.")
	route, secret, ok := strings.Cut(token, ".")
	if !ok {
		return nil, gone
	}
	b := s.routes.Load().payments[route]
	if b == nil || b.turns.App.Feed == nil {
		return nil, gone
	}
	if s.feeds.Take(ctx, string(b.tenant.ID), s.real.Now()) > 0 {
		return nil, fault.E(fault.RateLimited, "Too many requests.")
	}
	now := s.cfg.Clock.Now()
	return b.turns.App.Feed(ctx, s.workFor(b, now, nil), secret)
}
