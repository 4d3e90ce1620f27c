package joinwaitlist_test

import (
	"testing"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/desk/desktest"
)

func TestAPlaceIsTakenSeenAndGivenUp(t *testing.T) {
	t.Parallel()
	s := desktest.New(t)
	a := calendar.JoinWaitlistArgs{
		ID: "W1", ContactID: "asha", Name: "Asha", ServiceID: "massage", StaffID: "grace", From: "2026-03-04", To: "2026-03-06",
		TimeFrom: "14:00", TimeTo: "17:00",
	}
	desktest.Refused[calendar.Alternatives](s, "eve", calendar.JoinWaitlist, a, calendar.NotOnTheList)
	for range 2 {
		if got := desktest.Must[calendar.Wait](s, "asha", calendar.JoinWaitlist, a); got.Status != calendar.Waiting || got.JoinWaitlistArgs != a {
			t.Fatalf("the place is %+v", got)
		}
	}
	list := calendar.QueryWaitlistArgs{ContactID: "asha"}
	desktest.Refused[calendar.Alternatives](s, "eve", calendar.QueryWaitlist, list, calendar.NotOnTheList)
	if got := desktest.Must[calendar.Waits](s, "asha", calendar.QueryWaitlist, list).Waits; len(got) != 1 || got[0].ID != a.ID {
		t.Fatalf("places: %+v", got)
	}
	leave := calendar.LeaveWaitlistArgs{ID: "W1"}
	desktest.Refused[calendar.Alternatives](s, "eve", calendar.LeaveWaitlist, leave, calendar.NotOnTheList)
	desktest.Must[calendar.Wait](s, "asha", calendar.LeaveWaitlist, leave)
	if got := desktest.Must[calendar.Waits](s, "asha", calendar.QueryWaitlist, list).Waits; len(got) != 0 {
		t.Fatalf("places after leaving: %+v", got)
	}
}
