package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/money"
)

func TestTiersCutTheLadder(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name      string
		low, high int
		tiers     []int
	}{
		{"no bounds", 0, 0, []int{1, 2, 3}},
		{"the step begins higher", 2, 0, []int{2, 3}},
		{"the cap", 0, 2, []int{1, 2}},
		{"one tier", 2, 2, []int{2}},
		{"the cap wins over the step", 3, 1, []int{1}},
		{"beyond the ladder", 9, 9, []int{3}},
		{"no model at all", 1, llm.NoTier, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := procedure(t, says(sure("0.2")), says(sure("0.2")), says(sure("0.2")))
			b.req.MinTier, b.req.MaxTier = row.low, row.high
			got, err := b.router.Call(t.Context(), b.req)
			if err != nil || got.Ending != llm.Human {
				t.Fatalf("got %+v, %v", got, err)
			}
			var tried []int
			for _, a := range got.Chain {
				tried = append(tried, a.Tier)
			}
			if diff := cmp.Diff(row.tiers, tried); diff != "" {
				t.Errorf("tiers (-want +got):\n%s", diff)
			}
			want := llm.CauseUnsure
			if row.tiers == nil {
				want = llm.CauseCapped
			}
			if got.Escalation.Cause != want {
				t.Errorf("cause %s, want %s", got.Escalation.Cause, want)
			}
		})
	}
}

func TestAConversationRoleEndsUncertainWithItsBestAnswer(t *testing.T) {
	t.Parallel()
	b := setupWith(t, func(cfg *llm.Config) {
		cfg.Roles[llm.IntentClassifier] = llm.Ladder{luna, tiers[0], tiers[1]}
	}, says(sure("0.3")))
	b.claude.steps = []step{says(sure("0.5")), is(llm.Server)}
	got, err := b.router.Call(t.Context(), b.req)
	if err != nil || got.Ending != llm.Uncertain || got.Tier != 2 || got.Confidence != 0.5 || !got.Escalated || string(got.JSON) != sure("0.5") {
		t.Errorf("got %+v, %v; want the answer of tier 2, uncertain", got, err)
	}
	if len(b.desk.cards) != 0 {
		t.Error("a conversation asked a person")
	}
}

func TestARolesOwnThresholdDecides(t *testing.T) {
	t.Parallel()
	roles, err := llm.ParseRoles([]byte(`roles:
  intent_classifier:
    threshold: 0.95
    ladder: [{provider: openai, model: gpt-6-luna}]`))
	if err != nil {
		t.Fatal(err)
	}
	b := setupWith(t, func(cfg *llm.Config) { cfg.Roles = roles }, says(mood))
	if got, err := b.router.Call(t.Context(), b.req); err != nil || got.Ending != llm.Uncertain {
		t.Errorf("got %+v, %v; want 0.9 to be too little", got, err)
	}
}

func TestTheCardHoldsWhatAPersonNeeds(t *testing.T) {
	t.Parallel()
	b := procedure(t, says(sure("0.2")), is(llm.Server), says(sure("0.6")))
	b.req.Contact = "k1"
	b.req.Card = llm.Card{Title: "Complaint", Question: "Refund?", Choices: []llm.Choice{{ID: "yes", Label: "Refund"}}}
	got, err := b.router.Call(t.Context(), b.req)
	if err != nil || got.Ending != llm.Human || got.JSON != nil || got.Cost == 0 || !got.Escalated {
		t.Fatalf("got %+v, %v", got, err)
	}
	want := llm.Escalation{
		ID: b.req.Hash(), Tenant: "t1", Thread: "c1", Contact: "k1", Turn: "u1", Role: llm.ProcedureStep, TaskID: "task-1", Step: "classify",
		Cause: llm.CauseUnsure, Card: b.req.Card, Messages: b.req.Messages, Answer: json.RawMessage(sure("0.6")), Text: sure("0.6"), Tier: 3,
		Confidence: 0.6, Schema: json.RawMessage(moodSchema), Chain: got.Chain, Cost: got.Cost, At: at,
	}
	if diff := cmp.Diff(want, b.desk.cards[0]); diff != "" {
		t.Errorf("card (-want +got):\n%s", diff)
	}
	if e := b.events(t, "llm.escalated.human"); len(e) != 1 || e[0]["cause"] != "below_threshold" || strings.Contains(b.logs.String(), "Wanjiku") {
		t.Errorf("logs %s", b.logs)
	}
	// A repeated step goes on where it was and posts under the same ID.
	again, err := b.router.Call(t.Context(), b.req)
	if err != nil || again.Ending != llm.Human || again.Escalation.ID != got.Escalation.ID || len(b.claude.calls) != 3 {
		t.Errorf("again %+v, %v, after %d calls; want the same card and no new call", again, err, len(b.claude.calls))
	}
}

func TestAPersonWhoCannotBeAskedIsAnError(t *testing.T) {
	t.Parallel()
	b := procedure(t, is(llm.Refused))
	b.desk.fail = errors.New("no channel")
	if got, err := b.router.Call(t.Context(), b.req); !errors.Is(err, b.desk.fail) || got.Ending != "" {
		t.Errorf("got %+v, %v; want the desk's error", got, err)
	}
	b = setupWith(t, func(cfg *llm.Config) { cfg.Roles[llm.ProcedureStep], cfg.Escalations = tiers, nil })
	b.claude.steps = []step{is(llm.Refused)}
	b.req.Role = llm.ProcedureStep
	if _, err := b.router.Call(t.Context(), b.req); llm.ClassOf(err) != llm.Refused {
		t.Errorf("got %v, want the refusal where nobody can be asked", err)
	}
}

func TestAnInterruptedClimbGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	b := procedure(t, says(sure("0.2")), says(mood))
	b.ledger.fail = errors.New("killed")
	if _, err := b.router.Call(t.Context(), b.req); !errors.Is(err, b.ledger.fail) {
		t.Fatalf("got %v", err)
	}
	b.ledger.fail = nil
	got, err := b.router.Call(t.Context(), b.req)
	if err != nil || got.Tier != 2 || !got.Escalated || got.Reused || len(b.claude.calls) != 2 {
		t.Errorf("got %+v, %v after %d calls; want tier 2 at once", got, err, len(b.claude.calls))
	}
	if diff := cmp.Diff([]string{"1 below_threshold (stored)", "2 ok (tier 1 was not sure)"}, trail(got.Chain)); diff != "" {
		t.Errorf("chain (-want +got):\n%s", diff)
	}
	if again, err := b.router.Call(t.Context(), b.req); err != nil || !again.Reused || again.Tier != 2 || string(again.JSON) != mood {
		t.Errorf("again %+v, %v; want the stored answer of tier 2", again, err)
	}
}

func limited(hard money.Pico) policies {
	c := llm.DefaultCeilings()
	c.Hard, c.Soft = hard, hard/2
	return policies{"t1": {Ceilings: c}}
}

func TestTheHardCeilingStartsNoFurtherCall(t *testing.T) {
	t.Parallel()
	other := setup(t)
	worst := other.router.WorstCase(other.req)
	b := setupWith(t, func(cfg *llm.Config) { cfg.Policies = limited(worst + costOnce/2) }, says(mood))
	if _, err := b.router.Call(t.Context(), b.req); err != nil {
		t.Fatal(err)
	}
	b.req.Seq = 1
	got, err := b.router.Call(t.Context(), b.req)
	var be *llm.BudgetError
	if !errors.As(err, &be) || !errors.Is(err, llm.ErrBudget) || be.Ceiling != llm.CeilingThread || be.Left != be.Limit-costOnce {
		t.Fatalf("got %v, want the thread's ceiling", err)
	}
	if diff := cmp.Diff([]string{"1 over_budget (its worst case exceeds the thread ceiling)"}, trail(got.Chain)); diff != "" {
		t.Errorf("chain (-want +got):\n%s", diff)
	}
	if e := b.events(t, "cost.budget.hard_breach"); len(e) != 1 || e[0]["ceiling"] != "thread" || e[0]["conversation_id"] != "c1" {
		t.Errorf("hard breaches %v", e)
	}
	if len(b.script.calls) != 1 || b.ledger.Held() != 0 {
		t.Errorf("%d calls, %d held", len(b.script.calls), b.ledger.Held())
	}
	b.req.Account = llm.AccountOperations
	b.script.steps = append(b.script.steps[:1:1], says(mood))
	if _, err := b.router.Call(t.Context(), b.req); err != nil {
		t.Errorf("the operations account has a purse of its own: %v", err)
	}
}

func TestADearerRungOverTheCeilingEndsInABreach(t *testing.T) {
	t.Parallel()
	b := procedure(t, says(sure("0.2")))
	c := llm.DefaultCeilings()
	c.Hard = money.USD / 500
	b2 := setupWith(t, func(cfg *llm.Config) {
		cfg.Roles[llm.IntentClassifier] = llm.Ladder{tiers[0], tiers[2]}
		cfg.Policies = policies{"t1": {Ceilings: c}}
	})
	b2.claude.steps = b.claude.steps
	got, err := b2.router.Call(t.Context(), b.req2(llm.IntentClassifier))
	if !errors.Is(err, llm.ErrBudget) || len(got.Chain) != 2 || got.Cost == 0 {
		t.Errorf("got %+v, %v; want the breach after the answer that was not sure", got, err)
	}
}

func (b *bundle) req2(role llm.Role) llm.Request {
	req := b.req
	req.Role = role
	return req
}

func TestTheSoftCeilingIsToldOnceAndStopsNothing(t *testing.T) {
	t.Parallel()
	c := llm.DefaultCeilings()
	c.Soft = costOnce
	b := setupWith(t, func(cfg *llm.Config) { cfg.Policies = policies{"t1": {Ceilings: c}} }, says(mood), says(mood), says(mood))
	for seq := range 3 {
		b.req.Seq = seq
		if _, err := b.router.Call(t.Context(), b.req); err != nil {
			t.Fatal(err)
		}
	}
	if e := b.events(t, "cost.budget.soft_breach"); len(e) != 1 || e[0]["cost_usd"] != money.Pico(2*costOnce).Dollars() {
		t.Errorf("soft breaches %v, want one", e)
	}
}

func TestAReservationOutlivesItsAttempt(t *testing.T) {
	t.Parallel()
	b := setup(t, says(mood))
	spy := &reserving{Ledger: b.ledger}
	b = setupWith(t, func(cfg *llm.Config) { cfg.Ledger = spy }, says(mood))
	b.req.Contact = "k1"
	if _, err := b.router.Call(t.Context(), b.req); err != nil {
		t.Fatal(err)
	}
	r := spy.seen[0]
	if !r.ExpiresAt.After(at.Add(luna.Timeout)) || r.Owner != "node-1" || r.Worst != b.router.WorstCase(b.req) || r.Contact != "k1" {
		t.Errorf("reservation %+v", r)
	}
	if l := r.Lost; l.ID != r.ID || l.Outcome != llm.Lost || l.Cost != r.Worst || !l.Estimated || l.Model != luna.Model || l.RequestHash == "" || l.Contact != "k1" {
		t.Errorf("what stands if nobody settles: %+v", l)
	}
}

// reserving remembers reservations.
type reserving struct {
	llm.Ledger

	seen []llm.Reservation
	fail error
}

func (r *reserving) Reserve(ctx context.Context, res llm.Reservation) error {
	r.seen = append(r.seen, res)
	if r.fail != nil {
		return r.fail
	}
	return r.Ledger.Reserve(ctx, res)
}

func TestALedgerThatCannotReserveStartsNoCall(t *testing.T) {
	t.Parallel()
	spy := &reserving{Ledger: llm.NewMemory(nil), fail: errors.New("database gone")}
	b := setupWith(t, func(cfg *llm.Config) {
		cfg.Ledger, cfg.Roles[llm.ProcedureStep] = spy, tiers
	})
	b.req.Role = llm.ProcedureStep
	if _, err := b.router.Call(t.Context(), b.req); !errors.Is(err, spy.fail) {
		t.Errorf("got %v", err)
	}
	if len(spy.seen) != 1 || len(b.desk.cards) != 0 {
		t.Errorf("%d reservations, %d cards", len(spy.seen), len(b.desk.cards))
	}
}

func TestADeterministicCheckOutranksConfidence(t *testing.T) {
	t.Parallel()
	b := setup(t, says(sure("1")), says(strings.Replace(mood, "good", "bad", 1)))
	b.req.Check = func(answer json.RawMessage) error {
		if strings.Contains(string(answer), "good") {
			return errors.New("at /mood: nothing good was said")
		}
		return nil
	}
	got, err := b.router.Call(t.Context(), b.req)
	if err != nil || !strings.Contains(string(got.JSON), "bad") {
		t.Fatalf("got %+v, %v", got, err)
	}
	asked := b.script.calls[1].Messages
	if last := asked[len(asked)-1].Content; !strings.Contains(last, "nothing good was said") {
		t.Errorf("the complaint is %q", last)
	}
}

func TestSaidInFindsWhatNobodySaid(t *testing.T) {
	t.Parallel()
	check := llm.SaidIn("Hi, I'm  Wanjiku\nKamau", "name", "service")
	for answer, ok := range map[string]bool{
		`{"name":{"value":"wanjiku kamau","confidence":1},"service":null}`: true,
		`{"name":"Wanjiku"}`:                      true,
		`{"name":{"value":null,"confidence":1}}`:  true,
		`{}`:                                      true,
		`{"name":{"value":"Achieng"}}`:            false,
		`{"name":"Wanjiku","service":"a facial"}`: false,
		`[]`: false,
	} {
		if err := check(json.RawMessage(answer)); (err == nil) != ok {
			t.Errorf("%s: %v", answer, err)
		}
	}
}

var payTool = llm.Tool{Name: "pay", Description: "Pays.", Input: nil}

func TestToolCallsAreValidatedAndReused(t *testing.T) {
	t.Parallel()
	tool := payTool
	tool.Input = compile(t, `{"type":"object","required":["kes","confidence"],"additionalProperties":false,"properties":{"kes":{"type":"integer","minimum":1},"confidence":{"type":"number","minimum":0,"maximum":1}}}`)
	asks := func(name, args string) step {
		return func(context.Context, llm.Call) (llm.Answer, error) {
			return llm.Answer{ToolCalls: []llm.ToolCall{{Name: name, Arguments: json.RawMessage(args)}}, Usage: used, Metered: true}, nil
		}
	}
	const good = `{"kes":500,"confidence":0.8}`
	for name, bad := range map[string]step{
		"a tool that was not offered": asks("refund", good), "arguments out of bounds": asks("pay", `{"kes":0,"confidence":1}`),
		"arguments that are no JSON": asks("pay", `kes: 1`), "no call where one is due": says("I paid."), "nothing": says(""),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, bad, asks("pay", good))
			b.req.Schema, b.req.Tools, b.req.MustCall = nil, []llm.Tool{tool}, true
			got, err := b.router.Call(t.Context(), b.req)
			if err != nil || len(got.ToolCalls) != 1 || string(got.ToolCalls[0].Arguments) != good || got.Confidence != 0.8 || got.JSON != nil {
				t.Fatalf("got %+v, %v", got, err)
			}
			again, err := b.router.Call(t.Context(), b.req)
			if err != nil || !again.Reused || cmp.Diff(got.ToolCalls, again.ToolCalls) != "" {
				t.Errorf("again %+v, %v", again, err)
			}
		})
	}
	b := setup(t, says("Which one?"))
	b.req.Schema, b.req.Tools = nil, []llm.Tool{tool}
	if got, err := b.router.Call(t.Context(), b.req); err != nil || got.Text != "Which one?" || got.ToolCalls != nil {
		t.Errorf("got %+v, %v; want words where no call is demanded", got, err)
	}
	b.req.Schema = compile(t, moodSchema)
	if _, err := b.router.Call(t.Context(), b.req); err == nil {
		t.Error("a schema beside tools was accepted")
	}
}

func TestToolsAreCalledInTheEffortTheModelHasThemIn(t *testing.T) {
	t.Parallel()
	high := luna
	high.Effort = "high"
	b := setupWith(t, func(cfg *llm.Config) { cfg.Roles[llm.IntentClassifier] = llm.Ladder{high} }, says("Hello."))
	b.req.Schema, b.req.Tools = nil, []llm.Tool{{Name: "a", Input: compile(t, `{"type":"object","properties":{}}`)}}
	if _, err := b.router.Call(t.Context(), b.req); err != nil {
		t.Fatal(err)
	}
	if e := b.script.calls[0].Effort; e != "none" {
		t.Errorf("effort %q, want none: the model calls tools in no other", e)
	}
}

func TestACallWithoutADeadlineWaitsNoDay(t *testing.T) {
	t.Parallel()
	b := setup(t, fails(llm.Error{Class: llm.Rate, RetryAfter: 24 * time.Hour}))
	if _, err := b.router.Call(t.Context(), b.req); llm.ClassOf(err) != llm.Rate || len(b.waits) != 0 {
		t.Errorf("got %v after %v, want no wait of a day", err, b.waits)
	}
}
