package checkavailability_test

import (
	"testing"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/desk/desktest"
)

func TestAFreeStartThatIsOfferedCanBeHeld(t *testing.T) {
	t.Parallel()
	s := desktest.New(t)
	args := calendar.CheckAvailabilityArgs{ServiceID: "massage", From: "2026-03-03", To: "2026-03-03", TimeFrom: "14:00", TimeTo: "16:00", Limit: 2}
	a := desktest.Must[calendar.Availability](s, "asha", calendar.CheckAvailability, args)
	if len(a.Slots) != 2 || !a.More || !a.Slots[0].Start.Equal(desktest.At(3, 14, 0)) || a.Slots[0].StaffName != "Grace" {
		t.Fatalf("availability: %+v", a)
	}
	hold := desktest.HoldArgs("asha", "B1", a.Slots[1].Start, desktest.At(2, 9, 0))
	hold.StaffID = a.Slots[1].StaffID
	desktest.Must[calendar.Booking](s, "asha", calendar.HoldSlot, hold)
}

func TestNoFreeStartSaysWhyAndNamesTheNearest(t *testing.T) {
	t.Parallel()
	s := desktest.New(t)
	args := calendar.CheckAvailabilityArgs{ServiceID: "massage", From: "2026-03-08", To: "2026-03-08", Limit: 5}
	a := desktest.Must[calendar.Availability](s, "asha", calendar.CheckAvailability, args)
	if len(a.Slots) != 0 || a.Reason != calendar.Closed || len(a.Nearest) != 3 {
		t.Fatalf("a Sunday: %+v", a)
	}
	args.ServiceID = "nothing"
	desktest.Refused[calendar.Alternatives](s, "asha", calendar.CheckAvailability, args, calendar.NotEligible)
	args.ServiceID, args.From = "massage", "2026-02-30"
	desktest.Refused[calendar.Alternatives](s, "asha", calendar.CheckAvailability, args, "invalid_arguments")
}
