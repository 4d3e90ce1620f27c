package booking

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ratiba/ratiba/internal/app"
	"github.com/ratiba/ratiba/internal/app/booking/bookingsql"
	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/ids"
)

// codeLength is that of a booking's human code.
const codeLength = 6

// waitlist offers starts that became free to who waits for them, one at a time.
func waitlist() app.Job {
	return app.Job{
		Name: "waitlist", Run: offerNext,
		Wakes: []string{
			calendar.CancelBooking, calendar.RescheduleBooking, calendar.ReleaseHold, calendar.JoinWaitlist, calendar.LeaveWaitlist,
		},
	}
}

// offerNext makes the next offer there is to make, and looks again until there
// is none. While somebody waits it looks again after midnight, when another day
// can be booked.
func offerNext(ctx context.Context, w app.Work) (app.Piece, error) {
	c := bookingsql.Caller{Zone: w.Tenant.Location(), Now: w.Now}
	var next *bookingsql.Opening
	var waiting bool
	if err := w.Read(ctx, func(q db.Q) (err error) {
		next, waiting, err = bookingsql.NextOpening(ctx, q, c)
		return err
	}); err != nil {
		return app.Piece{}, fmt.Errorf("look for an opening: %w", err)
	}
	if next == nil {
		if !waiting {
			return app.Piece{}, nil
		}
		tomorrow, _ := calendar.Moment{Date: calendar.DateIn(w.Now, c.Zone).Add(1)}.In(c.Zone)
		return app.Piece{Again: tomorrow}, nil
	}
	id, code := w.IDs.New(), w.IDs.Code(codeLength)
	// Until when it is kept is known before it is written: the timer that gives it
	// back must be in the same commit.
	until := w.Now.Add(next.Keep).Truncate(time.Second)
	expiry := calendar.Touch{BookingID: id, Version: 1, Kind: calendar.TouchExpire, At: until}
	who := ids.ContactID(next.Wait.ContactID)
	return app.Piece{
		Write: func(ctx context.Context, tx db.Tx) error {
			_, err := bookingsql.OfferOpening(ctx, tx, c, *next, id, code)
			if _, refused := errors.AsType[*calendar.Refusal](err); refused {
				return fmt.Errorf("%w: %w", app.ErrAgain, err)
			}
			return err
		},
		Notices: []app.Notice{
			{Contact: who, Name: calendar.OfferNotice, Key: "offer:" + id, Data: calendar.Offer{BookingID: id}},
			{Contact: who, Name: calendar.VisitTimer + id, At: until, Data: expiry},
		},
		Again: w.Now,
	}, nil
}
