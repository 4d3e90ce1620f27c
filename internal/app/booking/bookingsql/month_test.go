package bookingsql_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ratiba/ratiba/internal/app/booking/bookingsql"
	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/db"
)

func (s *shop) view(from, to string) (out []bookingsql.Column) {
	s.Helper()
	a, err := calendar.ParseDate(from)
	if err != nil {
		s.Fatal(err)
	}
	b, err := calendar.ParseDate(to)
	if err != nil {
		s.Fatal(err)
	}
	if err := s.Read(s.Context(), func(q db.Q) (err error) {
		out, err = bookingsql.View(s.Context(), q, s.caller(""), a, b)
		return err
	}); err != nil {
		s.Fatal(err)
	}
	return out
}

func TestTheCalendarHasAColumnForEachMemberOfStaff(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.mustConfirm(s.mustHold("B1", "asha", "grace", local(4, 10, 0)))
	s.mustHold("B2", "ben", "jane", local(5, 10, 0))
	if err := s.release("ben", "B2"); err != nil {
		t.Fatal(err)
	}
	got := s.view("2026-03-04", "2026-03-05")
	if len(got) != 2 || got[0].Name != "Grace" || len(got[0].Visits) != 1 || got[0].Visits[0].Code != "CB1" || len(got[1].Visits) != 0 {
		t.Errorf("the view is %+v", got)
	}
	if got := s.view("2026-03-05", "2026-03-31"); len(got[0].Visits) != 0 {
		t.Errorf("a visit of another day is in %+v", got)
	}
}

// A month of fifty people with four visits a day each.
func BenchmarkMonthView(b *testing.B) {
	var def strings.Builder
	def.WriteString("services: [{key: massage, name: {en: M}, minutes: 60, price: 1}]\npolicy: {horizon_days: 60}\nstaff:\n")
	for i := range 50 {
		fmt.Fprintf(&def, "  - {key: s%d, name: S%d, hours: {mon-sun: [\"09:00-18:00\"]}}\n", i, i)
	}
	s := &shop{TB: b, DB: open(b, def.String()), zone: nairobi(b), now: morning}
	if err := s.Write(b.Context(), func(tx db.Tx) error {
		for i := range 50 {
			for d := range 31 {
				for h := range 4 {
					at := local(3, 9+2*h, 0).AddDate(0, 0, d)
					id := fmt.Sprintf("B%d-%d-%d", i, d, h)
					if err := db.Exec(b.Context(), tx, "fill", `INSERT INTO bookings (id, code, contact_id, name, service_id, staff_id, starts_at, ends_at,
						buffer_before, buffer_after, status, price_minor, deposit_minor, paid_minor, currency, receipt, cancel_minutes, version,
						created_at, updated_at) VALUES ($1, $1, 'c', 'Asha', 'massage', $2, $3, $4, 0, 0, 'confirmed', 0, 0, 0, 'KES', '', 0, 1, $3, $3)`,
						id, fmt.Sprint("s", i), db.At(at), db.At(at.Add(3600e9))); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if got := s.view("2026-03-03", "2026-04-02"); len(got) != 50 || len(got[49].Visits) != 124 {
			b.Fatalf("%d columns", len(got))
		}
	}
}
