package calendar

import (
	"fmt"
	"regexp"
	"slices"
	"time"
)

// even refuses an interval with which starts would drift from day to day.
func (p *parser) even(path string, every time.Duration) {
	if m := int(every / time.Minute); m > 0 && dayMinutes%m != 0 {
		p.fault(path, "must divide the day evenly, so that starts are the same every day: 15, 20, 30, 45, 60, 90")
	}
}

func slugs(keys []string) []string {
	var out []string
	for _, k := range keys {
		out = append(out, Slug(k))
	}
	return out
}

// able leaves a service to those who have the skills it asks for.
func (p *parser) able(o object, s *Service, skills map[string][]string) {
	wanted := slugs(p.strs(o, "skills"))
	if len(wanted) == 0 {
		return
	}
	if o.m["staff"] != nil {
		p.fault(o.at("skills"), "name either staff or skills")
		return
	}
	s.Staff = slices.DeleteFunc(s.Staff, func(id string) bool {
		return slices.ContainsFunc(wanted, func(w string) bool { return !slices.Contains(skills[id], w) })
	})
	if len(s.Staff) == 0 {
		p.fault(o.at("skills"), "nobody under staff has all of them")
	}
}

const (
	maxCapacity = 500
	maxNeeds    = 4
	maxStarts   = 48
)

// shape reads how many people and things a start takes, and when starts are.
func (p *parser) shape(o object, s *Service, resources []Resource) {
	if o.m["capacity"] != nil {
		if n := p.number(o, "capacity", 1, maxCapacity, 1); n > 1 {
			s.Capacity = n
		}
	}
	needs := p.strs(o, "needs")
	if len(needs) > maxNeeds {
		p.fault(o.at("needs"), "want at most %d", maxNeeds)
		needs = needs[:maxNeeds]
	}
	for i, key := range needs {
		need := Slug(key)
		if !slices.ContainsFunc(resources, func(r Resource) bool { return r.Serves(need) }) {
			p.fault(fmt.Sprintf("%s[%d]", o.at("needs"), i), "%q is neither the key nor the kind of any of the resources", key)
		}
		s.Needs = append(s.Needs, need)
	}
	if len(s.Needs) > 0 {
		var rooms []*room
		for _, r := range resources {
			rooms = append(rooms, &room{Resource: r})
		}
		if _, ok := equip(rooms, s.Needs, 0, 1); !ok {
			p.fault(o.at("needs"), "there are not enough resources for all of them")
		}
	}
	p.when(o, s)
}

func (p *parser) when(o object, s *Service) {
	if o.m["day_intervals"] != nil {
		s.DayInterval = map[int]time.Duration{}
		p.weekdays(p.mapping(o, "day_intervals"), func(in object, key string, days []int) {
			every := minutesOf(p.number(in, key, 5, 24*60, -1))
			p.even(in.at(key), every)
			for _, d := range days {
				s.DayInterval[d] = every
			}
		})
	}
	if o.m["starts"] == nil {
		return
	}
	s.Starts = map[int][]Clock{}
	p.weekdays(p.mapping(o, "starts"), func(in object, key string, days []int) {
		starts := p.clocks(in, key)
		for _, d := range days {
			s.Starts[d] = starts
		}
	})
	if len(s.Starts) == 0 {
		p.fault(o.at("starts"), "names no weekday")
	}
}

func (p *parser) mapping(o object, key string) object {
	m, ok := o.m[key].(map[string]any)
	if !ok {
		p.fault(o.at(key), "want a mapping of weekdays")
	}
	return object{path: o.at(key), m: m}
}

// clocks reads times of day, sorted.
func (p *parser) clocks(o object, key string) []Clock {
	var out []Clock
	for i, s := range p.strs(o, key) {
		c, err := ParseClock(s)
		if err != nil || c == dayMinutes {
			p.fault(fmt.Sprintf("%s[%d]", o.at(key), i), "%q: want a time such as 07:00", s)
			continue
		}
		out = append(out, c)
	}
	slices.Sort(out)
	if len(slices.Compact(slices.Clone(out))) != len(out) || len(out) == 0 || len(out) > maxStarts {
		p.fault(o.at(key), "want 1 to %d different times", maxStarts)
	}
	return out
}

func (p *parser) resources(o object, s *Settings) {
	seen := map[string]bool{}
	for i, v := range p.list(o, "resources") {
		in := p.object(fmt.Sprintf("resources[%d]", i), v, "key", "name", "kind")
		r := Resource{ID: p.key(in), Name: p.str(in, "name"), Kind: Slug(p.str(in, "kind"))}
		if r.Name == "" {
			p.fault(in.at("name"), "missing")
		}
		if r.Kind == "" {
			r.Kind = r.ID
		}
		if !slugText.MatchString(r.Kind) || len(r.Kind) > maxKey {
			p.fault(in.at("kind"), "want a short name in letters and digits, such as room")
		}
		if seen[r.ID] && r.ID != "" {
			p.fault(in.at("key"), "%q is used twice", r.ID)
		}
		seen[r.ID] = true
		s.Resources = append(s.Resources, r)
	}
}

// blocks reads time nobody can book, after everyone and everything is known.
func (p *parser) blocks(o object, s *Settings) {
	for i, v := range p.list(o, "blocks") {
		in := p.object(fmt.Sprintf("blocks[%d]", i), v, "from", "to", "days", "hours", "staff", "resources", "note")
		b := Block{Note: p.str(in, "note"), Staff: slugs(p.strs(in, "staff")), Resources: slugs(p.strs(in, "resources"))}
		p.subjects(in, s, &b)
		days := p.str(in, "days")
		switch {
		case days != "" && in.m["from"] == nil:
			shifts := p.shifts(in, "hours")
			if len(shifts) == 0 {
				p.fault(in.at("hours"), "missing")
			}
			for _, d := range p.dayRange(in.at("days"), days) {
				b.Weekly[d] = shifts
			}
		case days == "" && in.m["hours"] == nil && in.m["from"] != nil:
			b.Span = p.span(in)
		default:
			p.fault(in.path, "want either from and to, or days and hours")
		}
		s.Blocks = append(s.Blocks, b)
	}
}

// subjects refuses a block of nobody, and gives one that names none to everyone.
func (p *parser) subjects(o object, s *Settings, b *Block) {
	for _, id := range b.Staff {
		if !slices.ContainsFunc(s.Staff, func(m Schedule) bool { return m.ID == id }) {
			p.fault(o.at("staff"), "%q is nobody under staff", id)
		}
	}
	for _, id := range b.Resources {
		if !slices.ContainsFunc(s.Resources, func(r Resource) bool { return r.ID == id }) {
			p.fault(o.at("resources"), "%q is none of the resources", id)
		}
	}
	if len(b.Staff)+len(b.Resources) == 0 {
		for _, m := range s.Staff {
			b.Staff = append(b.Staff, m.ID)
		}
	}
}

var envName = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,63}$`)

// feed reads where somebody's own calendar is: its address is a secret.
func (p *parser) feed(o object, id string, s *Settings) {
	name := p.str(o, "calendar_env")
	if name == "" {
		return
	}
	if !envName.MatchString(name) {
		p.fault(o.at("calendar_env"), "want the name of an environment variable, such as GRACE_CALENDAR")
	}
	if s.Feeds == nil {
		s.Feeds = map[string]string{}
	}
	s.Feeds[id] = name
}

const maxReminders = 5

func (p *parser) reminders(o object) []time.Duration {
	var hours []int64
	if o.m["reminder_hours"] == nil {
		for _, h := range defaultReminders() {
			hours = append(hours, int64(h))
		}
	}
	list := p.list(o, "reminder_hours")
	if len(list) > maxReminders {
		p.fault("policy.reminder_hours", "want at most %d", maxReminders)
		list = list[:maxReminders]
	}
	for i, v := range list {
		n, ok := whole(v)
		if !ok || n < 1 || n > 14*24 || slices.Contains(hours, n) {
			p.fault(fmt.Sprintf("policy.reminder_hours[%d]", i), "want different whole hours from 1 to %d", 14*24)
			continue
		}
		hours = append(hours, n)
	}
	var out []time.Duration
	for _, h := range hours {
		out = append(out, time.Duration(h)*time.Hour)
	}
	return out
}
