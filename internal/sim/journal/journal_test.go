package journal_test

import (
	"context"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/sim/journal"
)

func TestEntriesAreNumberedAndFoundByKind(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 4, 25, 9, 0, 0, 0, time.UTC)
	j := journal.New(clock.NewFixed(now), 0)
	j.Add(journal.Entry{Kind: journal.PushAccepted, ID: "a"})
	j.Add(journal.Entry{Kind: journal.SendAccepted, ID: "b"})
	j.Add(journal.Entry{Kind: journal.PushRefused, ID: "c"})
	got := j.Since(1, "push.")
	if len(got) != 1 || got[0].ID != "c" || got[0].Seq != 3 || !got[0].At.Equal(now) {
		t.Errorf("got %+v, want the third entry", got)
	}
}

func TestAWaitEndsWithTheNextEntryOrWithItsContext(t *testing.T) {
	t.Parallel()
	j := journal.New(clock.Real{}, 0)
	found := make(chan []journal.Entry)
	go func() { found <- j.After(t.Context(), 1, "prompt.") }()
	j.Add(journal.Entry{Kind: journal.PromptEnded})
	j.Add(journal.Entry{Kind: journal.SendAccepted})
	j.Add(journal.Entry{Kind: journal.PromptEnded})
	if got := <-found; len(got) != 1 || got[0].Seq != 3 {
		t.Errorf("got %+v, want the third entry", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := j.After(ctx, 99, ""); got == nil || len(got) != 0 {
		t.Errorf("got %#v, want an empty list", got)
	}
}

func TestOldEntriesGoFirst(t *testing.T) {
	t.Parallel()
	const capacity = 10
	j := journal.New(clock.Real{}, capacity)
	for n := int64(1); n <= 100; n++ {
		j.Add(journal.Entry{Kind: journal.SendAccepted})
		got := j.Since(0, "")
		if first, last := got[0].Seq, got[len(got)-1].Seq; last != n || int64(len(got)) != last-first+1 || len(got) > capacity || n > 3 && len(got) < 3 {
			t.Fatalf("after %d entries %d are kept, from %d to %d", n, len(got), first, last)
		}
		if got := j.Since(n-1, ""); len(got) != 1 {
			t.Fatalf("the last entry alone came as %d", len(got))
		}
	}
}
