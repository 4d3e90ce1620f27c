package bookingsql

import (
	"context"
	"slices"
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/money"
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
	if err := retake(ctx, tx, c, &r); err != nil {
		return r.Booking, err
	}
	r.Status, r.receipt = calendar.Confirmed, a.Receipt
	r.Paid.Minor = a.Paid.Minor
	if err := save(ctx, tx, &r, "confirmed", a.Receipt, c.Now); err != nil {
		return r.Booking, err
	}
	return r.Booking, waitsNoMore(ctx, tx, c, r)
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
	if err := changeable(c, r, a.Version, r.MoveUntil); err != nil {
		return r.Booking, err
	}
	if r.Status != calendar.Confirmed {
		return r.Booking, refuse(calendar.WrongState)
	}
	if c.Contact != "" {
		if r.Moves++; r.Terms.MaxMoves > 0 && r.Moves > r.Terms.MaxMoves {
			return r.Booking, refuse(calendar.MoveLimit)
		}
	}
	t, err := room(ctx, tx, c, r, a.StaffID)
	if err != nil {
		return r.Booking, err
	}
	old := r
	r.Resources = nil
	r.StaffID, r.Start = a.StaffID, a.Start.UTC()
	c.Contact = r.ContactID // whoever moves it, its customer must be free
	if err := place(ctx, tx, c, t, &r); err != nil {
		return old.Booking, err
	}
	if err := secure(ctx, tx, c, t, &r); err != nil {
		return old.Booking, err
	}
	if err := vacateOld(ctx, tx, old, r); err != nil {
		return old.Booking, err
	}
	err = save(ctx, tx, &r, "moved", "", c.Now)
	return r.Booking, err
}

// room locks whom a move needs, gives back what ran out of its new member of
// staff, and returns the terms of the move.
func room(ctx context.Context, tx db.Tx, c Caller, moving row, staff string) (terms, error) {
	var t terms
	if err := lock(ctx, tx, moving.ServiceID, moving.StaffID, staff); err != nil {
		return t, err
	}
	var known bool
	var expired []string
	asks := append(t.asks(moving.ServiceID), askStaff(staff, &known), askExpired(c, moving.ServiceID, staff, "", &expired))
	if err := db.Gather(ctx, tx, asks...); err != nil {
		return t, err
	}
	if !known {
		return t, refuse(calendar.NotEligible)
	}
	if len(expired) > 0 {
		if err := releaseExpired(ctx, tx, c, expired); err != nil {
			return t, err
		}
	}
	return t, t.settle(&moving)
}

// Cancel ends a booking and gives its time back; what is to be refunded, by the
// terms it was made under, is noted with it. A hold may be cancelled at any
// time, a confirmed booking by its customer until the cut-off it was made with.
func Cancel(ctx context.Context, tx db.Tx, c Caller, a calendar.CancelBookingArgs) (calendar.Booking, error) {
	r, err := find(ctx, tx, c, a.BookingID)
	if err != nil {
		return r.Booking, err
	}
	if r.Status == calendar.Cancelled && r.Version == a.Version+1 {
		return r.Booking, nil
	}
	if err := changeable(c, r, a.Version, r.ChangeUntil); err != nil {
		return r.Booking, err
	}
	if err := vacate(ctx, tx, r.ID); err != nil {
		return r.Booking, err
	}
	by := calendar.ByCustomer
	if c.Contact == "" {
		by = calendar.ByBusiness
	}
	r.Status, r.Refund = calendar.Cancelled, r.RefundAt(c.Now, by)
	err = save(ctx, tx, &r, "cancelled", a.Reason, c.Now)
	return r.Booking, err
}

// changeable refuses what may no longer be moved or cancelled. The business
// itself is not bound by the cut-off.
func changeable(c Caller, r row, version int64, until time.Time) error {
	switch {
	case !held(r.Status) && r.Status != calendar.Confirmed:
		return refuse(calendar.WrongState)
	case r.Version != version:
		return refuse(calendar.Changed)
	case r.Status == calendar.Confirmed && c.Contact != "" && c.Now.After(until):
		return refuse(calendar.PolicyCutoff)
	}
	return nil
}

// Complete ends a confirmed booking whose visit is over. Again, it answers with
// the booking as it stands.
func Complete(ctx context.Context, tx db.Tx, c Caller, a calendar.CompleteBookingArgs) (calendar.Booking, error) {
	r, err := find(ctx, tx, c, a.BookingID)
	switch {
	case err != nil:
		return r.Booking, err
	case r.Status == calendar.Completed:
		return r.Booking, nil
	case r.Status != calendar.Confirmed || c.Now.Before(r.End):
		return r.Booking, refuse(calendar.WrongState)
	}
	r.Status = calendar.Completed
	err = save(ctx, tx, &r, "completed", "", c.Now)
	return r.Booking, err
}

// MarkNoShow notes that a customer did not come, from the start of the visit
// until the time its terms give after its end, or takes that note back. Only the
// business may. What of the payment goes back is noted with it.
func MarkNoShow(ctx context.Context, tx db.Tx, c Caller, a calendar.MarkNoShowArgs) (calendar.Booking, error) {
	r, err := find(ctx, tx, c, a.BookingID)
	if err != nil {
		return r.Booking, err
	}
	from, to, event := []calendar.Status{calendar.Confirmed, calendar.Completed}, calendar.NoShow, "no_show"
	if a.Undo {
		from, to, event = []calendar.Status{calendar.NoShow}, calendar.Completed, "no_show_undone"
		if c.Now.Before(r.End) {
			to = calendar.Confirmed
		}
	}
	switch {
	case c.Contact != "":
		return r.Booking, refuse(calendar.NoSuchBooking)
	case r.Status == calendar.NoShow && !a.Undo:
		return r.Booking, nil
	case !slices.Contains(from, r.Status) || c.Now.Before(r.Start):
		return r.Booking, refuse(calendar.WrongState)
	case c.Now.After(r.End.Add(r.Terms.NoShow)):
		return r.Booking, refuse(calendar.PolicyCutoff)
	}
	r.Status, r.Refund = to, money.Amount{}
	if !a.Undo {
		r.Refund = r.NoShowRefund()
	}
	err = save(ctx, tx, &r, event, "", c.Now)
	return r.Booking, err
}

// Merge gives one contact's bookings, holds included, to another, who turned
// out to be the same person.
func Merge(ctx context.Context, tx db.Tx, from, to ids.ContactID) error {
	for _, table := range []string{"bookings", "feedback", "waitlist"} {
		if err := db.Exec(ctx, tx, "merge "+table, "UPDATE "+table+" SET contact_id = $2 WHERE contact_id = $1", string(from), string(to)); err != nil {
			return err
		}
	}
	return nil
}
