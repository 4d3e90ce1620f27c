package llm_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/money"
)

func compile(tb testing.TB, raw string) *llm.Schema {
	tb.Helper()
	s, err := llm.CompileSchema("seam", []byte(raw))
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func TestSchemasThatCannotBeSeamsAreRefused(t *testing.T) {
	t.Parallel()
	rows := map[string]struct{ name, raw string }{
		"not JSON":                   {"a", `{`},
		"a list at the root":         {"a", `{"type":"array"}`},
		"a name with a space":        {"a b", `{"type":"object"}`},
		"a reference to the outside": {"a", `{"type":"object","properties":{"x":{"$ref":"https://example.com/x.json"}}}`},
		"a reference to a file":      {"a", `{"type":"object","properties":{"x":{"$ref":"file:///etc/passwd"}}}`},
		"a keyword of a wrong type":  {"a", `{"type":"object","required":"x"}`},
		"a member given twice":       {"a", `{"type":"object","type":"object"}`},
		"text behind the document":   {"a", `{"type":"object"} {}`},
	}
	for name, row := range rows {
		if _, err := llm.CompileSchema(row.name, []byte(row.raw)); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestConfidenceIsWhatTheAnswerStates(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"type":"object"}`)
	for answer, want := range map[string]float64{
		`{"confidence":0.4}`: 0.4,
		`{"a":{"value":"x","confidence":0.8},"b":{"value":null,"confidence":0},"c":{"value":"y","confidence":0.6}}`: 0.6,
		`{"a":{"value":null,"confidence":0}}`: 1,
		`{}`:                                  1,
		`{"confidence":"high"}`:               1,
	} {
		if got := s.Confidence(json.RawMessage(answer)); got != want {
			t.Errorf("%s: got %v, want %v", answer, got, want)
		}
	}
}

func TestRestoreLeavesOutTheNullsOfOptionalMembersOnly(t *testing.T) {
	t.Parallel()
	s := compile(t, `{"type":"object","required":["must","list"],"additionalProperties":false,"$defs":{"in":{"type":"object","properties":{"x":{"type":"string"}},"additionalProperties":false}},
		"properties":{"must":{"type":["string","null"]},"may":{"type":"string"},"list":{"type":"array","items":{"$ref":"#/$defs/in"}}}}`)
	got := s.Restore(`{"must":null,"may":null,"list":[{"x":null},{"x":"y"}]}`)
	if want := `{"must":null,"list":[{},{"x":"y"}]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := s.Restore("not json"); got != "not json" {
		t.Errorf("got %q", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{mood, mood + "x", "{", "[]", "null", `{"mood":1e999}`, "\xff", `{"mood":"\u0000"}`, strings.Repeat("[", 2000)} {
		f.Add(seed)
	}
	s := compile(f, moodSchema)
	f.Fuzz(func(t *testing.T, answer string) {
		raw, err := s.Parse(answer)
		_ = s.Restore(answer)
		if err != nil {
			return
		}
		var got struct {
			Mood       string
			Confidence float64
		}
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatalf("%q was accepted and cannot be decoded: %v", answer, err)
		}
		if got.Mood != "good" && got.Mood != "bad" || got.Confidence < 0 || got.Confidence > 1 {
			t.Errorf("%q was accepted as %+v", answer, got)
		}
		if c := s.Confidence(raw); c != got.Confidence {
			t.Errorf("confidence %v, want %v", c, got.Confidence)
		}
	})
}

func FuzzCompileSchema(f *testing.F) {
	f.Add(moodSchema)
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"type":"object","properties":{"c":{"$ref":"#/$defs/b"}}}}}`)
	f.Add(`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`)
	strict := &llm.Dialect{Name: "strict", RequireAll: true, MaxMinItems: 1}
	f.Fuzz(func(t *testing.T, raw string) {
		s, err := llm.CompileSchema("seam", []byte(raw))
		if err != nil {
			return
		}
		out, err := s.In(strict)
		if err == nil && !json.Valid(out) {
			t.Errorf("%q compiled to what is not JSON: %s", raw, out)
		}
		_ = s.Restore(`{"a":null}`)
	})
}

func catalogue(tb testing.TB) *llm.Catalogue {
	tb.Helper()
	c, err := llm.DefaultCatalogue()
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func TestCostsOfKnownCalls(t *testing.T) {
	t.Parallel()
	rows := []struct {
		provider, model string
		usage           llm.Usage
		usd             string
	}{
		{"openai", "gpt-4.1-mini", llm.Usage{Input: 412, Output: 38}, "0.0002256"},
		{"openai", "gpt-6-luna", llm.Usage{Input: 412, Output: 38}, "0.0000602"},
		{"anthropic", "claude-haiku-5-5", llm.Usage{Input: 412, Output: 38}, "0.0000602"},
		{"anthropic", "claude-haiku-4-5", llm.Usage{Input: 412, Output: 38}, "0.000602"},
		{"anthropic", "claude-haiku-4-5-20251001", llm.Usage{Input: 412, Output: 38}, "0.000602"},
		{"anthropic", "claude-sonnet-4-5-20250929", llm.Usage{Input: 1500, Output: 300}, "0.009"},
		{"anthropic", "claude-opus-4-6", llm.Usage{Input: 1500, Output: 300}, "0.015"},
		{"anthropic", "claude-opus-5-5", llm.Usage{Input: 1500, Output: 300}, "0.012"},
		{"openai", "gpt-6-luna", llm.Usage{Input: 100, Cached: 100, CacheWrite: 100}, "0.0000235"},
		{"anthropic", "claude-haiku-5-5", llm.Usage{Input: 100_000}, "0.01"},
		{"anthropic", "claude-haiku-5-5", llm.Usage{Input: 50_000, Cached: 50_001}, "0.02750005"},
	}
	for _, row := range rows {
		m, ok := catalogue(t).Model(row.provider, row.model)
		if !ok {
			t.Errorf("%s is not in the catalogue", row.model)
			continue
		}
		if got := m.Cost(row.usage, at).Dollars(); got != row.usd {
			t.Errorf("%s %+v: got %s, want %s", row.model, row.usage, got, row.usd)
		}
	}
}

func TestPricesFollowTheirDates(t *testing.T) {
	t.Parallel()
	c, err := catalogue(t).Extend([]byte("models:\n  - provider: openai\n    id: local\n    prices:\n" +
		"      - {from: 2027-01-01, input: \"2\", output: \"4\"}\n      - {from: 2026-01-01, input: \"1\", output: \"2\"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	m, _ := c.Model("openai", "local")
	for day, want := range map[string]money.Pico{"2020-01-01": 1_000_000, "2026-12-31": 1_000_000, "2027-01-01": 2_000_000} {
		now, _ := time.Parse(time.DateOnly, day)
		if got := m.Cost(llm.Usage{Cached: 1}, now); got != want {
			t.Errorf("%s: got %d, want %d", day, got, want)
		}
	}
	if _, ok := c.Model("openai", "gpt-6-luna"); !ok {
		t.Error("the extension lost what was there")
	}
	if _, ok := catalogue(t).Model("openai", "local"); ok {
		t.Error("the extension changed the original")
	}
}

func TestCostIsExactAdditiveAndNeverNegative(t *testing.T) {
	t.Parallel()
	models := catalogue(t).Models()
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom(models).Draw(t, "model")
		count := rapid.OneOf(rapid.IntRange(-5, 300_000), rapid.Int())
		u := llm.Usage{Input: count.Draw(t, "in"), Cached: count.Draw(t, "cached"), CacheWrite: count.Draw(t, "write"), Output: count.Draw(t, "out")}
		cost := m.Cost(u, at)
		if cost < 0 {
			t.Fatalf("%s %+v costs %d", m.ID, u, cost)
		}
		if back, err := money.ParseUSD(cost.Dollars()); err == nil && back != cost {
			t.Fatalf("%d was written as %s and read as %d", cost, cost.Dollars(), back)
		}
		more := u
		more.Output = min(more.Output, 1_000_000) + 1
		u.Output = more.Output - 1
		if m.Cost(more, at) < m.Cost(u, at) {
			t.Fatalf("%s: one token more is cheaper", m.ID)
		}
		// Below every step a whole is the sum of its parts.
		small := rapid.IntRange(0, 20_000)
		a := llm.Usage{Input: small.Draw(t, "a in"), Cached: small.Draw(t, "a cached"), Output: small.Draw(t, "a out")}
		b := llm.Usage{Input: small.Draw(t, "b in"), CacheWrite: small.Draw(t, "b write"), Output: small.Draw(t, "b out")}
		sum := llm.Usage{Input: a.Input + b.Input, Cached: a.Cached, CacheWrite: b.CacheWrite, Output: a.Output + b.Output}
		if m.Cost(a, at)+m.Cost(b, at) != m.Cost(sum, at) {
			t.Fatalf("%s: %+v and %+v do not add up", m.ID, a, b)
		}
	})
}

func TestBadCataloguesNameEveryFault(t *testing.T) {
	t.Parallel()
	_, err := llm.ParseCatalogue([]byte(`models:
  - {provider: openai, id: a, prices: [{from: soon, input: "1", output: "1"}]}
  - {provider: openai, id: b, prices: [{from: 2026-01-01, input: "1"}]}
  - {provider: openai, id: c, prices: [{from: 2026-01-01, input: "0.0000001", output: "cheap"}]}
  - {provider: "", id: d, retires: never}
  - {provider: openai, id: e, prices: [{from: 2026-01-01, input: "1", output: "99999"}]}
  - {provider: openai, id: f}
  - {provider: openai, id: f}`))
	if err == nil {
		t.Fatal("want an error")
	}
	for _, want := range []string{"want a date", "needs input and output", "at most six decimals", `"cheap"`, "provider and id are required", "retires", "more than 10000 dollars", "listed twice"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %q", err, want)
		}
	}
	if _, err := llm.ParseCatalogue([]byte("models:\n  - {provider: x, id: y, colour: blue}")); err == nil {
		t.Error("an unknown field was accepted")
	}
}

func TestBothAssignmentsCoverEveryRole(t *testing.T) {
	t.Parallel()
	for name, load := range map[string]func() (llm.Roles, error){"default": llm.DefaultRoles, "seed": llm.SeedRoles} {
		roles, err := load()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, role := range llm.KnownRoles() {
			if len(roles[role]) == 0 {
				t.Errorf("%s: role %s has no ladder", name, role)
			}
		}
		providers := map[string]llm.Provider{"openai": &script{t: t}, "anthropic": &script{t: t}}
		if _, err := llm.New(llm.Config{Roles: roles, Catalogue: catalogue(t), Ledger: llm.NewMemory(nil), Providers: providers}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEverySuccessorIsInTheCatalogueAndNotRetiring(t *testing.T) {
	t.Parallel()
	for _, m := range catalogue(t).Models() {
		if m.Successor == "" {
			if !m.Retires.IsZero() {
				t.Errorf("%s retires without a successor", m.ID)
			}
			continue
		}
		if s, ok := catalogue(t).Model(m.Provider, m.Successor); !ok || !s.Retires.IsZero() || len(s.Prices) == 0 {
			t.Errorf("the successor of %s is %+v", m.ID, s)
		}
	}
}

func TestBadRolesNameEveryFault(t *testing.T) {
	t.Parallel()
	_, err := llm.ParseRoles([]byte(`roles:
  poet: {ladder: [{provider: openai, model: m}]}
  intent_classifier: {ladder: []}
  slot_extractor: {ladder: [{provider: openai, model: m, timeout: 1h}]}
  answer_shaper: {ladder: [{model: m, max_tokens: -1}]}
  procedure_step: {ladder: [human, {provider: openai, model: m}]}
  handoff_summarizer: {threshold: 1.5, ladder: [{provider: openai, model: m}], canary: {like: reorientation}}
  reorientation: {ladder: [{provider: openai, model: m}], canary: {like: handoff_summarizer}}`))
	if err == nil {
		t.Fatal("want an error")
	}
	for _, want := range []string{
		`role "poet" is unknown`, "intent_classifier: the ladder is empty", `timeout "1h"`, "provider and model are required", "max_tokens -1",
		"procedure_step, rung 1: a person is the last rung", "threshold 1.5",
		"role reorientation, canary: a cycle of canaries: reorientation -> handoff_summarizer -> reorientation",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %q", err, want)
		}
	}
}
