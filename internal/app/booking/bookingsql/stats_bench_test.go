package bookingsql_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/bookingsql"
	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/db"
)

// benchBookings is how many bookings the reports are computed over: 50 a day
// around the morning, so that a month has some 1,500.
const benchBookings = 100_000

// BenchmarkReport computes each report over 100,000 bookings.
func BenchmarkReport(b *testing.B) {
	s := newShop(b)
	s.fill(benchBookings)
	for _, r := range []calendar.Report{calendar.ReportWeek, calendar.ReportDay, calendar.ReportRevenue, calendar.ReportFreeHours} {
		b.Run(string(r), func(b *testing.B) {
			for b.Loop() {
				if _, err := s.stats(r, "2026-03-04"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func (s *shop) stats(r calendar.Report, date string) (out calendar.Stats, err error) {
	err = s.Read(s.Context(), func(q db.Q) error {
		out, err = bookingsql.Stats(context.Background(), q, s.caller(""), "KES", calendar.QueryStatsArgs{Report: r, Date: date})
		return err
	})
	return out, err
}

// fill writes bookings as they would be in the years around the morning.
func (s *shop) fill(n int) {
	s.Helper()
	const perDay, chunk = 50, 1000
	first := s.now.AddDate(0, 0, -n/perDay/2)
	for from := 0; from < n; from += chunk {
		if err := s.Write(s.Context(), func(tx db.Tx) error {
			for i := from; i < from+chunk; i++ {
				start := first.AddDate(0, 0, i/perDay).Add(time.Duration(i%perDay) * 10 * time.Minute)
				id, staff := fmt.Sprintf("fill%07d", i), []string{"grace", "jane"}[i%2]
				if err := db.Exec(s.Context(), tx, "fill", `INSERT INTO bookings (id, code, contact_id, name, service_id, staff_id, starts_at, ends_at,
					buffer_before, buffer_after, status, price_minor, deposit_minor, paid_minor, currency, receipt, cancel_minutes, version, created_at, updated_at)
					VALUES ($1, $1, $2, 'Asha', 'massage', $3, $4, $5, 0, 0, $6, 350000, 100000, 100000, 'KES', '', 60, 1, $4, $4)`,
					id, fmt.Sprintf("c%d", i%5000), staff, db.At(start), db.At(start.Add(10*time.Minute)),
					[]string{"confirmed", "completed", "cancelled", "no_show"}[i%4]); err != nil {
					return err
				}
				if i%4 < 2 {
					if err := db.Exec(s.Context(), tx, "occupy", `INSERT INTO occupancy (booking_id, subject, starts_at, ends_at) VALUES ($1, $2, $3, $4)`,
						id, staff, db.At(start), db.At(start.Add(10*time.Minute))); err != nil {
						return err
					}
				}
			}
			return nil
		}); err != nil {
			s.Fatal(err)
		}
	}
	// What a server's own upkeep does by the time there are as many.
	if s.Dialect().Name == db.PostgreSQL().Name {
		if err := s.Write(s.Context(), func(tx db.Tx) error { return db.Exec(s.Context(), tx, "analyze", "ANALYZE bookings") }); err != nil {
			s.Fatal(err)
		}
	}
}
