package demo_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/store"
)

// journaled counts what crossed between product and world.
func (w world) journaled(kind string) (n int) {
	w.t.Helper()
	for _, e := range w.Sim.Journal(0) {
		if string(e.Kind) == kind {
			n++
		}
	}
	return n
}

// openTasks counts the open tasks of a kind.
func (w world) openTasks(number, kind string) (n int) {
	w.t.Helper()
	for _, t := range w.Server.Tenants() {
		if t.Numbers[0].Display != number {
			continue
		}
		st, err := w.Server.Store(t.ID)
		if err != nil {
			w.t.Fatal(err)
		}
		tasks, _, err := st.Tasks(w.t.Context(), store.TaskQuery{State: store.TaskOpen, Kind: kind, Limit: store.MaxTaskPage})
		if err != nil {
			w.t.Fatal(err)
		}
		n = len(tasks)
	}
	return n
}

// givesUp cancels a booking whose prompt is on the phone.
func (w world) givesUp(number string) *phone {
	w.t.Helper()
	p := w.summary(number, "Hi, I'd like a 90 minute massage tomorrow afternoon", "Mary Wambui")
	p.tap("yes")
	p.prompt()
	p.say("cancel")
	mustSay(w.t, p.tap("yes"), "cancelled")
	return p
}

func TestMoneyAfterACancellationGoesBackByItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	customer, admin := w.givesUp("+254700000031"), w.phone(wanjiku)
	customer.pin("1234") // the prompt was still on the phone
	mustSay(t, customer.hear(), "you had cancelled", "returning it")
	mustSay(t, customer.hear(), "has been returned")
	mustSay(t, admin.hear(), "being returned")
	mustSay(t, admin.hear(), "has been returned")
	ctxIdle(t, w)
	if n := w.journaled("reversal.accepted"); n != 1 {
		t.Errorf("%d reversals were asked for", n)
	}
	if n := w.openTasks(spa, "refund"); n != 0 {
		t.Errorf("%d refund tasks for what went back by itself", n)
	}
}

func TestTroublesOfReversals(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		how, want string
		after     time.Duration
		tasks     int
	}{
		{"failed", "couldn't return", 0, 1},
		{"refuse", "couldn't return", 0, 1},
		{"timeout", "couldn't return", 0, 1},
		{"none", "couldn't return", 31 * time.Minute, 1},
		{"lose", "has been returned", 0, 0}, // its result comes all the same
	} {
		t.Run(r.how, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if status, raw := w.post("/sim/daraja/next", map[string]any{"reversal": r.how}); status != http.StatusOK {
				t.Fatalf("%d %s", status, raw)
			}
			customer := w.givesUp("+254700000032")
			customer.pin("1234")
			mustSay(t, customer.hear(), "you had cancelled")
			if r.after > 0 {
				w.advance(r.after)
			}
			mustSay(t, customer.hear(), r.want)
			w.advance(time.Hour)
			if n := w.openTasks(spa, "refund"); n != r.tasks {
				t.Errorf("%d refund tasks, want %d", n, r.tasks)
			}
			if n := w.journaled("reversal.accepted") + w.journaled("reversal.refused"); n != 1 {
				t.Errorf("a reversal was asked for %d times", n)
			}
		})
	}
}

func TestABookingCancelledInTimeIsPaidBack(t *testing.T) {
	t.Parallel()
	for _, card := range []bool{false, true} {
		w := newWorld(t)
		p := w.gardener("+254700000033", "Hi, I need my lawn mowed on Friday at 10")
		if card {
			p.tap("card")
			p.hear()
			w.page(http.MethodPost, p.link(), "pay")
		} else {
			p.tap("yes")
			p.pin("1234")
		}
		mustSay(t, p.hear(), "confirmed")
		h := p.say("I want to cancel my booking")
		if !strings.Contains(h.Text, "Shall I cancel") {
			t.Fatalf("asked %q", h.Text)
		}
		mustSay(t, p.tap("yes"), "is cancelled", "returning your KES 500")
		if !p.heardInTime(w, "has been returned") {
			for _, e := range w.Sim.Journal(0) {
				t.Logf("%s %s %s %s %d", e.Kind, e.Code, e.Status, e.Error, e.HTTPStatus)
			}
			t.Fatal("nobody heard of the return")
		}
		if n := w.openTasks(kijani, "refund"); n != 0 {
			t.Errorf("%d refund tasks", n)
		}
	}
}
