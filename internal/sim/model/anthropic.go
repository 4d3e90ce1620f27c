package model

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
)

// samplers are the families of Claude models that still take a temperature.
var samplers = []string{
	"claude-3", "claude-haiku-4", "claude-sonnet-4", "claude-opus-4-5", "claude-opus-4-6",
}

type anthropicRequest struct {
	Model       string          `json:"model"`
	MaxTokens   *int            `json:"max_tokens"`
	System      json.RawMessage `json:"system"`
	Messages    []anthropicTurn `json:"messages"`
	Temperature *float64        `json:"temperature"`
	Stream      bool            `json:"stream"`
	Tools       []anthropicTool `json:"tools"`
	ToolChoice  *struct {
		Type string `json:"type"`
		Name string `json:"name"`
	} `json:"tool_choice"`
	OutputConfig *struct {
		Effort *string `json:"effort"`
		Format *struct {
			Type   string          `json:"type"`
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
	} `json:"output_config"`
}

// anthropicError is a refusal in Anthropic's form.
type anthropicError struct {
	status int
	kind   string
	text   string
	detail string // an error code beside the type; rarely present
}

func badRequest(format string, args ...any) *anthropicError {
	return &anthropicError{status: http.StatusBadRequest, kind: "invalid_request_error", text: fmt.Sprintf(format, args...)}
}

func (s *Simulator) anthropic(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Request-Id", s.id("req_"))
	raw, err := readBody(w, r)
	switch {
	case err != nil:
		s.refuseAnthropic(w, question{}, "", &anthropicError{status: http.StatusRequestEntityTooLarge, kind: "request_too_large", text: "Request exceeds the maximum size"})
		return
	case r.Header.Get("X-Api-Key") == "":
		s.refuseAnthropic(w, question{}, "", &anthropicError{status: http.StatusUnauthorized, kind: "authentication_error", text: "x-api-key header is required"})
		return
	case r.Header.Get("Anthropic-Version") == "":
		s.refuseAnthropic(w, question{}, "", badRequest("anthropic-version: header is required"))
		return
	}
	q, refusal := parseAnthropic(raw)
	if refusal != nil {
		s.refuseAnthropic(w, q, "", refusal)
		return
	}
	role := q.seam()
	f, faulty := s.next(role)
	s.wait(r.Context())
	if faulty && s.failAnthropic(w, r, q, f) {
		return
	}
	s.answerAnthropic(w, q, role, f.Fault)
}

func parseAnthropic(raw []byte) (question, *anthropicError) {
	var req anthropicRequest
	q := question{provider: "anthropic"}
	if err := json.Unmarshal(raw, &req); err != nil {
		return q, badRequest("The request body is not valid JSON")
	}
	q.model = req.Model
	switch {
	case req.Model == "":
		return q, badRequest("model: Field required")
	case req.MaxTokens == nil:
		return q, badRequest("max_tokens: Field required")
	case *req.MaxTokens < 1:
		return q, badRequest("max_tokens: Input should be greater than or equal to 1")
	case req.Stream:
		return q, badRequest("stream: this simulator does not stream")
	case req.Temperature != nil && !family(req.Model, samplers...):
		return q, badRequest("temperature: sampling parameters are not supported by this model")
	case len(req.Messages) == 0:
		return q, badRequest("messages: at least one message is required")
	}
	q.maxTokens = *req.MaxTokens
	if len(req.System) > 0 {
		text, err := contentText(req.System)
		if err != nil {
			return q, badRequest("system: %s", err)
		}
		q.system = text
	}
	if refusal := req.conversation(&q); refusal != nil {
		return q, refusal
	}
	if q.messages[len(q.messages)-1].role == "assistant" && !family(req.Model, "claude-3", "claude-haiku-4", "claude-sonnet-4", "claude-opus-4-5") {
		return q, badRequest("This model does not support assistant message prefill. The conversation must end with a user message.")
	}
	if refusal := req.toolbox(&q); refusal != nil {
		return q, refusal
	}
	return q, req.output(&q)
}

func (req anthropicRequest) output(q *question) *anthropicError {
	if req.OutputConfig == nil {
		return nil
	}
	if e := req.OutputConfig.Effort; e != nil && !slices.Contains([]string{"low", "medium", "high", "xhigh", "max"}, *e) {
		return badRequest("output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'")
	}
	f := req.OutputConfig.Format
	if f == nil {
		return nil
	}
	if f.Type != "json_schema" {
		return badRequest("output_config.format.type: Input should be 'json_schema'")
	}
	if err := checkSchema(f.Schema, anthropicRules()); err != nil {
		return badRequest("output_config.format.schema: %s", err)
	}
	q.schema = f.Schema
	return nil
}

// failAnthropic carries out a fault that replaces the whole response.
func (s *Simulator) failAnthropic(w http.ResponseWriter, r *http.Request, q question, f Fault) bool {
	switch f.Fault {
	case faultTimeout:
		<-r.Context().Done()
		s.remember(Call{Provider: q.provider, Model: q.model, Role: q.seam(), Fault: f.Fault, Text: q.customer()})
	case faultRate:
		f.retryAfter(w.Header())
		s.refuseAnthropic(w, q, f.Fault, &anthropicError{
			status: http.StatusTooManyRequests, kind: "rate_limit_error", text: "Number of requests has exceeded your limit.",
		})
	case faultQuota:
		s.refuseAnthropic(w, q, f.Fault, &anthropicError{
			status: http.StatusTooManyRequests, kind: "rate_limit_error", text: "The spend limit has been reached.",
			detail: "enforced_spend_limit_reached",
		})
	case faultServer:
		s.refuseAnthropic(w, q, f.Fault, &anthropicError{status: http.StatusInternalServerError, kind: "api_error", text: "Internal server error"})
	case faultOverload:
		s.refuseAnthropic(w, q, f.Fault, &anthropicError{status: 529, kind: "overloaded_error", text: "Overloaded"})
	case faultHTML:
		s.writeHTML(w, q)
	default:
		return false
	}
	return true
}

func (s *Simulator) refuseAnthropic(w http.ResponseWriter, q question, programmed string, e *anthropicError) {
	s.remember(Call{
		Provider: "anthropic", Model: q.model, Role: q.seam(), Status: e.status, Fault: programmed,
		Error: e.text, Text: q.customer(),
	})
	body := map[string]any{"type": e.kind, "message": e.text}
	if e.detail != "" {
		body["details"] = map[string]any{"error_code": e.detail}
	}
	writeJSON(w, e.status, map[string]any{"type": "error", "error": body, "request_id": w.Header().Get("Request-Id")})
}

func (s *Simulator) answerAnthropic(w http.ResponseWriter, q question, role, programmed string) {
	answer, stop := s.think(q), "end_turn"
	switch programmed {
	case faultJSON:
		answer = "Sure! Here is the answer: " + half(answer)
	case faultRefusal, faultTools:
		answer, stop = "", "refusal"
	case faultTruncated:
		answer, stop = half(answer), "max_tokens"
	default:
		if bad, ok := spoil(programmed, answer); ok {
			answer = bad
		} else if short, over := cut(answer, q.maxTokens); over {
			answer, stop = short, "max_tokens"
		}
	}
	content := []any{}
	if answer != "" {
		content = append(content, map[string]any{"type": "text", "text": answer})
	}
	if wish, ok := s.beside(q, programmed); ok {
		if programmed == "" {
			answer, stop, content = wish.arguments, "tool_use", nil
		}
		content = append(content, map[string]any{
			"type": "tool_use", "id": s.id("toolu_"), "name": wish.name, "input": json.RawMessage(wish.arguments),
		})
	}
	in, out := q.inputTokens(), max(1, tokens(answer))
	s.remember(Call{
		Provider: q.provider, Model: q.model, Role: role, Status: http.StatusOK, Fault: programmed,
		Input: in, Output: out, Text: q.customer(), Answer: answer,
	})
	body := map[string]any{
		"id": s.id("msg_"), "type": "message", "role": "assistant", "model": q.model,
		"content": content, "stop_reason": stop, "stop_sequence": nil, "stop_details": nil,
		"container": nil, "diagnostics": nil,
		"usage": map[string]any{
			"input_tokens": in, "output_tokens": out,
			"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "service_tier": "standard",
			"cache_creation":        map[string]any{"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
			"output_tokens_details": map[string]any{"thinking_tokens": 0},
			"inference_geo":         nil, "server_tool_use": nil, "speed": nil,
		},
	}
	if stop == "refusal" {
		body["stop_details"] = map[string]any{"type": "refusal", "category": nil, "explanation": "Declined by a programmed fault."}
	}
	writeJSON(w, http.StatusOK, body)
}
