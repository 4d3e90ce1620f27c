package flow

import (
	"slices"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/wording"
)

// myBookings lists what the contact has booked and what can be done with it.
func myBookings(i in) out {
	s, b := i.State, about(i)
	shown, one := "", false
	if !s.Spent && s.At == MyBookings {
		shown, one = carried(tapped(i), tapShow)
		if !one && tapped(i) != tapMine && i.Input.Intent != graph.MyBookings {
			return out{State: s, Go: Greet}
		}
	} else if v, ok := carried(tapped(i), tapShow); ok {
		shown, one = v, true
	}
	all, read, ok := mine(i, "")
	if !ok {
		return out{State: i.State, Reads: []graph.Call{read}}
	}
	bookings := confirmedOnly(all, i)
	if n := slices.IndexFunc(bookings, func(k calendar.Booking) bool { return one && k.ID == shown }); n >= 0 {
		bookings = bookings[n : n+1]
	}
	if s.midway() {
		s.Repeat = true
		return onward(s, Back, bookingList(i, b, bookings))
	}
	switch len(bookings) {
	case 0:
		return rest(i, s, Greet, say(i, "bookings.none", nil, menu()...))
	case 1:
		q := bookingList(i, b, bookings)
		id := bookings[0].ID
		q.Choices = []graph.Choice{button(tapMove+id, "button.move_booking"), button(tapDrop+id, "button.cancel_it"), button(tapBook, "button.book_another")}
		return rest(i, s, MyBookings, q)
	}
	q := bookingList(i, b, bookings)
	q.Choices, q.ListLabel = rows(b, tapShow, bookings), "label.bookings"
	s.Asked = askBooking
	return rest(i, s, MyBookings, q)
}

func bookingList(i in, b business, bookings []calendar.Booking) graph.Say {
	if len(bookings) == 0 {
		return say(i, "bookings.none", nil)
	}
	var items []map[string]any
	for _, k := range bookings[:min(len(bookings), maxRows)] {
		items = append(items, b.bookingFacts(k))
	}
	return say(i, "bookings.list", facts{"Bookings": items})
}

// answer speaks to what is no step of a booking: a question, a courtesy, a
// complaint. Then the thread goes back to where it was.
func answer(i in) out {
	s := i.State
	midway := s.midway()
	s.Repeat = midway
	more := func(says ...graph.Say) out {
		if !midway {
			says[len(says)-1].Choices = []graph.Choice{button(tapBook, "button.book"), button(tapMine, "button.mine")}
		}
		return onward(s, Back, says...)
	}
	switch {
	case midway && wantsAlso(i):
		also := i.Input.Entities[kindService].ID
		s.Then = append(s.Then, also)
		return onward(s, Back, say(i, "then.noted", facts{"Service": about(i).serviceName(also)}))
	case tapped(i) == tapHuman:
		o := onward(s, Back)
		o.State.Repeat = false
		o.Handover = &graph.Handover{Signal: "EXPLICIT_REQUEST", Detail: "the customer tapped the button that asks for a person"}
		return o
	case i.Input.Intent == graph.Thanks:
		return onward(s, Back, say(i, "thanks.midway", nil))
	case i.Input.Intent == graph.Greeting:
		return onward(s, Back, say(i, "welcome.midway", nil))
	case i.Input.Intent == graph.Feedback:
		return more(say(i, "feedback", nil))
	case i.Input.Intent == graph.Complaint:
		q := say(i, "complaint", nil, button(tapHuman, "button.human"))
		s.Repeat = false
		return onward(s, Back, q)
	}
	if !midway {
		s.take(i) // "how much is a massage?" says which service is meant
		if len(s.Want.Services) > 0 {
			s.Asked = askService // "60 minutes" then says which
		}
	}
	found := answerTo(i)
	if found.Text == "answer.unknown" {
		if !midway {
			found.Choices = []graph.Choice{button(tapHuman, "button.human"), button(tapBook, "button.book")}
			return onward(s, Back, found)
		}
		return onward(s, Back, found)
	}
	return more(found)
}

// answerTo answers a question from what the business has said about itself.
func answerTo(i in) graph.Say {
	b := about(i)
	if i.Input.Topic == "" || i.Input.Topic == "other" {
		if s, ok := faq(i, b); ok {
			return s
		}
	}
	if b.Address != "" && len(b.Parking) > 0 && says(i.Input.Text, "parking", "where to park", "can i park", "maegesho", "kuegesha") {
		return b.whereabouts(i)
	}
	if asksLength(i.Input.Text) {
		return b.lengthAnswer(i)
	}
	if asksWho(i.Input.Text) {
		return b.whoAnswer(i)
	}
	switch i.Input.Topic {
	case "price":
		if sv, ok := b.service(serviceMeant(i)); ok {
			return say(i, "answer.price", facts{"Service": sv.Name, "Price": sv.Price, "Deposit": sv.Deposit, "Duration": sv.Duration})
		}
		return say(i, "answer.prices", facts{"Services": priceList(b, i.Input.Entities[kindService].Candidates)})
	case "services":
		return say(i, "answer.services", facts{"Services": priceList(b, nil)})
	case "hours":
		return b.hoursAnswer(i)
	case "location":
		if b.Address != "" {
			return b.whereabouts(i)
		}
	case "policy":
		return say(i, "answer.policy", facts{"Cutoff": b.Policy.Cancel})
	case "payment":
		return say(i, "answer.payment", facts{"Payment": b.Payment})
	}
	if s, ok := faq(i, b); ok {
		return s
	}
	return say(i, "answer.unknown", nil)
}

func (b business) whereabouts(i in) graph.Say {
	return say(i, "answer.location", facts{"Address": b.Address, "MapLink": b.MapLink, "Parking": b.Parking})
}

// says reports whether a text holds one of the words, whatever their case.
func says(text string, words ...string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

func serviceMeant(i in) string {
	if e := i.Input.Entities[kindService]; e.ID != "" || len(e.Candidates) > 0 {
		return e.ID
	}
	return i.State.Want.Service
}

// faq finds the answer whose words the question contains.
func faq(i in, b business) (graph.Say, bool) {
	text := strings.ToLower(i.Input.Text)
	for _, q := range b.FAQs {
		for _, key := range q.Keys {
			if key != "" && strings.Contains(text, strings.ToLower(key)) {
				s := say(i, "answer.faq", facts{"Answer": q.Answer})
				s.Phrase = true
				return s, true
			}
		}
	}
	return graph.Say{}, false
}

// priceList lists the prices of some services, of all when none is named.
func priceList(b business, named []string) []map[string]any {
	var out []map[string]any
	for _, sv := range b.visible() {
		if len(named) > 0 && !slices.Contains(named, sv.ID) {
			continue
		}
		out = append(out, facts{"Name": sv.Name, "Duration": sv.Duration, "Price": sv.Price})
	}
	return out
}

// week writes the opening hours day by day, equal days in a row together.
func (b business) week() string {
	type stretch struct {
		from, to time.Weekday
		hours    string
	}
	var lines []stretch
	// Monday 5 January 2026: any Monday shows the weekly hours.
	monday := time.Date(2026, time.January, 5, 0, 0, 0, 0, b.zone)
	for d := range 7 {
		day := monday.AddDate(0, 0, d)
		opens, closes, ok := b.weekly(day.Weekday())
		hours := ""
		if ok {
			hours = wording.Clock(b.lang, day.Add(time.Duration(opens)*time.Minute)) + " - " +
				wording.Clock(b.lang, day.Add(time.Duration(closes)*time.Minute))
		}
		if n := len(lines); n > 0 && lines[n-1].hours == hours {
			lines[n-1].to = day.Weekday()
			continue
		}
		lines = append(lines, stretch{from: day.Weekday(), to: day.Weekday(), hours: hours})
	}
	closed := map[string]string{wording.English: "closed", wording.Swahili: "tumefunga"}[b.lang]
	var out []string
	for _, l := range lines {
		days := wording.Weekday(b.lang, l.from)
		if l.to != l.from {
			days += " - " + wording.Weekday(b.lang, l.to)
		}
		if l.hours == "" {
			l.hours = closed
		}
		out = append(out, days+": "+l.hours)
	}
	return strings.Join(out, "\n")
}

func (b business) weekly(d time.Weekday) (from, to calendar.Clock, ok bool) {
	bare := business{zone: b.zone}
	for _, st := range b.Staff {
		st.Exceptions = nil
		bare.Staff = append(bare.Staff, st)
	}
	for date := (calendar.Date{Year: 2026, Month: time.January, Day: 5}); ; date = date.Add(1) {
		if date.Weekday() == d {
			return bare.hours(date, "")
		}
	}
}
