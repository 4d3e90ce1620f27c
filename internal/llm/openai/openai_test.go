package openai_test

import (
	"context"
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
	"github.com/ratiba/ratiba/internal/llm/openai"
)

const key = "sk-test-0123456789"

func answering(t *testing.T, status int, header http.Header, body string) *openai.Provider {
	t.Helper()
	return serving(t, func(w http.ResponseWriter, _ *http.Request) {
		maps.Copy(w.Header(), header)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

func serving(t *testing.T, h http.HandlerFunc) *openai.Provider {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	p, err := openai.New(openai.Config{BaseURL: srv.URL + "/v1/", Key: key})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func schema(t *testing.T, raw string) *llm.Schema {
	t.Helper()
	s, err := llm.CompileSchema("seam", []byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var call = llm.Call{Model: "gpt-6-luna", System: "Sort.", Messages: []llm.Message{{Role: llm.User, Content: "hi"}}, MaxTokens: 50}

const usage = `"usage":{"prompt_tokens":100,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":10}}`

func TestEveryResponseHasItsClassAndItsBill(t *testing.T) {
	t.Parallel()
	billed := llm.Usage{Input: 30, Cached: 60, CacheWrite: 10, Output: 7}
	rows := []struct {
		name   string
		status int
		header http.Header
		body   string
		want   llm.Error
	}{
		{
			"a rate limit names its wait", 429,
			http.Header{"Retry-After": {"7"}},
			`{"error":{"type":"tokens","code":"rate_limit_exceeded"}}`,
			llm.Error{Class: llm.Rate, Code: "rate_limit_exceeded", RetryAfter: 7 * time.Second},
		},
		{
			"a rate limit without a header asks for no wait", 429, nil, `{"error":{"type":"requests","code":"slow_down"}}`,
			llm.Error{Class: llm.Rate, Code: "slow_down"},
		},
		{"an empty 429 is a rate limit", 429, nil, ``, llm.Error{Class: llm.Rate}},
		{
			"insufficient quota is not a rate limit", 429, nil, `{"error":{"type":"insufficient_quota","code":"insufficient_quota"}}`,
			llm.Error{Class: llm.Quota, Code: "insufficient_quota"},
		},
		{
			"a spend limit is known by its code", 429, nil, `{"error":{"type":"requests","code":"project_spend_limit_exceeded"}}`,
			llm.Error{Class: llm.Quota, Code: "project_spend_limit_exceeded"},
		},
		{
			"the code outranks the type", 429, nil, `{"error":{"type":"insufficient_quota","code":"rate_limit_exceeded"}}`,
			llm.Error{Class: llm.Rate, Code: "rate_limit_exceeded"},
		},
		{"a server error is free", 500, nil, `{"error":{"type":"server_error","code":null}}`, llm.Error{Class: llm.Server, Code: "server_error"}},
		{
			"overload is a server error", 503, nil, `{"error":{"type":"server_error","code":"server_is_overloaded"}}`,
			llm.Error{Class: llm.Server, Code: "server_is_overloaded"},
		},
		{"a gateway's page is a server error", 502, nil, `<html>bad gateway</html>`, llm.Error{Class: llm.Server}},
		{"a gateway that gave up waiting may have been billed", 504, nil, ``, llm.Error{Class: llm.Timeout, MayBeBilled: true}},
		{
			"a wrong key", 401, nil, `{"error":{"type":"invalid_request_error","code":"invalid_api_key","message":"Incorrect API key provided: ` + key + `"}}`,
			llm.Error{Class: llm.Auth, Code: "invalid_api_key"},
		},
		{
			"a bad request", 400, nil, `{"error":{"type":"invalid_request_error","code":null,"message":"` + key + `"}}`,
			llm.Error{Class: llm.InvalidRequest, Code: "invalid_request_error"},
		},
		{"a code that is a number", 404, nil, `{"error":{"code":404,"type":"NotFoundError"}}`, llm.Error{Class: llm.InvalidRequest, Code: "NotFoundError"}},
		{"a redirect is not followed", 307, http.Header{"Location": {"http://127.0.0.1:1/"}}, ``, llm.Error{Class: llm.Malformed}},
		{"a page with status 200", 200, nil, `<html>hello</html>`, llm.Error{Class: llm.Malformed, Code: "not_a_completion", MayBeBilled: true}},
		{"a body that ends early", 200, nil, `{"choices":[{"message":{"content":"x`, llm.Error{Class: llm.Malformed, Code: "not_a_completion", MayBeBilled: true}},
		{
			"no choices", 200, nil, `{"choices":[],` + usage + `}`,
			llm.Error{Class: llm.Malformed, Code: "no_choices", Usage: billed, Metered: true, MayBeBilled: true},
		},
		{
			"a refusal is billed", 200, nil, `{"choices":[{"message":{"content":null,"refusal":"No."},"finish_reason":"stop"}],` + usage + `}`,
			llm.Error{Class: llm.Refused, Code: "refusal", Text: "No.", Usage: billed, Metered: true, MayBeBilled: true},
		},
		{
			"a filter is a refusal", 200, nil, `{"choices":[{"message":{"content":"x"},"finish_reason":"content_filter"}],` + usage + `}`,
			llm.Error{Class: llm.Refused, Code: "content_filter", Text: "x", Usage: billed, Metered: true, MayBeBilled: true},
		},
		{
			"a cut answer is billed", 200, nil, `{"choices":[{"message":{"content":"{\"a"},"finish_reason":"length"}],` + usage + `}`,
			llm.Error{Class: llm.Truncated, Code: "length", Text: `{"a`, Usage: billed, Metered: true, MayBeBilled: true},
		},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, err := answering(t, row.status, row.header, row.body).Complete(t.Context(), call)
			var got *llm.Error
			if !errors.As(err, &got) {
				t.Fatalf("got %v, want an *llm.Error", err)
			}
			row.want.Provider, row.want.Status = "openai", row.status
			if diff := cmp.Diff(row.want, *got, cmpopts.EquateErrors()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if strings.Contains(err.Error(), key) {
				t.Errorf("the key is in %q", err)
			}
		})
	}
}

func TestAnAnswerIsCountedInDisjointBuckets(t *testing.T) {
	t.Parallel()
	p := answering(t, 200, nil, `{"id":"chatcmpl-1","choices":[{"message":{"content":"hello","refusal":null},"finish_reason":"stop"}],`+usage+`}`)
	got, err := p.Complete(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	want := llm.Answer{Text: "hello", Usage: llm.Usage{Input: 30, Cached: 60, CacheWrite: 10, Output: 7}, Metered: true, ProviderID: "chatcmpl-1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	p = answering(t, 200, nil, `{"choices":[{"message":{"content":"hello"},"finish_reason":"stop"}],"usage":null}`)
	if got, err = p.Complete(t.Context(), call); err != nil || got.Metered {
		t.Errorf("got %+v, %v; want an answer that is not metered", got, err)
	}
}

func TestTheRequestIsWhatTheVendorDocuments(t *testing.T) {
	t.Parallel()
	s := schema(t, `{"type":"object","properties":{
		"reasoning":{"type":"string","maxLength":200,"description":"Why."},
		"confidence":{"type":"number","minimum":0,"maximum":1},
		"note":{"type":"string"},
		"tags":{"type":"array","minItems":2,"items":{"oneOf":[{"const":"a"},{"const":"b"}]}}},
		"required":["reasoning","confidence","tags"],"additionalProperties":false}`)
	var path, auth string
	var body []byte
	p := serving(t, func(w http.ResponseWriter, r *http.Request) {
		path, auth = r.URL.Path, r.Header.Get("Authorization")
		body, _ = io.ReadAll(r.Body)
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"{\"reasoning\":\"r\",\"confidence\":1,\"note\":null,\"tags\":[\"a\",\"b\"]}"},"finish_reason":"stop"}]}`)
	})
	c := call
	c.Schema, c.Effort, c.Deterministic = s, "none", true
	answer, err := p.Complete(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"reasoning":"r","confidence":1,"tags":["a","b"]}`; answer.Text != want {
		t.Errorf("answer %s, want the optional null left out: %s", answer.Text, want)
	}
	if path != "/v1/chat/completions" || auth != "Bearer "+key {
		t.Errorf("path %q, authorization %q", path, auth)
	}
	const want = `{"model":"gpt-6-luna","messages":[{"role":"system","content":"Sort."},{"role":"user","content":"hi"}],` +
		`"reasoning_effort":"none","max_completion_tokens":50,"temperature":0,` +
		`"response_format":{"type":"json_schema","json_schema":{"name":"seam","strict":true,"schema":` +
		`{"type":"object","properties":{` +
		`"reasoning":{"type":"string","description":"Why. Must satisfy maxLength: 200."},` +
		`"confidence":{"type":"number","minimum":0,"maximum":1},` +
		`"note":{"anyOf":[{"type":"string"},{"type":"null"}]},` +
		`"tags":{"type":"array","minItems":2,"items":{"anyOf":[{"const":"a"},{"const":"b"}]}}},` +
		`"required":["reasoning","confidence","note","tags"],"additionalProperties":false}}}}`
	if diff := cmp.Diff(want, string(body)); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestATimeoutAndACancelAreToldApart(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{}, 2)
	release := make(chan struct{})
	p := serving(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		arrived <- struct{}{}
		select {
		case <-r.Context().Done():
		case <-release:
		}
	})
	t.Cleanup(func() { close(release) })
	short, done := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer done()
	_, err := p.Complete(short, call)
	if llm.ClassOf(err) != llm.Timeout {
		t.Errorf("got %v, want a timeout", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	_, err = p.Complete(ctx, call)
	var e *llm.Error
	if !errors.As(err, &e) || e.Class != llm.Cancelled || !e.MayBeBilled {
		t.Errorf("got %v, want a cancel that may be billed", err)
	}
}

func TestAServerThatCannotBeReachedIsFree(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.NotFoundHandler())
	srv.Close()
	p, err := openai.New(openai.Config{BaseURL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Complete(t.Context(), call)
	var e *llm.Error
	if !errors.As(err, &e) || e.Class != llm.Server || e.MayBeBilled {
		t.Errorf("got %v, want a server error that is not billed", err)
	}
}

func TestAnEndlessResponseIsCut(t *testing.T) {
	t.Parallel()
	p := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		chunk := []byte(strings.Repeat(" ", 1<<16))
		for range 64 {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	if _, err := p.Complete(t.Context(), call); llm.ClassOf(err) != llm.Malformed {
		t.Errorf("got %v, want malformed", err)
	}
}

func TestNewRefusesARelativeAddress(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"api.openai.com/v1", "ftp://x/v1", "http://", ":"} {
		if _, err := openai.New(openai.Config{BaseURL: base}); err == nil {
			t.Errorf("%q was accepted", base)
		}
	}
}

func TestAnOpenObjectIsRefusedBeforeTheCall(t *testing.T) {
	t.Parallel()
	p := answering(t, 200, nil, ``)
	s := schema(t, `{"type":"object","additionalProperties":{"type":"string"}}`)
	if p.CheckSchema(s) == nil {
		t.Error("a dictionary was accepted")
	}
	c := call
	c.Schema = s
	if _, err := p.Complete(t.Context(), c); llm.ClassOf(err) != llm.InvalidRequest {
		t.Errorf("got %v, want an invalid request", err)
	}
}

func FuzzResponse(f *testing.F) {
	f.Add(200, `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}],`+usage+`}`)
	f.Add(200, `{"choices":[{"message":{"refusal":"x"}}],"usage":{"prompt_tokens":-5,"completion_tokens":9223372036854775807}}`)
	f.Add(429, `{"error":{"code":{},"type":"insufficient_quota"}}`)
	f.Add(400, `{"error":"model not found"}`)
	f.Fuzz(func(t *testing.T, status int, body string) {
		if status < 200 || status > 599 {
			return
		}
		rt := roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
		})
		p, err := openai.New(openai.Config{Client: &http.Client{Transport: rt}})
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
			t.Errorf("%q was taken for a completion", body)
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
		_, _ = io.WriteString(w, `{"choices":[{"message":{"content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"pay","arguments":"{\"kes\":5,\"note\":null}"}}]},"finish_reason":"tool_calls"}],`+usage+`}`)
	})
	c := call
	c.Tools = []llm.Tool{
		{Name: "pay", Description: "Pays \"now\".", Input: schema(t, `{"type":"object","properties":{"kes":{"type":"integer","minimum":1},"note":{"type":"string"}},"required":["kes"],"additionalProperties":false}`)},
		{Name: "wait", Description: "Waits.", Input: schema(t, `{"type":"object","properties":{},"additionalProperties":false}`)},
	}
	answer, err := p.Complete(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if len(answer.ToolCalls) != 1 || answer.ToolCalls[0].Name != "pay" || string(answer.ToolCalls[0].Arguments) != `{"kes":5}` || !answer.Metered {
		t.Errorf("answer %+v, want one call without the null of its optional argument", answer)
	}
	const want = `"tools":[{"type":"function","function":{"name":"pay","description":"Pays \"now\".","strict":true,"parameters":` +
		`{"type":"object","properties":{"kes":{"type":"integer","minimum":1},"note":{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["kes","note"],"additionalProperties":false}}},` +
		`{"type":"function","function":{"name":"wait","description":"Waits.","strict":true,"parameters":{"type":"object","properties":{},"required":[],"additionalProperties":false}}}],` +
		`"tool_choice":"auto","parallel_tool_calls":false}`
	if !json.Valid(body) || !strings.HasSuffix(string(body), want) {
		t.Errorf("request %s\nwant it to end with %s", body, want)
	}
	c.MustCall = true
	if _, err := p.Complete(t.Context(), c); err != nil || !strings.Contains(string(body), `"tool_choice":"required"`) {
		t.Errorf("%v, request %s", err, body)
	}
}

func TestVectorsComeInTheOrderOfTheTexts(t *testing.T) {
	t.Parallel()
	var body []byte
	var path string
	answer := `{"object":"list","data":[{"object":"embedding","index":1,"embedding":[3,4.5]},{"object":"embedding","index":0,"embedding":[1,2]}],"model":"text-embedding-3-small","usage":{"prompt_tokens":7,"total_tokens":7}}`
	p := serving(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		path = r.URL.Path
		_, _ = io.WriteString(w, answer)
	})
	call := llm.Call{Model: "text-embedding-3-small", Texts: []string{"a\"", "b"}}
	got, err := p.Complete(t.Context(), call)
	want := llm.Answer{Vectors: [][]float32{{1, 2}, {3, 4.5}}, Usage: llm.Usage{Input: 7}, Metered: true}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if s := string(body); s != `{"model":"text-embedding-3-small","input":["a\"","b"],"encoding_format":"float"}` || path != "/v1/embeddings" {
		t.Errorf("%s %s", path, s)
	}
	answer = `{"data":null}`
	if _, err := p.Complete(t.Context(), call); llm.ClassOf(err) != llm.Malformed {
		t.Errorf("got %v", err)
	}
}
