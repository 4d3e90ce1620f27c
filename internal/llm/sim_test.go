package llm_test

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/llm/anthropic"
	"github.com/ratiba/ratiba/internal/llm/openai"
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
	ledger  *ledger
	router  *llm.Router
	prompts *prompt.Set
}

// newJoint is the product's clients over real HTTP to the simulated vendors,
// with every role on one provider.
func newJoint(t *testing.T, provider, id string, timeout time.Duration) *joint {
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
		roles[role] = llm.Ladder{{Provider: provider, Model: id, MaxTokens: 600, Timeout: timeout}}
	}
	j := &joint{sim: sim, ledger: &ledger{}}
	if j.prompts, err = prompt.Embedded(); err != nil {
		t.Fatal(err)
	}
	j.router, err = llm.New(llm.Config{
		Roles: roles, Catalogue: catalogue(t), Ledger: j.ledger, Clock: now,
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
			j := newJoint(t, provider, id, time.Minute)
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

func TestTheClientsAgainstEveryFaultOfTheSimulator(t *testing.T) {
	t.Parallel()
	rows := []struct {
		fault    string
		class    llm.Class // empty: the retry answers
		attempts int
		free     bool
		wait     time.Duration
	}{
		{"429", llm.Rate, 1, true, 2 * time.Second},
		{"429_quota", llm.Quota, 1, true, 0},
		{"500", llm.Server, 1, true, 0},
		{"529", llm.Server, 1, true, 0},
		{"timeout", llm.Timeout, 1, false, 0},
		{"invalid_json", "", 2, false, 0},
		{"refusal", llm.Refused, 1, false, 0},
		{"truncated", llm.Truncated, 1, false, 0},
	}
	for id, provider := range vendors {
		for _, row := range rows {
			t.Run(id+" "+row.fault, func(t *testing.T) {
				t.Parallel()
				timeout := time.Minute
				if row.fault == "timeout" {
					timeout = 30 * time.Millisecond
				}
				j := newJoint(t, provider, id, timeout)
				if err := j.sim.Program(model.Fault{Role: "intent_classifier", Fault: row.fault, RetryAfter: 2}); err != nil {
					t.Fatal(err)
				}
				got, err := j.router.Call(t.Context(), j.intent(t, "Any space on Friday?"))
				if llm.ClassOf(err) != row.class {
					t.Fatalf("got %v, want class %q", err, row.class)
				}
				if len(j.ledger.records) != row.attempts || len(got.Chain) != row.attempts {
					t.Errorf("%d records and a chain of %d, want %d", len(j.ledger.records), len(got.Chain), row.attempts)
				}
				if first := j.ledger.records[0].Cost; (first == 0) != row.free || got.Cost < first {
					t.Errorf("the first attempt cost %d, all %d; free is %v", first, got.Cost, row.free)
				}
				var e *llm.Error
				if errors.As(err, &e) && e.RetryAfter != row.wait {
					t.Errorf("retry after %v, want %v", e.RetryAfter, row.wait)
				}
			})
		}
	}
}
