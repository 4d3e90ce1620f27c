// Package server composes the product: it alone picks adapters, and it owns
// what runs.
//
// New checks everything and refuses to start with all faults named; Start
// begins to work; Stop lets work under way finish and returns when all of it
// has. Nothing imports this package but commands and the laboratory.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ratiba/ratiba/internal/app"
	"github.com/ratiba/ratiba/internal/app/booking"
	"github.com/ratiba/ratiba/internal/channel/whatsapp"
	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/config"
	"github.com/ratiba/ratiba/internal/coord"
	"github.com/ratiba/ratiba/internal/httpd"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/llm/anthropic"
	"github.com/ratiba/ratiba/internal/llm/openai"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/prompt"
	"github.com/ratiba/ratiba/internal/store"
	"github.com/ratiba/ratiba/internal/turn"
	"github.com/ratiba/ratiba/internal/understand"
)

// Config is what a Server needs.
type Config struct {
	Settings config.Config
	Secrets  config.Secrets
	Clock    clock.Clock // the product's; clock.Real when nil
	Logger   *slog.Logger
	// Offline prepares an installation and serves nobody: no secret is needed.
	Offline bool
}

// Server is the product, composed.
type Server struct {
	cfg      Config
	real     clock.Clock
	store    *store.Store
	apps     map[string]app.App
	engine   *turn.Engine
	whatsapp *whatsapp.Client
	turns    *coord.Pump
	sends    *coord.Pump
	pairs    *coord.Limiter
	numbers  *coord.Limiter
	typing   chan typing
	tasks    sync.WaitGroup
	end      context.CancelFunc

	mu         sync.RWMutex
	businesses map[ids.TenantID]*business
}

// turnWorkers is how many turns run at once. A turn mostly waits for a model.
const turnWorkers = 64

// New opens the store, composes the product and loads its tenants.
func New(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.Clock == nil {
		cfg.Clock = clock.Real{}
	}
	s := &Server{
		cfg: cfg, real: clock.Real{}, whatsapp: whatsapp.New(whatsapp.Config{}), businesses: map[ids.TenantID]*business{},
		typing: make(chan typing, typingQueue),
		// WhatsApp's limits: one message per 6 s and recipient with a burst of 45,
		// 80 a second and number.
		pairs:   coord.NewLimiter(coord.Rate{Every: 6 * time.Second, Burst: 45}),
		numbers: coord.NewLimiter(coord.Rate{Every: time.Second / 80, Burst: 80}),
	}
	apps, err := composeApps()
	if err != nil {
		return nil, err
	}
	s.apps = apps
	tables := map[string]store.AppPart{}
	for name, a := range apps {
		tables[name] = store.AppPart{Migrations: a.Migrations, Merge: a.Merge}
	}
	if s.store, err = store.Open(ctx, store.Config{Dir: cfg.Settings.Data, Apps: tables}); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	if err := s.compose(ctx); err != nil {
		return nil, errors.Join(err, s.store.Close())
	}
	return s, nil
}

// composeApps is the visible list of apps.
func composeApps() (map[string]app.App, error) {
	b, err := booking.New(store.Payments{})
	if err != nil {
		return nil, fmt.Errorf("compose booking: %w", err)
	}
	return map[string]app.App{b.Name: b}, nil
}

func (s *Server) compose(ctx context.Context) error {
	texts, err := turn.Texts()
	if err != nil {
		return err
	}
	u, err := s.understander()
	if err != nil {
		return errors.Join(err, s.unready(ctx))
	}
	s.engine = turn.New(turn.Config{
		Understander: u, Texts: texts, Payments: store.Payments{}, Clock: s.cfg.Clock, Real: s.real, Logger: s.cfg.Logger,
		Split: whatsapp.Split, Typing: s.showTyping,
	})
	s.turns = coord.NewPump(coord.PumpConfig{
		Name: "turns", Source: turnSource{s}, Clock: s.cfg.Clock, Logger: s.cfg.Logger, Tenants: s.tenantIDs,
		Workers: turnWorkers,
	})
	s.sends = coord.NewPump(coord.PumpConfig{
		Name: "outbox", Clock: s.real, Logger: s.cfg.Logger, Tenants: s.tenantIDs,
		Source: outbox.NewWorker(outbox.WorkerConfig{
			Open: s.outboxOf, Carriers: s.carriers(), Clock: s.cfg.Clock, Real: s.real, Logger: s.cfg.Logger, Settled: s.settled,
		}),
	})
	return s.loadTenants(ctx)
}

// carriers is the visible list of what carries out effects.
func (s *Server) carriers() map[string]outbox.Carrier {
	return map[string]outbox.Carrier{
		outbox.SendMessage:   messageCarrier{s},
		payment.EffectPrompt: promptCarrier{s},
		payment.EffectQuery:  queryCarrier{s},
	}
}

// understander composes understanding with the models that have a key or an
// address; without any, code understands alone.
func (s *Server) understander() (*understand.Understander, error) {
	router, err := s.router()
	if err != nil {
		return nil, err
	}
	cfg := understand.Config{Logger: s.cfg.Logger}
	if router != nil {
		prompts, err := prompt.Embedded()
		if err != nil {
			return nil, fmt.Errorf("load prompts: %w", err)
		}
		cfg.Model, cfg.Prompts = router, prompts
	}
	return understand.New(cfg)
}

func (s *Server) router() (*llm.Router, error) {
	if s.cfg.Offline {
		return nil, nil //nolint:nilnil // nobody is answered.
	}
	m := s.cfg.Settings.Models
	providers := map[string]llm.Provider{}
	if key := s.cfg.Secrets(m.OpenAI.KeyEnv); key != "" || m.OpenAI.URL != "" {
		p, err := openai.New(openai.Config{BaseURL: m.OpenAI.URL, Key: key})
		if err != nil {
			return nil, err
		}
		providers[openai.Name] = p
	}
	if key := s.cfg.Secrets(m.Anthropic.KeyEnv); key != "" || m.Anthropic.URL != "" {
		p, err := anthropic.New(anthropic.Config{BaseURL: m.Anthropic.URL, Key: key})
		if err != nil {
			return nil, err
		}
		providers[anthropic.Name] = p
	}
	if len(providers) == 0 {
		s.cfg.Logger.LogAttrs(context.Background(), slog.LevelWarn, "models.none")
		return nil, nil //nolint:nilnil // no model is a way to run.
	}
	roles, catalogue, err := s.assignments()
	if err == nil {
		roles, err = s.served(roles, providers)
	}
	if err != nil {
		return nil, err
	}
	return llm.New(llm.Config{
		Roles: roles, Catalogue: catalogue, Providers: providers, Clock: s.cfg.Clock, Logger: s.cfg.Logger,
		Ledger: store.Calls{Open: s.tenantStore},
	})
}

// served leaves out the roles that nobody calls and whose vendor has no key.
// A role that is called needs its vendor.
func (s *Server) served(roles llm.Roles, providers map[string]llm.Provider) (llm.Roles, error) {
	m := s.cfg.Settings.Models
	keys := map[string]string{openai.Name: m.OpenAI.KeyEnv, anthropic.Name: m.Anthropic.KeyEnv}
	out, waiting := llm.Roles{}, map[string][]string{}
	for role, ladder := range roles {
		var lacking []string
		for _, rung := range ladder {
			if providers[rung.Provider] == nil && keys[rung.Provider] != "" {
				lacking = append(lacking, rung.Provider)
			}
		}
		switch {
		case len(lacking) == 0:
			out[role] = ladder
		case slices.Contains(understand.Roles(), role):
			for _, name := range lacking {
				waiting[name] = append(waiting[name], string(role))
			}
		}
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(waiting)) {
		slices.Sort(waiting[name])
		errs = append(errs, fmt.Errorf("%s: want the key of %s, which serves %s; or give these roles to another vendor in models.roles",
			keys[name], name, strings.Join(slices.Compact(waiting[name]), ", ")))
	}
	return out, errors.Join(errs...)
}

func (s *Server) assignments() (llm.Roles, *llm.Catalogue, error) {
	m := s.cfg.Settings.Models
	roles, err := llm.DefaultRoles()
	if m.Roles != "" && err == nil {
		var raw []byte
		if raw, err = os.ReadFile(m.Roles); err == nil {
			roles, err = llm.ParseRoles(raw)
		}
	}
	if err != nil {
		return roles, nil, fmt.Errorf("read roles: %w", err)
	}
	catalogue, err := llm.DefaultCatalogue()
	if m.Catalogue != "" && err == nil {
		var raw []byte
		if raw, err = os.ReadFile(m.Catalogue); err == nil {
			catalogue, err = catalogue.Extend(raw)
		}
	}
	if err != nil {
		return roles, nil, fmt.Errorf("read model catalogue: %w", err)
	}
	return roles, catalogue, nil
}

// Handler is the product's HTTP face.
func (s *Server) Handler() http.Handler { return httpd.New(s, s.cfg.Logger) }

// Start begins to work: what was due while nobody ran is done first.
func (s *Server) Start(ctx context.Context) {
	ctx, s.end = context.WithCancel(ctx)
	s.tasks.Go(func() { s.typingLoop(ctx) })
	s.turns.Start(ctx)
	s.sends.Start(ctx)
}

// Stop lets work under way finish, then closes the store.
func (s *Server) Stop() error {
	if s.end != nil {
		s.end()
	}
	s.turns.Stop()
	s.sends.Stop()
	s.tasks.Wait()
	return s.store.Close()
}

// Idle waits until nothing is under way and nothing is due.
func (s *Server) Idle(ctx context.Context) error {
	for {
		if err := s.turns.Idle(ctx); err != nil {
			return err
		}
		if err := s.sends.Idle(ctx); err != nil {
			return err
		}
		if next := s.turns.Next(); next.IsZero() || next.After(s.cfg.Clock.Now()) {
			return nil
		}
	}
}

// NextDue is when the next message or timer is due, zero when none is known.
func (s *Server) NextDue() time.Time { return s.turns.Next() }

// ClockMoved makes the product look at its clock again.
func (s *Server) ClockMoved() { s.turns.Nudge() }
