// Package handoff decides when a human should take over, and reads what admins
// type to take over and hand back.
//
// Evaluation is a pure function over a thread's counters and what the turn
// understood. The driver of a thread is a dimension of its own beside the
// graph's state. The package imports leaves, vocabulary and graph.
package handoff

import (
	"regexp"
	"strings"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/thread"
)

// Signals, in the order they are evaluated.
const (
	ExplicitRequest = "EXPLICIT_REQUEST"
	BudgetBreach    = "BUDGET_BREACH"
	ToolError       = "TOOL_ERROR_UNRECOVERABLE"
	LowConfIntent   = "LOW_CONF_INTENT"
	LowConfSlot     = "LOW_CONF_SLOT"
	Negative        = "SENTIMENT_NEGATIVE"
)

// Count returns the counters after a turn that understood in. reprompt says
// that the same slot was asked for again.
func Count(c thread.Counters, in graph.Input, t tenant.Thresholds, reprompt bool) thread.Counters {
	c.Turns++
	if in.OverBudget {
		c.OverBudget++
	}
	if in.Event != nil {
		return c
	}
	c.LowIntent = streak(c.LowIntent, in.Choice == "" && in.Confidence < t.LowConfIntent)
	c.Negative = streak(c.Negative, in.Sentiment == "negative")
	c.SlotReprompts = streak(c.SlotReprompts, reprompt)
	return c
}

func streak(n int, more bool) int {
	if more {
		return n + 1
	}
	return 0
}

// Evaluate returns the first trigger that fires, or nil. The explicit request
// is not among them: it is matched before anything is understood.
func Evaluate(c thread.Counters, t tenant.Thresholds) *graph.Handover {
	switch {
	case c.Turns > t.MaxTurns:
		return &graph.Handover{Signal: BudgetBreach, Detail: "too many turns"}
	case c.Tokens > t.MaxTokens:
		return &graph.Handover{Signal: BudgetBreach, Detail: "too many tokens"}
	case c.OverBudget > 0:
		return &graph.Handover{Signal: BudgetBreach, Detail: "models cost too much"}
	case c.ToolErrors > 0:
		return &graph.Handover{Signal: ToolError, Detail: "a tool failed"}
	case c.LowIntent >= t.LowConfIntentTurns:
		return &graph.Handover{Signal: LowConfIntent, Detail: "the customer was not understood"}
	case c.SlotReprompts > t.LowConfSlotReprompts+1:
		return &graph.Handover{Signal: LowConfSlot, Detail: "an answer was not understood"}
	case c.Negative >= t.NegativeTurns:
		return &graph.Handover{Signal: Negative, Detail: "the customer is unhappy"}
	}
	return nil
}

// Verb is what a command does.
type Verb string

// Verbs of admins' commands.
const (
	Take    Verb = "take"
	Done    Verb = "done"
	End     Verb = "end"
	Dismiss Verb = "dismiss"
	Help    Verb = "help"
	Unknown Verb = "unknown" // begins with a slash and is no command: never relayed
)

// Command is what an admin typed or tapped.
type Command struct {
	Verb Verb
	Code string // of the handoff, upper case, "" when none was named
}

var verbs = map[string]Verb{ //nolint:gochecknoglobals // a constant table.
	"take": Take, "chukua": Take, "done": Done, "maliza": Done, "end": End, "funga": End,
	"dismiss": Dismiss, "puuza": Dismiss, "help": Help, "msaada": Help,
}

// CodeLength is the length of a handoff's code: short, because people type it
// with their thumbs.
const CodeLength = 2

// commandForm reads a code only where it can be one (the alphabet of
// ids.Source.Code), so that "/done asante" is no wrong code.
var commandForm = regexp.MustCompile(`^/(\pL+)(?:\s+#?((?i:[A-HJKMNP-Z2-9]{2})))?(?:\s.*)?$`)

// ParseCommand reads an admin's text. It reports false for what is no command
// and may be relayed.
func ParseCommand(text string) (Command, bool) {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "/") {
		return Command{}, false
	}
	m := commandForm.FindStringSubmatch(strings.Join(strings.Fields(text), " "))
	if m == nil {
		return Command{Verb: Unknown}, true
	}
	verb, ok := verbs[strings.ToLower(m[1])]
	if !ok {
		return Command{Verb: Unknown}, true
	}
	return Command{Verb: verb, Code: strings.ToUpper(m[2])}, true
}

// MaskPhone hides all of a phone but its last three digits, in the form of the
// briefing card: +254 7** *** 432.
func MaskPhone(phone string) string {
	if len(phone) < 8 {
		return "***"
	}
	return phone[:4] + " " + phone[4:5] + "** *** " + phone[len(phone)-3:]
}
