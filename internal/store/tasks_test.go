package store_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/store"
	"github.com/ratiba/ratiba/internal/turn"
)

func raise(b *bundle, id, kind string, due time.Time) {
	b.t.Helper()
	if err := b.RaiseTask(b.t.Context(), turn.TaskRow{ID: id, Kind: kind, Key: "key " + id, Detail: "call them", Due: due}, noon); err != nil {
		b.t.Fatal(err)
	}
}

func TestTasksAreListedInPagesByWhenTheyAreDue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 7 {
		raise(b, fmt.Sprintf("t%d", i), []string{"refund", "call_back"}[i%2], later(600-60*(i/2)))
	}
	raise(b, "t0", "refund", later(5)) // a key that is there: once
	raise(b, "t9", "poison", time.Time{})
	var got []string
	after, pages := "", 0
	for {
		page, next, err := b.Tasks(t.Context(), store.TaskQuery{Limit: 3, After: after})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range page {
			got = append(got, x.ID)
		}
		pages++
		if after = next; next == "" {
			break
		}
	}
	if want := "[t6 t4 t5 t2 t3 t0 t1 t9]"; fmt.Sprint(got) != want || pages != 3 {
		t.Errorf("got %v in %d pages, want %s in 3", got, pages, want)
	}
	page, _, err := b.Tasks(t.Context(), store.TaskQuery{Kind: "poison", State: store.TaskOpen})
	if err != nil || len(page) != 1 || !page[0].Due.Equal(noon.Add(24*time.Hour)) {
		t.Errorf("the one nobody gave a time: %+v, %v; want it due in a day", page, err)
	}
	for _, q := range []store.TaskQuery{{State: "lost"}, {Limit: 201}, {Limit: -1}, {After: "nowhere"}, {After: "MTA"}} {
		if _, _, err := b.Tasks(t.Context(), q); fault.CodeOf(err) != fault.Invalid {
			t.Errorf("%+v: %v, want that it means nothing", q, err)
		}
	}
}

func TestATaskIsTakenByOneAndDoneByThem(t *testing.T) {
	t.Parallel()
	b := setup(t)
	raise(b, "t1", "call_back", later(60))
	var won atomic.Int32
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			_, err := b.TakeTask(t.Context(), "t1", fmt.Sprintf("Admin  %d", i), noon)
			if err == nil {
				won.Add(1)
			} else if fault.CodeOf(err) != fault.Conflict {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Fatalf("%d have taken it, want one", won.Load())
	}
	owner := b.text("SELECT owner FROM tasks")
	if again, err := b.TakeTask(t.Context(), "t1", owner, later(5)); err != nil || !again.Taken.Equal(noon) {
		t.Errorf("again: %+v, %v; want no change", again, err)
	}
	if _, err := b.DoneTask(t.Context(), "t1", "Somebody", noon); fault.CodeOf(err) != fault.Conflict {
		t.Errorf("done by another: %v, want a conflict", err)
	}
	for range 2 {
		if done, err := b.DoneTask(t.Context(), "t1", owner, later(9)); err != nil || done.State != store.TaskDone || done.DoneBy != owner {
			t.Errorf("done: %+v, %v", done, err)
		}
	}
	if _, err := b.TakeTask(t.Context(), "t1", owner, noon); fault.CodeOf(err) != fault.Conflict {
		t.Errorf("taken once it is done: %v, want a conflict", err)
	}
	if _, err := b.TakeTask(t.Context(), "t2", owner, noon); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("a task that is not there: %v", err)
	}
	for _, who := range []string{"", " \n", string(make([]byte, 100))} {
		if _, err := b.TakeTask(t.Context(), "t1", who, noon); fault.CodeOf(err) != fault.Invalid {
			t.Errorf("owner %q: %v, want a refusal", who, err)
		}
	}
}
