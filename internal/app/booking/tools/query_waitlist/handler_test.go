package querywaitlist_test

import (
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/desk/desktest"
)

func TestWhatACustomerWaitsForUntilItIsPast(t *testing.T) {
	t.Parallel()
	s := desktest.New(t)
	args := calendar.QueryWaitlistArgs{ContactID: "asha"}
	if got := desktest.Must[calendar.Waits](s, "asha", calendar.QueryWaitlist, args).Waits; got == nil || len(got) != 0 {
		t.Fatalf("before: %+v", got)
	}
	desktest.Must[calendar.Wait](s, "asha", calendar.JoinWaitlist, calendar.JoinWaitlistArgs{
		ID: "W1", ContactID: "asha", Name: "Asha", ServiceID: "massage", From: "2026-03-04", To: "2026-03-04",
	})
	if got := desktest.Must[calendar.Waits](s, "asha", calendar.QueryWaitlist, args).Waits; len(got) != 1 {
		t.Fatalf("after joining: %+v", got)
	}
	desktest.Refused[calendar.Alternatives](s, "eve", calendar.QueryWaitlist, args, calendar.NotOnTheList)
	s.Now = s.Now.Add(72 * time.Hour)
	if got := desktest.Must[calendar.Waits](s, "asha", calendar.QueryWaitlist, args).Waits; len(got) != 0 {
		t.Fatalf("once the day is past: %+v", got)
	}
}
