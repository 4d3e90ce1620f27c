package calendar

import (
	"fmt"
	"time"
)

const dayMinutes = 24 * 60

// Date is a civil date: a page of the wall calendar, in no zone.
type Date struct {
	Year  int
	Month time.Month
	Day   int
}

// ParseDate reads 2006-01-02. A date that does not exist is an error.
func ParseDate(s string) (Date, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return Date{}, fmt.Errorf("date %q: want one that exists, such as 2026-03-31", s)
	}
	return dateOf(t), nil
}

// DateIn returns the date the wall calendar shows in a zone at an instant.
func DateIn(t time.Time, zone *time.Location) Date { return dateOf(t.In(zone)) }

func dateOf(t time.Time) Date {
	y, m, d := t.Date()
	return Date{Year: y, Month: m, Day: d}
}

func (d Date) utc() time.Time { return time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, time.UTC) }

// Add returns the date n days later, or earlier when n is negative.
func (d Date) Add(n int) Date { return dateOf(d.utc().AddDate(0, 0, n)) }

// Weekday returns the day of the week.
func (d Date) Weekday() time.Weekday { return d.utc().Weekday() }

// Compare is negative, zero or positive when d is before, equal to or after e.
func (d Date) Compare(e Date) int { return d.utc().Compare(e.utc()) }

// Days counts the days from d to e; it is negative when e is earlier.
func (d Date) Days(e Date) int { return int(e.utc().Sub(d.utc()) / (24 * time.Hour)) }

// String writes 2006-01-02.
func (d Date) String() string { return d.utc().Format(time.DateOnly) }

// Clock is a time of day on the wall clock, in minutes after midnight. 24:00
// is the end of the day.
type Clock int

// ParseClock reads 15:04; 24:00 is allowed.
func ParseClock(s string) (Clock, error) {
	bad := fmt.Errorf("time %q: want hours and minutes such as 09:30", s)
	if len(s) != len("15:04") || s[2] != ':' {
		return 0, bad
	}
	var n [4]int
	for i, c := range []byte{s[0], s[1], s[3], s[4]} {
		if c < '0' || c > '9' {
			return 0, bad
		}
		n[i] = int(c - '0')
	}
	h, m := n[0]*10+n[1], n[2]*10+n[3]
	if m > 59 || h*60+m > dayMinutes {
		return 0, bad
	}
	return Clock(h*60 + m), nil
}

// String writes 15:04.
func (c Clock) String() string { return fmt.Sprintf("%02d:%02d", int(c)/60, int(c)%60) }

// Moment is a civil date and time of day: what a person writes down.
type Moment struct {
	Date  Date
	Clock Clock
}

const momentLayout = "2006-01-02 15:04"

// ParseMoment reads 2006-01-02 15:04, also with 24:00.
func ParseMoment(s string) (Moment, error) {
	if len(s) != len(momentLayout) || s[10] != ' ' {
		return Moment{}, fmt.Errorf("moment %q: want a date and time such as 2026-03-31 14:00", s)
	}
	d, err := ParseDate(s[:10])
	if err != nil {
		return Moment{}, err
	}
	c, err := ParseClock(s[11:])
	if err != nil {
		return Moment{}, err
	}
	return Moment{Date: d, Clock: c}, nil
}

// String writes 2006-01-02 15:04.
func (m Moment) String() string { return m.Date.String() + " " + m.Clock.String() }

// In returns the first instant at which clocks in the zone show the moment.
// When clocks skip it, shown is false and the instant is the one they jumped
// at: a shop that opens at a skipped 02:30 opens as soon as that time is past.
func (m Moment) In(zone *time.Location) (at time.Time, shown bool) {
	naive := m.Date.utc().Add(time.Duration(m.Clock) * time.Minute)
	// No zone changes its offset twice within two days, so the moment is shown
	// under the offset before it, the one after it, both or neither.
	_, before := naive.Add(-24 * time.Hour).In(zone).Zone()
	_, after := naive.Add(24 * time.Hour).In(zone).Zone()
	first, second := naive.Add(-time.Duration(before)*time.Second), naive.Add(-time.Duration(after)*time.Second)
	if second.Before(first) {
		first, second = second, first
	}
	for _, t := range []time.Time{first, second} {
		if _, offset := t.In(zone).Zone(); t.Add(time.Duration(offset) * time.Second).Equal(naive) {
			return t, true
		}
	}
	jump, _ := second.In(zone).ZoneBounds()
	return jump.UTC(), false
}

// Span is a stretch of civil time, To exclusive.
type Span struct{ From, To Moment }
