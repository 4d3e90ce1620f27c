package flow

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/wording"
)

// greet is where a thread begins and where it comes back to with nothing open.
func greet(i in) out {
	s := i.State
	s.Asked = ""
	switch {
	case tapped(i) == tapAsk:
		return rest(i, s, Greet, say(i, "ask.what", nil))
	case i.Input.Intent == graph.Book && i.Input.Confidence >= harmless || saidSlots(i):
		return out{State: s, Go: Collect}
	case i.Input.Intent == graph.Thanks, i.Input.Answer == graph.Yes && says(i.Input.Text, "thank", "thx", "asante", "shukran"):
		return rest(i, s, Closed, say(i, "thanks", nil))
	case i.Input.Intent == graph.Deny || i.Input.Answer == graph.No:
		return rest(i, s, Closed, say(i, "goodbye", nil))
	case i.Input.Intent != graph.Question && says(i.Input.Text, "running late", "bit late", "be late", "nimechelewa", "nitachelewa", "nachelewa", "ninachelewa"):
		return rest(i, s, Greet, say(i, "late", nil), toAdmins(i, "admin.late", facts{"Name": i.Facts.Contact.Name}))
	case i.Input.Sentiment == "negative":
		return rest(i, s, Greet, say(i, "complaint", nil, button(tapHuman, "button.human")))
	case i.Input.Intent == graph.Greeting, i.Input.Answer == graph.Yes && s.Misses == 0: // an "ok" after all is said
		return rest(i, s, Greet, say(i, "welcome", nil,
			button(tapBook, "button.book"), button(tapMine, "button.mine"), button(tapAsk, "button.ask")))
	}
	key := "help.once"
	if s.Misses > 0 {
		key = "help.again"
	}
	q := say(i, key, nil, menu()...)
	q.Phrase = s.Misses == 0
	o := rest(i, s, Greet, q)
	o.State.Misses, o.Reprompt = s.Misses+1, true
	return o
}

// collect fills the slots and asks for the next one that is missing.
func collect(i in) out {
	s := i.State
	if s.Spent {
		return next(i, s, false)
	}
	s.Spent = true
	if s.changing() {
		s = s.settle()
	}
	if sameAgain(i.Input.Text) {
		again, read, ok := s.lastTime(i)
		if !ok {
			return out{State: i.State, Reads: []graph.Call{read}}
		}
		s = again
	}
	heard := s.takeTap(i, tapped(i))
	asked := s.At == Collect
	changed := s.take(i)
	if changed {
		if s.Picked != nil && i.Input.When.Empty() {
			s.Want.When = about(i).civil(s.Picked.Start) // with somebody else, at the same time
		}
		s.Picked = nil
	}
	switch {
	case i.Input.When.Fault != "":
		return fault(i, s)
	case asked && s.Asked == askPhone && i.Input.Phone != "":
		s.Payer, heard = i.Input.Phone, true
	case asked && s.Asked == askName && !changed && i.Input.Answer == graph.No:
		return rest(i, s, Collect, say(i, "ask.change", nil,
			button(tapTime, "button.time"), button(tapKind, "button.service"), button(tapStop, "button.stop")))
	case asked && s.Asked == askName && s.Want.Name == "" && !changed && !heard:
		s.Want.Name = plainName(i)
		heard = s.Want.Name != ""
		if heard && i.Input.Phone != "" {
			s.Payer = i.Input.Phone
		}
	}
	if asked && !heard && !changed && s.Want.Name == i.State.Want.Name {
		return next(i, s, true)
	}
	return next(i, s, false)
}

// takeTap fills the slots from what was tapped.
func (s *State) takeTap(i in, id string) bool {
	b := about(i)
	if v, ok := carried(id, tapService); ok {
		s.Want.Service, s.Want.Services, s.Picked = v, nil, nil
		return true
	}
	if v, ok := carried(id, tapSlot); ok {
		if service, slot, ok := slotOf(v, b); ok {
			s.Want.Service, s.Want.Services, s.Picked = service, nil, &slot
			return true
		}
	}
	if id == tapKind {
		s.Want.Service, s.Want.Services, s.Picked = "", nil, nil
		return true
	}
	if id == tapTime {
		s.Picked = nil
	}
	return s.takeTime(id) || id == tapBook
}

// takeTime fills the wanted time from what was tapped.
func (s *State) takeTime(id string) bool {
	w := &s.Want.When
	if v, ok := carried(id, tapDate); ok {
		w.Date, w.DateTo, w.Soonest = v, "", false
		return true
	}
	if v, ok := carried(id, tapClock); ok {
		w.Time, w.From, w.To, w.Options = v, "", "", nil
		return true
	}
	switch id {
	case tapSoonest:
		w.Soonest, w.Date, w.DateTo = true, "", ""
		return true
	case tapDay, tapTime:
		*w = When{}
		return true
	}
	return false
}

// takeChange clears what a text says should be different.
func (s *State) takeChange(text string) bool {
	w := &s.Want.When
	switch {
	case says(text, "change service", "change the service", "another service", "different service", "huduma nyingine", "badilisha huduma"):
		s.Want.Service, s.Want.Services = "", nil
	case says(text, "change the day", "change day", "change the date", "change date", "another day", "other day", "different day",
		"badilisha siku", "siku nyingine", "badilisha tarehe", "tarehe nyingine"):
		w.Date, w.DateTo, w.Soonest = "", "", false
	case says(text, "change the time", "change time", "another time", "other time", "different time", "badilisha saa", "saa nyingine", "badilisha muda"):
		w.Time, w.From, w.To, w.Options = "", "", "", nil
	default:
		return false
	}
	s.Picked, s.Offer = nil, nil
	return true
}

// noName are words of which no name is made: "it is my mother's" is none.
var noName = []string{ //nolint:gochecknoglobals // a constant table.
	"my", "his", "her", "their", "it", "its", "it's", "is", "the", "for", "of", "i", "me", "you", "we", "want", "please", "what", "why", "who", "how",
	"ni", "ya", "wa", "kwa", "yangu", "wangu", "yake", "mimi", "nataka", "naomba", "sijui", "gani", "nini", "nani", "bado", "kwani",
}

// plainName takes an answer to "what is your name" as it stands when it looks
// like one: a few words of letters.
func plainName(i in) string {
	text := strings.Join(strings.Fields(i.Input.Text), " ")
	if i.Input.Phone != "" { // "Amina Hassan, 0722 333444"
		text = strings.Trim(text, " +-,;:.0123456789()")
	}
	letters := strings.IndexFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !strings.ContainsRune(" .'’-", r)
	}) < 0
	if text == "" || utf8.RuneCountInString(text) > 40 || len(strings.Fields(text)) > 4 || !letters || i.Input.Answer != "" {
		return ""
	}
	if in := i.Input.Intent; in != graph.Unknown && in != graph.Book {
		return ""
	}
	for word := range strings.FieldsSeq(strings.ToLower(text)) {
		if slices.Contains(noName, word) {
			return ""
		}
	}
	return text
}

// fault answers a time that cannot be: with the nearest free times when enough
// is known, else with the question again.
func fault(i in, s State) out {
	sorry := faultText(i)
	if sorry.Text == "fault.past" && s.Want.Service != "" && !s.Want.When.dated() {
		s.Want.When = When{Soonest: true}
	}
	o := next(i, s, false)
	o.Say = append([]graph.Say{sorry}, o.Say...)
	o.Reprompt = o.Rest != ""
	return o
}

func faultText(i in) graph.Say {
	switch f := i.Input.When.Fault; f {
	case "no_such_date", "past":
		return say(i, "fault."+f, nil)
	}
	return say(i, "fault.no_such_time", nil)
}

// next asks for what is missing, or goes on. missed tells that the answer to
// the last question was not understood.
func next(i in, s State, missed bool) out {
	b := about(i)
	question := func(slot string, q graph.Say) out {
		s.Asked = slot
		if missed {
			return lost(i, s, Collect, q)
		}
		return rest(i, s, Collect, q)
	}
	if _, known := b.service(s.Want.Service); !known {
		s.Want.Service = ""
	}
	if s.Want.Service == "" {
		return question(askService, whichService(i, s, b))
	}
	if s.Picked != nil {
		if s.name(i) == "" {
			s.Around = b.civil(s.Picked.Start)
			return question(askName, say(i, "ask.name", facts{"Service": b.serviceName(s.Want.Service), "Start": s.Picked.Start}))
		}
		return onward(s, Holding)
	}
	if s.fits(b) {
		if s.deposit(b).Minor > 0 && s.payer(i) == "" {
			q := say(i, about(i).askPhone(), nil)
			q.AskPhone = true
			return question(askPhone, q)
		}
		return onward(s, Confirming)
	}
	s.Want.When = s.Want.When.sensible(b, s.Want.Service)
	switch w := s.Want.When; {
	case !w.dated():
		return question(askDate, whichDay(i, "ask.day", facts{"Service": b.serviceName(s.Want.Service)}))
	case len(w.Options) > 0:
		return question(askTime, whichTime(i, w))
	}
	return onward(s, Offering)
}

// fits reports whether the hold is what is wanted.
func (s State) fits(b business) bool {
	if s.Hold == nil {
		return false
	}
	start, w := s.Hold.Slot.Start.In(b.zone), s.Want.When
	return s.Hold.ServiceID == s.Want.Service && (s.Want.Staff == "" || s.Want.Staff == s.Hold.Slot.StaffID) &&
		w.equal(When{Date: start.Format(time.DateOnly), Time: start.Format("15:04")})
}

func whichService(i in, s State, b business) graph.Say {
	key, services := "ask.service", b.visible()
	if len(s.Want.Services) > 0 {
		key, services = "ask.which_service", nil
		for _, id := range s.Want.Services {
			if sv, ok := b.service(id); ok {
				services = append(services, sv)
			}
		}
	}
	if len(services) == 0 {
		services = b.visible()
	}
	short := len(services) <= maxButtons
	for _, sv := range services {
		short = short && utf8.RuneCountInString(sv.Name.In(b.lang)) <= maxButtonTitle
	}
	var choices []graph.Choice
	for _, sv := range services[:min(len(services), maxRows)] {
		detail := wording.Duration(b.lang, sv.Duration) + " · " + sv.Price.String()
		if name := sv.Name.In(b.lang); utf8.RuneCountInString(name) > maxRowTitle {
			detail = name + " · " + detail
		}
		choices = append(choices, row(tapService+sv.ID, sv.Name.In(b.lang), detail))
	}
	q := say(i, key, nil, choices...)
	if !short {
		q.ListLabel = "label.services"
	} else {
		for n := range q.Choices {
			q.Choices[n].Description = ""
		}
	}
	return q
}

// whichDay asks for a day. Today is there to tap while someone still works.
func whichDay(i in, key string, f facts) graph.Say {
	b := about(i)
	var choices []graph.Choice
	for offset, key := range []string{"button.today", "button.tomorrow"} {
		d, err := calendar.ParseDate(b.day(offset))
		if err != nil {
			continue
		}
		_, closes, open := b.hours(d, i.State.Want.Service)
		clock := calendar.Clock(b.now.Hour()*60 + b.now.Minute())
		if open && (offset > 0 || clock < closes) {
			choices = append(choices, button(tapDate+d.String(), key))
		}
	}
	return say(i, key, f, append(choices, button(tapSoonest, "button.soonest"))...)
}

func whichTime(i in, w When) graph.Say {
	b := about(i)
	var choices []graph.Choice
	for _, o := range w.Options[:min(len(w.Options), maxButtons)] {
		title := o
		if t, ok := b.at(b.today(), o); ok {
			title = b.clockTitle(t)
		}
		choices = append(choices, row(tapClock+o, title, ""))
	}
	return say(i, "ask.time", nil, choices...)
}

// sensible drops the readings of an ambiguous time at which nobody works: "at
// 3" is three in the afternoon where nobody works at night.
func (w When) sensible(b business, service string) When {
	if len(w.Options) == 0 || w.Date == "" && !w.Soonest {
		return w
	}
	var opens, closes calendar.Clock
	ok := false
	if d, err := calendar.ParseDate(w.Date); err == nil {
		opens, closes, ok = b.hours(d, service)
	}
	if !ok { // no day, or nobody works: the hours people are awake
		opens, closes = 6*60, 22*60
	}
	var open []string
	for _, o := range w.Options {
		if c, err := calendar.ParseClock(o); err == nil && c >= opens && c < closes {
			open = append(open, o)
		}
	}
	switch len(open) {
	case 0:
		w.Time, w.Options = w.Options[len(w.Options)-1], nil
	case 1:
		w.Time, w.Options = open[0], nil
	default:
		w.Options = open
	}
	return w
}
