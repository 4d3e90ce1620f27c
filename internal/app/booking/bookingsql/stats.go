package bookingsql

import (
	"context"
	"slices"
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/money"
)

// maxVisits bounds the lines of a day.
const maxVisits = 200

// Stats computes a report. A caller with a calendar of their own sees that one
// alone, and no money.
func Stats(ctx context.Context, q db.Q, c Caller, currency string, a calendar.QueryStatsArgs) (calendar.Stats, error) {
	d, err := calendar.ParseDate(a.Date)
	if err != nil {
		return calendar.Stats{}, refuse(InvalidArguments)
	}
	if c.Staff != "" {
		if a.Report == calendar.ReportRevenue {
			return calendar.Stats{}, refuse(calendar.OwnersOnly)
		}
		if a.StaffID != "" && a.StaffID != c.Staff {
			return calendar.Stats{}, refuse(calendar.NotYours)
		}
		a.StaffID = c.Staff
	}
	if a.StaffID != "" {
		var known bool
		if err := db.Gather(ctx, q, askStaff(a.StaffID, &known)); err != nil {
			return calendar.Stats{}, err
		}
		if !known {
			return calendar.Stats{}, refuse(calendar.NoSuchStaff)
		}
	}
	r := report{c: c, q: q, staff: a.StaffID, currency: currency}
	switch a.Report {
	case calendar.ReportWeek:
		monday := d.Add(-(int(d.Weekday()) + 6) % 7)
		return r.week(ctx, monday)
	case calendar.ReportDay:
		return r.day(ctx, d)
	case calendar.ReportRevenue:
		return r.revenue(ctx, d)
	case calendar.ReportFreeHours:
		return r.free(ctx, d)
	case calendar.ReportBroadcasts: // not about the calendar
	}
	return calendar.Stats{}, refuse(InvalidArguments)
}

// report is one question about a stretch of time, of one member of staff or of all.
type report struct {
	c        Caller
	q        db.Q
	staff    string
	currency string
}

// between are the instants at which two dates begin.
func (r report) between(from, to calendar.Date) (begin, end time.Time) {
	begin, _ = calendar.Moment{Date: from}.In(r.c.Zone)
	end, _ = calendar.Moment{Date: to}.In(r.c.Zone)
	return begin, end
}

// inSpan are the bookings that start in [$1, $2), of member of staff $3 or, when
// that is empty, of all.
const inSpan = ` starts_at >= $1 AND starts_at < $2 AND ($3 = '' OR staff_id = $3) `

const (
	stands  = ` status IN ('confirmed', 'completed') `
	waiting = ` status IN ('held', 'pending_payment') AND hold_until > $4 `
)

func (r report) week(ctx context.Context, monday calendar.Date) (calendar.Stats, error) {
	out := calendar.Stats{Report: calendar.ReportWeek, From: monday.String(), To: monday.Add(6).String()}
	begin, end := r.between(monday, monday.Add(7))
	var t calendar.Totals
	var booked, paid int64
	asks := []db.Ask{db.Into("sum the week", []any{&t.Visits, &t.Waiting, &t.Cancelled, &t.NoShows, &t.Customers, &booked, &paid}, `
		SELECT COUNT(CASE WHEN`+stands+`THEN 1 END), COUNT(CASE WHEN`+waiting+`THEN 1 END), COUNT(CASE WHEN status = 'cancelled' THEN 1 END),
			COUNT(CASE WHEN status = 'no_show' THEN 1 END), COUNT(DISTINCT CASE WHEN`+stands+`THEN contact_id END),
			CAST(COALESCE(SUM(CASE WHEN`+stands+`THEN price_minor END), 0) AS BIGINT),
			CAST(COALESCE(SUM(CASE WHEN`+stands+`THEN paid_minor END), 0) AS BIGINT)
		FROM bookings WHERE`+inSpan, db.At(begin), db.At(end), r.staff, db.At(r.c.Now))}
	out.Days = make([]calendar.DayCount, 7)
	for i := range out.Days {
		day := monday.Add(i)
		from, to := r.between(day, day.Add(1))
		out.Days[i].Date = day.String()
		asks = append(asks, db.Into("count a day", []any{&out.Days[i].Visits}, `SELECT COUNT(*) FROM bookings WHERE`+inSpan+`AND`+stands,
			db.At(from), db.At(to), r.staff))
	}
	err := db.Gather(ctx, r.q, asks...)
	if r.c.Staff == "" {
		t.Booked, t.Paid = r.amount(booked), r.amount(paid)
	}
	out.Totals = &t
	return out, err
}

func (r report) amount(minor int64) *money.Amount {
	return &money.Amount{Minor: minor, Currency: r.currency}
}

func (r report) day(ctx context.Context, d calendar.Date) (calendar.Stats, error) {
	out := calendar.Stats{Report: calendar.ReportDay, From: d.String(), To: d.String()}
	begin, end := r.between(d, d.Add(1))
	var err error
	out.Visits, err = visits(ctx, r.q, r.c, r.staff, calendar.Interval{From: begin, To: end}, maxVisits+1)
	if len(out.Visits) > maxVisits {
		out.Visits, out.More = out.Visits[:maxVisits], true
	}
	return out, err
}

// visits lists what stands, or is held, in a stretch of time, soonest first.
func visits(ctx context.Context, q db.Q, c Caller, staff string, in calendar.Interval, limit int) ([]calendar.Visit, error) {
	out, err := db.Collect(ctx, q, "list visits", func(row db.Scanner) (v calendar.Visit, err error) {
		var start, end db.Time
		err = row.Scan(&v.BookingID, &v.Code, &v.ContactID, &v.Name, db.JSON{V: &v.Service}, &v.StaffID, &v.StaffName, &start, &end, &v.Status)
		v.Start, v.End = start.Time, end.Time
		return v, err
	}, `SELECT b.id, b.code, b.contact_id, b.name, sv.name, b.staff_id, st.name, b.starts_at, b.ends_at, b.status
		FROM bookings b JOIN services sv ON sv.id = b.service_id JOIN staff st ON st.id = b.staff_id
		WHERE b.ends_at > $1 AND b.starts_at > $6 AND b.starts_at < $2 AND ($3 = '' OR b.staff_id = $3)
			AND (b.status IN ('confirmed', 'completed') OR b.status IN ('held', 'pending_payment') AND b.hold_until > $4)
		ORDER BY b.starts_at, b.staff_id, b.id LIMIT $5`,
		db.At(in.From), db.At(in.To), staff, db.At(c.Now), limit, db.At(in.From.Add(-24*time.Hour))) // no visit is longer than a day
	if out == nil {
		out = []calendar.Visit{}
	}
	return out, err
}

func (r report) revenue(ctx context.Context, d calendar.Date) (calendar.Stats, error) {
	first := d.Add(1 - d.Day)
	next := first.Add(31)
	next = next.Add(1 - next.Day)
	out := calendar.Stats{Report: calendar.ReportRevenue, From: first.String(), To: next.Add(-1).String(), Revenue: []calendar.StaffRevenue{}}
	begin, end := r.between(first, next)
	found, err := db.Collect(ctx, r.q, "sum revenue", func(row db.Scanner) (s calendar.StaffRevenue, err error) {
		err = row.Scan(&s.StaffID, &s.StaffName, &s.Visits, &s.Booked.Minor, &s.Paid.Minor)
		s.Booked.Currency, s.Paid.Currency = r.currency, r.currency
		return s, err
	}, `SELECT sums.staff_id, s.name, sums.visits, sums.booked, sums.paid FROM (
			SELECT staff_id, COUNT(*) AS visits, CAST(SUM(price_minor) AS BIGINT) AS booked, CAST(SUM(paid_minor) AS BIGINT) AS paid
			FROM bookings WHERE`+inSpan+`AND`+stands+`GROUP BY staff_id
		) sums JOIN staff s ON s.id = sums.staff_id ORDER BY sums.booked DESC, s.name, s.id`, db.At(begin), db.At(end), r.staff)
	out.Revenue = append(out.Revenue, found...)
	return out, err
}

func (r report) free(ctx context.Context, d calendar.Date) (calendar.Stats, error) {
	out := calendar.Stats{Report: calendar.ReportFreeHours, From: d.String(), To: d.String()}
	var people roster
	var w calendar.World
	begin, end := r.between(d.Add(-1), d.Add(2))
	asks := append(people.everyone(d, d), askClosures(&w, d, d), askAll("read occupancy", scanBusy, &w.Busy,
		`SELECT o.subject, b.starts_at, o.starts_at, o.ends_at FROM occupancy o JOIN bookings b ON b.id = o.booking_id
		WHERE o.ends_at > $1 AND o.starts_at < $2 AND (b.status NOT IN ('held', 'pending_payment') OR b.hold_until > $3)`,
		db.At(begin), db.At(end), db.At(r.c.Now)))
	err := db.Gather(ctx, r.q, asks...)
	staff := slices.DeleteFunc(people.schedules, func(s calendar.Schedule) bool { return r.staff != "" && s.ID != r.staff })
	out.Free = calendar.FreeHours(d, r.c.Zone, staff, w.Closures, w.Busy)
	return out, err
}
