// Package handoff decides when a human should take over, reads what admins
// type to take over and hand back, and has a model brief and translate for
// them.
//
// Evaluation is a pure function over a thread's counters and what the turn
// understood; so is the reading of commands. The driver of a thread is a
// dimension of its own beside the graph's state. What a model writes is checked
// and shown to admins alone: nothing waits for it. The package imports leaves,
// vocabulary, graph, llm, prompt and the words of understanding.
package handoff

import (
	"slices"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/thread"
)

// Signals.
const (
	ExplicitRequest = "EXPLICIT_REQUEST"
	Tripwire        = "POLICY_TRIPWIRE"
	BudgetBreach    = "BUDGET_BREACH"
	ToolError       = "TOOL_ERROR_UNRECOVERABLE"
	LowConfIntent   = "LOW_CONF_INTENT"
	LowConfSlot     = "LOW_CONF_SLOT"
	Negative        = "SENTIMENT_NEGATIVE"
	AdminPull       = "ADMIN_PULL"
)

// Signals lists the signals in the order they are evaluated.
func Signals() []string {
	return []string{ExplicitRequest, Tripwire, BudgetBreach, ToolError, LowConfIntent, LowConfSlot, Negative, AdminPull}
}

// Count returns the counters after a turn that understood in. missed says that
// the slot which was asked for was not understood, or not surely enough.
func Count(c thread.Counters, in graph.Input, t tenant.Thresholds, missed bool) thread.Counters {
	c.Turns++
	if in.OverBudget {
		c.OverBudget++
	}
	if in.Event != nil {
		return c
	}
	c.LowIntent = streak(c.LowIntent, in.Choice == "" && in.Confidence < t.LowConfIntent)
	c.Negative = streak(c.Negative, in.Sentiment == "negative")
	c.SlotReprompts = streak(c.SlotReprompts, missed)
	return c
}

func streak(n int, more bool) int {
	if more {
		return n + 1
	}
	return 0
}

// Unsure reports whether something the input says of a slot is below the
// threshold.
func Unsure(in graph.Input, t tenant.Thresholds) bool {
	if in.Choice != "" {
		return false
	}
	if w := in.When; !w.Empty() && w.Fault == "" && w.Confidence > 0 && w.Confidence < t.LowConfSlot {
		return true
	}
	for _, e := range in.Entities {
		if e.Confidence > 0 && e.Confidence < t.LowConfSlot {
			return true
		}
	}
	return false
}

// Facts are what a decision to hand over is made of. The zero value is a turn
// in which nothing is wrong.
type Facts struct {
	Said     string          // what the customer wrote in this turn
	Asked    bool            // the customer asks for a person
	AtStake  int64           // whole KES that giving money back would be about, as far as the app knows
	Counters thread.Counters // of the turns since the last hand-back
	Graph    *graph.Handover // what the graph itself asks for
	Pulled   bool            // an admin takes over uninvited
}

// Evaluate returns the first trigger that fires, in the order of Signals, or
// nil.
func Evaluate(f Facts, t tenant.Thresholds) *graph.Handover {
	c := f.Counters
	fired := map[string]string{}
	fires := func(yes bool, signal, detail string) {
		if _, already := fired[signal]; yes && !already {
			fired[signal] = detail
		}
	}
	if f.Graph != nil {
		fires(true, f.Graph.Signal, f.Graph.Detail)
	}
	fires(f.Asked, ExplicitRequest, "the customer asked for a person")
	kind := tripped(f.Said, f.AtStake, t)
	fires(kind != "", Tripwire, kind)
	fires(c.Turns > t.MaxTurns, BudgetBreach, "too many turns")
	fires(c.Tokens > t.MaxTokens, BudgetBreach, "too many tokens")
	fires(c.OverBudget > 0, BudgetBreach, "models cost too much")
	fires(c.ToolErrors > 0, ToolError, "a tool failed")
	fires(c.LowIntent >= t.LowConfIntentTurns, LowConfIntent, "the customer was not understood")
	fires(c.SlotReprompts > t.LowConfSlotReprompts, LowConfSlot, "an answer was not understood")
	fires(c.Negative >= t.NegativeTurns, Negative, "the customer is unhappy")
	fires(f.Pulled, AdminPull, "an admin took over uninvited")
	for _, signal := range Signals() {
		if detail, ok := fired[signal]; ok {
			return &graph.Handover{Signal: signal, Detail: detail}
		}
	}
	if f.Graph != nil && !slices.Contains(Signals(), f.Graph.Signal) {
		return f.Graph // an app's own signal, which no rule knows
	}
	return nil
}

// MaskPhone hides all of a phone but its last three digits, in the form of the
// briefing card: +254 7** *** 432.
func MaskPhone(phone string) string {
	if len(phone) < 8 {
		return "***"
	}
	return phone[:4] + " " + phone[4:5] + "** *** " + phone[len(phone)-3:]
}
