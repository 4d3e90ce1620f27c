package createstafftimeblock_test

import (
	"testing"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/desk/desktest"
	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/tool"
)

func TestABlockTakesTimeAndKeepsBookings(t *testing.T) {
	t.Parallel()
	s := desktest.New(t)
	s.Confirmed("asha", "B1", desktest.At(6, 15, 0)) // with Grace
	args := calendar.BlockTimeArgs{BlockID: "k1", StaffID: "grace", From: "2026-03-06 14:00", To: "2026-03-06 18:00", Reason: "dentist"}
	var shown calendar.BlockedTime
	if res := s.Preview(calendar.BlockTime, args); !res.OK || res.Decode(&shown) != nil || len(shown.Standing) != 1 || shown.Standing[0].BookingID != "B1" {
		t.Errorf("the preview shows %+v", shown)
	}
	for range 2 {
		desktest.Must[calendar.BlockedTime](s, "", calendar.BlockTime, args)
	}
	desktest.Refused[any](s, "ben", calendar.HoldSlot, desktest.HoldArgs("ben", "B2", desktest.At(6, 16, 0), s.Now.Add(600e9)), calendar.OutsideHours)
	s.Hold("ben", "B3", desktest.At(6, 9, 0))
	args.To = "2026-03-06 17:00"
	desktest.Refused[any](s, "", calendar.BlockTime, args, calendar.AlreadyDone)
	for _, bad := range []calendar.BlockTimeArgs{
		{BlockID: "k2", StaffID: "grace", From: "2026-03-06 18:00", To: "2026-03-06 14:00"},
		{BlockID: "k2", StaffID: "grace", From: "2026-02-06 14:00", To: "2026-02-06 18:00"},
		{BlockID: "k2", StaffID: "grace", From: "2026-02-30 14:00", To: "2026-03-06 18:00"},
	} {
		if res := s.Call("", calendar.BlockTime, bad); res.Code != "invalid_arguments" {
			t.Errorf("%+v: %+v", bad, res)
		}
	}
	args.BlockID, args.StaffID = "k3", "nobody"
	desktest.Refused[any](s, "", calendar.BlockTime, args, calendar.NoSuchStaff)
	s.As = tool.Actor{ID: "+254711000001", Role: tenant.Staff, Staff: "jane"}
	args.StaffID = "grace"
	desktest.Refused[any](s, "", calendar.BlockTime, args, calendar.NotYours)
}
