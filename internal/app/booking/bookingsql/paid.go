package bookingsql

import (
	"context"

	"github.com/ratiba/ratiba/internal/db"
)

// Receipt returns the receipt of the payment that confirmed a booking, "" when
// none did, or a refusal when the caller has no such booking.
func Receipt(ctx context.Context, q db.Q, c Caller, id string) (string, error) {
	r, err := find(ctx, q, c, id)
	return r.receipt, err
}
