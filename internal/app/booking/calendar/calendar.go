// Package calendar is the booking domain: services, staff, hours, and which
// starts are free.
//
// It is pure: time, zone and what is booked come in as values, and nothing is
// kept. Availability is computed per civil date in the business's zone and is
// right across changes of the clock. What a caller can act on is a Refusal with
// a code and the nearest free starts. The package imports leaves only.
package calendar

import (
	"time"

	"github.com/ratiba/ratiba/internal/money"
)

// Text is a text in the languages the business writes: keys en and sw.
type Text map[string]string

// In returns the text in a language, else in English, else in whichever there is.
func (t Text) In(lang string) string {
	for _, l := range []string{lang, "en", "sw"} {
		if s := t[l]; s != "" {
			return s
		}
	}
	return ""
}

// Service is something bookable.
type Service struct {
	ID           string        `json:"id"`
	Name         Text          `json:"name"`
	Aliases      []string      `json:"aliases,omitempty"` // other words people use for it, any language
	Description  Text          `json:"description,omitempty"`
	Duration     time.Duration `json:"duration"`
	BufferBefore time.Duration `json:"buffer_before,omitempty"`
	BufferAfter  time.Duration `json:"buffer_after,omitempty"`
	Interval     time.Duration `json:"interval"` // distance between starts
	Price        money.Amount  `json:"price"`
	Deposit      money.Amount  `json:"deposit"` // zero: nothing due before confirmation
	Staff        []string      `json:"staff"`   // ids of who offers it
	Hidden       bool          `json:"hidden,omitempty"`
	// Capacity is how many bookings one start takes. Above one the service is a
	// group session: it occupies its staff and resources once.
	Capacity int `json:"capacity,omitempty"`
	// Needs names what is reserved together with the staff, each an id or a kind
	// of resource. Two needs of one kind are two resources.
	Needs []string `json:"needs,omitempty"`
	// DayInterval takes the place of Interval on some weekdays, by time.Weekday.
	DayInterval map[int]time.Duration `json:"day_interval,omitempty"`
	// Starts, when there are any, take the place of the grid: the only starts of a
	// weekday, by time.Weekday.
	Starts map[int][]Clock `json:"starts,omitempty"`
}

// Group reports whether several bookings share one start.
func (s Service) Group() bool { return s.Capacity > 1 }

// Staff is someone whose time is booked.
type Staff struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Aliases []string `json:"aliases,omitempty"`
}

// interval is the distance between a weekday's starts in minutes, at least one.
func (s Service) interval(day time.Weekday) int {
	step := s.Interval
	if own, ok := s.DayInterval[int(day)]; ok {
		step = own
	}
	return max(1, int(step/time.Minute))
}

// starts lists the wall-clock starts of a weekday in order.
func (s Service) starts(day time.Weekday) []Clock {
	if len(s.Starts) > 0 {
		return s.Starts[int(day)]
	}
	step := s.interval(day)
	out := make([]Clock, 0, dayMinutes/step)
	for c := 0; c < dayMinutes; c += step {
		out = append(out, Clock(c))
	}
	return out
}

// Resource is something a visit needs beside its staff: a room, a chair.
type Resource struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// Serves reports whether the resource is what a service's need names.
func (r Resource) Serves(need string) bool { return r.ID == need || r.Kind == need }
