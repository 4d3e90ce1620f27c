package calendar

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

func (p *parser) settings(o object) Settings {
	s := Settings{
		Address: p.str(o, "address"), MapLink: p.link(o, "map_link"),
		Parking: p.text(o, "parking", false), Payment: p.text(o, "payment", false),
		Policy: p.policy(p.object("policy", o.m["policy"], "notice_minutes", "horizon_days", "cancel_hours", "hold_minutes", "max_holds",
			"offer_minutes", "move_hours", "max_moves", "refunds", "no_show_percent", "no_show_hours", "reminder_hours", "feedback_minutes")),
	}
	ids, skills := map[string]bool{}, map[string][]string{}
	for i, v := range p.list(o, "staff") {
		path := fmt.Sprintf("staff[%d]", i)
		one := p.object(path, v, "key", "name", "aliases", "hours", "exceptions", "time_off", "skills", "calendar_env")
		m := p.schedule(one)
		skills[m.ID] = slugs(p.strs(one, "skills"))
		p.feed(one, m.ID, &s)
		if ids[m.ID] && m.ID != "" {
			p.fault(path+".key", "%q is used twice", m.ID)
		}
		ids[m.ID] = true
		s.Staff = append(s.Staff, m)
	}
	p.resources(o, &s)
	seen := map[string]bool{}
	for i, v := range p.list(o, "services") {
		path := fmt.Sprintf("services[%d]", i)
		one := p.object(path, v, "key", "name", "aliases", "description", "minutes", "price", "deposit",
			"buffer_before", "buffer_after", "interval", "staff", "hidden", "capacity", "needs", "day_intervals", "starts", "skills")
		svc := p.service(one, s.Staff)
		p.able(one, &svc, skills)
		p.shape(one, &svc, s.Resources)
		if seen[svc.ID] && svc.ID != "" {
			p.fault(path+".key", "%q is used twice", svc.ID)
		}
		seen[svc.ID] = true
		s.Services = append(s.Services, svc)
	}
	for _, key := range []string{"services", "staff"} {
		if len(p.list(o, key)) == 0 {
			p.fault(key, "want at least one")
		}
	}
	for i, v := range p.list(o, "closures") {
		c := p.object(fmt.Sprintf("closures[%d]", i), v, "from", "to", "name")
		s.Closures = append(s.Closures, Closure{Span: p.span(c), Name: p.text(c, "name", false)})
	}
	p.blocks(o, &s)
	for i, v := range p.list(o, "faqs") {
		s.FAQs = append(s.FAQs, p.faq(p.object(fmt.Sprintf("faqs[%d]", i), v, "keys", "en", "sw")))
	}
	return s
}

func (p *parser) faq(o object) FAQ {
	faq := FAQ{Keys: p.strs(o, "keys"), Answer: Text{}}
	for _, lang := range []string{"en", "sw"} {
		if t := p.str(o, lang); t != "" {
			faq.Answer[lang] = t
		}
	}
	if len(faq.Keys) == 0 || len(faq.Answer) == 0 {
		p.fault(o.path, "want keys and an answer under en, sw or both")
	}
	return faq
}

func (p *parser) policy(o object) Policy {
	hours := func(key string, most, def int) time.Duration {
		return time.Duration(p.number(o, key, 0, most, def)) * time.Hour
	}
	out := Policy{
		Notice:   minutesOf(p.number(o, "notice_minutes", 0, 60*24*60, defaultNotice)),
		Horizon:  p.number(o, "horizon_days", 1, MaxHorizon, defaultHorizon),
		Hold:     minutesOf(p.number(o, "hold_minutes", 1, 24*60, defaultHold)),
		MaxHolds: p.number(o, "max_holds", 1, 20, defaultHolds),
		Offer:    minutesOf(p.number(o, "offer_minutes", 1, 24*60, defaultOffer)),
		Terms: Terms{
			Cancel:       hours("cancel_hours", 24*60, defaultCancel),
			MaxMoves:     p.number(o, "max_moves", 0, 100, 0),
			NoShowRefund: p.number(o, "no_show_percent", 0, 100, 0),
			NoShow:       hours("no_show_hours", 24*60, defaultNoShow),
			Feedback:     minutesOf(p.number(o, "feedback_minutes", 0, 14*24*60, defaultFeedback)),
		},
	}
	out.Move = hours("move_hours", 24*60, int(out.Cancel/time.Hour))
	for i, v := range p.list(o, "refunds") {
		r := p.object(fmt.Sprintf("policy.refunds[%d]", i), v, "hours", "percent")
		out.Refunds = append(out.Refunds, RefundStep{
			Before: time.Duration(p.number(r, "hours", 0, 24*365, -1)) * time.Hour, Percent: p.number(r, "percent", 0, 100, -1),
		})
	}
	if o.m["refunds"] == nil {
		out.Refunds = []RefundStep{{Before: out.Cancel, Percent: 100}}
	}
	out.Reminders = p.reminders(o)
	out.Terms = out.sorted()
	return out
}

func (p *parser) link(o object, key string) string {
	s := p.str(o, key)
	if u, err := url.Parse(s); s != "" && (err != nil || u.Scheme != "https" || u.Host == "") {
		p.fault(o.at(key), "want a link that begins with https://")
	}
	return s
}

var slugText = regexp.MustCompile(`^[a-z0-9]+(_[a-z0-9]+)*$`)

// maxKey leaves room for a prefix in the id of a tappable choice.
const maxKey = 64

// key reads an entry's key, which is its id for life: what is booked refers to it.
func (p *parser) key(o object) string {
	id := Slug(p.str(o, "key"))
	if !slugText.MatchString(id) || len(id) > maxKey {
		p.fault(o.at("key"), "want a short name in letters and digits, such as deep_tissue_90")
	}
	return id
}

// Slug makes an id of a key: lower case, with one underscore between words.
func Slug(key string) string {
	words := strings.FieldsFunc(strings.ToLower(key), func(r rune) bool {
		return r == '_' || r == '-' || r == ' '
	})
	return strings.Join(words, "_")
}

func (p *parser) service(o object, staff []Schedule) Service {
	s := Service{
		ID: p.key(o), Name: p.text(o, "name", true), Aliases: p.strs(o, "aliases"),
		Description:  p.text(o, "description", false),
		Duration:     minutesOf(p.number(o, "minutes", 5, 24*60, 0)),
		BufferBefore: minutesOf(p.number(o, "buffer_before", 0, 12*60, 0)),
		BufferAfter:  minutesOf(p.number(o, "buffer_after", 0, 12*60, 0)),
		Interval:     minutesOf(p.number(o, "interval", 5, 24*60, defaultInterval)),
		Price:        p.amount(o, "price", true),
		Deposit:      p.amount(o, "deposit", false),
		Hidden:       p.boolean(o, "hidden"),
	}
	p.even(o.at("interval"), s.Interval)
	if s.Deposit.Minor > s.Price.Minor {
		p.fault(o.at("deposit"), "is more than the price")
	}
	for i, key := range p.strs(o, "staff") {
		id := Slug(key)
		switch known := slices.ContainsFunc(staff, func(m Schedule) bool { return m.ID == id }); {
		case !known:
			p.fault(fmt.Sprintf("%s[%d]", o.at("staff"), i), "%q is nobody under staff", key)
		case slices.Contains(s.Staff, id):
			p.fault(fmt.Sprintf("%s[%d]", o.at("staff"), i), "%q is named twice", key)
		default:
			s.Staff = append(s.Staff, id)
		}
	}
	if o.m["staff"] == nil {
		for _, m := range staff {
			s.Staff = append(s.Staff, m.ID)
		}
	} else if len(p.list(o, "staff")) == 0 {
		p.fault(o.at("staff"), "is empty; leave it out when everyone offers the service")
	}
	return s
}

func (p *parser) schedule(o object) Schedule {
	m := Schedule{
		Staff:      Staff{ID: p.key(o), Name: p.str(o, "name"), Aliases: p.strs(o, "aliases")},
		Exceptions: map[Date][]Shift{},
	}
	if m.Name == "" {
		p.fault(o.at("name"), "missing")
	}
	p.week(o, &m)
	for i, v := range p.list(o, "exceptions") {
		e := p.object(fmt.Sprintf("%s[%d]", o.at("exceptions"), i), v, "date", "hours", "closed")
		d, err := ParseDate(p.str(e, "date"))
		if err != nil {
			p.fault(e.at("date"), "%v", err)
		}
		if _, twice := m.Exceptions[d]; twice {
			p.fault(e.at("date"), "%s has two exceptions", d)
		}
		shifts := p.shifts(e, "hours")
		if p.boolean(e, "closed") == (len(p.list(e, "hours")) > 0) {
			p.fault(e.path, "want either hours or closed: true")
		}
		m.Exceptions[d] = shifts
	}
	for i, v := range p.list(o, "time_off") {
		m.TimeOff = append(m.TimeOff, p.span(p.object(fmt.Sprintf("%s[%d]", o.at("time_off"), i), v, "from", "to")))
	}
	return m
}

func weekdays() []string { return []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"} }

// week reads the hours of each weekday; a key may name a range such as mon-fri.
func (p *parser) week(o object, m *Schedule) {
	if o.m["hours"] == nil {
		p.fault(o.at("hours"), "missing")
		return
	}
	in, ok := o.m["hours"].(map[string]any)
	if !ok {
		p.fault(o.at("hours"), "want a mapping of weekdays")
		return
	}
	p.weekdays(object{path: o.at("hours"), m: in}, func(hours object, key string, days []int) {
		shifts := p.shifts(hours, key)
		for _, d := range days {
			m.Hours[d] = shifts
		}
	})
}

// weekdays reads a mapping whose keys are weekdays or ranges of them. Each day is
// named once.
func (p *parser) weekdays(o object, each func(o object, key string, days []int)) {
	seen := map[int]bool{}
	for _, k := range slices.Sorted(maps.Keys(o.m)) {
		days := p.dayRange(o.at(k), k)
		for _, d := range days {
			if seen[d] {
				p.fault(o.at(k), "%s is named twice", weekdays()[d])
			}
			seen[d] = true
		}
		if days != nil {
			each(o, k, days)
		}
	}
}

// dayRange reads a weekday such as mon, or a range such as mon-fri.
func (p *parser) dayRange(path, s string) []int {
	first, last, isRange := strings.Cut(s, "-")
	if !isRange {
		last = first
	}
	from, to := slices.Index(weekdays(), first), slices.Index(weekdays(), last)
	if from < 0 || to < 0 {
		p.fault(path, "want a weekday such as mon, or a range such as mon-fri")
		return nil
	}
	days := []int{from}
	for d := from; d != to; {
		d = (d + 1) % 7
		days = append(days, d)
	}
	return days
}

// shifts reads stretches of work such as "09:00-13:00", sorted and apart.
func (p *parser) shifts(o object, key string) []Shift {
	var out []Shift
	for i, s := range p.strs(o, key) {
		path := fmt.Sprintf("%s[%d]", o.at(key), i)
		a, b, ok := strings.Cut(s, "-")
		from, err := ParseClock(strings.TrimSpace(a))
		to, err2 := ParseClock(strings.TrimSpace(b))
		switch {
		case !ok || err != nil || err2 != nil || from == dayMinutes:
			p.fault(path, "%q: want hours such as 09:00-17:30", s)
		case from == to:
			p.fault(path, "%q is empty; a whole day is 00:00-24:00", s)
		default:
			out = append(out, Shift{From: from, To: to})
		}
	}
	slices.SortFunc(out, func(a, b Shift) int { return int(a.From - b.From) })
	for i := 1; i < len(out); i++ {
		if prev := out[i-1]; prev.To <= prev.From || out[i].From < prev.To {
			p.fault(o.at(key), "%s-%s overlaps %s-%s", prev.From, prev.To, out[i].From, out[i].To)
		}
	}
	return out
}

// ParseSpan reads a stretch of civil time as a definition has it: dates, the last
// one included, or moments. Without an end it is one day.
func ParseSpan(from, to string) (Span, error) {
	m := map[string]any{"from": from}
	if to != "" {
		m["to"] = to
	}
	p := &parser{}
	s := p.span(object{m: m})
	return s, errors.Join(p.faults...)
}

// span reads from and to: dates, the last one included, or moments.
func (p *parser) span(o object) Span {
	read := func(key string, end bool) Moment {
		s := p.str(o, key)
		if s == "" && key == "to" {
			s = p.str(o, "from") // one day
			if len(s) != len(time.DateOnly) {
				s = ""
			}
		}
		if d, err := ParseDate(s); err == nil {
			if end {
				d = d.Add(1)
			}
			return Moment{Date: d}
		}
		m, err := ParseMoment(s)
		if err != nil {
			p.fault(o.at(key), "want a date such as 2026-12-25 or a time such as 2026-12-24 13:00")
		}
		return m
	}
	s := Span{From: read("from", false), To: read("to", true)}
	if c := s.From.Date.Compare(s.To.Date); c > 0 || c == 0 && s.From.Clock >= s.To.Clock {
		p.fault(o.path, "ends before it begins")
	}
	return s
}
