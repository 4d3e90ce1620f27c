package bookingsql

import (
	"context"
	"database/sql"
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/db"
)

// Blocked is a stretch of the calendar that somebody of the business took out of
// it, beside what the definition says.
type Blocked struct {
	ID    string `json:"id"`
	Staff string `json:"staff,omitempty"` // "" is the whole business
	From  string `json:"from"`            // a moment of the business's wall clock
	To    string `json:"to"`
	Note  string `json:"note,omitempty"`
}

// Block takes time of a member of staff, or of the whole business, out of the
// calendar. Bookings in it stay.
func Block(ctx context.Context, tx db.Tx, id, staff string, s calendar.Span, note string) error {
	known := staff == ""
	if !known {
		if err := db.Gather(ctx, tx, askStaff(staff, &known)); err != nil {
			return err
		}
	}
	if !known {
		return refuse(calendar.NotEligible)
	}
	w := writer{ctx: ctx, tx: tx}
	w.block(id, "desk", staff, s, note)
	return w.err
}

// Unblock gives blocked time back. What the definition blocks is not touched.
func Unblock(ctx context.Context, tx db.Tx, id string) error {
	n, err := db.Changed(ctx, tx, "unblock", `DELETE FROM blocks WHERE id = $1 AND origin = 'desk'`, id)
	if err == nil && n == 0 {
		return refuse(calendar.NoSuchBlock)
	}
	return err
}

// Blocks lists what was blocked at the desk and is not over, in order of time.
func Blocks(ctx context.Context, q db.Q, c Caller) ([]Blocked, error) {
	out, err := db.Collect(ctx, q, "list blocks", func(sc db.Scanner) (b Blocked, err error) {
		err = sc.Scan(&b.ID, &b.Staff, &b.From, &b.To, &b.Note)
		return b, err
	}, `SELECT id, subject, from_moment, to_moment, note FROM blocks WHERE origin = 'desk' AND to_moment > $1 ORDER BY from_moment, id`,
		calendar.DateIn(c.Now, c.Zone).String())
	return append([]Blocked{}, out...), err
}

// ByCode returns the booking of a human code, or a refusal.
func ByCode(ctx context.Context, q db.Q, code string) (calendar.Booking, error) {
	var r *row
	if err := db.Gather(ctx, q, askOne("read booking by code", scanBooking, &r, selectBooking+`WHERE b.code = $1`, code)); err != nil {
		return calendar.Booking{}, err
	}
	if r == nil {
		return calendar.Booking{}, refuse(calendar.NoSuchBooking)
	}
	return r.Booking, nil
}

// SetLink makes a hash the one a member of staff's calendar is read by. The
// address before it leads nowhere from now on.
func SetLink(ctx context.Context, tx db.Tx, c Caller, staff, hash string) error {
	known := false
	if err := db.Gather(ctx, tx, askStaff(staff, &known)); err != nil {
		return err
	}
	if !known {
		return refuse(calendar.NotEligible)
	}
	return db.Exec(ctx, tx, "set calendar link", `INSERT INTO calendar_links (staff_id, hash, created_at) VALUES ($1, $2, $3)
		ON CONFLICT (staff_id) DO UPDATE SET hash = excluded.hash, created_at = excluded.created_at`, staff, hash, db.At(c.Now))
}

// Entry is a booking in somebody's calendar.
type Entry struct {
	calendar.Booking
	Changed time.Time
}

// How far back a calendar goes, and how much of it there is at most.
const (
	calendarPast = 30 * 24 * time.Hour
	maxEntries   = 5000
)

// Diary lists what stands, stood or was cancelled in the calendar that a hash
// leads to, in order of time; found is false when it leads nowhere.
func Diary(ctx context.Context, q db.Q, c Caller, hash string) (name string, entries []Entry, found bool, err error) {
	var staff sql.NullString
	if err := db.Gather(ctx, q, db.Into("find calendar", []any{&staff, &name},
		`SELECT s.id, s.name FROM calendar_links l JOIN staff s ON s.id = l.staff_id WHERE l.hash = $1`, hash)); err != nil || !staff.Valid {
		return "", nil, false, err
	}
	changed := map[string]time.Time{}
	rows, err := db.Collect(ctx, q, "read diary", scanBooking, selectBooking+`WHERE b.staff_id = $1 AND b.ends_at > $2
		AND b.status IN ('confirmed', 'completed', 'no_show', 'cancelled') ORDER BY b.starts_at, b.id LIMIT $3`,
		staff.String, db.At(c.Now.Add(-calendarPast)), maxEntries)
	if err == nil {
		err = db.Gather(ctx, q, db.Each("read when bookings changed", func(sc db.Scanner) error {
			var id string
			var at db.Time
			err := sc.Scan(&id, &at)
			changed[id] = at.Time
			return err
		}, `SELECT id, updated_at FROM bookings WHERE staff_id = $1 AND ends_at > $2`, staff.String, db.At(c.Now.Add(-calendarPast))))
	}
	for _, r := range rows {
		entries = append(entries, Entry{r.Booking, changed[r.ID]})
	}
	return name, entries, true, err
}
