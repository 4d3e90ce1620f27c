package flow

import (
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/graph"
)

// Ids of what notices offer to tap; see the package notices.
const (
	tapTake     = "take/"
	tapPass     = "pass/"
	tapRateUp   = "rate/up/"
	tapRateDown = "rate/down/"
	tapRateSay  = "rate/say/"
	tapWait     = "wait"
)

// waitDays is how many days somebody waits for who named none.
const waitDays = 7

// wantsToWait reports whether a text asks to be told when a time becomes free.
func wantsToWait(text string) bool {
	return says(text, "waiting list", "waitlist", "wait list", "let me know if", "tell me if it", "tell me if a", "notify me if", "if something opens", "if a slot opens", "if someone cancels",
		"orodha ya kusubiri", "niambie ikipatikana", "niambie kukipatikana", "unijulishe ikipatikana", "nijulishe ikipatikana", "nafasi ikipatikana", "mtu akighairi")
}

func wantsToLeave(text string) bool {
	return wantsToWait(text) && says(text, "remove me", "take me off", "leave the", "no longer", "not anymore", "nitoe", "niondoe", "sitaki tena")
}

// wait puts the customer in line for what they want, in the days they named, and
// goes back to where the thread was.
func wait(i in) out {
	s, b := i.State, about(i)
	s.Repeat = s.midway()
	if i.Conflict != nil {
		return onward(s, Back, say(i, "waitlist.full", nil))
	}
	if wantsToLeave(i.Input.Text) {
		return s.leaveLine(i)
	}
	s.take(i)
	if _, known := b.service(s.Want.Service); !known {
		s.Asked, s.Spent = askService, true
		return onward(s, Collect, say(i, "waitlist.what", nil))
	}
	args := calendar.JoinWaitlistArgs{
		ID: i.IDs.New(), ContactID: i.Facts.Contact.ID, Name: s.name(i), ServiceID: s.Want.Service, StaffID: s.Want.Staff,
		From: b.today(), To: b.day(waitDays), TimeFrom: s.Want.When.From, TimeTo: s.Want.When.To,
	}
	if args.Name == "" {
		args.Name = b.serviceTitle(s.Want.Service)
	}
	if w := s.Want.When; w.Date != "" {
		args.From, args.To = w.Date, w.Date
		if w.DateTo != "" {
			args.To = w.DateTo
		}
	}
	if t := s.Want.When.Time; t != "" {
		args.TimeFrom, args.TimeTo = t, minuteAfter(t)
	}
	s.Waits = &args
	return out{State: s, Write: &graph.Write{Call: graph.Call{Tool: calendar.JoinWaitlist, Args: args}, Success: Waiting, Conflict: Wait}}
}

// serviceTitle is a service's name in the conversation's language.
func (b business) serviceTitle(id string) string {
	sv, _ := b.service(id)
	return sv.Name.In(b.lang)
}

// waiting says what the customer is in line for, or that they no longer are.
func waiting(i in) out {
	s, b := i.State, about(i)
	if s.Waits == nil {
		return onward(s, Back, say(i, "waitlist.left", nil))
	}
	w := *s.Waits
	s.Waits = nil
	f := facts{"Service": b.serviceName(w.ServiceID), "From": i.Now, "To": i.Now}
	if from, ok := b.at(w.From, "12:00"); ok {
		f["From"] = from
	}
	if to, ok := b.at(w.To, "12:00"); ok {
		f["To"] = to
	}
	f["One"] = w.From == w.To
	return onward(s, Back, say(i, "waitlist.joined", f))
}

// leaveLine gives up the oldest place in the line.
func (s State) leaveLine(i in) out {
	read := graph.Call{Tool: calendar.QueryWaitlist, Args: calendar.QueryWaitlistArgs{ContactID: i.Facts.Contact.ID}}
	res, ok := i.Results.Get(read)
	if !ok {
		return out{State: i.State, Reads: []graph.Call{read}}
	}
	var found calendar.Waits
	if err := res.Decode(&found); err != nil || len(found.Waits) == 0 {
		return onward(s, Back, say(i, "waitlist.none", nil))
	}
	s.Waits = nil
	return out{State: s, Write: &graph.Write{
		Call: graph.Call{Tool: calendar.LeaveWaitlist, Args: calendar.LeaveWaitlistArgs{ID: found.Waits[0].ID}}, Success: Waiting, Conflict: Waiting,
	}}
}

// offered takes the time that was kept for somebody in the line: it becomes this
// thread's hold, or is let go.
func offered(i in) out {
	s, b := i.State, about(i)
	if s.Passed {
		s.Passed = false
		return rest(i, s.settle(), Closed, say(i, "waitlist.passed", nil))
	}
	id, takes := carried(tapped(i), tapTake)
	if !takes {
		id, _ = carried(tapped(i), tapPass)
	}
	read := graph.Call{Tool: calendar.QueryBookings, Args: calendar.QueryBookingsArgs{ContactID: i.Facts.Contact.ID, BookingID: id, Past: true}}
	res, ok := i.Results.Get(read)
	if !ok {
		return out{State: i.State, Reads: []graph.Call{read}}
	}
	var found calendar.Bookings
	if err := res.Decode(&found); err != nil || len(found.Bookings) == 0 || found.Bookings[0].Status != calendar.Held || !found.Bookings[0].HoldUntil.After(i.Now) {
		return rest(i, s.settle(), Greet, say(i, "waitlist.gone", nil, menu()...))
	}
	k := found.Bookings[0]
	s = s.settle()
	if !takes {
		s.Passed = true
		return out{State: s, Write: &graph.Write{
			Call: graph.Call{Tool: calendar.ReleaseHold, Args: calendar.ReleaseHoldArgs{BookingID: k.ID}}, Success: Offered, Conflict: Offered,
		}}
	}
	s.Hold = &Hold{
		BookingID: k.ID, Code: k.Code, ServiceID: k.ServiceID, Name: k.Name, Until: k.HoldUntil.Truncate(time.Second),
		Slot: calendar.Slot{Start: k.Start, End: k.End, StaffID: k.StaffID, StaffName: k.StaffName},
	}
	s.Want = Want{Service: k.ServiceID, Name: k.Name, When: s.exactly(b)}
	if k.Name == b.serviceTitle(k.ServiceID) {
		s.Want.Name = i.Facts.Contact.Name // nobody had said a name when the place was taken
	}
	s.Spent = true
	o := onward(s, Confirming)
	if s.Want.Name == "" {
		s.Picked = &s.Hold.Slot
		o = onward(s, Collect)
	}
	o.Timers = []graph.Timer{holdTimer(s.Hold)}
	return o
}

// rated keeps what a customer says of a visit: a thumb, or words of their own.
func rated(i in) out {
	s := i.State
	if s.Rated != "" {
		key := "feedback." + s.Rated
		if s.Rated == "words" {
			key = "feedback" // the same thanks as for words that nobody asked for
		}
		s.Rated = ""
		q := say(i, key, nil)
		if key == "feedback.down" {
			q.Choices = []graph.Choice{button(tapHuman, "button.human")}
		}
		return rest(i, s.settle(), Closed, q)
	}
	args := calendar.RecordFeedbackArgs{BookingID: s.Rates}
	id := tapped(i)
	if v, ok := carried(id, tapRateSay); ok {
		s = s.settle()
		s.Rates, s.Asked = v, askWords
		return rest(i, s, Rate, say(i, "feedback.words", nil))
	}
	rating := "words"
	if v, ok := carried(id, tapRateUp); ok {
		args.BookingID, args.Rating, rating = v, calendar.RatedUp, "up"
	} else if v, ok := carried(id, tapRateDown); ok {
		args.BookingID, args.Rating, rating = v, calendar.RatedDown, "down"
	} else {
		args.Comment = cut(i.Input.Text, maxWords)
	}
	if args.BookingID == "" || args.Rating == "" && args.Comment == "" {
		s = s.settle()
		s.At = Greet
		return onward(s, Back)
	}
	s.Rated = rating
	return out{State: s, Write: &graph.Write{Call: graph.Call{Tool: calendar.RecordFeedback, Args: args}, Success: Rate, Conflict: Rate}}
}

// askWords is what is asked for when a customer wants to say more of a visit;
// maxWords how much of it is kept, in characters.
const (
	askWords = "words"
	maxWords = 1000
)
