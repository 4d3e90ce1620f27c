package bookingsql

import (
	"context"
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/db"
)

// Column is one member of staff in a view of the calendar.
type Column struct {
	calendar.Staff
	Visits []VisitEntry
}

// VisitEntry is a booking in a view of the calendar.
type VisitEntry struct {
	ID, Code, Name, ServiceID string
	Status                    calendar.Status
	Start, End                time.Time
}

// View lists what stands in the calendar on the dates, both included, a column
// for each member of staff in the order of the definition. Who is gone from it
// has a column as long as they have visits.
func View(ctx context.Context, q db.Q, c Caller, from, to calendar.Date) ([]Column, error) {
	first, _ := calendar.Moment{Date: from}.In(c.Zone)
	last, _ := calendar.Moment{Date: to.Add(1)}.In(c.Zone)
	var columns []Column
	at, removed := map[string]int{}, map[string]bool{}
	err := db.Gather(ctx, q,
		db.Each("read staff", func(sc db.Scanner) error {
			var s calendar.Staff
			var gone bool
			err := sc.Scan(&s.ID, &s.Name, &gone)
			at[s.ID], removed[s.ID] = len(columns), gone
			columns = append(columns, Column{Staff: s})
			return err
		}, `SELECT id, name, removed FROM staff ORDER BY removed, position, id`),
		db.Each("read visits", func(sc db.Scanner) error {
			var v VisitEntry
			var staff string
			var start, end db.Time
			err := sc.Scan(&v.ID, &v.Code, &v.Name, &v.ServiceID, &v.Status, &staff, &start, &end)
			v.Start, v.End = start.Time, end.Time
			if i, ok := at[staff]; ok {
				columns[i].Visits = append(columns[i].Visits, v)
			}
			return err
		}, `SELECT id, code, name, service_id, status, staff_id, starts_at, ends_at FROM bookings WHERE starts_at >= $1 AND starts_at < $2
			AND (status IN ('confirmed', 'completed', 'no_show') OR status IN ('held', 'pending_payment') AND hold_until > $3)
			ORDER BY starts_at, id`, db.At(first), db.At(last), db.At(c.Now)))
	out := columns[:0]
	for _, col := range columns {
		if !removed[col.ID] || len(col.Visits) > 0 {
			out = append(out, col)
		}
	}
	return out, err
}
