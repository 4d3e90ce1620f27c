package lookupcontact_test

import (
	"strings"
	"testing"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/desk/desktest"
	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/tool"
)

func TestTheOwnerFindsAnybodyAndStaffTheirVisitors(t *testing.T) {
	t.Parallel()
	s := desktest.New(t)
	s.Book.Add("asha", "Asha Mwangi", "+254700000001", s.Now)
	s.Book.Add("ben", "Ben Mwangi", "+254700000002", s.Now)
	s.Confirmed("asha", "B1", desktest.At(4, 10, 0)) // with Grace
	find := func() (names []string) {
		for _, c := range desktest.Must[calendar.Contacts](s, "", calendar.LookupContact, calendar.LookupContactArgs{Query: "mwangi"}).Contacts {
			names = append(names, c.ID+" "+c.Phone)
		}
		return names
	}
	if got := strings.Join(find(), ", "); got != "asha +254700000001, ben +254700000002" {
		t.Errorf("the owner finds %s", got)
	}
	for who, want := range map[string]string{"grace": "asha +254700000001", "jane": "", "": ""} {
		s.As = tool.Actor{ID: "+254711000001", Role: tenant.Staff, Staff: who}
		if got := strings.Join(find(), ", "); got != want {
			t.Errorf("%q finds %q, want %q", who, got, want)
		}
	}
	desktest.Refused[any](s, "asha", calendar.LookupContact, calendar.LookupContactArgs{Query: "ben"}, tool.NotPermitted)
	if res := s.Call("", calendar.LookupContact, calendar.LookupContactArgs{Query: "a"}); res.Code != tool.InvalidArguments {
		t.Errorf("one letter: %+v", res)
	}
}
