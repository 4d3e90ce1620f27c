// Package openai asks OpenAI's chat completions, and servers that speak the
// same protocol, for answers. It implements llm.Provider: one HTTP exchange
// per call, no retries, every response billed as its usage says. It imports
// only llm.
package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

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
	url    string
	header http.Header
	client *http.Client

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
	base := cmp.Or(cfg.BaseURL, DefaultBaseURL)
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("openai: the base URL must be absolute, such as " + DefaultBaseURL)
	}
	p := &Provider{
		url:      strings.TrimRight(base, "/") + "/chat/completions",
		header:   http.Header{},
		client:   llm.Client(cfg.Client),
		Compiler: llm.Compiler{Dialect: &dialect},
	}
	if cfg.Key != "" {
		p.header.Set("Authorization", "Bearer "+cfg.Key)
	}
	return p, nil
}

type request struct {
	Model               string          `json:"model"`
	Messages            []llm.Message   `json:"messages"`
	ReasoningEffort     string          `json:"reasoning_effort,omitempty"`
	MaxCompletionTokens int             `json:"max_completion_tokens"`
	Temperature         *float64        `json:"temperature,omitempty"`
	ResponseFormat      *responseFormat `json:"response_format,omitempty"`
}

type responseFormat struct {
	Type       string     `json:"type"`
	JSONSchema jsonSchema `json:"json_schema"`
}

type jsonSchema struct {
	Name   string          `json:"name"`
	Strict bool            `json:"strict"`
	Schema json.RawMessage `json:"schema"`
}

// Complete makes one chat completion.
func (p *Provider) Complete(ctx context.Context, call llm.Call) (llm.Answer, error) {
	body, err := p.request(call)
	if err != nil {
		return llm.Answer{}, &llm.Error{Class: llm.InvalidRequest, Provider: Name, Cause: err}
	}
	resp, failed := llm.Post(ctx, p.client, Name, p.url, p.header, body)
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
	return answer, nil
}

func (p *Provider) request(call llm.Call) ([]byte, error) {
	req := request{
		Model:               call.Model,
		ReasoningEffort:     call.Effort,
		MaxCompletionTokens: call.MaxTokens,
		Messages:            make([]llm.Message, 0, len(call.Messages)+1),
	}
	if call.System != "" {
		req.Messages = append(req.Messages, llm.Message{Role: "system", Content: call.System})
	}
	req.Messages = append(req.Messages, call.Messages...)
	if call.Deterministic {
		req.Temperature = new(float64)
	}
	if call.Schema != nil {
		raw, err := p.Compile(call.Schema)
		if err != nil {
			return nil, err
		}
		req.ResponseFormat = &responseFormat{
			Type:       "json_schema",
			JSONSchema: jsonSchema{Name: call.Schema.Name(), Strict: true, Schema: raw},
		}
	}
	body, err := json.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	return body, nil
}

type response struct {
	ID      string   `json:"id"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage"`
}

type choice struct {
	Message struct {
		Content *string `json:"content"`
		Refusal *string `json:"refusal"`
	} `json:"message"`
	FinishReason string `json:"finish_reason"`
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
// may have been billed without telling us how much.
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
	c := resp.Choices[0]
	text := ""
	if c.Message.Content != nil {
		text = *c.Message.Content
	}
	switch {
	case c.Message.Refusal != nil && *c.Message.Refusal != "":
		return llm.Answer{}, fail(llm.Refused, "refusal", *c.Message.Refusal)
	case c.FinishReason == "content_filter":
		return llm.Answer{}, fail(llm.Refused, "content_filter", text)
	case c.FinishReason == "length":
		return llm.Answer{}, fail(llm.Truncated, "length", text)
	}
	return llm.Answer{Text: text, Usage: counted, Metered: metered, ProviderID: resp.ID}, nil
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
