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
	case MoveLimit:
		return "This booking has been moved as often as it may be.", "offer to call the business"
	case WaitLimit:
		return "You are already waiting for as many times as we can keep in mind.", "leave one place before joining another"
	case NotOnTheList:
		return "There is no such place in the waitlist.", "list the places"
	case NoSuchBlock:
		return "There is no such blocked time.", "list what is blocked"
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
	return adviceToStaff(code)
}

// adviceToStaff is Advice about what the business's own people ask.
func adviceToStaff(code string) (sentence, next string) {
	switch code {
	case NoSuchStaff:
		return "There is nobody of that name on the staff.", "list who works here"
	case NoSuchService:
		return "There is no such service.", "list the services"
	case NoSuchContact:
		return "There is no such customer.", "look the customer up by name or phone"
	case NotYours:
		return "That is another person's calendar.", "ask the owner"
	case OwnersOnly:
		return "Money is the owner's.", "ask the owner"
	case Unreachable:
		return "There is no phone to write to them.", "add their phone first"
	case OptedOut:
		return "They want no announcements.", "leave them in peace"
	case NobodyToTell:
		return "There is nobody this could be sent to.", "wait until customers have written"
	case AlreadyDone:
		return "That was done already, with other words.", "draw a new id"
	case NothingWritten:
		return "The business has written nothing about that.", "ask a person of the business"
	}
	return "That is not possible.", "ask again"
}
