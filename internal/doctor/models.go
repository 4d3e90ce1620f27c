package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/config"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/llm/anthropic"
	"github.com/ratiba/ratiba/internal/llm/openai"
	"github.com/ratiba/ratiba/internal/prompt"
	"github.com/ratiba/ratiba/internal/understand"
)

// notice is how long before its retirement a model in use is warned of.
const notice = 60 * 24 * time.Hour

// Assignment is an installation's roles, its ladders on trial and the catalogue
// that both are resolved in.
type Assignment struct {
	Roles     llm.Roles
	Canaries  llm.Roles
	Catalogue *llm.Catalogue
}

// ReadAssignment reads what the settings name, or else what is built in.
func ReadAssignment(m config.Models) (Assignment, error) {
	a := Assignment{Canaries: llm.Roles{}}
	var wrong, faults error
	if m.Roles == "" {
		a.Roles, faults = llm.DefaultRoles()
	} else if raw, err := os.ReadFile(m.Roles); err != nil {
		faults = fmt.Errorf("read roles: %w", err)
	} else {
		a.Roles, faults = llm.ParseRoles(raw)
		if faults == nil {
			a.Canaries, faults = llm.ParseCanaries(raw)
		}
	}
	if a.Catalogue, wrong = llm.DefaultCatalogue(); wrong == nil && m.Catalogue != "" {
		var raw []byte
		if raw, wrong = os.ReadFile(m.Catalogue); wrong == nil {
			a.Catalogue, wrong = a.Catalogue.Extend(raw)
		}
	}
	if wrong != nil {
		wrong = fmt.Errorf("model catalogue: %w", wrong)
	}
	return a, errors.Join(faults, wrong)
}

// nobody stands for a provider whose key is there: it is never asked.
type nobody struct{}

func (nobody) Complete(context.Context, llm.Call) (llm.Answer, error) {
	return llm.Answer{}, errors.New("nobody is asked")
}

// keyed are the providers that could be called.
func (e *examination) keyed() map[string]llm.Provider {
	out := make(map[string]llm.Provider)
	for name, p := range map[string]config.Provider{openai.Name: e.settings.Models.OpenAI, anthropic.Name: e.settings.Models.Anthropic} {
		if p.URL != "" || e.secret(p.KeyEnv) != "" {
			out[name] = nobody{}
		}
	}
	return out
}

// models looks at keys, roles, prices and retirements. It returns a router that
// judges overrides, nil when the assignment is beyond that.
func (e *examination) models() *llm.Router {
	a, err := ReadAssignment(e.settings.Models)
	if err != nil {
		e.faults("roles", err)
		return nil
	}
	keyed := e.keyed()
	if len(keyed) == 0 {
		e.add(Warn, "keys", "no model provider has a key (%s, %s): code understands alone", e.settings.Models.OpenAI.KeyEnv, e.settings.Models.Anthropic.KeyEnv)
	}
	e.keys(a, keyed)
	all := maps.Clone(keyed)
	for _, name := range providers(a) {
		all[name] = nobody{}
	}
	cfg := llm.Config{Roles: a.Roles, Canaries: a.Canaries, Catalogue: a.Catalogue, Providers: all, Ledger: llm.NewMemory(e.Clock), Clock: e.Clock}
	if _, err := llm.New(cfg); err != nil {
		e.faults("roles", err)
		return nil
	}
	for _, role := range understand.Roles() {
		if len(a.Roles[role]) == 0 {
			e.add(Fail, "roles", "role %s has no ladder", role)
		}
	}
	e.add(OK, "roles", "%d roles, %d on trial", len(a.Roles), len(a.Canaries))
	e.inUse(a)
	// Overrides are judged by the keys that are there, and by no role's ladder
	// whose key is missing: that was reported.
	cfg.Providers, cfg.Canaries = keyed, nil
	cfg.Roles = llm.Roles{}
	for role, ladder := range a.Roles {
		if !slices.ContainsFunc(ladder, func(r llm.Rung) bool { return !r.Human && keyed[r.Provider] == nil }) {
			cfg.Roles[role] = ladder
		}
	}
	router, err := llm.New(cfg)
	if err != nil {
		return nil // no role at all can be served, and that was reported
	}
	return router
}

// keys looks whether every provider in use has a key.
func (e *examination) keys(a Assignment, keyed map[string]llm.Provider) {
	env := map[string]string{openai.Name: e.settings.Models.OpenAI.KeyEnv, anthropic.Name: e.settings.Models.Anthropic.KeyEnv}
	for _, name := range providers(a) {
		called, waiting := served(a.Roles, name)
		switch {
		case keyed[name] != nil:
			e.add(OK, "keys", "%s", name)
		case env[name] == "":
			e.add(Fail, "keys", "provider %q is not known; it serves %s", name, strings.Join(append(called, waiting...), ", "))
		case len(called) > 0 && len(keyed) > 0:
			e.add(Fail, "keys", "%s: want the key of %s, which serves %s", env[name], name, strings.Join(called, ", "))
		default:
			e.add(Warn, "keys", "%s: no key of %s, which would serve %s", env[name], name, strings.Join(append(called, waiting...), ", "))
		}
	}
}

// providers are those that some ladder names, in order.
func providers(a Assignment) []string {
	var out []string
	for _, set := range []llm.Roles{a.Roles, a.Canaries} {
		for _, ladder := range set {
			for _, rung := range ladder {
				if !rung.Human {
					out = append(out, rung.Provider)
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// served are the roles on a provider: those that are called, and the rest.
func served(roles llm.Roles, provider string) (called, waiting []string) {
	for _, role := range slices.Sorted(maps.Keys(roles)) {
		if !slices.ContainsFunc(roles[role], func(r llm.Rung) bool { return r.Provider == provider }) {
			continue
		}
		if slices.Contains(understand.Roles(), role) {
			called = append(called, string(role))
		} else {
			waiting = append(waiting, string(role))
		}
	}
	return called, waiting
}

// inUse looks at every model that some ladder names: its price and how long it
// will be there.
func (e *examination) inUse(a Assignment) {
	users := make(map[[2]string][]string)
	for _, set := range []llm.Roles{a.Roles, a.Canaries} {
		for role, ladder := range set {
			for _, rung := range ladder {
				if !rung.Human {
					key := [2]string{rung.Provider, rung.Model}
					users[key] = append(users[key], string(role))
				}
			}
		}
	}
	keys := slices.SortedFunc(maps.Keys(users), func(a, b [2]string) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	for _, key := range keys {
		model, ok := a.Catalogue.Model(key[0], key[1])
		if !ok {
			continue // the router said so
		}
		slices.Sort(users[key])
		e.model(key[1], model, strings.Join(slices.Compact(users[key]), ", "))
	}
}

func (e *examination) model(id string, m llm.Model, users string) {
	now := e.Clock.Now()
	switch retires := m.Retires.Format(time.DateOnly); {
	case m.Retires.IsZero():
		e.add(OK, "models", "%s serves %s", id, users)
	case m.RetiredAt(now):
		e.add(Fail, "models", "%s, which serves %s, was retired on %s%s", id, users, retires, successor(m))
	case m.RetiredAt(now.Add(notice)):
		e.add(Warn, "models", "%s, which serves %s, retires on %s, in %d days%s", id, users, retires, days(m.Retires.Sub(now)), successor(m))
	default:
		e.add(OK, "models", "%s serves %s until %s", id, users, retires)
	}
	switch {
	case len(m.Prices) == 0:
		e.add(Fail, "prices", "%s has no price", id)
	case m.Prices[0].From.After(now):
		e.add(Warn, "prices", "%s has its first price from %s on; until then that one is taken", id, m.Prices[0].From.Format(time.DateOnly))
	}
}

// days counts begun days.
func days(d time.Duration) int { return int((d + 24*time.Hour - 1) / (24 * time.Hour)) }

func successor(m llm.Model) string {
	if m.Successor == "" {
		return ""
	}
	return "; its successor is " + m.Successor
}

// prompts looks whether every role that is called has a prompt that loads: that
// its variables are declared and used is part of loading.
func (e *examination) prompts() {
	set, err := prompt.Embedded()
	if err != nil {
		e.faults("prompts", err)
		return
	}
	for _, role := range understand.Roles() {
		meta, ok := set.Metadata(string(role))
		switch {
		case !ok:
			e.add(Fail, "prompts", "role %s has no prompt", role)
		case meta.Role != role:
			e.add(Fail, "prompts", "the prompt %s is for role %s", role, meta.Role)
		default:
			text := fmt.Sprintf("%s, %d variables", set.Version(string(role), prompt.Stable), len(meta.Variables))
			if canary := set.Version(string(role), prompt.Canary); canary != set.Version(string(role), prompt.Stable) {
				text += ", on trial " + canary
			}
			e.add(OK, "prompts", "%s", text)
		}
	}
}
