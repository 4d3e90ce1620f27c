package golden_test

import (
	"flag"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/app/booking/flow"
	"github.com/ratiba/ratiba/internal/golden"
)

// elsewhere are the edges that only two processes at once can take, because one
// commits between another's reading and its commit, and those of paying by card,
// of ratings and of offers of the waitlist, which a job makes.
// The graph's own tests take them.
var elsewhere = []string{
	"FEEDBACK --> BACK", "FEEDBACK --> CLOSED", "FEEDBACK --> FEEDBACK", "WAITLIST --> WAITLIST", "WAITLIST_OFFER --> CLOSED",
	"WAITLIST_OFFER --> COLLECT", "WAITLIST_OFFER --> CONFIRM", "WAITLIST_OFFER --> GREET", "WAITLIST_OFFER --> WAITLIST_OFFER",
	"AWAITING_PAYMENT --> COLLECT", "AWAITING_PAYMENT --> PAYMENT_FAILED",
	"CONFIRM --> OFFER", "CONFIRM --> PAYMENT_FAILED", "HOLD_EXPIRED --> BACK", "PAID_TOO_LATE --> OFFER", "PAYMENT_FAILED --> OFFER",
}

// TestGoldenConversations replays every script. What a conversation was is
// shown when it went wrong.
func TestGoldenConversations(t *testing.T) { //nolint:tparallel // the share is summed when the group is done
	t.Parallel()
	scripts, err := golden.Load(os.DirFS("."), "scripts")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var seen golden.Edges
	var turns, tier0 int
	t.Run("scripts", func(t *testing.T) {
		for _, s := range scripts {
			t.Run(s.ID, func(t *testing.T) {
				t.Parallel()
				var log strings.Builder
				r, err := golden.Play(t.Context(), s, t.TempDir(), &seen, &log)
				if err != nil {
					t.Fatal(err)
				}
				if len(r.Faults) > 0 {
					t.Errorf("%s: %s\n%s\n%s\n%s", s.ID, s.About, strings.Join(r.Faults, "\n"), r.Talk, log.String())
				}
				mu.Lock()
				defer mu.Unlock()
				turns, tier0 = turns+r.Turns, tier0+r.Tier0
			})
		}
	})
	g, err := flow.New()
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(elsewhere)
	if missing := seen.Missing(g.Diagram()); !partial() && !cmp.Equal(missing, elsewhere) {
		t.Errorf("the edges of the graph that are in no conversation (-want +got):\n%s", cmp.Diff(elsewhere, missing))
	}
	t.Logf("%d scripts, %d customers' turns, %.1f %% without a model", len(scripts), turns, 100*float64(tier0)/float64(max(turns, 1)))
}

// partial reports whether only some scripts ran.
func partial() bool {
	f := flag.Lookup("test.run")
	return f != nil && strings.Contains(f.Value.String(), "/")
}
