package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ratiba/ratiba/internal/app"
	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/coord"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/payment/mpesa"
	"github.com/ratiba/ratiba/internal/store"
	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/tool"
	"github.com/ratiba/ratiba/internal/turn"
)

// business is one tenant, composed: its rows, its app, its providers.
type business struct {
	tenant  tenant.Tenant
	route   string
	store   *store.Tenant
	turns   turn.Business
	gateway payment.Gateway // nil when the tenant takes no payments
}

func (s *Server) loadTenants(ctx context.Context) error {
	if err := s.unready(ctx); err != nil {
		return err
	}
	known, err := s.store.Tenants(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, k := range known {
		if err := s.addBusiness(ctx, k); err != nil {
			errs = append(errs, fmt.Errorf("tenant %s: %w", k.Tenant.Slug, err))
		}
	}
	return errors.Join(errs...)
}

// unready names every secret that a registered business lacks.
func (s *Server) unready(ctx context.Context) error {
	if s.cfg.Offline {
		return nil
	}
	known, err := s.store.Tenants(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, k := range known {
		errs = append(errs, s.lacks(k.Tenant)...)
	}
	return errors.Join(errs...)
}

// lacks names the secrets of a business that are not there, each by its
// environment variable and by what it is for.
func (s *Server) lacks(t tenant.Tenant) []error {
	var errs []error
	want := func(name, what string) {
		if name != "" && s.cfg.Secrets(name) == "" {
			errs = append(errs, fmt.Errorf("%s: want %s of %s", name, what, t.Slug))
		}
	}
	for _, n := range t.Numbers {
		want(n.TokenEnv, "the WhatsApp access token")
		want(n.AppSecretEnv, "the Meta app secret")
		want(n.WebhookEnv, "the webhook secret")
	}
	if m := t.Mpesa; m != nil {
		want(m.PasskeyEnv, "the M-Pesa passkey")
		want(m.ConsumerKeyEnv, "the M-Pesa consumer key")
		want(m.ConsumerSecretEnv, "the M-Pesa consumer secret")
	}
	return errs
}

// Check names every fault of a definition without opening a store.
func Check(t tenant.Tenant) error {
	apps, err := composeApps()
	if err != nil {
		return err
	}
	a, ok := apps[t.App]
	if !ok {
		return fault.E(fault.Invalid, fmt.Sprintf("app: want one of %v, not %q.", slices.Sorted(maps.Keys(apps)), t.App))
	}
	return a.Check(&t)
}

// Apply registers a tenant's definition, writes its app's section into the
// tenant's own tables, and serves it from now on.
func (s *Server) Apply(ctx context.Context, t tenant.Tenant) (tenant.Tenant, error) {
	a, ok := s.apps[t.App]
	if !ok {
		return t, fault.E(fault.Invalid, fmt.Sprintf("app: want one of %v, not %q.", slices.Sorted(maps.Keys(s.apps)), t.App))
	}
	if err := a.Check(&t); err != nil {
		return t, err
	}
	if !s.cfg.Offline {
		// What could not be served must not be registered: the next start would
		// be refused for it.
		if err := errors.Join(s.lacks(t)...); err != nil {
			return t, fault.Wrap(err, fault.Invalid, "The serving process lacks secrets: "+err.Error())
		}
	}
	now := s.cfg.Clock.Now()
	reg, err := s.store.Register(ctx, t, now)
	if err != nil {
		return t, err
	}
	st, err := s.store.Tenant(ctx, reg.Tenant.ID, t.App)
	if err != nil {
		return t, err
	}
	if err := st.Write(ctx, func(tx db.Tx) error { return a.Apply(ctx, tx, &reg.Tenant, now) }); err != nil {
		return t, fmt.Errorf("apply %s: %w", t.App, err)
	}
	return reg.Tenant, s.addBusiness(ctx, reg)
}

func (s *Server) addBusiness(ctx context.Context, k store.Registered) error {
	t := k.Tenant
	a, ok := s.apps[t.App]
	if !ok {
		return fmt.Errorf("no app named %q", t.App)
	}
	st, err := s.store.Tenant(ctx, t.ID, t.App)
	if err != nil {
		return err
	}
	for _, admin := range t.Admins {
		phone := contact.Identity{Kind: contact.Phone, Value: admin.Phone}
		if err := st.EnsureContact(ctx, phone, admin.Name, db.At(s.cfg.Clock.Now())); err != nil {
			return err
		}
	}
	b := &business{tenant: t, route: k.Route, store: st}
	if b.gateway, err = s.gateway(t); err != nil {
		return err
	}
	if b.turns, err = s.turnsOf(b, a); err != nil {
		return err
	}
	s.mu.Lock()
	s.businesses[t.ID] = b
	s.mu.Unlock()
	mail, out, err := st.NextWork(ctx)
	if err != nil {
		return err
	}
	if !mail.IsZero() {
		s.turns.Wake(t.ID, mail)
	}
	if !out.IsZero() {
		s.sends.Wake(t.ID, out)
	}
	return nil
}

func (s *Server) turnsOf(b *business, a app.App) (turn.Business, error) {
	registry, err := tool.NewRegistry(a.Tools...)
	if err != nil {
		return turn.Business{}, fmt.Errorf("check tools of %s: %w", a.Name, err)
	}
	nouns, err := a.Nouns(b.tenant.Settings)
	if err != nil {
		return turn.Business{}, fmt.Errorf("read nouns: %w", err)
	}
	var phones []string
	for _, admin := range b.tenant.Admins {
		phones = append(phones, admin.Phone)
	}
	return turn.Business{
		Tenant: &b.tenant, App: a, Tools: registry, Nouns: nouns, Store: store.Turns{Tenant: b.store, Admins: phones},
	}, nil
}

func (s *Server) gateway(t tenant.Tenant) (payment.Gateway, error) {
	if t.Mpesa == nil || s.cfg.Offline {
		return nil, nil //nolint:nilnil // a business may take no payments.
	}
	return mpesa.New(mpesa.Config{
		BaseURL: s.cfg.Settings.Daraja.URL, Shortcode: t.Mpesa.Shortcode, Till: t.Mpesa.Till, Type: mpesa.Type(t.Mpesa.Type),
		Passkey: s.cfg.Secrets(t.Mpesa.PasskeyEnv), ConsumerKey: s.cfg.Secrets(t.Mpesa.ConsumerKeyEnv),
		ConsumerSecret: s.cfg.Secrets(t.Mpesa.ConsumerSecretEnv), Clock: s.cfg.Clock,
	})
}

func (s *Server) business(id ids.TenantID) (*business, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	b, ok := s.businesses[id]
	if !ok {
		return nil, fault.E(fault.NotFound, "No such tenant.")
	}
	return b, nil
}

func (s *Server) all() []*business {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Collect(maps.Values(s.businesses))
}

func (s *Server) tenantIDs() []ids.TenantID {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Collect(maps.Keys(s.businesses))
}

// Tenants lists who is served, by slug.
func (s *Server) Tenants() []tenant.Tenant {
	var out []tenant.Tenant
	for _, b := range s.all() {
		out = append(out, b.tenant)
	}
	slices.SortFunc(out, func(a, b tenant.Tenant) int {
		if a.Slug < b.Slug {
			return -1
		}
		return 1
	})
	return out
}

// Store returns a tenant's rows, for the laboratory.
func (s *Server) Store(id ids.TenantID) (*store.Tenant, error) {
	b, err := s.business(id)
	if err != nil {
		return nil, err
	}
	return b.store, nil
}

func (s *Server) tenantStore(_ context.Context, id ids.TenantID) (*store.Tenant, error) {
	return s.Store(id)
}

func (s *Server) outboxOf(_ context.Context, id ids.TenantID) (outbox.Store, error) {
	return s.Store(id)
}

// settled wakes the next row of a lane, and after a failure the turn that the
// failure became an event for.
func (s *Server) settled(id ids.TenantID, state outbox.State) {
	s.sends.Wake(id, s.real.Now())
	if state == outbox.Failed {
		s.turns.Wake(id, s.cfg.Clock.Now())
	}
}

// turnSource claims mailboxes for the turns' pump.
type turnSource struct{ s *Server }

// Claim implements coord.Source.
func (t turnSource) Claim(ctx context.Context, id ids.TenantID, limit int) ([]coord.Job, time.Time, error) {
	s := t.s
	b, err := s.business(id)
	if err != nil {
		return nil, time.Time{}, err
	}
	claims, next, err := b.store.ClaimMailboxes(ctx, s.cfg.Clock.Now(), s.real.Now(), limit)
	if err != nil {
		return nil, time.Time{}, err
	}
	jobs := make([]coord.Job, len(claims))
	for i, claim := range claims {
		jobs[i] = func(ctx context.Context) {
			if s.engine.Handle(ctx, b.turns, claim) {
				s.sends.Wake(id, s.real.Now())
			}
			s.turns.Wake(id, s.cfg.Clock.Now())
		}
	}
	return jobs, next, nil
}

// Replay computes a recorded turn again and returns the digest of what it
// decides.
func (s *Server) Replay(ctx context.Context, id ids.TenantID, inputs json.RawMessage) (string, error) {
	b, err := s.business(id)
	if err != nil {
		return "", err
	}
	return s.engine.Replay(ctx, b.turns, inputs)
}
