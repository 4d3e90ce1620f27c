package bookingsql

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/money"
)

// Hold takes a slot for a while. The same booking id again answers with the
// booking as it stands. Refusals of a start carry alternatives.
func Hold(ctx context.Context, tx db.Tx, c Caller, a calendar.HoldSlotArgs) (calendar.Booking, error) {
	c.Contact = a.ContactID
	old, again, err := lookup(ctx, tx, a.BookingID)
	if err != nil {
		return calendar.Booking{}, err
	}
	if again {
		if !c.owns(old.Booking) || old.ServiceID != a.ServiceID || !old.Start.Equal(a.Start) || !held(old.Status) {
			return calendar.Booking{}, refuse(calendar.WrongState)
		}
		return old.Booking, nil
	}
	if !a.HoldUntil.After(c.Now) {
		return calendar.Booking{}, refuse(InvalidArguments)
	}
	if err := replace(ctx, tx, c, a); err != nil {
		return calendar.Booking{}, err
	}
	policy, err := readPolicy(ctx, tx)
	if err != nil {
		return calendar.Booking{}, err
	}
	if err := limitHolds(ctx, tx, c, policy.MaxHolds); err != nil {
		return calendar.Booking{}, err
	}
	r := row{Booking: calendar.Booking{
		ID: a.BookingID, Code: a.Code, ContactID: a.ContactID, Name: a.Name, ServiceID: a.ServiceID, StaffID: a.StaffID,
		Start: a.Start.UTC(), Status: calendar.Held, HoldUntil: a.HoldUntil.UTC(),
	}, cancel: policy.Cancel}
	w, err := place(ctx, tx, c, &r, nil)
	if err != nil {
		return calendar.Booking{}, err
	}
	if err := freshCode(ctx, tx, c, r); err != nil {
		return calendar.Booking{}, err
	}
	r.Price, r.Deposit = w.Service.Price, w.Service.Deposit
	r.Paid = money.Amount{Currency: r.Price.Currency}
	r.before, r.after = w.Service.BufferBefore, w.Service.BufferAfter
	if err := insert(ctx, tx, &r, c.Now); err != nil {
		return calendar.Booking{}, err
	}
	return r.Booking, secure(ctx, tx, c, r, &r)
}

// freshCode refuses a code that another booking has. The slot itself is free
// and comes first among the alternatives: who tries again draws another code.
func freshCode(ctx context.Context, tx db.Tx, c Caller, r row) error {
	var n int
	if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM bookings WHERE code = $1`, r.Code).Scan(&n); err != nil {
		return fmt.Errorf("look for code: %w", err)
	}
	if n > 0 {
		return withAlternatives(ctx, tx, c, r, nil, calendar.SlotTaken)
	}
	return nil
}

func held(s calendar.Status) bool { return s == calendar.Held || s == calendar.PendingPayment }

// replace locks whom a hold needs and releases the hold it takes the place of.
func replace(ctx context.Context, tx db.Tx, c Caller, a calendar.HoldSlotArgs) error {
	need := []string{a.StaffID}
	var old row
	if a.Replaces != "" {
		var err error
		if old, err = find(ctx, tx, c, a.Replaces); err != nil {
			return err
		}
		need = append(need, old.StaffID)
	}
	if err := lockStaff(ctx, tx, need...); err != nil {
		return err
	}
	if err := releaseExpired(ctx, tx, c, a.StaffID, ""); err != nil {
		return err
	}
	if a.Replaces == "" {
		return nil
	}
	return Release(ctx, tx, c, a.Replaces)
}

// Release gives a hold back. A booking that is no hold is left alone.
func Release(ctx context.Context, tx db.Tx, c Caller, id string) error {
	r, err := find(ctx, tx, c, id)
	if err != nil || !held(r.Status) {
		return err
	}
	if err := vacate(ctx, tx, r.ID, ""); err != nil {
		return err
	}
	r.Status = calendar.Expired
	return save(ctx, tx, &r, "released", "", c.Now)
}

func limitHolds(ctx context.Context, tx db.Tx, c Caller, limit int) error {
	var n int
	if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM bookings WHERE contact_id = $1
		AND status IN ('held', 'pending_payment') AND hold_until > $2`, c.Contact, db.At(c.Now)).Scan(&n); err != nil {
		return fmt.Errorf("count holds: %w", err)
	}
	if n >= limit {
		return refuse(calendar.HoldLimit)
	}
	return nil
}

// place checks that a booking's start is free with its member of staff and
// fills in what follows from it. moving is the booking as it stood, if any.
func place(ctx context.Context, tx db.Tx, c Caller, r, moving *row) (calendar.World, error) {
	d := calendar.DateIn(r.Start, c.Zone)
	w, err := world(ctx, tx, c, scope{service: r.ServiceID, from: d, to: d, moving: moving})
	if err != nil {
		return w, err
	}
	if code := calendar.Check(r.Start, r.StaffID, c.Now, w); code != "" {
		return w, withAlternatives(ctx, tx, c, *r, moving, code)
	}
	r.End = r.Start.Add(w.Service.Duration)
	for _, s := range w.Staff {
		if s.ID == r.StaffID {
			r.StaffName = s.Name
		}
	}
	return w, nil
}

// secure occupies a booking's time. The guard's refusal carries alternatives.
func secure(ctx context.Context, tx db.Tx, c Caller, r row, moving *row) error {
	err := occupy(ctx, tx, r)
	if _, taken := errors.AsType[*calendar.Refusal](err); taken {
		return withAlternatives(ctx, tx, c, r, moving, calendar.SlotTaken)
	}
	return err
}

// withAlternatives refuses a start and names the free ones nearest to it.
func withAlternatives(ctx context.Context, q db.Q, c Caller, r row, moving *row, code string) error {
	slots, err := nearest(ctx, q, c, scope{service: r.ServiceID, moving: moving}, "", r.Start)
	if err != nil {
		if _, refused := errors.AsType[*calendar.Refusal](err); !refused {
			return err
		}
	}
	return &calendar.Refusal{Code: code, Alternatives: slots}
}

// retake makes sure that a hold still has its time, taking it again when it ran
// out. A time that is gone or past, and one at which the customer has since
// booked something else, is refused with alternatives.
func retake(ctx context.Context, tx db.Tx, c Caller, r *row) error {
	if err := lockStaff(ctx, tx, r.StaffID); err != nil {
		return err
	}
	gone := !r.Start.After(c.Now)
	if lapsed := r.Status == calendar.Expired || !r.HoldUntil.After(c.Now); lapsed && !gone {
		if err := releaseExpired(ctx, tx, c, r.StaffID, r.ID); err != nil {
			return err
		}
		free, err := own(ctx, tx, c, *r)
		if err != nil {
			return err
		}
		err = occupy(ctx, tx, *r)
		_, taken := errors.AsType[*calendar.Refusal](err)
		if err != nil && !taken {
			return err
		}
		gone = taken || !free
	}
	if !gone {
		return nil
	}
	return withAlternatives(ctx, tx, c, *r, r, calendar.HoldExpired)
}

// own reports whether a contact has no other booking at a booking's time.
func own(ctx context.Context, q db.Q, c Caller, r row) (bool, error) {
	var n int
	err := q.QueryRowContext(ctx, `SELECT COUNT(*) FROM bookings WHERE contact_id = $1 AND id <> $2 AND ends_at > $3
		AND starts_at < $4 AND (status = 'confirmed' OR status IN ('held', 'pending_payment') AND hold_until > $5)`,
		r.ContactID, r.ID, db.At(r.Start), db.At(r.End), db.At(c.Now)).Scan(&n)
	if err != nil {
		return false, fmt.Errorf("look for own bookings: %w", err)
	}
	return n == 0, nil
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
