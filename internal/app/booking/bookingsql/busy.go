package bookingsql

import (
	"context"
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/db"
)

// BusyCalendar is what is known of a member of staff's own calendar.
type BusyCalendar struct {
	StaffID string
	Tag     string    // of the answer that was read last
	Checked time.Time // when it was last asked for
	Read    time.Time // when what counts now was read
	Problem string    // what was wrong with it then
}

// BusyCalendars lists the calendars that were ever asked for.
func BusyCalendars(ctx context.Context, q db.Q) ([]BusyCalendar, error) {
	return db.Collect(ctx, q, "list busy calendars", func(sc db.Scanner) (b BusyCalendar, err error) {
		var checked, read db.Time
		err = sc.Scan(&b.StaffID, &b.Tag, &checked, &read, &b.Problem)
		b.Checked, b.Read = checked.Time, read.Time
		return b, err
	}, `SELECT staff_id, tag, checked_at, read_at, problem FROM busy_calendars ORDER BY staff_id`)
}

// NoteBusy keeps what became of asking for a calendar. times takes the place of
// what was read before; nil leaves that as it is.
func NoteBusy(ctx context.Context, tx db.Tx, b BusyCalendar, times []calendar.Interval) error {
	if err := db.Exec(ctx, tx, "note busy calendar", `INSERT INTO busy_calendars (staff_id, tag, checked_at, read_at, problem)
		VALUES ($1, $2, $3, $4, $5) ON CONFLICT (staff_id) DO UPDATE SET tag = excluded.tag, checked_at = excluded.checked_at,
		read_at = excluded.read_at, problem = excluded.problem`, b.StaffID, b.Tag, db.At(b.Checked), db.At(b.Read), b.Problem); err != nil {
		return err
	}
	if times == nil {
		return nil
	}
	if err := db.Exec(ctx, tx, "forget busy times", `DELETE FROM busy_times WHERE staff_id = $1`, b.StaffID); err != nil {
		return err
	}
	for _, t := range times {
		if err := db.Exec(ctx, tx, "keep busy time", `INSERT INTO busy_times (staff_id, starts_at, ends_at) VALUES ($1, $2, $3)`,
			b.StaffID, db.At(t.From), db.At(t.To)); err != nil {
			return err
		}
	}
	return nil
}

// ForgetBusy removes a calendar that the definition names no more.
func ForgetBusy(ctx context.Context, tx db.Tx, staff string) error {
	if err := db.Exec(ctx, tx, "forget busy times", `DELETE FROM busy_times WHERE staff_id = $1`, staff); err != nil {
		return err
	}
	return db.Exec(ctx, tx, "forget busy calendar", `DELETE FROM busy_calendars WHERE staff_id = $1`, staff)
}

func askAway(w *calendar.World, c Caller, from, to calendar.Date) db.Ask {
	begin, end := reach(c, from, to)
	return askAll("read busy times", func(sc db.Scanner) (calendar.Away, error) {
		var a calendar.Away
		var from, to db.Time
		err := sc.Scan(&a.StaffID, &from, &to)
		a.From, a.To = from.Time, to.Time
		return a, err
	}, &w.Away, `SELECT staff_id, starts_at, ends_at FROM busy_times WHERE ends_at > $1 AND starts_at < $2`, begin, end)
}
