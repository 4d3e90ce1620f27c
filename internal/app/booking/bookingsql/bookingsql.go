// Package bookingsql keeps the booking calendar in a tenant's database.
//
// Every function runs inside the caller's transaction or snapshot and sees one
// tenant, the handle's. A refusal the caller can act on is a *calendar.Refusal
// in the error chain; after one the transaction must be rolled back. No two
// live bookings overlap for one member of staff, buffers included: rows are
// locked first, looked at second, and the database refuses what slipped
// through. The SQL is portable; statements that are not are alone in
// migrations named after their backend. The package imports leaves, the
// vocabulary, and the calendar.
package bookingsql

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/db"
)

//go:embed migrations/*.sql
var files embed.FS

// Migrations returns the app's tables as numbered files for db.Migrate.
func Migrations() fs.FS {
	sub, err := fs.Sub(files, "migrations")
	if err != nil {
		panic(fmt.Sprintf("bookingsql: embedded migrations: %v", err)) // the folder is embedded above
	}
	return sub
}

// Caller is who asks, and when. Contact is whose bookings may be touched; ""
// is the business itself, which may touch all. Staff is whose calendar; "" is
// everybody's.
type Caller struct {
	Zone    *time.Location // the business's
	Now     time.Time
	Contact string
	Staff   string
}

func (c Caller) owns(b calendar.Booking) bool {
	return (c.Contact == "" || c.Contact == b.ContactID) && c.works(b.StaffID)
}

// works reports whether the caller may touch a member of staff's calendar.
func (c Caller) works(staff string) bool { return c.Staff == "" || c.Staff == staff }

// check refuses a booking that does not exist or is another's.
func (c Caller) check(r *row) error {
	if r == nil || !c.owns(r.Booking) {
		return refuse(calendar.NoSuchBooking)
	}
	return nil
}

func refuse(code string) error { return &calendar.Refusal{Code: code} }

// lockStaff takes the row locks of members of staff in the order of their ids,
// so that writers who need the same people wait instead of deadlocking. The
// locks travel with the next question, which sees what was committed before
// they were had. SQLite has one writer, who needs no lock.
func lockStaff(ctx context.Context, tx db.Tx, ids ...string) error {
	if tx.Dialect().ForUpdate == "" {
		return nil
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		if err := db.Exec(ctx, tx, "lock staff", "SELECT id FROM staff WHERE id = $1"+tx.Dialect().ForUpdate, id); err != nil {
			return err
		}
	}
	return nil
}

// askStaff tells whether there is such a member of staff.
func askStaff(id string, known *bool) db.Ask {
	return db.Into("look for staff", []any{known}, `SELECT COUNT(*) > 0 FROM staff WHERE id = $1`, id)
}

const expired = `staff_id = $1 AND status IN ('held', 'pending_payment') AND hold_until <= $2 AND id <> $3`

// askExpired counts what releaseExpired would give back.
func askExpired(c Caller, staff, keep string, n *int) db.Ask {
	return db.Into("count expired holds", []any{n}, `SELECT COUNT(*) FROM bookings WHERE `+expired, staff, db.At(c.Now), keep)
}

// releaseExpired gives back what ran out of a locked member of staff, except
// for the booking named keep, which is about to be taken again. It is worth its
// writes only where askExpired counted something.
func releaseExpired(ctx context.Context, tx db.Tx, c Caller, staff, keep string) error {
	for _, s := range []string{
		`INSERT INTO booking_history (booking_id, version, event, status, staff_id, starts_at, detail, at)
		 SELECT id, version + 1, 'expired', 'expired', staff_id, starts_at, '', $2 FROM bookings WHERE ` + expired,
		`DELETE FROM occupancy WHERE booking_id IN (SELECT id FROM bookings WHERE ` + expired + `)`,
		`UPDATE bookings SET status = 'expired', version = version + 1, updated_at = $2 WHERE ` + expired,
	} {
		if err := db.Exec(ctx, tx, "release expired holds", s, staff, db.At(c.Now), keep); err != nil {
			return err
		}
	}
	return nil
}

// occupy takes a booking's time from its member of staff, or moves what the
// booking has of it. After a refusal the transaction goes on, to look for
// alternatives.
func occupy(ctx context.Context, tx db.Tx, r row) error {
	err := db.Guarded(ctx, tx, "occupy", `INSERT INTO occupancy (booking_id, subject, starts_at, ends_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (booking_id, subject) DO UPDATE SET starts_at = excluded.starts_at, ends_at = excluded.ends_at`,
		r.ID, r.StaffID, db.At(r.Start.Add(-r.before)), db.At(r.End.Add(r.after)))
	if db.IsOverlap(err) {
		return refuse(calendar.SlotTaken)
	}
	return err
}

// vacate gives back the time a booking has, except of one member of staff.
func vacate(ctx context.Context, tx db.Tx, bookingID, except string) error {
	return db.Exec(ctx, tx, "vacate", `DELETE FROM occupancy WHERE booking_id = $1 AND subject <> $2`, bookingID, except)
}
