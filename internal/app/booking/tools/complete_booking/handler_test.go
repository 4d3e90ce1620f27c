package completebooking_test

import (
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/desk/desktest"
)

func TestAVisitIsCompletedOnceItIsOver(t *testing.T) {
	t.Parallel()
	s := desktest.New(t)
	b := s.Confirmed("asha", "B1", desktest.At(4, 10, 0))
	timer := calendar.VisitTimer + b.ID
	if got := s.Timers[timer]; got.Kind != calendar.TouchRemind || got.Version != b.Version {
		t.Fatalf("after the confirmation the timer is %+v", got)
	}
	args := calendar.CompleteBookingArgs{BookingID: b.ID}
	s.Now = b.End.Add(-time.Second)
	desktest.Refused[calendar.Alternatives](s, "asha", calendar.CompleteBooking, args, calendar.WrongState)
	s.Now = b.End
	if got := desktest.Must[calendar.Booking](s, "asha", calendar.CompleteBooking, args); got.Status != calendar.Completed {
		t.Fatalf("completed booking: %+v", got)
	}
	if got := s.Timers[timer]; got.Kind != calendar.TouchFeedback || !got.At.Equal(b.End.Add(time.Hour)) {
		t.Fatalf("after the visit the timer is %+v", got)
	}
	again := desktest.Must[calendar.Booking](s, "asha", calendar.CompleteBooking, args)
	if again.Version != b.Version+1 {
		t.Fatalf("completed twice: %+v", again)
	}
}
