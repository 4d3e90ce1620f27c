package model_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/sim/model"
)

type lab struct {
	client *http.Client // with connections of its own: servers of other tests close the shared ones
	sim    *model.Simulator
	url    string
}

func newLab(t *testing.T) *lab {
	t.Helper()
	sim, err := model.New(model.Config{Clock: clock.NewFixed(time.Date(2026, 11, 21, 11, 5, 0, 0, time.UTC))})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(sim)
	t.Cleanup(srv.Close)
	return &lab{sim: sim, url: srv.URL, client: srv.Client()}
}

var (
	bearer = http.Header{"Authorization": {"Bearer test-key"}}
	xKey   = http.Header{"X-Api-Key": {"test-key"}, "Anthropic-Version": {"2023-06-01"}}
)

func (l *lab) post(t *testing.T, path, body string, header http.Header) (int, []byte) {
	t.Helper()
	status, _, raw := l.exchange(t, path, body, header)
	return status, raw
}

func (l *lab) exchange(t *testing.T, path, body string, header http.Header) (int, http.Header, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, l.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header.Clone()
	resp, err := l.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, raw
}

func tagged(text string) string { return "<customer_message>\n" + text + "\n</customer_message>" }

func quote(s string) string {
	raw, _ := json.Marshal(s)
	return string(raw)
}

func openAIBody(system, text, schema string) string {
	return fmt.Sprintf(`{"model":"gpt-6-luna","max_completion_tokens":800,"messages":[{"role":"system","content":%s},{"role":"user","content":%s}],
	"response_format":{"type":"json_schema","json_schema":{"name":"seam","strict":true,"schema":%s}}}`, quote(system), quote(text), schema)
}

func anthropicBody(system, text, schema string) string {
	return fmt.Sprintf(`{"model":"claude-haiku-5-5","max_tokens":800,"system":%s,"messages":[{"role":"user","content":%s}],
	"output_config":{"format":{"type":"json_schema","schema":%s}}}`, quote(system), quote(text), schema)
}

func decode(t *testing.T, raw []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("decode %s: %v", raw, err)
	}
}

// plainSchema is accepted by both vendors.
const plainSchema = `{"type":"object","additionalProperties":false,"required":["reasoning","text","confidence"],"properties":{"reasoning":{"type":"string"},"text":{"type":"string"},"confidence":{"type":"number"}}}`

func TestOpenAIRefusesWhatTheVendorRefuses(t *testing.T) {
	t.Parallel()
	good := openAIBody("s", "t", plainSchema)
	rows := []struct {
		name   string
		body   string
		header http.Header
		status int
		code   string
	}{
		{"a request without a key", good, http.Header{}, 401, "invalid_api_key"},
		{"a body that is not JSON", `{"model":`, bearer, 400, ""},
		{"no model", strings.Replace(good, "gpt-6-luna", "", 1), bearer, 400, ""},
		{"no messages", `{"model":"m","messages":[]}`, bearer, 400, ""},
		{"an unknown role", strings.Replace(good, `"role":"user"`, `"role":"wizard"`, 1), bearer, 400, ""},
		{"content that is a number", `{"model":"m","messages":[{"role":"user","content":4}]}`, bearer, 400, ""},
		{"a temperature for a reasoning model", strings.Replace(good, `"messages"`, `"temperature":0,"messages"`, 1), bearer, 400, "unsupported_value"},
		{"the old limit for a reasoning model", strings.Replace(good, "max_completion_tokens", "max_tokens", 1), bearer, 400, "unsupported_parameter"},
		{"an effort for a model that does not reason", `{"model":"gpt-4.1-mini","reasoning_effort":"none","messages":[{"role":"user","content":"hi"}]}`, bearer, 400, "unsupported_parameter"},
		{"a schema name with a space", strings.Replace(good, `"seam"`, `"a seam"`, 1), bearer, 400, ""},
		{"a property that is not required", openAIBody("s", "t", strings.Replace(plainSchema, `"text",`, ``, 1)), bearer, 400, ""},
		{"an open object", openAIBody("s", "t", strings.Replace(plainSchema, `"additionalProperties":false,`, ``, 1)), bearer, 400, ""},
		{"a length", openAIBody("s", "t", strings.Replace(plainSchema, `"text":{`, `"text":{"maxLength":5,`, 1)), bearer, 400, ""},
		{"a union at the root", openAIBody("s", "t", strings.Replace(plainSchema, `"required"`, `"anyOf":[{"type":"object"}],"required"`, 1)), bearer, 400, ""},
		{"a reference to nothing", openAIBody("s", "t", strings.Replace(plainSchema, `"text":{"type":"string"}`, `"text":{"$ref":"#/$defs/x"}`, 1)), bearer, 400, ""},
	}
	l := newLab(t)
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			status, raw := l.post(t, "/openai/v1/chat/completions", row.body, row.header)
			var body struct {
				Error struct {
					Message, Type string
					Code          string
				}
			}
			decode(t, raw, &body)
			if status != row.status || body.Error.Code != row.code || body.Error.Message == "" || body.Error.Type == "" {
				t.Errorf("got %d %s, want %d with code %q", status, raw, row.status, row.code)
			}
		})
	}
}

func TestAnthropicRefusesWhatTheVendorRefuses(t *testing.T) {
	t.Parallel()
	good := anthropicBody("s", "t", plainSchema)
	number := func(keyword string) string {
		return anthropicBody("s", "t", strings.Replace(plainSchema, `{"type":"number"}`, `{"type":"number",`+keyword+`}`, 1))
	}
	rows := []struct {
		name   string
		body   string
		header http.Header
		status int
		kind   string
	}{
		{"a request without a key", good, http.Header{"Anthropic-Version": {"2023-06-01"}}, 401, "authentication_error"},
		{"a request without a version", good, http.Header{"X-Api-Key": {"k"}}, 400, "invalid_request_error"},
		{"a body that is not JSON", `[`, xKey, 400, "invalid_request_error"},
		{"no model", strings.Replace(good, "claude-haiku-5-5", "", 1), xKey, 400, "invalid_request_error"},
		{"no max_tokens", strings.Replace(good, `"max_tokens":800,`, ``, 1), xKey, 400, "invalid_request_error"},
		{"no messages", `{"model":"claude-haiku-5-5","max_tokens":5,"messages":[]}`, xKey, 400, "invalid_request_error"},
		{"an empty message", strings.Replace(good, `"content":"t"`, `"content":""`, 1), xKey, 400, "invalid_request_error"},
		{"a system message", strings.Replace(good, `"role":"user"`, `"role":"system"`, 1), xKey, 400, "invalid_request_error"},
		{"a temperature for a newer model", strings.Replace(good, `"messages"`, `"temperature":0,"messages"`, 1), xKey, 400, "invalid_request_error"},
		{"a prefilled answer", strings.Replace(good, `}],`, `},{"role":"assistant","content":"{"}],`, 1), xKey, 400, "invalid_request_error"},
		{"a minimum", number(`"minimum":0`), xKey, 400, "invalid_request_error"},
		{"a maximum", number(`"maximum":1`), xKey, 400, "invalid_request_error"},
		{"an open object", anthropicBody("s", "t", strings.Replace(plainSchema, `"additionalProperties":false,`, ``, 1)), xKey, 400, "invalid_request_error"},
		{"two items at least", anthropicBody("s", "t", strings.Replace(plainSchema, `"text":{"type":"string"}`, `"text":{"type":"array","items":{"type":"string"},"minItems":2}`, 1)), xKey, 400, "invalid_request_error"},
		{"a schema that holds itself", anthropicBody("s", "t", strings.Replace(plainSchema, `"text":{"type":"string"}`, `"text":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"array","items":{"$ref":"#/$defs/a"}}`, 1)), xKey, 400, "invalid_request_error"},
	}
	l := newLab(t)
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			status, raw := l.post(t, "/anthropic/v1/messages", row.body, row.header)
			var body struct {
				Type  string
				Error struct{ Type, Message string }
			}
			decode(t, raw, &body)
			if status != row.status || body.Type != "error" || body.Error.Type != row.kind || body.Error.Message == "" {
				t.Errorf("got %d %s, want %d %s", status, raw, row.status, row.kind)
			}
		})
	}
}

func TestAnthropicAnswersInItsOwnForm(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	status, header, raw := l.exchange(t, "/anthropic/v1/messages", anthropicBody("Language: en", tagged("hello"), plainSchema), xKey)
	var body struct {
		ID, Type, Role, Model string
		StopReason            string `json:"stop_reason"`
		Content               []struct{ Type, Text string }
		Usage                 map[string]any
	}
	decode(t, raw, &body)
	if status != 200 || header.Get("Request-Id") == "" || body.Type != "message" || body.StopReason != "end_turn" ||
		len(body.Content) != 1 || body.Usage["input_tokens"] == nil || !strings.HasPrefix(body.ID, "msg_") {
		t.Errorf("got %d %s", status, raw)
	}
	if !bytes.HasPrefix([]byte(body.Content[0].Text), []byte(`{"reasoning":`)) {
		t.Errorf("the answer %s does not follow the order of the schema", body.Content[0].Text)
	}
}

func TestAnswersAreCutAtTheLimitOfTokens(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	_, raw := l.post(t, "/openai/v1/chat/completions", strings.Replace(openAIBody("s", "t", plainSchema), "800", "5", 1), bearer)
	if !bytes.Contains(raw, []byte(`"finish_reason":"length"`)) {
		t.Errorf("got %s, want finish_reason length", raw)
	}
	_, raw = l.post(t, "/anthropic/v1/messages", strings.Replace(anthropicBody("s", "t", plainSchema), "800", "5", 1), xKey)
	if !bytes.Contains(raw, []byte(`"stop_reason":"max_tokens"`)) {
		t.Errorf("got %s, want stop_reason max_tokens", raw)
	}
}

func TestALongPromptIsServedFromTheCacheTheSecondTime(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	body := openAIBody(strings.Repeat("rules ", 1000), "t", plainSchema)
	cached := func() float64 {
		_, raw := l.post(t, "/openai/v1/chat/completions", body, bearer)
		var resp struct {
			Usage struct {
				Details map[string]float64 `json:"prompt_tokens_details"`
			}
		}
		decode(t, raw, &resp)
		return resp.Usage.Details["cached_tokens"]
	}
	if first, second := cached(), cached(); first != 0 || second < 1024 {
		t.Errorf("cached tokens %v, then %v; want none, then most", first, second)
	}
}

func TestTheFaceProgramsFaultsForOneSeam(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	status, raw := l.post(t, "/sim/llm/next", `{"role":"intent_classifier","fault":429,"times":2,"retry_after":3}`, nil)
	if status != 200 {
		t.Fatalf("program: %d %s", status, raw)
	}
	other := openAIBody("Language: en", tagged("hi"), plainSchema)
	intent := openAIBody(spa(""), tagged("hi"), intentSchema)
	want := []struct {
		body   string
		status int
	}{{other, 200}, {intent, 429}, {intent, 429}, {intent, 200}}
	for i, w := range want {
		status, header, raw := l.exchange(t, "/openai/v1/chat/completions", w.body, bearer)
		if status != w.status || status == 429 && header.Get("Retry-After") != "3" {
			t.Errorf("call %d: got %d %s (retry after %q), want %d", i+1, status, raw, header.Get("Retry-After"), w.status)
		}
	}
	resp, err := l.client.Get(l.url + "/sim/llm/calls?after=1")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var calls []model.Call
	if err := json.NewDecoder(resp.Body).Decode(&calls); err != nil {
		t.Fatal(err)
	}
	if len(calls) != 3 || calls[0].Role != "intent_classifier" || calls[0].Fault != "429" || calls[2].Status != 200 || calls[2].Text != "hi" {
		t.Errorf("calls = %+v", calls)
	}
}

func TestTheFaceRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for _, body := range []string{``, `{`, `{"fault":"gremlins"}`, `{"fault":"500","role":"poet"}`, `{"fault":"500","times":-1}`} {
		if status, raw := l.post(t, "/sim/llm/next", body, nil); status != http.StatusBadRequest {
			t.Errorf("%s: got %d %s, want 400", body, status, raw)
		}
	}
}

func FuzzRequests(f *testing.F) {
	f.Add(openAIBody(spa(""), tagged("nataka massage kesho saa tisa"), slotSchema), true)
	f.Add(anthropicBody(spa(""), tagged("book me between 2 and 5 on the 30th"), intentSchema), false)
	f.Add(openAIBody("Facts:\n- x\n", tagged("saa 99:99 tarehe 45"), plainSchema), true)
	f.Add(`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}`, true)
	f.Add(`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"a"}],"output_config":{"format":{"type":"json_schema","schema":{"type":"object","additionalProperties":false,"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/a"}}}}}}`, false)
	f.Fuzz(func(t *testing.T, body string, openAI bool) {
		path, header := "/anthropic/v1/messages", xKey
		if openAI {
			path, header = "/openai/v1/chat/completions", bearer
		}
		sim, err := model.New(model.Config{Clock: clock.NewFixed(time.Date(2026, 11, 21, 11, 5, 0, 0, time.UTC))})
		if err != nil {
			t.Fatal(err)
		}
		req := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
		req.Header = header.Clone()
		rec := httptest.NewRecorder()
		sim.ServeHTTP(rec, req)
		if rec.Code != http.StatusOK && (rec.Code < 400 || rec.Code > 499) {
			t.Errorf("status %d for %q", rec.Code, body)
		}
		if !json.Valid(rec.Body.Bytes()) {
			t.Errorf("the answer to %q is not JSON: %s", body, rec.Body)
		}
	})
}
