package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// validate holds an answer against what was asked for. Its error may quote the
// answer and wraps ErrAnswer.
func validate(req *Request, answer *Answer) (verdict, error) {
	found := verdict{valid: true, text: answer.Text}
	var err error
	switch {
	case len(req.Texts) > 0:
		found.vectors, found.doc = answer.Vectors, parsed{confidence: 1}
		err = embedded(req.Texts, answer.Vectors)
	case len(req.Tools) > 0:
		found.calls = answer.ToolCalls
		found.doc, err = calls(req, answer)
	case req.Schema != nil:
		found.doc, err = req.Schema.parse(answer.Text)
	default:
		found.doc, err = freeText(answer.Text)
		found.text = storable(answer.Text)
	}
	if err == nil && req.Check != nil && len(req.Texts) == 0 {
		err = check(req, &found)
	}
	if err != nil {
		return verdict{}, err
	}
	return found, nil
}

func check(req *Request, found *verdict) error {
	raw := found.doc.raw
	if raw == nil {
		var err error
		if raw, err = json.Marshal(found.calls); err != nil {
			return fmt.Errorf("%w: %w", ErrAnswer, err)
		}
	}
	if err := req.Check(raw); err != nil {
		return fmt.Errorf("%w: %s", ErrAnswer, clip(err.Error()))
	}
	return nil
}

func freeText(text string) (parsed, error) {
	switch {
	case len(text) > MaxAnswer:
		return parsed{}, fmt.Errorf("%w: %d bytes, the limit is %d", ErrAnswer, len(text), MaxAnswer)
	case strings.TrimSpace(text) == "":
		return parsed{}, fmt.Errorf("%w: empty", ErrAnswer)
	case !utf8.ValidString(text):
		return parsed{}, fmt.Errorf("%w: not valid UTF-8", ErrAnswer)
	}
	return parsed{confidence: 1}, nil
}

// calls validates tool calls: each of a tool that was offered, with arguments
// of its schema. The confidence is the least any of them states.
func calls(req *Request, answer *Answer) (parsed, error) {
	if len(answer.ToolCalls) == 0 {
		if req.MustCall {
			return parsed{}, fmt.Errorf("%w: no tool was called", ErrAnswer)
		}
		return freeText(answer.Text)
	}
	out := parsed{confidence: 1}
	for _, c := range answer.ToolCalls {
		input := inputOf(req.Tools, c.Name)
		if input == nil {
			return parsed{}, fmt.Errorf("%w: there is no tool %q", ErrAnswer, clip(c.Name))
		}
		args, err := input.parse(string(c.Arguments))
		if err != nil {
			return parsed{}, fmt.Errorf("tool %s: %w", c.Name, err)
		}
		if args.stated {
			out.confidence, out.stated = min(out.confidence, args.confidence), true
		}
	}
	return out, nil
}

func inputOf(tools []Tool, name string) *Schema {
	for i := range tools {
		if tools[i].Name == name {
			return tools[i].Input
		}
	}
	return nil
}

// storedCalls is how a record keeps an answer to a request with tools.
type storedCalls struct {
	Text      string     `json:"text,omitempty"`
	ToolCalls []ToolCall `json:"tool_calls"`
}

// stored is what a record keeps of a valid answer.
func (v *verdict) stored(req *Request) string {
	if len(req.Texts) > 0 {
		return packVectors(v.vectors).stored()
	}
	if len(req.Tools) == 0 {
		return storable(v.text)
	}
	raw, err := json.Marshal(storedCalls{Text: storable(v.text), ToolCalls: v.calls})
	if err != nil {
		return "" // validated arguments are JSON
	}
	return string(raw)
}

// restored is the answer that a record keeps.
func restored(req *Request, text string) (Answer, error) {
	switch {
	case len(req.Texts) > 0:
		var kept storedVectors
		if err := json.Unmarshal([]byte(text), &kept); err != nil {
			return Answer{}, fmt.Errorf("read stored vectors: %w", err)
		}
		vectors, err := kept.unpack()
		return Answer{Vectors: vectors}, err
	case len(req.Tools) > 0:
		var kept storedCalls
		if err := json.Unmarshal([]byte(text), &kept); err != nil {
			return Answer{}, fmt.Errorf("read stored tool calls: %w", err)
		}
		return Answer{Text: kept.Text, ToolCalls: kept.ToolCalls}, nil
	default:
		return Answer{Text: text}, nil
	}
}

// SaidIn is a Check: each named member of the answer, or its "value" where it
// is a pair of value and confidence, is null or stands in the source text,
// whatever its case and spacing. It keeps a model from extracting what nobody
// said.
func SaidIn(source string, members ...string) func(json.RawMessage) error {
	flat := func(s string) string { return strings.Join(strings.Fields(strings.ToLower(s)), " ") }
	source = flat(source)
	return func(answer json.RawMessage) error {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(answer, &object); err != nil {
			return errors.New("not a JSON object")
		}
		for _, name := range members {
			var pair struct {
				Value *string `json:"value"`
			}
			var plain *string
			if json.Unmarshal(object[name], &plain) != nil && json.Unmarshal(object[name], &pair) == nil {
				plain = pair.Value
			}
			if plain != nil && !strings.Contains(source, flat(*plain)) {
				return fmt.Errorf("at /%s: %q does not stand in the text", name, clip(*plain))
			}
		}
		return nil
	}
}
