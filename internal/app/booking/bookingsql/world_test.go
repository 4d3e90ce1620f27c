package bookingsql_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/app/booking/bookingsql"
	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/db"
)

// starts writes an answer as "10:00 grace".
func (s *shop) starts(a calendar.Availability) []string {
	var out []string
	for _, v := range a.Slots {
		out = append(out, v.Start.In(s.zone).Format("15:04 ")+v.StaffID)
	}
	return out
}

func TestAvailabilityFollowsTheDefinition(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, tc := range []struct {
		name   string
		edit   func(*calendar.CheckAvailabilityArgs)
		want   []string
		reason string
	}{
		{"an afternoon with both, by the any-staff rule", func(a *calendar.CheckAvailabilityArgs) {
			a.TimeFrom, a.TimeTo = "14:00", "15:00"
		}, []string{"14:00 grace", "14:30 grace"}, ""},
		{"one person asked for", func(a *calendar.CheckAvailabilityArgs) {
			a.StaffID, a.TimeTo = "jane", "11:00"
		}, []string{"10:00 jane", "10:30 jane"}, ""},
		{"time off leaves the other", func(a *calendar.CheckAvailabilityArgs) {
			a.From, a.To, a.TimeTo = "2026-03-05", "2026-03-05", "10:30"
		}, []string{"10:00 jane"}, ""},
		{"an exception opens a Sunday", func(a *calendar.CheckAvailabilityArgs) {
			a.From, a.To = "2026-03-08", "2026-03-08"
		}, []string{"10:00 jane", "10:30 jane", "11:00 jane"}, ""},
		{"an exception closes a Wednesday for one", func(a *calendar.CheckAvailabilityArgs) {
			a.From, a.To, a.StaffID = "2026-03-04", "2026-03-04", "jane"
		}, nil, calendar.OutsideHours},
		{"a closure", func(a *calendar.CheckAvailabilityArgs) { a.From, a.To = "2026-03-06", "2026-03-06" }, nil, calendar.Closed},
		{"a date past", func(a *calendar.CheckAvailabilityArgs) { a.From, a.To = "2026-02-27", "2026-02-27" }, nil, calendar.TooSoon},
		{"a date too far", func(a *calendar.CheckAvailabilityArgs) { a.From, a.To = "2026-05-04", "2026-05-04" }, nil, calendar.TooFar},
		{"somebody who does not offer it", func(a *calendar.CheckAvailabilityArgs) {
			a.ServiceID, a.StaffID = "facial", "jane"
		}, nil, calendar.NotEligible},
	} {
		a := day(3)
		tc.edit(&a)
		got := s.free("asha", a)
		if diff := cmp.Diff(tc.want, s.starts(got)); diff != "" {
			t.Errorf("%s: starts (-want +got):\n%s", tc.name, diff)
		}
		if got.Reason != tc.reason || (got.Reason != "") != (len(got.Nearest) > 0) {
			t.Errorf("%s: reason %q with %d nearest, want %q", tc.name, got.Reason, len(got.Nearest), tc.reason)
		}
	}
}

func TestAvailabilityOfAMoveCountsItsOwnTimeAsFreeAndKeepsItsLength(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.mustConfirm(s.mustHold("B1", "asha", "grace", local(4, 10, 0)))
	apply(t, s.DB, strings.ReplaceAll(definition, "minutes: 60", "minutes: 120"))
	a := day(4)
	a.TimeFrom, a.TimeTo = "10:00", "11:00"
	if got := s.starts(s.free("asha", a)); len(got) != 0 {
		t.Fatalf("a customer is offered two places at once: %v", got)
	}
	a.BookingID = b.ID
	got := s.free("asha", a)
	if diff := cmp.Diff([]string{"10:00 grace", "10:30 grace"}, s.starts(got)); diff != "" {
		t.Fatal(diff)
	}
	if length := got.Slots[0].End.Sub(got.Slots[0].Start); length != time.Hour {
		t.Fatalf("the moved visit lasts %s, but an hour was booked", length)
	}
}

func TestAvailabilityRefusesWhatMeansNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for name, tc := range map[string]struct {
		edit func(*calendar.CheckAvailabilityArgs)
		code string
	}{
		"a date that does not exist":    {func(a *calendar.CheckAvailabilityArgs) { a.To = "2026-04-31" }, bookingsql.InvalidArguments},
		"a range that ends first":       {func(a *calendar.CheckAvailabilityArgs) { a.To = "2026-03-02" }, bookingsql.InvalidArguments},
		"a time that does not exist":    {func(a *calendar.CheckAvailabilityArgs) { a.TimeFrom = "25:00" }, bookingsql.InvalidArguments},
		"a window that ends first":      {func(a *calendar.CheckAvailabilityArgs) { a.TimeFrom, a.TimeTo = "12:00", "11:00" }, bookingsql.InvalidArguments},
		"a service that does not exist": {func(a *calendar.CheckAvailabilityArgs) { a.ServiceID = "x" }, calendar.NotEligible},
		"another's booking":             {func(a *calendar.CheckAvailabilityArgs) { a.BookingID = "x" }, calendar.NoSuchBooking},
	} {
		a := day(3)
		tc.edit(&a)
		err := s.Read(t.Context(), func(q db.Q) error {
			_, err := bookingsql.Availability(t.Context(), q, s.caller("asha"), a)
			return err
		})
		if r, ok := errors.AsType[*calendar.Refusal](err); !ok || r.Code != tc.code {
			t.Errorf("%s: got %v, want %s", name, err, tc.code)
		}
	}
}

func TestApplyingAgainChangesNothingAndWhatIsGoneIsHidden(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.mustConfirm(s.mustHold("B1", "asha", "grace", local(4, 10, 0)))
	before := s.free("ben", day(4))
	apply(t, s.DB, definition)
	if diff := cmp.Diff(before, s.free("ben", day(4))); diff != "" {
		t.Fatalf("the same definition again changed what is free:\n%s", diff)
	}
	apply(t, s.DB, strings.Replace(definition, "{key: massage,", "{key: massage_2,", 1))
	var catalogue calendar.Catalogue
	if err := s.Read(t.Context(), func(q db.Q) (err error) {
		catalogue, err = bookingsql.Catalogue(t.Context(), q)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if len(catalogue.Services) != 2 || catalogue.Services[0].ID != "massage_2" {
		t.Fatalf("catalogue: %+v", catalogue.Services)
	}
	moved, err := s.move(b, "jane", local(9, 11, 0))
	if err != nil {
		t.Fatalf("a booking of a removed service cannot be moved: %v", err)
	}
	if moved.Price != b.Price {
		t.Fatalf("the agreed price became %s", moved.Price)
	}
	apply(t, s.DB, `{"services": [{"key": "massage", "name": {"en": "M"}, "minutes": 60, "price": 1}],
		"staff": [{"key": "grace", "name": "Grace", "hours": {"mon-sun": ["09:00-18:00"]}}]}`)
	_, err = s.hold("B2", "ben", "jane", local(4, 15, 0))
	wantCode(t, err, calendar.NotEligible)
	if n := s.count(`SELECT COUNT(*) FROM bookings WHERE id = 'B1' AND status = 'confirmed'`); n != 1 {
		t.Fatal("a booking was lost with its member of staff")
	}
}

func TestADatabaseWithoutADefinitionFails(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	if err := s.Write(t.Context(), func(tx db.Tx) error {
		return db.Exec(t.Context(), tx, "forget", `DELETE FROM booking_policy`)
	}); err != nil {
		t.Fatal(err)
	}
	_, err := s.hold("B1", "asha", "grace", local(3, 10, 0))
	if _, refused := errors.AsType[*calendar.Refusal](err); err == nil || refused {
		t.Fatalf("got %v, want a failure", err)
	}
}

// Sixty days of one service and twenty people, half of it booked.
func BenchmarkAvailability(b *testing.B) {
	var def strings.Builder
	def.WriteString("services: [{key: massage, name: {en: M}, minutes: 60, price: 1}]\npolicy: {horizon_days: 60}\nstaff:\n")
	for i := range 20 {
		fmt.Fprintf(&def, "  - {key: s%d, name: S%d, hours: {mon-sun: [\"09:00-13:00\", \"14:00-18:00\"]}}\n", i, i)
	}
	s := &shop{TB: b, DB: open(b, def.String()), zone: nairobi(b), now: morning}
	if err := s.Write(b.Context(), func(tx db.Tx) error {
		for i := range 20 {
			for d := range 60 {
				id, at := fmt.Sprintf("B%d-%d", i, d), local(3, 9, 0).AddDate(0, 0, d)
				a := slotArgs(id, id, fmt.Sprintf("s%d", i), at, at)
				if _, err := bookingsql.Hold(b.Context(), tx, s.caller(id), a); err != nil {
					return err
				}
			}
		}
		return nil
	}); err != nil {
		b.Fatal(err)
	}
	a := calendar.CheckAvailabilityArgs{ServiceID: "massage", From: "2026-03-02", To: "2026-05-01", TimeTo: "09:30", Limit: 50}
	for b.Loop() {
		if got := s.free("asha", a); len(got.Slots) != 0 && got.Reason != "" {
			b.Fatalf("%+v", got)
		}
	}
}
