package modelcheck_test

import (
	"errors"
	"flag"
	"testing"

	"github.com/ratiba/ratiba/internal/modelcheck"
)

// outside is how many things from outside happen on each path: one takes no
// time, two a second, three half a minute and four some ten minutes.
var outside = flag.Int("outside", 0, "things from outside on each path; 0: one under the race detector, else two")

func depth() int {
	switch {
	case *outside > 0:
		return *outside
	case modelcheck.Raced:
		return 1
	}
	return 2
}

// budget lets n things happen from outside.
func budget(n int) modelcheck.Budget {
	return modelcheck.Budget{
		Outside: n, Messages: n, Commands: n, Relays: 1, Briefs: 1, Callback: 2, Clock: n, Wait: 1, Crash: 1, Loads: 1, Trouble: 1,
	}
}

// TestPromisesHoldInEveryState explores every order of what customer, admins,
// provider, timers and crashes can do, from each start, and wants P2, P3, P5,
// P6 and P8 in every state.
func TestPromisesHoldInEveryState(t *testing.T) {
	t.Parallel()
	for _, start := range modelcheck.Starts() {
		t.Run(start, func(t *testing.T) {
			t.Parallel()
			r, err := modelcheck.Explore(t.Context(), modelcheck.Config{Start: start, Depth: 1000, Budget: budget(depth())})
			if err != nil {
				t.Fatal(err)
			}
			t.Log(r)
			if r.Violation != nil {
				t.Fatalf("%v\nfrom %s:\n%s", r.Violation, start, modelcheck.Trace(r.Path))
			}
			if !r.Ended {
				t.Error("the search was cut off")
			}
		})
	}
}

// TestTheCheckerFindsWhatIsBroken breaks one thing at a time.
func TestTheCheckerFindsWhatIsBroken(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		name    string
		start   string
		budget  modelcheck.Budget
		faults  modelcheck.Faults
		promise string
	}{
		{
			"the epoch is not compared at a send", modelcheck.Prompted,
			modelcheck.Budget{Messages: 2, Commands: 1},
			modelcheck.Faults{NoEpoch: true},
			"P5",
		},
		{
			"an earlier thread is not silenced", modelcheck.Prompted,
			modelcheck.Budget{Messages: 1, Commands: 1, Callback: 1},
			modelcheck.Faults{OwnThread: true},
			"P5",
		},
		{
			"the version is not compared at a commit", modelcheck.Paged,
			modelcheck.Budget{Messages: 1, Commands: 1, Loads: 1},
			modelcheck.Faults{NoVersion: true},
			"P3",
		},
		{
			"an interrupted prompt is sent again", modelcheck.Question,
			modelcheck.Budget{Messages: 1, Wait: 1},
			modelcheck.Faults{Blindly: true},
			"P6",
		},
		{
			"a late success is dropped", modelcheck.Lapsed,
			modelcheck.Budget{Callback: 1},
			modelcheck.Faults{DropLate: true},
			"P8",
		},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			r.budget.Outside = 3
			got, err := modelcheck.Explore(t.Context(), modelcheck.Config{Start: r.start, Depth: 14, Budget: r.budget, Faults: r.faults})
			if err != nil {
				t.Fatal(err)
			}
			b, found := errors.AsType[*modelcheck.BreachError](got.Violation)
			if !found || b.Promise != r.promise {
				t.Fatalf("found %v, want a breach of %s; %s\n%s", got.Violation, r.promise, got, modelcheck.Trace(got.Path))
			}
			t.Logf("%v after\n%s", b, modelcheck.Trace(got.Path))
		})
	}
}
