package deleteservice_test

import (
	"testing"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/desk/desktest"
	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/tool"
)

func TestADeletedServiceStaysDeletedAndItsBookingsStand(t *testing.T) {
	t.Parallel()
	s := desktest.New(t)
	b := s.Confirmed("asha", "B1", desktest.At(4, 10, 0))
	args := calendar.DeleteServiceArgs{ServiceID: "massage"}
	var shown calendar.Deleted
	if res := s.Preview(calendar.DeleteService, args); !res.OK || res.Decode(&shown) != nil || shown.Upcoming != 1 || shown.Name["en"] != "Massage" {
		t.Errorf("the preview shows %+v", shown)
	}
	desktest.Must[calendar.Deleted](s, "", calendar.DeleteService, args)
	s.Apply()
	desktest.Refused[any](s, "ben", calendar.HoldSlot, desktest.HoldArgs("ben", "B2", desktest.At(4, 14, 0), s.Now.Add(600e9)), calendar.NotEligible)
	if got := desktest.Must[calendar.Bookings](s, "asha", calendar.QueryBookings, calendar.QueryBookingsArgs{ContactID: "asha"}); len(got.Bookings) != 1 || got.Bookings[0].ID != b.ID {
		t.Errorf("bookings: %+v", got)
	}
	desktest.Refused[any](s, "", calendar.DeleteService, args, calendar.NoSuchService)
	s.As = tool.Actor{ID: "+254711000001", Role: tenant.Staff, Staff: "grace"}
	desktest.Refused[any](s, "", calendar.DeleteService, args, tool.NotPermitted)
}
