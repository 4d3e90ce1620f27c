package bookingsql

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/money"
)

// row is a booking with what only this package reads.
type row struct {
	calendar.Booking
	before, after time.Duration // buffers it was made with
	receipt       string
	session       string // the group session it has a seat in
}

const selectBooking = `SELECT b.id, b.code, b.contact_id, b.name, b.service_id, b.staff_id, s.name, b.starts_at, b.ends_at,
	b.buffer_before, b.buffer_after, b.status, b.price_minor, b.deposit_minor, b.paid_minor, b.currency, b.receipt,
	b.hold_until, b.cancel_minutes, b.version, b.terms, b.resources, b.moves, b.refund_minor, b.wait_id, b.session_id
	FROM bookings b JOIN staff s ON s.id = b.staff_id `

func scanBooking(sc db.Scanner) (row, error) {
	var r row
	var start, end, hold db.Time
	var before, after, cancel int64
	var currency string
	err := sc.Scan(&r.ID, &r.Code, &r.ContactID, &r.Name, &r.ServiceID, &r.StaffID, &r.StaffName, &start, &end,
		&before, &after, &r.Status, &r.Price.Minor, &r.Deposit.Minor, &r.Paid.Minor, &currency, &r.receipt,
		&hold, &cancel, &r.Version, db.JSON{V: &r.Terms}, db.JSON{V: &r.Resources}, &r.Moves, &r.Refund.Minor, &r.WaitID, &r.session)
	r.Start, r.End, r.HoldUntil = start.Time, end.Time, hold.Time
	r.before, r.after = minutes(before), minutes(after)
	if r.Terms.Cancel = minutes(cancel); r.Terms.Move == 0 && r.Terms.Refunds == nil {
		r.Terms.Move = r.Terms.Cancel // made before there were terms
	}
	for _, a := range []*money.Amount{&r.Price, &r.Deposit, &r.Paid} {
		a.Currency = currency
	}
	if r.Refund.Minor > 0 {
		r.Refund.Currency = currency
	}
	if len(r.Resources) == 0 {
		r.Resources = nil
	}
	r.deadlines()
	return r, err
}

// deadlines sets until when the booking's customer may change it.
func (r *row) deadlines() {
	r.ChangeUntil, r.MoveUntil = r.Start.Add(-r.Terms.Cancel), r.Start.Add(-r.Terms.Move)
}

func minutes(n int64) time.Duration { return time.Duration(n) * time.Minute }

func inMinutes(d time.Duration) int64 { return int64(d / time.Minute) }

// askOne asks for one row; into stays nil when there is none.
func askOne[T any](doing string, scan func(sc db.Scanner) (T, error), into **T, query string, args ...any) db.Ask {
	return db.Each(doing, func(sc db.Scanner) error {
		v, err := scan(sc)
		*into = &v
		return err
	}, query, args...)
}

// askAll asks for rows and appends them to into.
func askAll[T any](doing string, scan func(sc db.Scanner) (T, error), into *[]T, query string, args ...any) db.Ask {
	return db.Each(doing, func(sc db.Scanner) error {
		v, err := scan(sc)
		*into = append(*into, v)
		return err
	}, query, args...)
}

func askBooking(id string, into **row) db.Ask {
	return askOne("read booking", scanBooking, into, selectBooking+`WHERE b.id = $1`, id)
}

// find returns a booking the caller may touch, or a refusal.
func find(ctx context.Context, q db.Q, c Caller, id string) (row, error) {
	var r *row
	if err := db.Gather(ctx, q, askBooking(id, &r)); err != nil {
		return row{}, err
	}
	if err := c.check(r); err != nil {
		return row{}, err
	}
	return *r, nil
}

// Booking returns one booking, or a refusal when the caller has none of that id.
func Booking(ctx context.Context, q db.Q, c Caller, id string) (calendar.Booking, error) {
	r, err := find(ctx, q, c, id)
	return r.Booking, err
}

// maxListed bounds a list of bookings.
const maxListed = 50

// List returns the booking with a code, or a contact's, soonest first: those to come and still
// standing, or with Past all of them. A long list keeps what is nearest to now
// or, with Past, newest.
func List(ctx context.Context, q db.Q, now time.Time, a calendar.QueryBookingsArgs) (calendar.Bookings, error) {
	out := calendar.Bookings{Bookings: []calendar.Booking{}}
	query, args := `WHERE b.contact_id = $1 AND b.ends_at > $2 AND (b.status = 'confirmed'
		OR b.status IN ('held', 'pending_payment') AND b.hold_until > $2) ORDER BY b.starts_at, b.id LIMIT $3`,
		[]any{a.ContactID, db.At(now), maxListed}
	switch {
	case a.Code != "":
		query, args = `WHERE b.code = $1 AND (b.contact_id = $2 OR $2 = '') LIMIT 2`, []any{a.Code, a.ContactID}
	case a.BookingID != "":
		query, args = `WHERE b.contact_id = $1 AND b.id = $2`, []any{a.ContactID, a.BookingID}
	case a.Past:
		query, args = `WHERE b.contact_id = $1 ORDER BY b.starts_at DESC, b.id LIMIT $2`, []any{a.ContactID, maxListed}
	}
	rows, err := db.Collect(ctx, q, "list bookings", scanBooking, selectBooking+query, args...)
	for _, r := range rows {
		out.Bookings = append(out.Bookings, r.Booking)
	}
	if a.Past && a.BookingID == "" {
		slices.Reverse(out.Bookings) // read from the newest, so that the limit drops the oldest
	}
	return out, err
}

// insert writes a new booking, its first history row included.
func insert(ctx context.Context, tx db.Tx, c Caller, r *row) error {
	now := c.Now
	r.Version = 1
	r.deadlines()
	err := db.Exec(ctx, tx, "insert booking", `INSERT INTO bookings (id, code, contact_id, name, service_id, staff_id, starts_at,
		ends_at, buffer_before, buffer_after, status, price_minor, deposit_minor, paid_minor, currency, receipt, hold_until,
		cancel_minutes, version, created_at, updated_at, terms, resources, wait_id, session_id, thread_id,
		turn_id)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $20, $21, $22, $23, $24, $25, $26)`,
		r.ID, r.Code, r.ContactID, r.Name, r.ServiceID, r.StaffID, db.At(r.Start), db.At(r.End), inMinutes(r.before),
		inMinutes(r.after), string(r.Status), r.Price.Minor, r.Deposit.Minor, r.Paid.Minor, r.Price.Currency, r.receipt,
		db.At(r.HoldUntil), inMinutes(r.Terms.Cancel), r.Version, db.At(now), db.JSON{V: r.Terms}, db.JSON{V: list(r.Resources)}, r.WaitID,
		r.session, c.Thread, c.Turn)
	if err != nil {
		return err
	}
	return record(ctx, tx, r, "held", "", now)
}

// save writes a changed booking under the next version. One that somebody else
// changed since it was read is refused.
func save(ctx context.Context, tx db.Tx, r *row, event, detail string, now time.Time) error {
	n, err := db.Changed(ctx, tx, "update booking", `UPDATE bookings SET staff_id = $1, starts_at = $2, ends_at = $3, status = $4,
		paid_minor = $5, receipt = $6, hold_until = $7, version = version + 1, updated_at = $8, resources = $11, moves = $12,
		refund_minor = $13, session_id = $14 WHERE id = $9 AND version = $10`,
		r.StaffID, db.At(r.Start), db.At(r.End), string(r.Status), r.Paid.Minor, r.receipt, db.At(r.HoldUntil), db.At(now),
		r.ID, r.Version, db.JSON{V: list(r.Resources)}, r.Moves, r.Refund.Minor, r.session)
	if err != nil {
		return err
	}
	if n == 0 {
		return refuse(calendar.Changed)
	}
	r.Version++
	r.deadlines()
	return record(ctx, tx, r, event, detail, now)
}

func record(ctx context.Context, tx db.Tx, r *row, event, detail string, now time.Time) error {
	err := db.Exec(ctx, tx, "record history", `INSERT INTO booking_history (booking_id, version, event, status, staff_id, starts_at,
		detail, at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		r.ID, r.Version, event, string(r.Status), r.StaffID, db.At(r.Start), detail, db.At(now))
	if err != nil {
		return fmt.Errorf("booking %s: %w", r.ID, err)
	}
	return nil
}
