package reschedulebooking_test

import (
	"testing"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/desk/desktest"
)

func TestAMoveKeepsIDAndCodeAndGivesTheOldTimeBack(t *testing.T) {
	t.Parallel()
	s := desktest.New(t)
	b := s.Confirmed("asha", "B1", desktest.At(4, 10, 0))
	args := calendar.RescheduleBookingArgs{BookingID: b.ID, StaffID: "jane", Start: desktest.At(4, 10, 30), Version: b.Version}
	got := desktest.Must[calendar.Booking](s, "asha", calendar.RescheduleBooking, args)
	if got.ID != b.ID || got.Code != b.Code || got.StaffName != "Jane" || !got.Start.Equal(args.Start) || got.Status != calendar.Confirmed {
		t.Fatalf("moved booking: %+v", got)
	}
	s.Hold("ben", "B2", b.Start)
	args.Start = desktest.At(4, 15, 0)
	desktest.Refused[calendar.Alternatives](s, "asha", calendar.RescheduleBooking, args, calendar.Changed)
	args.Version = got.Version
	args.StaffID, args.Start = "grace", b.Start
	if alt := desktest.Refused[calendar.Alternatives](s, "asha", calendar.RescheduleBooking, args, calendar.SlotTaken); len(alt.Slots) == 0 {
		t.Fatal("no alternatives")
	}
}

func TestAHoldIsNotMoved(t *testing.T) {
	t.Parallel()
	s := desktest.New(t)
	b := s.Hold("asha", "B1", desktest.At(4, 10, 0))
	args := calendar.RescheduleBookingArgs{BookingID: b.ID, StaffID: "jane", Start: desktest.At(4, 11, 0), Version: b.Version}
	desktest.Refused[calendar.Alternatives](s, "asha", calendar.RescheduleBooking, args, calendar.WrongState)
}
