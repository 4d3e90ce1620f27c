// Package coordtest is what every hot tier must do, as tests. Only tests import
// it; it imports coord.
package coordtest

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/coord"
)

// patience is how long something that must happen may take.
const patience = 20 * time.Second

// short is a time to live that a test waits out, and long one that no test does.
const (
	short = 30 * time.Millisecond
	long  = time.Hour
)

// Conform runs the suite. open returns two clients of one empty tier: two
// processes, or twice the same where there is only one. Topics are the suite's,
// so open's tier is used by nobody else.
func Conform(t *testing.T, open func(t *testing.T) (a, b coord.Hot)) {
	t.Helper()
	for name, test := range map[string]func(t *testing.T, a, b coord.Hot){
		"a lock has one holder":                   oneHolder,
		"a lock runs out and its fence rises":     fences,
		"of many who want a lock one gets it":     contended,
		"what was done is remembered for a while": remembered,
		"a cache keeps small values for a while":  cached,
		"every subscriber is told, in order":      told,
		"who is slow is told of a gap":            slow,
		"a bucket holds its rate":                 rate,
		"a tier that answers says so":             func(t *testing.T, a, _ coord.Hot) { t.Helper(); must(t, a.Ping(t.Context())) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := open(t)
			test(t, a, b)
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Eventually waits until ok, asking now and then.
func Eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(patience)
	for !ok() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("after %v: %s", patience, what)
		}
	}
}

func take(t *testing.T, h coord.Hot, name string, ttl time.Duration) (coord.Lock, bool) {
	t.Helper()
	l, ok, err := h.Lock(t.Context(), name, ttl)
	must(t, err)
	return l, ok
}

func oneHolder(t *testing.T, a, b coord.Hot) {
	t.Helper()
	first, ok := take(t, a, "x", long)
	if !ok || first.Name != "x" {
		t.Fatalf("Lock = %v, %v; want the free lock", first, ok)
	}
	if _, ok := take(t, b, "x", long); ok {
		t.Fatal("a second holder got the lock")
	}
	if _, ok := take(t, b, "y", long); !ok {
		t.Error("one name locks another")
	}
	ok, err := a.Extend(t.Context(), first, long)
	if must(t, err); !ok {
		t.Error("the holder could not extend")
	}
	stranger := coord.Lock{Name: "x", Fence: first.Fence - 1}
	if ok, err = b.Extend(t.Context(), stranger, long); err != nil || ok {
		t.Errorf("Extend by a stranger = %v, %v", ok, err)
	}
	must(t, b.Unlock(t.Context(), stranger))
	if _, ok := take(t, b, "x", long); ok {
		t.Fatal("a stranger's unlock freed the lock")
	}
	must(t, a.Unlock(t.Context(), first))
	second, ok := take(t, b, "x", long)
	if !ok || second.Fence <= first.Fence {
		t.Fatalf("after unlock: %v, %v; want it with a fence over %d", second, ok, first.Fence)
	}
	must(t, a.Unlock(t.Context(), first)) // late
	if _, ok := take(t, a, "x", long); ok {
		t.Error("an old holder's unlock freed the new one's lock")
	}
}

func fences(t *testing.T, a, b coord.Hot) {
	t.Helper()
	last, ok := take(t, a, "x", short)
	if !ok {
		t.Fatal("the lock is not free")
	}
	for range 4 {
		var next coord.Lock
		Eventually(t, "the lock does not run out", func() bool {
			next, ok = take(t, b, "x", short)
			return ok
		})
		if next.Fence <= last.Fence {
			t.Fatalf("fence %d after %d", next.Fence, last.Fence)
		}
		if ok, err := a.Extend(t.Context(), last, long); err != nil || ok {
			t.Errorf("Extend of a lock that was lost = %v, %v", ok, err)
		}
		last, a, b = next, b, a
	}
	free, _ := take(t, a, "z", short)
	<-time.After(2 * short)
	if ok, err := a.Extend(t.Context(), free, long); err != nil || ok {
		t.Errorf("Extend of a lock that ran out = %v, %v", ok, err)
	}
	if _, ok := take(t, b, "z", long); !ok {
		t.Error("a lock that ran out is not free")
	}
}

func contended(t *testing.T, a, b coord.Hot) {
	t.Helper()
	var mu sync.Mutex
	var got []int64
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			l, ok, err := []coord.Hot{a, b}[i%2].Lock(t.Context(), "x", long)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			} else if ok {
				got = append(got, l.Fence)
			}
		})
	}
	if all.Wait(); len(got) != 1 {
		t.Errorf("%d got the lock, want 1", len(got))
	}
}

func remembered(t *testing.T, a, b coord.Hot) {
	t.Helper()
	ctx := t.Context()
	if a.Seen(ctx, "k") {
		t.Error("seen before it was done")
	}
	a.Remember(ctx, "k", long)
	if !b.Seen(ctx, "k") {
		t.Error("not seen by the other")
	}
	if b.Seen(ctx, "other") {
		t.Error("one key stands for another")
	}
	b.Remember(ctx, "k", short)
	Eventually(t, "still seen after its time", func() bool { return !a.Seen(ctx, "k") })
	a.Remember(ctx, "never", 0)
	Eventually(t, "something without time is kept", func() bool { return !b.Seen(ctx, "never") })
}

func cached(t *testing.T, a, b coord.Hot) {
	t.Helper()
	ctx := t.Context()
	if v, ok := a.Get(ctx, "k"); ok {
		t.Errorf("an empty cache has %q", v)
	}
	value := []byte("one\x00\xff")
	a.Set(ctx, "k", value, long)
	value[0] = 'X'
	if v, ok := b.Get(ctx, "k"); !ok || string(v) != "one\x00\xff" {
		t.Errorf("Get = %q, %v", v, ok)
	}
	b.Set(ctx, "k", nil, long)
	if v, ok := a.Get(ctx, "k"); !ok || len(v) != 0 {
		t.Errorf("an empty value is %q, %v", v, ok)
	}
	must(t, a.Delete(ctx, "k"))
	must(t, a.Delete(ctx, "k"))
	if _, ok := b.Get(ctx, "k"); ok {
		t.Error("a deleted value is there")
	}
	a.Set(ctx, "k", []byte("small"), long)
	a.Set(ctx, "k", bytes.Repeat([]byte("x"), coord.MaxValue+1), long)
	if v, ok := b.Get(ctx, "k"); ok {
		t.Errorf("after a value that is too large there are %d bytes", len(v))
	}
	a.Set(ctx, "k", bytes.Repeat([]byte("x"), coord.MaxValue), short)
	Eventually(t, "there after its time", func() bool { _, ok := b.Get(ctx, "k"); return !ok })
	if a.Seen(ctx, "k") {
		t.Error("cache and dedupe share keys")
	}
}

// Ear is a subscriber that keeps what it is told.
type Ear struct {
	mu    sync.Mutex
	notes []string // "-" for a gap
}

// Hear keeps a note.
func (e *Ear) Hear(n coord.Note) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if n.Gap {
		e.notes = append(e.notes, "-")
		return
	}
	e.notes = append(e.notes, string(n.Payload))
}

// Heard returns all that was told, with spaces between.
func (e *Ear) Heard() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.Join(e.notes, " ")
}

// Subscribe subscribes an ear until the test, or the function it returns, ends
// that.
func Subscribe(t *testing.T, h coord.Hot, topic string, e *Ear) (leave func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var listening sync.WaitGroup
	listening.Go(func() { h.Subscribe(ctx, topic, e.Hear) })
	leave = func() {
		cancel()
		listening.Wait()
	}
	t.Cleanup(leave)
	return leave
}

func told(t *testing.T, a, b coord.Hot) {
	t.Helper()
	ctx := t.Context()
	topic, other := t.Name()+"/x", t.Name()+"/y"
	var near, far, elsewhere Ear
	leave := Subscribe(t, a, topic, &near)
	Subscribe(t, b, topic, &far)
	Subscribe(t, b, other, &elsewhere)
	for _, e := range []*Ear{&near, &far, &elsewhere} {
		Eventually(t, "no gap at the beginning", func() bool { return strings.HasPrefix(e.Heard(), "-") })
	}
	var want strings.Builder
	for i := range 50 {
		_, _ = fmt.Fprintf(&want, " n%d", i)
		must(t, a.Publish(ctx, topic, fmt.Appendf(nil, "n%d", i)))
	}
	for _, e := range []*Ear{&near, &far} {
		Eventually(t, "not all was told", func() bool { return strings.HasSuffix(e.Heard(), " n49") })
		if got := strings.TrimLeft(e.Heard(), "- "); got != want.String()[1:] {
			t.Errorf("told %s, want%s", got, want.String())
		}
	}
	leave()
	before := near.Heard()
	must(t, b.Publish(ctx, topic, []byte("late")))
	must(t, b.Publish(ctx, other, []byte("here")))
	Eventually(t, "the rest is not told", func() bool {
		return strings.HasSuffix(far.Heard(), " late") && strings.HasSuffix(elsewhere.Heard(), " here")
	})
	if near.Heard() != before {
		t.Errorf("who left heard %s", near.Heard())
	}
	if strings.Contains(elsewhere.Heard(), "n") {
		t.Errorf("one topic is told another's: %s", elsewhere.Heard())
	}
	// A topic that was left can be joined again.
	Subscribe(t, a, topic, &near)
	Eventually(t, "no gap after joining again", func() bool { return near.Heard() != before })
	must(t, b.Publish(ctx, topic, []byte("again")))
	Eventually(t, "not told after joining again", func() bool { return strings.HasSuffix(near.Heard(), " again") })
}

func slow(t *testing.T, a, b coord.Hot) {
	t.Helper()
	topic := t.Name()
	ctx, cancel := context.WithCancel(t.Context())
	release, begun := make(chan struct{}), make(chan struct{}, 1)
	var mu sync.Mutex
	gaps, last := 0, ""
	var listening sync.WaitGroup
	listening.Go(func() {
		b.Subscribe(ctx, topic, func(n coord.Note) {
			mu.Lock()
			if last = string(n.Payload); n.Gap {
				gaps++
			}
			mu.Unlock()
			select {
			case begun <- struct{}{}:
			default:
			}
			<-release
		})
	})
	defer listening.Wait()
	defer cancel()
	<-begun
	for range 2000 {
		must(t, a.Publish(t.Context(), topic, []byte("n")))
	}
	must(t, a.Publish(t.Context(), topic, []byte("end")))
	close(release)
	Eventually(t, "a gap and the last note are not told", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return gaps > 1 && last == "end"
	})
}

// rate checks that two processes together take a burst and one token every
// Every, by the clock outside, and that a wait ends with a token.
func rate(t *testing.T, a, b coord.Hot) {
	t.Helper()
	var real clock.Real
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		name, every := fmt.Sprintf("rate-%d", n), time.Duration(rapid.IntRange(200, 5000).Draw(rt, "every_us"))*time.Microsecond
		r := coord.Rate{Every: every, Burst: rapid.IntRange(1, 10).Draw(rt, "burst")}
		takers := []coord.Taker{a.Bucket(name, r), b.Bucket(name, r)}
		var before, after []time.Time
		for i := range rapid.IntRange(1, 15).Draw(rt, "tokens") {
			for {
				start := real.Now()
				wait := takers[i%2].Take(t.Context(), "k", start)
				if wait == 0 {
					before, after = append(before, start), append(after, real.Now())
					break
				}
				if wait < 0 || wait > every {
					rt.Fatalf("a wait of %v for a token every %v", wait, every)
				}
				<-time.After(wait)
			}
		}
		for i := range before {
			for j := i; j < len(before); j++ {
				span := after[j].Sub(before[i]) + time.Millisecond // clocks are read apart
				if got, most := j-i+1, r.Burst+int(span/every)+1; got > most {
					rt.Fatalf("%d tokens in %v at one every %v and %d at once", got, span, every, r.Burst)
				}
			}
		}
		for range r.Burst {
			if takers[0].Take(t.Context(), "other", real.Now()) != 0 {
				rt.Fatal("one key empties another's bucket")
			}
		}
	})
}
