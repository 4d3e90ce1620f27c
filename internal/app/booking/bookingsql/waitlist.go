package bookingsql

import (
	"context"
	"errors"
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/db"
)

const selectWait = `SELECT id, contact_id, name, service_id, staff_id, from_date, to_date, time_from, time_to, status, skips, booking_id FROM waitlist `

func scanWait(sc db.Scanner) (w calendar.Wait, err error) {
	err = sc.Scan(&w.ID, &w.ContactID, &w.Name, &w.ServiceID, &w.StaffID, &w.From, &w.To, &w.TimeFrom, &w.TimeTo, &w.Status, &w.Skips, &w.BookingID)
	return w, err
}

// availabilityArgs asks for what a place in the waitlist waits for.
func availabilityArgs(w calendar.JoinWaitlistArgs) calendar.CheckAvailabilityArgs {
	return calendar.CheckAvailabilityArgs{
		ServiceID: w.ServiceID, StaffID: w.StaffID, From: w.From, To: w.To, TimeFrom: w.TimeFrom, TimeTo: w.TimeTo, Limit: maxSlots,
	}
}

// Join takes a place at the end of the waitlist. The same id again answers with
// the place as it stands.
func Join(ctx context.Context, tx db.Tx, c Caller, a calendar.JoinWaitlistArgs) (calendar.Wait, error) {
	c.Contact = a.ContactID
	q, ok := parse(c, availabilityArgs(a))
	if today := calendar.DateIn(c.Now, c.Zone); !ok || q.To.Compare(today) < 0 || q.From.Days(q.To) > calendar.MaxHorizon {
		return calendar.Wait{}, refuse(InvalidArguments)
	}
	var old *calendar.Wait
	var waits int
	var eligible bool
	if err := db.Gather(ctx, tx, askOne("read place", scanWait, &old, selectWait+`WHERE id = $1`, a.ID),
		db.Into("count places", []any{&waits}, `SELECT COUNT(*) FROM waitlist WHERE contact_id = $1 AND status IN ('waiting', 'offered')
			AND to_date >= $2`, a.ContactID, calendar.DateIn(c.Now, c.Zone).String()),
		db.Into("look who offers the service", []any{&eligible}, `SELECT COUNT(*) > 0 FROM service_staff ss JOIN services s ON s.id = ss.service_id
			JOIN staff m ON m.id = ss.staff_id WHERE ss.service_id = $1 AND (ss.staff_id = $2 OR $2 = '') AND NOT s.removed AND NOT s.hidden
			AND NOT m.removed`, a.ServiceID, a.StaffID)); err != nil {
		return calendar.Wait{}, err
	}
	switch {
	case old != nil && old.ContactID != a.ContactID:
		return calendar.Wait{}, refuse(calendar.NotOnTheList)
	case old != nil:
		return *old, nil
	case !eligible:
		return calendar.Wait{}, refuse(calendar.NotEligible)
	case waits >= calendar.MaxWaits:
		return calendar.Wait{}, refuse(calendar.WaitLimit)
	}
	return calendar.Wait{JoinWaitlistArgs: a, Status: calendar.Waiting}, db.Exec(ctx, tx, "join waitlist", `INSERT INTO waitlist
		(id, contact_id, name, service_id, staff_id, from_date, to_date, time_from, time_to, status, skips, booking_id, joined_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'waiting', 0, '', $10)`,
		a.ID, a.ContactID, a.Name, a.ServiceID, a.StaffID, a.From, a.To, a.TimeFrom, a.TimeTo, db.At(c.Now))
}

// Leave gives a place up, and the hold that is offered with it. Leaving again
// changes nothing.
func Leave(ctx context.Context, tx db.Tx, c Caller, a calendar.LeaveWaitlistArgs) (calendar.Wait, error) {
	var w *calendar.Wait
	if err := db.Gather(ctx, tx, askOne("read place", scanWait, &w, selectWait+`WHERE id = $1`, a.ID)); err != nil {
		return calendar.Wait{}, err
	}
	if w == nil || c.Contact != "" && c.Contact != w.ContactID {
		return calendar.Wait{}, refuse(calendar.NotOnTheList)
	}
	if w.Status != calendar.Waiting && w.Status != calendar.Offered {
		return *w, nil
	}
	if w.Status == calendar.Offered {
		if _, err := Release(ctx, tx, c, w.BookingID); err != nil {
			return *w, err
		}
	}
	w.Status, w.BookingID = calendar.Left, ""
	return *w, db.Exec(ctx, tx, "leave waitlist", `UPDATE waitlist SET status = 'left', booking_id = '' WHERE id = $1`, a.ID)
}

// Waits lists a contact's places that may still come to something.
func Waits(ctx context.Context, q db.Q, c Caller, a calendar.QueryWaitlistArgs) (calendar.Waits, error) {
	out, err := db.Collect(ctx, q, "list places", scanWait, selectWait+`WHERE contact_id = $1 AND status IN ('waiting', 'offered')
		AND to_date >= $2 ORDER BY seq`, a.ContactID, calendar.DateIn(c.Now, c.Zone).String())
	return calendar.Waits{Waits: append([]calendar.Wait{}, out...)}, err
}

// backInLine puts whoever was offered a hold that ended in line again, behind
// those who turned down less. A place that was offered in vain often enough lapses.
func backInLine(ctx context.Context, tx db.Tx, bookingID string) error {
	return db.Exec(ctx, tx, "put back in line", `UPDATE waitlist SET booking_id = '', skips = skips + 1,
		status = CASE WHEN skips + 1 >= $2 THEN 'lapsed' ELSE 'waiting' END WHERE booking_id = $1 AND status = 'offered'`,
		bookingID, calendar.MaxSkips)
}

// waitsNoMore ends a customer's places for what they have just booked.
func waitsNoMore(ctx context.Context, tx db.Tx, c Caller, r row) error {
	return db.Exec(ctx, tx, "end waiting", `UPDATE waitlist SET status = 'booked' WHERE contact_id = $1 AND service_id = $2
		AND status IN ('waiting', 'offered') AND (booking_id = $3 OR from_date <= $4 AND to_date >= $4)`,
		r.ContactID, r.ServiceID, r.ID, calendar.DateIn(r.Start, c.Zone).String())
}

// Opening is a free start and who is to be offered it.
type Opening struct {
	Wait calendar.Wait
	Slot calendar.Slot
	Keep time.Duration // how long it is kept for them
}

// linedUp bounds how many places one look goes through.
const linedUp = 200

// NextOpening finds whom a free start is to be offered next, nobody when nil: of
// those in line, the first for whom there is one that they were not offered
// before. waiting tells whether anybody is in line at all.
func NextOpening(ctx context.Context, q db.Q, c Caller) (next *Opening, waiting bool, err error) {
	today := calendar.DateIn(c.Now, c.Zone)
	line, err := db.Collect(ctx, q, "read waitlist", scanWait, selectWait+`WHERE status = 'waiting' AND to_date >= $1
		ORDER BY skips, seq LIMIT $2`, today.String(), linedUp)
	if err != nil {
		return nil, false, err
	}
	for _, w := range line {
		c.Contact = w.ContactID
		o, err := opening(ctx, q, c, w)
		if err != nil || o != nil {
			return o, true, err
		}
	}
	return nil, len(line) > 0, nil
}

// opening is the first free start for a place, nil when there is none.
func opening(ctx context.Context, q db.Q, c Caller, w calendar.Wait) (*Opening, error) {
	a := availabilityArgs(w.JoinWaitlistArgs)
	query, _ := parse(c, a)
	var t terms
	if err := db.Gather(ctx, q, t.asks(a.ServiceID)...); err != nil {
		return nil, err
	}
	if err := t.settle(nil); err != nil {
		if _, gone := errors.AsType[*calendar.Refusal](err); gone {
			return nil, nil //nolint:nilnil // a service that is no longer offered has no free start.
		}
		return nil, err
	}
	world, err := world(ctx, q, c, t, query.From, query.To)
	if err != nil {
		return nil, err
	}
	type start struct {
		at    int64
		staff string
	}
	offered := map[start]bool{}
	if err := db.Gather(ctx, q, db.Each("read offers", func(sc db.Scanner) error {
		var at db.Time
		var staff string
		err := sc.Scan(&at, &staff)
		offered[start{at.Unix(), staff}] = true
		return err
	}, `SELECT starts_at, staff_id FROM waitlist_offers WHERE wait_id = $1`, w.ID)); err != nil {
		return nil, err
	}
	for _, s := range calendar.Free(query, world).Slots {
		if !offered[start{s.Start.Unix(), s.StaffID}] {
			return &Opening{Wait: w, Slot: s, Keep: t.policy.Offer}, nil
		}
	}
	return nil, nil //nolint:nilnil // nothing is free.
}

// OfferOpening holds an opening for who is to be offered it, for as long as the
// business gives them. The hold counts for no limit. A start that is no longer
// free, or a place that is no longer waiting, is refused.
func OfferOpening(ctx context.Context, tx db.Tx, c Caller, o Opening, bookingID, code string) (calendar.Booking, error) {
	if err := lock(ctx, tx, o.Wait.ServiceID, o.Slot.StaffID); err != nil {
		return calendar.Booking{}, err
	}
	n, err := db.Changed(ctx, tx, "offer", `UPDATE waitlist SET status = 'offered', booking_id = $2 WHERE id = $1 AND status = 'waiting'`,
		o.Wait.ID, bookingID)
	if err != nil {
		return calendar.Booking{}, err
	}
	if n == 0 {
		return calendar.Booking{}, refuse(calendar.NotOnTheList)
	}
	c.Contact = o.Wait.ContactID
	b, err := take(ctx, tx, c, calendar.HoldSlotArgs{
		BookingID: bookingID, Code: code, ContactID: o.Wait.ContactID, Name: o.Wait.Name, ServiceID: o.Wait.ServiceID,
		StaffID: o.Slot.StaffID, Start: o.Slot.Start, HoldUntil: c.Now.Add(o.Keep).Truncate(time.Second),
	}, o.Wait.ID)
	if err != nil {
		return b, err
	}
	return b, db.Exec(ctx, tx, "record offer", `INSERT INTO waitlist_offers (wait_id, starts_at, staff_id, offered_at)
		VALUES ($1, $2, $3, $4)`, o.Wait.ID, db.At(b.Start), b.StaffID, db.At(c.Now))
}
