package bookingsql

import (
	"context"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/db"
)

// maxStanding bounds the bookings that a block of time names.
const maxStanding = 50

// Blocking says what a block of time would meet. It refuses what Block would.
func Blocking(ctx context.Context, q db.Q, c Caller, a calendar.BlockTimeArgs) (calendar.BlockedTime, error) {
	out := calendar.BlockedTime{StaffID: a.StaffID, From: a.From, To: a.To}
	sp, err := span(a.From, a.To)
	if err != nil {
		return out, refuse(InvalidArguments)
	}
	begin, _ := sp.From.In(c.Zone)
	end, _ := sp.To.In(c.Zone)
	if !begin.Before(end) || !end.After(c.Now) {
		return out, refuse(InvalidArguments)
	}
	if c.Staff != "" && a.StaffID != c.Staff {
		return out, refuse(calendar.NotYours)
	}
	names, err := db.Collect(ctx, q, "read staff", func(row db.Scanner) (name string, err error) { return name, row.Scan(&name) },
		`SELECT name FROM staff WHERE id = $1 AND NOT removed`, a.StaffID)
	if err != nil {
		return out, err
	}
	if len(names) == 0 {
		return out, refuse(calendar.NoSuchStaff)
	}
	out.StaffName = names[0]
	out.Standing, err = visits(ctx, q, c, a.StaffID, calendar.Interval{From: begin, To: end}, maxStanding)
	return out, err
}

// BlockTime takes time out of a member of staff's calendar. Bookings that stand in
// it stay. The same id again answers with the block as it is now.
func BlockTime(ctx context.Context, tx db.Tx, c Caller, by string, a calendar.BlockTimeArgs) (calendar.BlockedTime, error) {
	if err := lock(ctx, tx, "", a.StaffID); err != nil {
		return calendar.BlockedTime{}, err
	}
	out, err := Blocking(ctx, tx, c, a)
	if err != nil {
		return out, err
	}
	n, err := db.Changed(ctx, tx, "block time", `INSERT INTO staff_blocks (id, staff_id, from_moment, to_moment, reason, made_by, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO NOTHING`,
		a.BlockID, a.StaffID, a.From, a.To, a.Reason, by, db.At(c.Now))
	if err != nil || n > 0 {
		return out, err
	}
	var same int
	if err := db.Gather(ctx, tx, db.Into("look for block", []any{&same}, `SELECT COUNT(*) FROM staff_blocks
		WHERE id = $1 AND staff_id = $2 AND from_moment = $3 AND to_moment = $4`, a.BlockID, a.StaffID, a.From, a.To)); err != nil {
		return out, err
	}
	if same == 0 {
		return out, refuse(calendar.AlreadyDone)
	}
	return out, nil
}

// Deleting says what the deletion of a service would leave.
func Deleting(ctx context.Context, q db.Q, c Caller, id string) (calendar.Deleted, error) {
	var s *calendar.Service
	out := calendar.Deleted{ServiceID: id}
	err := db.Gather(ctx, q, askOne("read service", scanService, &s, selectService+`WHERE id = $1 AND deleted_at IS NULL`, id),
		db.Into("count bookings to come", []any{&out.Upcoming}, `SELECT COUNT(*) FROM bookings WHERE service_id = $1 AND starts_at > $2
			AND (status = 'confirmed' OR status IN ('held', 'pending_payment') AND hold_until > $2)`, id, db.At(c.Now)))
	if err != nil {
		return out, err
	}
	if s == nil {
		return out, refuse(calendar.NoSuchService)
	}
	out.Name = s.Name
	return out, nil
}

// Delete takes a service out of what can be booked, for good. Its bookings stay.
func Delete(ctx context.Context, tx db.Tx, c Caller, id string) (calendar.Deleted, error) {
	out, err := Deleting(ctx, tx, c, id)
	if err != nil {
		return out, err
	}
	return out, db.Exec(ctx, tx, "delete service", `UPDATE services SET removed = $2, deleted_at = $3 WHERE id = $1`, id, true, db.At(c.Now))
}

// Visitors are those of some contacts who have or had a booking with a member
// of staff.
func Visitors(ctx context.Context, q db.Q, staff string, contacts []string) (map[string]bool, error) {
	out := map[string]bool{}
	var asks []db.Ask
	for _, id := range contacts {
		asks = append(asks, db.Each("look for visits", func(row db.Scanner) error {
			var contact string
			err := row.Scan(&contact)
			out[contact] = true
			return err
		}, `SELECT contact_id FROM bookings WHERE contact_id = $1 AND staff_id = $2 LIMIT 1`, id, staff))
	}
	return out, db.Gather(ctx, q, asks...)
}

// Reminding returns a booking that its customer can be reminded of.
func Reminding(ctx context.Context, q db.Q, c Caller, id string) (calendar.Booking, calendar.Text, error) {
	r, err := find(ctx, q, c, id)
	if err != nil {
		return r.Booking, nil, err
	}
	if r.Status != calendar.Confirmed || !r.Start.After(c.Now) {
		return r.Booking, nil, refuse(calendar.WrongState)
	}
	var s *calendar.Service
	err = db.Gather(ctx, q, askOne("read service", scanService, &s, selectService+`WHERE id = $1`, r.ServiceID))
	if err != nil || s == nil {
		return r.Booking, nil, err
	}
	return r.Booking, s.Name, nil
}

func scanBusy(sc db.Scanner) (calendar.Busy, error) {
	var b calendar.Busy
	var start, from, to db.Time
	err := sc.Scan(&b.StaffID, &start, &from, &to)
	b.Start, b.From, b.To = start.Time, from.Time, to.Time
	return b, err
}

// everyone asks for all who work, as roster.asks does for those who offer a
// service.
func (r *roster) everyone(from, to calendar.Date) []db.Ask {
	first, last := from.Add(-1).String(), to.Add(2).String()
	return []db.Ask{
		db.Each("read staff", r.member, `SELECT id, name, aliases FROM staff WHERE NOT removed ORDER BY position, id`),
		db.Each("read hours", r.hours, `SELECT staff_id, weekday, opens, closes FROM staff_hours`),
		db.Each("read exceptions", r.exception, `SELECT staff_id, on_date, opens, closes FROM staff_exceptions WHERE on_date BETWEEN $1 AND $2`, first, last),
		db.Each("read time off", r.timeOff, `SELECT staff_id, from_moment, to_moment FROM (`+offTime+`) off WHERE to_moment > $1 AND from_moment < $2`, first, last),
	}
}

// offTime is all time off: the definition's and what was blocked in a chat.
const offTime = `SELECT staff_id, from_moment, to_moment FROM time_off UNION ALL SELECT staff_id, from_moment, to_moment FROM staff_blocks`
