package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/server"
	"github.com/ratiba/ratiba/internal/store"
	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/turn"
)

// How far the machine's clock may be from the database's. Leases follow the
// database; timers, holds and WhatsApp's window follow the machine.
const (
	skewWarn = 2 * time.Second
	skewFail = time.Minute
)

// clocks compares the machine's time with the database server's.
func (e *examination) clocks(ctx context.Context) {
	url := e.secret(e.settings.Database.URLEnv)
	if url == "" {
		return
	}
	skew, err := skewOf(ctx, store.Config{Dir: e.settings.Data, URL: url, Conns: 4, Node: "doctor", Visitor: true, Real: nil}, e)
	if err != nil {
		e.add(Fail, "clocks", "the database of %s cannot be used: %v", e.settings.Database.URLEnv, err)
		return
	}
	level := OK
	switch abs := skew.Abs(); {
	case abs >= skewFail:
		level = Fail
	case abs >= skewWarn:
		level = Warn
	}
	e.add(level, "clocks", "the database's clock is %s from this machine's", skew.Round(time.Millisecond))
}

func skewOf(ctx context.Context, cfg store.Config, e *examination) (time.Duration, error) {
	s, err := store.Open(ctx, cfg)
	if err != nil {
		return 0, err
	}
	return s.Real().Now().Sub(e.Clock.Now()), s.Close()
}

// businesses looks at every business that is defined: its definition, its
// secrets, its overrides and the templates it needs.
func (e *examination) businesses(ctx context.Context, router *llm.Router) {
	if _, err := turn.Texts(); err != nil {
		e.faults("templates", err)
	}
	s := e.open(ctx)
	if s == nil {
		return
	}
	known, err := s.Definitions(ctx)
	if err != nil {
		e.faults("businesses", err)
	}
	for _, t := range known {
		before := len(e.Findings)
		e.business(t, router)
		if len(e.Findings) == before {
			e.add(OK, "businesses", "%s, version %d", t.Slug, t.Version)
		}
		e.templates(ctx, t)
	}
	if err := s.Stop(); err != nil {
		e.add(Warn, "businesses", "close the databases: %v", err)
	}
}

func (e *examination) business(t tenant.Tenant, router *llm.Router) {
	if err := server.Check(t); err != nil {
		e.faults("businesses", fmt.Errorf("%s: %w", t.Slug, err))
	}
	for _, s := range secretsOf(t) {
		if s.name != "" && e.secret(s.name) == "" {
			e.add(Fail, "keys", "%s: %s: want %s", t.Slug, s.name, s.what)
		}
	}
	e.channel(t)
	if err := e.overrides(t, router); err != nil {
		for _, err := range lines(err) {
			e.add(Fail, "overrides", "%s: %v", t.Slug, err)
		}
	}
}

// overrides judges the business's own ladders.
func (e *examination) overrides(t tenant.Tenant, router *llm.Router) error {
	own, err := overridesOf(t)
	if err != nil || len(own) == 0 {
		return err
	}
	if router == nil {
		return errors.New("not judged: no role can be served")
	}
	return router.CheckOverrides(own)
}

// secret is a variable a business needs.
type secret struct{ name, what string }

func secretsOf(t tenant.Tenant) []secret {
	var out []secret
	for _, n := range t.Numbers {
		out = append(out, secret{n.TokenEnv, "the access token of number " + n.ID}, secret{n.AppSecretEnv, "the app secret of number " + n.ID},
			secret{n.WebhookEnv, "the webhook secret of number " + n.ID})
	}
	if m := t.Mpesa; m != nil {
		out = append(out, secret{m.PasskeyEnv, "the M-Pesa passkey"}, secret{m.ConsumerKeyEnv, "the M-Pesa consumer key"},
			secret{m.ConsumerSecretEnv, "the M-Pesa consumer secret"})
	}
	return out
}

// lines are the errors that were joined into one.
func lines(err error) []error {
	if joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// overridesOf reads the business's own ladders out of its stored definition.
func overridesOf(t tenant.Tenant) (llm.Overrides, error) {
	raw, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("read the definition: %w", err)
	}
	var stored struct {
		Overrides json.RawMessage `json:"llm_role_overrides"`
	}
	if err := json.Unmarshal(raw, &stored); err != nil {
		return nil, fmt.Errorf("read the definition: %w", err)
	}
	return llm.ParseOverrides(stored.Overrides)
}
