package bookingsql

import (
	"context"
	"strings"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/db"
)

// Origin is the conversation a booking was made in.
func Origin(ctx context.Context, q db.Q, c Caller, bookingID string) (thread, turn string, err error) {
	if _, err := find(ctx, q, c, bookingID); err != nil {
		return "", "", err
	}
	err = db.Gather(ctx, q, db.Into("read origin of booking", []any{&thread, &turn},
		`SELECT thread_id, turn_id FROM bookings WHERE id = $1`, bookingID))
	return thread, turn, err
}

// maxComment bounds what is kept of a comment, in characters.
const maxComment = 2000

// RecordFeedback keeps what a customer says of a visit that has begun. What they
// say later takes the place of it; a rating and a comment may come one by one.
// models is who answered them in the conversation the booking was made in.
func RecordFeedback(ctx context.Context, tx db.Tx, c Caller, a calendar.RecordFeedbackArgs, models any) error {
	r, err := find(ctx, tx, c, a.BookingID)
	switch {
	case err != nil:
		return err
	case c.Now.Before(r.Start) || r.Status != calendar.Confirmed && r.Status != calendar.Completed:
		return refuse(calendar.WrongState)
	}
	comment := []rune(strings.TrimSpace(a.Comment))
	return db.Exec(ctx, tx, "record feedback", `INSERT INTO feedback (booking_id, contact_id, rating, comment, thread_id, turn_id, models, at)
		SELECT id, contact_id, $2, $3, thread_id, turn_id, $4, $5 FROM bookings WHERE id = $1
		ON CONFLICT (booking_id) DO UPDATE SET at = excluded.at, models = excluded.models,
		rating = CASE WHEN excluded.rating = '' THEN feedback.rating ELSE excluded.rating END,
		comment = CASE WHEN excluded.comment = '' THEN feedback.comment ELSE excluded.comment END`,
		a.BookingID, a.Rating, string(comment[:min(len(comment), maxComment)]), db.JSON{V: models}, db.At(c.Now))
}
