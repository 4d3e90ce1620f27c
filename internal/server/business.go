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
	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/coord"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/payment/mpesa"
	"github.com/ratiba/ratiba/internal/payment/pesapal"
	"github.com/ratiba/ratiba/internal/store"
	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/tool"
	"github.com/ratiba/ratiba/internal/turn"
)

// business is one tenant, composed: its rows, its app, its providers.
type business struct {
	tenant tenant.Tenant
	route  string
	store  *store.Tenant
	turns  turn.Business
	policy llm.Policy
	tracks trackCache
	rails  map[payment.Rail]payment.Gateway // empty when the tenant takes no payments
}

// loadTenants serves everyone who is registered. Secrets that are missing are
// all named at once.
func (s *Server) loadTenants(ctx context.Context) error {
	known, err := s.store.Tenants(ctx)
	if err != nil {
		return err
	}
	var errs []error
	if !s.cfg.Offline {
		for _, k := range known {
			errs = append(errs, s.lacks(k.Tenant)...)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := s.loadRollouts(ctx); err != nil {
		return err
	}
	if err := s.serve(known); err != nil {
		return err
	}
	return s.expect(ctx)
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
		want(m.CredentialEnv, "the M-Pesa security credential")
	}
	if p := t.Pesapal; p != nil {
		want(p.ConsumerKeyEnv, "the PesaPal consumer key")
		want(p.ConsumerSecretEnv, "the PesaPal consumer secret")
	}
	return append(errs, s.speechless(t)...)
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
	if _, err := Policy(&t); err != nil {
		return fault.Wrap(err, fault.Invalid, err.Error())
	}
	return errors.Join(a.Check(&t), a.confirms(&t))
}

// confirms names what a definition wants confirmed and is no write.
func (k kind) confirms(t *tenant.Tenant) error {
	var errs []error
	for i, name := range t.ConfirmTools {
		if m, _ := k.registry.Metadata(name); m.SafetyClass != tool.Write {
			errs = append(errs, fmt.Errorf("confirm_tools[%d]: want a tool of the class write, not %q", i, name))
		}
	}
	return errors.Join(errs...)
}

// Apply registers a tenant's definition, writes its app's section into the
// tenant's own tables, and serves it from now on.
func (s *Server) Apply(ctx context.Context, t tenant.Tenant) (tenant.Tenant, error) {
	a, ok := s.apps[t.App]
	if !ok {
		return t, fault.E(fault.Invalid, fmt.Sprintf("app: want one of %v, not %q.", slices.Sorted(maps.Keys(s.apps)), t.App))
	}
	if err := errors.Join(a.Check(&t), a.confirms(&t), t.Thresholds.Check(), s.checkModels(&t)); err != nil {
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
	st, err := s.store.Tenant(reg.Tenant.ID, t.App)
	if err != nil {
		return t, err
	}
	if err := st.Write(ctx, func(tx db.Tx) error { return a.Apply(ctx, tx, &reg.Tenant, now) }); err != nil {
		return t, fmt.Errorf("apply %s: %w", t.App, err)
	}
	for _, admin := range t.Admins {
		phone := contact.Identity{Kind: contact.Phone, Value: admin.Phone}
		if err := st.EnsureContact(ctx, phone, admin.Name, db.At(now)); err != nil {
			return t, err
		}
	}
	if err := s.loadChanged(ctx); err != nil {
		return t, err
	}
	if err := s.wakeJobs(ctx, reg.Tenant.ID); err != nil {
		return t, err
	}
	if err := s.hot.Publish(ctx, topicTenants, nil); err != nil {
		// The other nodes look every few seconds.
		s.cfg.Logger.LogAttrs(ctx, slog.LevelDebug, "server.publish_failed", slog.String("error", err.Error()))
	}
	return reg.Tenant, nil
}

// serve serves exactly these tenants from now on. One that cannot be served is
// named and left out; the others are served.
func (s *Server) serve(known []store.Registered) error {
	s.mu.Lock()
	old := s.businesses
	s.mu.Unlock()
	next := make(map[ids.TenantID]*business, len(known))
	var errs []error
	for _, k := range known {
		if b := old[k.Tenant.ID]; b != nil && b.tenant.Version == k.Tenant.Version {
			next[k.Tenant.ID] = b
			continue
		}
		b, err := s.composeBusiness(k)
		if err != nil {
			errs = append(errs, fmt.Errorf("tenant %s: %w", k.Tenant.Slug, err))
			continue
		}
		next[k.Tenant.ID] = b
	}
	for id := range old {
		if next[id] == nil {
			errs = append(errs, s.store.Forget(context.Background(), id))
		}
	}
	s.mu.Lock()
	s.businesses = next
	s.mu.Unlock()
	s.routes.Store(newRoutes(next, s.cfg.Secrets))
	return errors.Join(errs...)
}

func (s *Server) composeBusiness(k store.Registered) (*business, error) {
	a, ok := s.apps[k.Tenant.App]
	if !ok {
		return nil, fmt.Errorf("no app named %q", k.Tenant.App)
	}
	st, err := s.store.Tenant(k.Tenant.ID, k.Tenant.App)
	if err != nil {
		return nil, err
	}
	b := &business{tenant: k.Tenant, route: k.Route, store: st}
	if err := b.tenant.Thresholds.Check(); err != nil {
		return nil, err
	}
	if b.policy, err = Policy(&b.tenant); err != nil {
		return nil, err
	}
	if b.rails, err = s.rails(k.Tenant); err != nil {
		return nil, err
	}
	var phones []string
	for _, admin := range b.tenant.Admins {
		phones = append(phones, admin.Phone)
	}
	b.turns, err = turn.NewBusiness(&b.tenant, a.App, a.registry, store.Turns{Tenant: st, Admins: phones})
	b.turns.Admin = s.assistant
	return b, err
}

// rails are the ways in which a business takes payments.
func (s *Server) rails(t tenant.Tenant) (map[payment.Rail]payment.Gateway, error) {
	rails := map[payment.Rail]payment.Gateway{}
	if s.cfg.Offline {
		return rails, nil
	}
	if m := t.Mpesa; m != nil {
		g, err := mpesa.New(mpesa.Config{
			BaseURL: s.cfg.Settings.Daraja.URL, Shortcode: m.Shortcode, Till: m.Till, Type: mpesa.Type(m.Type),
			Passkey: s.cfg.Secrets(m.PasskeyEnv), ConsumerKey: s.cfg.Secrets(m.ConsumerKeyEnv),
			ConsumerSecret: s.cfg.Secrets(m.ConsumerSecretEnv), Clock: s.cfg.Clock,
			Initiator: m.Initiator, SecurityCredential: s.secret(m.CredentialEnv),
		})
		if err != nil {
			return nil, err
		}
		rails[payment.Mpesa] = g
	}
	if p := t.Pesapal; p != nil {
		g, err := pesapal.New(pesapal.Config{
			BaseURL: s.cfg.Settings.Pesapal.URL, ConsumerKey: s.cfg.Secrets(p.ConsumerKeyEnv),
			ConsumerSecret: s.cfg.Secrets(p.ConsumerSecretEnv), NotifyURL: s.public("/webhooks/pesapal/ipn"), Clock: s.cfg.Clock,
		})
		if err != nil {
			return nil, err
		}
		rails[payment.Pesapal] = g
	}
	return rails, nil
}

// secret is the value of a variable, none when it is not named.
func (s *Server) secret(name string) string {
	if name == "" {
		return ""
	}
	return s.cfg.Secrets(name)
}

// public is an address of this installation, as providers and payers reach it.
func (s *Server) public(path string) string {
	return strings.TrimRight(s.cfg.Settings.PublicURL, "/") + path
}

func (s *Server) business(id ids.TenantID) (*business, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.businesses[id]
	if !ok {
		return nil, fault.E(fault.NotFound, "No such tenant.")
	}
	return b, nil
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
		jobs[i] = coord.Job{
			Run: func(ctx context.Context) {
				switch key := string(claim.Key); {
				case store.IsArchive(claim.Key):
					s.archiveLog(ctx, b, claim)
					return
				case claim.Key == store.Reconciliation:
					if due := s.reconcile(ctx, b, claim); !due.IsZero() {
						s.turns.Wake(id, due)
					}
					s.turns.Wake(id, s.cfg.Clock.Now()) // providers may be asked about attempts
					return
				case strings.HasPrefix(key, app.JobPrefix):
					s.turns.Wake(id, s.work(ctx, b, claim))
					return
				}
				committed, due := s.engine.Handle(ctx, b.turns, claim)
				// What cannot tell whether it was committed may have left something to send.
				if now := s.cfg.Clock.Now(); committed || !due.IsZero() && !due.After(now) {
					s.sends.Wake(id, s.real.Now())
				}
				if !due.IsZero() {
					s.turns.Wake(id, due)
				}
			},
			Beat: func(ctx context.Context) error { return b.store.Extend(ctx, claim, s.real.Now()) },
		}
	}
	return jobs, next, nil
}

// Migrate brings every tenant's database to this build's version.
func (s *Server) Migrate(ctx context.Context, report func(store.Migrated)) error {
	return s.store.Migrate(ctx, report)
}

// Replay computes a recorded turn again and returns the digest of what it
// decides.
func (s *Server) Replay(ctx context.Context, id ids.TenantID, inputs json.RawMessage) (string, error) {
	b, err := s.business(id)
	if err != nil {
		return "", err
	}
	r, err := s.engine.Replay(ctx, b.turns, inputs)
	return r.Digest, err
}
