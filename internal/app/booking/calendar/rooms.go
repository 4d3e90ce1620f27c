package calendar

import "time"

// room is a resource's time, sorted.
type room struct {
	Resource
	taken []span
}

func layOutRooms(w World, from, to Date) []*room {
	var out []*room
	for _, r := range w.Rooms {
		taken := weekly(r.Breaks, w.Zone, from, to)
		for _, t := range r.TimeOff {
			taken = append(taken, t.in(w.Zone))
		}
		for _, b := range r.Busy {
			taken = append(taken, span{b.From.Unix(), ceilSecond(b.To)})
		}
		out = append(out, &room{Resource: r.Resource, taken: merge(taken)})
	}
	return out
}

// equip finds a resource for each need that nothing else has between two
// instants: the first by the order of the rooms wherever there is a choice. It
// reports false when there is none.
func equip(rooms []*room, needs []string, from, to int64) ([]*room, bool) {
	if len(needs) == 0 {
		return nil, true
	}
	var free []*room
	for _, r := range rooms {
		if !overlapsAny(r.taken, from, to) {
			free = append(free, r)
		}
	}
	chosen := make([]*room, 0, len(needs))
	used := map[string]bool{}
	var search func(n int) bool
	search = func(n int) bool { // needs are few, and a kind may be needed twice
		if n == len(needs) {
			return true
		}
		for _, r := range free {
			if used[r.ID] || !r.Serves(needs[n]) {
				continue
			}
			used[r.ID] = true
			chosen = append(chosen, r)
			if search(n + 1) {
				return true
			}
			used[r.ID] = false
			chosen = chosen[:n]
		}
		return false
	}
	return chosen, search(0)
}

// Equip names the resources a visit would take, in the order of the service's
// needs; false when they cannot all be had.
func Equip(w World, start time.Time) ([]string, bool) {
	d := DateIn(start, w.Zone)
	from := start.Add(-w.Service.BufferBefore).Unix()
	to := ceilSecond(start.Add(w.Service.Duration + w.Service.BufferAfter))
	rooms, ok := equip(layOutRooms(w, d.Add(-1), d.Add(1)), w.Service.Needs, from, to)
	var out []string
	for _, r := range rooms {
		out = append(out, r.ID)
	}
	return out, ok
}
