package oracles_test

import (
	"context"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ratiba/ratiba/internal/llm"
	ourAnthropic "github.com/ratiba/ratiba/internal/llm/anthropic"
	ourOpenAI "github.com/ratiba/ratiba/internal/llm/openai"
	"github.com/ratiba/ratiba/internal/sim/model"
	"github.com/ratiba/ratiba/oracles"
)

// publicSpec names a copy of OpenAI's published API description (openapi.json)
// that requests and answers are held against as well.
const publicSpec = "RATIBA_OPENAI_SPEC"

// seam holds everything that one vendor or the other does not take as it is.
const seam = `{"type":"object","additionalProperties":false,"required":["reasoning","intent","confidence"],"properties":{
"reasoning":{"type":"string","maxLength":400},"intent":{"type":"string","enum":["book","cancel","unknown"]},
"confidence":{"type":"number","minimum":0,"maximum":1},"note":{"type":"string","minLength":1},
"days":{"type":"array","items":{"type":"string","format":"date"},"minItems":2,"uniqueItems":true}}}`

const arguments = `{"type":"object","additionalProperties":false,"required":["date"],"properties":{
"date":{"type":"string","pattern":"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},"service_id":{"type":"string","minLength":1,"maxLength":64}}}`

func compile(t *testing.T, name, raw string) *llm.Schema {
	t.Helper()
	s, err := llm.CompileSchema(name, []byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// calls are what the router may ask of a provider.
func calls(t *testing.T) map[string]llm.Call {
	t.Helper()
	user := func(text string) []llm.Message { return []llm.Message{{Role: llm.User, Content: said(text)}} }
	tools := []llm.Tool{
		{Name: "check_availability", Description: "List free times for an appointment.", Input: compile(t, "check_availability", arguments)},
		{Name: "send_invoice", Description: "Send an invoice.", Input: compile(t, "send_invoice", `{"type":"object","additionalProperties":false,"properties":{}}`)},
	}
	return map[string]llm.Call{
		"text":               {System: intentPrompt, Messages: user("hello"), MaxTokens: 300},
		"without a system":   {Messages: user("hello"), MaxTokens: 300},
		"structure":          {System: intentPrompt, Messages: user("nataka massage kesho"), Schema: compile(t, "intent_classifier", seam), MaxTokens: 300},
		"a tool if it helps": {System: intentPrompt, Messages: user("free times for an appointment on 2 December?"), Tools: tools, MaxTokens: 300},
		"a tool in any case": {System: intentPrompt, Messages: user("hm"), Tools: tools, MustCall: true, MaxTokens: 300},
		"a second try": {
			System: intentPrompt, Schema: compile(t, "intent_classifier", seam), MaxTokens: 300,
			Messages: append(user("hello"), llm.Message{Role: llm.Assistant, Content: "Sure!"}, llm.Message{Role: llm.User, Content: "Write JSON."}),
		},
		"words of every kind": {
			System:   "Quote: \" backslash: \\ tag: <b> & line\nend\ttab\u2028sep \u0007 bell",
			Messages: user("😀 karibu sana “ndiyo” \x00 \x7f \xff ok"), MaxTokens: 300,
		},
	}
}

// vendor is how a client of ours is made and held against its vendor.
type vendor struct {
	provider llm.Provider
	models   map[string]func(*llm.Call) // what the catalogue adds to a call of each model
	header   map[string]string          // what every request carries
	request  *jsonschema.Schema
	response *jsonschema.Schema
	// published are the description's own schemas by name, nil without a copy.
	published map[string]*jsonschema.Schema
	// again reads a request with the vendor's own types and writes it anew.
	again func(raw []byte) ([]byte, error)
}

func vendors(t *testing.T, l *lab) map[string]vendor {
	t.Helper()
	oai, err := ourOpenAI.New(ourOpenAI.Config{BaseURL: l.url + model.OpenAIBase, Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	ant, err := ourAnthropic.New(ourAnthropic.Config{BaseURL: l.url + model.AnthropicBase, Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	deterministic := func(c *llm.Call) { c.Deterministic = true }
	return map[string]vendor{
		"OpenAI": {
			provider:  oai,
			header:    map[string]string{"Content-Type": "application/json", "Authorization": "Bearer k"},
			models:    map[string]func(*llm.Call){"gpt-6-luna": func(c *llm.Call) { c.Effort = "none" }, "gpt-4.1-mini": deterministic},
			request:   schema[openai.ChatCompletionNewParams](t, oracles.Request),
			response:  schema[openai.ChatCompletion](t, oracles.Response),
			again:     rewrite[openai.ChatCompletionNewParams],
			published: published(t),
		},
		"Anthropic": {
			provider: ant,
			header:   map[string]string{"Content-Type": "application/json", "X-Api-Key": "k", "Anthropic-Version": "2023-06-01"},
			models: map[string]func(*llm.Call){
				"claude-haiku-4-5": deterministic, "claude-haiku-5-5": func(*llm.Call) {}, "claude-opus-5-5": func(c *llm.Call) { c.Effort = "medium" },
			},
			request:  schema[anthropic.MessageNewParams](t, oracles.Request),
			response: schema[anthropic.Message](t, oracles.Response),
			again:    rewrite[anthropic.MessageNewParams],
		},
	}
}

func rewrite[T any](raw []byte) ([]byte, error) {
	var params T
	if err := json.Unmarshal(raw, &params); err != nil {
		return nil, err
	}
	return json.Marshal(params)
}

func TestOurClientsSpeakAsTheVendorsLibrariesDo(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for maker, v := range vendors(t, l) {
		for id, adapt := range v.models {
			for name, call := range calls(t) {
				t.Run(maker+" "+id+" "+name, func(t *testing.T) {
					before := len(l.seen())
					call.Model = id
					adapt(&call)
					answer, err := v.provider.Complete(context.WithoutCancel(t.Context()), call)
					if err != nil {
						t.Fatal(err)
					}
					if len(call.Tools) > 0 && len(answer.ToolCalls) != 1 || len(call.Tools) == 0 && answer.Text == "" {
						t.Errorf("answered %+v", answer)
					}
					e := l.seen()[before]
					v.described(t, e)
					v.sameAsTheirs(t, e)
					for name, value := range v.header {
						if got := e.header.Get(name); got != value {
							t.Errorf("%s: %q, want %q", name, got, value)
						}
					}
				})
			}
		}
	}
}

// described holds an exchange against the types of the vendor's library and,
// where there is one, against the published description.
func (v vendor) described(t *testing.T, e exchange) {
	t.Helper()
	if err := oracles.Validate(v.request, spread(t, e.request)); err != nil {
		t.Errorf("sent %s\n%v", e.request, err)
	}
	if err := oracles.Validate(v.response, e.response); err != nil {
		t.Errorf("the simulator answered %s\n%v", e.response, err)
	}
	if v.published == nil {
		return
	}
	if err := oracles.Validate(v.published["CreateChatCompletionRequest"], e.request); err != nil {
		t.Errorf("sent %s\nthe description: %v", e.request, err)
	}
	if err := oracles.Validate(v.published["CreateChatCompletionResponse"], e.response); err != nil {
		t.Errorf("the simulator answered %s\nthe description: %v", e.response, err)
	}
}

// sameAsTheirs reads the request with the library's types and compares what the
// library would send.
func (v vendor) sameAsTheirs(t *testing.T, e exchange) {
	t.Helper()
	again, err := v.again(e.request)
	if err != nil {
		t.Fatalf("the library cannot read %s: %v", e.request, err)
	}
	if ours, theirs := plain(document(t, e.request)), plain(document(t, again)); !reflect.DeepEqual(ours, theirs) {
		t.Errorf("sent\n%s\nthe library would send\n%s", e.request, again)
	}
}

func document(t *testing.T, raw []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("decode %s: %v", raw, err)
	}
	return v
}

// spread writes a text that stands for a list of one text block as that list:
// Anthropic takes both, its library knows the list alone.
func spread(t *testing.T, raw []byte) []byte {
	t.Helper()
	request, _ := document(t, raw).(map[string]any)
	if _, theirs := request["max_tokens"]; !theirs {
		return raw
	}
	list := func(in map[string]any, key string) {
		if text, ok := in[key].(string); ok {
			in[key] = []any{map[string]any{"type": "text", "text": text}}
		}
	}
	list(request, "system")
	messages, _ := request["messages"].([]any)
	for _, m := range messages {
		if m, ok := m.(map[string]any); ok {
			list(m, "content")
		}
	}
	out, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// plain writes lists of one text block as the text.
func plain(v any) any {
	switch v := v.(type) {
	case []any:
		if len(v) == 1 {
			if block, ok := v[0].(map[string]any); ok && block["type"] == "text" && len(block) == 2 {
				return block["text"]
			}
		}
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plain(v[k])
		}
	}
	return v
}

func TestTheSchemasRefuseWhatTheVendorsWould(t *testing.T) {
	t.Parallel()
	of := vendors(t, newLab(t))
	good := map[string]string{
		"OpenAI":    `{"model":"gpt-6-luna","messages":[{"role":"user","content":"hi"}],"max_completion_tokens":5}`,
		"Anthropic": `{"model":"claude-haiku-5-5","max_tokens":5,"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}`,
	}
	for maker, raw := range good {
		if err := oracles.Validate(of[maker].request, []byte(raw)); err != nil {
			t.Errorf("%s: %v", maker, err)
		}
		for name, change := range map[string][2]string{
			"no model":           {`"model":`, `"modell":`},
			"an unknown member":  {`"messages":`, `"colour":"blue","messages":`},
			"an unknown role":    {`"role":"user"`, `"role":"wizard"`},
			"a limit in words":   {`tokens":5`, `tokens":"five"`},
			"no content":         {`"content":`, `"contents":`},
			"messages no list":   {`"messages":[`, `"messages":{"a":[`},
			"text that is a sum": {`"hi"`, `4`},
		} {
			bad := strings.Replace(raw, change[0], change[1], 1)
			if name == "messages no list" {
				bad = strings.Replace(bad, `]}`, `]}}`, 1)
			}
			if bad == raw || oracles.Validate(of[maker].request, []byte(bad)) == nil {
				t.Errorf("%s took %s: %s", maker, name, bad)
			}
		}
	}
	effort := strings.Replace(good["OpenAI"], `"model"`, `"reasoning_effort":"heroic","model"`, 1)
	if oracles.Validate(of["OpenAI"].request, []byte(effort)) == nil {
		t.Error("an effort that does not exist was taken")
	}
}

func TestThePublishedDescriptionRefusesWhatItShould(t *testing.T) {
	t.Parallel()
	request := published(t)["CreateChatCompletionRequest"]
	if request == nil {
		t.Logf("%s is not set: the library's types, which are generated from the description, stand for it", publicSpec)
		return
	}
	for _, bad := range []string{
		`{"messages":[{"role":"user","content":"hi"}]}`, `{"model":"m","messages":[]}`, `{"model":"m","messages":[{"role":"wizard","content":"hi"}]}`,
	} {
		if oracles.Validate(request, []byte(bad)) == nil {
			t.Errorf("the description takes %s", bad)
		}
	}
}

// published compiles the schemas of the description of chat completions, nil
// when there is no copy of it. OpenAPI's own word for null is written as JSON
// Schema's.
func published(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	file := os.Getenv(publicSpec)
	if file == "" {
		return nil
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("spec:///openapi.json", nullable(doc)); err != nil {
		t.Fatal(err)
	}
	out := make(map[string]*jsonschema.Schema)
	for _, name := range []string{"CreateChatCompletionRequest", "CreateChatCompletionResponse"} {
		if out[name], err = c.Compile("spec:///openapi.json#/components/schemas/" + name); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func nullable(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = nullable(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = nullable(v[k])
		}
		if _, ok := v["nullable"].(bool); ok {
			delete(v, "nullable")
			return map[string]any{"anyOf": []any{v, map[string]any{"type": "null"}}}
		}
	}
	return v
}
