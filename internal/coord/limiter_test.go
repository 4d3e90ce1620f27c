package coord_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ratiba/ratiba/internal/coord"
)

// In any span of time a bucket gives at most its burst and one token every
// Every; a refused caller is told a wait after which there is one.
func TestLimiterHoldsItsRate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		rate := coord.Rate{Every: time.Duration(rapid.IntRange(1, 6000).Draw(rt, "every_ms")) * time.Millisecond, Burst: rapid.IntRange(1, 45).Draw(rt, "burst")}
		l := coord.NewLimiter(rate)
		now := time.Date(2026, 4, 25, 9, 0, 0, 0, time.UTC)
		var taken []time.Time
		for range rapid.IntRange(1, 150).Draw(rt, "calls") {
			now = now.Add(time.Duration(rapid.IntRange(0, 4000).Draw(rt, "gap_ms")) * time.Millisecond)
			wait := l.Take(t.Context(), "k", now)
			if wait < 0 {
				rt.Fatalf("wait %v", wait)
			}
			if wait > 0 {
				if l.Take(t.Context(), "k", now.Add(wait-1)) == 0 {
					rt.Fatal("a token came before the wait was over")
				}
				if l.Take(t.Context(), "k", now.Add(wait)) != 0 {
					rt.Fatalf("no token after the wait of %v", wait)
				}
				now = now.Add(wait)
			}
			taken = append(taken, now)
		}
		for i := range taken {
			for j := i; j < len(taken); j++ {
				if n, most := j-i+1, rate.Burst+int(taken[j].Sub(taken[i])/rate.Every); n > most {
					rt.Fatalf("%d tokens in %v, want at most %d", n, taken[j].Sub(taken[i]), most)
				}
			}
		}
		if l.Take(t.Context(), "another", now) != 0 {
			rt.Fatal("one key empties another's bucket")
		}
	})
}

func TestLimiterForgetsFullBuckets(t *testing.T) {
	t.Parallel()
	l := coord.NewLimiter(coord.Rate{Every: time.Second, Burst: 1})
	now := time.Date(2026, 4, 25, 9, 0, 0, 0, time.UTC)
	for i := range 100_002 {
		l.Take(t.Context(), string(rune(i%0xd000))+string(rune(i/0xd000)), now)
	}
	later := now.Add(time.Minute)
	if l.Take(t.Context(), "k", later) != 0 || l.Take(t.Context(), "k", later) == 0 {
		t.Error("after forgetting, a bucket must still count")
	}
}
