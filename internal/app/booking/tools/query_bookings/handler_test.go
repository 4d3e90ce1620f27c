package querybookings_test

import (
	"testing"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/desk/desktest"
)

func TestAContactSeesOwnBookingsOnlySoonestFirst(t *testing.T) {
	t.Parallel()
	s := desktest.New(t)
	s.Confirmed("asha", "B2", desktest.At(4, 9, 0))
	s.Confirmed("asha", "B1", desktest.At(3, 9, 0))
	s.Confirmed("ben", "B3", desktest.At(3, 11, 0))
	args := calendar.QueryBookingsArgs{ContactID: "asha"}
	got := desktest.Must[calendar.Bookings](s, "asha", calendar.QueryBookings, args).Bookings
	if len(got) != 2 || got[0].ID != "B1" || got[1].ID != "B2" {
		t.Fatalf("bookings: %+v", got)
	}
	s.Now = desktest.At(3, 12, 0)
	if got := desktest.Must[calendar.Bookings](s, "asha", calendar.QueryBookings, args).Bookings; len(got) != 1 {
		t.Fatalf("a visit that is over is still listed: %+v", got)
	}
	args.Past = true
	if got := desktest.Must[calendar.Bookings](s, "asha", calendar.QueryBookings, args).Bookings; len(got) != 2 || got[0].ID != "B1" {
		t.Fatalf("past bookings: %+v", got)
	}
	args.BookingID = "B3"
	if got := desktest.Must[calendar.Bookings](s, "asha", calendar.QueryBookings, args).Bookings; len(got) != 0 {
		t.Fatalf("another contact's booking: %+v", got)
	}
	desktest.Refused[calendar.Alternatives](s, "eve", calendar.QueryBookings, args, calendar.NoSuchBooking)
}

func TestACodeFindsABookingForTheBusinessAlone(t *testing.T) {
	t.Parallel()
	s := desktest.New(t)
	b := s.Confirmed("asha", "B1", desktest.At(3, 9, 0))
	args := calendar.QueryBookingsArgs{Code: b.Code}
	if got := desktest.Must[calendar.Bookings](s, "", calendar.QueryBookings, args).Bookings; len(got) != 1 || got[0].ID != "B1" {
		t.Fatalf("by its code: %+v", got)
	}
	desktest.Refused[calendar.Alternatives](s, "ben", calendar.QueryBookings, args, calendar.NoSuchBooking)
	args.ContactID = "ben"
	if got := desktest.Must[calendar.Bookings](s, "ben", calendar.QueryBookings, args).Bookings; len(got) != 0 {
		t.Fatalf("another contact's booking: %+v", got)
	}
}
