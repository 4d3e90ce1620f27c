package upsertcontact_test

import (
	"testing"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/desk/desktest"
	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/tool"
)

func TestACustomerIsAddedOnceAndChanged(t *testing.T) {
	t.Parallel()
	s := desktest.New(t)
	add := calendar.UpsertContactArgs{Phone: "+254700000009", Name: "Mary"}
	made := desktest.Must[calendar.Contact](s, "", calendar.UpsertContact, add)
	s.Now = s.Now.Add(1e9) // another id is drawn
	no := false
	got := desktest.Must[calendar.Contact](s, "", calendar.UpsertContact, calendar.UpsertContactArgs{Phone: add.Phone, Announcements: &no})
	if got.ID != made.ID || got.Name != "Mary" || got.Announcements || len(s.Book.People) != 1 {
		t.Errorf("got %+v after %+v", got, made)
	}
	s.Now = s.Now.Add(1e9)
	s.As = tool.Actor{ID: "+254711000001", Role: tenant.Staff, Staff: "grace"}
	desktest.Refused[any](s, "", calendar.UpsertContact, add, calendar.NotYours)
	desktest.Must[calendar.Contact](s, "", calendar.UpsertContact, calendar.UpsertContactArgs{Phone: "+254700000008", Name: "New"})
	desktest.Refused[any](s, "", calendar.UpsertContact, calendar.UpsertContactArgs{ContactID: "nobody"}, calendar.NoSuchContact)
	if res := s.Call("", calendar.UpsertContact, calendar.UpsertContactArgs{Phone: "0700000001"}); res.Code != tool.InvalidArguments {
		t.Errorf("a local phone: %+v", res)
	}
}
