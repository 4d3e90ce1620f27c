package calendar

import "time"

// Shift is a stretch of work on one date. A To at or before From is on the
// next day: 18:00 to 02:00 ends two hours after midnight.
type Shift struct{ From, To Clock }

// Schedule is when a member of staff works.
type Schedule struct {
	Staff
	Hours      [7][]Shift       // by time.Weekday; a break is the gap between two shifts
	Exceptions map[Date][]Shift // take the place of that date's hours; none means not working
	TimeOff    []Span           // stronger than hours and exceptions
	Breaks     [7][]Shift       // blocked every week, by time.Weekday; as strong as time off
}

// shifts returns the work that begins on a date.
func (s Schedule) shifts(d Date) []Shift {
	if own, ok := s.Exceptions[d]; ok {
		return own
	}
	return s.Hours[d.Weekday()]
}

// Policy is the business's rules about when one may book, and the terms its
// bookings are made under.
type Policy struct {
	Terms
	Notice   time.Duration // least time between now and a start
	Horizon  int           // how many days after today a start may be
	Hold     time.Duration // how long a slot is held for someone who is deciding
	MaxHolds int           // how many slots one contact may hold at a time
	Offer    time.Duration // how long a slot is kept for someone of the waitlist
}

// Busy is time a live hold, booking or group session takes from a member of staff.
type Busy struct {
	StaffID string
	Start   time.Time // of the visit: decides on whose day it counts
	From    time.Time // with the buffer before
	To      time.Time // with the buffer after
}

// Interval is a stretch of time, To exclusive.
type Interval struct{ From, To time.Time }

// Room is a resource and when it cannot be had.
type Room struct {
	Resource
	Breaks  [7][]Shift // blocked every week, by time.Weekday
	TimeOff []Span     // out of use
	Busy    []Interval // taken by visits, buffers included
}

// Session is a start of a group service that somebody has booked.
type Session struct {
	StaffID string
	Start   time.Time
	Left    int // seats nobody has
}

// Away is time an outside calendar says a member of staff is busy.
type Away struct {
	StaffID string
	Interval
}

// World is all that decides whether a start of one service is free. Busy and
// Own need to reach one day beyond the dates asked about, on both sides.
type World struct {
	Zone     *time.Location
	Policy   Policy
	Service  Service
	Staff    []Schedule // everyone who offers the service
	Closures []Span     // of the whole business; stronger than anyone's hours
	Busy     []Busy
	Own      []Interval // visits of the contact, without buffers
	Rooms    []Room     // whatever the service's needs may be met with
	Sessions []Session  // of this service; their time is not in Busy
	Away     []Away
}

// Query asks for free starts.
type Query struct {
	Now      time.Time
	From, To Date   // both inclusive
	TimeFrom Clock  // a start at TimeFrom is inside
	TimeTo   Clock  // a start at TimeTo is outside; 0 is the end of the day
	Staff    string // "" is any
	Limit    int    // 0 is no limit
}

// MaxHorizon is the furthest a business may take bookings ahead, in days.
const MaxHorizon = 365
