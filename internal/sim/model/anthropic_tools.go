package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// anthropicTurn is a message on Anthropic's wire.
type anthropicTurn struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

type anthropicTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
	Strict      bool            `json:"strict"`
}

// block is a part of a message.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`          // of a tool_use
	Name      string          `json:"name"`        // of a tool_use
	Input     json.RawMessage `json:"input"`       // of a tool_use
	ToolUseID string          `json:"tool_use_id"` // of a tool_result
	Content   json.RawMessage `json:"content"`     // of a tool_result
}

// blocks reads a message's content, which may be a plain string.
func blocks(raw json.RawMessage) ([]block, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []block{{Type: "text", Text: text}}, nil
	}
	var out []block
	if err := json.Unmarshal(raw, &out); err != nil || len(out) == 0 {
		return nil, errors.New("Input should be a valid string or a list of content blocks") //nolint:staticcheck // the vendor's sentence.
	}
	return out, nil
}

// conversation reads the messages. The results of tools stand at the beginning
// of the message after the one that asked for them.
func (req anthropicRequest) conversation(q *question) *anthropicError {
	var waiting map[string]bool
	for i, m := range req.Messages {
		if m.Role != "user" && m.Role != "assistant" {
			return badRequest("messages.%d.role: Input should be 'user' or 'assistant'", i)
		}
		parts, err := blocks(m.Content)
		if err != nil {
			return badRequest("messages.%d.content: %s", i, err)
		}
		asked := make(map[string]bool)
		var said strings.Builder
		for j, b := range parts {
			at := fmt.Sprintf("messages.%d.content.%d", i, j)
			switch {
			case b.Type == "text" && strings.TrimSpace(b.Text) == "":
				return badRequest("%s: text content blocks must be non-empty", at)
			case b.Type == "text":
				said.WriteString(b.Text)
			case b.Type == "tool_use" && m.Role == "assistant" && b.ID != "" && toolName.MatchString(b.Name) && isJSONObject(b.Input):
				asked[b.ID] = true
			case b.Type == "tool_result" && m.Role == "user" && waiting[b.ToolUseID]:
				delete(waiting, b.ToolUseID)
				text, err := contentText(b.Content)
				if err != nil && len(b.Content) > 0 {
					return badRequest("%s.content: %s", at, err)
				}
				q.messages = append(q.messages, turn{role: roleTool, text: text})
			case b.Type == "tool_result":
				return badRequest("%s: unexpected `tool_use_id` found in `tool_result` blocks", at)
			default:
				return badRequest("%s.type: this simulator knows text, tool_use and tool_result", at)
			}
		}
		if len(waiting) > 0 {
			return badRequest("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after", i-1)
		}
		if waiting = asked; said.Len() > 0 || len(asked) > 0 {
			q.messages = append(q.messages, turn{role: m.Role, text: said.String()})
		}
	}
	if len(waiting) > 0 {
		return badRequest("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after", len(req.Messages)-1)
	}
	return nil
}

func isJSONObject(raw json.RawMessage) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(raw, &object) == nil && object != nil
}

// toolbox reads the tools and how they may be used.
func (req anthropicRequest) toolbox(q *question) *anthropicError {
	for i, t := range req.Tools {
		rules := anthropicRules()
		rules.off = !t.Strict
		if len(t.InputSchema) == 0 {
			return badRequest("tools.%d.input_schema: Field required", i)
		}
		if err := q.tools.add(t.Name, t.Description, t.InputSchema, rules); err != nil {
			return badRequest("tools.%d: %s", i, err)
		}
	}
	q.tools.use = useAuto
	if c := req.ToolChoice; c != nil {
		use, ok := map[string]string{"auto": useAuto, "any": useAny, "none": useNone, "tool": useOne}[c.Type]
		if !ok {
			return badRequest("tool_choice.type: Input should be 'auto', 'any', 'tool' or 'none'")
		}
		q.tools.use, q.tools.one = use, c.Name
	}
	if err := q.tools.check(); err != nil {
		return badRequest("%s", err)
	}
	return nil
}
