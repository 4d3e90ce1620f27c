package calendar

import (
	"cmp"
	"slices"
	"time"
)

func (s Span) in(zone *time.Location) span {
	from, _ := s.From.In(zone)
	to, _ := s.To.In(zone)
	return span{from.Unix(), to.Unix()}
}

// hours lays out what someone works on the dates, on the day before, whose
// night shift may reach into the first, and on the day after, into which a late
// visit of the last may reach.
func hours(s Schedule, zone *time.Location, from, to Date) []span {
	return layOut(s.shifts, zone, from, to)
}

// weekly lays out what recurs every week on the same dates as hours.
func weekly(week [7][]Shift, zone *time.Location, from, to Date) []span {
	for _, shifts := range week {
		if len(shifts) > 0 {
			return layOut(func(d Date) []Shift { return week[d.Weekday()] }, zone, from, to)
		}
	}
	return nil
}

func layOut(shifts func(Date) []Shift, zone *time.Location, from, to Date) []span {
	var out []span
	for d := from.Add(-1); d.Compare(to.Add(1)) <= 0; d = d.Add(1) {
		for _, sh := range shifts(d) {
			end := Moment{Date: d, Clock: sh.To}
			if sh.To <= sh.From {
				end.Date = d.Add(1)
			}
			out = append(out, Span{From: Moment{Date: d, Clock: sh.From}, To: end}.in(zone))
		}
	}
	return merge(out)
}

// merge sorts spans and joins those that touch. Empty ones are dropped.
func merge(in []span) []span {
	slices.SortFunc(in, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	out := in[:0]
	for _, s := range in {
		switch last := len(out) - 1; {
		case s.to <= s.from:
		case last >= 0 && s.from <= out[last].to:
			out[last].to = max(out[last].to, s.to)
		default:
			out = append(out, s)
		}
	}
	return out
}

// subtract cuts holes out of spans. Both are merged.
func subtract(spans, holes []span) []span {
	var out []span
	for _, s := range spans {
		for _, h := range holes {
			if h.to <= s.from || h.from >= s.to {
				continue
			}
			if h.from > s.from {
				out = append(out, span{s.from, h.from})
			}
			s.from = h.to
			if s.from >= s.to {
				break
			}
		}
		if s.from < s.to {
			out = append(out, s)
		}
	}
	return out
}

func overlapsAny(spans []span, from, to int64) bool {
	for _, s := range spans {
		if s.from < to && from < s.to {
			return true
		}
	}
	return false
}

func inside(spans []span, from, to int64) bool {
	for _, s := range spans {
		if s.from <= from && to <= s.to {
			return true
		}
	}
	return false
}

func ceilSecond(t time.Time) int64 {
	if t.Nanosecond() > 0 {
		return t.Unix() + 1
	}
	return t.Unix()
}
