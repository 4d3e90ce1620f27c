// Package server composes the product: it alone picks adapters, and it owns
// what runs.
//
// New checks everything and refuses to start with all faults named; Start
// begins to work; Drain makes readiness say that this process is leaving; Stop
// lets work under way finish for a while and cuts off what does not. Several
// servers may run on one PostgreSQL database when they share a Redis. Nothing
// imports this package but commands and the laboratory.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ratiba/ratiba/internal/app"
	"github.com/ratiba/ratiba/internal/app/admin"
	"github.com/ratiba/ratiba/internal/app/booking"
	bookingtools "github.com/ratiba/ratiba/internal/app/booking/tools"
	"github.com/ratiba/ratiba/internal/broadcast"
	"github.com/ratiba/ratiba/internal/channel/whatsapp"
	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/config"
	"github.com/ratiba/ratiba/internal/coord"
	"github.com/ratiba/ratiba/internal/coord/redis"
	"github.com/ratiba/ratiba/internal/fetch"
	"github.com/ratiba/ratiba/internal/handoff"
	"github.com/ratiba/ratiba/internal/httpd"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/store"
	"github.com/ratiba/ratiba/internal/template"
	"github.com/ratiba/ratiba/internal/tool"
	"github.com/ratiba/ratiba/internal/turn"
	"github.com/ratiba/ratiba/internal/wording"
)

// Config is what a Server needs.
type Config struct {
	Settings config.Config
	Secrets  config.Secrets
	Clock    clock.Clock // the product's; clock.Real when nil
	Logger   *slog.Logger
	// Apps are served beside the built-in ones.
	Apps []app.App
	// Offline prepares an installation and serves nobody: no secret is needed.
	Offline bool
}

// Server is the product, composed.
type Server struct {
	cfg       Config
	real      clock.Clock // what leases and rates follow
	store     *store.Store
	hot       coord.Hot
	apps      map[string]kind
	assistant app.App // of every business's own people
	engine    *turn.Engine
	texts     *wording.Catalogue // the platform's own
	templates template.Set
	models    *llm.Router // nil without a model
	people    *people
	endTape   func() error // closes the recording of model calls; nil: there is none
	briefs    *handoff.Summarizer
	whatsapp  *whatsapp.Client
	turns     *coord.Pump
	sends     *coord.Pump
	pairs     coord.Taker
	numbers   coord.Taker
	feeds     coord.Taker
	fetch     *fetch.Client
	typing    chan typing
	tasks     sync.WaitGroup
	end       context.CancelFunc
	draining  atomic.Bool

	loading    sync.Mutex // one reload at a time
	mu         sync.Mutex
	businesses map[ids.TenantID]*business
	routes     atomic.Pointer[routes]
	trials     atomic.Pointer[map[llm.Role]llm.Rollout]
}

// turnWorkers is how many turns run at once. A turn mostly waits for a model.
const turnWorkers = 64

// New opens the store, composes the product and loads its tenants.
func New(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.Clock == nil {
		cfg.Clock = clock.Real{}
	}
	s := &Server{
		cfg: cfg, whatsapp: whatsapp.New(whatsapp.Config{}), fetch: fetch.New(cfg.Settings.Calendars.Local), businesses: map[ids.TenantID]*business{},
		typing: make(chan typing, typingQueue),
	}
	s.routes.Store(&routes{})
	var err error
	if s.assistant, err = admin.New(); err != nil {
		return nil, fmt.Errorf("compose the admins' assistant: %w", err)
	}
	if s.apps, err = composeApps(cfg.Apps...); err != nil {
		return nil, err
	}
	if err = s.openStore(ctx); err != nil {
		return nil, err
	}
	if err = s.compose(ctx); err != nil {
		return nil, errors.Join(err, s.store.Close(), s.hot.Close(), s.closeTape())
	}
	return s, nil
}

// openStore opens what is durable and what is shared.
func (s *Server) openStore(ctx context.Context) (err error) {
	set, redisURL := s.cfg.Settings, s.cfg.Secrets(s.cfg.Settings.Redis.URLEnv)
	parts := map[string]store.AppPart{}
	for name, k := range s.apps {
		parts[name] = store.AppPart{
			Migrations: k.Migrations, Merge: k.Merge, Version: k.Flow.Version(), Person: k.Person, Erase: k.Erase,
		}
	}
	s.hot = coord.NewLocal(clock.Real{})
	if redisURL != "" {
		if s.hot, err = redis.New(redis.Config{URL: redisURL, Logger: s.cfg.Logger}); err != nil {
			return fmt.Errorf("%s: %w", set.Redis.URLEnv, err)
		}
	}
	s.store, err = store.Open(ctx, store.Config{
		Dir: set.Data, URL: s.cfg.Secrets(set.Database.URLEnv), Conns: set.Database.Connections, Node: nodeName(set.Node),
		Alone: redisURL == "", Visitor: s.cfg.Offline, Apps: parts,
	})
	if err != nil {
		return errors.Join(fmt.Errorf("open store: %w", err), s.hot.Close())
	}
	s.real = s.store.Real()
	// WhatsApp's limits: one message per 6 s and recipient with a burst of 45,
	// 80 a second and number.
	s.pairs = s.hot.Bucket("pairs", coord.Rate{Every: 6 * time.Second, Burst: 45})
	s.numbers = s.hot.Bucket("numbers", coord.Rate{Every: time.Second / 80, Burst: 80})
	s.feeds = s.hot.Bucket("feeds", feedRate())
	return nil
}

// nodeName is a name of this process that no other has, nor had.
func nodeName(name string) string {
	if name == "" {
		name, _ = os.Hostname() // a name for people; what is drawn tells nodes apart
	}
	return name + "-" + ids.NewSource(ids.NewSeed(), time.Time{}).Token(6)
}

// kind is an app with what all of its tenants share.
type kind struct {
	app.App
	registry *tool.Registry
}

// composeApps is the visible list of apps.
func composeApps(more ...app.App) (map[string]kind, error) {
	b, err := booking.New(bookingtools.Stores{
		Payments: store.Payments{}, People: store.People{}, Documents: store.Documents{}, Broadcasts: store.Broadcasts{},
	})
	if err != nil {
		return nil, fmt.Errorf("compose booking: %w", err)
	}
	kinds := map[string]kind{}
	for _, a := range append([]app.App{b}, more...) {
		registry, err := tool.NewRegistry(a.Tools...)
		if err == nil {
			registry, err = registry.Under(a.Table)
		}
		if err != nil {
			return nil, fmt.Errorf("check tools of %s: %w", a.Name, err)
		}
		kinds[a.Name] = kind{a, registry}
	}
	return kinds, nil
}

func (s *Server) compose(ctx context.Context) error {
	texts, err := turn.Texts()
	if err != nil {
		return err
	}
	if s.people, err = s.newPeople(); err != nil {
		return err
	}
	s.texts = texts
	if s.templates, err = template.Load(); err != nil {
		return err
	}
	u, err := s.understander()
	if err != nil {
		return errors.Join(err, s.unready(ctx))
	}
	if s.briefs, err = s.summarizer(); err != nil {
		return err
	}
	s.engine = turn.New(turn.Config{
		Understander: u, Texts: texts, Payments: store.Payments{}, Clock: s.cfg.Clock, Real: s.real, Logger: s.cfg.Logger,
		Split: whatsapp.Split, Typing: s.showTyping, Buckets: s.hot, Models: s.briefs != nil,
	})
	s.turns = coord.NewPump(coord.PumpConfig{
		Name: "turns", Source: served{s, turnSource{s}}, Clock: s.cfg.Clock, Logger: s.cfg.Logger, Due: s.due,
		Workers: turnWorkers,
	})
	s.sends = coord.NewPump(coord.PumpConfig{
		Name: "outbox", Clock: s.real, Logger: s.cfg.Logger, Due: s.due,
		Source: served{s, outbox.NewWorker(outbox.WorkerConfig{
			Open: s.outboxOf, Carriers: s.carriers(), Clock: s.cfg.Clock, Real: s.real, Logger: s.cfg.Logger, Settled: s.settled,
		})},
	})
	return s.loadTenants(ctx)
}

// carriers is the visible list of what carries out effects.
func (s *Server) carriers() map[string]outbox.Carrier {
	return map[string]outbox.Carrier{
		outbox.SendMessage:   messageCarrier{s},
		outbox.SpeakMessage:  speechCarrier{},
		payment.EffectPrompt: promptCarrier{s},
		payment.EffectQuery:  queryCarrier{s},
		llm.EffectCard:       cardCarrier{s.people},
		llm.EffectUpdate:     cardCarrier{s.people},
		llm.EffectNotice:     cardCarrier{s.people},
		broadcast.Effect:     broadcastCarrier{s},

		handoff.EffectBrief:     handoffCarrier{s},
		handoff.EffectTranslate: handoffCarrier{s},
		payment.EffectRefund:    refundCarrier{s},
	}
}

// Handler is the product's HTTP face.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", httpd.New(s, s.cfg.Logger))
	s.taskRoutes(mux)
	s.queueRoutes(mux, func(h http.HandlerFunc) http.HandlerFunc { return s.operator(h).ServeHTTP })
	s.voiceRoutes(mux)
	return mux
}

// Start begins to work: what was due while nobody ran is done first.
func (s *Server) Start(ctx context.Context) {
	ctx, s.end = context.WithCancel(ctx)
	s.tasks.Go(func() { s.typingLoop(ctx) })
	s.tasks.Go(func() { s.tendLoop(ctx) })
	s.tasks.Go(func() { s.hot.Subscribe(ctx, topicTenants, func(coord.Note) { s.reload(ctx) }) })
	s.tasks.Go(func() { s.hot.Subscribe(ctx, topicWakes, s.wakeFor) })
	s.turns.Start(ctx)
	s.sends.Start(ctx)
}

// Drain makes readiness say that this process is leaving. It goes on serving
// until Stop.
func (s *Server) Drain() { s.draining.Store(true) }

// drainTime is how long work under way may take once a process stops.
const drainTime = 5 * time.Second

// Stop lets work under way finish, cuts off what takes longer than drainTime,
// tells the other nodes what is left to do, and closes the store.
func (s *Server) Stop() error {
	s.Drain()
	if s.end != nil {
		s.end()
	}
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	var pumps sync.WaitGroup
	var turns, sends int
	pumps.Go(func() { turns = s.turns.Stop(ctx) })
	pumps.Go(func() { sends = s.sends.Stop(ctx) })
	pumps.Wait()
	if turns+sends > 0 {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "server.cut_off", slog.Int("turns", turns), slog.Int("sends", sends))
	}
	s.tasks.Wait()
	s.handOn()
	return errors.Join(s.store.Close(), s.hot.Close(), s.closeTape())
}

// closeTape ends the recording of model calls, if there is one, and tells what
// could not be recorded.
func (s *Server) closeTape() error {
	if s.endTape == nil {
		return nil
	}
	return s.endTape()
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
		if !s.turns.Busy() && !s.sends.Busy() { // a send that failed may have woken a turn meanwhile
			return nil
		}
	}
}

// NextDue is when the next message or timer is due, zero when none is known.
func (s *Server) NextDue() time.Time { return s.turns.Next() }

// ClockMoved makes the product look at its clock again.
func (s *Server) ClockMoved() { s.turns.Nudge() }
