package slack

import "unicode/utf16"

// Block Kit's limits.
const (
	maxBlocks   = 50
	maxHeader   = 150
	maxSection  = 3000
	maxContext  = 10 // elements
	maxActions  = 25 // elements
	maxButton   = 75
	maxValue    = 2000
	maxActionID = 255
)

// check judges a message as Slack does and returns an error's name.
func check(r request) string {
	switch {
	case r.Text == "" && len(r.Blocks) == 0:
		return "no_text"
	case units(r.Text) > maxText:
		return "msg_too_long"
	case len(r.Blocks) > maxBlocks:
		return "invalid_blocks"
	}
	actions := map[string]bool{}
	for _, b := range r.Blocks {
		if !block(b, actions) {
			return "invalid_blocks"
		}
	}
	return ""
}

func block(b map[string]any, actions map[string]bool) bool {
	elements, _ := b["elements"].([]any)
	switch b["type"] {
	case "header":
		return text(b["text"], maxHeader, "plain_text")
	case "section":
		return text(b["text"], maxSection, "plain_text", "mrkdwn")
	case "divider":
		return true
	case "context":
		for _, e := range elements {
			if !text(e, maxSection, "plain_text", "mrkdwn") {
				return false
			}
		}
		return len(elements) > 0 && len(elements) <= maxContext
	case "actions":
		for _, e := range elements {
			if !button(e, actions) {
				return false
			}
		}
		return len(elements) > 0 && len(elements) <= maxActions
	}
	return false
}

// button judges a button, whose action_id is its own in the message.
func button(v any, actions map[string]bool) bool {
	b, _ := v.(map[string]any)
	id, _ := b["action_id"].(string)
	value, _ := b["value"].(string)
	ok := b["type"] == "button" && text(b["text"], maxButton, "plain_text") && units(value) <= maxValue && units(id) <= maxActionID && !actions[id]
	actions[id] = id != ""
	return ok
}

func text(v any, limit int, kinds ...string) bool {
	t, _ := v.(map[string]any)
	s, _ := t["text"].(string)
	for _, k := range kinds {
		if t["type"] == k {
			return s != "" && units(s) <= limit
		}
	}
	return false
}

// units counts characters in the strictest way.
func units(s string) (n int) {
	for _, r := range s {
		n += max(1, utf16.RuneLen(r))
	}
	return n
}
