// Package openai asks OpenAI's chat completions, and servers that speak the
// same protocol, for answers. It implements llm.Provider: one HTTP exchange
// per call, no retries, every response billed as its usage says. It imports
// only llm.
package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	"github.com/ratiba/ratiba/internal/llm"
)

// Name is the provider's name in catalogue and roles.
const Name = "openai"

// DefaultBaseURL is OpenAI's own.
const DefaultBaseURL = "https://api.openai.com/v1"

// Config makes a Provider.
type Config struct {
	BaseURL string       // DefaultBaseURL when empty; ".../v1" of a compatible server
	Key     string       // sent as a bearer token; empty sends none, for local servers
	Client  *http.Client // a new client when nil; its redirects are never followed
}

// Provider is safe for concurrent use.
type Provider struct {
	completions, embeddings *llm.Endpoint

	llm.Compiler
}

// dialect is the strict subset: every member required, an optional one a union
// with null, lengths and combinators unknown.
var dialect = llm.Dialect{ //nolint:gochecknoglobals // A constant table.
	Name: Name,
	Keep: []string{
		"pattern", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "maxItems",
	},
	Formats:     []string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"},
	MaxMinItems: -1,
	RequireAll:  true,
	Recursion:   true,
}

// New makes a Provider. The base URL must be absolute.
func New(cfg Config) (*Provider, error) {
	header := http.Header{}
	if cfg.Key != "" {
		header.Set("Authorization", "Bearer "+cfg.Key)
	}
	base := cmp.Or(cfg.BaseURL, DefaultBaseURL)
	completions, err := llm.NewEndpoint(Name, base, "/chat/completions", header, cfg.Client)
	if err != nil {
		return nil, err
	}
	embeddings, err := llm.NewEndpoint(Name, base, "/embeddings", header, cfg.Client)
	if err != nil {
		return nil, err
	}
	return &Provider{completions: completions, embeddings: embeddings, Compiler: llm.Compiler{Dialect: &dialect}}, nil
}

// Complete makes one chat completion, or embeds the call's texts.
func (p *Provider) Complete(ctx context.Context, call llm.Call) (llm.Answer, error) {
	if len(call.Texts) > 0 {
		return p.embed(ctx, &call)
	}
	body, err := p.request(&call)
	if err != nil {
		return llm.Answer{}, &llm.Error{Class: llm.InvalidRequest, Provider: Name, Cause: err}
	}
	resp, failed := p.completions.Post(ctx, body)
	if failed != nil {
		return llm.Answer{}, failed
	}
	if resp.Status != http.StatusOK {
		return llm.Answer{}, refusal(resp)
	}
	answer, failed := parse(resp.Body)
	if failed != nil {
		return llm.Answer{}, failed
	}
	if call.Schema != nil {
		answer.Text = call.Schema.Restore(answer.Text)
	}
	for i := range answer.ToolCalls {
		restore(&answer.ToolCalls[i], call.Tools)
	}
	return answer, nil
}

// restore leaves the nulls of optional arguments out again.
func restore(c *llm.ToolCall, tools []llm.Tool) {
	for i := range tools {
		if tools[i].Name == c.Name {
			c.Arguments = json.RawMessage(tools[i].Input.Restore(string(c.Arguments)))
		}
	}
}

// request writes the body of a call.
func (p *Provider) request(call *llm.Call) ([]byte, error) {
	b := make([]byte, 0, llm.WireSize(call))
	b = llm.AppendString(append(b, `{"model":`...), call.Model)
	b = append(b, `,"messages":[`...)
	if call.System != "" {
		b = llm.AppendString(append(b, `{"role":"system","content":`...), call.System)
		b = append(b, '}')
	}
	b = llm.AppendMessages(b, call.Messages, call.System == "")
	b = append(b, ']')
	if call.Effort != "" {
		b = llm.AppendString(append(b, `,"reasoning_effort":`...), call.Effort)
	}
	b = strconv.AppendInt(append(b, `,"max_completion_tokens":`...), int64(call.MaxTokens), 10)
	if call.Deterministic {
		b = append(b, `,"temperature":0`...)
	}
	if call.Schema != nil {
		raw, err := p.Compile(call.Schema)
		if err != nil {
			return nil, err
		}
		b = llm.AppendString(append(b, `,"response_format":{"type":"json_schema","json_schema":{"name":`...), call.Schema.Name())
		b = append(append(append(b, `,"strict":true,"schema":`...), raw...), `}}`...)
	}
	b, err := p.tools(b, call)
	return append(b, '}'), err
}

// tools writes the strict tools. One call at a time: several at once cannot be
// held to their schemas.
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
		b = llm.AppendString(append(b, `{"type":"function","function":{"name":`...), call.Tools[i].Name)
		b = llm.AppendString(append(b, `,"description":`...), call.Tools[i].Description)
		b = append(append(append(b, `,"strict":true,"parameters":`...), raw...), `}}`...)
	}
	switch {
	case len(call.Tools) == 0:
		return b, nil
	case call.MustCall:
		return append(b, `],"tool_choice":"required","parallel_tool_calls":false`...), nil
	default:
		return append(b, `],"tool_choice":"auto","parallel_tool_calls":false`...), nil
	}
}

type response struct {
	ID      string   `json:"id"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage"`
}

type choice struct {
	Message struct {
		Content   string     `json:"content"`
		Refusal   string     `json:"refusal"`
		ToolCalls []toolCall `json:"tool_calls"`
	} `json:"message"`
	FinishReason string `json:"finish_reason"`
}

type toolCall struct {
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type usage struct {
	PromptTokens     int `json:"prompt_tokens"` // includes what a cache served
	CompletionTokens int `json:"completion_tokens"`
	Details          struct {
		CachedTokens     int `json:"cached_tokens"`
		CacheWriteTokens int `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
}

// buckets makes the counts disjoint. A server that counts more cached tokens
// than prompt tokens does not make the rest negative.
func (u *usage) buckets() (llm.Usage, bool) {
	if u == nil {
		return llm.Usage{}, false
	}
	out := llm.Usage{Cached: max(0, u.Details.CachedTokens), CacheWrite: max(0, u.Details.CacheWriteTokens)}
	out.Input = max(0, u.PromptTokens-out.Cached-out.CacheWrite)
	out.Output = max(0, u.CompletionTokens)
	return out, true
}

// parse reads a completion. A body that is not one, though its status says so,
// may have been billed without telling us how much. Tool calls beside a refusal
// are no answer.
func parse(body []byte) (llm.Answer, *llm.Error) {
	var resp response
	if err := json.Unmarshal(body, &resp); err != nil {
		return llm.Answer{}, &llm.Error{
			Class: llm.Malformed, Provider: Name, Status: http.StatusOK, Code: "not_a_completion", MayBeBilled: true,
		}
	}
	counted, metered := resp.Usage.buckets()
	fail := func(class llm.Class, code, text string) *llm.Error {
		return &llm.Error{
			Class: class, Provider: Name, Status: http.StatusOK, Code: code,
			Usage: counted, Metered: metered, MayBeBilled: true, Text: text,
		}
	}
	if len(resp.Choices) == 0 {
		return llm.Answer{}, fail(llm.Malformed, "no_choices", "")
	}
	c := &resp.Choices[0]
	text := c.Message.Content
	switch {
	case c.Message.Refusal != "":
		return llm.Answer{}, fail(llm.Refused, "refusal", c.Message.Refusal)
	case c.FinishReason == "content_filter":
		return llm.Answer{}, fail(llm.Refused, "content_filter", text)
	case c.FinishReason == "length":
		return llm.Answer{}, fail(llm.Truncated, "length", text)
	}
	answer := llm.Answer{Text: text, Usage: counted, Metered: metered, ProviderID: resp.ID}
	for _, t := range c.Message.ToolCalls {
		answer.ToolCalls = append(answer.ToolCalls, llm.ToolCall{Name: t.Function.Name, Arguments: json.RawMessage(t.Function.Arguments)})
	}
	return answer, nil
}

// Codes of a 429 that waiting does not cure, and of those it does. The type of
// an error may say insufficient_quota in either case, so the code goes first.
var (
	spent = []string{ //nolint:gochecknoglobals // A constant table.
		"insufficient_quota", "credit_balance_exhausted", "organization_spend_limit_exceeded",
		"project_spend_limit_exceeded", "organization_usage_limit_exceeded", "billing_hard_limit_reached",
	}
	hurried = []string{"rate_limit_exceeded", "slow_down"} //nolint:gochecknoglobals // A constant table.
)

func refusal(resp llm.Response) *llm.Error {
	var body struct {
		Error struct {
			Type string `json:"type"`
			Code any    `json:"code"` // some compatible servers send a number
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
	code, _ := body.Error.Code.(string)
	e.Code = llm.ErrorCode(cmp.Or(code, body.Error.Type))
	switch {
	case slices.Contains(spent, code):
		e.Class = llm.Quota
	case resp.Status == http.StatusTooManyRequests && body.Error.Type == "insufficient_quota" && !slices.Contains(hurried, code):
		e.Class = llm.Quota
	}
	return e
}
