package calendar

import (
	"cmp"
	"slices"
	"time"

	"github.com/ratiba/ratiba/internal/money"
)

// Terms are the rules one booking was made under. They are copied onto it when
// it is made, and what the business changes later does not touch it.
type Terms struct {
	Cancel       time.Duration   `json:"cancel"`                   // how long before the start it may still be cancelled
	Move         time.Duration   `json:"move"`                     // and moved
	MaxMoves     int             `json:"max_moves,omitempty"`      // how often it may be moved by its customer; 0 is no limit
	Refunds      []RefundStep    `json:"refunds,omitempty"`        // longest notice first
	NoShowRefund int             `json:"no_show_refund,omitempty"` // percent of what was paid that is returned after a no-show
	NoShow       time.Duration   `json:"no_show,omitempty"`        // how long after the end a no-show may be marked or taken back
	Reminders    []time.Duration `json:"reminders,omitempty"`      // before the start, longest first
	Feedback     time.Duration   `json:"feedback,omitempty"`       // after the end; 0 is never
}

// RefundStep says which part of what was paid goes back when a booking is
// cancelled at least so long before its start.
type RefundStep struct {
	Before  time.Duration `json:"before"`
	Percent int           `json:"percent"`
}

// Parties who may end a booking.
const (
	ByCustomer = "customer"
	ByBusiness = "business"
)

// RefundAt is what goes back of a booking that is cancelled at an instant. Who
// is cancelled by the business gets everything back. A part is rounded down to
// whole minor units.
func (b Booking) RefundAt(at time.Time, by string) money.Amount {
	percent := 0
	if by == ByBusiness {
		percent = 100
	}
	for _, s := range b.Terms.Refunds {
		if !at.After(b.Start.Add(-s.Before)) {
			percent = max(percent, s.Percent)
		}
	}
	return b.part(percent)
}

// NoShowRefund is what goes back of a booking whose customer did not come.
func (b Booking) NoShowRefund() money.Amount { return b.part(b.Terms.NoShowRefund) }

func (b Booking) part(percent int) money.Amount {
	return money.Amount{Minor: b.Paid.Minor/100*int64(percent) + b.Paid.Minor%100*int64(percent)/100, Currency: b.Paid.Currency}
}

// VisitTimer begins the name of a booking's timer in its contact's mailbox; the
// booking's id follows. There is at most one for each booking: it is set anew
// by whatever changes the booking, so that it is about the version it was set for.
const VisitTimer = "visit:"

// What a booking's timer is for.
const (
	TouchExpire   = "expire"   // a hold ran out
	TouchRemind   = "remind"   // the visit is near
	TouchComplete = "complete" // the visit is over
	TouchFeedback = "feedback" // its customer may say how it was
)

// Touch is what is to be done about a booking by itself, and when. It is the
// data of the booking's timer.
type Touch struct {
	BookingID string    `json:"booking_id"`
	Version   int64     `json:"version"`
	Kind      string    `json:"kind"`
	At        time.Time `json:"at"`
}

// NextTouch is what is to be done about a booking by itself after an instant;
// false when nothing is. Reminders that were missed are left out: only what is
// still to come is told.
func NextTouch(b Booking, after time.Time) (Touch, bool) {
	t := Touch{BookingID: b.ID, Version: b.Version}
	switch b.Status {
	case Held, PendingPayment:
		t.Kind, t.At = TouchExpire, b.HoldUntil
	case Confirmed:
		t.Kind, t.At = TouchComplete, b.End
		for _, before := range b.Terms.Reminders {
			if at := b.Start.Add(-before); at.After(after) && at.Before(t.At) {
				t.Kind, t.At = TouchRemind, at
			}
		}
	case Completed:
		if b.Terms.Feedback > 0 {
			t.Kind, t.At = TouchFeedback, b.End.Add(b.Terms.Feedback)
		}
		if !t.At.After(after) {
			return Touch{}, false
		}
	case Cancelled, NoShow, Expired:
	}
	return t, t.Kind != ""
}

// Due says what a touch comes to now that it fell due, looking at the booking as
// it is: a booking that changed since, or is not there yet, is left alone.
func (t Touch) Due(b Booking, now time.Time) bool {
	if b.ID != t.BookingID || b.Version != t.Version || now.Before(t.At) {
		return false
	}
	switch t.Kind {
	case TouchExpire:
		return (b.Status == Held || b.Status == PendingPayment) && !b.HoldUntil.After(now)
	case TouchRemind:
		return b.Status == Confirmed && now.Before(b.Start)
	case TouchComplete:
		return b.Status == Confirmed && !now.Before(b.End)
	case TouchFeedback:
		return b.Status == Completed
	}
	return false
}

// sorted puts the parts that have an order into it.
func (t Terms) sorted() Terms {
	slices.SortFunc(t.Refunds, func(a, b RefundStep) int { return cmp.Compare(b.Before, a.Before) })
	slices.SortFunc(t.Reminders, func(a, b time.Duration) int { return cmp.Compare(b, a) })
	return t
}
