package bookingsql

import (
	"context"
	"fmt"
	"strings"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/db"
)

// occupyFor takes the time of a booking that has none: of its staff and resources,
// or a seat in a group session, which is begun when there is none. A refusal
// leaves the transaction going, to look for alternatives.
func occupyFor(ctx context.Context, tx db.Tx, r *row, service calendar.Service) error {
	if !service.Group() {
		r.session = ""
		return occupy(ctx, tx, r.ID, *r)
	}
	var session string
	if err := db.Gather(ctx, tx, db.Into("look for session", []any{&session},
		`SELECT id FROM group_sessions WHERE staff_id = $1 AND service_id = $2 AND starts_at = $3`,
		r.StaffID, r.ServiceID, db.At(r.Start))); err != nil {
		return err
	}
	if session != "" {
		n, err := db.Changed(ctx, tx, "take seat", `UPDATE group_sessions SET taken = taken + 1, capacity = $2 WHERE id = $1 AND taken < $2`,
			session, service.Capacity)
		if err == nil && n == 0 {
			return refuse(calendar.SlotTaken)
		}
		r.session, r.Resources = session, nil
		return err
	}
	r.session = "session:" + r.ID
	if r.Version > 0 {
		r.session = fmt.Sprintf("session:%s:%d", r.ID, r.Version) // an earlier one may have been begun by the same booking
	}
	if err := occupy(ctx, tx, r.session, *r); err != nil {
		return err
	}
	return db.Exec(ctx, tx, "begin session", `INSERT INTO group_sessions (id, service_id, staff_id, starts_at, capacity, taken)
		VALUES ($1, $2, $3, $4, $5, 1)`, r.session, r.ServiceID, r.StaffID, db.At(r.Start), service.Capacity)
}

// occupy takes the time of a booking's staff and resources in a holder's name,
// or moves what the holder has of it.
func occupy(ctx context.Context, tx db.Tx, holder string, r row) error {
	args := []any{holder, db.At(r.Start.Add(-r.before)), db.At(r.End.Add(r.after)), r.StaffID}
	rows := []string{"($1, $4, $2, $3)"}
	for _, id := range r.Resources {
		args = append(args, resourcePrefix+id)
		rows = append(rows, fmt.Sprintf("($1, $%d, $2, $3)", len(args)))
	}
	err := db.Guarded(ctx, tx, "occupy", `INSERT INTO occupancy (booking_id, subject, starts_at, ends_at) VALUES `+strings.Join(rows, ", ")+`
		ON CONFLICT (booking_id, subject) DO UPDATE SET starts_at = excluded.starts_at, ends_at = excluded.ends_at`, args...)
	if db.IsOverlap(err) {
		return refuse(calendar.SlotTaken)
	}
	return err
}

// vacate gives back the time or the seat a booking has. A session nobody is left
// in ends, and whose offer it was stands in line again.
func vacate(ctx context.Context, tx db.Tx, bookingID string) error {
	if err := db.Exec(ctx, tx, "vacate", `DELETE FROM occupancy WHERE booking_id = $1`, bookingID); err != nil {
		return err
	}
	if err := backInLine(ctx, tx, bookingID); err != nil {
		return err
	}
	return leave(ctx, tx, `(SELECT session_id FROM bookings WHERE id = $1 AND session_id <> '')`, bookingID)
}

// leave gives back a seat of the session that an expression of $1 names.
func leave(ctx context.Context, tx db.Tx, session, arg string) error {
	for _, s := range []string{
		`UPDATE group_sessions SET taken = taken - 1 WHERE taken > 0 AND id = ` + session,
		`DELETE FROM occupancy WHERE booking_id IN (SELECT id FROM group_sessions WHERE taken = 0 AND id = ` + session + `)`,
		`DELETE FROM group_sessions WHERE taken = 0 AND id = ` + session,
	} {
		if err := db.Exec(ctx, tx, "leave session", s, arg); err != nil {
			return err
		}
	}
	return nil
}

// vacateOld gives back what a booking that moved no longer needs, once it has
// its new time.
func vacateOld(ctx context.Context, tx db.Tx, old, moved row) error {
	if old.session != "" {
		return leave(ctx, tx, "$1", old.session)
	}
	if moved.session != "" {
		return db.Exec(ctx, tx, "vacate", `DELETE FROM occupancy WHERE booking_id = $1`, moved.ID)
	}
	args := []any{moved.ID, moved.StaffID}
	kept := []string{"$2"}
	for _, id := range moved.Resources {
		args = append(args, resourcePrefix+id)
		kept = append(kept, fmt.Sprintf("$%d", len(args)))
	}
	return db.Exec(ctx, tx, "vacate", `DELETE FROM occupancy WHERE booking_id = $1 AND subject NOT IN (`+strings.Join(kept, ", ")+`)`, args...)
}
