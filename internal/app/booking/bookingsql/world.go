package bookingsql

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/db"
)

// world loads all else that decides about a service's starts on the dates, in
// questions that are asked together.
func world(ctx context.Context, q db.Q, c Caller, t terms, from, to calendar.Date) (calendar.World, error) {
	w := calendar.World{Zone: c.Zone, Policy: *t.policy, Service: *t.service}
	from, to = bounded(from, to, w.Policy, c)
	var people roster
	asks := slices.Concat(people.asks(w.Service.ID, from, to), []db.Ask{askClosures(&w, from, to), askBusy(&w, c, t.self, from, to)},
		askSpace(&w, c, t.self, from, to), []db.Ask{askBlocks(&w, &people, from, to), askAway(&w, c, from, to)})
	if c.Contact != "" {
		asks = append(asks, askOwn(&w, c, t.self, from, to))
	}
	err := db.Gather(ctx, q, asks...)
	w.Staff = people.schedules
	return w, err
}

// bounded keeps the load to dates that can be booked at all.
func bounded(from, to calendar.Date, p calendar.Policy, c Caller) (first, last calendar.Date) {
	today := calendar.DateIn(c.Now, c.Zone)
	first, last = from, to
	if first.Compare(today) < 0 {
		first = today
	}
	if end := today.Add(p.Horizon); last.Compare(end) > 0 {
		last = end
	}
	if last.Compare(first) < 0 {
		last = first
	}
	return first, last
}

// reach is the stretch of instants that can matter to starts on the dates.
func reach(c Caller, from, to calendar.Date) (begin, end db.Time) {
	first, _ := calendar.Moment{Date: from.Add(-1)}.In(c.Zone)
	last, _ := calendar.Moment{Date: to.Add(3)}.In(c.Zone)
	return db.At(first), db.At(last)
}

// askBusy reads the time that is taken, holds that ran out left aside.
func askBusy(w *calendar.World, c Caller, self string, from, to calendar.Date) db.Ask {
	begin, end := reach(c, from, to)
	return askAll("read occupancy", scanBusy, &w.Busy, `SELECT o.subject, b.starts_at, o.starts_at, o.ends_at FROM occupancy o JOIN bookings b ON b.id = o.booking_id
		WHERE o.subject IN (SELECT staff_id FROM service_staff WHERE service_id = $1)
		AND o.ends_at > $2 AND o.starts_at < $3 AND b.id <> $4
		AND (b.status NOT IN ('held', 'pending_payment') OR b.hold_until > $5)`,
		w.Service.ID, begin, end, self, db.At(c.Now))
}

// askOwn reads the contact's own visits.
func askOwn(w *calendar.World, c Caller, self string, from, to calendar.Date) db.Ask {
	begin, end := reach(c, from, to)
	return askAll("read own bookings", func(sc db.Scanner) (calendar.Interval, error) {
		var from, to db.Time
		err := sc.Scan(&from, &to)
		return calendar.Interval{From: from.Time, To: to.Time}, err
	}, &w.Own, `SELECT starts_at, ends_at FROM bookings WHERE contact_id = $1 AND ends_at > $2 AND starts_at < $3 AND id <> $4
		AND (status = 'confirmed' OR status IN ('held', 'pending_payment') AND hold_until > $5)`,
		c.Contact, begin, end, self, db.At(c.Now))
}

func askClosures(w *calendar.World, from, to calendar.Date) db.Ask {
	return askAll("read closures", func(sc db.Scanner) (calendar.Span, error) {
		var from, to string
		if err := sc.Scan(&from, &to); err != nil {
			return calendar.Span{}, err
		}
		return span(from, to)
	}, &w.Closures, `SELECT from_moment, to_moment FROM closures WHERE to_moment > $1 AND from_moment < $2`,
		from.Add(-1).String(), to.Add(2).String())
}

// roster is who offers a service and when they work. Who they are is read
// first; a row about anybody else is left aside.
type roster struct {
	schedules []calendar.Schedule
	at        map[string]int // in schedules, by id
}

func (r *roster) asks(service string, from, to calendar.Date) []db.Ask {
	const offering = ` IN (SELECT staff_id FROM service_staff WHERE service_id = $1)`
	first, last := from.Add(-1).String(), to.Add(2).String()
	return []db.Ask{
		db.Each("read staff", r.member, `SELECT s.id, s.name, s.aliases FROM staff s
			JOIN service_staff ss ON ss.staff_id = s.id WHERE ss.service_id = $1 AND NOT s.removed ORDER BY s.name, s.id`, service),
		db.Each("read hours", r.hours, `SELECT staff_id, weekday, opens, closes FROM staff_hours WHERE staff_id`+offering, service),
		db.Each("read exceptions", r.exception,
			`SELECT staff_id, on_date, opens, closes FROM staff_exceptions WHERE on_date BETWEEN $2 AND $3 AND staff_id`+offering,
			service, first, last),
		db.Each("read time off", r.timeOff,
			`SELECT staff_id, from_moment, to_moment FROM (`+offTime+`) off WHERE to_moment > $2 AND from_moment < $3 AND staff_id`+offering,
			service, first, last),
	}
}

func (r *roster) member(sc db.Scanner) error {
	s, err := scanStaff(sc)
	if r.at == nil {
		r.at = map[string]int{}
	}
	r.at[s.ID] = len(r.schedules)
	r.schedules = append(r.schedules, calendar.Schedule{Staff: s, Exceptions: map[calendar.Date][]calendar.Shift{}})
	return err
}

// of returns somebody's schedule, nil when they do not offer the service.
func (r *roster) of(id string) *calendar.Schedule {
	if i, ok := r.at[id]; ok {
		return &r.schedules[i]
	}
	return nil
}

func (r *roster) hours(sc db.Scanner) error {
	var id string
	var day int
	var sh calendar.Shift
	err := sc.Scan(&id, &day, &sh.From, &sh.To)
	if m := r.of(id); m != nil && err == nil {
		m.Hours[day] = append(m.Hours[day], sh)
	}
	return err
}

func (r *roster) exception(sc db.Scanner) error {
	var id, on string
	var opens, closes sql.NullInt64
	if err := sc.Scan(&id, &on, &opens, &closes); err != nil {
		return err
	}
	d, err := calendar.ParseDate(on)
	m := r.of(id)
	if m == nil || err != nil {
		return err
	}
	shifts := m.Exceptions[d]
	if opens.Valid {
		shifts = append(shifts, calendar.Shift{From: calendar.Clock(opens.Int64), To: calendar.Clock(closes.Int64)})
	}
	m.Exceptions[d] = shifts
	return nil
}

func (r *roster) timeOff(sc db.Scanner) error {
	var id, from, to string
	if err := sc.Scan(&id, &from, &to); err != nil {
		return err
	}
	sp, err := span(from, to)
	if m := r.of(id); m != nil {
		m.TimeOff = append(m.TimeOff, sp)
	}
	return err
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
func nearest(ctx context.Context, q db.Q, c Caller, t terms, staff string, want time.Time) ([]calendar.Slot, error) {
	d := calendar.DateIn(want, c.Zone)
	today := calendar.DateIn(c.Now, c.Zone)
	if d.Compare(today) < 0 {
		d, want = today, c.Now
	}
	var slots []calendar.Slot
	for _, around := range []int{wantedAround, calendar.MaxHorizon} {
		from, to := d.Add(-around), d.Add(around)
		w, err := world(ctx, q, c, t, from, to)
		if err != nil {
			return nil, err
		}
		slots = calendar.Nearest(calendar.Query{Now: c.Now, From: from, To: to, Staff: staff}, w, want, offered)
		if len(slots) == offered {
			break
		}
	}
	return slots, nil
}
