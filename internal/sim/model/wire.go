package model

import (
	"encoding/json"
	"errors"
	"strings"
)

// question is a request as either vendor's wire carried it.
type question struct {
	provider  string
	model     string
	system    string
	messages  []turn
	schema    json.RawMessage // nil: free text
	name      string          // the schema's name, where the wire carries one
	maxTokens int             // 0: no limit
	tools     toolbox
}

// turn is one message.
type turn struct {
	role string
	text string
}

// roleTool is the speaker of a tool's result, on either wire.
const roleTool = "tool"

var errContent = errors.New("content must be a string or a list of text parts")

func contentText(raw json.RawMessage) (string, error) {
	if len(raw) == 0 {
		return "", errContent
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s, nil
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return "", errContent
	}
	var b strings.Builder
	for _, p := range parts {
		if p.Type != "text" {
			return "", errContent
		}
		b.WriteString(p.Text)
	}
	return b.String(), nil
}

func (q question) inputTokens() int {
	n := tokens(q.system) + tokens(string(q.schema)) + 3
	for _, o := range q.tools.offers {
		n += tokens(o.name+o.about+string(o.schema)) + 8
	}
	for _, m := range q.messages {
		n += tokens(m.text) + 4
	}
	return n
}

// cut shortens an answer to a limit of tokens and says whether it had to.
func cut(answer string, limit int) (string, bool) {
	r := []rune(answer)
	if limit <= 0 || len(r) <= limit*4 {
		return answer, false
	}
	return string(r[:limit*4]), true
}

// half is what a truncated answer shows.
func half(answer string) string {
	r := []rune(answer)
	return string(r[:len(r)/2])
}

// family reports whether a model's id belongs to one of the families named by
// their prefixes.
func family(id string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(id, p) {
			return true
		}
	}
	return false
}
