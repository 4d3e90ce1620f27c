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
}

// Staff is someone whose time is booked.
type Staff struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Aliases []string `json:"aliases,omitempty"`
}

// interval is the distance between starts in minutes, at least one.
func (s Service) interval() int { return max(1, int(s.Interval/time.Minute)) }
