package llm_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/llm/anthropic"
	"github.com/ratiba/ratiba/internal/llm/openai"
	"github.com/ratiba/ratiba/internal/money"
	"github.com/ratiba/ratiba/internal/prompt"
	"github.com/ratiba/ratiba/internal/sim/model"
)

// Seams as the design has them, bounds and all: the Anthropic dialect must
// take the bounds out.
const intentSeam = `{"type":"object","additionalProperties":false,
"required":["reasoning","intent","confidence","language","language_confidence","sentiment"],
"properties":{"reasoning":{"type":"string","maxLength":400},
"intent":{"type":"string","enum":["book","reschedule","cancel","my_bookings","question","greeting","thanks","affirm","deny","human","complaint","feedback","unknown"]},
"confidence":{"type":"number","minimum":0,"maximum":1},
"language":{"type":"string","enum":["en","sw","other"]},
"language_confidence":{"type":"number","minimum":0,"maximum":1},
"sentiment":{"type":"string","enum":["positive","neutral","negative"]}}}`

const pair = `{"type":"object","additionalProperties":false,"required":["value","confidence"],"properties":{"value":{"type":["string","null"],"maxLength":80},"confidence":{"type":"number","minimum":0,"maximum":1}}}`

const slotSeam = `{"type":"object","additionalProperties":false,"required":["reasoning","service","staff","date","time","time_from","time_to","name"],
"properties":{"reasoning":{"type":"string"},"service":` + pair + `,"staff":` + pair + `,"date":` + pair + `,"time":` + pair + `,"time_from":` + pair + `,"time_to":` + pair + `,"name":` + pair + `}}`

type joint struct {
	sim     *model.Simulator
	ledger  *llm.Memory
	router  *llm.Router
	prompts *prompt.Set
	desk    *desk
	waits   []time.Duration
}

// newJoint is the product's clients over real HTTP to the simulated vendors,
// with every role on one ladder.
func newJoint(t *testing.T, ladder ...llm.Rung) *joint {
	t.Helper()
	now := clock.NewFixed(at)
	sim, err := model.New(model.Config{Clock: now})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(sim)
	t.Cleanup(srv.Close)
	oai, err := openai.New(openai.Config{BaseURL: srv.URL + model.OpenAIBase, Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	ant, err := anthropic.New(anthropic.Config{BaseURL: srv.URL + model.AnthropicBase, Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	roles := llm.Roles{}
	for _, role := range llm.KnownRoles() {
		if role != llm.Embedder {
			roles[role] = ladder
		}
	}
	j := &joint{sim: sim, ledger: llm.NewMemory(nil), desk: &desk{}}
	if j.prompts, err = prompt.Embedded(); err != nil {
		t.Fatal(err)
	}
	j.router, err = llm.New(llm.Config{
		Roles: roles, Catalogue: catalogue(t), Ledger: j.ledger, Clock: now, Escalations: j.desk,
		Wait: func(ctx context.Context, d time.Duration) error {
			j.waits = append(j.waits, d)
			return ctx.Err()
		},
		Providers: map[string]llm.Provider{openai.Name: oai, anthropic.Name: ant},
		Schemas:   []*llm.Schema{compile(t, intentSeam), compile(t, slotSeam)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func (j *joint) request(t *testing.T, role llm.Role, schema, text string, vars map[string]string) llm.Request {
	t.Helper()
	p, err := j.prompts.Render(string(role), vars)
	if err != nil {
		t.Fatal(err)
	}
	return llm.Request{
		Role: role, Tenant: "t", Thread: "c", Turn: "u", PromptVersion: p.Version, System: p.System,
		Messages: []llm.Message{{Role: llm.User, Content: prompt.Delimit(text)}}, Schema: compile(t, schema),
	}
}

func (j *joint) intent(t *testing.T, text string) llm.Request {
	t.Helper()
	return j.request(t, llm.IntentClassifier, intentSeam, text, map[string]string{
		"assistant_name": "Zawadi", "business_name": "Serenity Spa", "locale": "en", "today": "Saturday 2026-11-21 12:00",
		"services": services, "expecting": "",
	})
}

const services = "- Swedish massage (60 min)\n- Deep tissue massage (90 min)\n- Facial"

var vendors = map[string]string{
	"gpt-6-luna": "openai", "gpt-4.1-mini": "openai",
	"claude-haiku-5-5": "anthropic", "claude-haiku-4-5": "anthropic",
}

func TestTheClientsAnswerEverySeamAgainstTheSimulator(t *testing.T) {
	t.Parallel()
	for id, provider := range vendors {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			j := newJoint(t, llm.Rung{Provider: provider, Model: id, MaxTokens: 600, Timeout: time.Minute})
			got, err := j.router.Call(t.Context(), j.intent(t, "Habari, nataka massage kesho saa tisa"))
			if err != nil {
				t.Fatal(err)
			}
			var intent struct {
				Intent, Language string
			}
			if err := json.Unmarshal(got.JSON, &intent); err != nil {
				t.Fatal(err)
			}
			if intent.Intent != "book" || intent.Language != "sw" || got.Confidence < 0.85 || got.Cost <= 0 || got.Model != id {
				t.Errorf("result %+v, %+v", intent, got)
			}
			req := j.request(t, llm.SlotExtractor, slotSeam, "a 90 minute massage tomorrow with Grace at 3pm", map[string]string{
				"business_name": "Serenity Spa", "today": "Saturday 2026-11-21 12:00", "services": services,
				"staff": "- Grace Wanjiru\n- Amina", "expecting": "",
			})
			if got, err = j.router.Call(t.Context(), req); err != nil {
				t.Fatal(err)
			}
			var slots map[string]any
			if err := json.Unmarshal(got.JSON, &slots); err != nil {
				t.Fatal(err)
			}
			for name, want := range map[string]any{"service": "Deep tissue massage", "staff": "Grace Wanjiru", "date": "2026-11-22", "time": "15:00", "name": nil} {
				if v := slots[name].(map[string]any)["value"]; v != want {
					t.Errorf("%s = %v, want %v", name, v, want)
				}
			}
		})
	}
}

func TestTheClientsCallStrictToolsOfTheSimulator(t *testing.T) {
	t.Parallel()
	const free = `{"type":"object","additionalProperties":false,"required":["service","date"],"properties":{"service":{"type":"string","maxLength":80},"date":{"type":"string"},"staff":{"type":"string"}}}`
	for id, provider := range vendors {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			j := newJoint(t, llm.Rung{Provider: provider, Model: id, MaxTokens: 600, Timeout: time.Minute})
			req := j.intent(t, "Any space for a massage on Friday?")
			req.Schema, req.MustCall = nil, true
			req.Tools = []llm.Tool{{Name: "find_free_times", Description: "Finds free times for a massage.", Input: compile(t, free)}}
			got, err := j.router.Call(t.Context(), req)
			if err != nil || len(got.ToolCalls) != 1 || got.ToolCalls[0].Name != "find_free_times" {
				t.Errorf("got %+v, %v; want one call", got, err)
			}
			j.settled(t, got)
		})
	}
}

// TestEveryRowOfTheErrorTableOverHTTP programs the simulated vendors to fail
// and looks at what is tried, and in what order: two rungs of the vendor, one
// of the other vendor, then a person.
func TestEveryRowOfTheErrorTableOverHTTP(t *testing.T) {
	t.Parallel()
	second := time.Second
	rows := []struct {
		name   string
		fault  model.Fault
		strict float64 // the first rung's threshold
		trail  []string
		waits  []time.Duration
		ending llm.Ending
	}{
		{name: "timeout", fault: model.Fault{Fault: "timeout"}, trail: []string{"1 timeout", "1 ok"}},
		{name: "timeout twice", fault: model.Fault{Fault: "timeout", Times: 2}, trail: []string{"1 timeout", "1 timeout", "2 ok"}},
		{name: "429", fault: model.Fault{Fault: "429"}, trail: []string{"1 rate", "1 ok"}, waits: []time.Duration{second}},
		{name: "429 with a wish", fault: model.Fault{Fault: "429", RetryAfter: 3}, trail: []string{"1 rate", "1 ok"}, waits: []time.Duration{3 * second}},
		{
			name: "429 four times", fault: model.Fault{Fault: "429", Times: 4}, trail: []string{"1 rate", "1 rate", "1 rate", "1 rate", "2 ok"},
			waits: []time.Duration{second, 2 * second, 4 * second},
		},
		{name: "429 quota", fault: model.Fault{Fault: "429_quota"}, trail: []string{"1 quota", "2 skipped", "3 ok"}},
		{name: "500", fault: model.Fault{Fault: "500"}, trail: []string{"1 server", "2 ok"}},
		{name: "529", fault: model.Fault{Fault: "529"}, trail: []string{"1 server", "2 ok"}},
		{name: "500 everywhere", fault: model.Fault{Fault: "500", Times: 3}, trail: []string{"1 server", "2 server", "3 server"}, ending: llm.Human},
		{name: "not JSON", fault: model.Fault{Fault: "invalid_json"}, trail: []string{"1 malformed", "1 ok"}},
		{name: "not JSON twice", fault: model.Fault{Fault: "invalid_json", Times: 2}, trail: []string{"1 malformed", "1 malformed", "2 ok"}},
		{name: "truncated", fault: model.Fault{Fault: "truncated"}, trail: []string{"1 truncated", "1 ok"}},
		{name: "truncated twice", fault: model.Fault{Fault: "truncated", Times: 2}, trail: []string{"1 truncated", "1 truncated", "2 ok"}},
		{name: "refusal", fault: model.Fault{Fault: "refusal"}, trail: []string{"1 refused"}, ending: llm.Human},
		{name: "below threshold", strict: 1, trail: []string{"1 below_threshold", "2 ok"}},
	}
	rung := func(provider, id string) llm.Rung {
		return llm.Rung{Provider: provider, Model: id, MaxTokens: 600, Timeout: time.Minute, Threshold: 0.5}
	}
	ladders := map[string]llm.Ladder{
		"openai":    {rung("openai", "gpt-4.1-mini"), rung("openai", "gpt-6-luna"), rung("anthropic", "claude-haiku-5-5"), {Human: true}},
		"anthropic": {rung("anthropic", "claude-haiku-5-5"), rung("anthropic", "claude-haiku-4-5"), rung("openai", "gpt-6-luna"), {Human: true}},
	}
	for provider, all := range ladders {
		for _, row := range rows {
			t.Run(provider+" "+row.name, func(t *testing.T) {
				t.Parallel()
				ladder := slices.Clone(all)
				ladder[0].Threshold = max(row.strict, 0.5)
				if row.fault.Fault == "timeout" {
					ladder[0].Timeout = 50 * time.Millisecond
					if row.fault.Times == 0 {
						ladder[0].Timeout = 2 * second // long enough for the second attempt on a busy machine
					}
				}
				j := newJoint(t, ladder...)
				if row.fault.Fault != "" {
					row.fault.Role = "intent_classifier"
					if err := j.sim.Program(row.fault); err != nil {
						t.Fatal(err)
					}
				}
				got, err := j.router.Call(t.Context(), j.intent(t, "Any space for a massage on Friday?"))
				if err != nil || got.Ending != cmp.Or(row.ending, llm.Answered) {
					t.Fatalf("got %+v, %v", got, err)
				}
				var trail []string
				for _, a := range got.Chain {
					trail = append(trail, fmt.Sprint(a.Tier, " ", a.Outcome))
				}
				if diff := gocmp.Diff(row.trail, trail); diff != "" {
					t.Errorf("chain (-want +got):\n%s", diff)
				}
				if diff := gocmp.Diff(row.waits, j.waits); diff != "" {
					t.Errorf("waits (-want +got):\n%s", diff)
				}
				j.settled(t, got)
			})
		}
	}
}

// settled fails unless every attempt of a chain was billed as its outcome says
// and nothing is held.
func (j *joint) settled(t *testing.T, got llm.Result) {
	t.Helper()
	var sum money.Pico
	for _, r := range j.ledger.All() {
		sum += r.Cost
		switch r.Outcome {
		case llm.OK, llm.Unsure, llm.Outcome(llm.Malformed), llm.Outcome(llm.Truncated), llm.Outcome(llm.Refused):
			if r.Cost == 0 || r.Estimated {
				t.Errorf("%s cost %d, estimated %v", r.Outcome, r.Cost, r.Estimated)
			}
		case llm.Outcome(llm.Timeout):
			if r.Cost == 0 || !r.Estimated {
				t.Errorf("a timeout cost %d, estimated %v; want an estimate", r.Cost, r.Estimated)
			}
		case llm.Lost, llm.Skipped, llm.OverBudget:
			t.Errorf("a record is %s", r.Outcome)
		default:
			if r.Cost != 0 {
				t.Errorf("%s cost %d", r.Outcome, r.Cost)
			}
		}
	}
	if sum != got.Cost || j.ledger.Held() != 0 {
		t.Errorf("the records cost %d, the result %d; %d are held", sum, got.Cost, j.ledger.Held())
	}
}
