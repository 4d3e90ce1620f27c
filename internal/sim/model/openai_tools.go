package model

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// openAITurn is a message on OpenAI's wire.
type openAITurn struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

type openAITool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		Strict      bool            `json:"strict"`
	} `json:"function"`
}

// conversation reads the messages. Every call of a tool must be answered by the
// messages right after it, and only those.
func (req openAIRequest) conversation(q *question) *openAIError {
	waiting := make(map[string]bool)
	for i, m := range req.Messages {
		at := fmt.Sprintf("messages[%d]", i)
		if len(waiting) > 0 && m.Role != roleTool {
			return invalid(at+".role", "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.")
		}
		if m.Role == roleTool && !waiting[m.ToolCallID] {
			return invalid(at+".role", "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'.")
		}
		delete(waiting, m.ToolCallID)
		for _, c := range m.ToolCalls {
			if m.Role != "assistant" || c.ID == "" || c.Type != "function" || !json.Valid([]byte(c.Function.Arguments)) {
				return invalid(at+".tool_calls", "Invalid tool call.")
			}
			waiting[c.ID] = true
		}
		text, err := contentText(m.Content)
		if err != nil && len(m.ToolCalls) == 0 {
			return invalid(at+".content", err.Error())
		}
		switch m.Role {
		case "system", "developer":
			q.system = strings.TrimSpace(q.system + "\n" + text)
		case "user", "assistant", roleTool:
			q.messages = append(q.messages, turn{role: m.Role, text: text})
		default:
			return invalid(at+".role", fmt.Sprintf("Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'tool', and 'developer'.", m.Role))
		}
	}
	if len(waiting) > 0 {
		return invalid("messages", "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.")
	}
	return nil
}

// toolbox reads the tools and how they may be used.
func (req openAIRequest) toolbox(q *question) *openAIError {
	for i, t := range req.Tools {
		at := fmt.Sprintf("tools[%d]", i)
		if t.Type != "function" {
			return invalid(at+".type", "This simulator knows tools of type 'function' only.")
		}
		f := t.Function
		if err := q.tools.add(f.Name, f.Description, f.Parameters, openAIRules(f.Strict)); err != nil {
			return invalid(at+".function", fmt.Sprintf("Invalid schema for function '%s': %s", f.Name, err))
		}
	}
	if family(req.Model, "gpt-6") && len(req.Tools) > 0 && (req.ReasoningEffort == nil || *req.ReasoningEffort != "none") {
		return &openAIError{
			status: http.StatusBadRequest, kind: "invalid_request_error", code: "unsupported_parameter", param: "tools",
			text: "Function tools with reasoning are not supported for " + req.Model + " in chat completions. Set 'reasoning_effort' to 'none'.",
		}
	}
	q.tools.use = useAuto
	if len(req.ToolChoice) > 0 && string(req.ToolChoice) != "null" {
		if refusal := req.choice(q); refusal != nil {
			return refusal
		}
	}
	if err := q.tools.check(); err != nil {
		return invalid("tool_choice", err.Error())
	}
	return nil
}

func (req openAIRequest) choice(q *question) *openAIError {
	var word string
	var named struct {
		Type     string `json:"type"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	switch {
	case json.Unmarshal(req.ToolChoice, &word) == nil:
		use, ok := map[string]string{"auto": useAuto, "none": useNone, "required": useAny}[word]
		if !ok {
			return invalid("tool_choice", fmt.Sprintf("Invalid value: '%s'. Supported values are: 'none', 'auto', and 'required'.", word))
		}
		q.tools.use = use
	case json.Unmarshal(req.ToolChoice, &named) == nil && named.Type == "function":
		q.tools.use, q.tools.one = useOne, named.Function.Name
	default:
		return invalid("tool_choice", "This simulator knows a word or a function as 'tool_choice'.")
	}
	return nil
}
