package model

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// reasoners are the families of OpenAI models that reason: they take neither a
// temperature nor the old max_tokens.
var reasoners = []string{"gpt-5", "gpt-6", "o1", "o3", "o4"}

var openAIName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

type openAIRequest struct {
	Model               string          `json:"model"`
	Messages            []openAITurn    `json:"messages"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	Temperature         *float64        `json:"temperature"`
	ReasoningEffort     *string         `json:"reasoning_effort"`
	Stream              bool            `json:"stream"`
	Tools               []openAITool    `json:"tools"`
	ToolChoice          json.RawMessage `json:"tool_choice"`
	ResponseFormat      *struct {
		Type       string `json:"type"`
		JSONSchema *struct {
			Name   string          `json:"name"`
			Strict bool            `json:"strict"`
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
}

// openAIError is a refusal in OpenAI's form.
type openAIError struct {
	status int
	kind   string
	code   string // empty: null
	param  string // empty: null
	text   string
}

func invalid(param, text string) *openAIError {
	return &openAIError{status: http.StatusBadRequest, kind: "invalid_request_error", param: param, text: text}
}

func (s *Simulator) openAI(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Request-Id", s.id("req_"))
	w.Header().Set("Openai-Processing-Ms", "1")
	raw, err := readBody(w, r)
	if err != nil {
		s.refuseOpenAI(w, question{}, "", &openAIError{status: http.StatusRequestEntityTooLarge, kind: "invalid_request_error", text: "Request body too large."})
		return
	}
	if key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); !ok || strings.TrimSpace(key) == "" {
		s.refuseOpenAI(w, question{}, "", &openAIError{
			status: http.StatusUnauthorized, kind: "invalid_request_error", code: "invalid_api_key",
			text: "You didn't provide an API key.",
		})
		return
	}
	q, refusal := parseOpenAI(raw)
	if refusal != nil {
		s.refuseOpenAI(w, q, "", refusal)
		return
	}
	role := q.seam()
	f, faulty := s.next(role)
	s.wait(r.Context())
	if faulty && s.failOpenAI(w, r, q, f) {
		return
	}
	s.answerOpenAI(w, q, role, f.Fault)
}

func parseOpenAI(raw []byte) (question, *openAIError) {
	var req openAIRequest
	q := question{provider: "openai"}
	if err := json.Unmarshal(raw, &req); err != nil {
		return q, invalid("", "We could not parse the JSON body of your request.")
	}
	q.model = req.Model
	if req.Model == "" {
		return q, invalid("model", "you must provide a model parameter")
	}
	if len(req.Messages) == 0 {
		return q, invalid("messages", "Invalid 'messages': empty array.")
	}
	for _, part := range []func(*question) *openAIError{req.conversation, req.parameters, req.toolbox, req.format} {
		if refusal := part(&q); refusal != nil {
			return q, refusal
		}
	}
	return q, nil
}

func (req openAIRequest) parameters(q *question) *openAIError {
	reasons := family(req.Model, reasoners...)
	switch {
	case req.Stream:
		return invalid("stream", "This simulator does not stream.")
	case reasons && req.Temperature != nil && *req.Temperature != 1:
		return &openAIError{
			status: http.StatusBadRequest, kind: "invalid_request_error", code: "unsupported_value", param: "temperature",
			text: "Unsupported value: 'temperature' does not support this value with this model. Only the default (1) value is supported.",
		}
	case reasons && req.MaxTokens != nil:
		return &openAIError{
			status: http.StatusBadRequest, kind: "invalid_request_error", code: "unsupported_parameter", param: "max_tokens",
			text: "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
		}
	case !reasons && req.ReasoningEffort != nil:
		return &openAIError{
			status: http.StatusBadRequest, kind: "invalid_request_error", code: "unsupported_parameter", param: "reasoning_effort",
			text: "Unsupported parameter: 'reasoning_effort' is not supported with this model.",
		}
	case req.ReasoningEffort != nil && !slices.Contains([]string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}, *req.ReasoningEffort):
		return invalid("reasoning_effort", "Invalid value for 'reasoning_effort'.")
	}
	for _, limit := range []*int{req.MaxTokens, req.MaxCompletionTokens} {
		if limit == nil {
			continue
		}
		if *limit < 1 {
			return invalid("max_completion_tokens", "Invalid 'max_completion_tokens': integer below minimum value.")
		}
		q.maxTokens = *limit
	}
	return nil
}

func (req openAIRequest) format(q *question) *openAIError {
	if req.ResponseFormat == nil || req.ResponseFormat.Type == "text" {
		return nil
	}
	f := req.ResponseFormat
	if f.Type != "json_schema" || f.JSONSchema == nil {
		return invalid("response_format", "Invalid response_format: this simulator knows text and json_schema.")
	}
	if !openAIName.MatchString(f.JSONSchema.Name) {
		return invalid("response_format.json_schema.name", "Invalid 'response_format.json_schema.name': string does not match pattern.")
	}
	if err := checkSchema(f.JSONSchema.Schema, openAIRules(f.JSONSchema.Strict)); err != nil {
		return invalid("response_format", fmt.Sprintf("Invalid schema for response_format '%s': %s", f.JSONSchema.Name, err))
	}
	q.schema, q.name = f.JSONSchema.Schema, f.JSONSchema.Name
	return nil
}

// failOpenAI carries out a fault that replaces the whole response.
func (s *Simulator) failOpenAI(w http.ResponseWriter, r *http.Request, q question, f Fault) bool {
	switch f.Fault {
	case faultTimeout:
		<-r.Context().Done()
		s.remember(Call{Provider: q.provider, Model: q.model, Role: q.seam(), Fault: f.Fault, Text: q.customer()})
	case faultRate:
		f.retryAfter(w.Header())
		s.refuseOpenAI(w, q, f.Fault, &openAIError{
			status: http.StatusTooManyRequests, kind: "tokens", code: "rate_limit_exceeded",
			text: "Rate limit reached for " + q.model + " on tokens per min (TPM).",
		})
	case faultQuota:
		s.refuseOpenAI(w, q, f.Fault, &openAIError{
			status: http.StatusTooManyRequests, kind: "insufficient_quota", code: "insufficient_quota",
			text: "You exceeded your current quota, please check your plan and billing details.",
		})
	case faultServer:
		s.refuseOpenAI(w, q, f.Fault, &openAIError{
			status: http.StatusInternalServerError, kind: "server_error",
			text: "The server had an error while processing your request.",
		})
	case faultOverload:
		// 529 is Anthropic's; OpenAI says the same with 503.
		s.refuseOpenAI(w, q, f.Fault, &openAIError{
			status: http.StatusServiceUnavailable, kind: "server_error", code: "server_is_overloaded",
			text: "The engine is currently overloaded, please try again later.",
		})
	case faultHTML:
		s.writeHTML(w, q)
	default:
		return false
	}
	return true
}

func (s *Simulator) refuseOpenAI(w http.ResponseWriter, q question, programmed string, e *openAIError) {
	null := func(v string) any {
		if v == "" {
			return nil
		}
		return v
	}
	s.remember(Call{
		Provider: "openai", Model: q.model, Role: q.seam(), Status: e.status, Fault: programmed,
		Error: e.text, Text: q.customer(),
	})
	writeJSON(w, e.status, map[string]any{"error": map[string]any{
		"message": e.text, "type": e.kind, "param": null(e.param), "code": null(e.code),
	}})
}

func (s *Simulator) answerOpenAI(w http.ResponseWriter, q question, role, programmed string) {
	answer := s.think(q)
	finish, content, refusal := "stop", any(answer), any(nil)
	switch programmed {
	case faultJSON:
		answer = "Sure! Here is the answer: " + half(answer)
		content = answer
	case faultRefusal, faultTools:
		answer = "I'm sorry, I can't help with that."
		content, refusal = nil, answer
	case faultTruncated:
		answer = half(answer)
		content, finish = answer, "length"
	default:
		if bad, ok := spoil(programmed, answer); ok {
			answer, content = bad, bad
		} else if short, over := cut(answer, q.maxTokens); over {
			answer, content, finish = short, short, "length"
		}
	}
	message := map[string]any{"role": "assistant", "content": content, "refusal": refusal, "annotations": []any{}}
	if wish, ok := s.beside(q, programmed); ok {
		if programmed == "" {
			answer, finish, message["content"] = wish.arguments, "tool_calls", nil
		}
		message["tool_calls"] = []any{map[string]any{
			"id": s.id("call_"), "type": "function", "function": map[string]any{"name": wish.name, "arguments": wish.arguments},
		}}
	}
	in, out, cached := q.inputTokens(), tokens(answer), s.cached(q.system)
	s.remember(Call{
		Provider: q.provider, Model: q.model, Role: role, Status: http.StatusOK, Fault: programmed,
		Input: in, Output: out, Text: q.customer(), Answer: answer,
	})
	writeJSON(w, http.StatusOK, map[string]any{
		"id": s.id("chatcmpl-"), "object": "chat.completion", "created": s.clock.Now().Unix(), "model": q.model,
		"choices": []any{map[string]any{
			"index": 0, "finish_reason": finish, "logprobs": nil, "message": message,
		}},
		"usage": map[string]any{
			"prompt_tokens": in, "completion_tokens": out, "total_tokens": in + out,
			"prompt_tokens_details":     map[string]any{"cached_tokens": cached, "audio_tokens": 0},
			"completion_tokens_details": map[string]any{"reasoning_tokens": 0, "audio_tokens": 0, "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0},
		},
		"service_tier": "default",
	})
}
