package doctor_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/config"
	"github.com/ratiba/ratiba/internal/db/dbtest"
	"github.com/ratiba/ratiba/internal/doctor"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/server"
	"github.com/ratiba/ratiba/internal/store"
	"github.com/ratiba/ratiba/internal/tenant"
)

var today = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// patient is a sound installation in a directory of its own, with changes.
func patient(t *testing.T, changes map[string]string) doctor.Patient {
	t.Helper()
	environ := map[string]string{
		"RATIBA_PUBLIC_URL": "https://ratiba.example", "RATIBA_DATA": filepath.Join(t.TempDir(), "data"),
		"RATIBA_VERIFY_TOKEN": "v", "OPENAI_API_KEY": "k-open", "ANTHROPIC_API_KEY": "k-anth",
	}
	maps.Copy(environ, changes)
	return doctor.Patient{Environ: environ, Clock: clock.NewFixed(today)}
}

// file writes a file and returns its path.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// has reports whether a finding of that level and check holds the text.
func has(r doctor.Report, level doctor.Level, check, text string) bool {
	return slices.ContainsFunc(r.Findings, func(f doctor.Finding) bool {
		return f.Level == level && f.Check == check && strings.Contains(f.Text, text)
	})
}

func written(r doctor.Report) string {
	raw, _ := json.MarshalIndent(r.Findings, "", " ")
	return string(raw)
}

func TestASoundInstallationHasNothingButOK(t *testing.T) {
	t.Parallel()
	r := doctor.Examine(t.Context(), patient(t, nil))
	if r.Failed() || slices.ContainsFunc(r.Findings, func(f doctor.Finding) bool { return f.Level != doctor.OK }) {
		t.Errorf("findings %s", written(r))
	}
	for _, check := range []string{"configuration", "keys", "roles", "models", "prompts", "businesses"} {
		if !has(r, doctor.OK, check, "") {
			t.Errorf("nothing was said about %s", check)
		}
	}
}

const retiring = `roles:
  intent_classifier: {ladder: [{provider: openai, model: gpt-4.1-mini}]}
  slot_extractor: {ladder: [{provider: openai, model: gpt-4.1-mini}]}
  clarification_rephraser: {ladder: [{provider: openai, model: gpt-4.1-mini}]}
  answer_shaper: {ladder: [{provider: openai, model: gpt-4.1-mini}]}
`

func TestRetirementsAreWarnedOfSixtyDaysBeforeAndFailAfter(t *testing.T) {
	t.Parallel()
	day := func(s string) time.Time {
		at, err := time.Parse(time.DateTime, s)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	rows := []struct {
		now   time.Time
		level doctor.Level
		text  string
	}{
		{day("2026-11-14 23:59:59"), doctor.OK, "until 2027-01-14"},
		{day("2026-11-15 00:00:00"), doctor.Warn, "in 60 days; its successor is gpt-6-luna"},
		{day("2027-01-13 23:59:59"), doctor.Warn, "in 1 days"},
		{day("2027-01-14 00:00:00"), doctor.Fail, "was retired on 2027-01-14; its successor is gpt-6-luna"},
	}
	for _, row := range rows {
		p := patient(t, map[string]string{"RATIBA_ROLES": file(t, "roles.yaml", retiring)})
		p.Clock = clock.NewFixed(row.now)
		if r := doctor.Examine(t.Context(), p); !has(r, row.level, "models", row.text) || r.Failed() != (row.level == doctor.Fail) {
			t.Errorf("on %s: %s", row.now, written(r))
		}
	}
}

func TestEveryFaultIsOneLine(t *testing.T) {
	t.Parallel()
	ladder := func(rung string) string {
		return strings.ReplaceAll(retiring, "{provider: openai, model: gpt-4.1-mini}", rung)
	}
	rows := []struct {
		name    string
		changes map[string]string
		roles   string
		level   doctor.Level
		check   string
		text    string
	}{
		{name: "no public address", changes: map[string]string{"RATIBA_PUBLIC_URL": ""}, level: doctor.Fail, check: "configuration", text: "public_url"},
		{name: "a Slack channel without a token", changes: map[string]string{"RATIBA_SLACK_CHANNEL": "#e", "SLACK_SIGNING_SECRET": "k-open"}, level: doctor.Fail, check: "slack", text: "SLACK_BOT_TOKEN"},
		{name: "a Slack channel nobody can tap in", changes: map[string]string{"RATIBA_SLACK_CHANNEL": "#e", "SLACK_BOT_TOKEN": "k-open"}, level: doctor.Fail, check: "slack", text: "SLACK_SIGNING_SECRET"},
		{name: "a Slack channel", changes: map[string]string{"RATIBA_SLACK_CHANNEL": "#e", "SLACK_BOT_TOKEN": "k-open", "SLACK_SIGNING_SECRET": "k-open"}, level: doctor.OK, check: "slack", text: "#e"},
		{name: "no verify token", changes: map[string]string{"RATIBA_VERIFY_TOKEN": ""}, level: doctor.Fail, check: "keys", text: "RATIBA_VERIFY_TOKEN"},
		{name: "a called role's key", changes: map[string]string{"OPENAI_API_KEY": ""}, level: doctor.Fail, check: "keys", text: "OPENAI_API_KEY: want the key of openai, which serves answer_shaper"},
		{name: "a key nobody needs yet", changes: map[string]string{"ANTHROPIC_API_KEY": ""}, level: doctor.Warn, check: "keys", text: "ANTHROPIC_API_KEY"},
		{name: "no key at all", changes: map[string]string{"OPENAI_API_KEY": "", "ANTHROPIC_API_KEY": ""}, level: doctor.Warn, check: "keys", text: "code understands alone"},
		{name: "an unknown model", roles: ladder("{provider: openai, model: gpt-99}"), level: doctor.Fail, check: "roles", text: `"gpt-99"`},
		{name: "an unknown provider", roles: ladder("{provider: nimbus, model: x}"), level: doctor.Fail, check: "keys", text: `"nimbus" is not known`},
		{name: "an effort it does not take", roles: ladder("{provider: openai, model: gpt-4.1-mini, effort: max}"), level: doctor.Fail, check: "roles", text: "effort"},
		{name: "a role that is called and has no ladder", roles: "roles:\n  intent_classifier: {ladder: [{provider: openai, model: gpt-6-luna}]}\n", level: doctor.Fail, check: "roles", text: "slot_extractor has no ladder"},
		{name: "an unknown role", roles: retiring + "  poet: {ladder: [human]}\n", level: doctor.Fail, check: "roles", text: "poet"},
		{name: "a cycle of canaries", roles: retiring + "  reorientation: {ladder: [{provider: openai, model: gpt-6-luna}], canary: {like: handoff_summarizer}}\n" +
			"  handoff_summarizer: {ladder: [{provider: openai, model: gpt-6-luna}], canary: {like: reorientation}}\n", level: doctor.Fail, check: "roles", text: "cycle"},
		{name: "no roles file", changes: map[string]string{"RATIBA_ROLES": "/nowhere/roles.yaml"}, level: doctor.Fail, check: "roles", text: "/nowhere/roles.yaml"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			changes := maps.Clone(row.changes)
			if row.roles != "" {
				changes = map[string]string{"RATIBA_ROLES": file(t, "roles.yaml", row.roles)}
			}
			r := doctor.Examine(t.Context(), patient(t, changes))
			if !has(r, row.level, row.check, row.text) || row.level == doctor.Fail != r.Failed() {
				t.Errorf("findings %s", written(r))
			}
			for _, f := range r.Findings {
				if strings.Contains(f.Text, "\n") || strings.Contains(f.Text, "k-open") || strings.Contains(f.Text, "k-anth") {
					t.Errorf("finding %q", f.Text)
				}
			}
		})
	}
}

func TestAModelWithoutAPriceFails(t *testing.T) {
	t.Parallel()
	catalogue := "models:\n  - {provider: openai, id: local, strict_schema: true}\n" +
		"  - {provider: openai, id: dear, strict_schema: true, prices: [{from: 2030-01-01, input: \"1\", output: \"1\"}]}\n"
	p := patient(t, map[string]string{
		"RATIBA_CATALOGUE": file(t, "catalogue.yaml", catalogue),
		"RATIBA_ROLES":     file(t, "roles.yaml", strings.ReplaceAll(retiring, "gpt-4.1-mini", "local")),
	})
	if r := doctor.Examine(t.Context(), p); !r.Failed() || !has(r, doctor.Fail, "roles", `"local" has no price`) {
		t.Errorf("findings %s", written(r))
	}
	p.Environ["RATIBA_ROLES"] = file(t, "roles.yaml", strings.ReplaceAll(retiring, "gpt-4.1-mini", "dear"))
	if r := doctor.Examine(t.Context(), p); r.Failed() || !has(r, doctor.Warn, "prices", "from 2030-01-01") {
		t.Errorf("findings %s", written(r))
	}
}

// defined brings a business into an installation and gives its rows.
func defined(t *testing.T, p doctor.Patient, use func(s *server.Server, id ids.TenantID)) {
	t.Helper()
	raw, err := os.ReadFile("../demo/seeds/spa.yaml")
	if err != nil {
		t.Fatal(err)
	}
	spa, err := tenant.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
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
	applied, err := s.Apply(t.Context(), spa)
	if err != nil {
		t.Fatal(err)
	}
	use(s, applied.ID)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
}

var spaSecrets = map[string]string{
	"SERENITY_WHATSAPP_TOKEN": "a", "META_APP_SECRET": "b", "SERENITY_MPESA_PASSKEY": "c", "SERENITY_MPESA_KEY": "d", "SERENITY_MPESA_SECRET": "e",
}

func TestABusinessNeedsItsSecretsAndItsTemplate(t *testing.T) {
	t.Parallel()
	p := patient(t, spaSecrets)
	defined(t, p, func(s *server.Server, _ ids.TenantID) {
		if r := doctor.Examine(t.Context(), p); r.Failed() || !has(r, doctor.Warn, "businesses", "not looked at") {
			t.Errorf("while it is held: %s", written(r))
		}
	})
	if r := doctor.Examine(t.Context(), p); r.Failed() || !has(r, doctor.OK, "businesses", "serenity, version 1") || !has(r, doctor.OK, "templates", "ratiba_notice") {
		t.Errorf("sound: %s", written(r))
	}
	delete(p.Environ, "SERENITY_MPESA_PASSKEY")
	if r := doctor.Examine(t.Context(), p); !r.Failed() || !has(r, doctor.Fail, "keys", "serenity: SERENITY_MPESA_PASSKEY") {
		t.Errorf("without the passkey: %s", written(r))
	}
}

func TestModelsListsLaddersPricesAndCosts(t *testing.T) {
	t.Parallel()
	p := patient(t, spaSecrets)
	defined(t, p, func(s *server.Server, id ids.TenantID) {
		calls := store.Calls{Open: func(_ context.Context, id ids.TenantID) (*store.Tenant, error) { return s.Store(id) }}
		for call, at := range map[string]time.Time{"new": today.Add(-time.Hour), "old": today.Add(-8 * 24 * time.Hour)} {
			err := calls.Record(t.Context(), llm.Record{
				ID: call, Tenant: id, Role: llm.IntentClassifier, Tier: 1, Outcome: llm.OK, Cost: 60_200_000, Usage: llm.Usage{Input: 412, Output: 38}, At: at,
				Account: llm.AccountThread,
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	})
	l, err := doctor.Models(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Costs) != 1 || l.Costs[0].Business != "serenity" || l.Costs[0].USD != "0.0000602" || l.Costs[0].Calls != 1 || l.Unread != "" {
		t.Errorf("costs %+v, unread %q", l.Costs, l.Unread)
	}
	i := slices.IndexFunc(l.Roles, func(r doctor.RoleListing) bool { return r.Role == llm.ProcedureStep })
	if i < 0 {
		t.Fatal("a role is missing")
	}
	ladder := l.Roles[i].Ladder
	if len(ladder) != 4 || ladder[1].Model != "claude-sonnet-5-5" || ladder[1].Input != "2" || ladder[1].Output != "10" || ladder[0].Threshold != 0.7 || !ladder[3].Human {
		t.Errorf("ladder %+v", ladder)
	}
	p.Environ["RATIBA_ROLES"] = file(t, "roles.yaml", retiring+"  reorientation: {ladder: [{provider: openai, model: gpt-6-luna}], canary: {ladder: [{provider: anthropic, model: claude-haiku-5-5}]}}\n")
	if l, err = doctor.Models(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	last := l.Roles[len(l.Roles)-2]
	if first := l.Roles[0].Ladder[0]; first.Retires != "2027-01-14" || first.Successor != "gpt-6-luna" || last.Role != llm.Reorientation || last.Trial[0].Model != "claude-haiku-5-5" {
		t.Errorf("roles %+v", l.Roles)
	}
	p.Environ["RATIBA_PUBLIC_URL"] = ""
	if _, err := doctor.Models(t.Context(), p); err == nil {
		t.Error("a faulty configuration was listed")
	}
}

func TestClocksAreComparedWithTheDatabases(t *testing.T) {
	t.Parallel()
	url := dbtest.Postgres(t)
	for skew, level := range map[time.Duration]doctor.Level{0: doctor.OK, 10 * time.Second: doctor.Warn, time.Hour: doctor.Fail} {
		p := patient(t, map[string]string{"RATIBA_DATABASE_URL": url})
		p.Clock = offset{skew}
		if r := doctor.Examine(t.Context(), p); !has(r, level, "clocks", "the database's clock is") {
			t.Errorf("skew %s: %s", skew, written(r))
		}
	}
	p := patient(t, map[string]string{"RATIBA_DATABASE_URL": "postgres://nobody@127.0.0.1:1/none"})
	if r := doctor.Examine(t.Context(), p); !r.Failed() || !has(r, doctor.Fail, "clocks", "RATIBA_DATABASE_URL cannot be used") {
		t.Errorf("without a server: %s", written(r))
	}
}

// offset is a clock that is wrong by some time.
type offset struct{ by time.Duration }

func (o offset) Now() time.Time { return clock.Real{}.Now().Add(o.by) }
