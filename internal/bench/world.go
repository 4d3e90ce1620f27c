package bench

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"sync"
	"sync/atomic"
	"text/template"
	"time"

	"github.com/ratiba/ratiba/internal/app"
	"github.com/ratiba/ratiba/internal/app/booking"
	bookingtools "github.com/ratiba/ratiba/internal/app/booking/tools"
	"github.com/ratiba/ratiba/internal/channel/whatsapp"
	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/coord"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/prompt"
	"github.com/ratiba/ratiba/internal/redact"
	"github.com/ratiba/ratiba/internal/server"
	"github.com/ratiba/ratiba/internal/store"
	"github.com/ratiba/ratiba/internal/telemetry"
	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/tool"
	"github.com/ratiba/ratiba/internal/turn"
	"github.com/ratiba/ratiba/internal/understand"
)

// turnWorkers is how many turns run at once, as in the product.
const turnWorkers = 64

//go:embed business.yaml
var definition string

// define returns the n-th business of the measured world.
func define(n int) (tenant.Tenant, error) {
	t, err := template.New("business").Parse(definition)
	if err != nil {
		return tenant.Tenant{}, fmt.Errorf("read definition: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, n); err != nil {
		return tenant.Tenant{}, fmt.Errorf("read definition: %w", err)
	}
	return tenant.Parse(b.Bytes())
}

// world is the engine with its store and its tenants, and without a network:
// who writes and who pays are this package's, and the model is scripted.
type world struct {
	clock      clock.Clock
	store      *store.Store
	app        app.App
	tools      *tool.Registry
	engine     *turn.Engine
	pump       *coord.Pump
	model      *scripted
	events     *complaints
	businesses []*business
	byID       map[ids.TenantID]*business
}

// business is one tenant and those who wait for its answers, by phone.
type business struct {
	turns  turn.Business
	store  *store.Tenant
	policy llm.Policy
	held   atomic.Int64 // conversations begun

	mu      sync.Mutex
	waiting map[string]chan answer
}

// newWorld is openWorld with businesses of its own.
func newWorld(ctx context.Context, cfg store.Config, tenants int) (_ *world, err error) {
	w, err := openWorld(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.store.Close())
		}
	}()
	if err := removeAll(ctx, w.store); err != nil {
		return nil, err
	}
	for n := range tenants {
		if err := w.add(ctx, n+1); err != nil {
			return nil, fmt.Errorf("define business %d: %w", n+1, err)
		}
	}
	return w, nil
}

// openWorld opens a store and composes the engine over it as the product does,
// but for the model's vendor. It serves no business yet.
func openWorld(ctx context.Context, cfg store.Config) (_ *world, err error) {
	w := &world{clock: clock.Real{}, model: &scripted{}, events: &complaints{}, byID: map[ids.TenantID]*business{}}
	if w.app, err = booking.New(bookingtools.Stores{Payments: store.Payments{}}); err != nil {
		return nil, err
	}
	if w.tools, err = tool.NewRegistry(w.app.Tools...); err != nil {
		return nil, err
	}
	cfg.Apps = map[string]store.AppPart{w.app.Name: {
		Migrations: w.app.Migrations, Merge: w.app.Merge, Version: w.app.Flow.Version(), Person: w.app.Person, Erase: w.app.Erase,
	}}
	cfg.Node, cfg.Alone = "bench", true
	if w.store, err = store.Open(ctx, cfg); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.store.Close())
		}
	}()
	log := telemetry.New(w.events, slog.LevelInfo, redact.New()).Logger()
	if w.engine, err = w.compose(log); err != nil {
		return nil, err
	}
	w.pump = coord.NewPump(coord.PumpConfig{
		Name: "turns", Source: w, Clock: w.clock, Logger: log, Workers: turnWorkers,
		Due: func(context.Context) ([]ids.TenantID, error) { return w.tenants(), nil },
	})
	return w, nil
}

func (w *world) compose(log *slog.Logger) (*turn.Engine, error) {
	roles, err := llm.DefaultRoles()
	if err != nil {
		return nil, err
	}
	catalogue, err := llm.DefaultCatalogue()
	if err != nil {
		return nil, err
	}
	providers := map[string]llm.Provider{}
	for _, ladder := range roles {
		for _, rung := range ladder {
			providers[rung.Provider] = w.model
		}
	}
	router, err := llm.New(llm.Config{
		Roles: roles, Catalogue: catalogue, Providers: providers, Clock: w.clock, Logger: log,
		Policies: w, Rollouts: w, Owner: "bench",
		Ledger: store.Calls{Open: func(_ context.Context, id ids.TenantID) (*store.Tenant, error) { return w.byID[id].store, nil }},
	})
	if err != nil {
		return nil, err
	}
	prompts, err := prompt.Embedded()
	if err != nil {
		return nil, err
	}
	u, err := understand.New(understand.Config{Model: router, Prompts: prompts, Logger: log})
	if err != nil {
		return nil, err
	}
	texts, err := turn.Texts()
	if err != nil {
		return nil, err
	}
	return turn.New(turn.Config{
		Understander: u, Texts: texts, Payments: store.Payments{}, Clock: w.clock, Real: w.store.Real(), Logger: log,
		Split: whatsapp.Split, Buckets: coord.NewLocal(w.clock),
	}), nil
}

// measuredSlug is what the slugs of the measured world look like.
var measuredSlug = regexp.MustCompile(`^bench\d+$`)

// removeAll removes the businesses of an earlier run. A store that has others is
// refused: what is measured there would be lost among them, and they with it.
func removeAll(ctx context.Context, st *store.Store) error {
	known, err := st.Tenants(ctx)
	if err != nil {
		return err
	}
	for _, k := range known {
		if !measuredSlug.MatchString(k.Tenant.Slug) {
			return fault.E(fault.Conflict, "The store holds the business "+k.Tenant.Slug+". Measure on an empty one.")
		}
	}
	for _, k := range known {
		if _, err := st.Delete(ctx, k.Tenant.Slug); err != nil {
			return err
		}
	}
	return nil
}

// empty is removeAll for a store that nobody uses.
func empty(ctx context.Context, cfg store.Config) error {
	cfg.Node, cfg.Alone = "bench", true
	st, err := store.Open(ctx, cfg)
	if err != nil {
		return err
	}
	return errors.Join(removeAll(ctx, st), st.Close())
}

// add defines a business, as the product's Apply does.
func (w *world) add(ctx context.Context, n int) error {
	t, err := define(n)
	if err != nil {
		return err
	}
	now := w.clock.Now()
	reg, err := w.store.Register(ctx, t, now)
	if err != nil {
		return err
	}
	t = reg.Tenant
	st, err := w.store.Tenant(t.ID, t.App)
	if err != nil {
		return err
	}
	if err := st.Write(ctx, func(tx db.Tx) error { return w.app.Apply(ctx, tx, &t, now) }); err != nil {
		return err
	}
	for _, a := range t.Admins {
		if err := st.EnsureContact(ctx, contact.Identity{Kind: contact.Phone, Value: a.Phone}, a.Name, db.At(now)); err != nil {
			return err
		}
	}
	return w.serve(&t, nil)
}

// serve serves a registered business from now on. wrap stands around its rows;
// when nil, whoever waits for answers is told of them.
func (w *world) serve(t *tenant.Tenant, wrap func(turn.Store) turn.Store) error {
	st, err := w.store.Tenant(t.ID, t.App)
	if err != nil {
		return err
	}
	var phones []string
	for _, a := range t.Admins {
		phones = append(phones, a.Phone)
	}
	b := &business{store: st, waiting: map[string]chan answer{}}
	if b.policy, err = server.Policy(t); err != nil {
		return err
	}
	if wrap == nil {
		wrap = func(s turn.Store) turn.Store { return watched{Store: s, business: b, clock: w.clock} }
	}
	b.turns, err = turn.NewBusiness(t, w.app, w.tools, wrap(store.Turns{Tenant: st, Admins: phones}))
	if err != nil {
		return err
	}
	w.businesses = append(w.businesses, b)
	w.byID[t.ID] = b
	return nil
}

// Policy implements llm.Policies, as the product does.
func (w *world) Policy(_ context.Context, id ids.TenantID) (llm.Policy, error) {
	return w.byID[id].policy, nil
}

// Rollout implements llm.Rollouts: nothing is on trial.
func (w *world) Rollout(context.Context, llm.Role) (llm.Rollout, error) { return llm.Rollout{}, nil }

func (w *world) tenants() []ids.TenantID {
	var out []ids.TenantID
	for _, b := range w.businesses {
		out = append(out, b.turns.Tenant.ID)
	}
	return out
}

// Claim implements coord.Source, as the product does.
func (w *world) Claim(ctx context.Context, id ids.TenantID, limit int) ([]coord.Job, time.Time, error) {
	b := w.byID[id]
	claims, next, err := b.store.ClaimMailboxes(ctx, w.clock.Now(), w.store.Real().Now(), limit)
	if err != nil {
		return nil, time.Time{}, err
	}
	jobs := make([]coord.Job, len(claims))
	for i, claim := range claims {
		jobs[i] = coord.Job{Run: func(ctx context.Context) {
			if _, due := w.engine.Handle(ctx, b.turns, claim); !due.IsZero() {
				w.pump.Wake(id, due)
			}
		}}
	}
	return jobs, next, nil
}

// close stops the engine and closes the store.
func (w *world) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	w.pump.Stop(ctx)
	return errors.Join(removeAll(ctx, w.store), w.store.Close())
}

// complaints counts the warnings and errors of the event log and keeps the
// first; everything is encoded as in production and then thrown away.
type complaints struct {
	mu    sync.Mutex
	count int
	first string
}

// Write implements io.Writer.
func (c *complaints) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(`"level":"error"`)) || bytes.Contains(line, []byte(`"level":"warn"`)) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.count++; c.first == "" {
			c.first = string(bytes.TrimSpace(line))
		}
	}
	return len(line), nil
}

func (c *complaints) err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count == 0 {
		return nil
	}
	return fmt.Errorf("the event log holds %d warnings or errors; the first: %s", c.count, c.first)
}
