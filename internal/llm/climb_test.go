package llm_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/money"
)

// dice is a provider that fails as a property test draws it.
type dice struct {
	t     *rapid.T
	model llm.Model
	calls int
	bill  money.Pico
}

func (d *dice) Complete(_ context.Context, call llm.Call) (llm.Answer, error) {
	d.calls++
	outcome := rapid.SampledFrom([]string{"sure", "unsure", "garbage", "timeout", "rate", "quota", "server", "refused", "truncated", "invalid_request", "auth"}).Draw(d.t, "outcome")
	usage := llm.Usage{Input: rapid.IntRange(0, 20).Draw(d.t, "in"), Output: rapid.IntRange(0, call.MaxTokens).Draw(d.t, "out")}
	d.bill += d.model.Cost(usage, at)
	answer := llm.Answer{Usage: usage, Metered: true}
	switch outcome {
	case "sure":
		answer.Text = mood
	case "unsure":
		answer.Text = sure("0.5")
	case "garbage":
		answer.Text = "Sure!"
	case "timeout": // billed, and nobody knows how much
		return llm.Answer{}, &llm.Error{Class: llm.Timeout, MayBeBilled: true}
	case "truncated", "refused":
		return llm.Answer{}, &llm.Error{Class: llm.Class(outcome), Usage: usage, Metered: true, MayBeBilled: true}
	default:
		d.bill -= d.model.Cost(usage, at)
		return llm.Answer{}, &llm.Error{Class: llm.Class(outcome), RetryAfter: time.Duration(rapid.IntRange(0, 9).Draw(d.t, "retry")) * time.Second}
	}
	return answer, nil
}

// TestEveryClimbKeepsItsPromises draws ladders, tiers, ceilings and failures.
func TestEveryClimbKeepsItsPromises(t *testing.T) {
	t.Parallel()
	all := catalogue(t)
	schema := compile(t, moodSchema)
	haiku, _ := all.Model("anthropic", "claude-haiku-4-5")
	rung := llm.Rung{Provider: "anthropic", Model: haiku.ID, MaxTokens: 100, Timeout: time.Minute}
	rapid.Check(t, func(t *rapid.T) {
		ladder := llm.Ladder{}
		for range rapid.IntRange(1, 4).Draw(t, "rungs") {
			ladder = append(ladder, rung)
		}
		human := rapid.Bool().Draw(t, "human")
		if human {
			ladder = append(ladder, llm.Rung{Human: true})
		}
		vendor, ledger, people := &dice{t: t, model: haiku}, llm.NewMemory(clock.NewFixed(at)), &desk{}
		limits := llm.DefaultCeilings()
		limits.Hard = money.USD * money.Pico(rapid.IntRange(0, 40).Draw(t, "hard")) / 10_000
		r, err := llm.New(llm.Config{
			Roles: llm.Roles{llm.ProcedureStep: ladder}, Catalogue: all, Providers: map[string]llm.Provider{"anthropic": vendor}, Ledger: ledger,
			Policies: everybody{Ceilings: limits}, Escalations: people, Clock: clock.NewFixed(at), Stopwatch: clock.NewFixed(at),
			Wait: func(context.Context, time.Duration) error { return nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Call(context.Background(), llm.Request{ //nolint:usetesting // rapid has no context.
			Role: llm.ProcedureStep, Tenant: "t", Thread: "c", Schema: schema, Messages: []llm.Message{{Role: llm.User, Content: "a message of some length"}},
			MinTier: rapid.IntRange(0, 4).Draw(t, "min"), MaxTier: rapid.IntRange(-1, 4).Draw(t, "max"),
		})
		var cost money.Pico
		tier, called := 0, 0
		for _, a := range got.Chain {
			if a.Tier < tier || a.Reason == "" {
				t.Fatalf("the chain goes back or gives no reason: %+v", got.Chain)
			}
			tier, cost = a.Tier, cost+a.Cost
			if a.CallID != "" {
				called++
			}
		}
		records := ledger.All()
		var stored money.Pico
		for _, rec := range records {
			stored += rec.Cost
		}
		switch {
		case called > 6 || called != vendor.calls || called != len(records) || ledger.Held() != 0:
			t.Fatalf("%d in the chain, %d calls, %d records, %d held", called, vendor.calls, len(records), ledger.Held())
		case cost != got.Cost || cost != stored || cost < vendor.bill:
			t.Fatalf("the chain costs %d, the result %d, the records %d, the bill %d", cost, got.Cost, stored, vendor.bill)
		case cost > limits.Hard:
			t.Fatalf("%d was spent under a ceiling of %d", cost, limits.Hard)
		case human && err != nil:
			t.Fatalf("a ladder that ends in a person failed: %v", err)
		case (got.Ending == llm.Human) != (len(people.cards) == 1) || got.Ending == llm.Human && !human:
			t.Fatalf("ending %s with %d cards", got.Ending, len(people.cards))
		case err != nil && llm.ClassOf(err) == "" && !errors.Is(err, llm.ErrBudget):
			t.Fatalf("an error of no class: %v", err)
		case err == nil && got.Ending != llm.Human && (got.JSON == nil || (got.Ending == llm.Answered) != (got.Confidence >= llm.DefaultThreshold)):
			t.Fatalf("ending %s: %+v", got.Ending, got)
		}
	})
}
