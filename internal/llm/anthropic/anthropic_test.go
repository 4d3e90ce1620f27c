package anthropic_test

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/llm/anthropic"
)

const key = "sk-ant-test-0123456789"

func serving(t *testing.T, h http.HandlerFunc) *anthropic.Provider {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	p, err := anthropic.New(anthropic.Config{BaseURL: srv.URL + "/", Key: key})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func answering(t *testing.T, status int, header http.Header, body string) *anthropic.Provider {
	t.Helper()
	return serving(t, func(w http.ResponseWriter, _ *http.Request) {
		maps.Copy(w.Header(), header)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

func schema(t *testing.T, raw string) *llm.Schema {
	t.Helper()
	s, err := llm.CompileSchema("seam", []byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var call = llm.Call{Model: "claude-haiku-5-5", System: "Sort.", Messages: []llm.Message{{Role: llm.User, Content: "hi"}}, MaxTokens: 50}

const usage = `"usage":{"input_tokens":30,"cache_read_input_tokens":60,"cache_creation_input_tokens":10,"output_tokens":7}`

func TestEveryResponseHasItsClassAndItsBill(t *testing.T) {
	t.Parallel()
	billed := llm.Usage{Input: 30, Cached: 60, CacheWrite: 10, Output: 7}
	fault := func(kind, rest string) string { return `{"type":"error","error":{"type":"` + kind + `"` + rest + `}}` }
	stopped := func(reason, text string) string {
		return `{"id":"msg_1","type":"message","content":[{"type":"text","text":"` + text + `"}],"stop_reason":"` + reason + `",` + usage + `}`
	}
	rows := []struct {
		name   string
		status int
		header http.Header
		body   string
		want   llm.Error
	}{
		{
			"a rate limit names its wait", 429,
			http.Header{"Retry-After": {"12"}},
			fault("rate_limit_error", ""),
			llm.Error{Class: llm.Rate, Code: "rate_limit_error", RetryAfter: 12 * time.Second},
		},
		{
			"an enforced spend limit is a quota", 429, nil, fault("rate_limit_error", `,"details":{"error_code":"enforced_spend_limit_reached"}`),
			llm.Error{Class: llm.Quota, Code: "rate_limit_error"},
		},
		{"a billing error is a quota", 402, nil, fault("billing_error", ""), llm.Error{Class: llm.Quota, Code: "billing_error"}},
		{
			"a limit of one's own comes as a bad request", 400, nil, fault("invalid_request_error", `,"message":"You have reached your specified API usage limits."`),
			llm.Error{Class: llm.Quota, Code: "invalid_request_error"},
		},
		{
			"a bad request", 400, nil, fault("invalid_request_error", `,"message":"minimum is not permitted `+key+`"`),
			llm.Error{Class: llm.InvalidRequest, Code: "invalid_request_error"},
		},
		{"a request too large", 413, nil, fault("request_too_large", ""), llm.Error{Class: llm.InvalidRequest, Code: "request_too_large"}},
		{"an unknown model", 404, nil, fault("not_found_error", ""), llm.Error{Class: llm.InvalidRequest, Code: "not_found_error"}},
		{"a wrong key", 401, nil, fault("authentication_error", ""), llm.Error{Class: llm.Auth, Code: "authentication_error"}},
		{"a key without permission", 403, nil, fault("permission_error", ""), llm.Error{Class: llm.Auth, Code: "permission_error"}},
		{"a server error is free", 500, nil, fault("api_error", ""), llm.Error{Class: llm.Server, Code: "api_error"}},
		{"overload is a server error", 529, nil, fault("overloaded_error", ""), llm.Error{Class: llm.Server, Code: "overloaded_error"}},
		{"a gateway's page is a server error", 502, nil, `<html>`, llm.Error{Class: llm.Server}},
		{"a redirect is not followed", 302, http.Header{"Location": {"http://127.0.0.1:1/"}}, ``, llm.Error{Class: llm.Malformed}},
		{"a page with status 200", 200, nil, `<html>`, llm.Error{Class: llm.Malformed, Code: "not_a_message", MayBeBilled: true}},
		{"an error with status 200", 200, nil, fault("api_error", ""), llm.Error{Class: llm.Malformed, Code: "not_a_message", MayBeBilled: true}},
		{"a refusal is billed", 200, nil, stopped("refusal", ""), llm.Error{Class: llm.Refused, Code: "refusal", Usage: billed, Metered: true, MayBeBilled: true}},
		{
			"a cut answer is billed", 200, nil, stopped("max_tokens", "abc"),
			llm.Error{Class: llm.Truncated, Code: "max_tokens", Text: "abc", Usage: billed, Metered: true, MayBeBilled: true},
		},
		{
			"a full context is a cut answer", 200, nil, stopped("model_context_window_exceeded", ""),
			llm.Error{Class: llm.Truncated, Code: "model_context_window_exceeded", Usage: billed, Metered: true, MayBeBilled: true},
		},
		{"a tool nobody offered", 200, nil, stopped("tool_use", ""), llm.Error{Class: llm.Malformed, Code: "tool_use", Usage: billed, Metered: true, MayBeBilled: true}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, err := answering(t, row.status, row.header, row.body).Complete(t.Context(), call)
			var got *llm.Error
			if !errors.As(err, &got) {
				t.Fatalf("got %v, want an *llm.Error", err)
			}
			row.want.Provider, row.want.Status = "anthropic", row.status
			if diff := cmp.Diff(row.want, *got, cmpopts.EquateErrors()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if strings.Contains(err.Error(), key) {
				t.Errorf("the key is in %q", err)
			}
		})
	}
}

func TestTheRequestIsWhatTheVendorDocuments(t *testing.T) {
	t.Parallel()
	s := schema(t, `{"type":"object","title":"Seam","properties":{
		"reasoning":{"type":"string","maxLength":200},
		"confidence":{"type":"number","minimum":0,"maximum":1,"description":"How sure."},
		"tags":{"type":"array","minItems":2,"items":{"oneOf":[{"const":"a"},{"const":"b"}]}}},
		"required":["reasoning","confidence"],"additionalProperties":false}`)
	var got *http.Request
	var body []byte
	p := serving(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		_, _ = io.WriteString(w, `{"id":"msg_1","type":"message","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"{\"a\":"},{"type":"text","text":"1}"}],"stop_reason":"end_turn",`+usage+`}`)
	})
	c := call
	c.Schema, c.Effort, c.Deterministic = s, "low", true
	answer, err := p.Complete(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	want := llm.Answer{Text: `{"a":1}`, Usage: llm.Usage{Input: 30, Cached: 60, CacheWrite: 10, Output: 7}, Metered: true, ProviderID: "msg_1"}
	if diff := cmp.Diff(want, answer); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	if got.URL.Path != "/v1/messages" || got.Header.Get("X-Api-Key") != key || got.Header.Get("Anthropic-Version") != "2023-06-01" {
		t.Errorf("path %q, header %v", got.URL.Path, got.Header)
	}
	const wantBody = `{"model":"claude-haiku-5-5","max_tokens":50,"system":"Sort.","messages":[{"role":"user","content":"hi"}],"temperature":0,` +
		`"output_config":{"format":{"type":"json_schema","schema":{"type":"object","properties":{` +
		`"reasoning":{"type":"string","description":"Must satisfy maxLength: 200."},` +
		`"confidence":{"type":"number","description":"How sure. Must satisfy minimum: 0, maximum: 1."},` +
		`"tags":{"type":"array","items":{"anyOf":[{"const":"a"},{"const":"b"}]},"description":"Must satisfy minItems: 2."}},` +
		`"required":["reasoning","confidence"],"additionalProperties":false}},"effort":"low"}}`
	if diff := cmp.Diff(wantBody, string(body)); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestASchemaThatHoldsItselfIsRefusedBeforeTheCall(t *testing.T) {
	t.Parallel()
	p := answering(t, 200, nil, ``)
	s := schema(t, `{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"required":["a"],"additionalProperties":false,
		"$defs":{"n":{"type":"array","items":{"$ref":"#/$defs/n"}}}}`)
	if p.CheckSchema(s) == nil {
		t.Error("a recursive schema was accepted")
	}
}

func TestNewRefusesARelativeAddress(t *testing.T) {
	t.Parallel()
	if _, err := anthropic.New(anthropic.Config{BaseURL: "api.anthropic.com"}); err == nil {
		t.Error("an address without a scheme was accepted")
	}
}

func FuzzResponse(f *testing.F) {
	f.Add(200, `{"type":"message","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn",`+usage+`}`)
	f.Add(200, `{"type":"message","stop_reason":"refusal","usage":{"input_tokens":-5}}`)
	f.Add(429, `{"type":"error","error":{"type":"rate_limit_error","message":"enforced_spend_limit_reached"}}`)
	f.Add(400, `{"error":"spend"}`)
	f.Fuzz(func(t *testing.T, status int, body string) {
		if status < 200 || status > 599 {
			return
		}
		rt := roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
		})
		p, err := anthropic.New(anthropic.Config{Client: &http.Client{Transport: rt}})
		if err != nil {
			t.Fatal(err)
		}
		answer, err := p.Complete(t.Context(), call)
		if err != nil && llm.ClassOf(err) == "" {
			t.Errorf("%d %q: %v has no class", status, body, err)
		}
		if u := answer.Usage; u.Input < 0 || u.Cached < 0 || u.CacheWrite < 0 || u.Output < 0 {
			t.Errorf("negative usage %+v", u)
		}
		if err == nil && !json.Valid([]byte(body)) {
			t.Errorf("%q was taken for a message", body)
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestToolsAreStrictAndTheirCallsAreRead(t *testing.T) {
	t.Parallel()
	var body []byte
	p := serving(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		_, _ = io.WriteString(w, `{"type":"message","content":[{"type":"text","text":"I will pay."},{"type":"tool_use","id":"1","name":"pay","input":{"kes":5}}],"stop_reason":"tool_use",`+usage+`}`)
	})
	c := call
	c.Effort = "low"
	c.Tools = []llm.Tool{
		{Name: "pay", Description: "Pays \"now\".", Input: schema(t, `{"type":"object","properties":{"kes":{"type":"integer","minimum":1}},"required":["kes"],"additionalProperties":false}`)},
		{Name: "wait", Description: "Waits.", Input: schema(t, `{"type":"object","properties":{},"additionalProperties":false}`)},
	}
	answer, err := p.Complete(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if len(answer.ToolCalls) != 1 || answer.ToolCalls[0].Name != "pay" || string(answer.ToolCalls[0].Arguments) != `{"kes":5}` || answer.Text != "I will pay." {
		t.Errorf("answer %+v", answer)
	}
	const want = `"output_config":{"effort":"low"},"tools":[{"name":"pay","description":"Pays \"now\".","strict":true,"input_schema":` +
		`{"type":"object","properties":{"kes":{"type":"integer","description":"Must satisfy minimum: 1."}},"required":["kes"],"additionalProperties":false}},` +
		`{"name":"wait","description":"Waits.","strict":true,"input_schema":{"type":"object","properties":{},"required":[],"additionalProperties":false}}],` +
		`"tool_choice":{"type":"auto","disable_parallel_tool_use":true}}`
	if !json.Valid(body) || !strings.HasSuffix(string(body), want) {
		t.Errorf("request %s\nwant it to end with %s", body, want)
	}
	c.MustCall = true
	if _, err := p.Complete(t.Context(), c); err != nil || !strings.Contains(string(body), `"tool_choice":{"type":"any","disable_parallel_tool_use":true}`) {
		t.Errorf("%v, request %s", err, body)
	}
}
