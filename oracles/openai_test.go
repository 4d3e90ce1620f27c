package oracles_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"

	"github.com/ratiba/ratiba/internal/sim/model"
	"github.com/ratiba/ratiba/oracles"
)

func (l *lab) openAI(retries int, more ...option.RequestOption) *openai.Client {
	c := openai.NewClient(append([]option.RequestOption{
		option.WithBaseURL(l.url + model.OpenAIBase + "/"), option.WithAPIKey("test-key"), option.WithMaxRetries(retries),
	}, more...)...)
	return &c
}

func decoded(t *testing.T, raw string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal([]byte(raw), &out); err != nil {
		t.Fatalf("decode %s: %v", raw, err)
	}
	return out
}

func openAIParams(t *testing.T, text string, structured bool) openai.ChatCompletionNewParams {
	t.Helper()
	p := openai.ChatCompletionNewParams{
		Model: "gpt-6-luna", ReasoningEffort: shared.ReasoningEffortNone, MaxCompletionTokens: openai.Int(400),
		Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(intentPrompt), openai.UserMessage(said(text))},
	}
	if structured {
		p.ResponseFormat = openai.ChatCompletionNewParamsResponseFormatUnion{OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
				Name: "intent_classifier", Strict: openai.Bool(true), Schema: decoded(t, intentSchema),
			},
		}}
	}
	return p
}

func TestOpenAIsLibraryGetsText(t *testing.T) {
	t.Parallel()
	got, err := newLab(t).openAI(0).Chat.Completions.New(t.Context(), openAIParams(t, "hello", false))
	if err != nil {
		t.Fatal(err)
	}
	if c := got.Choices[0]; c.Message.Content == "" || c.FinishReason != "stop" || got.Usage.PromptTokens == 0 || got.Usage.CompletionTokens == 0 {
		t.Errorf("got %s", got.RawJSON())
	}
}

func TestOpenAIsLibraryGetsStructure(t *testing.T) {
	t.Parallel()
	got, err := newLab(t).openAI(0).Chat.Completions.New(t.Context(), openAIParams(t, "nataka massage kesho", true))
	if err != nil {
		t.Fatal(err)
	}
	if answer := decoded(t, got.Choices[0].Message.Content); answer["intent"] != "book" {
		t.Errorf("got %v", answer)
	}
}

func TestOpenAIsLibraryUsesATool(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p := openAIParams(t, "any free times for an appointment on 2 December?", false)
	p.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
		Name: "check_availability", Description: openai.String("List free times for an appointment."), Strict: openai.Bool(true),
		Parameters: decoded(t, `{"type":"object","additionalProperties":false,"required":["date"],"properties":{"date":{"type":"string"}}}`),
	})}
	got, err := l.openAI(0).Chat.Completions.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	choice := got.Choices[0]
	if choice.FinishReason != "tool_calls" || len(choice.Message.ToolCalls) != 1 {
		t.Fatalf("got %s", got.RawJSON())
	}
	call := choice.Message.ToolCalls[0].AsFunction()
	if call.Function.Name != "check_availability" || decoded(t, call.Function.Arguments)["date"] != "2026-12-02" {
		t.Errorf("called %s", call.RawJSON())
	}
	p.Messages = append(p.Messages, choice.Message.ToParam(), openai.ToolMessage("09:00 and 14:00", call.ID))
	if got, err = l.openAI(0).Chat.Completions.New(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if c := got.Choices[0]; c.FinishReason != "stop" || c.Message.Content == "" {
		t.Errorf("after the tool's result: %s", got.RawJSON())
	}
}

func TestOpenAIsLibrarySeesARefusalAndATruncation(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for fault, right := range map[string]func(openai.ChatCompletionChoice) bool{
		"refusal":      func(c openai.ChatCompletionChoice) bool { return c.Message.Refusal != "" && c.Message.Content == "" },
		"truncated":    func(c openai.ChatCompletionChoice) bool { return c.FinishReason == "length" },
		"invalid_json": func(c openai.ChatCompletionChoice) bool { return !json.Valid([]byte(c.Message.Content)) },
	} {
		l.fail(t, model.Fault{Fault: fault})
		got, err := l.openAI(0).Chat.Completions.New(t.Context(), openAIParams(t, "hello", true))
		if err != nil {
			t.Fatalf("%s: %v", fault, err)
		}
		if !right(got.Choices[0]) {
			t.Errorf("%s: got %s", fault, got.RawJSON())
		}
	}
}

func TestOpenAIsLibrarySeesErrorsAsTheVendors(t *testing.T) {
	t.Parallel()
	rows := []struct {
		fault      string
		status     int
		kind, code string
	}{
		{"429", 429, "tokens", "rate_limit_exceeded"},
		{"429_quota", 429, "insufficient_quota", "insufficient_quota"},
		{"500", 500, "server_error", ""},
		{"529", 503, "server_error", "server_is_overloaded"},
	}
	l := newLab(t)
	for _, row := range rows {
		l.fail(t, model.Fault{Fault: row.fault, RetryAfter: 2})
		_, err := l.openAI(0).Chat.Completions.New(t.Context(), openAIParams(t, "hello", true))
		e, ok := errors.AsType[*openai.Error](err)
		if !ok {
			t.Errorf("%s: %v is not the library's error", row.fault, err)
			continue
		}
		if e.StatusCode != row.status || e.Type != row.kind || e.Code != row.code || e.Message == "" {
			t.Errorf("%s: got %d %s", row.fault, e.StatusCode, e.RawJSON())
		}
		if wait := e.Response.Header.Get("Retry-After"); (wait == "2") != (row.fault == "429") {
			t.Errorf("%s: Retry-After %q", row.fault, wait)
		}
	}
}

func TestOpenAIsLibraryRetriesWhenToldTo(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.fail(t, model.Fault{Fault: "429", Times: 2, RetryAfter: 0.01})
	if _, err := l.openAI(2).Chat.Completions.New(t.Context(), openAIParams(t, "hello", true)); err != nil {
		t.Fatal(err)
	}
	if n := len(l.seen()); n != 3 {
		t.Errorf("%d calls, want 3: the library takes the header for what it is", n)
	}
}

func TestOpenAIsLibraryTimesOut(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.fail(t, model.Fault{Fault: "timeout"})
	_, err := l.openAI(0, option.WithRequestTimeout(50*time.Millisecond)).Chat.Completions.New(t.Context(), openAIParams(t, "hello", true))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the deadline", err)
	}
}

func TestOpenAIsLibraryFindsEveryAnswerWhole(t *testing.T) {
	t.Parallel()
	l, whole := newLab(t), schema[openai.ChatCompletion](t, oracles.Response)
	for _, fault := range []string{"", "refusal", "truncated", "invalid_json"} {
		if fault != "" {
			l.fail(t, model.Fault{Fault: fault})
		}
		if _, err := l.openAI(0).Chat.Completions.New(t.Context(), openAIParams(t, "hello", fault != "")); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range l.seen() {
		if err := oracles.Validate(whole, e.response); err != nil {
			t.Errorf("%s\n%v", e.response, err)
		}
	}
}
