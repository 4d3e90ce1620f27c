package bookingsql_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/bookingsql"
	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/db/dbtest"
	"github.com/ratiba/ratiba/internal/money"
	"github.com/ratiba/ratiba/internal/tenant"
)

const definition = `
services:
  - {key: massage, name: {en: Massage, sw: Masaji}, minutes: 60, interval: 30, buffer_after: 15, price: 3500, deposit: 1000, staff: [grace, jane]}
  - {key: facial, name: {en: Facial}, minutes: 30, interval: 30, price: 2000, staff: [grace]}
  - {key: private, name: {en: Private}, minutes: 30, price: 2000, staff: [grace], hidden: true}
staff:
  - key: grace
    name: Grace
    hours: {mon-sat: ["09:00-13:00", "14:00-18:00"]}
    time_off: [{from: "2026-03-05 09:00", to: "2026-03-05 18:00"}]
  - key: jane
    name: Jane
    hours: {mon-fri: ["10:00-18:00"]}
    exceptions:
      - {date: 2026-03-08, hours: ["10:00-12:00"]}
      - {date: 2026-03-04, closed: true}
closures:
  - {from: 2026-03-06, name: {en: Holiday}}
policy: {notice_minutes: 60, horizon_days: 30, cancel_hours: 24, hold_minutes: 10, max_holds: 2}
`

// Monday 2 March 2026, 08:00 in Nairobi.
var morning = time.Date(2026, 3, 2, 5, 0, 0, 0, time.UTC)

func nairobi(tb testing.TB) *time.Location {
	tb.Helper()
	loc, err := time.LoadLocation("Africa/Nairobi")
	if err != nil {
		tb.Fatal(err)
	}
	return loc
}

func spa() *tenant.Tenant {
	return &tenant.Tenant{ID: "t1", Slug: "spa", TimeZone: "Africa/Nairobi", Currency: "KES"}
}

func open(tb testing.TB, yaml string) *db.DB {
	tb.Helper()
	d := dbtest.Open(tb)
	if err := d.Migrate(tb.Context(), "booking", bookingsql.Migrations()); err != nil {
		tb.Fatal(err)
	}
	apply(tb, d, yaml)
	return d
}

func apply(tb testing.TB, d *db.DB, yaml string) {
	tb.Helper()
	s, err := calendar.ParseSettings([]byte(yaml))
	if err != nil {
		tb.Fatal(err)
	}
	if err := d.Write(tb.Context(), func(tx db.Tx) error {
		return bookingsql.Apply(tb.Context(), tx, spa(), s, morning)
	}); err != nil {
		tb.Fatal(err)
	}
}

// local is an instant of March 2026 on Nairobi's wall clock.
func local(day, hour, minute int) time.Time {
	return time.Date(2026, 3, day, hour-3, minute, 0, 0, time.UTC)
}

// shop is one database with the small steps the tests are made of.
type shop struct {
	testing.TB
	*db.DB
	zone *time.Location
	now  time.Time
}

func newShop(tb testing.TB) *shop {
	tb.Helper()
	return &shop{TB: tb, DB: open(tb, definition), zone: nairobi(tb), now: morning}
}

func (s *shop) caller(contact string) bookingsql.Caller {
	return bookingsql.Caller{Zone: s.zone, Now: s.now, Contact: contact}
}

func slotArgs(id, contact, staff string, start, until time.Time) calendar.HoldSlotArgs {
	return calendar.HoldSlotArgs{
		BookingID: id, Code: "C" + id, ContactID: contact, Name: "Asha", ServiceID: "massage", StaffID: staff, Start: start,
		HoldUntil: until,
	}
}

func (s *shop) hold(id, contact, staff string, start time.Time) (calendar.Booking, error) {
	return s.holdArgs(slotArgs(id, contact, staff, start, s.now.Add(10*time.Minute)))
}

func (s *shop) holdArgs(a calendar.HoldSlotArgs) (b calendar.Booking, err error) {
	err = s.Write(s.Context(), func(tx db.Tx) error {
		b, err = bookingsql.Hold(s.Context(), tx, s.caller(a.ContactID), a)
		return err
	})
	return b, err
}

func (s *shop) mustHold(id, contact, staff string, start time.Time) calendar.Booking {
	s.Helper()
	b, err := s.hold(id, contact, staff, start)
	if err != nil {
		s.Fatalf("hold %s: %v", id, err)
	}
	return b
}

func (s *shop) confirm(b calendar.Booking, shillings int64, receipt string) (out calendar.Booking, err error) {
	err = s.Write(s.Context(), func(tx db.Tx) error {
		out, err = bookingsql.Confirm(s.Context(), tx, s.caller(b.ContactID), calendar.ConfirmBookingArgs{
			BookingID: b.ID, Start: b.Start, Paid: money.Major(shillings, "KES"), Receipt: receipt,
		})
		return err
	})
	return out, err
}

func (s *shop) mustConfirm(b calendar.Booking) calendar.Booking {
	s.Helper()
	out, err := s.confirm(b, 1000, "R"+b.ID)
	if err != nil {
		s.Fatalf("confirm %s: %v", b.ID, err)
	}
	return out
}

func (s *shop) move(b calendar.Booking, staff string, start time.Time) (out calendar.Booking, err error) {
	err = s.Write(s.Context(), func(tx db.Tx) error {
		out, err = bookingsql.Reschedule(s.Context(), tx, s.caller(b.ContactID), calendar.RescheduleBookingArgs{
			BookingID: b.ID, StaffID: staff, Start: start, Version: b.Version,
		})
		return err
	})
	return out, err
}

func (s *shop) cancel(b calendar.Booking) (out calendar.Booking, err error) {
	err = s.Write(s.Context(), func(tx db.Tx) error {
		out, err = bookingsql.Cancel(s.Context(), tx, s.caller(b.ContactID), calendar.CancelBookingArgs{
			BookingID: b.ID, Reason: "ill", Version: b.Version,
		})
		return err
	})
	return out, err
}

func (s *shop) release(contact, id string) error {
	return s.Write(s.Context(), func(tx db.Tx) error {
		_, err := bookingsql.Release(s.Context(), tx, s.caller(contact), id)
		return err
	})
}

func (s *shop) await(b calendar.Booking, until time.Time) (out calendar.Booking, err error) {
	err = s.Write(s.Context(), func(tx db.Tx) error {
		out, err = bookingsql.AwaitPayment(s.Context(), tx, s.caller(b.ContactID), b.ID, until)
		return err
	})
	return out, err
}

func (s *shop) free(contact string, a calendar.CheckAvailabilityArgs) calendar.Availability {
	s.Helper()
	var out calendar.Availability
	if err := s.Read(s.Context(), func(q db.Q) (err error) {
		out, err = bookingsql.Availability(s.Context(), q, s.caller(contact), a)
		return err
	}); err != nil {
		s.Fatal(err)
	}
	return out
}

// day asks for all starts of the massage on a day of March 2026.
func day(n int) calendar.CheckAvailabilityArgs {
	d := fmt.Sprintf("2026-03-%02d", n)
	return calendar.CheckAvailabilityArgs{ServiceID: "massage", From: d, To: d, Limit: 50}
}

func has(slots []calendar.Slot, start time.Time) bool {
	for _, s := range slots {
		if s.Start.Equal(start) {
			return true
		}
	}
	return false
}

func wantCode(tb testing.TB, err error, code string) *calendar.Refusal {
	tb.Helper()
	r, ok := errors.AsType[*calendar.Refusal](err)
	if !ok || r.Code != code {
		tb.Fatalf("got %v, want the refusal %s", err, code)
	}
	return r
}

// count runs a query for one number.
func (s *shop) count(query string, args ...any) (n int) {
	s.Helper()
	if err := s.Read(s.Context(), func(q db.Q) error {
		return q.QueryRowContext(context.Background(), query, args...).Scan(&n)
	}); err != nil {
		s.Fatal(err)
	}
	return n
}

const overlaps = `SELECT COUNT(*) FROM occupancy a JOIN occupancy b ON a.subject = b.subject AND a.booking_id < b.booking_id
	AND a.starts_at < b.ends_at AND b.starts_at < a.ends_at`
