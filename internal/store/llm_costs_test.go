package store_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/prompt"
	"github.com/ratiba/ratiba/internal/store"
)

// spent stores model calls of one tenant.
func (b *bundle) spent(records ...llm.Record) {
	b.t.Helper()
	calls := store.Calls{Open: openAs(b.Tenant)}
	for i, r := range records {
		r.ID, r.Tenant, r.Thread, r.Turn, r.Account, r.CanaryArm = string(rune('a'+i)), "01TENANT", "t", "u", llm.AccountThread, "stable"
		if err := calls.Record(b.t.Context(), r); err != nil {
			b.t.Fatal(err)
		}
	}
}

func TestRoleCostsAreSummedFromATimeOn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.spent(
		llm.Record{Role: llm.IntentClassifier, Tier: 1, Outcome: llm.OK, Usage: llm.Usage{Input: 400, Output: 30}, Cost: 60_000_000, At: noon},
		llm.Record{Role: llm.IntentClassifier, Tier: 1, Outcome: "timeout", Usage: llm.Usage{Input: 400, Cached: 100, Output: 400}, Cost: 300_000_000, At: later(1)},
		llm.Record{Role: llm.IntentClassifier, Tier: 0, Outcome: llm.OK, At: later(2)},
		llm.Record{Role: llm.AnswerShaper, Tier: 2, Outcome: llm.Unsure, Usage: llm.Usage{Input: 9, CacheWrite: 5}, Cost: 1 << 62, At: later(3)},
		llm.Record{Role: llm.Reorientation, Tier: 1, Outcome: llm.OK, Cost: 1, At: noon.Add(-time.Second)},
	)
	got, err := b.RoleCosts(t.Context(), noon)
	if err != nil {
		t.Fatal(err)
	}
	want := []store.RoleCost{
		{Role: llm.AnswerShaper, Calls: 1, Tokens: llm.Usage{Input: 9, CacheWrite: 5}, Cost: 1 << 62},
		{Role: llm.IntentClassifier, Calls: 2, ByCode: 1, Failed: 1, Tokens: llm.Usage{Input: 800, Cached: 100, Output: 430}, Cost: 360_000_000},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("costs (-want +got):\n%s", diff)
	}
	if got, err := b.RoleCosts(t.Context(), later(60)); err != nil || len(got) != 0 {
		t.Errorf("later: %v, %v; want none", got, err)
	}
}

func TestATrackRecordTellsCountAccuracyAndShares(t *testing.T) {
	t.Parallel()
	b := setup(t)
	answer := func(intent, signal string, at time.Time) llm.Record {
		return llm.Record{Role: llm.IntentClassifier, Tier: 1, Outcome: llm.OK, Answer: `{"intent":"` + intent + `"}`, FailureSignal: signal, At: at}
	}
	b.spent(
		answer("book", "", noon), answer("book", "fsm_rejected", later(1)), answer("question", "", later(2)), answer("old", "", noon.Add(-1)),
		llm.Record{Role: llm.IntentClassifier, Tier: 0, Outcome: llm.OK, At: later(3)}, // code's answer is not stored
		llm.Record{Role: llm.IntentClassifier, Tier: 1, Outcome: "malformed", Answer: `{"intent":"spam"}`, At: later(4)},
		llm.Record{Role: llm.SlotExtractor, Tier: 1, Outcome: llm.OK, Answer: `{"intent":"spam"}`, At: later(4)},
		answer("new", "", later(60)),
	)
	got, err := b.TrackRecord(t.Context(), llm.IntentClassifier, "intent", noon, later(60))
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(got.Shares, func(a, b prompt.Share) int { return b.Count - a.Count })
	want := prompt.Track{Count: 4, Checked: 4, Right: 3, Shares: []prompt.Share{{Name: "book", Count: 2}, {Name: "question", Count: 1}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("track record (-want +got):\n%s", diff)
	}
	if got, err := b.TrackRecord(t.Context(), llm.Reorientation, "intent", noon, later(60)); err != nil || got.Count != 0 || got.String() != "" {
		t.Errorf("of a role nobody called: %+v, %v", got, err)
	}
}
