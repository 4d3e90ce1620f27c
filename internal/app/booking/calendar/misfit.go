package calendar

import "time"

// Place is a booking as far as where it stands in the calendar goes.
type Place struct {
	StaffID    string
	Start, End time.Time
}

// Misfit says why a visit that is booked could not take place as the world is
// now: NotEligible when its member of staff is gone or no longer offers the
// service, Closed or OutsideHours when they do not work then. "" is none. What
// else is booked, notice and horizon do not matter.
func Misfit(w World, v Place) string {
	d := DateIn(v.Start, w.Zone)
	p := prepare(Query{Now: v.Start, Staff: v.StaffID}, w, d, d)
	if len(p.members) == 0 {
		return NotEligible
	}
	from, to := v.Start.Unix(), ceilSecond(v.End)
	switch {
	case inside(p.members[0].open, from, to):
		return ""
	case overlapsAny(p.closed, from, to):
		return Closed
	}
	return OutsideHours
}
