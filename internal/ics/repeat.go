package ics

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// date is a page of the wall calendar, as midnight of it in UTC.
type date struct{ time.Time }

func civil(t time.Time) date {
	y, m, d := t.Date()
	return date{time.Date(y, m, d, 0, 0, 0, 0, time.UTC)}
}

func (d date) days(e date) int { return int(e.Sub(d.Time) / (24 * time.Hour)) }

// rule is how an event repeats: by day, or by week on some weekdays.
type rule struct {
	daily    bool
	weekly   bool
	every    int
	count    int // 0 is without end
	until    time.Time
	on       []time.Weekday
	weekFrom time.Weekday
}

// repeat adds the instances of an event that repeats. Each is at the same time of
// the wall clock.
func (r *reader) repeat(text string, start time.Time, length span, day bool, without []time.Time) error {
	u, err := r.rule(text, start)
	if err != nil {
		return err
	}
	first := civil(start)
	week := first.AddDate(0, 0, -int((first.Weekday()-u.weekFrom+7)%7))
	n := 0
	for i := range maxSteps {
		d := date{first.AddDate(0, 0, i)}
		at := time.Date(d.Year(), d.Month(), d.Day(), start.Hour(), start.Minute(), start.Second(), 0, start.Location())
		if at.After(r.to) || !u.until.IsZero() && at.After(u.until) || u.count > 0 && n >= u.count {
			return nil
		}
		switch {
		case !u.weekly && i%u.every != 0, len(u.on) > 0 && !slices.Contains(u.on, d.Weekday()),
			u.weekly && len(u.on) == 0 && d.Weekday() != first.Weekday(), u.weekly && date{week}.days(d)/7%u.every != 0:
			continue
		}
		n++
		if !slices.ContainsFunc(without, func(t time.Time) bool { return t.Equal(at) || day && civil(t) == d }) {
			r.add(at, length, day)
		}
		if len(r.busy) > maxInstances {
			return nil
		}
	}
	return errors.New("it repeats for too long")
}

func (r *reader) rule(text string, start time.Time) (rule, error) {
	u := rule{weekFrom: time.Monday}
	for part := range strings.SplitSeq(strings.ToUpper(text), ";") {
		k, v, _ := strings.Cut(part, "=")
		if err := r.part(&u, k, v, start); err != nil {
			return u, err
		}
	}
	if !u.weekly && !u.daily {
		return u, errors.New("its rule cannot be read")
	}
	u.every = max(u.every, 1)
	return u, nil
}

// part reads one part of a rule.
func (r *reader) part(u *rule, k, v string, start time.Time) (err error) {
	switch k {
	case "FREQ":
		u.weekly, u.daily = v == "WEEKLY", v == "DAILY"
		if !u.weekly && !u.daily {
			err = fmt.Errorf("it repeats %.20q", v)
		}
	case "INTERVAL":
		u.every, err = number(v, "interval")
	case "COUNT":
		u.count, err = number(v, "count")
	case "UNTIL":
		var day bool
		u.until, day, err = r.instant(property{value: v})
		if day { // that day included, on the event's own wall clock
			u.until = time.Date(u.until.Year(), u.until.Month(), u.until.Day(), 23, 59, 59, 0, start.Location())
		}
	case "BYDAY":
		u.on, err = weekdays(v)
	case "WKST":
		var from []time.Weekday
		if from, err = weekdays(v); err == nil {
			u.weekFrom = from[0]
		}
	default:
		err = fmt.Errorf("it repeats by %.20q", k)
	}
	return err
}

func number(v, what string) (int, error) {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > maxSteps {
		return 0, fmt.Errorf("its %s cannot be read", what)
	}
	return n, nil
}

func weekdays(s string) ([]time.Weekday, error) {
	var out []time.Weekday
	for v := range strings.SplitSeq(s, ",") {
		i := slices.Index([]string{"SU", "MO", "TU", "WE", "TH", "FR", "SA"}, v)
		if i < 0 {
			return nil, fmt.Errorf("it repeats on %.20q", v)
		}
		out = append(out, time.Weekday(i))
	}
	return out, nil
}
