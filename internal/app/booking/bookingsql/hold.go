package bookingsql

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/money"
)

// Hold takes a slot for a while. The same booking id again answers with the
// booking as it stands. Refusals of a start carry alternatives.
func Hold(ctx context.Context, tx db.Tx, c Caller, a calendar.HoldSlotArgs) (calendar.Booking, error) {
	c.Contact = a.ContactID
	if !c.works(a.StaffID) {
		return calendar.Booking{}, refuse(calendar.NotYours)
	}
	var old, replaced *row
	asks := []db.Ask{askBooking(a.BookingID, &old)}
	if a.Replaces != "" {
		asks = append(asks, askBooking(a.Replaces, &replaced))
	}
	if err := db.Gather(ctx, tx, asks...); err != nil {
		return calendar.Booking{}, err
	}
	if old != nil {
		if !c.owns(old.Booking) || old.ServiceID != a.ServiceID || !old.Start.Equal(a.Start) || !held(old.Status) {
			return calendar.Booking{}, refuse(calendar.WrongState)
		}
		return old.Booking, nil
	}
	if !a.HoldUntil.After(c.Now) {
		return calendar.Booking{}, refuse(InvalidArguments)
	}
	need := []string{a.StaffID}
	if a.Replaces != "" {
		if err := c.check(replaced); err != nil {
			return calendar.Booking{}, err
		}
		need = append(need, replaced.StaffID)
	}
	if err := lock(ctx, tx, a.ServiceID, need...); err != nil {
		return calendar.Booking{}, err
	}
	return take(ctx, tx, c, a, "")
}

// take makes a hold of a slot once whom it needs is locked. One that is offered
// to a place in the waitlist counts for no limit.
func take(ctx context.Context, tx db.Tx, c Caller, a calendar.HoldSlotArgs, wait string) (calendar.Booking, error) {
	var g grounds
	if err := g.read(ctx, tx, c, a); err != nil {
		return calendar.Booking{}, err
	}
	if err := g.free(ctx, tx, c, a); err != nil {
		return calendar.Booking{}, err
	}
	if g.policy != nil && wait == "" && g.holds >= g.policy.MaxHolds {
		return calendar.Booking{}, refuse(calendar.HoldLimit)
	}
	if err := g.settle(nil); err != nil {
		return calendar.Booking{}, err
	}
	r := row{Booking: calendar.Booking{
		ID: a.BookingID, Code: a.Code, ContactID: a.ContactID, Name: a.Name, ServiceID: a.ServiceID, StaffID: a.StaffID,
		Start: a.Start.UTC(), Status: calendar.Held, HoldUntil: a.HoldUntil.UTC(), Price: g.service.Price,
		Deposit: g.service.Deposit, Paid: money.Amount{Currency: g.service.Price.Currency},
		Terms: g.policy.Terms, WaitID: wait,
	}, before: g.service.BufferBefore, after: g.service.BufferAfter}
	if err := place(ctx, tx, c, g.terms, &r); err != nil {
		return calendar.Booking{}, err
	}
	if g.codes > 0 {
		// The slot itself is free and comes first among the alternatives: who
		// tries again draws another code.
		return calendar.Booking{}, withAlternatives(ctx, tx, c, g.terms, r.Start, calendar.SlotTaken)
	}
	if err := secure(ctx, tx, c, g.terms, &r); err != nil {
		return calendar.Booking{}, err
	}
	return r.Booking, insert(ctx, tx, c, &r)
}

// grounds are what a hold is decided on before anybody's time is looked at.
type grounds struct {
	terms
	known    bool     // there is such a member of staff
	expired  []string // holds that ran out and are in the way
	holds    int      // how many the contact has beside the replaced one
	codes    int      // how many bookings have the code
	replaced *row
}

func (g *grounds) read(ctx context.Context, tx db.Tx, c Caller, a calendar.HoldSlotArgs) error {
	g.self = a.BookingID
	asks := append(g.asks(a.ServiceID),
		askStaff(a.StaffID, &g.known),
		askExpired(c, a.ServiceID, a.StaffID, "", &g.expired),
		db.Into("count holds", []any{&g.holds}, `SELECT COUNT(*) FROM bookings WHERE contact_id = $1
			AND status IN ('held', 'pending_payment') AND hold_until > $2 AND id <> $3 AND wait_id = ''`, c.Contact, db.At(c.Now), a.Replaces),
		db.Into("look for code", []any{&g.codes}, `SELECT COUNT(*) FROM bookings WHERE code = $1`, a.Code))
	if a.Replaces != "" {
		asks = append(asks, askBooking(a.Replaces, &g.replaced))
	}
	return db.Gather(ctx, tx, asks...)
}

// free gives back what the member of staff held for others until it ran out,
// and the hold that is replaced.
func (g *grounds) free(ctx context.Context, tx db.Tx, c Caller, a calendar.HoldSlotArgs) error {
	if !g.known {
		return refuse(calendar.NotEligible)
	}
	if len(g.expired) > 0 {
		if err := releaseExpired(ctx, tx, c, g.expired); err != nil {
			return err
		}
	}
	if a.Replaces == "" {
		return nil
	}
	if err := c.check(g.replaced); err != nil {
		return err
	}
	if !slices.Contains(g.expired, a.Replaces) {
		return release(ctx, tx, c, g.replaced)
	}
	return nil // it ran out, and was given back with the others
}

func held(s calendar.Status) bool { return s == calendar.Held || s == calendar.PendingPayment }

// Release gives a hold back. A booking that is no hold is left alone.
func Release(ctx context.Context, tx db.Tx, c Caller, id string) (calendar.Booking, error) {
	r, err := find(ctx, tx, c, id)
	if err == nil {
		err = release(ctx, tx, c, &r)
	}
	return r.Booking, err
}

func release(ctx context.Context, tx db.Tx, c Caller, r *row) error {
	if !held(r.Status) {
		return nil
	}
	if err := vacate(ctx, tx, r.ID); err != nil {
		return err
	}
	r.Status = calendar.Expired
	return save(ctx, tx, r, "released", "", c.Now)
}

// place checks that a booking's start is free with its member of staff and
// fills in what follows from it.
func place(ctx context.Context, tx db.Tx, c Caller, t terms, r *row) error {
	d := calendar.DateIn(r.Start, c.Zone)
	w, err := world(ctx, tx, c, t, d, d)
	if err != nil {
		return err
	}
	if code := calendar.Check(r.Start, r.StaffID, c.Now, w); code != "" {
		return withAlternatives(ctx, tx, c, t, r.Start, code)
	}
	r.End = r.Start.Add(w.Service.Duration)
	if len(w.Service.Needs) > 0 {
		r.Resources, _ = calendar.Equip(w, r.Start) // none for a seat in a session that has them
	}
	for _, s := range w.Staff {
		if s.ID == r.StaffID {
			r.StaffName = s.Name
		}
	}
	return nil
}

// secure occupies a booking's time. The guard's refusal carries alternatives.
func secure(ctx context.Context, tx db.Tx, c Caller, t terms, r *row) error {
	err := occupyFor(ctx, tx, r, *t.service)
	if _, taken := errors.AsType[*calendar.Refusal](err); taken {
		return withAlternatives(ctx, tx, c, t, r.Start, calendar.SlotTaken)
	}
	return err
}

// withAlternatives refuses a start and names the free ones nearest to it.
func withAlternatives(ctx context.Context, q db.Q, c Caller, t terms, start time.Time, code string) error {
	slots, err := nearest(ctx, q, c, t, "", start)
	if err != nil {
		return err
	}
	return &calendar.Refusal{Code: code, Alternatives: slots}
}

// AwaitPayment marks a hold as waiting for money and keeps it at least until
// the given instant. A hold that ran out is taken again when its slot is free.
func AwaitPayment(ctx context.Context, tx db.Tx, c Caller, id string, until time.Time) (calendar.Booking, error) {
	r, err := find(ctx, tx, c, id)
	if err != nil {
		return r.Booking, err
	}
	if !held(r.Status) && r.Status != calendar.Expired {
		return r.Booking, refuse(calendar.WrongState)
	}
	if err := retake(ctx, tx, c, &r); err != nil {
		return r.Booking, err
	}
	r.Status = calendar.PendingPayment
	if until.After(r.HoldUntil) {
		r.HoldUntil = until.UTC()
	}
	err = save(ctx, tx, &r, "payment_asked", "", c.Now)
	return r.Booking, err
}

// retake makes sure that a hold still has its time, taking it again when it ran
// out. A time that is gone or past, and one at which the customer has since
// booked something else, is refused with alternatives.
func retake(ctx context.Context, tx db.Tx, c Caller, r *row) error {
	if err := lock(ctx, tx, r.ServiceID, r.StaffID); err != nil {
		return err
	}
	has := r.Start.After(c.Now)
	if lapsed := r.Status == calendar.Expired || !r.HoldUntil.After(c.Now); lapsed && has {
		var err error
		if has, err = regain(ctx, tx, c, r); err != nil {
			return err
		}
	}
	if has {
		return nil
	}
	t, err := termsOf(ctx, tx, *r)
	if err != nil {
		return err
	}
	return withAlternatives(ctx, tx, c, t, r.Start, calendar.HoldExpired)
}

// regain takes the time of a hold that ran out, and reports whether it could.
// The hours and the notice it was made under do not matter any more; resources
// may be others than it had.
func regain(ctx context.Context, tx db.Tx, c Caller, r *row) (bool, error) {
	var t terms
	var expired []string
	var others int
	asks := append(t.asks(r.ServiceID), askExpired(c, r.ServiceID, r.StaffID, r.ID, &expired),
		db.Into("look for own bookings", []any{&others}, `SELECT COUNT(*) FROM bookings WHERE contact_id = $1 AND id <> $2
			AND ends_at > $3 AND starts_at < $4
			AND (status = 'confirmed' OR status IN ('held', 'pending_payment') AND hold_until > $5)`,
			r.ContactID, r.ID, db.At(r.Start), db.At(r.End), db.At(c.Now)))
	err := db.Gather(ctx, tx, asks...)
	if err != nil || others > 0 {
		return false, err
	}
	if err := t.settle(r); err != nil {
		return false, err
	}
	if len(expired) > 0 {
		if err := releaseExpired(ctx, tx, c, expired); err != nil {
			return false, err
		}
	}
	if held(r.Status) && (r.session != "" || len(r.Resources) > 0) {
		if err := vacate(ctx, tx, r.ID); err != nil { // what it still has is taken anew with the rest
			return false, err
		}
	}
	if len(t.service.Needs) > 0 {
		d := calendar.DateIn(r.Start, c.Zone)
		w, err := world(ctx, tx, c, t, d, d)
		if err != nil {
			return false, err
		}
		r.Resources, _ = calendar.Equip(w, r.Start)
	}
	err = occupyFor(ctx, tx, r, *t.service)
	if _, taken := errors.AsType[*calendar.Refusal](err); taken {
		return false, nil
	}
	return err == nil, err
}
