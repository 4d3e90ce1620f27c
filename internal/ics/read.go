package ics

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bounds of what is read.
const (
	maxEvents    = 5000
	maxInstances = 20000 // of all events together
	maxSteps     = 40000 // days one rule is followed for
)

// Busy is a stretch of time somebody is busy, To exclusive.
type Busy struct{ From, To time.Time }

// Read lists when a calendar says that somebody is busy between two instants, in
// order of time. Times without a zone are those of zone. What is cancelled or
// marked as free is left out. Recurring events are followed where they repeat by
// day or by week; problems name the events that could not be read, of which none
// is guessed. An error means that the whole is no calendar, or larger than any.
func Read(raw []byte, zone *time.Location, from, to time.Time) (busy []Busy, problems []string, err error) {
	events, err := parse(raw)
	if err != nil {
		return nil, nil, err
	}
	r := reader{zone: zone, from: from, to: to, moved: map[string][]time.Time{}}
	for _, e := range events {
		if at, ok := e.first("RECURRENCE-ID"); ok {
			if t, _, err := r.instant(at); err == nil {
				r.moved[e.value("UID")] = append(r.moved[e.value("UID")], t)
			}
		}
	}
	for _, e := range events {
		if err := r.event(e); err != nil {
			problems = append(problems, fmt.Sprintf("event of line %d: %v", e.line, err))
		}
		if len(r.busy) > maxInstances {
			return nil, nil, fmt.Errorf("the calendar comes to more than %d times", maxInstances)
		}
	}
	slices.SortFunc(r.busy, func(a, b Busy) int { return a.From.Compare(b.From) })
	return r.busy, problems, nil
}

// property is one line: a name, its parameters and a value.
type property struct {
	name, value string
	params      map[string]string
}

type event struct {
	line  int
	props []property
}

func (e event) first(name string) (property, bool) {
	i := slices.IndexFunc(e.props, func(p property) bool { return p.name == name })
	if i < 0 {
		return property{}, false
	}
	return e.props[i], true
}

func (e event) value(name string) string {
	p, _ := e.first(name)
	return p.value
}

// parse finds the events of a calendar.
func parse(raw []byte) ([]event, error) {
	text := strings.ReplaceAll(strings.TrimPrefix(string(raw), "\uFEFF"), "\r\n", "\n")
	text = strings.NewReplacer("\n ", "", "\n\t", "").Replace(text)
	var out []event
	var open []string
	for n, line := range strings.Split(text, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		p, ok := split(line)
		if !ok || !p.fits(open) {
			return nil, fmt.Errorf("line %d is no calendar's, or ends what is not open", n+1)
		}
		switch p.name {
		case "BEGIN":
			out = begun(out, open, p.value, n+1)
			open = append(open, p.value)
		case "END":
			open = open[:len(open)-1]
		default:
			kept(out, open, p)
		}
		if len(out) > maxEvents || len(open) > 8 {
			return nil, fmt.Errorf("the calendar has more than %d events, or is nested too deep", maxEvents)
		}
	}
	if len(open) > 0 || text == "" {
		return nil, errors.New("the calendar breaks off")
	}
	return out, nil
}

// fits reports whether a line may stand where these parts are open.
func (p property) fits(open []string) bool {
	if len(open) == 0 {
		return p.name == "BEGIN" && p.value == "VCALENDAR"
	}
	return p.name != "END" || open[len(open)-1] == p.value
}

// kept keeps a line of an event; those of what is inside one, such as alarms, are
// not its own.
func kept(events []event, open []string, p property) {
	if len(open) == 2 && open[1] == "VEVENT" {
		e := &events[len(events)-1]
		e.props = append(e.props, p)
	}
}

// begun adds an event where one begins: inside the calendar, and nothing else.
func begun(events []event, open []string, what string, line int) []event {
	if what == "VEVENT" && len(open) == 1 {
		return append(events, event{line: line})
	}
	return events
}

// split reads one unfolded line. A colon or semicolon in quotes divides nothing.
func split(line string) (property, bool) {
	p := property{params: map[string]string{}}
	quoted, start := false, 0
	var parts []string
	for i := range len(line) {
		switch c := line[i]; {
		case c == '"':
			quoted = !quoted
		case c == ';' && !quoted:
			parts, start = append(parts, line[start:i]), i+1
		case c == ':' && !quoted:
			parts = append(parts, line[start:i])
			p.name, p.value = strings.ToUpper(parts[0]), strings.TrimSpace(line[i+1:])
			for _, param := range parts[1:] {
				k, v, _ := strings.Cut(param, "=")
				p.params[strings.ToUpper(k)] = strings.Trim(v, `"`)
			}
			return p, p.name != ""
		}
	}
	return p, false
}

// reader collects busy times.
type reader struct {
	zone     *time.Location
	from, to time.Time
	moved    map[string][]time.Time // instances that stand elsewhere, by UID
	busy     []Busy
}

// event adds the times of one event.
func (r *reader) event(e event) error {
	if strings.EqualFold(e.value("STATUS"), Cancelled) || strings.EqualFold(e.value("TRANSP"), "TRANSPARENT") {
		return nil
	}
	at, ok := e.first("DTSTART")
	if !ok {
		return errors.New("it has no start")
	}
	start, day, err := r.instant(at)
	if err != nil {
		return err
	}
	length, err := r.length(e, start, day)
	if err != nil {
		return err
	}
	if _, ok := e.first("RDATE"); ok {
		return errors.New("it repeats on listed dates")
	}
	rules := 0
	for _, p := range e.props {
		if p.name == "RRULE" {
			rules++
		}
	}
	if rules == 0 {
		r.add(start, length, day)
		return nil
	}
	if rules > 1 {
		return errors.New("it repeats by several rules")
	}
	without, err := r.exceptions(e)
	if err != nil {
		return err
	}
	return r.repeat(e.value("RRULE"), start, length, day, without)
}

// span is how long an event lasts: whole days, or a stretch of time.
type span struct {
	days int
	time time.Duration
}

func (r *reader) length(e event, start time.Time, day bool) (span, error) {
	if end, ok := e.first("DTEND"); ok {
		t, endDay, err := r.instant(end)
		switch {
		case err != nil:
			return span{}, err
		case endDay != day || t.Before(start):
			return span{}, errors.New("its end does not fit its start")
		case day:
			return span{days: civil(start).days(civil(t))}, nil
		}
		return span{time: t.Sub(start)}, nil
	}
	if d, ok := e.first("DURATION"); ok {
		return duration(d.value)
	}
	if day {
		return span{days: 1}, nil
	}
	return span{}, nil // a moment, which takes no time
}

func (r *reader) add(start time.Time, s span, day bool) {
	end := start.AddDate(0, 0, s.days).Add(s.time)
	if day && s.days == 0 && s.time == 0 {
		end = start.AddDate(0, 0, 1)
	}
	if end.After(start) && end.After(r.from) && start.Before(r.to) {
		r.busy = append(r.busy, Busy{start.UTC(), end.UTC()})
	}
}

// instant reads a date or a date with a time. A time belongs to UTC, to the zone
// it names, or to the reader's.
func (r *reader) instant(p property) (t time.Time, day bool, err error) {
	zone := r.zone
	if id := p.params["TZID"]; id != "" {
		if zone, err = time.LoadLocation(id); err != nil || id == "Local" {
			return t, false, fmt.Errorf("the time zone %.60q is not known", id)
		}
	}
	value, universal := strings.CutSuffix(p.value, "Z")
	if universal {
		zone = time.UTC
	}
	if len(value) == len("20060102") {
		t, err = time.ParseInLocation("20060102", value, zone)
		day = true
	} else {
		t, err = time.ParseInLocation("20060102T150405", value, zone)
	}
	if err != nil {
		return t, day, fmt.Errorf("%.40q is no time", p.value)
	}
	return t, day, nil
}

// duration reads a length such as P1DT2H30M.
func duration(s string) (out span, err error) {
	bad := fmt.Errorf("%.40q is no length of time", s)
	rest, ok := strings.CutPrefix(strings.TrimPrefix(s, "+"), "P")
	if !ok || rest == "" {
		return out, bad
	}
	units := map[byte]time.Duration{'H': time.Hour, 'M': time.Minute, 'S': time.Second}
	clock, n := false, ""
	for i := range len(rest) {
		c := rest[i]
		if c >= '0' && c <= '9' && len(n) < 6 {
			n += string(c)
			continue
		}
		if c == 'T' && !clock && n == "" {
			clock = true
			continue
		}
		v, e := strconv.Atoi(n)
		if e != nil {
			return out, bad
		}
		n = ""
		switch {
		case !clock && c == 'W':
			out.days += 7 * v
		case !clock && c == 'D':
			out.days += v
		case clock && units[c] > 0:
			out.time += time.Duration(v) * units[c]
		default:
			return out, bad
		}
	}
	if n != "" {
		return out, bad
	}
	return out, nil
}

func (r *reader) exceptions(e event) ([]time.Time, error) {
	out := slices.Clone(r.moved[e.value("UID")])
	for _, p := range e.props {
		if p.name != "EXDATE" {
			continue
		}
		for v := range strings.SplitSeq(p.value, ",") {
			t, _, err := r.instant(property{value: strings.TrimSpace(v), params: p.params})
			if err != nil {
				return nil, err
			}
			out = append(out, t)
		}
	}
	return out, nil
}
