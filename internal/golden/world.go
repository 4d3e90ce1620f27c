package golden

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/ratiba/ratiba/internal/app"
	"github.com/ratiba/ratiba/internal/app/booking"
	"github.com/ratiba/ratiba/internal/app/booking/tools"
	"github.com/ratiba/ratiba/internal/channel/whatsapp"
	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/coord"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/prompt"
	"github.com/ratiba/ratiba/internal/store"
	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/tool"
	"github.com/ratiba/ratiba/internal/turn"
	"github.com/ratiba/ratiba/internal/understand"
)

//go:embed tenants/*.yaml
var tenants embed.FS

// world is the engine over a store of its own, with one business.
type world struct {
	clock    *clock.Fixed
	store    *store.Store
	tenant   *store.Tenant
	business turn.Business
	engine   *turn.Engine
	model    *scripted
	edges    *edges
	turns    []committed // since the last look
}

// committed is what a script may look at of a turn.
type committed struct {
	Input  graph.Input `json:"input"`
	commit *turn.Commit
}

// newWorld makes the business a script names, in dir.
func newWorld(ctx context.Context, s Script, dir string, seen *edges, log io.Writer) (_ *world, err error) {
	w := &world{clock: clock.NewFixed(s.Now), model: &scripted{answers: map[string][]string{}}, edges: seen}
	a, err := booking.New(tools.Stores{
		Payments: store.Payments{}, People: store.People{}, Documents: store.Documents{}, Broadcasts: store.Broadcasts{},
	})
	if err != nil {
		return nil, fmt.Errorf("assemble app: %w", err)
	}
	a.Flow = &watchedFlow{Flow: a.Flow, seen: seen}
	registry, err := tool.NewRegistry(a.Tools...)
	if err != nil {
		return nil, fmt.Errorf("assemble tools: %w", err)
	}
	w.store, err = store.Open(ctx, store.Config{Dir: dir, Real: w.clock, Apps: map[string]store.AppPart{a.Name: {
		Migrations: a.Migrations, Merge: a.Merge, Version: a.Flow.Version(), Person: a.Person, Erase: a.Erase,
	}}})
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.store.Close())
		}
	}()
	if w.engine, err = w.compose(slog.New(slog.NewJSONHandler(log, nil))); err != nil {
		return nil, err
	}
	return w, w.define(ctx, s.Tenant, a, registry)
}

func (w *world) compose(log *slog.Logger) (*turn.Engine, error) {
	prompts, err := prompt.Embedded()
	if err != nil {
		return nil, fmt.Errorf("read prompts: %w", err)
	}
	u, err := understand.New(understand.Config{Model: w.model, Prompts: prompts, Logger: log})
	if err != nil {
		return nil, fmt.Errorf("assemble understanding: %w", err)
	}
	texts, err := turn.Texts()
	if err != nil {
		return nil, fmt.Errorf("read texts: %w", err)
	}
	return turn.New(turn.Config{
		Understander: u, Texts: texts, Payments: store.Payments{}, Clock: w.clock, Real: w.clock, Logger: log, Split: whatsapp.Split,
		Buckets: coord.NewLocal(w.clock),
	}), nil
}

// define registers the business, as the product's apply does.
func (w *world) define(ctx context.Context, name string, a app.App, registry *tool.Registry) error {
	raw, err := tenants.ReadFile("tenants/" + name + ".yaml")
	if err != nil {
		return fmt.Errorf("read business: %w", err)
	}
	t, err := tenant.Parse(raw)
	if err != nil {
		return fmt.Errorf("read business %s: %w", name, err)
	}
	if err := a.Check(&t); err != nil {
		return fmt.Errorf("business %s: %w", name, err)
	}
	reg, err := w.store.Register(ctx, t, w.clock.Now())
	if err != nil {
		return fmt.Errorf("register business: %w", err)
	}
	t = reg.Tenant
	if w.tenant, err = w.store.Tenant(t.ID, t.App); err != nil {
		return fmt.Errorf("open business: %w", err)
	}
	if err := w.tenant.Write(ctx, func(tx db.Tx) error { return a.Apply(ctx, tx, &t, w.clock.Now()) }); err != nil {
		return fmt.Errorf("apply business: %w", err)
	}
	var phones []string
	for _, admin := range t.Admins {
		phones = append(phones, admin.Phone)
		who := contact.Identity{Kind: contact.Phone, Value: admin.Phone}
		if err := w.tenant.EnsureContact(ctx, who, admin.Name, db.At(w.clock.Now())); err != nil {
			return fmt.Errorf("make admin: %w", err)
		}
	}
	w.business, err = turn.NewBusiness(&t, a, registry, watchedStore{Store: store.Turns{Tenant: w.tenant, Admins: phones}, world: w})
	return err
}

// watchedStore lets the script see what each turn committed.
type watchedStore struct {
	turn.Store

	world *world
}

// Commit implements turn.Store.
func (s watchedStore) Commit(ctx context.Context, c *turn.Commit, inside func(ctx context.Context, tx db.Tx) error) error {
	if err := s.Store.Commit(ctx, c, inside); err != nil {
		return err
	}
	done := committed{commit: c}
	if err := json.Unmarshal(c.Inputs, &done); err != nil {
		return fmt.Errorf("read recorded inputs: %w", err)
	}
	s.world.turns = append(s.world.turns, done)
	return nil
}

// settle runs every turn that is due at the clock's time and carries out what
// they decided, until nothing is due. It returns when the next is.
func (w *world) settle(ctx context.Context, p *people) (next time.Time, err error) {
	for range 100 {
		claims, due, err := w.tenant.ClaimMailboxes(ctx, w.clock.Now(), w.clock.Now(), 10)
		if err != nil {
			return time.Time{}, fmt.Errorf("claim: %w", err)
		}
		for _, c := range claims {
			w.engine.Handle(ctx, w.business, c)
		}
		sent, err := w.carry(ctx, p)
		if err != nil {
			return time.Time{}, err
		}
		if len(claims) == 0 && sent == 0 {
			return due, nil
		}
	}
	return time.Time{}, errors.New("the conversation does not come to rest")
}

// carry does what carriers and providers do.
func (w *world) carry(ctx context.Context, p *people) (n int, err error) {
	now := w.clock.Now()
	rows, _, err := w.tenant.ClaimOutbox(ctx, now, now, 50)
	if err != nil {
		return 0, fmt.Errorf("claim effects: %w", err)
	}
	for _, r := range rows {
		done := outbox.Outcome{Verdict: outbox.Done, ProviderID: "wamid.out." + r.ID}
		switch r.Kind {
		case outbox.SendMessage:
			var send outbox.Send
			if err := json.Unmarshal(r.Payload, &send); err != nil {
				return 0, fmt.Errorf("read message: %w", err)
			}
			p.hear(r.ContactID, send)
		case payment.EffectPrompt:
			if err := w.prompt(ctx, r, p); err != nil {
				return 0, err
			}
			done.ProviderID = ""
		default:
			done.ProviderID = ""
		}
		if err := w.tenant.SettleOutbox(ctx, r, outbox.Sent, now, done, now); err != nil {
			return 0, fmt.Errorf("settle effect: %w", err)
		}
	}
	return len(rows), nil
}

// prompt puts a payment prompt on its phone: the provider takes it at once.
func (w *world) prompt(ctx context.Context, r outbox.Row, p *people) error {
	var effect payment.EffectPayload
	if err := json.Unmarshal(r.Payload, &effect); err != nil {
		return fmt.Errorf("read prompt: %w", err)
	}
	now := w.clock.Now()
	_, err := w.tenant.ChangeAttempt(ctx, effect.AttemptID, func(a payment.Attempt) (payment.Attempt, bool) {
		a, ok := payment.Begin(a, now)
		return payment.Accept(a, payment.Accepted{MerchantID: "m" + a.ID, CheckoutID: "ws_" + a.ID}), ok
	}, func(a payment.Attempt) time.Time {
		at, _ := payment.NextQuery(a, now)
		return at
	})
	if err != nil {
		return fmt.Errorf("take prompt: %w", err)
	}
	a, err := w.tenant.Attempt(ctx, effect.AttemptID)
	if err != nil {
		return fmt.Errorf("read attempt: %w", err)
	}
	p.prompts = append(p.prompts, a)
	return nil
}

// scripted answers with what the script says, and with the vendor being away
// when it says nothing. It implements understand.Model.
type scripted struct {
	mu      sync.Mutex
	answers map[string][]string // by schema
	asked   []string
}

// Resolve implements understand.Model.
func (m *scripted) Resolve(context.Context, llm.Target) (llm.Resolution, error) {
	return llm.Resolution{}, nil
}

// Call implements understand.Model.
func (m *scripted) Call(_ context.Context, req llm.Request) (llm.Result, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name := req.Schema.Name()
	m.asked = append(m.asked, name)
	queue := m.answers[name]
	if len(queue) == 0 {
		return llm.Result{}, &llm.Error{Class: llm.Server, Provider: "script", Cause: errors.New("no answer in the script")}
	}
	m.answers[name] = queue[1:]
	answer, err := req.Schema.Parse(queue[0])
	if err != nil {
		return llm.Result{}, fmt.Errorf("the script's answer to %s: %w", name, err)
	}
	return llm.Result{JSON: answer, Tier: 1, CallID: fmt.Sprintf("call-%d", len(m.asked))}, nil
}
