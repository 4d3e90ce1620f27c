package clock_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ratiba/ratiba/internal/clock"
)

var noon = time.Date(2026, 4, 25, 9, 0, 0, 0, time.UTC)

func TestAMovableClockNeverRunsBackwards(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		base := clock.NewFixed(noon)
		c := clock.NewMovable(base, rapid.Float64Range(0, 100).Draw(rt, "pace"))
		if !c.Now().Equal(noon) {
			rt.Fatalf("starts at %v, want its base's time", c.Now())
		}
		last := c.Now()
		for range rapid.IntRange(1, 20).Draw(rt, "steps") {
			base.Add(time.Duration(rapid.IntRange(0, 1000).Draw(rt, "passed")) * time.Second)
			at := noon.Add(time.Duration(rapid.IntRange(-1000, 100_000).Draw(rt, "set")) * time.Second)
			c.SetForward(at)
			now := c.Now()
			if now.Before(last) || now.Before(at) {
				rt.Fatalf("%v after %v, set to %v", now, last, at)
			}
			last = now
		}
	})
}

func TestPace(t *testing.T) {
	t.Parallel()
	for pace, want := range map[float64]time.Duration{0: time.Minute, 1: time.Minute, 60: time.Hour} {
		base := clock.NewFixed(noon)
		c := clock.NewMovable(base, pace)
		base.Add(time.Minute)
		if got := c.Now().Sub(noon); got != want {
			t.Errorf("pace %v: a minute is %v, want %v", pace, got, want)
		}
	}
}

func TestClocksAreUTC(t *testing.T) {
	t.Parallel()
	f := clock.NewFixed(noon.In(time.FixedZone("EAT", 3*3600)))
	f.Set(f.Now().In(time.FixedZone("EAT", 3*3600)))
	for _, c := range []clock.Clock{clock.Real{}, f} {
		if c.Now().Location() != time.UTC {
			t.Errorf("%T is in %v", c, c.Now().Location())
		}
	}
}
