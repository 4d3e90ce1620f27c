package bookingsql_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/app/booking/bookingsql"
	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/money"
)

func TestHoldThenConfirmKeepsWhatWasAgreed(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.mustHold("B1", "asha", "grace", local(3, 9, 0))
	want := calendar.Booking{
		ID: "B1", Code: "CB1", ContactID: "asha", Name: "Asha", ServiceID: "massage", StaffID: "grace", StaffName: "Grace",
		Start: local(3, 9, 0), End: local(3, 10, 0), Status: calendar.Held, Price: money.Major(3500, "KES"),
		Deposit: money.Major(1000, "KES"), Paid: money.Major(0, "KES"), HoldUntil: morning.Add(10 * time.Minute),
		ChangeUntil: local(2, 9, 0), MoveUntil: local(2, 9, 0), Version: 1,
		Terms: calendar.Terms{
			Cancel: 24 * time.Hour, Move: 24 * time.Hour, Refunds: []calendar.RefundStep{{Before: 24 * time.Hour, Percent: 100}},
			NoShow: 72 * time.Hour, Reminders: []time.Duration{24 * time.Hour, 2 * time.Hour}, Feedback: time.Hour,
		},
	}
	if diff := cmp.Diff(want, b); diff != "" {
		t.Fatalf("held booking (-want +got):\n%s", diff)
	}
	if _, err := s.confirm(b, 999, "R1"); err == nil {
		t.Fatal("a booking was confirmed for less than its deposit")
	}
	b = s.mustConfirm(b)
	want.Status, want.Paid, want.Version = calendar.Confirmed, money.Major(1000, "KES"), 2
	if diff := cmp.Diff(want, b); diff != "" {
		t.Fatalf("confirmed booking (-want +got):\n%s", diff)
	}
	again := s.mustConfirm(b)
	if diff := cmp.Diff(b, again); diff != "" {
		t.Fatalf("the same receipt again changed the booking:\n%s", diff)
	}
	_, err := s.confirm(b, 1000, "another")
	wantCode(t, err, calendar.WrongState)
}

func TestP7NoDoubleBooking(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	const racers = 64
	var wg sync.WaitGroup
	errs := make([]error, racers)
	start := make(chan struct{})
	for i := range racers {
		wg.Go(func() {
			<-start
			_, errs[i] = s.hold(fmt.Sprintf("B%d", i), fmt.Sprintf("c%d", i), "grace", local(3, 10, 0))
		})
	}
	close(start)
	wg.Wait()
	won := 0
	for i, err := range errs {
		if err == nil {
			won++
			continue
		}
		r := wantCode(t, err, calendar.SlotTaken)
		if len(r.Alternatives) == 0 {
			t.Fatal("the loser was offered nothing")
		}
		// Any alternative can really be had, until somebody takes it.
		if i%16 == 1 {
			alt := r.Alternatives[0]
			s.mustHold(fmt.Sprintf("A%d", i), "late", alt.StaffID, alt.Start)
			if err := s.release("late", fmt.Sprintf("A%d", i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if won != 1 {
		t.Fatalf("%d of %d got the slot, want 1", won, racers)
	}
	if n := s.count(overlaps); n != 0 {
		t.Fatalf("%d overlapping rows", n)
	}
}

// Rows written past every check are still refused: the database is the last guard.
func TestP7TheDatabaseRefusesOverlap(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.mustHold("B1", "asha", "grace", local(3, 10, 0)) // occupies 10:00 to 11:15
	b2 := s.mustHold("B2", "ben", "grace", local(3, 14, 0))
	for name, query := range map[string]string{
		"a row inside is refused":            `UPDATE occupancy SET starts_at = $1, ends_at = $2 WHERE booking_id = 'B2'`,
		"an insert for another subject's id": `INSERT INTO occupancy (booking_id, subject, starts_at, ends_at) SELECT id, 'grace', $1, $2 FROM bookings WHERE id = 'B2' ON CONFLICT (booking_id, subject) DO UPDATE SET starts_at = excluded.starts_at, ends_at = excluded.ends_at`,
	} {
		err := s.Write(t.Context(), func(tx db.Tx) error {
			return db.Exec(t.Context(), tx, name, query, db.At(local(3, 11, 0)), db.At(local(3, 12, 0)))
		})
		if !db.IsOverlap(err) {
			t.Errorf("%s: got %v, want a refused overlap", name, err)
		}
	}
	err := s.Write(t.Context(), func(tx db.Tx) error {
		return db.Exec(t.Context(), tx, "touching", `UPDATE occupancy SET starts_at = $1, ends_at = $2 WHERE booking_id = $3`,
			db.At(local(3, 11, 15)), db.At(local(3, 12, 0)), b2.ID)
	})
	if err != nil {
		t.Errorf("a row that touches was refused: %v", err)
	}
}

func TestExpiredHoldGivesItsSlotToWhoNeedsIt(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	first := s.mustHold("B1", "asha", "grace", local(3, 10, 0))
	_, err := s.hold("B2", "ben", "grace", local(3, 10, 0))
	wantCode(t, err, calendar.SlotTaken)
	s.now = first.HoldUntil
	if !has(s.free("ben", day(3)).Slots, local(3, 10, 0)) {
		t.Fatal("a slot whose hold ran out is not offered")
	}
	s.mustHold("B2", "ben", "grace", local(3, 10, 0))
	if n := s.count(`SELECT COUNT(*) FROM bookings b JOIN booking_history h ON h.booking_id = b.id AND h.version = b.version
		WHERE b.id = 'B1' AND b.status = 'expired' AND h.event = 'expired'`); n != 1 {
		t.Fatal("the hold that ran out is not on record as expired")
	}
	_, err = s.confirm(first, 1000, "R1")
	if r := wantCode(t, err, calendar.HoldExpired); len(r.Alternatives) == 0 {
		t.Fatal("who paid too late was offered nothing")
	}
	if err := s.release("ben", "B2"); err != nil {
		t.Fatal(err)
	}
	if b := s.mustConfirm(first); b.Status != calendar.Confirmed {
		t.Fatalf("a free slot was not taken again: %+v", b)
	}
}

// A hold that ran out before it was replaced is on record as what happened
// first, whoever it was with.
func TestAHoldThatRanOutCanBeReplaced(t *testing.T) {
	t.Parallel()
	for staff, event := range map[string]string{"grace": "expired", "jane": "released"} {
		s := newShop(t)
		s.now = s.mustHold("B1", "asha", "grace", local(3, 10, 0)).HoldUntil
		a := slotArgs("B2", "asha", staff, local(3, 15, 0), s.now.Add(time.Minute))
		a.Replaces = "B1"
		if _, err := s.holdArgs(a); err != nil {
			t.Fatalf("with %s: %v", staff, err)
		}
		if n := s.count(`SELECT COUNT(*) FROM bookings b JOIN booking_history h ON h.booking_id = b.id
			WHERE b.id = 'B1' AND b.status = 'expired' AND b.version = 2 AND h.version = 2 AND h.event = $1`, event); n != 1 {
			t.Errorf("with %s: the replaced hold is not on record as %s", staff, event)
		}
		if n := s.count(`SELECT COUNT(*) FROM occupancy`); n != 1 {
			t.Errorf("with %s: %d times are taken, want one", staff, n)
		}
	}
}

func TestRetakeIsRefusedWhenTheCustomerIsElsewhere(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	first := s.mustHold("B1", "asha", "grace", local(3, 10, 0))
	if err := s.release("asha", "B1"); err != nil {
		t.Fatal(err)
	}
	s.mustHold("B2", "asha", "jane", local(3, 10, 30))
	_, err := s.confirm(first, 1000, "R1")
	wantCode(t, err, calendar.HoldExpired)
	s.now = local(3, 10, 0)
	_, err = s.await(first, s.now.Add(time.Hour))
	wantCode(t, err, calendar.HoldExpired)
}

func TestHoldIsIdempotentByItsBooking(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	a := s.mustHold("B1", "asha", "grace", local(3, 10, 0))
	if diff := cmp.Diff(a, s.mustHold("B1", "asha", "grace", local(3, 10, 0))); diff != "" {
		t.Fatal(diff)
	}
	_, err := s.hold("B1", "ben", "grace", local(3, 10, 0))
	wantCode(t, err, calendar.WrongState)
}

func TestACodeThatIsTakenIsDrawnAgain(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.mustHold("B1", "asha", "grace", local(3, 10, 0))
	a := slotArgs("B2", "ben", "grace", local(4, 10, 0), morning.Add(time.Minute))
	a.Code = "CB1"
	_, err := s.holdArgs(a)
	r := wantCode(t, err, calendar.SlotTaken)
	if len(r.Alternatives) == 0 || !r.Alternatives[0].Start.Equal(a.Start) {
		t.Fatalf("the free start does not come first: %+v", r.Alternatives)
	}
}

func TestHoldRefusals(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		edit func(*calendar.HoldSlotArgs)
		code string
	}{
		{"a start off the grid is refused, not rounded", func(a *calendar.HoldSlotArgs) { a.Start = local(3, 10, 10) }, calendar.OffGrid},
		{"a start in the break", func(a *calendar.HoldSlotArgs) { a.Start = local(3, 13, 0) }, calendar.OutsideHours},
		{"a visit that would run into the break", func(a *calendar.HoldSlotArgs) { a.Start = local(3, 12, 30) }, calendar.OutsideHours},
		{"a start before opening", func(a *calendar.HoldSlotArgs) { a.Start = local(3, 8, 30) }, calendar.OutsideHours},
		{"a start in the past", func(a *calendar.HoldSlotArgs) { a.Start = local(2, 9, 0).AddDate(0, 0, -5) }, calendar.TooSoon},
		{"a start past the horizon", func(a *calendar.HoldSlotArgs) { a.Start = local(2, 9, 0).AddDate(0, 0, 32) }, calendar.TooFar},
		{"a day the business is closed", func(a *calendar.HoldSlotArgs) { a.Start = local(6, 10, 0) }, calendar.Closed},
		{"a day off", func(a *calendar.HoldSlotArgs) { a.Start = local(5, 10, 0) }, calendar.OutsideHours},
		{"somebody who does not offer the service", func(a *calendar.HoldSlotArgs) { a.ServiceID, a.StaffID = "facial", "jane" }, calendar.NotEligible},
		{"somebody who does not exist", func(a *calendar.HoldSlotArgs) { a.StaffID = "nobody" }, calendar.NotEligible},
		{"a hidden service", func(a *calendar.HoldSlotArgs) { a.ServiceID = "private" }, calendar.NotEligible},
		{"a service that does not exist", func(a *calendar.HoldSlotArgs) { a.ServiceID = "x" }, calendar.NotEligible},
		{"a hold that would be over at once", func(a *calendar.HoldSlotArgs) { a.HoldUntil = morning }, bookingsql.InvalidArguments},
		{"a hold that replaces nothing", func(a *calendar.HoldSlotArgs) { a.Replaces = "nothing" }, calendar.NoSuchBooking},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			a := slotArgs("B1", "asha", "grace", local(3, 10, 0), morning.Add(time.Minute))
			tc.edit(&a)
			_, err := s.holdArgs(a)
			r := wantCode(t, err, tc.code)
			for i, alt := range r.Alternatives {
				s.mustHold("B1", "asha", alt.StaffID, alt.Start)
				if i == 0 {
					break
				}
			}
		})
	}
}

func TestContactLimits(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.mustHold("B1", "asha", "grace", local(3, 10, 0))
	_, err := s.hold("B2", "asha", "jane", local(3, 10, 30))
	wantCode(t, err, calendar.OwnOverlap)
	s.mustHold("B2", "asha", "jane", local(3, 11, 0))
	_, err = s.hold("B3", "asha", "jane", local(3, 15, 0))
	wantCode(t, err, calendar.HoldLimit)

	a := slotArgs("B3", "asha", "jane", local(3, 10, 30), morning.Add(time.Minute))
	a.Replaces = "B1"
	_, err = s.holdArgs(a)
	wantCode(t, err, calendar.OwnOverlap) // with B2
	a.Replaces = "B2"
	_, err = s.holdArgs(a)
	wantCode(t, err, calendar.OwnOverlap) // with B1
	if n := s.count(`SELECT COUNT(*) FROM bookings WHERE status = 'held'`); n != 2 {
		t.Fatalf("%d holds after refused replacements, want both", n)
	}
	a.Start = local(3, 12, 0)
	if _, err = s.holdArgs(a); err != nil {
		t.Fatal(err)
	}
	if !has(s.free("ben", day(3)).Slots, local(3, 10, 30)) {
		t.Fatal("the replaced hold still takes its time")
	}
	s.now = s.now.Add(time.Hour) // all have run out
	s.mustHold("B4", "asha", "jane", local(3, 15, 0))
}

func TestRescheduleSecuresBeforeItFrees(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.mustConfirm(s.mustHold("B1", "asha", "grace", local(4, 10, 0)))
	s.mustHold("B2", "ben", "grace", local(4, 15, 0))

	_, err := s.move(b, "grace", local(4, 14, 30))
	r := wantCode(t, err, calendar.SlotTaken)
	if len(r.Alternatives) == 0 {
		t.Fatal("no alternatives")
	}
	if has(s.free("ben", day(4)).Slots, local(4, 10, 0)) {
		t.Fatal("a refused move gave the old time away")
	}
	moved, err := s.move(b, "grace", local(4, 10, 30)) // into its own time
	if err != nil {
		t.Fatal(err)
	}
	if moved.Code != b.Code || moved.ID != b.ID || !moved.ChangeUntil.Equal(local(3, 10, 30)) || moved.Version != b.Version+1 {
		t.Fatalf("moved booking: %+v", moved)
	}
	again, err := s.move(b, "grace", local(4, 10, 30))
	if err != nil || again.Version != moved.Version {
		t.Fatalf("the same move again: %+v, %v", again, err)
	}
	_, err = s.move(b, "grace", local(4, 11, 0))
	wantCode(t, err, calendar.Changed)

	other, err := s.move(moved, "jane", local(3, 12, 0))
	if err != nil {
		t.Fatal(err)
	}
	if other.StaffName != "Jane" || s.count(`SELECT COUNT(*) FROM occupancy WHERE booking_id = 'B1'`) != 1 {
		t.Fatalf("move to another person: %+v", other)
	}
	if !has(s.free("ben", day(4)).Slots, local(4, 10, 0)) {
		t.Fatal("the old time is still taken")
	}
}

func TestChangesUntilTheCutOffTheBookingWasMadeWith(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.mustConfirm(s.mustHold("B1", "asha", "grace", local(4, 10, 0)))
	apply(t, s.DB, `{"services": [{"key": "other", "name": {"en": "Other"}, "minutes": 30, "price": 1}],
		"staff": [{"key": "grace", "name": "Grace", "hours": {"mon": ["09:00-10:00"]}}], "policy": {"cancel_hours": 0}}`)
	s.now = local(3, 10, 0).Add(time.Second)
	_, err := s.cancel(b)
	wantCode(t, err, calendar.PolicyCutoff)
	_, err = s.move(b, "grace", local(9, 10, 0))
	wantCode(t, err, calendar.PolicyCutoff)
	s.now = local(3, 10, 0)
	c, err := s.cancel(b)
	if err != nil || c.Status != calendar.Cancelled {
		t.Fatalf("cancel at the cut-off: %+v, %v", c, err)
	}
	if again, err := s.cancel(b); err != nil || again.Version != c.Version {
		t.Fatalf("the same cancellation again: %+v, %v", again, err)
	}
	_, err = s.cancel(c)
	wantCode(t, err, calendar.WrongState)
	_, err = s.confirm(b, 1000, "RB1")
	wantCode(t, err, calendar.WrongState)
	if n := s.count(`SELECT COUNT(*) FROM occupancy`); n != 0 {
		t.Fatalf("%d rows still occupied", n)
	}
}

func TestAnothersBookingDoesNotExist(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.mustHold("B1", "asha", "grace", local(4, 10, 0))
	b.ContactID = "eve"
	_, err := s.confirm(b, 1000, "R")
	wantCode(t, err, calendar.NoSuchBooking)
	_, err = s.cancel(b)
	wantCode(t, err, calendar.NoSuchBooking)
	_, err = s.move(b, "grace", local(4, 12, 0))
	wantCode(t, err, calendar.NoSuchBooking)
	_, err = s.await(b, s.now)
	wantCode(t, err, calendar.NoSuchBooking)
	wantCode(t, s.release("eve", "B1"), calendar.NoSuchBooking)
}
