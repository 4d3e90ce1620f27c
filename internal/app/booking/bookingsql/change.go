package bookingsql

import (
	"context"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/ids"
)

// Confirm turns a hold into a booking once what was due has come in. The same
// receipt again answers with the booking as it stands.
func Confirm(ctx context.Context, tx db.Tx, c Caller, a calendar.ConfirmBookingArgs) (calendar.Booking, error) {
	r, err := find(ctx, tx, c, a.BookingID)
	switch {
	case err != nil:
		return r.Booking, err
	case !r.Start.Equal(a.Start):
		return r.Booking, refuse(calendar.Changed)
	case r.Status == calendar.Confirmed && r.receipt == a.Receipt:
		return r.Booking, nil
	case !held(r.Status) && r.Status != calendar.Expired:
		return r.Booking, refuse(calendar.WrongState)
	case a.Paid.Minor < r.Deposit.Minor || a.Paid.Minor > 0 && a.Paid.Currency != r.Deposit.Currency:
		return r.Booking, refuse(calendar.DepositDue)
	}
	if err := retake(ctx, tx, c, r); err != nil {
		return r.Booking, err
	}
	r.Status, r.receipt = calendar.Confirmed, a.Receipt
	r.Paid.Minor = a.Paid.Minor
	err = save(ctx, tx, &r, "confirmed", a.Receipt, c.Now)
	return r.Booking, err
}

// Reschedule moves a confirmed booking. The new time is secured before the old
// one is given back; until both are done nothing has happened.
func Reschedule(ctx context.Context, tx db.Tx, c Caller, a calendar.RescheduleBookingArgs) (calendar.Booking, error) {
	r, err := find(ctx, tx, c, a.BookingID)
	if err != nil {
		return r.Booking, err
	}
	if r.Status == calendar.Confirmed && r.Version == a.Version+1 && r.StaffID == a.StaffID && r.Start.Equal(a.Start) {
		return r.Booking, nil
	}
	if !c.works(a.StaffID) {
		return r.Booking, refuse(calendar.NotYours)
	}
	if err := changeable(c, r, a.Version); err != nil {
		return r.Booking, err
	}
	if r.Status != calendar.Confirmed {
		return r.Booking, refuse(calendar.WrongState)
	}
	t, err := room(ctx, tx, c, r, a.StaffID)
	if err != nil {
		return r.Booking, err
	}
	old := r
	r.StaffID, r.Start = a.StaffID, a.Start.UTC()
	c.Contact = r.ContactID // whoever moves it, its customer must be free
	if err := place(ctx, tx, c, t, &r); err != nil {
		return old.Booking, err
	}
	if err := secure(ctx, tx, c, t, r); err != nil {
		return old.Booking, err
	}
	if err := vacate(ctx, tx, r.ID, r.StaffID); err != nil {
		return old.Booking, err
	}
	err = save(ctx, tx, &r, "moved", "", c.Now)
	return r.Booking, err
}

// room locks whom a move needs, gives back what ran out of its new member of
// staff, and returns the terms of the move.
func room(ctx context.Context, tx db.Tx, c Caller, moving row, staff string) (terms, error) {
	var t terms
	if err := lockStaff(ctx, tx, moving.StaffID, staff); err != nil {
		return t, err
	}
	var known bool
	var expired int
	asks := append(t.asks(moving.ServiceID), askStaff(staff, &known), askExpired(c, staff, "", &expired))
	if err := db.Gather(ctx, tx, asks...); err != nil {
		return t, err
	}
	if !known {
		return t, refuse(calendar.NotEligible)
	}
	if expired > 0 {
		if err := releaseExpired(ctx, tx, c, staff, ""); err != nil {
			return t, err
		}
	}
	return t, t.settle(&moving)
}

// Cancel ends a booking and gives its time back. A hold may be cancelled at any
// time, a confirmed booking until the cut-off it was made with.
func Cancel(ctx context.Context, tx db.Tx, c Caller, a calendar.CancelBookingArgs) (calendar.Booking, error) {
	r, err := find(ctx, tx, c, a.BookingID)
	if err != nil {
		return r.Booking, err
	}
	if r.Status == calendar.Cancelled && r.Version == a.Version+1 {
		return r.Booking, nil
	}
	if err := changeable(c, r, a.Version); err != nil {
		return r.Booking, err
	}
	if err := vacate(ctx, tx, r.ID, ""); err != nil {
		return r.Booking, err
	}
	r.Status = calendar.Cancelled
	err = save(ctx, tx, &r, "cancelled", a.Reason, c.Now)
	return r.Booking, err
}

// changeable refuses what may no longer be moved or cancelled. The business
// itself is not bound by the cut-off.
func changeable(c Caller, r row, version int64) error {
	switch {
	case !held(r.Status) && r.Status != calendar.Confirmed:
		return refuse(calendar.WrongState)
	case r.Version != version:
		return refuse(calendar.Changed)
	case r.Status == calendar.Confirmed && c.Contact != "" && c.Now.After(r.ChangeUntil):
		return refuse(calendar.PolicyCutoff)
	}
	return nil
}

// Merge gives one contact's bookings, holds included, to another, who turned
// out to be the same person.
func Merge(ctx context.Context, tx db.Tx, from, to ids.ContactID) error {
	return db.Exec(ctx, tx, "merge bookings", "UPDATE bookings SET contact_id = $2 WHERE contact_id = $1", string(from), string(to))
}
