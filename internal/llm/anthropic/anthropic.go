// Package anthropic asks Anthropic's messages endpoint for answers. It
// implements llm.Provider: one HTTP exchange per call, no retries, every
// response billed as its usage says. It imports only llm.
package anthropic

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/ratiba/ratiba/internal/llm"
)

// Name is the provider's name in catalogue and roles.
const Name = "anthropic"

// DefaultBaseURL is Anthropic's own.
const DefaultBaseURL = "https://api.anthropic.com"

// apiVersion is the protocol this package speaks.
const apiVersion = "2023-06-01"

// Config makes a Provider.
type Config struct {
	BaseURL string       // DefaultBaseURL when empty; without "/v1"
	Key     string       // sent as x-api-key; empty sends none
	Client  *http.Client // a new client when nil; its redirects are never followed
}

// Provider is safe for concurrent use.
type Provider struct {
	messages *llm.Endpoint

	llm.Compiler
}

// dialect is the subset of output_config: bounds of numbers and lengths are
// answered with 400, and a confidence between 0 and 1 is the usual victim.
var dialect = llm.Dialect{ //nolint:gochecknoglobals // A constant table.
	Name:        Name,
	Keep:        []string{"allOf", "pattern"},
	Formats:     []string{"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"},
	MaxMinItems: 1,
}

// New makes a Provider. The base URL must be absolute.
func New(cfg Config) (*Provider, error) {
	header := http.Header{}
	header.Set("Anthropic-Version", apiVersion)
	if cfg.Key != "" {
		header.Set("X-Api-Key", cfg.Key)
	}
	messages, err := llm.NewEndpoint(Name, cmp.Or(cfg.BaseURL, DefaultBaseURL), "/v1/messages", header, cfg.Client)
	if err != nil {
		return nil, err
	}
	return &Provider{messages: messages, Compiler: llm.Compiler{Dialect: &dialect}}, nil
}

// Complete makes one message. The vendor embeds no texts.
func (p *Provider) Complete(ctx context.Context, call llm.Call) (llm.Answer, error) {
	if len(call.Texts) > 0 {
		return llm.Answer{}, &llm.Error{Class: llm.InvalidRequest, Provider: Name, Code: "no_embeddings"}
	}
	body, err := p.request(&call)
	if err != nil {
		return llm.Answer{}, &llm.Error{Class: llm.InvalidRequest, Provider: Name, Cause: err}
	}
	resp, failed := p.messages.Post(ctx, body)
	if failed != nil {
		return llm.Answer{}, failed
	}
	if resp.Status != http.StatusOK {
		return llm.Answer{}, refusal(resp)
	}
	answer, failed := parse(resp.Body, len(call.Tools) > 0)
	if failed != nil {
		return llm.Answer{}, failed
	}
	return answer, nil
}

// request writes the body of a call.
func (p *Provider) request(call *llm.Call) ([]byte, error) {
	b := make([]byte, 0, llm.WireSize(call))
	b = llm.AppendString(append(b, `{"model":`...), call.Model)
	b = strconv.AppendInt(append(b, `,"max_tokens":`...), int64(call.MaxTokens), 10)
	if call.System != "" {
		b = llm.AppendString(append(b, `,"system":`...), call.System)
	}
	b = llm.AppendMessages(append(b, `,"messages":[`...), call.Messages, true)
	b = append(b, ']')
	if call.Deterministic {
		b = append(b, `,"temperature":0`...)
	}
	b, err := p.output(b, call)
	if err == nil {
		b, err = p.tools(b, call)
	}
	return append(b, '}'), err
}

// output writes the form and the effort of the answer.
func (p *Provider) output(b []byte, call *llm.Call) ([]byte, error) {
	if call.Effort == "" && call.Schema == nil {
		return b, nil
	}
	b = append(b, `,"output_config":{`...)
	if call.Schema != nil {
		raw, err := p.Compile(call.Schema)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, `"format":{"type":"json_schema","schema":`...), raw...), '}')
	}
	if call.Effort != "" {
		if call.Schema != nil {
			b = append(b, ',')
		}
		b = llm.AppendString(append(b, `"effort":`...), call.Effort)
	}
	return append(b, '}'), nil
}

// tools writes the strict tools, one call at a time.
func (p *Provider) tools(b []byte, call *llm.Call) ([]byte, error) {
	for i := range call.Tools {
		raw, err := p.Compile(call.Tools[i].Input)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			b = append(b, `,"tools":[`...)
		} else {
			b = append(b, ',')
		}
		b = llm.AppendString(append(b, `{"name":`...), call.Tools[i].Name)
		b = llm.AppendString(append(b, `,"description":`...), call.Tools[i].Description)
		b = append(append(append(b, `,"strict":true,"input_schema":`...), raw...), '}')
	}
	switch {
	case len(call.Tools) == 0:
		return b, nil
	case call.MustCall:
		return append(b, `],"tool_choice":{"type":"any","disable_parallel_tool_use":true}`...), nil
	default:
		return append(b, `],"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`...), nil
	}
}

type response struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Content []struct {
		Type  string          `json:"type"`
		Text  string          `json:"text"`
		Name  string          `json:"name"`  // of a tool_use
		Input json.RawMessage `json:"input"` // of a tool_use
	} `json:"content"`
	StopReason string `json:"stop_reason"`
	Usage      *usage `json:"usage"`
}

// text is what the model wrote, its tool calls aside.
func (r *response) text() string {
	var out []string // one block, as good as always
	for i := range r.Content {
		if r.Content[i].Type == "text" {
			out = append(out, r.Content[i].Text)
		}
	}
	return strings.Join(out, "")
}

func (r *response) calls() []llm.ToolCall {
	var out []llm.ToolCall
	for i := range r.Content {
		if c := &r.Content[i]; c.Type == "tool_use" {
			out = append(out, llm.ToolCall{Name: c.Name, Arguments: c.Input})
		}
	}
	return out
}

type usage struct {
	InputTokens   int `json:"input_tokens"` // excludes both kinds of cached tokens
	CacheCreation int `json:"cache_creation_input_tokens"`
	CacheRead     int `json:"cache_read_input_tokens"`
	OutputTokens  int `json:"output_tokens"` // includes thinking
}

func (u *usage) buckets() (llm.Usage, bool) {
	if u == nil {
		return llm.Usage{}, false
	}
	return llm.Usage{
		Input:      max(0, u.InputTokens),
		Cached:     max(0, u.CacheRead),
		CacheWrite: max(0, u.CacheCreation),
		Output:     max(0, u.OutputTokens),
	}, true
}

// parse reads a message. A body that is not one, though its status says so,
// may have been billed without telling us how much. Content beside a refusal
// is not an answer, whatever it holds.
func parse(body []byte, tools bool) (llm.Answer, *llm.Error) {
	var resp response
	if err := json.Unmarshal(body, &resp); err != nil || resp.Type != "message" {
		return llm.Answer{}, &llm.Error{
			Class: llm.Malformed, Provider: Name, Status: http.StatusOK, Code: "not_a_message", MayBeBilled: true,
		}
	}
	counted, metered := resp.Usage.buckets()
	fail := func(class llm.Class) *llm.Error {
		return &llm.Error{
			Class: class, Provider: Name, Status: http.StatusOK, Code: llm.ErrorCode(resp.StopReason),
			Usage: counted, Metered: metered, MayBeBilled: true, Text: resp.text(),
		}
	}
	if resp.StopReason == "tool_use" && !tools {
		return llm.Answer{}, fail(llm.Malformed) // nobody offered one
	}
	switch resp.StopReason {
	case "end_turn", "stop_sequence", "tool_use":
		return llm.Answer{Text: resp.text(), ToolCalls: resp.calls(), Usage: counted, Metered: metered, ProviderID: resp.ID}, nil
	case "refusal":
		return llm.Answer{}, fail(llm.Refused)
	case "max_tokens", "model_context_window_exceeded":
		return llm.Answer{}, fail(llm.Truncated)
	default:
		// pause_turn answers a question this package does not ask.
		return llm.Answer{}, fail(llm.Malformed)
	}
}

// spendLimit marks a 429 that waiting does not cure.
const spendLimit = "enforced_spend_limit_reached"

func refusal(resp llm.Response) *llm.Error {
	var body struct {
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
	}
	e := &llm.Error{
		Class: llm.StatusClass(resp.Status), Provider: Name, Status: resp.Status,
		RetryAfter: llm.RetryAfter(resp.Header),
	}
	e.MayBeBilled = e.Class == llm.Timeout
	if json.Unmarshal(resp.Body, &body) != nil {
		return e
	}
	e.Code = llm.ErrorCode(body.Error.Type)
	switch {
	case body.Error.Type == "billing_error", bytes.Contains(resp.Body, []byte(spendLimit)):
		e.Class = llm.Quota
	case resp.Status == http.StatusBadRequest && aboutMoney(body.Error.Message):
		e.Class = llm.Quota
	}
	return e
}

// aboutMoney recognises the limits an organisation sets for itself, which come
// as an invalid request and are told from others by their wording alone.
func aboutMoney(message string) bool {
	m := strings.ToLower(message)
	return strings.Contains(m, "usage limit") || strings.Contains(m, "spend limit") || strings.Contains(m, "credit balance")
}
