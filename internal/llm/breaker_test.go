package llm_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/llm"
)

// ask makes a new call and returns how its chain ended.
func (b *bundle) ask(t *testing.T) (llm.Outcome, error) {
	t.Helper()
	b.req.Seq++
	got, err := b.router.Call(t.Context(), b.req)
	if len(got.Chain) == 0 {
		t.Fatalf("no chain, %v", err)
	}
	return got.Chain[len(got.Chain)-1].Outcome, err
}

func (b *bundle) wantOutcomes(t *testing.T, want ...llm.Outcome) {
	t.Helper()
	var got []llm.Outcome
	for range want {
		outcome, _ := b.ask(t)
		got = append(got, outcome)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("outcomes (-want +got):\n%s", diff)
	}
}

func TestAProviderThatKeepsFailingIsSkippedAndTriedWithOneCall(t *testing.T) {
	t.Parallel()
	down, server := llm.Outcome(llm.Server), slices.Repeat([]step{is(llm.Server)}, 7)
	b := setup(t, slices.Concat(server, []step{says(mood), is(llm.Server), says(mood)})...)
	b.wantOutcomes(t, down, down, down, down, down, llm.Skipped, llm.Skipped)
	if _, err := b.ask(t); llm.ClassOf(err) != llm.OutOfOrder {
		t.Errorf("got %v, want out of order", err)
	}
	b.clock.Add(14 * time.Second)
	b.wantOutcomes(t, llm.Skipped)
	b.clock.Add(time.Second)
	b.wantOutcomes(t, down, llm.Skipped) // the single call failed: twice as long
	b.clock.Add(29 * time.Second)
	b.wantOutcomes(t, llm.Skipped)
	b.clock.Add(time.Second)
	b.wantOutcomes(t, down, llm.Skipped)
	b.clock.Add(time.Minute)
	b.wantOutcomes(t, llm.OK, down, llm.OK) // closed again; one failure does not open it
	if opened, closed := b.events(t, "llm.breaker.opened"), b.events(t, "llm.breaker.closed"); len(opened) != 3 || len(closed) != 1 || opened[1]["pause_ms"] != 30000.0 {
		t.Errorf("opened %v, closed %v", opened, closed)
	}
}

func TestASpentQuotaOpensTheBreakerAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, is(llm.Quota), says(mood))
	b.wantOutcomes(t, llm.Outcome(llm.Quota), llm.Skipped)
	b.clock.Add(2 * time.Minute)
	b.wantOutcomes(t, llm.OK)
	if e := b.events(t, "llm.breaker.opened"); len(e) != 1 || e[0]["class"] != "quota" {
		t.Errorf("events %v", e)
	}
}

func TestAQuotaLeadsToTheRungOfAnotherVendor(t *testing.T) {
	t.Parallel()
	b := setupWith(t, func(cfg *llm.Config) {
		cfg.Roles[llm.IntentClassifier] = llm.Ladder{luna, luna, tiers[0]}
	}, is(llm.Quota))
	b.claude.steps = []step{says(mood), says(mood)}
	got, err := b.router.Call(t.Context(), b.req)
	want := []string{"1 quota (first rung)", "2 skipped (its provider's quota is spent)", "3 ok (tier 1 failed: quota)"}
	if diff := cmp.Diff(want, trail(got.Chain)); err != nil || diff != "" {
		t.Errorf("%v, chain (-want +got):\n%s", err, diff)
	}
	b.req.Seq = 1
	got, err = b.router.Call(t.Context(), b.req)
	want = []string{"1 skipped (its provider keeps failing)", "2 skipped (its provider keeps failing)", "3 ok (tier 2 failed: out_of_order)"}
	if diff := cmp.Diff(want, trail(got.Chain)); err != nil || diff != "" {
		t.Errorf("the next call: %v, chain (-want +got):\n%s", err, diff)
	}
}

func TestWhatSaysNothingAboutAProviderLeavesItInOrder(t *testing.T) {
	t.Parallel()
	for _, class := range []llm.Class{llm.Refused, llm.InvalidRequest} {
		b := setup(t, slices.Repeat([]step{is(class)}, 12)...)
		b.wantOutcomes(t, slices.Repeat([]llm.Outcome{llm.Outcome(class)}, 12)...)
	}
}

func TestOneCallAloneTriesAProviderAgain(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	began := make(chan struct{})
	slow := func(context.Context, llm.Call) (llm.Answer, error) {
		close(began)
		<-release
		return llm.Answer{Text: mood, Metered: true}, nil
	}
	b := setup(t, is(llm.Quota), slow, says(mood))
	b.wantOutcomes(t, llm.Outcome(llm.Quota))
	b.clock.Add(2 * time.Minute)
	probe := b.req
	probe.Seq = 1000
	var all sync.WaitGroup
	all.Go(func() {
		if got, err := b.router.Call(t.Context(), probe); err != nil || got.Ending != llm.Answered {
			t.Errorf("the single call: %+v, %v", got, err)
		}
	})
	<-began
	for range 8 {
		b.wantOutcomes(t, llm.Skipped)
	}
	close(release)
	all.Wait()
	b.wantOutcomes(t, llm.OK)
}

func TestAnAbandonedSingleCallLetsTheNextOneTry(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	gone := func(context.Context, llm.Call) (llm.Answer, error) {
		cancel()
		return llm.Answer{}, &llm.Error{Class: llm.Cancelled, MayBeBilled: true}
	}
	b := setup(t, is(llm.Quota), gone, says(mood))
	b.wantOutcomes(t, llm.Outcome(llm.Quota))
	b.clock.Add(2 * time.Minute)
	b.req.Seq = 50
	if _, err := b.router.Call(ctx, b.req); llm.ClassOf(err) != llm.Cancelled {
		t.Fatalf("got %v", err)
	}
	b.wantOutcomes(t, llm.OK)
}
