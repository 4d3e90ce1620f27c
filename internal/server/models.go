package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/llm/anthropic"
	"github.com/ratiba/ratiba/internal/llm/openai"
	"github.com/ratiba/ratiba/internal/prompt"
	"github.com/ratiba/ratiba/internal/store"
	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/understand"
)

// understander composes understanding with the models that have a key or an
// address; without any, code understands alone.
func (s *Server) understander() (*understand.Understander, error) {
	var err error
	if s.models, err = s.router(); err != nil {
		return nil, err
	}
	cfg := understand.Config{Logger: s.cfg.Logger}
	if s.models != nil {
		prompts, err := prompt.Embedded()
		if err != nil {
			return nil, fmt.Errorf("load prompts: %w", err)
		}
		cfg.Model, cfg.Prompts, cfg.Tracks = s.models, prompts, tracks{s}
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
	a, err := s.assignments()
	if err == nil {
		var wrong error
		a.roles, err = s.served(a.roles, providers)
		a.canaries, wrong = s.served(a.canaries, providers)
		err = errors.Join(err, wrong)
	}
	if err != nil {
		return nil, err
	}
	if err := s.record(providers); err != nil {
		return nil, err
	}
	return llm.New(llm.Config{
		Roles: a.roles, Canaries: a.canaries, Rollouts: rollouts{s}, Catalogue: a.catalogue, Providers: providers, Clock: s.cfg.Clock, Logger: s.cfg.Logger,
		Ledger: store.Calls{Open: s.tenantStore, Real: s.real}, Policies: policies{s}, Owner: s.store.Node(), Stopwatch: s.real,
		Escalations: s.people,
	})
}

// record has every call written to the tape that the settings name.
func (s *Server) record(providers map[string]llm.Provider) error {
	m := s.cfg.Settings.Models
	if m.Tape == "" {
		return nil
	}
	f, err := os.OpenFile(m.Tape, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the tape of model calls: %w", err)
	}
	recorder := llm.NewRecorder(f, s.cfg.Secrets(m.OpenAI.KeyEnv), s.cfg.Secrets(m.Anthropic.KeyEnv))
	for name, p := range providers {
		providers[name] = recorder.Provider(name, p)
	}
	s.endTape = func() error { return errors.Join(recorder.Err(), f.Close()) }
	s.cfg.Logger.LogAttrs(context.Background(), slog.LevelWarn, "models.recording", slog.String("file", m.Tape))
	return nil
}

// policies answers from the definitions that are served.
type policies struct{ s *Server }

// Policy implements llm.Policies.
func (p policies) Policy(_ context.Context, id ids.TenantID) (llm.Policy, error) {
	b, err := p.s.business(id)
	if err != nil {
		return llm.Policy{}, err
	}
	return b.policy, nil
}

// contactThreads is how many whole threads a contact may spend in a day, where
// that is more than the default.
const contactThreads = 3

// Policy reads a definition's ceilings and overrides.
func Policy(t *tenant.Tenant) (llm.Policy, error) {
	c := llm.DefaultCeilings()
	c.Soft, c.Hard = t.CostSoft, t.CostHard
	c.ContactDay = cmp.Or(t.CostContactDay, max(c.ContactDay, contactThreads*t.CostHard))
	c.TenantDay = cmp.Or(t.CostTenantDay, c.TenantDay)
	c.OperationsDay = cmp.Or(t.CostOperationsDay, c.OperationsDay)
	overrides, err := llm.ParseOverrides(t.Models)
	return llm.Policy{Version: t.Version, Overrides: overrides, Ceilings: c}, err
}

// checkModels says whether the models that a definition names can serve.
func (s *Server) checkModels(t *tenant.Tenant) error {
	p, err := Policy(t)
	if err == nil {
		if err = s.checkOverrides(p.Overrides); err != nil {
			err = fmt.Errorf("llm_role_overrides: %w", err)
		}
	}
	if err != nil {
		return fault.Wrap(err, fault.Invalid, err.Error())
	}
	return nil
}

func (s *Server) checkOverrides(o llm.Overrides) error {
	var errs []error
	for _, role := range slices.Sorted(maps.Keys(o)) {
		errs = append(errs, conversational(role, o[role]))
	}
	if s.models != nil {
		errs = append(errs, s.models.CheckOverrides(o))
	}
	return errors.Join(errs...)
}

// conversational refuses a person at the end of a ladder that a conversation
// climbs: it cannot wait, and asks the customer again instead.
func conversational(role llm.Role, ladder llm.Ladder) error {
	if len(ladder) > 0 && ladder[len(ladder)-1].Human && slices.Contains(understand.Roles(), role) {
		return fmt.Errorf("role %s: a conversation cannot wait for a person: leave human out of its ladder", role)
	}
	return nil
}

// served leaves out the roles that nobody calls and whose vendor has no key.
// A role that is called needs its vendor.
func (s *Server) served(roles llm.Roles, providers map[string]llm.Provider) (llm.Roles, error) {
	m := s.cfg.Settings.Models
	keys := map[string]string{openai.Name: m.OpenAI.KeyEnv, anthropic.Name: m.Anthropic.KeyEnv}
	out, waiting := llm.Roles{}, map[string][]string{}
	var errs []error
	for role, ladder := range roles {
		errs = append(errs, conversational(role, ladder))
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
	for _, name := range slices.Sorted(maps.Keys(waiting)) {
		slices.Sort(waiting[name])
		errs = append(errs, fmt.Errorf("%s: want the key of %s, which serves %s; or give these roles to another vendor in models.roles",
			keys[name], name, strings.Join(slices.Compact(waiting[name]), ", ")))
	}
	return out, errors.Join(errs...)
}

// assignment is which models serve which role, which are on trial, and the
// catalogue that has them.
type assignment struct {
	roles, canaries llm.Roles
	catalogue       *llm.Catalogue
}

func (s *Server) assignments() (a assignment, err error) {
	m := s.cfg.Settings.Models
	if m.Roles == "" {
		a.roles, err = llm.DefaultRoles()
	} else {
		var raw []byte
		if raw, err = os.ReadFile(m.Roles); err == nil {
			a.roles, err = llm.ParseRoles(raw)
		}
		if err == nil {
			a.canaries, err = llm.ParseCanaries(raw)
		}
	}
	if err != nil {
		return a, fmt.Errorf("read roles: %w", err)
	}
	a.catalogue, err = llm.DefaultCatalogue()
	if m.Catalogue != "" && err == nil {
		var raw []byte
		if raw, err = os.ReadFile(m.Catalogue); err == nil {
			a.catalogue, err = a.catalogue.Extend(raw)
		}
	}
	if err != nil {
		return a, fmt.Errorf("read model catalogue: %w", err)
	}
	return a, nil
}
