package bookingsql

import (
	"context"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/db"
)

// Misfit is a booking that stands and could not take place as things are.
type Misfit struct {
	calendar.Booking
	Reason string
}

// maxReviewed bounds how many bookings one review looks at, soonest first.
const maxReviewed = 2000

// Review lists bookings to come that no longer fit: their staff is gone or off,
// or the business closed. Nothing is changed: what was promised is for people to
// sort out.
func Review(ctx context.Context, q db.Q, c Caller) ([]Misfit, error) {
	rows, err := db.Collect(ctx, q, "read bookings to come", scanBooking, selectBooking+`WHERE b.starts_at > $1
		AND b.status IN ('confirmed', 'pending_payment') ORDER BY b.starts_at, b.id LIMIT $2`, db.At(c.Now), maxReviewed)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	c.Contact = ""
	last := calendar.DateIn(rows[len(rows)-1].Start, c.Zone)
	worlds := map[string]calendar.World{}
	var out []Misfit
	for _, r := range rows {
		w, known := worlds[r.ServiceID]
		if !known {
			t := terms{policy: &calendar.Policy{Horizon: calendar.DateIn(c.Now, c.Zone).Days(last) + 1}, service: &calendar.Service{ID: r.ServiceID}}
			if w, err = world(ctx, q, c, t, calendar.DateIn(c.Now, c.Zone), last); err != nil {
				return nil, err
			}
			w.Away = nil // somebody's own calendar shows the visits booked here as well
			worlds[r.ServiceID] = w
		}
		if reason := calendar.Misfit(w, calendar.Place{StaffID: r.StaffID, Start: r.Start, End: r.End}); reason != "" {
			out = append(out, Misfit{Booking: r.Booking, Reason: reason})
		}
	}
	return out, nil
}
