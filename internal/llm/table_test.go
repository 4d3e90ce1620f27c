package llm_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/money"
)

// trail is a chain as "tier outcome (reason)" lines.
func trail(chain []llm.Attempt) []string {
	var out []string
	for _, a := range chain {
		out = append(out, fmt.Sprintf("%d %s (%s)", a.Tier, a.Outcome, a.Reason))
	}
	return out
}

// TestTheErrorTable goes through every row on a ladder of three tiers and a
// person: what was tried, why, and how it ended.
func TestTheErrorTable(t *testing.T) {
	t.Parallel()
	rateFor := func(d time.Duration) step { return fails(llm.Error{Class: llm.Rate, RetryAfter: d}) }
	rows := []struct {
		name   string
		steps  []step
		trail  []string
		waits  []time.Duration
		ending llm.Ending
		cause  llm.Cause
	}{
		{
			"a timeout is tried once more on its rung",
			[]step{is(llm.Timeout), says(mood)},
			[]string{"1 timeout (first rung)", "1 ok (again after a timeout)"},
			nil, llm.Answered, "",
		},
		{
			"a second timeout leads to the next rung",
			[]step{is(llm.Timeout), is(llm.Timeout), says(mood)},
			[]string{"1 timeout (first rung)", "1 timeout (again after a timeout)", "2 ok (tier 1 failed: timeout)"},
			nil, llm.Answered, "",
		},
		{
			"a rate limit is waited for one, two and four seconds, then the next rung",
			[]step{is(llm.Rate), is(llm.Rate), is(llm.Rate), is(llm.Rate), says(mood)},
			[]string{
				"1 rate (first rung)", "1 rate (again after a rate limit)", "1 rate (again after a rate limit)",
				"1 rate (again after a rate limit)", "2 ok (tier 1 failed: rate)",
			},
			[]time.Duration{time.Second, 2 * time.Second, 4 * time.Second},
			llm.Answered, "",
		},
		{
			"what the vendor asks for is waited when it is longer",
			[]step{rateFor(3 * time.Second), rateFor(500 * time.Millisecond), says(mood)},
			[]string{"1 rate (first rung)", "1 rate (again after a rate limit)", "1 ok (again after a rate limit)"},
			[]time.Duration{3 * time.Second, 2 * time.Second},
			llm.Answered, "",
		},
		{
			"a wait beyond the deadline is not begun",
			[]step{rateFor(time.Hour), says(mood)},
			[]string{"1 rate (first rung)", "2 ok (tier 1 failed: rate)"},
			nil, llm.Answered, "",
		},
		{
			"a spent quota passes over every rung of its vendor",
			[]step{is(llm.Quota)},
			[]string{"1 quota (first rung)", "2 skipped (its provider's quota is spent)", "3 skipped (its provider's quota is spent)"},
			nil, llm.Human, llm.CauseFailed,
		},
		{
			"a server error leads to the next rung at once",
			[]step{is(llm.Server), says(mood)},
			[]string{"1 server (first rung)", "2 ok (tier 1 failed: server)"},
			nil, llm.Answered, "",
		},
		{
			"the last rung's server error reaches a person",
			[]step{is(llm.Server), is(llm.Server), is(llm.Server)},
			[]string{"1 server (first rung)", "2 server (tier 1 failed: server)", "3 server (tier 2 failed: server)"},
			nil, llm.Human, llm.CauseFailed,
		},
		{
			"an answer that is not JSON is asked for once more",
			[]step{says("Sure!"), says(mood)},
			[]string{"1 malformed (first rung)", "1 ok (again with the complaint)"},
			nil, llm.Answered, "",
		},
		{
			"a page in place of an answer is asked for once more",
			[]step{is(llm.Malformed), says(mood)},
			[]string{"1 malformed (first rung)", "1 ok (again with the complaint)"},
			nil, llm.Answered, "",
		},
		{
			"a second unusable answer leads to the next rung",
			[]step{says("Sure!"), says("Here:"), says(mood)},
			[]string{"1 malformed (first rung)", "1 malformed (again with the complaint)", "2 ok (tier 1 failed: malformed)"},
			nil, llm.Answered, "",
		},
		{
			"a truncated answer is given more room once",
			[]step{is(llm.Truncated), is(llm.Truncated), says(mood)},
			[]string{"1 truncated (first rung)", "1 truncated (again with more room)", "2 ok (tier 1 failed: truncated)"},
			nil, llm.Answered, "",
		},
		{
			"a refusal is neither repeated nor passed on",
			[]step{is(llm.Refused)},
			[]string{"1 refused (first rung)"},
			nil, llm.Human, llm.CauseRefused,
		},
		{
			"an answer that is not sure leads to the next rung",
			[]step{says(sure("0.69")), says(sure("0.7"))},
			[]string{"1 below_threshold (first rung)", "2 ok (tier 1 was not sure)"},
			nil, llm.Answered, "",
		},
		{
			"three answers that are not sure reach a person",
			[]step{says(sure("0.1")), says(sure("0.6")), says(sure("0.5"))},
			[]string{"1 below_threshold (first rung)", "2 below_threshold (tier 1 was not sure)", "3 below_threshold (tier 2 was not sure)"},
			nil, llm.Human, llm.CauseUnsure,
		},
		{
			"a request the vendor refuses leads to the next rung",
			[]step{is(llm.InvalidRequest), says(mood)},
			[]string{"1 invalid_request (first rung)", "2 ok (tier 1 failed: invalid_request)"},
			nil, llm.Answered, "",
		},
		{
			"six attempts are the end",
			[]step{is(llm.Timeout), is(llm.Timeout), is(llm.Timeout), is(llm.Timeout), is(llm.Rate), is(llm.Rate)},
			[]string{
				"1 timeout (first rung)", "1 timeout (again after a timeout)", "2 timeout (tier 1 failed: timeout)",
				"2 timeout (again after a timeout)", "3 rate (tier 2 failed: timeout)", "3 rate (again after a rate limit)",
			},
			[]time.Duration{time.Second, 2 * time.Second},
			llm.Human, llm.CauseFailed,
		},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := procedure(t, row.steps...)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			got, err := b.router.Call(ctx, b.req)
			if err != nil || got.Ending != row.ending {
				t.Fatalf("got %+v, %v; want the ending %s", got, err, row.ending)
			}
			if diff := cmp.Diff(row.trail, trail(got.Chain)); diff != "" {
				t.Errorf("chain (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(row.waits, b.waits); diff != "" {
				t.Errorf("waits (-want +got):\n%s", diff)
			}
			if row.ending == llm.Human && (len(b.desk.cards) != 1 || b.desk.cards[0].Cause != row.cause || got.Escalation == nil) {
				t.Errorf("cards %+v, want one because %s", b.desk.cards, row.cause)
			}
			called := slices.DeleteFunc(got.Chain, func(a llm.Attempt) bool { return a.CallID == "" })
			if n := len(b.ledger.All()); n != len(called) || n != len(b.claude.calls) || b.ledger.Held() != 0 {
				t.Errorf("%d records, %d held, %d calls, %d in the chain", n, b.ledger.Held(), len(b.claude.calls), len(called))
			}
			if row.ending == llm.Answered && got.Escalated != (got.Tier > 1) {
				t.Errorf("escalated is %v at tier %d", got.Escalated, got.Tier)
			}
		})
	}
}

// TestEveryFailureIsBilledAsItIs goes through what each failure costs, on a
// ladder of one rung that ends in an error.
func TestEveryFailureIsBilledAsItIs(t *testing.T) {
	t.Parallel()
	worst := setup(t)
	estimate := worst.router.WorstCase(worst.req)
	if estimate <= costOnce {
		t.Fatalf("the worst case is %d", estimate)
	}
	rows := []struct {
		name      string
		err       llm.Error
		attempts  int
		estimated int
		metered   int
	}{
		{"a timeout is settled at its worst case", llm.Error{Class: llm.Timeout, MayBeBilled: true}, 2, 2, 0},
		{"a lost connection is settled at its worst case", llm.Error{Class: llm.Server, MayBeBilled: true}, 1, 1, 0},
		{"a page in place of an answer is settled at its worst case", llm.Error{Class: llm.Malformed, MayBeBilled: true}, 2, 2, 0},
		{"a refusal costs what it used", llm.Error{Class: llm.Refused, Usage: used, Metered: true, MayBeBilled: true}, 1, 0, 1},
		{"a cut answer costs what it used", llm.Error{Class: llm.Truncated, Usage: used, Metered: true, MayBeBilled: true}, 2, 0, 2},
		{"a usage of zero is not a missing one", llm.Error{Class: llm.Refused, Metered: true, MayBeBilled: true}, 1, 0, 0},
		{"a rate limit is free", llm.Error{Class: llm.Rate, RetryAfter: time.Second}, 4, 0, 0},
		{"a quota is free", llm.Error{Class: llm.Quota}, 1, 0, 0},
		{"a server error is free", llm.Error{Class: llm.Server}, 1, 0, 0},
		{"a bad request is free", llm.Error{Class: llm.InvalidRequest}, 1, 0, 0},
		{"a wrong key is free", llm.Error{Class: llm.Auth}, 1, 0, 0},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, slices.Repeat([]step{fails(row.err)}, row.attempts)...)
			got, err := b.router.Call(t.Context(), b.req)
			if llm.ClassOf(err) != row.err.Class {
				t.Fatalf("got %v, want class %s", err, row.err.Class)
			}
			records := b.ledger.All()
			if len(records) != row.attempts {
				t.Fatalf("%d records, want %d", len(records), row.attempts)
			}
			for i, rec := range records {
				if rec.Estimated != (i < row.estimated) || rec.Outcome != llm.Outcome(row.err.Class) {
					t.Errorf("record %d is %+v", i, rec)
				}
				if b := rec.Cost > 0; b != (row.estimated+row.metered > 0) {
					t.Errorf("record %d costs %d", i, rec.Cost)
				}
				if rec.Estimated && rec.Cost < estimate {
					t.Errorf("record %d is settled at %d, less than the worst case %d", i, rec.Cost, estimate)
				}
			}
			if row.metered > 0 && got.Cost != costOnce*money.Pico(row.metered) {
				t.Errorf("the result costs %d", got.Cost)
			}
		})
	}
}

func TestMoreRoomIsDoubledUpToTheModelsLimit(t *testing.T) {
	t.Parallel()
	b := setup(t, is(llm.Truncated), says(mood))
	if got, err := b.router.Call(t.Context(), b.req); err != nil || got.Cost != 2*costOnce {
		t.Fatalf("got %+v, %v", got, err)
	}
	if first, second := b.script.calls[0].MaxTokens, b.script.calls[1].MaxTokens; first != 100 || second != 200 {
		t.Errorf("room for %d, then %d; want it doubled", first, second)
	}
	full := luna
	full.MaxTokens = 32768
	b = setupWith(t, func(cfg *llm.Config) { cfg.Roles[llm.IntentClassifier] = llm.Ladder{full} }, is(llm.Truncated))
	if _, err := b.router.Call(t.Context(), b.req); llm.ClassOf(err) != llm.Truncated {
		t.Errorf("got %v, want the first truncation: the model has no more room", err)
	}
}

func TestToolCallsBesideARefusalAreNotReturned(t *testing.T) {
	t.Parallel()
	b := procedure(t, func(context.Context, llm.Call) (llm.Answer, error) {
		return llm.Answer{ToolCalls: []llm.ToolCall{{Name: "pay", Arguments: []byte(`{}`)}}}, &llm.Error{Class: llm.Refused, Text: "I will not."}
	})
	b.req.Role = llm.IntentClassifier
	b.script.steps = b.claude.steps
	b.req.Schema, b.req.Tools = nil, []llm.Tool{{Name: "pay", Input: compile(t, `{"type":"object","properties":{}}`)}}
	got, err := b.router.Call(t.Context(), b.req)
	if llm.ClassOf(err) != llm.Refused || got.ToolCalls != nil || got.Ending != "" {
		t.Errorf("got %+v, %v; want a refusal and nothing to execute", got, err)
	}
	if b.ledger.All()[0].Answer != "I will not." {
		t.Errorf("record %+v", b.ledger.All()[0])
	}
}

func TestWhoeverGaveUpGetsNoPerson(t *testing.T) {
	t.Parallel()
	b := procedure(t)
	ctx, cancel := context.WithCancel(t.Context())
	b.claude.steps = []step{func(ctx context.Context, _ llm.Call) (llm.Answer, error) {
		cancel()
		<-ctx.Done()
		return llm.Answer{}, &llm.Error{Class: llm.Timeout, MayBeBilled: true, Cause: ctx.Err()}
	}}
	if _, err := b.router.Call(ctx, b.req); llm.ClassOf(err) != llm.Cancelled {
		t.Errorf("got %v, want cancelled", err)
	}
	if len(b.desk.cards) != 0 || b.ledger.Held() != 0 || b.ledger.All()[0].Cost == 0 {
		t.Errorf("cards %+v, %d held, records %+v", b.desk.cards, b.ledger.Held(), b.ledger.All())
	}
}

func TestWhoeverHasGoneIsNotChargedForACall(t *testing.T) {
	t.Parallel()
	b := procedure(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.router.Call(ctx, b.req); llm.ClassOf(err) != llm.Cancelled {
		t.Errorf("got %v, want cancelled", err)
	}
	late, done := context.WithTimeout(t.Context(), -time.Second)
	defer done()
	if got, err := b.router.Call(late, b.req); err != nil || got.Ending != llm.Human || got.Cost != 0 {
		t.Errorf("got %+v, %v; want a person, and nothing sent", got, err)
	}
	if len(b.ledger.All()) != 0 || b.ledger.Held() != 0 {
		t.Errorf("%d records, %d held", len(b.ledger.All()), b.ledger.Held())
	}
}

func TestACallerWhoGoesDuringAWaitGetsNoPerson(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	b := setupWith(t, func(cfg *llm.Config) {
		cfg.Roles[llm.ProcedureStep] = tiers
		cfg.Wait = func(ctx context.Context, _ time.Duration) error {
			cancel()
			return ctx.Err()
		}
	})
	b.claude.steps = []step{is(llm.Rate)}
	b.req.Role = llm.ProcedureStep
	if got, err := b.router.Call(ctx, b.req); llm.ClassOf(err) != llm.Rate || len(b.desk.cards) != 0 {
		t.Errorf("got %+v, %v, %d cards", got, err, len(b.desk.cards))
	}
}

func TestTheCallersDeadlineEndsTheClimbAndAPersonIsAsked(t *testing.T) {
	t.Parallel()
	b := procedure(t, func(ctx context.Context, _ llm.Call) (llm.Answer, error) {
		<-ctx.Done()
		return llm.Answer{}, &llm.Error{Class: llm.Timeout, MayBeBilled: true, Cause: ctx.Err()}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	got, err := b.router.Call(ctx, b.req)
	if err != nil || got.Ending != llm.Human || len(got.Chain) != 1 {
		t.Errorf("got %+v, %v; want a person after one attempt", got, err)
	}
}

func TestAProviderThatForgetsItsErrorTypeIsAServerError(t *testing.T) {
	t.Parallel()
	b := setup(t, func(context.Context, llm.Call) (llm.Answer, error) { return llm.Answer{}, errors.New("broken pipe") })
	if _, err := b.router.Call(t.Context(), b.req); llm.ClassOf(err) != llm.Server || !strings.Contains(err.Error(), "broken pipe") {
		t.Errorf("got %v", err)
	}
	if rec := b.ledger.All()[0]; !rec.Estimated || rec.Cost == 0 {
		t.Errorf("record %+v, want it settled as an estimate", rec)
	}
}
