package confirmbooking_test

import (
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/desk/desktest"
	"github.com/ratiba/ratiba/internal/money"
)

func TestConfirmingNeedsTheDepositOrThatNothingIsDue(t *testing.T) {
	t.Parallel()
	s := desktest.New(t)
	b := s.Hold("asha", "B1", desktest.At(3, 10, 0))
	args := calendar.ConfirmBookingArgs{BookingID: b.ID, Start: b.Start, Paid: money.Amount{Currency: "KES"}}
	desktest.Refused[calendar.Alternatives](s, "asha", calendar.ConfirmBooking, args, calendar.DepositDue)
	args.Paid = money.Major(1000, "USD")
	desktest.Refused[calendar.Alternatives](s, "asha", calendar.ConfirmBooking, args, calendar.DepositDue)
	args.Paid, args.Receipt = money.Major(1000, "KES"), "R1"
	for range 2 {
		if got := desktest.Must[calendar.Booking](s, "asha", calendar.ConfirmBooking, args); got.Status != calendar.Confirmed || got.Version != 2 {
			t.Fatalf("confirmed booking: %+v", got)
		}
	}
	args.Start = args.Start.Add(time.Hour)
	desktest.Refused[calendar.Alternatives](s, "asha", calendar.ConfirmBooking, args, calendar.Changed)

	hold := desktest.HoldArgs("asha", "B2", desktest.At(3, 14, 0), s.Now.Add(time.Minute))
	hold.ServiceID = "facial" // without a deposit
	desktest.Must[calendar.Booking](s, "asha", calendar.HoldSlot, hold)
	desktest.Must[calendar.Booking](s, "asha", calendar.ConfirmBooking, calendar.ConfirmBookingArgs{
		BookingID: "B2", Start: hold.Start, Paid: money.Amount{Currency: "KES"},
	})
}

func TestALateConfirmationTakesTheSlotAgainOrOffersOthers(t *testing.T) {
	t.Parallel()
	s := desktest.New(t)
	b := s.Hold("asha", "B1", desktest.At(3, 10, 0))
	s.Now = b.HoldUntil.Add(time.Minute)
	other := s.Hold("ben", "B2", b.Start)
	args := calendar.ConfirmBookingArgs{BookingID: b.ID, Start: b.Start, Paid: b.Deposit, Receipt: "R1"}
	alt := desktest.Refused[calendar.Alternatives](s, "asha", calendar.ConfirmBooking, args, calendar.HoldExpired)
	if len(alt.Slots) == 0 || alt.Slots[0].StaffID == "grace" && alt.Slots[0].Start.Equal(b.Start) {
		t.Fatalf("alternatives: %+v", alt)
	}
	desktest.Must[struct{}](s, "ben", calendar.ReleaseHold, calendar.ReleaseHoldArgs{BookingID: other.ID})
	if got := desktest.Must[calendar.Booking](s, "asha", calendar.ConfirmBooking, args); got.Status != calendar.Confirmed {
		t.Fatalf("a free slot was not taken again: %+v", got)
	}
}
