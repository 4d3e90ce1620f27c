package bookingsql_test

import (
	"testing"

	"github.com/ratiba/ratiba/internal/app/booking/bookingsql"
	"github.com/ratiba/ratiba/internal/db"
)

// An erased customer's bookings stay without a name, with their money; what
// they only held is free again.
func TestAnErasedCustomersBookingsStayWithoutAName(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	booked := s.mustConfirm(s.mustHold("b1", "asha", "grace", local(9, 9, 0)))
	gone, err := s.cancel(s.mustConfirm(s.mustHold("b2", "asha", "grace", local(10, 9, 0))))
	if err != nil {
		t.Fatal(err)
	}
	held := s.mustHold("b3", "asha", "jane", local(10, 11, 0))
	other := s.mustHold("b4", "neema", "jane", local(10, 14, 0))
	for range 2 { // again changes nothing
		err := s.Write(t.Context(), func(tx db.Tx) error { return bookingsql.Erase(t.Context(), tx, "asha", s.now) })
		if err != nil {
			t.Fatal(err)
		}
	}
	rows := map[string]struct {
		query string
		args  []any
		want  int
	}{
		"names":                  {"SELECT COUNT(*) FROM bookings WHERE name = '(erased)' AND contact_id = 'asha'", nil, 3},
		"another's name":         {"SELECT COUNT(*) FROM bookings WHERE name = 'Asha' AND id = $1", []any{other.ID}, 1},
		"money and receipt":      {"SELECT COUNT(*) FROM bookings WHERE id = $1 AND status = 'confirmed' AND paid_minor = 100000 AND receipt = 'Rb1'", []any{booked.ID}, 1},
		"the booked time":        {"SELECT COUNT(*) FROM occupancy WHERE booking_id = $1", []any{booked.ID}, 1},
		"the held time":          {"SELECT COUNT(*) FROM occupancy WHERE booking_id = $1", []any{held.ID}, 0},
		"the hold":               {"SELECT COUNT(*) FROM bookings WHERE id = $1 AND status = 'cancelled'", []any{held.ID}, 1},
		"its history":            {"SELECT COUNT(*) FROM booking_history WHERE booking_id = $1 AND event = 'cancelled'", []any{held.ID}, 1},
		"another's held time":    {"SELECT COUNT(*) FROM occupancy WHERE booking_id = $1", []any{other.ID}, 1},
		"the reason they gave":   {"SELECT COUNT(*) FROM booking_history WHERE booking_id = $1 AND detail = 'ill'", []any{gone.ID}, 0},
		"the receipt in history": {"SELECT COUNT(*) FROM booking_history WHERE booking_id = $1 AND detail = 'Rb1'", []any{booked.ID}, 1},
	}
	for name, row := range rows {
		if got := s.count(row.query, row.args...); got != row.want {
			t.Errorf("%s: %d, want %d", name, got, row.want)
		}
	}
	if !has(s.free("neema", day(10)).Slots, held.Start) {
		t.Error("the time they held is not offered again")
	}
}
