package bookingsql

import (
	"context"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/db"
)

// InvalidArguments is the refusal of arguments that mean nothing: a date that
// does not exist, a range that ends before it starts.
const InvalidArguments = "invalid_arguments"

// maxSlots bounds an answer.
const maxSlots = 50

// Availability lists a service's free starts.
func Availability(ctx context.Context, q db.Q, c Caller, a calendar.CheckAvailabilityArgs) (calendar.Availability, error) {
	query, ok := parse(c, a)
	if !ok {
		return calendar.Availability{}, refuse(InvalidArguments)
	}
	var t terms
	var moving *row
	asks := t.asks(a.ServiceID)
	if a.BookingID != "" {
		asks = append(asks, askBooking(a.BookingID, &moving))
	}
	if err := db.Gather(ctx, q, asks...); err != nil {
		return calendar.Availability{}, err
	}
	if a.BookingID != "" {
		if err := c.check(moving); err != nil {
			return calendar.Availability{}, err
		}
	}
	if err := t.settle(moving); err != nil {
		return calendar.Availability{}, err
	}
	w, err := world(ctx, q, c, t, query.From, query.To)
	if err != nil {
		return calendar.Availability{}, err
	}
	out := calendar.Free(query, w)
	if len(out.Slots) > 0 {
		return out, nil
	}
	out.Slots = []calendar.Slot{}
	if out.Reason == calendar.NotEligible {
		a.StaffID = "" // nearest with somebody who does offer it
	}
	// Somebody who named a day and no time is looked for around noon.
	want := calendar.Moment{Date: query.From, Clock: query.TimeFrom}
	if a.TimeFrom == "" {
		want.Clock = 12 * 60
	}
	at, _ := want.In(c.Zone)
	out.Nearest, err = nearest(ctx, q, c, t, a.StaffID, at)
	return out, err
}

func parse(c Caller, a calendar.CheckAvailabilityArgs) (calendar.Query, bool) {
	q := calendar.Query{Now: c.Now, Staff: a.StaffID, Limit: a.Limit}
	if q.Limit <= 0 || q.Limit > maxSlots {
		q.Limit = maxSlots
	}
	ok := true
	date := func(s string) calendar.Date {
		d, err := calendar.ParseDate(s)
		ok = ok && err == nil
		return d
	}
	clock := func(s string) calendar.Clock {
		if s == "" {
			return 0
		}
		t, err := calendar.ParseClock(s)
		ok = ok && err == nil
		return t
	}
	q.From, q.To, q.TimeFrom, q.TimeTo = date(a.From), date(a.To), clock(a.TimeFrom), clock(a.TimeTo)
	return q, ok && q.From.Compare(q.To) <= 0 && (q.TimeTo == 0 || q.TimeFrom < q.TimeTo)
}
