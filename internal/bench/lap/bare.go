package lap

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Names of the clients that everything is compared with.
const (
	// Post sends a body that is ready and reads the answer's bytes.
	Post = "post"
	// Bare writes the body and reads the answer with encoding/json.
	Bare = "bare"
)

// Model is what every client asks.
const Model = "gpt-6-luna"

// ChatPath is where the upstream answers OpenAI's chat completions, below
// OpenAIBase; AnthropicBase is what Anthropic's clients are given.
const (
	OpenAIBase    = "/openai/v1"
	ChatPath      = OpenAIBase + "/chat/completions"
	AnthropicBase = "/anthropic"
)

// HTTPClient returns a client with connections enough for a crowd, as every
// client that lets one choose is given.
func HTTPClient() *http.Client {
	t := &http.Transport{MaxIdleConns: 256, MaxIdleConnsPerHost: 256}
	return &http.Client{Transport: t}
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type format struct {
	Type       string `json:"type"`
	JSONSchema struct {
		Name   string          `json:"name"`
		Strict bool            `json:"strict"`
		Schema json.RawMessage `json:"schema"`
	} `json:"json_schema"`
}

type request struct {
	Model     string    `json:"model"`
	Messages  []message `json:"messages"`
	Effort    string    `json:"reasoning_effort"`
	MaxTokens int       `json:"max_completion_tokens"`
	Format    format    `json:"response_format"`
}

type completion struct {
	Choices []struct {
		Message struct {
			Content string `json:"content"`
		} `json:"message"`
	} `json:"choices"`
	Usage struct {
		PromptTokens     int `json:"prompt_tokens"`
		CompletionTokens int `json:"completion_tokens"`
	} `json:"usage"`
}

func (s Setup) body() ([]byte, error) {
	r := request{
		Model: Model, Effort: "none", MaxTokens: 400,
		Messages: []message{{"system", s.System}, {"user", s.Text}}, Format: format{Type: "json_schema"},
	}
	r.Format.JSONSchema.Name, r.Format.JSONSchema.Strict, r.Format.JSONSchema.Schema = "intent_classifier", true, s.Schema
	return json.Marshal(r)
}

// Baseline returns the clients Post and Bare of an upstream.
func Baseline(s Setup, upstream string) ([]Client, error) {
	ready, err := s.body()
	if err != nil {
		return nil, fmt.Errorf("write request: %w", err)
	}
	client, url := HTTPClient(), upstream+ChatPath
	return []Client{
		{Name: Post, Call: func(ctx context.Context) error {
			_, err := post(ctx, client, url, ready)
			return err
		}},
		{Name: Bare, Call: func(ctx context.Context) error {
			body, err := s.body()
			if err != nil {
				return err
			}
			raw, err := post(ctx, client, url, body)
			if err != nil {
				return err
			}
			var c completion
			if err := json.Unmarshal(raw, &c); err != nil || len(c.Choices) == 0 || c.Choices[0].Message.Content == "" {
				return errors.Join(ErrAnswer, err)
			}
			return nil
		}},
	}, nil
}

// ErrAnswer is an answer without content.
var ErrAnswer = errors.New("the answer has no content")

func post(ctx context.Context, client *http.Client, url string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer key")
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // it has been read.
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("http %d", resp.StatusCode)
	}
	return raw, nil
}
