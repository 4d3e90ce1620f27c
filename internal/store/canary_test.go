package store_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/store"
	"github.com/ratiba/ratiba/internal/turn"
)

func TestAThreadKeepsItsArms(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write("a")
	b.turn(nil)
	if arms := b.load().Thread.Arms; len(arms) != 0 {
		t.Errorf("of nothing: %v", arms)
	}
	want := map[string]string{"intent_classifier": "canary:words", "slot_extractor": "stable"}
	b.write("b")
	b.turn(func(c *turn.Commit) { c.Thread.Arms = want })
	b.reopen(later(90))
	if diff := cmp.Diff(want, b.load().Thread.Arms); diff != "" {
		t.Errorf("arms (-want +got):\n%s", diff)
	}
}

func TestRolloutsAreKeptAsTheyWereSetLast(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, set := range []struct {
		role llm.Role
		llm.Rollout
		at time.Time
	}{
		{llm.SlotExtractor, llm.Rollout{Percent: 10}, noon},
		{llm.IntentClassifier, llm.Rollout{Percent: 5, Experiment: "words"}, noon},
		{llm.SlotExtractor, llm.Rollout{}, later(1)},
	} {
		if err := b.store.SetRollout(t.Context(), set.role, set.Rollout, set.at); err != nil {
			t.Fatal(err)
		}
	}
	b.reopen(later(90))
	got, err := b.store.Rollouts(t.Context())
	want := []store.Rollout{
		{Role: llm.IntentClassifier, Rollout: llm.Rollout{Percent: 5, Experiment: "words"}, UpdatedAt: noon},
		{Role: llm.SlotExtractor, UpdatedAt: later(1)},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if err := b.store.SetRollout(t.Context(), llm.SlotExtractor, llm.Rollout{Percent: 101}, noon); err == nil {
		t.Error("more than all was kept")
	}
}
