// Package anthropic asks Anthropic's messages endpoint for answers. It
// implements llm.Provider: one HTTP exchange per call, no retries, every
// response billed as its usage says. It imports only llm.
package anthropic

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
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
	url    string
	header http.Header
	client *http.Client

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
	base := cmp.Or(cfg.BaseURL, DefaultBaseURL)
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("anthropic: the base URL must be absolute, such as " + DefaultBaseURL)
	}
	p := &Provider{
		url:      strings.TrimRight(base, "/") + "/v1/messages",
		header:   http.Header{},
		client:   llm.Client(cfg.Client),
		Compiler: llm.Compiler{Dialect: &dialect},
	}
	p.header.Set("Anthropic-Version", apiVersion)
	if cfg.Key != "" {
		p.header.Set("X-Api-Key", cfg.Key)
	}
	return p, nil
}

type request struct {
	Model        string        `json:"model"`
	MaxTokens    int           `json:"max_tokens"`
	System       string        `json:"system,omitempty"`
	Messages     []llm.Message `json:"messages"`
	Temperature  *float64      `json:"temperature,omitempty"`
	OutputConfig *outputConfig `json:"output_config,omitempty"`
}

type outputConfig struct {
	Format *format `json:"format,omitempty"`
	Effort string  `json:"effort,omitempty"`
}

type format struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

// Complete makes one message.
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
	return answer, nil
}

func (p *Provider) request(call llm.Call) ([]byte, error) {
	req := request{Model: call.Model, MaxTokens: call.MaxTokens, System: call.System, Messages: call.Messages}
	if call.Deterministic {
		req.Temperature = new(float64)
	}
	if call.Effort != "" || call.Schema != nil {
		req.OutputConfig = &outputConfig{Effort: call.Effort}
	}
	if call.Schema != nil {
		raw, err := p.Compile(call.Schema)
		if err != nil {
			return nil, err
		}
		req.OutputConfig.Format = &format{Type: "json_schema", Schema: raw}
	}
	body, err := json.Marshal(req)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	return body, nil
}

type response struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	StopReason string `json:"stop_reason"`
	Usage      *usage `json:"usage"`
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
func parse(body []byte) (llm.Answer, *llm.Error) {
	var resp response
	if err := json.Unmarshal(body, &resp); err != nil || resp.Type != "message" {
		return llm.Answer{}, &llm.Error{
			Class: llm.Malformed, Provider: Name, Status: http.StatusOK, Code: "not_a_message", MayBeBilled: true,
		}
	}
	counted, metered := resp.Usage.buckets()
	var text strings.Builder
	for _, block := range resp.Content {
		if block.Type == "text" {
			text.WriteString(block.Text)
		}
	}
	fail := func(class llm.Class) *llm.Error {
		return &llm.Error{
			Class: class, Provider: Name, Status: http.StatusOK, Code: llm.ErrorCode(resp.StopReason),
			Usage: counted, Metered: metered, MayBeBilled: true, Text: text.String(),
		}
	}
	switch resp.StopReason {
	case "end_turn", "stop_sequence":
		return llm.Answer{Text: text.String(), Usage: counted, Metered: metered, ProviderID: resp.ID}, nil
	case "refusal":
		return llm.Answer{}, fail(llm.Refused)
	case "max_tokens", "model_context_window_exceeded":
		return llm.Answer{}, fail(llm.Truncated)
	default:
		// tool_use and pause_turn answer questions this package does not ask.
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
