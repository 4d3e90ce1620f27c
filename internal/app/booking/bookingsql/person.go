package bookingsql

import (
	"context"
	"time"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/ids"
)

// Person are a contact's bookings and what became of them.
func Person() []db.Selection {
	return []db.Selection{
		{Table: "bookings", Where: "contact_id = $1", Columns: []string{
			"id", "code", "name", "service_id", "staff_id", "starts_at", "ends_at", "status", "price_minor", "deposit_minor", "paid_minor",
			"refund_minor", "currency", "receipt", "created_at", "updated_at",
		}},
		{Table: "booking_history", Where: "booking_id IN (SELECT id FROM bookings WHERE contact_id = $1)", Columns: []string{
			"booking_id", "version", "event", "status", "staff_id", "starts_at", "detail", "at",
		}},
		{Table: "waitlist", Where: "contact_id = $1", Columns: []string{
			"id", "name", "service_id", "staff_id", "from_date", "to_date", "time_from", "time_to", "status", "joined_at",
		}},
		{Table: "feedback", Where: "contact_id = $1", Columns: []string{"booking_id", "rating", "comment", "at"}},
	}
}

// erasedName stands where a customer's name stood.
const erasedName = "(erased)"

// theirHolds are a contact's holds.
const theirHolds = `contact_id = $1 AND status IN ('held', 'pending_payment')`

// Erase takes a contact's name from their bookings, the reasons they gave and what
// they wrote of visits,
// and gives back what they hold. Times, money and receipts stay: the books and
// the calendar need them.
func Erase(ctx context.Context, tx db.Tx, c ids.ContactID, now time.Time) error {
	for _, step := range []struct {
		doing, query string
		args         []any
	}{
		{"end holds in history", `INSERT INTO booking_history (booking_id, version, event, status, staff_id, starts_at, detail, at)
			SELECT id, version + 1, 'cancelled', 'cancelled', staff_id, starts_at, '', COALESCE($2, updated_at) FROM bookings WHERE ` + theirHolds, []any{db.At(now)}},
		{"give held time back", `DELETE FROM occupancy WHERE booking_id IN (SELECT id FROM bookings WHERE ` + theirHolds + `)`, nil},
		{"end holds", `UPDATE bookings SET status = 'cancelled', version = version + 1, updated_at = $2 WHERE ` + theirHolds, []any{db.At(now)}},
		{"erase names of bookings", `UPDATE bookings SET name = $2 WHERE contact_id = $1`, []any{erasedName}},
		{"leave the waitlist", `UPDATE waitlist SET status = CASE WHEN status IN ('waiting', 'offered') THEN 'left' ELSE status END,
			booking_id = '', name = $2 WHERE contact_id = $1`, []any{erasedName}},
		{"erase comments", `UPDATE feedback SET comment = '' WHERE contact_id = $1`, nil},
		{"erase reasons", `UPDATE booking_history SET detail = '' WHERE event = 'cancelled'
			AND booking_id IN (SELECT id FROM bookings WHERE contact_id = $1)`, nil},
	} {
		if err := db.Exec(ctx, tx, step.doing, step.query, append([]any{string(c)}, step.args...)...); err != nil {
			return err
		}
	}
	return nil
}
