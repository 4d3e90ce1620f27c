package calendar

import (
	"time"

	"github.com/ratiba/ratiba/internal/money"
)

// Names of the booking app's tools, as their definitions list them.
const (
	ListServices      = "list_active_services"
	CheckAvailability = "check_availability"
	QueryBookings     = "query_bookings"
	HoldSlot          = "hold_slot"
	ReleaseHold       = "release_hold"
	ConfirmBooking    = "confirm_booking"
	RescheduleBooking = "reschedule_booking"
	CancelBooking     = "cancel_booking"
	CompleteBooking   = "complete_booking"
	RecordFeedback    = "record_feedback"
	PushPayment       = "initiate_stk_push"
	SendPaymentLink   = "send_payment_link"
	RefundPayment     = "refund_payment"
)

// Conflict codes that tools answer.
const (
	SlotTaken     = "slot_taken"
	OutsideHours  = "outside_hours"
	TooSoon       = "too_soon"
	TooFar        = "too_far"
	Closed        = "closed"
	NotEligible   = "not_eligible"  // this staff member does not offer the service
	OffGrid       = "off_grid"      // not a start the service has
	OwnOverlap    = "own_overlap"   // the contact has a booking at that time
	HoldLimit     = "hold_limit"    // the contact holds too many slots
	HoldExpired   = "hold_expired"  // and the slot is gone
	DepositDue    = "deposit_due"   // confirming needs the deposit paid first
	PolicyCutoff  = "policy_cutoff" // too late to move, cancel or mark
	MoveLimit     = "move_limit"    // moved as often as its terms allow
	NoSuchBooking = "no_such_booking"
	NoSuchBlock   = "no_such_block"
	WrongState    = "wrong_state"     // cancelled, completed, ...
	Changed       = "changed"         // the booking moved since it was shown
	PromptLive    = "prompt_live"     // a payment prompt is still on the phone
	CannotRefund  = "cannot_refund"   // a person must give it back
	PromptTooSoon = "prompt_too_soon" // less than two minutes since the last prompt
)

// Status is a booking's state.
type Status string

// Booking states.
const (
	Held           Status = "held"
	PendingPayment Status = "pending_payment"
	Confirmed      Status = "confirmed"
	Completed      Status = "completed"
	Cancelled      Status = "cancelled"
	NoShow         Status = "no_show"
	Expired        Status = "expired"
)

// ListServicesArgs asks for the catalogue.
type ListServicesArgs struct{}

// Catalogue is what a customer may book, hidden services left out.
type Catalogue struct {
	Services []Service `json:"services"`
	Staff    []Staff   `json:"staff"`
}

// CheckAvailabilityArgs asks for free starts. Dates are civil dates of the
// business's zone (2006-01-02), times are 15:04.
type CheckAvailabilityArgs struct {
	ServiceID string `json:"service_id"`
	StaffID   string `json:"staff_id,omitempty"` // "" is any
	From      string `json:"from"`
	To        string `json:"to"` // inclusive
	TimeFrom  string `json:"time_from,omitempty"`
	TimeTo    string `json:"time_to,omitempty"`    // a start at TimeTo is outside
	Limit     int    `json:"limit"`                // at most 50 starts; one staff member is chosen for each
	BookingID string `json:"booking_id,omitempty"` // its own time counts as free: a move
}

// Slot is a free start with the staff member the any-staff rule chose.
type Slot struct {
	Start     time.Time `json:"start"`
	End       time.Time `json:"end"`
	StaffID   string    `json:"staff_id"`
	StaffName string    `json:"staff_name"`
}

// Availability is what CheckAvailability answers. When Slots is empty, Reason
// is the code of why and Nearest are the closest free starts, before or after.
type Availability struct {
	Slots   []Slot `json:"slots"`
	Reason  string `json:"reason,omitempty"`
	Nearest []Slot `json:"nearest,omitempty"`
	More    bool   `json:"more,omitempty"` // Limit cut the list
}

// QueryBookingsArgs asks for a contact's bookings, soonest first, or for the one
// with a code.
type QueryBookingsArgs struct {
	ContactID string `json:"contact_id,omitempty"`
	Code      string `json:"code,omitempty"`       // of anybody's booking, in any state
	BookingID string `json:"booking_id,omitempty"` // only this one, in any state
	Past      bool   `json:"past,omitempty"`       // ended and cancelled ones too
}

// Bookings is what QueryBookings answers.
type Bookings struct {
	Bookings []Booking `json:"bookings"`
}

// Booking is one booking. It keeps ID and Code for life.
type Booking struct {
	ID          string       `json:"id"`
	Code        string       `json:"code"`
	ContactID   string       `json:"contact_id"`
	Name        string       `json:"name"` // whom it is for
	ServiceID   string       `json:"service_id"`
	StaffID     string       `json:"staff_id"`
	StaffName   string       `json:"staff_name"`
	Start       time.Time    `json:"start"`
	End         time.Time    `json:"end"`
	Status      Status       `json:"status"`
	Price       money.Amount `json:"price"`
	Deposit     money.Amount `json:"deposit"`
	Paid        money.Amount `json:"paid"`
	HoldUntil   time.Time    `json:"hold_until"`
	ChangeUntil time.Time    `json:"change_until"` // last instant it may be moved or cancelled, by its policy snapshot
	Version     int64        `json:"version"`
	Resources   []string     `json:"resources,omitempty"` // ids of what is reserved with the staff
	Moves       int          `json:"moves,omitempty"`     // how often its customer has moved it
	MoveUntil   time.Time    `json:"move_until,omitzero"` // last instant its customer may move it
	Refund      money.Amount `json:"refund,omitzero"`     // what is to go back of what was paid, once it is over
	WaitID      string       `json:"wait_id,omitempty"`   // the place in the waitlist it is an offer to
	Terms       Terms        `json:"terms,omitzero"`      // agreed when it was made
}

// HoldSlotArgs takes a slot for a while. The caller draws ID and Code, so that
// success says nothing the caller did not know. Idempotent by BookingID. Its
// conflicts carry Alternatives.
type HoldSlotArgs struct {
	BookingID string    `json:"booking_id"`
	Code      string    `json:"code"`
	ContactID string    `json:"contact_id"`
	Name      string    `json:"name"`
	ServiceID string    `json:"service_id"`
	StaffID   string    `json:"staff_id"`
	Start     time.Time `json:"start"`
	HoldUntil time.Time `json:"hold_until"`
	// Replaces names a hold of the same contact that is released in the same
	// transaction: the customer chose another time.
	Replaces string `json:"replaces,omitempty"`
}

// Alternatives are the nearest free starts a conflict carries.
type Alternatives struct {
	Slots []Slot `json:"slots"`
}

// ReleaseHoldArgs gives a hold back. A booking that is no hold is left alone.
type ReleaseHoldArgs struct {
	BookingID string `json:"booking_id"`
}

// ConfirmBookingArgs confirms what was held. Paid is what has come in for it,
// zero when nothing was due. A hold that ran out is taken again when its slot
// is still free, else HoldExpired with Alternatives. Receipt is the payment's,
// "" when nothing was due.
type ConfirmBookingArgs struct {
	BookingID string       `json:"booking_id"`
	Start     time.Time    `json:"start"`
	Paid      money.Amount `json:"paid"`
	Receipt   string       `json:"receipt,omitempty"`
}

// RescheduleBookingArgs moves a booking. Version guards against one that
// changed since it was shown.
type RescheduleBookingArgs struct {
	BookingID string    `json:"booking_id"`
	StaffID   string    `json:"staff_id"`
	Start     time.Time `json:"start"`
	Version   int64     `json:"version"`
}

// CancelBookingArgs cancels a booking.
type CancelBookingArgs struct {
	BookingID string `json:"booking_id"`
	Reason    string `json:"reason"`
	Version   int64  `json:"version"`
}

// CompleteBookingArgs ends a booking whose visit is over.
type CompleteBookingArgs struct {
	BookingID string `json:"booking_id"`
}

// Ratings of a visit.
const (
	RatedUp   = "up"
	RatedDown = "down"
)

// RecordFeedbackArgs is what a customer says of a visit.
type RecordFeedbackArgs struct {
	BookingID string `json:"booking_id"`
	Rating    string `json:"rating,omitempty"` // RatedUp or RatedDown, "" when they only comment
	Comment   string `json:"comment,omitempty"`
}

// MarkNoShowArgs notes that a customer did not come, or with Undo that they did.
type MarkNoShowArgs struct {
	BookingID string `json:"booking_id"`
	Undo      bool   `json:"undo,omitempty"`
}

// PushPaymentArgs asks for the deposit: the payer's phone with PushPayment, by a
// link to a page with SendPaymentLink. The booking becomes
// pending_payment and its hold lasts at least until HoldUntil. Conflicts:
// PromptLive, PromptTooSoon (data: PromptWait), HoldExpired.
type PushPaymentArgs struct {
	AttemptID string       `json:"attempt_id"`
	BookingID string       `json:"booking_id"`
	Amount    money.Amount `json:"amount"`
	Phone     string       `json:"phone"`
	HoldUntil time.Time    `json:"hold_until"`
}

// RefundPaymentArgs gives a payment back: the one with the receipt, or where that
// is empty the one that confirmed the booking. Conflict: CannotRefund.
type RefundPaymentArgs struct {
	BookingID string       `json:"booking_id"`
	Receipt   string       `json:"receipt"`
	Amount    money.Amount `json:"amount"`
	Reason    string       `json:"reason"`
}

// PromptWait says when another prompt may be sent.
type PromptWait struct {
	Until time.Time `json:"until"`
}
