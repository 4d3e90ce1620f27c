package calendar

import "slices"

// nearness orders reasons by how close a start came to being free. Of all the
// starts a query covers, the answer names the closest miss: "taken" when one
// was only taken, "closed" when none could ever be.
func nearness() []string {
	return []string{OffGrid, Closed, OutsideHours, TooFar, TooSoon, SlotTaken, OwnOverlap}
}

// maxReasonDays bounds the search for a reason in a very long range.
const maxReasonDays = 62

// reason says why a query has no free start.
func reason(q Query, w World) string {
	offers := func(s Schedule) bool { return q.Staff == "" || s.ID == q.Staff }
	if !slices.ContainsFunc(w.Staff, offers) {
		return NotEligible
	}
	to := q.To
	if end := q.From.Add(maxReasonDays); to.Compare(end) > 0 {
		to = end
	}
	asked := q.Staff
	q.Staff = "" // whether the place is closed depends on everyone
	p := prepare(q, w, q.From, to)
	best, order := 0, nearness()
	for d := q.From; d.Compare(to) <= 0; d = d.Add(1) {
		day := Span{From: Moment{Date: d}, To: Moment{Date: d.Add(1)}}.in(w.Zone)
		worked := slices.ContainsFunc(p.members, func(m *member) bool { return overlapsAny(m.open, day.from, day.to) })
		far := d.Compare(w.lastDate(q.Now)) > 0
		for _, s := range p.starts(d, q.TimeFrom, q.TimeTo) {
			for _, m := range p.members {
				if asked == "" || asked == m.staff.ID {
					best = max(best, slices.Index(order, p.why(m, s, worked, far)))
				}
			}
		}
	}
	return order[best]
}

// why says what keeps one start from one member of staff. worked is whether
// anyone works on its date, far whether the date is past the horizon.
func (p *prepared) why(m *member, s int64, worked, far bool) string {
	end := s + p.length
	switch {
	case !inside(m.open, s, end) && (!worked || inside(m.hours, s, end) && overlapsAny(p.closed, s, end)):
		return Closed
	case !inside(m.open, s, end):
		return OutsideHours
	case far:
		return TooFar
	case s < p.earliest:
		return TooSoon
	case overlapsAny(p.own, s, end):
		return OwnOverlap
	default:
		return SlotTaken
	}
}
