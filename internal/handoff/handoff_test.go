package handoff_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/handoff"
	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/thread"
)

func TestCount(t *testing.T) {
	t.Parallel()
	limits := tenant.BaseThresholds("spa")
	before := thread.Counters{Turns: 4, Tokens: 7, LowIntent: 1, Negative: 1, SlotReprompts: 1, ToolErrors: 1}
	tests := []struct {
		name     string
		in       graph.Input
		reprompt bool
		want     thread.Counters
	}{
		{"understood and content", graph.Input{Confidence: 0.9, Sentiment: "positive"}, false, thread.Counters{Turns: 5, Tokens: 7, ToolErrors: 1}},
		{
			"not understood, unhappy, asked again",
			graph.Input{Confidence: 0.59, Sentiment: "negative"},
			true,
			thread.Counters{Turns: 5, Tokens: 7, LowIntent: 2, Negative: 2, SlotReprompts: 2, ToolErrors: 1},
		},
		{"at the threshold is understood", graph.Input{Confidence: limits.LowConfIntent}, false, thread.Counters{Turns: 5, Tokens: 7, ToolErrors: 1}},
		{"a tap is understood", graph.Input{Choice: "slot:1"}, false, thread.Counters{Turns: 5, Tokens: 7, ToolErrors: 1}},
		{
			"an event says nothing about the customer",
			graph.Input{Event: &graph.Event{Kind: "timer"}},
			true,
			thread.Counters{Turns: 5, Tokens: 7, LowIntent: 1, Negative: 1, SlotReprompts: 1, ToolErrors: 1},
		},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, handoff.Count(before, tt.in, limits, tt.reprompt)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestEvaluate(t *testing.T) {
	t.Parallel()
	limits := tenant.BaseThresholds("spa")
	everything := thread.Counters{Turns: 31, Tokens: 30001, LowIntent: 3, Negative: 2, SlotReprompts: 3, ToolErrors: 1}
	without := func(forget func(c *thread.Counters)) thread.Counters { c := everything; forget(&c); return c }
	tests := []struct {
		name string
		c    thread.Counters
		want string
	}{
		{"nothing is wrong", thread.Counters{Turns: 30, Tokens: 30000, LowIntent: 2, Negative: 1, SlotReprompts: 2}, ""},
		{"too many turns go first", everything, handoff.BudgetBreach},
		{"too many tokens", without(func(c *thread.Counters) { c.Turns = 0 }), handoff.BudgetBreach},
		{"too much money", thread.Counters{OverBudget: 1, ToolErrors: 1}, handoff.BudgetBreach},
		{"then a failed tool", without(func(c *thread.Counters) { c.Turns, c.Tokens = 0, 0 }), handoff.ToolError},
		{"then an intent", thread.Counters{LowIntent: 3, Negative: 2, SlotReprompts: 3}, handoff.LowConfIntent},
		{"then a slot", thread.Counters{Negative: 2, SlotReprompts: 3}, handoff.LowConfSlot},
		{"then the mood", thread.Counters{Negative: 2}, handoff.Negative},
	}
	for _, tt := range tests {
		got := ""
		if h := handoff.Evaluate(tt.c, limits); h != nil {
			got = h.Signal
			if h.Detail == "" {
				t.Errorf("%s: no detail", tt.name)
			}
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestParseCommand(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		want handoff.Command
		ok   bool
	}{
		{"/take", handoff.Command{Verb: handoff.Take}, true},
		{" /TAKE  #k7 ", handoff.Command{Verb: handoff.Take, Code: "K7"}, true},
		{"/chukua K7", handoff.Command{Verb: handoff.Take, Code: "K7"}, true},
		{"/done\nK7 service=massage", handoff.Command{Verb: handoff.Done, Code: "K7"}, true},
		{"/maliza", handoff.Command{Verb: handoff.Done}, true},
		{"/done service=massage", handoff.Command{Verb: handoff.Done}, true},
		{"/funga", handoff.Command{Verb: handoff.End}, true},
		{"/puuza K7", handoff.Command{Verb: handoff.Dismiss, Code: "K7"}, true},
		{"/msaada", handoff.Command{Verb: handoff.Help}, true},
		{"/fly K7", handoff.Command{Verb: handoff.Unknown}, true},
		{"/", handoff.Command{Verb: handoff.Unknown}, true},
		{"/ take", handoff.Command{Verb: handoff.Unknown}, true},
		{"//take", handoff.Command{Verb: handoff.Unknown}, true},
		{"take K7", handoff.Command{}, false},
		{"Karibu tena!", handoff.Command{}, false},
		{"", handoff.Command{}, false},
	}
	for _, tt := range tests {
		if got, ok := handoff.ParseCommand(tt.in); got != tt.want || ok != tt.ok {
			t.Errorf("ParseCommand(%q) = %+v, %v; want %+v, %v", tt.in, got, ok, tt.want, tt.ok)
		}
	}
}

func FuzzParseCommand(f *testing.F) {
	for _, s := range []string{"/take K7", "/done\nservice=massage", "hello", "/", "/ñ", "/take #", "\u00a0/take", "/take \xff", "//", "/end " + strings.Repeat("a", 100)} {
		f.Add(s)
	}
	code := regexp.MustCompile(`^[A-Z0-9]{2,6}$`)
	f.Fuzz(func(t *testing.T, text string) {
		c, ok := handoff.ParseCommand(text)
		if slash := strings.HasPrefix(strings.TrimSpace(text), "/"); ok != slash {
			t.Errorf("ParseCommand(%q) = %v: what begins with a slash, and nothing else, is kept from the customer", text, ok)
		}
		if ok == (c.Verb == "") {
			t.Errorf("ParseCommand(%q) = %+v, %v", text, c, ok)
		}
		if c.Code != "" && !code.MatchString(c.Code) {
			t.Errorf("ParseCommand(%q): code %q", text, c.Code)
		}
	})
}

func TestMaskPhone(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"+254700000432": "+254 7** *** 432", "123": "***", "": "***"} {
		if got := handoff.MaskPhone(in); got != want {
			t.Errorf("MaskPhone(%q) = %q, want %q", in, got, want)
		}
	}
}
