package bookingsql_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/db/dbtest"
)

// theLastSlot is a shop of one person and two free hours: the last one that
// everybody wants, and another on the day after.
const theLastSlot = `
services: [{key: massage, name: {en: Massage}, minutes: 60, price: 3500}]
staff: [{key: grace, name: Grace, hours: {tue-thu: ["10:00-11:00"]}}]
policy: {notice_minutes: 0, horizon_days: 30}
`

// rush has n customers try for the same start at once, and returns what the
// losers were offered instead.
func rush(tb testing.TB, s *shop, round, n int) []calendar.Slot {
	tb.Helper()
	at := local(3, 10, 0)
	errs := make([]error, n)
	var start, done sync.WaitGroup
	start.Add(1)
	for i := range n {
		done.Go(func() {
			start.Wait()
			_, errs[i] = s.hold(fmt.Sprintf("R%dB%d", round, i), fmt.Sprint("c", i), "grace", at)
		})
	}
	start.Done()
	done.Wait()
	won := 0
	var offered []calendar.Slot
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		r, refused := errors.AsType[*calendar.Refusal](err)
		if !refused || r.Code != calendar.SlotTaken || len(r.Alternatives) == 0 {
			tb.Fatalf("a loser is answered with %v", err)
		}
		offered = append(offered, r.Alternatives...)
	}
	if won != 1 || s.count(overlaps) != 0 {
		tb.Fatalf("%d of %d have the slot", won, n)
	}
	return offered
}

// Of a thousand who try for the last slot at once, one has it; the others are
// told so, with times that are really free, and nobody meets a deadlock. It runs
// on either backend.
func TestP7AThousandForTheLastSlot(t *testing.T) {
	t.Parallel()
	s := &shop{TB: t, DB: open(t, theLastSlot), zone: nairobi(t), now: morning}
	for _, alt := range rush(t, s, 1, 1000) {
		if alt.Start.Equal(local(3, 10, 0)) {
			t.Fatal("the slot that is taken is offered again")
		}
	}
	a := day(4)
	if got := s.free("late", a).Slots; len(got) != 1 {
		t.Fatalf("what was offered is not free: %v", got)
	}
	if _, err := s.hold("L", "late", "grace", local(4, 10, 0)); err != nil {
		t.Errorf("an alternative cannot be had: %v", err)
	}
}

// BenchmarkLastSlot is a thousand answers to a thousand who want one slot: from
// the first attempt to the last refusal with its alternatives, committed.
func BenchmarkLastSlot(b *testing.B) {
	s := &shop{TB: b, DB: open(b, theLastSlot), zone: nairobi(b), now: morning}
	b.Logf("on %s", dbtest.Backend(b))
	round := 0
	for b.Loop() {
		round++
		rush(b, s, round, 1000)
		b.StopTimer()
		for _, table := range []string{"occupancy", "booking_history", "bookings"} {
			if err := s.Write(b.Context(), func(tx db.Tx) error { return db.Exec(b.Context(), tx, "clear", "DELETE FROM "+table) }); err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
	}
}
