package bookingsql

import (
	"database/sql"
	"strings"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/db"
)

// standing are bookings b whose time counts at $5, the booking $4 left aside.
const standing = `b.id <> $4 AND b.status IN ('held', 'pending_payment', 'confirmed', 'completed', 'no_show')
	AND (b.status NOT IN ('held', 'pending_payment') OR b.hold_until > $5)`

// askSpace reads the group sessions that have begun to fill, and the resources
// that may meet the service's needs with what takes their time.
func askSpace(w *calendar.World, c Caller, self string, from, to calendar.Date) []db.Ask {
	begin, end := reach(c, from, to)
	args := []any{w.Service.ID, begin, end, self, db.At(c.Now)}
	asks := []db.Ask{
		askAll("read sessions of others", func(sc db.Scanner) (calendar.Busy, error) {
			var b calendar.Busy
			var start, from, to db.Time
			err := sc.Scan(&b.StaffID, &start, &from, &to)
			b.Start, b.From, b.To = start.Time, from.Time, to.Time
			return b, err
		}, &w.Busy, `SELECT g.staff_id, g.starts_at, o.starts_at, o.ends_at FROM group_sessions g
			JOIN occupancy o ON o.booking_id = g.id AND o.subject = g.staff_id
			WHERE g.service_id <> $1 AND o.ends_at > $2 AND o.starts_at < $3
			AND EXISTS (SELECT 1 FROM bookings b WHERE b.session_id = g.id AND b.session_id <> '' AND `+standing+`)`, args...),
	}
	if w.Service.Group() {
		capacity := w.Service.Capacity
		asks = append(asks, askAll("read sessions", func(sc db.Scanner) (calendar.Session, error) {
			var s calendar.Session
			var start db.Time
			var taken int
			err := sc.Scan(&s.StaffID, &start, &taken)
			s.Start, s.Left = start.Time, max(0, capacity-taken)
			return s, err
		}, &w.Sessions, `SELECT g.staff_id, g.starts_at, COUNT(b.id) FROM group_sessions g
			JOIN bookings b ON b.session_id = g.id AND b.session_id <> '' AND `+standing+`
			WHERE g.service_id = $1 AND g.starts_at > $2 AND g.starts_at < $3 GROUP BY g.id, g.staff_id, g.starts_at`, args...))
	}
	if len(w.Service.Needs) == 0 {
		return asks
	}
	at := map[string]int{} // in Rooms, by id
	return append(asks,
		db.Each("read resources", func(sc db.Scanner) error {
			var r calendar.Room
			err := sc.Scan(&r.ID, &r.Name, &r.Kind)
			at[r.ID] = len(w.Rooms)
			w.Rooms = append(w.Rooms, r)
			return err
		}, `SELECT r.id, r.name, r.kind FROM resources r JOIN service_resources n ON n.subject = '`+resourcePrefix+`' || r.id
			WHERE n.service_id = $1 AND NOT r.removed ORDER BY r.position, r.id`, w.Service.ID),
		db.Each("read time of resources", func(sc db.Scanner) error {
			var subject string
			var from, to db.Time
			err := sc.Scan(&subject, &from, &to)
			if i, ok := at[strings.TrimPrefix(subject, resourcePrefix)]; ok {
				w.Rooms[i].Busy = append(w.Rooms[i].Busy, calendar.Interval{From: from.Time, To: to.Time})
			}
			return err
		}, `SELECT o.subject, o.starts_at, o.ends_at FROM service_resources n JOIN occupancy o ON o.subject = n.subject
			WHERE n.service_id = $1 AND o.ends_at > $2 AND o.starts_at < $3
			AND (EXISTS (SELECT 1 FROM bookings b WHERE b.id = o.booking_id AND `+standing+`)
				OR EXISTS (SELECT 1 FROM bookings b WHERE b.session_id = o.booking_id AND b.session_id <> '' AND `+standing+`))`, args...))
}

// askBlocks reads the time that is blocked: of staff, of resources, and, where
// no subject is named, of the whole business. It is asked after both.
func askBlocks(w *calendar.World, people *roster, from, to calendar.Date) db.Ask {
	return db.Each("read blocks", func(sc db.Scanner) error {
		var subject string
		var day, opens, closes sql.NullInt64
		var begin, end sql.NullString
		if err := sc.Scan(&subject, &day, &opens, &closes, &begin, &end); err != nil {
			return err
		}
		week, off := blockOf(w, people, subject)
		if day.Valid && week != nil {
			week[day.Int64] = append(week[day.Int64], calendar.Shift{From: calendar.Clock(opens.Int64), To: calendar.Clock(closes.Int64)})
		}
		if day.Valid || off == nil {
			return nil
		}
		s, err := span(begin.String, end.String)
		*off = append(*off, s)
		return err
	}, `SELECT subject, weekday, opens, closes, from_moment, to_moment FROM blocks
		WHERE weekday IS NOT NULL OR to_moment > $1 AND from_moment < $2`, from.Add(-1).String(), to.Add(2).String())
}

// blockOf is where a subject's weekly and dated blocks go, nil when it does not
// matter here.
func blockOf(w *calendar.World, people *roster, subject string) (week *[7][]calendar.Shift, off *[]calendar.Span) {
	if subject == "" {
		return nil, &w.Closures
	}
	id, isResource := strings.CutPrefix(subject, resourcePrefix)
	if !isResource {
		if m := people.of(subject); m != nil {
			return &m.Breaks, &m.TimeOff
		}
		return nil, nil
	}
	for i := range w.Rooms {
		if w.Rooms[i].ID == id {
			return &w.Rooms[i].Breaks, &w.Rooms[i].TimeOff
		}
	}
	return nil, nil
}
