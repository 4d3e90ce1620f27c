package flow

import (
	"slices"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/graph"
)

// Confidence from which an intent acts by itself, and from which one acts that
// changes nothing.
const (
	sure     = 0.85
	harmless = 0.60
)

// route says at which node a turn begins.
func route(i in) graph.Name {
	if i.Input.Event != nil {
		return routeEvent(i)
	}
	if i.Input.Confirmed {
		return i.Node
	}
	if tapped(i) != "" {
		return routeTap(i)
	}
	if to := routeIntent(i); to != "" {
		return to
	}
	return i.Node
}

func routeEvent(i in) graph.Name {
	e, s := i.Input.Event, i.State
	switch {
	case e.Kind == "payment":
		return Settled
	case e.Kind == "timer" && e.Name == timerHold:
		return HoldExpired
	case e.Kind == "timer" && e.Name == timerRetry && s.At == PaymentFailed:
		return PaymentFailed
	}
	return Back
}

// routeTap follows a tap to where it belongs, wherever the thread rests: the
// message tapped may be an old one.
func routeTap(i in) graph.Name {
	id, s := tapped(i), i.State
	waiting := s.paying() || payCancel(s)
	switch {
	case id == tapHuman:
		return Answer
	case strings.HasPrefix(id, "rate/"):
		return Rate
	case strings.HasPrefix(id, tapTake), strings.HasPrefix(id, tapPass):
		if waiting {
			return i.Node // a payment is under way: one thing after the other
		}
		return Offered
	case id == tapWait && !waiting:
		return Wait
	case id == tapMine:
		return MyBookings
	case waiting:
		return i.Node
	case id == tapStop && (s.booking() || s.changing()):
		return LetGo
	case strings.HasPrefix(id, tapMove) || strings.HasPrefix(id, tapMoveSlot) && s.At != MoveOffer:
		return MovePick
	case strings.HasPrefix(id, tapDrop):
		return DropPick
	case strings.HasPrefix(id, tapShow) && s.At != MyBookings:
		return MyBookings
	case s.At == Offering && strings.HasPrefix(id, tapSlot):
		return i.Node
	case id == tapBook || strings.HasPrefix(id, tapService) || strings.HasPrefix(id, tapSlot):
		return Collect
	}
	return i.Node
}

// payCancel reports whether the customer is being asked whether to give up a
// booking whose payment prompt is out.
func payCancel(s State) bool { return s.At == DropConfirm && s.Pay != nil }

// routeIntent follows what is said beside the answer that was asked for.
func routeIntent(i in) graph.Name {
	s, in := i.State, i.Input
	if to := routeWords(i); to != "" || in.Confidence < harmless {
		return to
	}
	switch in.Intent {
	case graph.Question:
		if !wantsTime(i) && !(s.At == AwaitPayment && asksPaid(in.Text)) {
			return Answer
		}
	case graph.MyBookings:
		return MyBookings
	case graph.Greeting, graph.Thanks:
		if s.midway() && !saidSlots(i) {
			return Answer
		}
	case graph.Feedback, graph.Complaint:
		if !saidSlots(i) {
			return Answer
		}
	case graph.Cancel, graph.Reschedule, graph.Book:
		if !s.paying() && !payCancel(s) {
			return routeChange(i)
		}
	case graph.Affirm, graph.Deny, graph.Human, graph.Unknown:
	}
	return ""
}

// routeWords follows what this app's own words say beyond the platform's intents.
func routeWords(i in) graph.Name {
	s, in := i.State, i.Input
	switch {
	case s.At == Rate && in.Event == nil && in.Text != "":
		return Rate
	case wantsToWait(in.Text) && !s.paying() && !payCancel(s):
		return Wait
	case s.booking() && givesUp(in.Text):
		return LetGo
	case !s.midway() && sameAgain(in.Text):
		return Collect
	case s.Hold != nil && s.booking() && wantsAlso(i):
		return Answer
	case (asksLength(in.Text) || asksWho(in.Text)) && slices.Contains([]graph.Intent{graph.Question, graph.Book, graph.Unknown}, in.Intent):
		return Answer
	case (in.Intent == graph.Unknown || in.Confidence < harmless) && in.Answer == "" && strings.Contains(in.Text, "?"):
		if _, known := faq(i, about(i)); known {
			return Answer
		}
	}
	return ""
}

// routeChange follows a change of mind about what is to be done.
func routeChange(i in) graph.Name {
	s, certain := i.State, i.Input.Confidence >= sure
	switch {
	case anotherVisit(i):
		return Collect
	case !certain:
	case i.Input.Intent == graph.Cancel && s.booking():
		return LetGo
	case i.Input.Intent == graph.Cancel && s.At != DropConfirm:
		return DropPick
	case i.Input.Intent == graph.Reschedule && !s.booking() && !moving(s):
		return MovePick
	case i.Input.Intent == graph.Book && s.changing() && !aboutTheMove(i):
		return Collect
	}
	return ""
}

func moving(s State) bool { return s.At == MoveWhen || s.At == MoveOffer || s.At == MoveConfirm }

// aboutTheMove reports whether what sounds like a booking says when the visit
// that is being moved should be.
func aboutTheMove(i in) bool {
	other := i.Input.Entities[kindService].ID
	return moving(i.State) && saidSlots(i) && (other == "" || i.State.Booking != nil && i.State.Booking.ServiceID == other)
}

// anotherVisit reports whether an answer to "shall I cancel this?" is about
// another visit than the one shown: the customer has gone on to something else.
func anotherVisit(i in) bool {
	s := i.State
	if s.At != DropConfirm || s.Pay != nil || s.Booking == nil {
		return false
	}
	b := about(i)
	service, w := i.Input.Entities[kindService], i.Input.When
	shown := s.Booking.Start.In(b.zone)
	return service.ID != "" && service.ID != s.Booking.ServiceID || w.Fault != "" || w.Date != "" && w.Date != shown.Format(time.DateOnly) ||
		w.Time != "" && w.Time != shown.Format("15:04")
}

// wantsTime reports whether a question is one about free times, which the
// booking answers: "do you have space on Friday?".
func wantsTime(i in) bool {
	switch i.Input.Topic {
	case "price", "hours", "location", "policy", "payment":
		return false
	}
	return !i.Input.When.Empty() || i.State.booking() && i.Input.Entities[kindStaff].ID != "" // "can Amina do it instead?"
}

// saidSlots reports whether the input says something a booking is made of.
func saidSlots(i in) bool {
	return !i.Input.When.Empty() || len(i.Input.Entities) > 0
}

// back returns to where the thread rested, silently or with its question.
func back(i in) out {
	s := i.State
	switch {
	case i.Input.Event != nil && i.Input.Event.Kind == "resume":
		if next, decided := s.resumed(); decided {
			return onward(next, next.At)
		}
		s.Repeat = true
	case s.At == "" && i.Input.Event != nil:
		return rest(i, s, Closed)
	}
	if s.At == "" {
		s.At = Greet
	}
	if s.Repeat && s.midway() {
		s.Repeat = true
		return onward(s, s.At)
	}
	return rest(i, s, s.At)
}

// YesChoice is the id of the choice that says yes to a summary or to another
// payment prompt.
const YesChoice = tapYes

// Expects is the intent a bare answer goes on with at a node.
func Expects(at graph.Name) graph.Intent {
	switch at {
	case MovePick, MoveWhen, MoveOffer, MoveConfirm:
		return graph.Reschedule
	case DropPick, DropConfirm:
		return graph.Cancel
	case MyBookings:
		return graph.MyBookings
	}
	return graph.Book
}
