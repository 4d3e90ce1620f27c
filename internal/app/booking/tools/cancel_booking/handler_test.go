package cancelbooking_test

import (
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/desk/desktest"
)

func TestCancellingUntilTheCutOff(t *testing.T) {
	t.Parallel()
	s := desktest.New(t)
	b := s.Confirmed("asha", "B1", desktest.At(4, 10, 0))
	args := calendar.CancelBookingArgs{BookingID: b.ID, Reason: "ill", Version: b.Version}
	s.Now = b.ChangeUntil.Add(time.Second)
	desktest.Refused[calendar.Alternatives](s, "asha", calendar.CancelBooking, args, calendar.PolicyCutoff)
	s.Now = b.ChangeUntil
	if got := desktest.Must[calendar.Booking](s, "asha", calendar.CancelBooking, args); got.Status != calendar.Cancelled {
		t.Fatalf("cancelled booking: %+v", got)
	}
	s.Hold("ben", "B2", b.Start)
}

func TestTheBusinessIsNotBoundByTheCutOff(t *testing.T) {
	t.Parallel()
	s := desktest.New(t)
	b := s.Confirmed("asha", "B1", desktest.At(4, 10, 0))
	s.Now = desktest.At(4, 9, 0)
	args := calendar.CancelBookingArgs{BookingID: b.ID, Reason: "power cut", Version: b.Version}
	desktest.Must[calendar.Booking](s, "", calendar.CancelBooking, args)
}
