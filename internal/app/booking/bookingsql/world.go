package bookingsql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/db"
)

const selectService = `SELECT id, name, aliases, description, minutes, buffer_before, buffer_after, interval_minutes,
	price_minor, deposit_minor, currency, hidden OR removed FROM services `

func scanService(sc db.Scanner) (calendar.Service, error) {
	var s calendar.Service
	var length, before, after, interval int64
	err := sc.Scan(&s.ID, db.JSON{V: &s.Name}, db.JSON{V: &s.Aliases}, db.JSON{V: &s.Description}, &length, &before, &after,
		&interval, &s.Price.Minor, &s.Deposit.Minor, &s.Price.Currency, &s.Hidden)
	s.Deposit.Currency = s.Price.Currency
	s.Duration, s.BufferBefore, s.BufferAfter, s.Interval = minutes(length), minutes(before), minutes(after), minutes(interval)
	return s, err
}

func scanStaff(sc db.Scanner) (calendar.Staff, error) {
	var s calendar.Staff
	err := sc.Scan(&s.ID, &s.Name, db.JSON{V: &s.Aliases})
	return s, err
}

// Catalogue lists what a customer may book and who works here, in the order of
// the definition.
func Catalogue(ctx context.Context, q db.Q) (calendar.Catalogue, error) {
	out := calendar.Catalogue{}
	services, err := db.Collect(ctx, q, "list services", scanService,
		selectService+`WHERE NOT hidden AND NOT removed ORDER BY position, id`)
	if err != nil {
		return out, err
	}
	staff, err := db.Collect(ctx, q, "list staff", scanStaff,
		`SELECT id, name, aliases FROM staff WHERE NOT removed ORDER BY position, id`)
	if err != nil {
		return out, err
	}
	type offer struct{ service, staff string }
	offers, err := db.Collect(ctx, q, "list offers", func(sc db.Scanner) (o offer, err error) {
		return o, sc.Scan(&o.service, &o.staff)
	}, `SELECT ss.service_id, ss.staff_id FROM service_staff ss JOIN staff s ON s.id = ss.staff_id
		WHERE NOT s.removed ORDER BY s.position, s.id`)
	if err != nil {
		return out, err
	}
	byService := map[string][]string{}
	for _, o := range offers {
		byService[o.service] = append(byService[o.service], o.staff)
	}
	out.Staff = append([]calendar.Staff{}, staff...)
	out.Services = append([]calendar.Service{}, services...)
	for i, s := range out.Services {
		out.Services[i].Staff = append([]string{}, byService[s.ID]...)
	}
	return out, nil
}

// readPolicy returns the business's rules; a database no definition was
// applied to has none, and that is a failure.
func readPolicy(ctx context.Context, q db.Q) (calendar.Policy, error) {
	var notice, cancel, hold int64
	var p calendar.Policy
	err := q.QueryRowContext(ctx, `SELECT notice_minutes, horizon_days, cancel_minutes, hold_minutes, max_holds
		FROM booking_policy WHERE id = 1`).Scan(&notice, &p.Horizon, &cancel, &hold, &p.MaxHolds)
	if err != nil {
		return p, fmt.Errorf("read booking policy: %w", err)
	}
	p.Notice, p.Cancel, p.Hold = minutes(notice), minutes(cancel), minutes(hold)
	return p, nil
}

// scope is what a world is loaded for.
type scope struct {
	service  string
	from, to calendar.Date
	moving   *row // its own time counts as free, and its own length is asked for
}

// world loads all that decides about a service's starts on the dates, in a
// fixed number of queries. A service that is not to be booked is refused.
func world(ctx context.Context, q db.Q, c Caller, s scope) (calendar.World, error) {
	w := calendar.World{Zone: c.Zone}
	var err error
	if w.Policy, err = readPolicy(ctx, q); err != nil {
		return w, err
	}
	if w.Service, err = scanService(q.QueryRowContext(ctx, selectService+`WHERE id = $1`, s.service)); err != nil {
		if errors.Is(err, sql.ErrNoRows) {
			return w, refuse(calendar.NotEligible)
		}
		return w, fmt.Errorf("read service: %w", err)
	}
	switch m := s.moving; {
	case m != nil && m.ServiceID == s.service:
		w.Service.Duration, w.Service.BufferBefore, w.Service.BufferAfter = m.End.Sub(m.Start), m.before, m.after
	case w.Service.Hidden:
		return w, refuse(calendar.NotEligible)
	}
	s.from, s.to = bounded(s, w.Policy, c)
	if w.Staff, err = schedules(ctx, q, s); err != nil {
		return w, err
	}
	if w.Closures, err = db.Collect(ctx, q, "read closures", scanSpan,
		`SELECT from_moment, to_moment FROM closures WHERE to_moment > $1 AND from_moment < $2`,
		s.from.Add(-1).String(), s.to.Add(2).String()); err != nil {
		return w, err
	}
	return w, occupied(ctx, q, c, s, &w)
}

// bounded keeps the load to dates that can be booked at all.
func bounded(s scope, p calendar.Policy, c Caller) (from, to calendar.Date) {
	today := calendar.DateIn(c.Now, c.Zone)
	from, to = s.from, s.to
	if from.Compare(today) < 0 {
		from = today
	}
	if last := today.Add(p.Horizon); to.Compare(last) > 0 {
		to = last
	}
	if to.Compare(from) < 0 {
		to = from
	}
	return from, to
}

// occupied reads the time that is taken, holds that ran out left aside.
func occupied(ctx context.Context, q db.Q, c Caller, s scope, w *calendar.World) error {
	self := ""
	if s.moving != nil {
		self = s.moving.ID
	}
	begin, _ := calendar.Moment{Date: s.from.Add(-1)}.In(c.Zone)
	end, _ := calendar.Moment{Date: s.to.Add(3)}.In(c.Zone)
	var err error
	w.Busy, err = db.Collect(ctx, q, "read occupancy", func(sc db.Scanner) (calendar.Busy, error) {
		var b calendar.Busy
		var start, from, to db.Time
		err := sc.Scan(&b.StaffID, &start, &from, &to)
		b.Start, b.From, b.To = start.Time, from.Time, to.Time
		return b, err
	}, `SELECT o.subject, b.starts_at, o.starts_at, o.ends_at FROM occupancy o JOIN bookings b ON b.id = o.booking_id
		WHERE o.subject IN (SELECT staff_id FROM service_staff WHERE service_id = $1)
		AND o.ends_at > $2 AND o.starts_at < $3 AND b.id <> $4
		AND (b.status NOT IN ('held', 'pending_payment') OR b.hold_until > $5)`,
		s.service, db.At(begin), db.At(end), self, db.At(c.Now))
	if err != nil || c.Contact == "" {
		return err
	}
	w.Own, err = db.Collect(ctx, q, "read own bookings", func(sc db.Scanner) (calendar.Interval, error) {
		var from, to db.Time
		err := sc.Scan(&from, &to)
		return calendar.Interval{From: from.Time, To: to.Time}, err
	}, `SELECT starts_at, ends_at FROM bookings WHERE contact_id = $1 AND ends_at > $2 AND starts_at < $3 AND id <> $4
		AND (status = 'confirmed' OR status IN ('held', 'pending_payment') AND hold_until > $5)`,
		c.Contact, db.At(begin), db.At(end), self, db.At(c.Now))
	return err
}

// schedules reads who offers a service and when they work.
func schedules(ctx context.Context, q db.Q, s scope) ([]calendar.Schedule, error) {
	staff, err := db.Collect(ctx, q, "read staff", scanStaff, `SELECT s.id, s.name, s.aliases FROM staff s
		JOIN service_staff ss ON ss.staff_id = s.id WHERE ss.service_id = $1 AND NOT s.removed ORDER BY s.name, s.id`, s.service)
	if err != nil {
		return nil, err
	}
	out := make([]calendar.Schedule, len(staff))
	byID := map[string]*calendar.Schedule{}
	for i, st := range staff {
		out[i] = calendar.Schedule{Staff: st, Exceptions: map[calendar.Date][]calendar.Shift{}}
		byID[st.ID] = &out[i]
	}
	const offering = ` IN (SELECT staff_id FROM service_staff WHERE service_id = $1)`
	if _, err = db.Collect(ctx, q, "read hours", func(sc db.Scanner) (none struct{}, err error) {
		var id string
		var day int
		var sh calendar.Shift
		err = sc.Scan(&id, &day, &sh.From, &sh.To)
		if m := byID[id]; m != nil && err == nil {
			m.Hours[day] = append(m.Hours[day], sh)
		}
		return none, err
	}, `SELECT staff_id, weekday, opens, closes FROM staff_hours WHERE staff_id`+offering, s.service); err != nil {
		return nil, err
	}
	if _, err = db.Collect(ctx, q, "read exceptions", exception(byID),
		`SELECT staff_id, on_date, opens, closes FROM staff_exceptions WHERE on_date BETWEEN $2 AND $3 AND staff_id`+offering,
		s.service, s.from.Add(-1).String(), s.to.Add(2).String()); err != nil {
		return nil, err
	}
	_, err = db.Collect(ctx, q, "read time off", func(sc db.Scanner) (none struct{}, err error) {
		var id, from, to string
		if err = sc.Scan(&id, &from, &to); err != nil {
			return none, err
		}
		sp, err := span(from, to)
		if m := byID[id]; m != nil {
			m.TimeOff = append(m.TimeOff, sp)
		}
		return none, err
	}, `SELECT staff_id, from_moment, to_moment FROM time_off WHERE to_moment > $2 AND from_moment < $3 AND staff_id`+offering,
		s.service, s.from.Add(-1).String(), s.to.Add(2).String())
	return out, err
}

func exception(byID map[string]*calendar.Schedule) func(db.Scanner) (struct{}, error) {
	return func(sc db.Scanner) (none struct{}, err error) {
		var id, on string
		var opens, closes sql.NullInt64
		if err = sc.Scan(&id, &on, &opens, &closes); err != nil {
			return none, err
		}
		d, err := calendar.ParseDate(on)
		m := byID[id]
		if m == nil || err != nil {
			return none, err
		}
		shifts := m.Exceptions[d]
		if opens.Valid {
			shifts = append(shifts, calendar.Shift{From: calendar.Clock(opens.Int64), To: calendar.Clock(closes.Int64)})
		}
		m.Exceptions[d] = shifts
		return none, nil
	}
}

func scanSpan(sc db.Scanner) (calendar.Span, error) {
	var from, to string
	if err := sc.Scan(&from, &to); err != nil {
		return calendar.Span{}, err
	}
	return span(from, to)
}

func span(from, to string) (calendar.Span, error) {
	f, err := calendar.ParseMoment(from)
	if err != nil {
		return calendar.Span{}, fmt.Errorf("stored span: %w", err)
	}
	t, err := calendar.ParseMoment(to)
	if err != nil {
		return calendar.Span{}, fmt.Errorf("stored span: %w", err)
	}
	return calendar.Span{From: f, To: t}, nil
}

// wantedAround is how many days on each side are searched first for nearby starts.
const wantedAround = 4

// offered is how many alternatives a conflict carries.
const offered = 3

// nearest finds the free starts closest to a wanted one, of any date that can
// be booked; staff "" is any.
func nearest(ctx context.Context, q db.Q, c Caller, s scope, staff string, want time.Time) ([]calendar.Slot, error) {
	d := calendar.DateIn(want, c.Zone)
	today := calendar.DateIn(c.Now, c.Zone)
	if d.Compare(today) < 0 {
		d, want = today, c.Now
	}
	var slots []calendar.Slot
	for _, around := range []int{wantedAround, calendar.MaxHorizon} {
		s.from, s.to = d.Add(-around), d.Add(around)
		w, err := world(ctx, q, c, s)
		if err != nil {
			return nil, err
		}
		slots = calendar.Nearest(calendar.Query{Now: c.Now, From: s.from, To: s.to, Staff: staff}, w, want, offered)
		if len(slots) == offered {
			break
		}
	}
	return slots, nil
}
