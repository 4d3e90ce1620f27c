package mailbox_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/message"
)

var noon = time.Date(2026, 4, 25, 9, 0, 0, 0, time.UTC)

const quiet = 1200 * time.Millisecond

// said is a message that arrived after noon; happened an event or timer.
func said(seq int64, after time.Duration) mailbox.Item {
	return mailbox.Item{Seq: seq, Message: &message.Inbound{Kind: message.Text, Text: strconv.FormatInt(seq, 10)}, ReceivedAt: noon.Add(after)}
}

func happened(seq int64, after time.Duration) mailbox.Item {
	return mailbox.Item{Seq: seq, Event: &mailbox.Event{Kind: mailbox.Timer, Name: strconv.FormatInt(seq, 10)}, ReceivedAt: noon.Add(after)}
}

func TestP4Next(t *testing.T) {
	t.Parallel()
	var crowd []mailbox.Item
	for i := range int64(30) {
		crowd = append(crowd, said(i+1, 0))
	}
	tests := []struct {
		name  string
		items []mailbox.Item
		now   time.Duration
		one   bool          // no bursts
		take  int           // items taken
		again time.Duration // when to look again after noon, for take 0; never when zero
	}{
		{name: "nothing waits"},
		{name: "a message is left alone for the quiet time", items: []mailbox.Item{said(1, 0)}, now: time.Second, again: quiet},
		{name: "a message is taken when the quiet time is over", items: []mailbox.Item{said(1, 0)}, now: quiet, take: 1},
		{name: "the last message counts for quiet", items: []mailbox.Item{said(1, 0), said(2, time.Second)}, now: quiet, again: time.Second + quiet},
		{name: "a burst is taken whole", items: []mailbox.Item{said(1, 0), said(2, time.Second)}, now: time.Second + quiet, take: 2},
		{name: "a talkative customer is answered after six seconds", items: []mailbox.Item{said(1, 0), said(2, 5900*time.Millisecond)}, now: 6 * time.Second, take: 2},
		{name: "and not before", items: []mailbox.Item{said(1, 0), said(2, 5900*time.Millisecond)}, now: 5950 * time.Millisecond, again: 6 * time.Second},
		{name: "twenty messages do not wait", items: crowd, take: 20},
		{name: "an event is taken alone and at once", items: []mailbox.Item{happened(1, 0), said(2, 0)}, take: 1},
		{name: "a burst stops at an event that happened", items: []mailbox.Item{said(1, 0), happened(2, 0), said(3, 0)}, take: 1},
		{name: "a timer that is due later is waited for", items: []mailbox.Item{happened(0, time.Hour)}, again: time.Hour},
		{name: "a timer that is due later does not cut the quiet time short", items: []mailbox.Item{said(1, 0), happened(0, time.Hour)}, now: time.Second, again: quiet},
		{name: "a timer that falls due in the quiet time ends the burst then", items: []mailbox.Item{said(1, 0), happened(0, time.Second)}, now: time.Second, take: 1},
		{name: "admins are answered one by one", items: []mailbox.Item{said(1, 0), said(2, 0)}, one: true, take: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			batch, again := mailbox.Next(tt.items, noon.Add(tt.now), quiet, !tt.one)
			if len(batch.Items) != tt.take {
				t.Fatalf("took %d items, want %d", len(batch.Items), tt.take)
			}
			if diff := cmp.Diff(tt.items[:tt.take], batch.Items, cmp.Transformer("nil", func(l []mailbox.Item) string { return strconv.Itoa(len(l)) })); diff != "" {
				t.Errorf("batch (-want +got):\n%s", diff)
			}
			want := time.Time{}
			if tt.again != 0 {
				want = noon.Add(tt.again)
			}
			if !again.Equal(want) {
				t.Errorf("look again at %v, want %v", again, want)
			}
		})
	}
}

// What is taken is a prefix in order, never more than a burst, never across an
// event; what is not taken is looked at again, and messages are ready at the
// latest MaxWait after the first.
func TestP4NextHoldsItsBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		at := time.Duration(0)
		var items []mailbox.Item
		for i := range rapid.IntRange(0, 45).Draw(rt, "items") {
			at += time.Duration(rapid.IntRange(0, 3000).Draw(rt, "gap_ms")) * time.Millisecond
			if rapid.IntRange(0, 9).Draw(rt, "kind") == 0 {
				items = append(items, happened(int64(i+1), at))
			} else {
				items = append(items, said(int64(i+1), at))
			}
		}
		now := noon.Add(time.Duration(rapid.IntRange(0, 120_000).Draw(rt, "now_ms")) * time.Millisecond)
		bursts := rapid.Bool().Draw(rt, "bursts")
		batch, again := mailbox.Next(items, now, quiet, bursts)

		if len(batch.Items) > mailbox.MaxBurst {
			rt.Fatalf("took %d items, want at most %d", len(batch.Items), mailbox.MaxBurst)
		}
		for i, it := range batch.Items {
			if it.Seq != items[i].Seq {
				rt.Fatalf("item %d is %d, want %d: order is lost", i, it.Seq, items[i].Seq)
			}
			if it.Event != nil && len(batch.Items) > 1 {
				rt.Fatal("an event shares its turn")
			}
		}
		if len(items) == 0 {
			return
		}
		if len(batch.Items) == 0 {
			if !again.After(now) {
				rt.Fatalf("nothing taken, yet look again at %v, now is %v", again, now)
			}
			if latest := items[0].ReceivedAt.Add(mailbox.MaxWait); items[0].Message != nil && again.After(latest) {
				rt.Fatalf("look again at %v, want at the latest %v", again, latest)
			}
			if b, _ := mailbox.Next(items, again, quiet, bursts); len(b.Items) == 0 {
				rt.Fatalf("nothing is ready at %v, when it was to be", again)
			}
		}
	})
}

func TestBatch(t *testing.T) {
	t.Parallel()
	burst := mailbox.Batch{Items: []mailbox.Item{said(1, 0), said(2, 0)}}
	if got := burst.Messages(); len(got) != 2 || got[0].Text != "1" || got[1].Text != "2" {
		t.Errorf("Messages = %v, want 1 and 2", got)
	}
	if burst.Event() != nil {
		t.Error("a burst has no event")
	}
	event := mailbox.Batch{Items: []mailbox.Item{happened(7, 0)}}
	if e := event.Event(); e == nil || e.Name != "7" {
		t.Errorf("Event = %v, want 7", e)
	}
	if got := event.Messages(); got != nil {
		t.Errorf("Messages = %v, want none", got)
	}
	if (mailbox.Batch{}).Event() != nil {
		t.Error("an empty batch has no event")
	}
}
