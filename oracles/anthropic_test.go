package oracles_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/ratiba/ratiba/internal/sim/model"
	"github.com/ratiba/ratiba/oracles"
)

func (l *lab) anthropic(retries int, more ...option.RequestOption) *anthropic.Client {
	c := anthropic.NewClient(append([]option.RequestOption{
		option.WithBaseURL(l.url + model.AnthropicBase + "/"), option.WithAPIKey("test-key"), option.WithMaxRetries(retries),
	}, more...)...)
	return &c
}

func anthropicParams(t *testing.T, text string, structured bool) anthropic.MessageNewParams {
	t.Helper()
	p := anthropic.MessageNewParams{
		Model: "claude-haiku-5-5", MaxTokens: 400, System: []anthropic.TextBlockParam{{Text: intentPrompt}},
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(said(text)))},
	}
	if structured {
		p.OutputConfig.Format = anthropic.JSONOutputFormatParam{Schema: decoded(t, intentSchema)}
	}
	return p
}

func TestAnthropicsLibraryGetsText(t *testing.T) {
	t.Parallel()
	got, err := newLab(t).anthropic(0).Messages.New(t.Context(), anthropicParams(t, "hello", false))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Content) != 1 || got.Content[0].AsText().Text == "" || got.StopReason != anthropic.StopReasonEndTurn ||
		got.Usage.InputTokens == 0 || got.Usage.OutputTokens == 0 {
		t.Errorf("got %s", got.RawJSON())
	}
}

func TestAnthropicsLibraryGetsStructure(t *testing.T) {
	t.Parallel()
	got, err := newLab(t).anthropic(0).Messages.New(t.Context(), anthropicParams(t, "nataka massage kesho", true))
	if err != nil {
		t.Fatal(err)
	}
	if answer := decoded(t, got.Content[0].Text); answer["intent"] != "book" {
		t.Errorf("got %v", answer)
	}
}

func TestAnthropicsLibraryUsesATool(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p := anthropicParams(t, "any free times for an appointment on 2 December?", false)
	tool := anthropic.ToolUnionParamOfTool(anthropic.ToolInputSchemaParam{
		Properties:  map[string]any{"date": map[string]any{"type": "string"}},
		Required:    []string{"date"},
		ExtraFields: map[string]any{"additionalProperties": false},
	}, "check_availability")
	tool.OfTool.Description, tool.OfTool.Strict = anthropic.String("List free times for an appointment."), anthropic.Bool(true)
	p.Tools = []anthropic.ToolUnionParam{tool}
	got, err := l.anthropic(0).Messages.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if got.StopReason != anthropic.StopReasonToolUse || len(got.Content) != 1 {
		t.Fatalf("got %s", got.RawJSON())
	}
	use := got.Content[0].AsToolUse()
	if use.Name != "check_availability" || decoded(t, string(use.Input))["date"] != "2026-12-02" {
		t.Errorf("called %s", use.RawJSON())
	}
	p.Messages = append(p.Messages, got.ToParam(), anthropic.NewUserMessage(anthropic.NewToolResultBlock(use.ID, "09:00 and 14:00", false)))
	if got, err = l.anthropic(0).Messages.New(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if got.StopReason != anthropic.StopReasonEndTurn || got.Content[0].Text == "" {
		t.Errorf("after the tool's result: %s", got.RawJSON())
	}
}

func TestAnthropicsLibrarySeesARefusalAndATruncation(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for fault, right := range map[string]func(*anthropic.Message) bool{
		"refusal": func(m *anthropic.Message) bool {
			return m.StopReason == anthropic.StopReasonRefusal && len(m.Content) == 0
		},
		"truncated": func(m *anthropic.Message) bool { return m.StopReason == anthropic.StopReasonMaxTokens },
		"invalid_json": func(m *anthropic.Message) bool {
			return m.StopReason == anthropic.StopReasonEndTurn && !json.Valid([]byte(m.Content[0].Text))
		},
	} {
		l.fail(t, model.Fault{Fault: fault})
		got, err := l.anthropic(0).Messages.New(t.Context(), anthropicParams(t, "hello", true))
		if err != nil {
			t.Fatalf("%s: %v", fault, err)
		}
		if !right(got) {
			t.Errorf("%s: got %s", fault, got.RawJSON())
		}
	}
}

func TestAnthropicsLibrarySeesErrorsAsTheVendors(t *testing.T) {
	t.Parallel()
	rows := []struct {
		fault  string
		status int
		kind   string
	}{
		{"429", 429, "rate_limit_error"},
		{"429_quota", 429, "rate_limit_error"},
		{"500", 500, "api_error"},
		{"529", 529, "overloaded_error"},
	}
	l := newLab(t)
	for _, row := range rows {
		l.fail(t, model.Fault{Fault: row.fault, RetryAfter: 2})
		_, err := l.anthropic(0).Messages.New(t.Context(), anthropicParams(t, "hello", true))
		e, ok := errors.AsType[*anthropic.Error](err)
		if !ok {
			t.Errorf("%s: %v is not the library's error", row.fault, err)
			continue
		}
		var body anthropic.ErrorResponse
		if err := json.Unmarshal([]byte(e.RawJSON()), &body); err != nil {
			t.Errorf("%s: %v", row.fault, err)
		}
		if e.StatusCode != row.status || body.Error.Type != row.kind || body.Error.Message == "" || e.RequestID == "" {
			t.Errorf("%s: got %d %s", row.fault, e.StatusCode, e.RawJSON())
		}
		if wait := e.Response.Header.Get("Retry-After"); (wait == "2") != (row.fault == "429") {
			t.Errorf("%s: Retry-After %q", row.fault, wait)
		}
	}
}

func TestAnthropicsLibraryRetriesWhenToldTo(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.fail(t, model.Fault{Fault: "429", Times: 2, RetryAfter: 0.01})
	if _, err := l.anthropic(2).Messages.New(t.Context(), anthropicParams(t, "hello", true)); err != nil {
		t.Fatal(err)
	}
	if n := len(l.seen()); n != 3 {
		t.Errorf("%d calls, want 3: the library takes the header for what it is", n)
	}
}

func TestAnthropicsLibraryTimesOut(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.fail(t, model.Fault{Fault: "timeout"})
	_, err := l.anthropic(0, option.WithRequestTimeout(50*time.Millisecond)).Messages.New(t.Context(), anthropicParams(t, "hello", true))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the deadline", err)
	}
}

func TestAnthropicsLibraryFindsEveryAnswerWhole(t *testing.T) {
	t.Parallel()
	l, whole := newLab(t), schema[anthropic.Message](t, oracles.Response)
	for _, fault := range []string{"", "refusal", "truncated", "invalid_json"} {
		if fault != "" {
			l.fail(t, model.Fault{Fault: fault})
		}
		if _, err := l.anthropic(0).Messages.New(t.Context(), anthropicParams(t, "hello", fault != "")); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range l.seen() {
		if err := oracles.Validate(whole, e.response); err != nil {
			t.Errorf("%s\n%v", e.response, err)
		}
	}
}
