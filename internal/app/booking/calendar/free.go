package calendar

import (
	"cmp"
	"slices"
	"time"
)

// Free lists the free starts a query asks for, in order of time, with one
// member of staff each: of those free, the one with the fewest bookings that
// day, then the first by name. Without any, Reason is why.
//
// Starts lie on a grid of the service's interval counted from midnight on the
// wall clock; a wall-clock time that is skipped is no start, and one that is
// shown twice is a start the first time. The visit lies inside one stretch of
// work; buffers keep a distance from other bookings, and may reach beyond
// closing time.
func Free(q Query, w World) Availability {
	var out Availability
	from, to := clip(q, w)
	p := prepare(q, w, from, to)
	for d := from; d.Compare(to) <= 0; d = d.Add(1) {
		for _, s := range p.starts(d, q.TimeFrom, q.TimeTo) {
			if s < p.earliest || overlapsAny(p.own, s, s+p.length) {
				continue
			}
			m := p.pick(d, s)
			if m == nil {
				continue
			}
			if q.Limit > 0 && len(out.Slots) == q.Limit {
				out.More = true
				return out
			}
			out.Slots = append(out.Slots, p.slot(m, s))
		}
	}
	if len(out.Slots) == 0 {
		out.Reason = reason(q, w)
	}
	return out
}

// Check says why a start is not free with a member of staff; "" is free.
func Check(start time.Time, staff string, now time.Time, w World) string {
	d := DateIn(start, w.Zone)
	clock := Clock(start.In(w.Zone).Hour()*60 + start.In(w.Zone).Minute())
	at, shown := Moment{Date: d, Clock: clock}.In(w.Zone)
	if !shown || !at.Equal(start) || !slices.Contains(w.Service.starts(d.Weekday()), clock) {
		return OffGrid
	}
	q := Query{Now: now, From: d, To: d, TimeFrom: clock, TimeTo: clock + 1, Staff: staff}
	return Free(q, w).Reason
}

// Nearest lists up to n free starts of a query, those closest to want first.
func Nearest(q Query, w World, want time.Time, n int) []Slot {
	q.Limit = 0
	slots := Free(q, w).Slots
	slices.SortStableFunc(slots, func(a, b Slot) int {
		return cmp.Compare(a.Start.Sub(want).Abs(), b.Start.Sub(want).Abs())
	})
	return slots[:min(n, len(slots))]
}

// clip cuts the dates a query asks about to those that may hold a free start.
func clip(q Query, w World) (from, to Date) {
	from, to = q.From, q.To
	if today := DateIn(q.Now, w.Zone); from.Compare(today) < 0 {
		from = today
	}
	if last := w.lastDate(q.Now); to.Compare(last) > 0 {
		to = last
	}
	return from, to
}

// lastDate is the last date that may be booked.
func (w World) lastDate(now time.Time) Date { return DateIn(now, w.Zone).Add(w.Policy.Horizon) }

// span is a stretch of time in Unix seconds: comparing integers is what keeps
// a month of twenty people fast.
type span struct{ from, to int64 }

// member is one person's time, sorted.
type member struct {
	staff Staff
	hours []span // what they would work if nothing were closed
	open  []span
	busy  []span
	load  map[Date]int
	seats map[int64]int // of group sessions that have begun to fill, by start
	atO   int           // cursors into open and busy: starts are asked for in order of time
	atB   int
}

// prepared is a world laid out for asking about starts in order of time.
type prepared struct {
	zone                  *time.Location
	service               Service
	rooms                 []*room
	length, before, after int64
	earliest              int64
	own, closed           []span
	members               []*member
}

func prepare(q Query, w World, from, to Date) *prepared {
	p := &prepared{
		zone: w.Zone, service: w.Service, rooms: layOutRooms(w, from, to), length: int64(w.Service.Duration / time.Second),
		before: int64(w.Service.BufferBefore / time.Second), after: int64(w.Service.BufferAfter / time.Second),
		earliest: ceilSecond(q.Now.Add(max(w.Policy.Notice, 0))),
	}
	for _, o := range w.Own {
		p.own = append(p.own, span{o.From.Unix(), o.To.Unix()})
	}
	for _, c := range w.Closures {
		p.closed = append(p.closed, c.in(w.Zone))
	}
	for _, s := range w.Staff {
		if q.Staff != "" && q.Staff != s.ID {
			continue
		}
		m := &member{staff: s.Staff, hours: hours(s, w.Zone, from, to), load: map[Date]int{}, seats: map[int64]int{}}
		off := append(slices.Clone(p.closed), weekly(s.Breaks, w.Zone, from, to)...)
		for _, a := range w.Away {
			if a.StaffID == s.ID {
				off = append(off, span{a.From.Unix(), ceilSecond(a.To)})
			}
		}
		for _, t := range s.TimeOff {
			off = append(off, t.in(w.Zone))
		}
		m.open = subtract(m.hours, merge(off))
		p.members = append(p.members, m)
	}
	p.occupy(w.Busy, w.Sessions)
	return p
}

func (p *prepared) occupy(busy []Busy, sessions []Session) {
	byID := make(map[string]*member, len(p.members))
	for _, m := range p.members {
		byID[m.staff.ID] = m
	}
	for _, b := range busy {
		if m := byID[b.StaffID]; m != nil {
			m.busy = append(m.busy, span{b.From.Unix(), ceilSecond(b.To)})
			m.load[DateIn(b.Start, p.zone)]++
		}
	}
	for _, v := range sessions {
		if m := byID[v.StaffID]; m != nil {
			s := v.Start.Unix()
			m.seats[s] = v.Left
			m.busy = append(m.busy, span{s - p.before, s + p.length + p.after})
			m.load[DateIn(v.Start, p.zone)]++
		}
	}
	for _, m := range p.members {
		m.busy = merge(m.busy)
	}
}

// starts lists the grid's starts of one date inside a window of the wall clock.
func (p *prepared) starts(d Date, from, to Clock) []int64 {
	if to == 0 {
		to = dayMinutes
	}
	// One look decides whether clocks change on this date: on the others the
	// grid is plain addition.
	midnight, shown := Moment{Date: d}.In(p.zone)
	next, _ := Moment{Date: d.Add(1)}.In(p.zone)
	even := shown && next.Sub(midnight) == 24*time.Hour
	grid := p.service.starts(d.Weekday())
	out := make([]int64, 0, len(grid))
	for _, c := range grid {
		if c < from || c >= to {
			continue
		}
		if even {
			out = append(out, midnight.Unix()+int64(c)*60)
			continue
		}
		if at, shown := (Moment{Date: d, Clock: c}).In(p.zone); shown {
			out = append(out, at.Unix())
		}
	}
	return out
}

// pick returns whom the any-staff rule gives a start to, nil when nobody is
// free or what the visit needs cannot be had. A seat in a session that has begun
// to fill goes before a session of its own: it takes nobody's time.
func (p *prepared) pick(d Date, s int64) *member {
	var best *member
	for _, m := range p.members {
		if m.seats[s] > 0 && inside(m.open, s, s+p.length) && (best == nil || cmp.Or(cmp.Compare(m.staff.Name, best.staff.Name), cmp.Compare(m.staff.ID, best.staff.ID)) < 0) {
			best = m
		}
	}
	if best != nil {
		return best
	}
	if _, ok := equip(p.rooms, p.service.Needs, s-p.before, s+p.length+p.after); !ok {
		return nil
	}
	for _, m := range p.members {
		if !m.free(s, p) {
			continue
		}
		if best == nil || cmp.Or(cmp.Compare(m.load[d], best.load[d]),
			cmp.Compare(m.staff.Name, best.staff.Name), cmp.Compare(m.staff.ID, best.staff.ID)) < 0 {
			best = m
		}
	}
	return best
}

func (m *member) free(s int64, p *prepared) bool {
	for m.atO < len(m.open) && m.open[m.atO].to < s+p.length {
		m.atO++
	}
	for m.atB < len(m.busy) && m.busy[m.atB].to <= s-p.before {
		m.atB++
	}
	return m.atO < len(m.open) && m.open[m.atO].from <= s &&
		(m.atB == len(m.busy) || m.busy[m.atB].from >= s+p.length+p.after)
}

func (p *prepared) slot(m *member, s int64) Slot {
	return Slot{
		Start: time.Unix(s, 0).UTC(), End: time.Unix(s+p.length, 0).UTC(), StaffID: m.staff.ID, StaffName: m.staff.Name,
	}
}
