package flow

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/wording"
)

const (
	page      = 8 // starts on one list: two rows are kept for "more" and "another day"
	rangeDays = 7 // days of a range that are looked at one by one
	perDay    = 3 // starts shown of each of them
	lookAhead = 60
)

// shelf is what an offer is made for: a new booking or a move of one.
type shelf struct {
	at        graph.Name // the node that offers
	ask       graph.Name // the node that asks for another day
	picked    graph.Name // the node that goes on with a picked start
	bookingID string     // its own time counts as free
	prefix    string     // of the ids of starts
}

// offer shows free starts of the wanted service and takes the pick.
func offer(i in) out {
	s := i.State
	sh := shelf{at: Offering, ask: Collect, picked: Holding, prefix: tapSlot}
	if s.Hold != nil {
		sh.bookingID = s.Hold.BookingID
	}
	if i.Conflict != nil {
		return s.refused(i, sh)
	}
	return s.offer(i, sh)
}

// refused answers a start that was taken meanwhile, with the nearest others.
func (s State) refused(i in, sh shelf) out {
	var alt calendar.Alternatives
	if err := i.Conflict.Decode(&alt); err != nil {
		alt.Slots = nil
	}
	if i.Conflict.Code == calendar.HoldExpired {
		s.Hold = nil
	}
	if missed := s.Next; missed != nil && i.Conflict.Code == calendar.SlotTaken && s.Want.Staff == "" {
		for _, slot := range alt.Slots {
			if slot.Start.Equal(missed.Slot.Start) && slot.StaffID != missed.Slot.StaffID {
				s.Next, s.Picked, s.Spent = nil, &slot, true // somebody else is free then, and nobody was asked for
				return onward(s, sh.picked)
			}
		}
	}
	s.Next, s.Picked = nil, nil
	return s.instead(i, sh, "refused."+known(i.Conflict.Code), alt.Slots)
}

// known maps a conflict code to one there are words for.
func known(code string) string {
	switch code {
	case calendar.SlotTaken, calendar.OutsideHours, calendar.TooSoon, calendar.TooFar, calendar.Closed, calendar.NotEligible,
		calendar.OffGrid, calendar.OwnOverlap, calendar.HoldLimit, calendar.HoldExpired:
		return code
	}
	return calendar.SlotTaken
}

// instead offers the nearest starts under a sentence that says why.
func (s State) instead(i in, sh shelf, why string, slots []calendar.Slot) out {
	if len(slots) == 0 {
		s.Want.When = When{}
		return onward(s, sh.ask, say(i, why, s.offerFacts(i)))
	}
	slots = inOrder(slots)
	sorry := say(i, why, s.offerFacts(i))
	if !slices.ContainsFunc(slots, func(slot calendar.Slot) bool { return slot.StaffID == s.Want.Staff }) {
		s.Want.Staff = "" // who was asked for is not among them
	}
	s.Offer = &Offer{Slots: slots}
	return s.show(i, sh, "offer.instead", slots, false, sorry)
}

// inOrder puts starts, which come nearest first, in the order of time.
func inOrder(slots []calendar.Slot) []calendar.Slot {
	slots = slices.Clone(slots[:min(len(slots), page)])
	slices.SortFunc(slots, func(a, b calendar.Slot) int { return a.Start.Compare(b.Start) })
	return slots
}

func (s State) offerFacts(i in) facts {
	b := about(i)
	f := facts{"Service": b.serviceName(s.Want.Service), "Staff": b.staffName(s.Want.Staff), "Date": b.now, "Timed": s.Want.When.Time != "" || s.Want.When.From != ""}
	if t, ok := b.at(s.Want.When.Date, "12:00"); ok {
		f["Date"] = t
	}
	return f
}

func (s State) offer(i in, sh shelf) out {
	if !s.Spent && s.At == sh.at {
		s.Spent = true
		if o, done := s.pick(i, sh); done {
			return o
		}
	}
	if s.Offer != nil && s.Offer.Given {
		slots := s.Offer.Slots
		s.Offer.Given = false
		return s.show(i, sh, "offer.instead", slots, false)
	}
	return s.look(i, sh)
}

// pick reads an answer to an offer. done is false when the offer is to be made
// anew for what was said.
func (s *State) pick(i in, sh shelf) (o out, done bool) {
	b, id := about(i), tapped(i)
	if slot, ok := s.chosen(i, sh, b, id); ok {
		s.Picked = &slot
		return onward(*s, sh.picked), true
	}
	switch {
	case id == tapMore && s.Offer != nil:
		s.Offer = &Offer{Skip: s.Offer.Skip + len(s.Offer.Slots)}
		return o, false
	case id == tapDay || i.Input.Answer == graph.No:
		s.Want.When, s.Offer = When{}, nil
		return onward(*s, sh.ask), true
	case i.Input.When.Fault != "" && sh.at == Offering && i.Input.Entities[kindService].ID != "" && s.take(i):
		// Another service was named beside a time that cannot be.
		s.Want.When, s.Offer = When{}, nil
		return onward(*s, sh.ask, faultText(i)), true
	case i.Input.When.Fault != "":
		o = rest(i, *s, sh.at, faultText(i), s.shownAgain(i, sh, b))
		o.Reprompt = true
		return o, true
	}
	timed, name := s.takeTime(id), s.Want.Name
	if s.take(i) || timed {
		s.Offer = nil
		s.Want.When = s.Want.When.sensible(b, s.Want.Service)
		if s.Want.Service == "" || !s.Want.When.dated() || len(s.Want.When.Options) > 0 {
			return onward(*s, sh.ask), true
		}
		return o, false
	}
	if sh.at == Offering && s.takeChange(i.Input.Text) {
		s.Want.When = When{} // the day's times were all there to see
		return onward(*s, sh.ask), true
	}
	if s.Want.Name != name { // a name before it was asked for is kept, not misunderstood
		return rest(i, *s, sh.at, s.shownAgain(i, sh, b)), true
	}
	return lost(i, *s, sh.at, s.shownAgain(i, sh, b)), true
}

// shownAgain repeats the last offer as it was.
func (s State) shownAgain(i in, sh shelf, b business) graph.Say {
	var slots []calendar.Slot
	if s.Offer != nil {
		slots = s.Offer.Slots
	}
	return s.list(i, sh, "offer.again", slots, false, b)
}

// chosen finds the start that an answer means: tapped, or said as a time that
// is on offer.
func (s State) chosen(i in, sh shelf, b business, id string) (calendar.Slot, bool) {
	if v, ok := carried(id, sh.prefix); ok {
		if owner, slot, ok := slotOf(v, b); ok && (owner == s.Want.Service || owner == sh.bookingID) {
			return slot, true
		}
	}
	if s.Offer == nil {
		return calendar.Slot{}, false
	}
	if i.Input.Answer == graph.Yes && len(s.Offer.Slots) == 1 ||
		id == "" && len(s.Offer.Slots) > 0 && i.Input.When.Empty() && soonest(i.Input.Text) {
		return s.Offer.Slots[0], true
	}
	return s.saidOf(i, b)
}

// saidOf finds the one start on offer at the time that was said.
func (s State) saidOf(i in, b business) (calendar.Slot, bool) {
	said := i.Input.When
	times := said.Options
	if said.Time != "" {
		times = []string{said.Time}
	}
	staff := i.Input.Entities[kindStaff].ID
	var fit []calendar.Slot
	for _, slot := range s.Offer.Slots {
		start := slot.Start.In(b.zone)
		for _, t := range times {
			if start.Format("15:04") == t && (said.Date == "" || start.Format(time.DateOnly) == said.Date) &&
				(staff == "" || staff == slot.StaffID) {
				fit = append(fit, slot)
			}
		}
	}
	if len(fit) != 1 {
		return calendar.Slot{}, false
	}
	return fit[0], true
}

// look reads what is free and offers it. An exact time that is free needs no
// offer: it was already chosen.
func (s State) look(i in, sh shelf) out {
	b := about(i)
	calls := s.calls(b, sh)
	var missing []graph.Call
	var found []calendar.Slot
	var last calendar.Availability
	for _, c := range calls {
		res, ok := i.Results.Get(c)
		if !ok {
			missing = append(missing, c)
			continue
		}
		var a calendar.Availability
		if err := res.Decode(&a); err == nil {
			found, last = append(found, a.Slots...), a
		}
	}
	if len(missing) > 0 {
		return out{State: s, Reads: missing}
	}
	exact := s.Want.When.Time != ""
	if exact && len(found) > 0 && !s.Repeat {
		s.Picked = &found[0]
		return onward(s, sh.picked)
	}
	skip := 0
	if s.Offer != nil {
		skip = s.Offer.Skip
	}
	switch {
	case skip > 0 && len(found) <= skip:
		s.Want.When, s.Offer = When{}, nil
		return onward(s, sh.ask, say(i, "offer.no_more", nil))
	case len(found) == 0 && s.Repeat && len(last.Nearest) > 0: // why was said before
		s.Offer = &Offer{Slots: inOrder(last.Nearest)}
		return s.show(i, sh, "offer.instead", s.Offer.Slots, false)
	case len(found) == 0:
		return s.instead(i, sh, "refused."+known(last.Reason), last.Nearest)
	}
	found = found[skip:]
	more := len(found) > page || last.More && len(calls) == 1 && skip+page < 50
	found = found[:min(len(found), page)]
	s.Offer = &Offer{Slots: found, Skip: skip}
	key := "offer.day"
	if s.Want.When.Soonest || s.Want.When.DateTo != "" {
		key = "offer.days"
	}
	return s.show(i, sh, key, found, more)
}

// calls are the reads an offer needs: one, or one per day of a range so that
// every day is seen.
func (s State) calls(b business, sh shelf) []graph.Call {
	w, skip := s.Want.When, 0
	if s.Offer != nil {
		skip = s.Offer.Skip
	}
	args := calendar.CheckAvailabilityArgs{
		ServiceID: s.Want.Service, StaffID: s.Want.Staff, From: w.Date, To: w.Date, TimeFrom: w.From, TimeTo: w.To,
		Limit: min(skip+page+1, 50), BookingID: sh.bookingID,
	}
	if w.From != "" && w.To != "" && w.To <= w.From {
		args.TimeTo = "" // a window over midnight: what is left of it that day
	}
	if w.Time != "" {
		args.TimeFrom, args.TimeTo, args.Limit = w.Time, minuteAfter(w.Time), 1
	}
	if w.Soonest {
		args.From, args.To = b.today(), b.day(lookAhead)
		if h := b.Policy.Horizon; h > 0 {
			args.To = b.day(h)
		}
	}
	from, err := calendar.ParseDate(w.Date)
	to, err2 := calendar.ParseDate(w.DateTo)
	if w.Soonest || err != nil || err2 != nil || to.Compare(from) <= 0 {
		return []graph.Call{{Tool: calendar.CheckAvailability, Args: args}}
	}
	if today, err := calendar.ParseDate(b.today()); err == nil && from.Compare(today) < 0 && to.Compare(today) >= 0 {
		from = today
	}
	var calls []graph.Call
	for d := from; d.Compare(to) <= 0 && len(calls) < rangeDays; d = d.Add(1) {
		args.From, args.To, args.Limit = d.String(), d.String(), perDay
		calls = append(calls, graph.Call{Tool: calendar.CheckAvailability, Args: args})
	}
	return calls
}

func minuteAfter(clock string) string {
	c, err := calendar.ParseClock(clock)
	if err != nil {
		return "24:00"
	}
	return (c + 1).String()
}

// show offers starts below the sentences that lead to them.
func (s State) show(i in, sh shelf, key string, slots []calendar.Slot, more bool, before ...graph.Say) out {
	s.Asked = askTime
	return rest(i, s, sh.at, append(before, s.list(i, sh, key, slots, more, about(i)))...)
}

// list makes starts something to tap: buttons while they fit, else a list.
func (s State) list(i in, sh shelf, key string, slots []calendar.Slot, more bool, b business) graph.Say {
	owner := s.Want.Service
	if sh.prefix == tapMoveSlot {
		owner = sh.bookingID
	}
	oneDay := true
	for _, slot := range slots {
		oneDay = oneDay && slot.Start.In(b.zone).Format(time.DateOnly) == slots[0].Start.In(b.zone).Format(time.DateOnly)
	}
	var choices []graph.Choice
	for _, slot := range slots[:min(len(slots), page)] {
		start := slot.Start.In(b.zone)
		title := b.clockTitle(start)
		if !oneDay {
			title = wording.ShortMoment(b.lang, start)
		}
		detail := slot.StaffName + " · " + wording.Date(b.lang, start) + " · " + start.Format("15:04")
		choices = append(choices, row(fmt.Sprintf("%s%d/%s/%s", sh.prefix, slot.Start.Unix(), owner, slot.StaffID), title, detail))
	}
	f := s.offerFacts(i)
	if len(slots) > 0 {
		f["Date"] = slots[0].Start
	}
	if s.Want.When.Date == "" && oneDay && key == "offer.days" {
		key = "offer.day"
	}
	q := say(i, key, f)
	if oneDay && !more && len(choices) < maxButtons {
		for n := range choices {
			choices[n].Description = ""
		}
		q.Choices = append(choices, button(tapDay, "button.another_day"))
		return q
	}
	if more {
		choices = append(choices, button(tapMore, "button.more"))
	}
	q.Choices, q.ListLabel = append(choices, button(tapDay, "button.another_day")), "label.times"
	return q
}

// slotOf reads what the id of a start carries: when, what or which booking it
// is for, and with whom.
func slotOf(v string, b business) (owner string, slot calendar.Slot, ok bool) {
	unix, restOf, ok1 := strings.Cut(v, "/")
	owner, staff, ok2 := strings.Cut(restOf, "/")
	at, err := strconv.ParseInt(unix, 10, 64)
	name := b.staffName(staff)
	if !ok1 || !ok2 || err != nil || name == "" {
		return "", calendar.Slot{}, false
	}
	slot = calendar.Slot{Start: time.Unix(at, 0).UTC(), StaffID: staff, StaffName: name}
	if sv, known := b.service(owner); known {
		slot.End = slot.Start.Add(sv.Duration)
	}
	return owner, slot, true
}
