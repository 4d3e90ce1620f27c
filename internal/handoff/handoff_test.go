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
	"github.com/ratiba/ratiba/internal/understand/lex"
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
	everything := func(change ...func(f *handoff.Facts)) handoff.Facts {
		f := handoff.Facts{
			Said: "I will sue you", Asked: true, Pulled: true,
			Counters: thread.Counters{Turns: 31, Tokens: 30001, LowIntent: 3, Negative: 2, SlotReprompts: 2, ToolErrors: 1, OverBudget: 1},
		}
		for _, c := range change {
			c(&f)
		}
		return f
	}
	asked := func(f *handoff.Facts) { f.Asked = false }
	said := func(f *handoff.Facts) { f.Said = "" }
	budget := func(f *handoff.Facts) { f.Counters.Turns, f.Counters.Tokens, f.Counters.OverBudget = 0, 0, 0 }
	tool := func(f *handoff.Facts) { f.Counters.ToolErrors = 0 }
	intent := func(f *handoff.Facts) { f.Counters.LowIntent = 0 }
	slot := func(f *handoff.Facts) { f.Counters.SlotReprompts = 0 }
	mood := func(f *handoff.Facts) { f.Counters.Negative = 0 }
	tests := []struct {
		name string
		f    handoff.Facts
		want string
	}{
		{"nothing is wrong", handoff.Facts{Said: "hello", Counters: thread.Counters{Turns: 30, Tokens: 30000, LowIntent: 2, Negative: 1, SlotReprompts: 1}}, ""},
		{"who asks goes first", everything(), handoff.ExplicitRequest},
		{"then the policy", everything(asked), handoff.Tripwire},
		{"then the budget", everything(asked, said), handoff.BudgetBreach},
		{"tokens alone", handoff.Facts{Counters: thread.Counters{Tokens: 30001, ToolErrors: 1}}, handoff.BudgetBreach},
		{"money alone", handoff.Facts{Counters: thread.Counters{OverBudget: 1, ToolErrors: 1}}, handoff.BudgetBreach},
		{"then a failed tool", everything(asked, said, budget), handoff.ToolError},
		{"then an intent", everything(asked, said, budget, tool), handoff.LowConfIntent},
		{"then a slot", everything(asked, said, budget, tool, intent), handoff.LowConfSlot},
		{"then the mood", everything(asked, said, budget, tool, intent, slot), handoff.Negative},
		{"an admin's wish goes last", everything(asked, said, budget, tool, intent, slot, mood), handoff.AdminPull},
		{"what the graph asks for has its place in the order", handoff.Facts{
			Graph: &graph.Handover{Signal: handoff.ToolError, Detail: "no edge"}, Counters: thread.Counters{Turns: 31},
		}, handoff.BudgetBreach},
		{"and is heard where nothing goes before", handoff.Facts{Graph: &graph.Handover{Signal: handoff.ToolError, Detail: "no edge"}}, handoff.ToolError},
		{"a signal of the app's own", handoff.Facts{Graph: &graph.Handover{Signal: "FLOOD", Detail: "water"}}, "FLOOD"},
	}
	for _, tt := range tests {
		got := ""
		if h := handoff.Evaluate(tt.f, limits); h != nil {
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

func TestThePolicyTripwire(t *testing.T) {
	t.Parallel()
	limits := tenant.BaseThresholds("spa")
	tests := []struct {
		said   string
		stake  int64
		detail string // "" when it does not fire
	}{
		{"My wife can't breathe, help!", 0, "an emergency"},
		{"the lady next to me has fainted", 0, "an emergency"},
		{"call an ambulance please", 0, "an emergency"},
		{"she is bleeding a lot", 0, "an emergency"},
		{"Hii ni dharura, mteja amezimia", 0, "an emergency"},
		{"anatoka damu nyingi", 0, "an emergency"},
		{"hawezi kupumua", 0, "an emergency"},
		{"You will hear from my lawyer", 0, "a legal complaint"},
		{"I am going to sue you", 0, "a legal complaint"},
		{"we will take you to court over this", 0, "a legal complaint"},
		{"I'm reporting you to the police", 0, "a legal complaint"},
		{"nitawashtaki", 0, "a legal complaint"},
		{"tutaonana mahakamani", 0, "a legal complaint"},
		{"nitachukua hatua za kisheria", 0, "a legal complaint"},
		{"your wax burned my skin", 0, ""},
		{"you burned my skin with the wax", 0, "a medical complaint"},
		{"the facial gave me a terrible rash", 0, "a medical complaint"},
		{"my face is swollen since yesterday's facial", 0, "a medical complaint"},
		{"I got an infection from that pedicure", 0, "a medical complaint"},
		{"mliniumiza jana", 0, "a medical complaint"},
		{"nimepata vipele baada ya facial", 0, "a medical complaint"},
		{"uso wangu umevimba tangu jana", 0, "a medical complaint"},
		{"I want a refund of 6,000", 0, "a refund over the threshold"},
		{"refund my KES 5001 now", 0, "a refund over the threshold"},
		{"give me my money back, all 12k of it", 0, "a refund over the threshold"},
		{"nirudishie pesa zangu elfu sita", 0, "a refund over the threshold"},
		{"I want my money back", 5001, "a refund over the threshold"},
		{"nataka pesa yangu", 8000, "a refund over the threshold"},

		{"I want a refund of 5,000", 9000, ""},
		{"I want my money back", 5000, ""},
		{"what is your refund policy?", 9000, ""},
		{"is my deposit refundable?", 9000, ""},
		{"my number is 0712345678, I want a refund", 0, ""},
		{"I have back pain, can I get a massage tomorrow?", 0, ""},
		{"my tooth hurts and my gum is swollen, can I come today?", 0, ""},
		{"I have a rash, is a facial all right?", 0, ""},
		{"can you cut my hair at 3", 0, ""},
		{"can I book with Sue tomorrow", 0, ""},
		{"will Sue be there on Friday?", 0, ""},
		{"are you near the police station?", 0, ""},
		{"niko karibu na mahakama, nielekezeni", 0, ""},
		{"do you take emergency appointments", 0, ""},
		{"I am a lawyer, evenings suit me", 0, ""},
		{"nina maumivu ya mgongo, nataka massage", 0, ""},
		{"nataka kulipa pesa kesho", 9000, ""},
		{"the massage was great, I'll be back", 9000, ""},
		{"", 9000, ""},
	}
	for _, tt := range tests {
		got := ""
		if h := handoff.Evaluate(handoff.Facts{Said: tt.said, AtStake: tt.stake}, limits); h != nil {
			if got = h.Detail; h.Signal != handoff.Tripwire {
				t.Errorf("%q: signal %s", tt.said, h.Signal)
			}
		}
		if got != tt.detail {
			t.Errorf("%q with %d at stake: got %q, want %q", tt.said, tt.stake, got, tt.detail)
		}
	}
	small := handoff.Facts{Said: "refund me the 1,500 please"}
	if handoff.Evaluate(small, limits) != nil || handoff.Evaluate(small, tenant.BaseThresholds("dental")) == nil {
		t.Error("1,500 is little for a spa and much for a dentist")
	}
}

func TestUnsure(t *testing.T) {
	t.Parallel()
	limits := tenant.BaseThresholds("spa")
	for _, row := range []struct {
		name string
		in   graph.Input
		want bool
	}{
		{"nothing said", graph.Input{}, false},
		{"a sure day", graph.Input{When: graph.When{Date: "2026-04-25", Confidence: 0.55}}, false},
		{"a doubtful day", graph.Input{When: graph.When{Date: "2026-04-25", Confidence: 0.54}}, true},
		{"a doubtful service", graph.Input{Entities: map[string]graph.Entity{"service": {ID: "m", Confidence: 0.3}}}, true},
		{"a tap beside it", graph.Input{Choice: "on/2026-04-25", When: graph.When{Date: "2026-04-25", Confidence: 0.1}}, false},
	} {
		if got := handoff.Unsure(row.in, limits); got != row.want {
			t.Errorf("%s: %v", row.name, got)
		}
	}
}

func TestParseCommand(t *testing.T) {
	t.Parallel()
	type C = handoff.Command
	tests := []struct {
		in   string
		want C
		ok   bool
	}{
		{"/take", C{Verb: handoff.Take}, true},
		{" /TAKE  #k7 ", C{Verb: handoff.Take, Code: "K7", Whom: "k7"}, true},
		{"/chukua K7", C{Verb: handoff.Take, Code: "K7", Whom: "K7"}, true},
		{"/take 432", C{Verb: handoff.Take, Whom: "432"}, true},
		{"/take +254 722 000 432", C{Verb: handoff.Take, Whom: "+254 722 000 432"}, true},
		{"/take Mary Wambui", C{Verb: handoff.Take, Whom: "Mary Wambui"}, true},
		{"/take @01ARZ3NDEKTSV4RRFFQ69G5FAV", C{Verb: handoff.Take, Thread: "01ARZ3NDEKTSV4RRFFQ69G5FAV"}, true},
		{"/done\nK7 service=massage", C{Verb: handoff.Done, Code: "K7", Slots: []handoff.Slot{{Name: "service", Value: "massage"}}}, true},
		{"/maliza", C{Verb: handoff.Done}, true},
		{"/done asante", C{Verb: handoff.Done}, true},
		{"/done Service = Swedish massage when=tomorrow 3 pm name=\"Mary W\" staff=", C{Verb: handoff.Done, Slots: []handoff.Slot{
			{Name: "service", Value: "Swedish massage"}, {Name: "when", Value: "tomorrow 3 pm"}, {Name: "name", Value: "Mary W"}, {Name: "staff"},
		}}, true},
		{"/done when=31/02", C{Verb: handoff.Done, Slots: []handoff.Slot{{Name: "when", Value: "31/02"}}}, true},
		{"/funga", C{Verb: handoff.End}, true},
		{"/puuza K7", C{Verb: handoff.Dismiss, Code: "K7"}, true},
		{"/tuma", C{Verb: handoff.Send}, true},
		{"/send k7", C{Verb: handoff.Send, Code: "K7"}, true},
		{"/msaada", C{Verb: handoff.Help}, true},
		{"/zaidi K7", C{Verb: handoff.More, Code: "K7"}, true},
		{"/mazungumzo K7", C{Verb: handoff.Transcript, Code: "K7"}, true},
		{"/tafsiri K7", C{Verb: handoff.Translate, Code: "K7"}, true},
		{"/fly K7", C{Verb: handoff.Unknown}, true},
		{"/", C{Verb: handoff.Unknown}, true},
		{"/ take", C{Verb: handoff.Unknown}, true},
		{"//take", C{Verb: handoff.Unknown}, true},
		{"／take K7", C{Verb: handoff.Take, Code: "K7", Whom: "K7"}, true},
		{"\u200b/take", C{Verb: handoff.Take}, true},
		{"take K7", C{}, false},
		{"Karibu tena!", C{}, false},
		{"1/2 hour is enough", C{}, false},
		{"", C{}, false},
	}
	for _, tt := range tests {
		got, ok := handoff.ParseCommand(tt.in)
		if diff := cmp.Diff(tt.want, got); diff != "" || ok != tt.ok {
			t.Errorf("ParseCommand(%q): %v (-want +got):\n%s", tt.in, ok, diff)
		}
	}
}

func FuzzParseCommand(f *testing.F) {
	for _, s := range []string{"/take K7", "/done\nservice=massage", "hello", "/", "/ñ", "/take #", "\u00a0/take", "/take \xff", "//", "/end " + strings.Repeat("a", 100), "/done a=b c =d e= \"f", "/take @01", "／done x＝y"} {
		f.Add(s)
	}
	code := regexp.MustCompile(`^[A-Z0-9]{2,6}$`)
	f.Fuzz(func(t *testing.T, text string) {
		c, ok := handoff.ParseCommand(text)
		if slash := strings.HasPrefix(lex.Clean(text), "/"); ok != slash {
			t.Errorf("ParseCommand(%q) = %v: what begins with a slash, and nothing else, is kept from the customer", text, ok)
		}
		if ok == (c.Verb == "") {
			t.Errorf("ParseCommand(%q) = %+v, %v", text, c, ok)
		}
		for _, slot := range c.Slots {
			if slot.Name == "" || slot.Name != strings.ToLower(slot.Name) {
				t.Errorf("ParseCommand(%q): slot %q", text, slot.Name)
			}
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
