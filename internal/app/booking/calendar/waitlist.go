package calendar

// Names of the waitlist's tools.
const (
	JoinWaitlist  = "join_waitlist"
	LeaveWaitlist = "leave_waitlist"
	QueryWaitlist = "query_waitlist"
)

// Conflict codes of the waitlist.
const (
	WaitLimit    = "wait_limit" // the contact waits for as many things as we keep
	NotOnTheList = "not_on_the_list"
)

// WaitStatus is what became of a place in the waitlist.
type WaitStatus string

// The states of a place. One whose offers nobody answered is lapsed.
const (
	Waiting WaitStatus = "waiting"
	Offered WaitStatus = "offered"
	Booked  WaitStatus = "booked"
	Left    WaitStatus = "left"
	Lapsed  WaitStatus = "lapsed"
)

// Bounds of the waitlist.
const (
	MaxWaits = 5 // places one contact has at a time
	MaxSkips = 3 // offers that were not taken, after which a place lapses
)

// JoinWaitlistArgs asks to be offered a start that becomes free. Dates are civil
// dates of the business's zone, both inclusive; times bound the starts as in
// CheckAvailabilityArgs. The caller draws ID. Idempotent by it.
type JoinWaitlistArgs struct {
	ID        string `json:"id"`
	ContactID string `json:"contact_id"`
	Name      string `json:"name"` // whom the visit would be for
	ServiceID string `json:"service_id"`
	StaffID   string `json:"staff_id,omitempty"` // "" is any
	From      string `json:"from"`
	To        string `json:"to"`
	TimeFrom  string `json:"time_from,omitempty"`
	TimeTo    string `json:"time_to,omitempty"`
}

// Wait is a place in the waitlist.
type Wait struct {
	JoinWaitlistArgs
	Status    WaitStatus `json:"status"`
	Skips     int        `json:"skips,omitempty"`      // offers that were not taken
	BookingID string     `json:"booking_id,omitempty"` // the hold that is offered
}

// LeaveWaitlistArgs gives a place up, and the hold it is offered with it.
type LeaveWaitlistArgs struct {
	ID string `json:"id"`
}

// QueryWaitlistArgs asks for a contact's places that are waiting or offered.
type QueryWaitlistArgs struct {
	ContactID string `json:"contact_id"`
}

// Waits is what QueryWaitlist answers, oldest first.
type Waits struct {
	Waits []Wait `json:"waits"`
}

// OfferNotice names the event that tells a contact of a hold that is theirs to
// take: its data is an Offer.
const OfferNotice = "waitlist_offer"

// Offer names the hold a contact of the waitlist is offered.
type Offer struct {
	BookingID string `json:"booking_id"`
}
