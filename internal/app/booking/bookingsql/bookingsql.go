// Package bookingsql keeps the booking calendar in a tenant's database.
//
// Every function runs inside the caller's transaction or snapshot and sees one
// tenant, the handle's. A refusal the caller can act on is a *calendar.Refusal
// in the error chain; after one the transaction must be rolled back. No two
// live bookings overlap for one member of staff or resource, buffers included,
// and no group session has more bookings than seats: rows are locked first,
// looked at second, and the database refuses what slipped through. The SQL is portable; statements that are not are alone in
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
	Thread  string // the conversation and the turn they ask in, "" outside one
	Turn    string
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

// lock takes the row locks of members of staff in the order of their ids, then
// of whatever may meet the needs of a service, so that writers who need the same
// wait instead of deadlocking. The locks travel with the next question, which
// sees what was committed before they were had. SQLite has one writer, who
// needs no lock.
func lock(ctx context.Context, tx db.Tx, service string, staff ...string) error {
	wait := tx.Dialect().ForUpdate
	if wait == "" {
		return nil
	}
	slices.Sort(staff)
	for _, id := range slices.Compact(staff) {
		if err := db.Exec(ctx, tx, "lock staff", "SELECT id FROM staff WHERE id = $1"+wait, id); err != nil {
			return err
		}
	}
	return db.Exec(ctx, tx, "lock resources", `SELECT r.id FROM resources r JOIN service_resources n ON n.subject = '`+resourcePrefix+`' || r.id
		WHERE n.service_id = $1 ORDER BY r.id`+wait+" OF r", service)
}

// resourcePrefix keeps a resource's subject apart from those of staff.
const resourcePrefix = "resource:"

// askStaff tells whether there is such a member of staff.
func askStaff(id string, known *bool) db.Ask {
	return db.Into("look for staff", []any{known}, `SELECT COUNT(*) > 0 FROM staff WHERE id = $1`, id)
}

// expired finds the holds that ran out at $2 and keep a member of staff, $1, or
// what a service needs, $4, from others; the booking $3 is left out.
const expired = `status IN ('held', 'pending_payment') AND hold_until <= $2 AND id <> $3 AND (staff_id = $1 OR EXISTS (
	SELECT 1 FROM occupancy o JOIN service_resources n ON n.subject = o.subject WHERE n.service_id = $4
	AND o.booking_id = CASE WHEN bookings.session_id = '' THEN bookings.id ELSE bookings.session_id END))`

// maxExpired bounds what one transaction gives back.
const maxExpired = 1000

// askExpired names what releaseExpired is to give back.
func askExpired(c Caller, service, staff, keep string, gone *[]string) db.Ask {
	return askAll("find expired holds", scanText, gone, `SELECT id FROM bookings WHERE `+expired+` ORDER BY id LIMIT $5`,
		staff, db.At(c.Now), keep, service, maxExpired)
}

// releaseExpired gives back holds that ran out. Whom and what they keep from
// others is locked since before they were found.
func releaseExpired(ctx context.Context, tx db.Tx, c Caller, gone []string) error {
	for _, id := range gone {
		for _, s := range []string{
			`INSERT INTO booking_history (booking_id, version, event, status, staff_id, starts_at, detail, at)
			 SELECT id, version + 1, 'expired', 'expired', staff_id, starts_at, '', $2 FROM bookings WHERE id = $1`,
			`UPDATE bookings SET status = 'expired', version = version + 1, updated_at = $2 WHERE id = $1`,
		} {
			if err := db.Exec(ctx, tx, "release expired holds", s, id, db.At(c.Now)); err != nil {
				return err
			}
		}
		if err := vacate(ctx, tx, id); err != nil {
			return err
		}
	}
	return nil
}

func scanText(sc db.Scanner) (string, error) {
	var s string
	err := sc.Scan(&s)
	return s, err
}
