package bookingsql

import (
	"context"
	"time"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/payment"
)

// Receipt returns the receipt of the payment that confirmed a booking, "" when
// none did, or a refusal when the caller has no such booking.
func Receipt(ctx context.Context, q db.Q, c Caller, id string) (string, error) {
	r, err := find(ctx, q, c, id)
	return r.receipt, err
}

// maxPaid bounds what is looked at of one business at a time.
const maxPaid = 10_000

// Entries are what bookings that changed at since or later, and before until, say
// was paid for them.
func Entries(ctx context.Context, q db.Q, since, until time.Time) ([]payment.Entry, error) {
	return db.Collect(ctx, q, "list paid bookings", func(row db.Scanner) (e payment.Entry, err error) {
		err = row.Scan(&e.Subject, &e.ContactID, &e.Receipt, &e.Paid.Minor, &e.Paid.Currency)
		return e, err
	}, `SELECT id, contact_id, receipt, paid_minor, currency FROM bookings
		WHERE paid_minor > 0 AND updated_at >= $1 AND updated_at < $2 ORDER BY id LIMIT $3`, db.At(since), db.At(until), maxPaid)
}
