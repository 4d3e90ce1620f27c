package leavewaitlist_test

import (
	"testing"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/desk/desktest"
)

func TestWhoLeavesIsNoLongerInLine(t *testing.T) {
	t.Parallel()
	s := desktest.New(t)
	desktest.Must[calendar.Wait](s, "asha", calendar.JoinWaitlist, calendar.JoinWaitlistArgs{
		ID: "W1", ContactID: "asha", Name: "Asha", ServiceID: "massage", From: "2026-03-04", To: "2026-03-04",
	})
	args := calendar.LeaveWaitlistArgs{ID: "W1"}
	desktest.Refused[calendar.Alternatives](s, "eve", calendar.LeaveWaitlist, args, calendar.NotOnTheList)
	for range 2 { // leaving again changes nothing
		if got := desktest.Must[calendar.Wait](s, "asha", calendar.LeaveWaitlist, args); got.Status != calendar.Left {
			t.Fatalf("the place is %+v", got)
		}
	}
}
