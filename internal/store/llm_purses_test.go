package store_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/llm/ledgertest"
	"github.com/ratiba/ratiba/internal/store"
)

// A call under way is no part of the costs; once its time is over it is, as
// lost, at its worst case.
func TestACallThatNobodySettledCountsAsLost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i, until := range []time.Time{noon, later(1)} {
		rec := llm.Record{
			ID: string(rune('a' + i)), Role: llm.AnswerShaper, Tier: 1, Thread: "t", Outcome: llm.Lost, Estimated: true, Cost: 7, Account: llm.AccountThread, At: noon,
		}
		err := store.Calls{Open: openAs(b.Tenant)}.Reserve(t.Context(), llm.Reservation{
			ID: rec.ID, Thread: "t", Account: llm.AccountThread, Worst: 7, Owner: "node-1", At: noon, ExpiresAt: until, Ceilings: llm.DefaultCeilings(), Lost: rec,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	b.want("14", "SELECT cost_pico FROM llm_purses WHERE ceiling = 'thread' AND holder = 't' AND day = 0")
	b.want("2", "SELECT COUNT(*) FROM llm_calls WHERE owner = 'node-1' AND outcome = 'lost'")
	got, err := b.RoleCosts(t.Context(), noon)
	want := []store.RoleCost{{Role: llm.AnswerShaper, Calls: 1, Failed: 1, Cost: 7}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("costs, %v (-want +got):\n%s", err, diff)
	}
}

func TestP9TheStoredLedgerKeepsItsPromises(t *testing.T) {
	t.Parallel()
	ledgertest.Run(t, func(t *testing.T, real clock.Clock) llm.Ledger {
		t.Helper()
		return store.Calls{Open: openAs(setup(t).Tenant), Real: real}
	})
}
