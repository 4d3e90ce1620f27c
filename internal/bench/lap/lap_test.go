package lap_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/ratiba/ratiba/internal/bench/lap"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var sink atomic.Pointer[[]byte]

// clients are two that count their calls; the second allocates more.
func clients(calls *[2]atomic.Int64) []lap.Client {
	return []lap.Client{
		{Name: "plain", Call: func(context.Context) error { calls[0].Add(1); return nil }},
		{Name: "heavy", Call: func(context.Context) error {
			calls[1].Add(1)
			for range 50 {
				b := make([]byte, 64)
				sink.Store(&b)
			}
			return nil
		}},
	}
}

func TestABenchCountsWhatItIsAskedFor(t *testing.T) {
	t.Parallel()
	var calls [2]atomic.Int64
	b := lap.Bench{Fast: clients(&calls), Slow: clients(&calls)}
	r, err := b.Do(t.Context(), lap.Command{Do: lap.Turns, Calls: 7})
	if err != nil || len(r.P50) != 2 || calls[0].Load() != 7 || calls[1].Load() != 7 {
		t.Errorf("turns: %+v, %v after %d and %d calls", r, err, calls[0].Load(), calls[1].Load())
	}
	if r, err = b.Do(t.Context(), lap.Command{Do: lap.Spent, Client: "heavy", Calls: 100}); err != nil || r.Allocs < 50 {
		t.Errorf("allocations: %+v, %v; want 50 a call at least", r, err)
	}
	if _, err = b.Do(t.Context(), lap.Command{Do: lap.Crowd, Client: "plain", Workers: 8, Calls: 5}); err != nil || calls[0].Load() != 7+8*5 {
		t.Errorf("crowd: %v after %d calls", err, calls[0].Load())
	}
	for _, c := range []lap.Command{{Do: "dance"}, {Do: lap.Spent, Client: "nobody", Calls: 1}, {Do: lap.Crowd, Client: "nobody"}, {Do: lap.Spent, Client: "plain"}} {
		if _, err := b.Do(t.Context(), c); err == nil {
			t.Errorf("%+v: want an error", c)
		}
	}
}

func TestAFailureOfAClientEndsTheMeasurement(t *testing.T) {
	t.Parallel()
	broken := []lap.Client{{Name: "broken", Call: func(context.Context) error { return errors.New("no answer") }}}
	b := lap.Bench{Fast: broken, Slow: broken}
	for _, do := range []string{lap.Turns, lap.Spent, lap.Crowd} {
		_, err := b.Do(t.Context(), lap.Command{Do: do, Client: "broken", Calls: 2, Workers: 2})
		if err == nil || !strings.Contains(err.Error(), "broken: no answer") {
			t.Errorf("%s: got %v", do, err)
		}
	}
}

func TestAnotherProgramIsMeasuredAlike(t *testing.T) {
	t.Parallel()
	toThere, fromHere := io.Pipe()
	toHere, fromThere := io.Pipe()
	var calls [2]atomic.Int64
	var got lap.Setup
	var there sync.WaitGroup
	there.Go(func() {
		err := lap.Serve(t.Context(), toThere, fromThere, func(s lap.Setup) (lap.Bench, error) {
			got = s
			return lap.Bench{Fast: clients(&calls)}, nil
		})
		if err != nil {
			t.Error(err)
		}
		_ = fromThere.Close()
	})
	r, err := lap.Dial(fromHere, toHere, lap.Setup{Fast: "http://a", Text: "habari", Schema: []byte(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	if res, err := r.Do(t.Context(), lap.Command{Do: lap.Turns, Calls: 3}); err != nil || len(res.P50) != 2 || calls[0].Load() != 3 {
		t.Errorf("turns there: %+v, %v", res, err)
	}
	if _, err := r.Do(t.Context(), lap.Command{Do: "dance"}); err == nil || !strings.Contains(err.Error(), "dance") {
		t.Errorf("a fault there: %v", err)
	}
	_ = fromHere.Close()
	if _, err := r.Do(t.Context(), lap.Command{Do: lap.Turns}); err == nil {
		t.Error("a program that ended was asked")
	}
	there.Wait()
	if got.Fast != "http://a" || got.Text != "habari" {
		t.Errorf("the setup came as %+v", got)
	}
}
