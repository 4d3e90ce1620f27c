package llm_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/llm/anthropic"
	"github.com/ratiba/ratiba/internal/llm/openai"
)

// vendor is how one provider's wire wraps an answer.
type vendor struct {
	provider, model string
	client          func(url string) (llm.Provider, error)
	says            func(text string) string
	refuses         string // beside a tool call
}

func quoted(s string) string {
	raw, _ := json.Marshal(s)
	return string(raw)
}

var wires = []vendor{
	{
		provider: "openai", model: "gpt-6-luna",
		client: func(url string) (llm.Provider, error) { return openai.New(openai.Config{BaseURL: url, Key: "k"}) },
		says: func(text string) string {
			return `{"id":"c","choices":[{"message":{"role":"assistant","content":` + text + `,"refusal":null},"finish_reason":"stop"}],"usage":{"prompt_tokens":400,"completion_tokens":40}}`
		},
		refuses: `{"id":"c","choices":[{"message":{"role":"assistant","content":null,"refusal":"No.","tool_calls":[{"id":"1","type":"function","function":{"name":"pay","arguments":"{}"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":400,"completion_tokens":40}}`,
	},
	{
		provider: "anthropic", model: "claude-haiku-5-5",
		client: func(url string) (llm.Provider, error) { return anthropic.New(anthropic.Config{BaseURL: url, Key: "k"}) },
		says: func(text string) string {
			return `{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":` + text + `}],"stop_reason":"end_turn","usage":{"input_tokens":400,"output_tokens":40}}`
		},
		refuses: `{"id":"m","type":"message","role":"assistant","content":[{"type":"tool_use","id":"1","name":"pay","input":{}}],"stop_reason":"refusal","usage":{"input_tokens":400,"output_tokens":40}}`,
	},
}

// answers is a router with one rung on a vendor that answers with body first
// and well from then on.
func (v vendor) answers(t *testing.T, kind, body string) (*bundle, *atomic.Int64) {
	t.Helper()
	var calls atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if calls.Add(1) > 1 {
			body, kind = v.says(quoted(mood)), "application/json"
		}
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(srv.Close)
	client, err := v.client(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	b := setupWith(t, func(cfg *llm.Config) {
		cfg.Providers = map[string]llm.Provider{v.provider: client}
		cfg.Roles = llm.Roles{llm.IntentClassifier: {{Provider: v.provider, Model: v.model, MaxTokens: 100, Timeout: time.Minute}}}
	})
	return b, &calls
}

// TestHostileAnswersAreSurvived sends each kind of bad answer once: the second
// one serves, both are paid, and the log has one line for each.
func TestHostileAnswersAreSurvived(t *testing.T) {
	t.Parallel()
	huge := strings.Replace(mood, `"r"`, `"`+strings.Repeat("x", 1<<20)+`"`, 1)
	for _, v := range wires {
		for name, body := range map[string]string{
			"an empty answer":         v.says(`""`),
			"an empty body":           "",
			"a body that is cut":      v.says(quoted(mood))[:60],
			"HTML with 200":           "<!doctype html><title>502 Bad Gateway</title>",
			"JSON with trailing text": v.says(quoted(mood + " I hope this helps!")),
			"the wrong schema":        v.says(quoted(`{"answer":"good"}`)),
			"a number as a string":    v.says(quoted(sure(`"0.9"`))),
			"confidence 7":            v.says(quoted(sure("7"))),
			"confidence NaN":          v.says(quoted(sure("NaN"))),
			"confidence 1e999":        v.says(quoted(sure("1e999"))),
			"a megabyte":              v.says(quoted(huge)),
			"invalid UTF-8":           v.says("\"\xff\xfe" + mood[1:10] + "\""),
			"somebody else's JSON":    `{"status":"ok"}`,
			"null":                    "null",
		} {
			t.Run(v.provider+" "+name, func(t *testing.T) {
				t.Parallel()
				kind := "application/json"
				if strings.HasPrefix(body, "<") {
					kind = "text/html"
				}
				b, calls := v.answers(t, kind, body)
				got, err := b.router.Call(t.Context(), b.req)
				if err != nil || string(got.JSON) != mood || calls.Load() != 2 {
					t.Fatalf("got %+v, %v after %d calls; want the second answer", got, err, calls.Load())
				}
				records := b.ledger.All()
				if len(records) != 2 || records[0].Outcome != llm.Outcome(llm.Malformed) || records[0].Cost == 0 || len(records[0].Answer) > llm.MaxAnswer {
					t.Errorf("%d records, the first %s at %d with %d bytes", len(records), records[0].Outcome, records[0].Cost, len(records[0].Answer))
				}
				if n := strings.Count(b.logs.String(), "\n"); n != 2 {
					t.Errorf("%d lines in the log, want one for each attempt:\n%s", n, b.logs)
				}
			})
		}
	}
}

func TestAToolCallBesideARefusalIsARefusal(t *testing.T) {
	t.Parallel()
	for _, v := range wires {
		t.Run(v.provider, func(t *testing.T) {
			t.Parallel()
			b, calls := v.answers(t, "application/json", v.refuses)
			b.req.Schema, b.req.Tools = nil, []llm.Tool{{Name: "pay", Description: "Pays.", Input: compile(t, `{"type":"object","properties":{},"additionalProperties":false}`)}}
			got, err := b.router.Call(t.Context(), b.req)
			if llm.ClassOf(err) != llm.Refused || got.ToolCalls != nil || calls.Load() != 1 {
				t.Errorf("got %+v, %v after %d calls", got, err, calls.Load())
			}
		})
	}
}
