package server_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/ratiba/ratiba/internal/config"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/server"
	"github.com/ratiba/ratiba/internal/tenant"
)

const shop = `
slug: duka
name: Duka
vertical: salon
app: booking
country: KE
locale: sw
time_zone: Africa/Nairobi
currency: KES
assistant: Rehema
numbers: [{provider: meta, id: "1", display: "+254711000009", token_env: DUKA_TOKEN, app_secret_env: DUKA_SECRET}]
admins: [{name: Rehema, phone: "+254722000009"}]
booking:
  services: [{key: cut, name: {en: Haircut, sw: Kunyoa}, minutes: 30, price: 500}]
  staff: [{key: juma, name: Juma, hours: {mon-sat: ["09:00-17:00"]}}]
`

// A definition that the serving process could not serve is refused whole: were
// it registered, the next start would be refused for it.
func TestApplyRefusesWhatCannotBeServed(t *testing.T) {
	t.Parallel()
	have := map[string]string{}
	set := config.Config{PublicURL: "http://127.0.0.1", Data: t.TempDir()}
	set.Models.OpenAI.KeyEnv, set.Models.OpenAI.URL, set.Models.Anthropic.KeyEnv = "OPENAI_API_KEY", "http://127.0.0.1:1", "ANTHROPIC_API_KEY"
	s, err := server.New(t.Context(), server.Config{
		Settings: set, Logger: slog.New(slog.DiscardHandler),
		Secrets: func(name string) string { return have[name] },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop() })
	def, err := tenant.Parse([]byte(shop))
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Apply(t.Context(), def)
	if fault.CodeOf(err) != fault.Invalid || !strings.Contains(err.Error(), "DUKA_TOKEN") || !strings.Contains(err.Error(), "DUKA_SECRET") {
		t.Errorf("got %v, want both secrets named", err)
	}
	if n := len(s.Tenants()); n != 0 {
		t.Errorf("%d tenants are served after a refusal", n)
	}
	have["DUKA_TOKEN"], have["DUKA_SECRET"] = "a", "b"
	if applied, err := s.Apply(t.Context(), def); err != nil || applied.Version != 1 {
		t.Errorf("with its secrets: version %d, %v", applied.Version, err)
	}
	for models, want := range map[string]string{
		`{"poet": {"provider": "openai", "model": "m"}}`:               `role "poet" is unknown`,
		`{"answer_shaper": {"ladder": ["human"]}}`:                     `llm_role_overrides: role answer_shaper: a conversation cannot wait`,
		`{"answer_shaper": {"provider": "openai", "model": "no-one"}}`: `model "no-one" of "openai" is not in the catalogue`,
		`{"answer_shaper": {"provider": "anthropic", "model": "m"}}`:   `provider "anthropic" has no key`,
	} {
		wrong := def
		wrong.Models = []byte(models)
		if _, err := s.Apply(t.Context(), wrong); fault.CodeOf(err) != fault.Invalid || !strings.Contains(err.Error(), "llm_role_overrides: role") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", models, err, want)
		}
	}
	def.App = "laundry"
	if _, err := s.Apply(t.Context(), def); fault.CodeOf(err) != fault.Invalid {
		t.Errorf("an app that does not exist: %v", err)
	}
}
