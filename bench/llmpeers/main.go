// Command llmpeers calls a model through the clients that Ratiba's router is
// measured against: Bifrost core, OpenAI's and Anthropic's Go libraries, and bare
// net/http. It is built and run by `ratiba bench llm --peers` and answers its
// commands on standard input.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	bifrost "github.com/maximhq/bifrost/core"
	"github.com/maximhq/bifrost/core/schemas"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"

	"github.com/ratiba/ratiba/internal/bench/lap"
)

func main() {
	ctx := context.Background()
	if err := lap.Serve(ctx, os.Stdin, os.Stdout, clients); err != nil {
		fmt.Fprintln(os.Stderr, "llmpeers:", err)
		os.Exit(1)
	}
}

// clients makes every client for both upstreams.
func clients(s lap.Setup) (lap.Bench, error) {
	var schema map[string]any
	if err := json.Unmarshal(s.Schema, &schema); err != nil {
		return lap.Bench{}, fmt.Errorf("read schema: %w", err)
	}
	var b lap.Bench
	for _, u := range []struct {
		url  string
		list *[]lap.Client
	}{{s.Fast, &b.Fast}, {s.Slow, &b.Slow}} {
		bare, err := lap.Baseline(s, u.url)
		if err != nil {
			return b, err
		}
		gateway, err := viaBifrost(s, schema, u.url)
		if err != nil {
			return b, err
		}
		*u.list = append(bare, gateway, viaOpenAI(s, schema, u.url), viaAnthropic(s, schema, u.url))
	}
	return b, nil
}

func viaOpenAI(s lap.Setup, schema map[string]any, upstream string) lap.Client {
	client := openai.NewClient(
		openaioption.WithBaseURL(upstream+lap.OpenAIBase+"/"), openaioption.WithAPIKey("key"), openaioption.WithMaxRetries(0),
		openaioption.WithHTTPClient(lap.HTTPClient()),
	)
	return lap.Client{Name: "openai_sdk", Call: func(ctx context.Context) error {
		got, err := client.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{
			Model: lap.Model, ReasoningEffort: shared.ReasoningEffortNone, MaxCompletionTokens: openai.Int(400),
			Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(s.System), openai.UserMessage(s.Text)},
			ResponseFormat: openai.ChatCompletionNewParamsResponseFormatUnion{OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{
				JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "intent_classifier", Strict: openai.Bool(true), Schema: schema},
			}},
		})
		if err != nil {
			return err
		}
		if got.Choices[0].Message.Content == "" {
			return lap.ErrAnswer
		}
		return nil
	}}
}

func viaAnthropic(s lap.Setup, schema map[string]any, upstream string) lap.Client {
	client := anthropic.NewClient(
		anthropicoption.WithBaseURL(upstream+lap.AnthropicBase+"/"), anthropicoption.WithAPIKey("key"), anthropicoption.WithMaxRetries(0),
		anthropicoption.WithHTTPClient(lap.HTTPClient()),
	)
	return lap.Client{Name: "anthropic_sdk", Call: func(ctx context.Context) error {
		got, err := client.Messages.New(ctx, anthropic.MessageNewParams{
			Model: "claude-haiku-5-5", MaxTokens: 400, System: []anthropic.TextBlockParam{{Text: s.System}},
			Messages:     []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(s.Text))},
			OutputConfig: anthropic.OutputConfigParam{Format: anthropic.JSONOutputFormatParam{Schema: schema}},
		})
		if err != nil {
			return err
		}
		if got.Content[0].Text == "" {
			return lap.ErrAnswer
		}
		return nil
	}}
}

// account gives Bifrost one provider with one key.
type account struct{ upstream string }

func (account) GetConfiguredProviders() ([]schemas.ModelProvider, error) {
	return []schemas.ModelProvider{schemas.OpenAI}, nil
}

func (account) GetKeysForProvider(context.Context, schemas.ModelProvider) ([]schemas.Key, error) {
	return []schemas.Key{{ID: "key", Name: "key", Value: *schemas.NewSecretVar("key"), Models: schemas.WhiteList{"*"}, Weight: 1}}, nil
}

func (a account) GetConfigForProvider(schemas.ModelProvider) (*schemas.ProviderConfig, error) {
	c := &schemas.ProviderConfig{
		// Bifrost appends /v1 itself.
		NetworkConfig:            schemas.NetworkConfig{BaseURL: a.upstream + "/openai", DefaultRequestTimeoutInSeconds: 60, AllowPrivateNetwork: true},
		ConcurrencyAndBufferSize: schemas.ConcurrencyAndBufferSize{Concurrency: 128, BufferSize: 1024},
	}
	c.CheckAndSetDefaults()
	c.NetworkConfig.MaxRetries = 0
	return c, nil
}

func viaBifrost(s lap.Setup, schema map[string]any, upstream string) (lap.Client, error) {
	client, err := bifrost.Init(context.Background(), schemas.BifrostConfig{
		Account: account{upstream}, Logger: bifrost.NewDefaultLogger(schemas.LogLevelError), InitialPoolSize: 256,
	})
	if err != nil {
		return lap.Client{}, fmt.Errorf("make Bifrost: %w", err)
	}
	var format any = map[string]any{
		"type": "json_schema", "json_schema": map[string]any{"name": "intent_classifier", "strict": true, "schema": schema},
	}
	effort, limit := "none", 400
	return lap.Client{Name: "bifrost", Call: func(ctx context.Context) error {
		got, failed := client.ChatCompletionRequest(schemas.NewBifrostContext(ctx, schemas.NoDeadline), &schemas.BifrostChatRequest{
			Provider: schemas.OpenAI, Model: lap.Model,
			Input: []schemas.ChatMessage{
				{Role: schemas.ChatMessageRoleSystem, Content: &schemas.ChatMessageContent{ContentStr: &s.System}},
				{Role: schemas.ChatMessageRoleUser, Content: &schemas.ChatMessageContent{ContentStr: &s.Text}},
			},
			Params: &schemas.ChatParameters{MaxCompletionTokens: &limit, Reasoning: &schemas.ChatReasoning{Effort: &effort}, ResponseFormat: &format},
		})
		if failed != nil {
			return fmt.Errorf("bifrost: %s", failed.Error.Message)
		}
		if c := got.Choices[0].ChatNonStreamResponseChoice; c == nil || c.Message.Content == nil || *c.Message.Content.ContentStr == "" {
			return lap.ErrAnswer
		}
		return nil
	}}, nil
}
