package holdslot_test

import (
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/desk/desktest"
)

func TestAHeldSlotIsRefusedToOthersWithAlternatives(t *testing.T) {
	t.Parallel()
	s := desktest.New(t)
	b := s.Hold("asha", "B1", desktest.At(3, 10, 0))
	if b.Status != calendar.Held || !b.HoldUntil.Equal(s.Now.Add(10*time.Minute)) {
		t.Fatalf("held booking: %+v", b)
	}
	args := desktest.HoldArgs("ben", "B2", b.Start, b.HoldUntil)
	alt := desktest.Refused[calendar.Alternatives](s, "ben", calendar.HoldSlot, args, calendar.SlotTaken)
	if len(alt.Slots) == 0 {
		t.Fatal("no alternatives")
	}
	args.StaffID, args.Start = alt.Slots[0].StaffID, alt.Slots[0].Start
	desktest.Must[calendar.Booking](s, "ben", calendar.HoldSlot, args)
}

func TestNobodyHoldsForAnother(t *testing.T) {
	t.Parallel()
	s := desktest.New(t)
	args := desktest.HoldArgs("asha", "B1", desktest.At(3, 10, 0), s.Now.Add(time.Minute))
	desktest.Refused[calendar.Alternatives](s, "eve", calendar.HoldSlot, args, calendar.NoSuchBooking)
	args.Code = "lower"
	if res := s.Call("asha", calendar.HoldSlot, args); res.Code != "invalid_arguments" {
		t.Fatalf("a code nobody can type: %+v", res)
	}
}
