package bookingsql

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/db"
)

// terms decide about starts before anybody's time does: the business's rules
// and the service. They are read by asks and hold once they are settled.
type terms struct {
	policy  *calendar.Policy
	service *calendar.Service
	self    string // the booking whose own time counts as free
}

func (t *terms) asks(service string) []db.Ask {
	return []db.Ask{
		askOne("read booking policy", scanPolicy, &t.policy,
			`SELECT notice_minutes, horizon_days, cancel_minutes, hold_minutes, max_holds, offer_minutes, terms FROM booking_policy WHERE id = 1`),
		askOne("read service", scanService, &t.service, selectService+`WHERE id = $1`, service),
	}
}

func scanPolicy(sc db.Scanner) (calendar.Policy, error) {
	var notice, cancel, hold, offer int64
	var p calendar.Policy
	err := sc.Scan(&notice, &p.Horizon, &cancel, &hold, &p.MaxHolds, &offer, db.JSON{V: &p.Terms})
	p.Notice, p.Cancel, p.Hold, p.Offer = minutes(notice), minutes(cancel), minutes(hold), minutes(offer)
	return p, err
}

// settle refuses a service that is not to be booked. A booking that moves, if
// any, keeps its length, and may keep a service that is hidden by now. A
// database no definition was applied to has no rules, and that is a failure.
func (t *terms) settle(moving *row) error {
	if t.policy == nil {
		return fmt.Errorf("read booking policy: %w", sql.ErrNoRows)
	}
	if t.service == nil {
		return refuse(calendar.NotEligible)
	}
	if moving != nil {
		t.self = moving.ID
		if moving.ServiceID == t.service.ID {
			t.service.Duration, t.service.BufferBefore, t.service.BufferAfter = moving.End.Sub(moving.Start), moving.before, moving.after
			return nil
		}
	}
	if t.service.Hidden {
		return refuse(calendar.NotEligible)
	}
	return nil
}

// termsOf reads the terms on which a booking may find another start.
func termsOf(ctx context.Context, q db.Q, moving row) (terms, error) {
	var t terms
	if err := db.Gather(ctx, q, t.asks(moving.ServiceID)...); err != nil {
		return t, err
	}
	return t, t.settle(&moving)
}
