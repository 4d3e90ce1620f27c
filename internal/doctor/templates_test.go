package doctor_test

import (
	"log/slog"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/config"
	"github.com/ratiba/ratiba/internal/demo"
	"github.com/ratiba/ratiba/internal/doctor"
	"github.com/ratiba/ratiba/internal/server"
	"github.com/ratiba/ratiba/internal/sim"
	"github.com/ratiba/ratiba/internal/tenant"
)

// provider is the simulated WhatsApp of one business, whose templates change
// what they are.
func provider(t *testing.T, change func([]sim.Template) []sim.Template) (doctor.Patient, *sim.Sim) {
	t.Helper()
	raw, err := os.ReadFile("../demo/seeds/spa.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(raw), "token_env: SERENITY_WHATSAPP_TOKEN", "token_env: SERENITY_WHATSAPP_TOKEN\n    account_id: \"730000000000077\"", 1)
	spa, err := tenant.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	p := patient(t, spaSecrets)
	cfg := demo.World([]tenant.Tenant{spa}, config.Environment(p.Environ), "http://127.0.0.1:1")
	cfg.Clock = clock.NewFixed(today)
	cfg.Templates = change(cfg.Templates)
	world, err := sim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(world.Handler())
	t.Cleanup(func() { world.Stop(); web.Close() })
	p.Environ["RATIBA_META_URL"] = web.URL + "/graph"
	settings, err := config.Load("", p.Environ)
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(t.Context(), server.Config{
		Settings: settings, Secrets: config.Environment(p.Environ), Logger: slog.New(slog.DiscardHandler), Offline: true, Clock: p.Clock,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), spa); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	return p, world
}

func TestTemplatesAreComparedWithTheProviders(t *testing.T) {
	t.Parallel()
	set := func(name, lang string, change func(x *sim.Template)) func([]sim.Template) []sim.Template {
		return func(all []sim.Template) []sim.Template {
			for i := range all {
				if all[i].Name == name && all[i].Language == lang {
					change(&all[i])
				}
			}
			return all
		}
	}
	rows := []struct {
		name   string
		change func([]sim.Template) []sim.Template
		level  doctor.Level
		says   string
	}{
		{"all are approved", func(all []sim.Template) []sim.Template { return all }, doctor.OK, "all of them are approved"},
		{"one is not there", func(all []sim.Template) []sim.Template { return all[2:] }, doctor.Fail, "ratiba_notice in en is not there"},
		{"one lacks a language", func(all []sim.Template) []sim.Template { return all[:len(all)-1] }, doctor.Fail, "ratiba_announcement in sw is not there"},
		{"one is paused", set("ratiba_page", "sw", func(x *sim.Template) { x.Status = "PAUSED" }), doctor.Fail, "ratiba_page in sw is paused, not approved"},
		{"one has other parameters", set("ratiba_page", "en", func(x *sim.Template) { x.Body = "{{1}} and {{2}}" }), doctor.Fail, "ratiba_page in en has 2 parameters, want 3"},
		{"one lost its button", set("ratiba_relay", "en", func(x *sim.Template) { x.Buttons = 0 }), doctor.Fail, "ratiba_relay in en has 0 buttons, want 1"},
		{"there are many others", func(all []sim.Template) []sim.Template {
			var others []sim.Template
			for range 230 {
				others = append(others, sim.Template{Name: "other", Language: "en", Params: 1})
			}
			return append(others, all...)
		}, doctor.OK, "all of them are approved"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p, _ := provider(t, row.change)
			if r := doctor.Examine(t.Context(), p); !has(r, row.level, "templates", row.says) || r.Failed() != (row.level == doctor.Fail) {
				t.Errorf("want %s %q in %s", row.level, row.says, written(r))
			}
			p.Offline = true
			if r := doctor.Examine(t.Context(), p); r.Failed() || !has(r, doctor.Warn, "templates", "not compared") {
				t.Errorf("offline: %s", written(r))
			}
		})
	}
	t.Run("the key is refused", func(t *testing.T) {
		t.Parallel()
		p, _ := provider(t, rows[0].change)
		p.Environ["SERENITY_WHATSAPP_TOKEN"] = "another"
		if r := doctor.Examine(t.Context(), p); !has(r, doctor.Fail, "templates", "code 190") {
			t.Errorf("got %s", written(r))
		}
	})
}
