package model_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// bookingTool takes a date and is offered beside one that does not fit.
const bookingTool = `{"type":"object","additionalProperties":false,"required":["date","time"],"properties":{"date":{"type":"string"},"time":{"type":["string","null"]}}}`

func openAITools(text, more string) string {
	return fmt.Sprintf(`{"model":"gpt-6-luna","reasoning_effort":"none","max_completion_tokens":200,"messages":[{"role":"user","content":%s}],
	"tools":[{"type":"function","function":{"name":"send_invoice","description":"Send an invoice.","parameters":{"type":"object"}}},
	{"type":"function","function":{"name":"check_availability","description":"List free times for an appointment.","strict":true,"parameters":%s}}]%s}`, quote(text), bookingTool, more)
}

func anthropicTools(text, more string) string {
	return fmt.Sprintf(`{"model":"claude-haiku-5-5","max_tokens":200,"messages":[{"role":"user","content":%s}],
	"tools":[{"name":"send_invoice","description":"Send an invoice.","input_schema":{"type":"object"}},
	{"name":"check_availability","description":"List free times for an appointment.","strict":true,"input_schema":%s}]%s}`, quote(text), bookingTool, more)
}

const wantsAppointment = "an appointment on 2 December at 3pm please"

func TestATimelyToolIsCalledOnEitherWire(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	_, raw := l.post(t, "/openai/v1/chat/completions", openAITools(wantsAppointment, ""), bearer)
	var completion struct {
		Choices []struct {
			FinishReason string `json:"finish_reason"`
			Message      struct {
				Content   *string
				ToolCalls []struct {
					ID, Type string
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
		}
	}
	decode(t, raw, &completion)
	c := completion.Choices[0]
	if c.FinishReason != "tool_calls" || c.Message.Content != nil || len(c.Message.ToolCalls) != 1 ||
		c.Message.ToolCalls[0].Function.Name != "check_availability" || c.Message.ToolCalls[0].Function.Arguments != `{"date":"2026-12-02","time":"15:00"}` {
		t.Errorf("OpenAI's form: %s", raw)
	}

	_, raw = l.post(t, "/anthropic/v1/messages", anthropicTools(wantsAppointment, ""), xKey)
	var message struct {
		StopReason string `json:"stop_reason"`
		Content    []struct {
			Type, ID, Name string
			Input          map[string]any
		}
	}
	decode(t, raw, &message)
	if message.StopReason != "tool_use" || len(message.Content) != 1 || message.Content[0].Type != "tool_use" ||
		message.Content[0].Name != "check_availability" || message.Content[0].Input["date"] != "2026-12-02" {
		t.Errorf("Anthropic's form: %s", raw)
	}
}

func TestToolsAreUsedAsTheChoiceSays(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name, text, openAI, anthropic, want string // want: the tool, empty for none
	}{
		{"nothing fits", "habari", "", "", ""},
		{"none may be used", wantsAppointment, `,"tool_choice":"none"`, `,"tool_choice":{"type":"none"}`, ""},
		{"one must be used", "habari", `,"tool_choice":"required"`, `,"tool_choice":{"type":"any"}`, "send_invoice"},
		{"this one must be used", "habari", `,"tool_choice":{"type":"function","function":{"name":"check_availability"}}`, `,"tool_choice":{"type":"tool","name":"check_availability"}`, "check_availability"},
	}
	l := newLab(t)
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			for path, body := range map[string]string{
				"/openai/v1/chat/completions": openAITools(row.text, row.openAI),
				"/anthropic/v1/messages":      anthropicTools(row.text, row.anthropic),
			} {
				header := bearer
				if strings.HasPrefix(path, "/anthropic") {
					header = xKey
				}
				status, raw := l.post(t, path, body, header)
				called := bytes.Contains(raw, []byte(`"tool_calls"`)) || bytes.Contains(raw, []byte(`"tool_use"`))
				if status != 200 || called != (row.want != "") || called && !bytes.Contains(raw, []byte(row.want)) {
					t.Errorf("%s: got %d %s, want a call of %q", path, status, raw, row.want)
				}
			}
		})
	}
}

func TestAToolsResultIsAnsweredInWords(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	said := `{"role":"user","content":` + quote(wantsAppointment) + `}`
	body := strings.Replace(openAITools(wantsAppointment, ""), said, said+
		`,{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"check_availability","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_1","content":"15:00 is free"}`, 1)
	if status, raw := l.post(t, "/openai/v1/chat/completions", body, bearer); status != 200 || !bytes.Contains(raw, []byte(`"finish_reason":"stop"`)) {
		t.Errorf("OpenAI's form: %d %s", status, raw)
	}
	body = strings.Replace(anthropicTools(wantsAppointment, ""), said, said+
		`,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"check_availability","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"15:00 is free"}]}`, 1)
	if status, raw := l.post(t, "/anthropic/v1/messages", body, xKey); status != 200 || !bytes.Contains(raw, []byte(`"stop_reason":"end_turn"`)) {
		t.Errorf("Anthropic's form: %d %s", status, raw)
	}
}

func TestARefusalMayHaveAToolCallBesideIt(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for path, want := range map[string]string{"/openai/v1/chat/completions": `"refusal":"I`, "/anthropic/v1/messages": `"stop_reason":"refusal"`} {
		if status, raw := l.post(t, "/sim/llm/next", `{"fault":"refusal"}`, nil); status != 200 {
			t.Fatalf("program: %d %s", status, raw)
		}
		body, header := openAITools(wantsAppointment, ""), bearer
		if strings.HasPrefix(path, "/anthropic") {
			body, header = anthropicTools(wantsAppointment, ""), xKey
		}
		status, raw := l.post(t, path, body, header)
		if status != 200 || !bytes.Contains(raw, []byte(want)) || !bytes.Contains(raw, []byte("check_availability")) {
			t.Errorf("%s: got %d %s", path, status, raw)
		}
	}
}

func TestFaultyToolsAreRefused(t *testing.T) {
	t.Parallel()
	openAI, anthropic := openAITools("hi", ""), anthropicTools("hi", "")
	rows := []struct{ name, path, body string }{
		{"reasoning beside tools", "openai", strings.Replace(openAI, `"reasoning_effort":"none",`, "", 1)},
		{"a name with a space", "openai", strings.Replace(openAI, "send_invoice", "send invoice", 1)},
		{"a name twice", "openai", strings.Replace(openAI, "send_invoice", "check_availability", 1)},
		{"an open strict schema", "openai", strings.Replace(openAI, `"additionalProperties":false,`, "", 1)},
		{"a tool of another type", "openai", strings.Replace(openAI, `"type":"function"`, `"type":"custom"`, 1)},
		{"a choice of nothing", "openai", openAITools("hi", `,"tool_choice":{"type":"function","function":{"name":"x"}}`)},
		{"a word that is no choice", "openai", openAITools("hi", `,"tool_choice":"maybe"`)},
		{"a result nobody asked for", "openai", strings.Replace(openAI, `}],`, `},{"role":"tool","tool_call_id":"call_1","content":"x"}],`, 1)},
		{"a call nobody answered", "openai", strings.Replace(openAI, `}],`, `},{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"x","arguments":"{}"}}]}],`, 1)},
		{"a name with a space", "anthropic", strings.Replace(anthropic, "send_invoice", "send invoice", 1)},
		{"no schema", "anthropic", strings.Replace(anthropic, `,"input_schema":{"type":"object"}`, "", 1)},
		{"a bound in a strict schema", "anthropic", strings.Replace(anthropic, `"date":{"type":"string"}`, `"date":{"type":"string","maxLength":10}`, 1)},
		{"a choice of nothing", "anthropic", anthropicTools("hi", `,"tool_choice":{"type":"tool","name":"x"}`)},
		{"a word that is no choice", "anthropic", anthropicTools("hi", `,"tool_choice":{"type":"maybe"}`)},
		{"a result nobody asked for", "anthropic", strings.Replace(anthropic, `}],`, `},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}],`, 1)},
		{"a call nobody answered", "anthropic", strings.Replace(anthropic, `}],`, `},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"x","input":{}}]}],`, 1)},
		{"an input that is no object", "anthropic", strings.Replace(anthropic, `}],`, `},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"x","input":4}]}],`, 1)},
	}
	l := newLab(t)
	for _, row := range rows {
		t.Run(row.path+": "+row.name, func(t *testing.T) {
			t.Parallel()
			path, header := "/openai/v1/chat/completions", bearer
			if row.path == "anthropic" {
				path, header = "/anthropic/v1/messages", xKey
			}
			if status, raw := l.post(t, path, row.body, header); status != 400 {
				t.Errorf("got %d %s, want 400", status, raw)
			}
		})
	}
}
