package releasehold_test

import (
	"testing"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/desk/desktest"
)

func TestAReleasedSlotIsFreeAndABookingIsLeftAlone(t *testing.T) {
	t.Parallel()
	s := desktest.New(t)
	b := s.Hold("asha", "B1", desktest.At(3, 10, 0))
	for range 2 { // the second time it is no hold any more
		desktest.Must[struct{}](s, "asha", calendar.ReleaseHold, calendar.ReleaseHoldArgs{BookingID: b.ID})
	}
	other := s.Confirmed("ben", "B2", b.Start)
	desktest.Must[struct{}](s, "ben", calendar.ReleaseHold, calendar.ReleaseHoldArgs{BookingID: other.ID})
	got := desktest.Must[calendar.Bookings](s, "ben", calendar.QueryBookings, calendar.QueryBookingsArgs{ContactID: "ben"})
	if len(got.Bookings) != 1 || got.Bookings[0].Status != calendar.Confirmed {
		t.Fatalf("a confirmed booking was released: %+v", got)
	}
	desktest.Refused[calendar.Alternatives](s, "ben", calendar.ReleaseHold, calendar.ReleaseHoldArgs{BookingID: "none"}, calendar.NoSuchBooking)
}
