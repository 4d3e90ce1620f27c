package coord_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/coord"
	"github.com/ratiba/ratiba/internal/coord/coordtest"
)

func TestLocalConforms(t *testing.T) {
	t.Parallel()
	coordtest.Conform(t, func(t *testing.T) (a, b coord.Hot) {
		t.Helper()
		l := coord.NewLocal(clock.Real{})
		t.Cleanup(func() { _ = l.Close() })
		return l, l
	})
}

func TestCloseEndsLocalSubscriptions(t *testing.T) {
	t.Parallel()
	l := coord.NewLocal(clock.Real{})
	subscribed, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		l.Subscribe(t.Context(), "x", func(coord.Note) { close(subscribed) })
	}()
	<-subscribed
	for range 2 {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	<-ended
}

// What a process keeps is bounded: the oldest goes first.
func TestLocalForgetsTheOldest(t *testing.T) {
	t.Parallel()
	ctx, l := t.Context(), coord.NewLocal(clock.Real{})
	value := make([]byte, coord.MaxValue)
	const many = 600 // 38 MB
	for i := range many {
		l.Set(ctx, strconv.Itoa(i), value, time.Hour)
	}
	kept := 0
	for i := range many {
		if _, ok := l.Get(ctx, strconv.Itoa(i)); ok {
			kept++
		} else if kept > 0 {
			t.Fatalf("%d is gone and an older one is there", i)
		}
	}
	if kept < 450 || kept > 512 {
		t.Errorf("%d of %d values are kept, want what 32 MiB hold", kept, many)
	}
}

// Locks that ran out are forgotten, and their fences still rise.
func TestLocalForgetsLocks(t *testing.T) {
	t.Parallel()
	at := clock.NewFixed(time.Date(2026, 4, 25, 9, 0, 0, 0, time.UTC))
	ctx, l := t.Context(), coord.NewLocal(at)
	var last int64
	for i := range 5000 {
		if i%100 == 0 {
			at.Set(at.Now().Add(time.Minute))
		}
		lock, ok, err := l.Lock(ctx, strconv.Itoa(i%1500), time.Second)
		if err != nil || !ok || lock.Fence <= last {
			t.Fatalf("lock %d: %v %v, fence %d after %d", i, ok, err, lock.Fence, last)
		}
		last = lock.Fence
	}
}
