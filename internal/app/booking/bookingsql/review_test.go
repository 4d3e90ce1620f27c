package bookingsql_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/app/booking/bookingsql"
	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/db"
)

// Bookings whose place in the calendar is gone stay, and are named.
func TestBookingsThatNoLongerFitAreNamed(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.mustConfirm(s.mustHold("B1", "asha", "grace", local(4, 10, 0)))
	s.mustConfirm(s.mustHold("B2", "ben", "jane", local(9, 10, 0)))
	s.mustConfirm(s.mustHold("B3", "chebet", "grace", local(10, 9, 0)))
	s.mustHold("B4", "dan", "grace", local(11, 10, 0)) // a hold is nobody's promise
	review := func() map[string]string {
		out := map[string]string{}
		if err := s.Read(t.Context(), func(q db.Q) error {
			found, err := bookingsql.Review(t.Context(), q, s.caller(""))
			for _, m := range found {
				out[m.ID] = m.Reason
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return out
	}
	if got := review(); len(got) > 0 {
		t.Fatalf("before anything changed: %v", got)
	}
	changed := strings.Replace(definition, "staff: [grace, jane]", "staff: [grace]", 1)
	changed = changed[:strings.Index(changed, "  - key: jane")] + "closures:\n  - {from: 2026-03-04}\npolicy: {horizon_days: 1}\n"
	apply(t, s.DB, changed)
	if err := s.write(func(tx db.Tx, _ bookingsql.Caller) error {
		d := calendar.Date{Year: 2026, Month: time.March, Day: 10}
		return bookingsql.Block(t.Context(), tx, "x", "grace", calendar.Span{From: calendar.Moment{Date: d}, To: calendar.Moment{Date: d, Clock: 600}}, "")
	}); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"B1": calendar.Closed, "B2": calendar.NotEligible, "B3": calendar.OutsideHours}
	if diff := cmp.Diff(want, review()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := s.count(`SELECT COUNT(*) FROM bookings WHERE status = 'confirmed'`); n != 3 {
		t.Errorf("%d bookings stand, want all three", n)
	}
}

// A price that changes while a slot is held is not the customer's concern: the
// deposit that was agreed is the one that is due.
func TestAPriceThatChangesWhileHeld(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	b := s.mustHold("B1", "asha", "grace", local(4, 10, 0))
	apply(t, s.DB, strings.Replace(definition, "price: 3500, deposit: 1000", "price: 5000, deposit: 2000", 1))
	out, err := s.confirm(b, 1000, "R1")
	if err != nil || out.Price != b.Price || out.Deposit != b.Deposit {
		t.Fatalf("confirmed %+v, %v", out, err)
	}
}
