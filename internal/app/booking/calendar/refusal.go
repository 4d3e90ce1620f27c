package calendar

// Refusal is why the calendar did not do what was asked: a result for the
// caller to act on, not a failure. It is an error so that a transaction that
// meets it is undone.
type Refusal struct { //nolint:errname // a result first, and an error only so that its transaction is undone.
	Code         string
	Alternatives []Slot // nearest free starts, where a start was refused
}

// Error implements error.
func (r *Refusal) Error() string { return "calendar: " + r.Code }

// Advice returns what a person may read about a conflict code and what the
// caller does best next.
func Advice(code string) (sentence, next string) {
	const choose, again = "offer the alternatives", "show the booking as it is now"
	switch code {
	case SlotTaken:
		return "That time has just been taken.", choose
	case OutsideHours:
		return "Nobody works at that time.", choose
	case Closed:
		return "The business is closed then.", choose
	case TooSoon:
		return "That time is past or too soon to book.", choose
	case TooFar:
		return "That date is further ahead than bookings are taken.", choose
	case NotEligible:
		return "That person does not offer this service.", "offer the people who do"
	case OffGrid:
		return "Appointments do not start at that time.", choose
	case OwnOverlap:
		return "You already have a booking at that time.", choose
	case HoldLimit:
		return "You are already holding as many times as we can keep for you.", "release or confirm a held time first"
	case HoldExpired:
		return "The time we kept for you has run out and is no longer free.", choose
	case DepositDue:
		return "The deposit has not been paid yet.", "ask for the deposit"
	case PolicyCutoff:
		return "It is too late to change or cancel this booking here.", "offer to call the business"
	case NoSuchBooking:
		return "There is no such booking.", "list the bookings"
	case WrongState:
		return "The booking can no longer be changed that way.", again
	case Changed:
		return "The booking has changed since it was shown.", again
	case CannotRefund:
		return "This payment cannot be returned automatically.", "have a person return it"
	case PromptLive:
		return "A payment request is already on the phone.", "wait for it to be answered"
	case PromptTooSoon:
		return "A payment request was sent a moment ago.", "wait until the time given, then send another"
	}
	return "That is not possible.", "ask again"
}
