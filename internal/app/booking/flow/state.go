package flow

import (
	"slices"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/money"
)

type (
	in  = graph.In[State]
	out = graph.Out[State]
)

// State is what a thread of this app remembers between turns. A step changes
// its own copy: the methods on the pointer fill slots of a local one.
type State struct { //nolint:recvcheck // see above
	At     graph.Name `json:"at,omitempty"`    // where the thread rests, "" in a new one
	Spent  bool       `json:"spent,omitempty"` // a node of this turn has read the input; false at rest
	Repeat bool       `json:"repeat,omitempty"`
	Lang   string     `json:"lang,omitempty"`
	Asked  string     `json:"asked,omitempty"` // the slot last asked for
	Shown  []Shown    `json:"shown,omitempty"` // what was last there to tap, in order
	Misses int        `json:"misses,omitempty"`
	// Decided says that a person of the business filled slots: the thread goes
	// straight on from where it rests.
	Decided bool `json:"decided,omitempty"`

	Want   Want                       `json:"want"`
	Offer  *Offer                     `json:"offer,omitempty"`
	Picked *calendar.Slot             `json:"picked,omitempty"`
	Next   *Hold                      `json:"next,omitempty"` // being taken by a write of this turn
	Hold   *Hold                      `json:"hold,omitempty"`
	Payer  string                     `json:"payer,omitempty"` // phone given in this thread for payment
	Ask    *Ask                       `json:"ask,omitempty"`   // the exact calls a yes would make
	Pay    *Pay                       `json:"pay,omitempty"`   // the last prompt that went out
	Credit *Credit                    `json:"credit,omitempty"`
	Waits  *calendar.JoinWaitlistArgs `json:"waits,omitempty"`  // being taken by a write of this turn
	Passed bool                       `json:"passed,omitempty"` // an offer of the waitlist is being let go
	Rates  string                     `json:"rates,omitempty"`  // the visit that words are awaited about
	Rated  string                     `json:"rated,omitempty"`  // what is being kept of a visit
	Then   []string                   `json:"then,omitempty"`   // services to book after this one
	Done   *Done                      `json:"done,omitempty"`   // what a confirmation of this turn is about
	Gone   []string                   `json:"gone,omitempty"`   // bookings given up after a prompt had gone out

	Booking *calendar.Booking `json:"booking,omitempty"` // being moved or cancelled
	Around  When              `json:"around,omitzero"`   // its time, or the picked one, in civil terms

	Returning bool `json:"returning,omitempty"` // what was paid for Booking goes back
}

// Want is what the customer wants, as far as they have said it.
type Want struct {
	Service  string   `json:"service,omitempty"`
	Services []string `json:"services,omitempty"` // candidates that fit equally well
	Staff    string   `json:"staff,omitempty"`    // "" is any
	Name     string   `json:"name,omitempty"`
	Other    bool     `json:"other,omitempty"` // it is for somebody else, whose name is asked for
	When     When     `json:"when"`
}

// When is the wanted time, in civil dates and clock times of the business.
type When struct {
	Date    string   `json:"date,omitempty"`
	DateTo  string   `json:"date_to,omitempty"`
	Time    string   `json:"time,omitempty"`
	From    string   `json:"from,omitempty"`
	To      string   `json:"to,omitempty"`
	Options []string `json:"options,omitempty"`
	Soonest bool     `json:"soonest,omitempty"`
}

// Offer is a page of free starts.
type Offer struct {
	Slots []calendar.Slot `json:"slots"`
	Skip  int             `json:"skip,omitempty"`  // starts on earlier pages
	Given bool            `json:"given,omitempty"` // a conflict named them: no need to read
}

// Hold is a slot kept for the customer.
type Hold struct {
	BookingID string        `json:"booking_id"`
	Code      string        `json:"code"`
	ServiceID string        `json:"service_id"`
	Slot      calendar.Slot `json:"slot"`
	Name      string        `json:"name,omitempty"` // whom it is kept for
	Until     time.Time     `json:"until"`
}

// Ask holds the irreversible call that was put to the customer.
type Ask struct {
	Push       *calendar.PushPaymentArgs       `json:"push,omitempty"`
	Link       *calendar.PushPaymentArgs       `json:"link,omitempty"`
	Confirm    *calendar.ConfirmBookingArgs    `json:"confirm,omitempty"`
	Reschedule *calendar.RescheduleBookingArgs `json:"reschedule,omitempty"`
	Cancel     *calendar.CancelBookingArgs     `json:"cancel,omitempty"`
	Refund     *calendar.RefundPaymentArgs     `json:"refund,omitempty"` // beside Cancel: what goes back
}

func (a *Ask) call() graph.Call {
	switch {
	case a.Push != nil:
		return graph.Call{Tool: calendar.PushPayment, Args: *a.Push}
	case a.Link != nil:
		return graph.Call{Tool: calendar.SendPaymentLink, Args: *a.Link}
	case a.Confirm != nil:
		return graph.Call{Tool: calendar.ConfirmBooking, Args: *a.Confirm}
	case a.Reschedule != nil:
		return graph.Call{Tool: calendar.RescheduleBooking, Args: *a.Reschedule}
	}
	return graph.Call{Tool: calendar.CancelBooking, Args: *a.Cancel}
}

// Pay is a payment that was asked for: a prompt on a phone, or a link.
type Pay struct {
	Card      bool         `json:"card,omitempty"`   // paid on a page
	Link      string       `json:"link,omitempty"`   // that page's, once there is one
	Switch    bool         `json:"switch,omitempty"` // M-Pesa is wanted in its place
	AttemptID string       `json:"attempt_id"`
	Amount    money.Amount `json:"amount"`
	Phone     string       `json:"phone"`
	Failed    string       `json:"failed,omitempty"` // payment.Kind when it did not work
	Retry     time.Time    `json:"retry,omitzero"`   // not before this may another prompt be sent
	Change    bool         `json:"change,omitempty"` // another time is wanted once the prompt is over
}

// Credit is money that came in for a time that was gone.
type Credit struct {
	BookingID string       `json:"booking_id"`
	Paid      money.Amount `json:"paid"`
	Receipt   string       `json:"receipt"`
	Returns   bool         `json:"returns,omitempty"` // it goes back by the rule
	Asked     bool         `json:"begun,omitempty"`   // and that was begun
}

// Done is a booking this turn confirms.
type Done struct {
	BookingID string       `json:"booking_id"`
	Code      string       `json:"code"`
	ServiceID string       `json:"service_id"`
	StaffName string       `json:"staff_name"`
	Name      string       `json:"name"`
	Start     time.Time    `json:"start"`
	Price     money.Amount `json:"price"`
	Paid      money.Amount `json:"paid"`
	Receipt   string       `json:"receipt,omitempty"`
	Late      bool         `json:"late,omitempty"` // the thread is about something else
}

// Paid lists the sums the thread knows to have come in.
func (s State) Paid() []money.Amount {
	var out []money.Amount
	if s.Credit != nil {
		out = append(out, s.Credit.Paid)
	}
	if s.Booking != nil {
		out = append(out, s.Booking.Paid)
	}
	if s.Done != nil {
		out = append(out, s.Done.Paid)
	}
	return out
}

// Shown is a choice that was there to tap: a text of the catalogue or a title.
type Shown struct {
	ID    string `json:"id"`
	Text  string `json:"text,omitempty"`
	Title string `json:"title,omitempty"`
}

// Owns reports whether the thread is about a booking, so that a payment for it
// belongs to the thread.
func (s State) Owns(bookingID string) bool {
	return s.Hold != nil && s.Hold.BookingID == bookingID || slices.Contains(s.Gone, bookingID)
}

// About is the day and time the thread is about, for what is said in relation
// to it: "same time next week".
func (s State) About() graph.When {
	if (s.Booking != nil || s.Picked != nil) && s.Around.Date != "" && s.Want.When.Time == "" {
		return graph.When{Date: s.Around.Date, Time: s.Around.Time}
	}
	return graph.When{Date: s.Want.When.Date, Time: s.Want.When.Time}
}

// civil is a start as a wanted time.
func (b business) civil(start time.Time) When {
	start = start.In(b.zone)
	return When{Date: start.Format(time.DateOnly), Time: start.Format("15:04")}
}

// midway reports whether the customer has begun something that would be lost.
func (s State) midway() bool {
	switch s.At {
	case "", Greet, PayerCancelled, MyBookings:
		return false
	}
	return true
}

// booking reports whether a booking is being made.
func (s State) booking() bool {
	switch s.At {
	case Collect, Offering, Confirming, HoldExpired:
		return true
	}
	return false
}

// changing reports whether a booking there is already is being looked at.
func (s State) changing() bool {
	switch s.At {
	case MovePick, MoveWhen, MoveOffer, MoveConfirm, DropPick, DropConfirm, MyBookings:
		return true
	}
	return false
}

// paying reports whether a payment prompt is out or was answered with a failure
// and the hold still stands.
func (s State) paying() bool { return s.At == AwaitPayment || s.At == PaymentFailed }

// settle forgets the details of what is finished or given up.
func (s State) settle() State {
	return State{At: s.At, Spent: s.Spent, Repeat: s.Repeat, Lang: s.Lang, Gone: s.Gone, Payer: s.Payer, Misses: s.Misses}
}

// dated reports whether a day has been said.
func (w When) dated() bool { return w.Date != "" || w.Soonest }

// merge takes over what was said anew and keeps the rest.
func (w When) merge(said graph.When) When {
	if said.Fault != "" {
		return w
	}
	if said.Date != "" {
		w.Date, w.DateTo, w.Soonest = said.Date, said.DateTo, false
	}
	switch {
	case said.Time != "":
		w.Time, w.From, w.To, w.Options = said.Time, "", "", nil
	case len(said.Options) > 0:
		w.Time, w.From, w.To, w.Options = "", "", "", said.Options
	case said.From != "" || said.To != "":
		w.Time, w.From, w.To, w.Options = "", said.From, said.To, nil
	}
	return w
}

// take fills the slots from an input and reports which kinds changed.
func (s *State) take(i in) (changed bool) {
	before := s.Want
	s.Want.Other = s.Want.Other || i.Input.ForOther
	if e, ok := i.Input.Entities[kindService]; ok {
		switch {
		case e.ID != "":
			s.Want.Service, s.Want.Services = e.ID, nil
		case len(e.Candidates) > 0 && !slices.Contains(e.Candidates, s.Want.Service):
			s.Want.Service, s.Want.Services = "", e.Candidates
			s.queue(i)
		}
	}
	if e, ok := i.Input.Entities[kindStaff]; ok && e.ID != "" {
		s.Want.Staff = e.ID
	} else if i.Input.AnyStaff {
		s.Want.Staff = ""
	}
	if n := strings.TrimSpace(i.Input.Name); n != "" {
		s.Want.Name = cut(n, maxName)
	}
	s.Want.When = s.Want.When.merge(i.Input.When)
	if i.Input.When.Empty() && !s.Want.When.dated() && soonest(i.Input.Text) {
		s.Want.When.Soonest = true
	}
	return before.Service != s.Want.Service || before.Staff != s.Want.Staff || !before.When.equal(s.Want.When) ||
		!slices.Equal(before.Services, s.Want.Services)
}

// soonest reports whether a text leaves the time to us.
func soonest(text string) bool {
	return says(text, "soonest", "earliest", "asap", "as soon as possible", "first free", "first available", "next available", "anytime", "any time",
		"wakati wowote", "saa yoyote", "haraka iwezekanavyo", "nafasi ya kwanza", "mapema iwezekanavyo")
}

func (w When) equal(v When) bool {
	return w.Date == v.Date && w.DateTo == v.DateTo && w.Time == v.Time && w.From == v.From && w.To == v.To &&
		w.Soonest == v.Soonest && slices.Equal(w.Options, v.Options)
}
