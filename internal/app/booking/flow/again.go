package flow

import (
	"slices"
	"strings"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/graph"
)

// sameAgain reports whether a text asks for what was booked the last time.
func sameAgain(text string) bool {
	return says(text, "same as last time", "same as before", "same as the last", "the usual", "my usual", "like last time", "as last time", "same again", "same thing again",
		"kama mara ya mwisho", "kama wakati ule", "kama kawaida", "kama ile ya mwisho", "ile ya mwisho tena", "ileile ya mwisho", "kama siku ile", "kama mara iliyopita")
}

// givesUp reports whether a text drops what was begun: as an answer of its own,
// so that "never mind the towels" does not.
func givesUp(text string) bool {
	text = strings.Trim(strings.ToLower(strings.Join(strings.Fields(text), " ")), ".!, ")
	switch text {
	case "never mind", "nevermind", "nvm", "forget it", "forget about it", "leave it", "drop it", "not anymore", "stop",
		"acha tu", "basi acha", "acha basi", "wacha tu", "basi wacha", "sitaki tena", "basi tu", "achana nayo", "wachana nayo":
		return true
	}
	return false
}

// wantsAlso reports whether a text adds another service to the one that is
// being booked.
func wantsAlso(i in) bool {
	id, s := i.Input.Entities[kindService].ID, i.State
	return id != "" && id != s.Want.Service && !slices.Contains(s.Then, id) && len(s.Then) < maxThen &&
		says(i.Input.Text, "also", "after that", "afterwards", "as well", " too", "in addition", "on top", "then a", "pia", "halafu", "kisha", "baada ya hapo", "zaidi ya hiyo", "na tena")
}

// maxThen bounds how many services wait for the one before.
const maxThen = 3

// queue keeps the first of several services that a text joins and puts the
// others behind it: "a massage and a manicure". Services that share a name, such
// as two lengths of a massage, are one that is not clear yet.
func (s *State) queue(i in) {
	if !joined(i.Input.Text) {
		return
	}
	b := about(i)
	first, then := []string{}, []string{}
	for _, id := range s.Want.Services {
		switch {
		case len(first) == 0 || b.alike(first[0], id):
			first = append(first, id)
		case len(then) < maxThen && !slices.ContainsFunc(then, func(t string) bool { return b.alike(t, id) }):
			then = append(then, id)
		}
	}
	if len(then) == 0 {
		return
	}
	s.Want.Services, s.Then = first, then
	if len(first) == 1 {
		s.Want.Service, s.Want.Services = first[0], nil
	}
}

func joined(text string) bool {
	return says(" "+strings.Join(strings.Fields(text), " ")+" ", " and ", " na ", " plus ", " & ", " + ", " then ", " halafu ", " kisha ", " pamoja ")
}

// alike reports whether two services go by one name.
func (b business) alike(one, other string) bool {
	x, _ := b.service(one)
	y, _ := b.service(other)
	return one == other || slices.ContainsFunc(x.Aliases, func(a string) bool { return slices.Contains(y.Aliases, a) })
}

// after is the state in which the next of several services is booked: for the
// same person, on the same day, when the one before is over.
func (s State) after(b business) (next State, more bool) {
	if len(s.Then) == 0 || s.Done == nil {
		return s, false
	}
	sv, _ := b.service(s.Done.ServiceID)
	end := b.civil(s.Done.Start.Add(sv.Duration))
	next = s.settle()
	next.At, next.Spent, next.Then = Collect, true, slices.Clone(s.Then[1:])
	next.Want = Want{Service: s.Then[0], Name: s.Done.Name, Other: s.Want.Other, When: When{Date: end.Date, From: end.Time}}
	return next, true
}

// lastTime fills the service and the person of the last visit that was booked
// into what is wanted and not said otherwise. ok is false until the bookings
// have been read.
func (s State) lastTime(i in) (again State, read graph.Call, ok bool) {
	read = graph.Call{Tool: calendar.QueryBookings, Args: calendar.QueryBookingsArgs{ContactID: i.Facts.Contact.ID, Past: true}}
	res, ok := i.Results.Get(read)
	if !ok {
		return s, read, false
	}
	var found calendar.Bookings
	if err := res.Decode(&found); err != nil {
		return s, read, true
	}
	b := about(i)
	for _, k := range slices.Backward(found.Bookings) {
		sv, offered := b.service(k.ServiceID)
		if k.Status != calendar.Confirmed && k.Status != calendar.Completed || !offered || sv.Hidden {
			continue
		}
		s.Want.Service, s.Want.Services = k.ServiceID, nil
		if s.Want.Staff == "" && b.staffName(k.StaffID) != "" && slices.Contains(sv.Staff, k.StaffID) {
			s.Want.Staff = k.StaffID
		}
		break
	}
	return s, read, true
}
