package model_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAModelAnswersBadlyInEveryProgrammedWay(t *testing.T) {
	t.Parallel()
	rows := map[string]func(text string) bool{
		"empty":              func(s string) bool { return s == "" },
		"trailing_text":      func(s string) bool { return strings.HasPrefix(s, "{") && strings.HasSuffix(s, "helps!") },
		"wrong_schema":       func(s string) bool { return json.Valid([]byte(s)) && !strings.Contains(s, "intent") },
		"numbers_as_strings": func(s string) bool { return json.Valid([]byte(s)) && strings.Contains(s, `"confidence":"0.`) },
		"confidence_7":       func(s string) bool { return json.Valid([]byte(s)) && strings.Contains(s, `"confidence":7`) },
		"nan":                func(s string) bool { return !json.Valid([]byte(s)) && strings.Contains(s, `"confidence":NaN`) },
		"huge":               func(s string) bool { return json.Valid([]byte(s)) && len(s) > 1<<20 },
		"invalid_utf8":       func(s string) bool { return strings.Contains(s, `":"`+"\ufffd") }, // as encoding/json reads it
	}
	for fault, right := range rows {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			unbounded := strings.ReplaceAll(intentSchema, `,"minimum":0,"maximum":1`, "")
			for path, body := range map[string]string{
				"/openai/v1/chat/completions": openAIBody(spa(""), tagged("hi"), intentSchema), "/anthropic/v1/messages": anthropicBody(spa(""), tagged("hi"), unbounded),
			} {
				if status, raw := l.post(t, "/sim/llm/next", `{"fault":"`+fault+`"}`, nil); status != 200 {
					t.Fatalf("program: %d %s", status, raw)
				}
				header := bearer
				if strings.HasPrefix(path, "/anthropic") {
					header = xKey
				}
				status, raw := l.post(t, path, body, header)
				var answer struct {
					Choices []struct{ Message struct{ Content string } }
					Content []struct{ Text string }
				}
				decode(t, raw, &answer)
				var written strings.Builder
				for _, c := range answer.Choices {
					written.WriteString(c.Message.Content)
				}
				for _, c := range answer.Content {
					written.WriteString(c.Text)
				}
				if status != 200 || !right(written.String()) || utf8.Valid(raw) == (fault == "invalid_utf8") {
					t.Errorf("%s: got %d %.200s", path, status, raw)
				}
			}
		})
	}
}

func TestAProxyMayAnswerInHTML(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	if status, raw := l.post(t, "/sim/llm/next", `{"fault":"html","times":2}`, nil); status != 200 {
		t.Fatalf("program: %d %s", status, raw)
	}
	for _, exchange := range []struct{ path, body string }{
		{"/openai/v1/chat/completions", openAIBody("s", "t", plainSchema)}, {"/anthropic/v1/messages", anthropicBody("s", "t", plainSchema)},
	} {
		header := bearer.Clone()
		maps.Copy(header, xKey)
		status, got, raw := l.exchange(t, exchange.path, exchange.body, header)
		if status != 200 || !strings.HasPrefix(got.Get("Content-Type"), "text/html") || !bytes.HasPrefix(raw, []byte("<!doctype")) {
			t.Errorf("%s: got %d %s", exchange.path, status, raw)
		}
	}
}

func TestARefusalMayHaveAToolCallBesideItThatNobodyOffered(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	if status, raw := l.post(t, "/sim/llm/next", `{"fault":"refusal_with_tool","times":2}`, nil); status != 200 {
		t.Fatalf("program: %d %s", status, raw)
	}
	status, raw := l.post(t, "/openai/v1/chat/completions", openAIBody("s", "t", plainSchema), bearer)
	if status != 200 || !bytes.Contains(raw, []byte(`"refusal":"I'm sorry`)) || !bytes.Contains(raw, []byte(`"name":"create_booking"`)) {
		t.Errorf("openai: %d %s", status, raw)
	}
	status, raw = l.post(t, "/anthropic/v1/messages", anthropicBody("s", "t", plainSchema), xKey)
	if status != 200 || !bytes.Contains(raw, []byte(`"stop_reason":"refusal"`)) || !bytes.Contains(raw, []byte(`"type":"tool_use"`)) {
		t.Errorf("anthropic: %d %s", status, raw)
	}
}
