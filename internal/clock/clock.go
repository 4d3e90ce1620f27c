// Package clock is the only place that reads the time of day.
//
// Timers, windows, holds and thread lifetimes follow the product's clock, which
// a demo may move. Leases, rate buckets and HTTP deadlines follow real time.
// Pure code takes the time as a value instead of a Clock.
package clock

import (
	"sync"
	"time"
)

// Clock tells the time. It is safe for concurrent use.
type Clock interface{ Now() time.Time }

// Real is the machine's clock, in UTC.
type Real struct{}

// Now returns the machine's time in UTC.
func (Real) Now() time.Time { return time.Now().UTC() }

// Movable is a clock that runs with its base, or a number of times faster, and
// can be set forward. Used by the demo and by tests.
type Movable struct {
	base  Clock
	start time.Time
	pace  float64

	mu     sync.Mutex
	offset time.Duration
}

// NewMovable returns a clock that agrees with base now and runs pace times as
// fast; a pace of 1 or less runs with the base.
func NewMovable(base Clock, pace float64) *Movable {
	return &Movable{base: base, start: base.Now(), pace: max(pace, 1)}
}

// Now returns the time the clock shows.
func (m *Movable) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now()
}

func (m *Movable) now() time.Time {
	base := m.base.Now()
	if m.pace > 1 {
		base = m.start.Add(time.Duration(float64(base.Sub(m.start)) * m.pace))
	}
	return base.Add(m.offset)
}

// SetForward moves the clock to at. A time that is not ahead changes nothing:
// the clock never runs backwards.
func (m *Movable) SetForward(at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if d := at.Sub(m.now()); d > 0 {
		m.offset += d
	}
}

// Fixed is a clock that stands still until it is set. Used by tests.
type Fixed struct {
	mu  sync.Mutex
	now time.Time
}

// NewFixed returns a clock that stands at now.
func NewFixed(now time.Time) *Fixed { return &Fixed{now: now.UTC()} }

// Now returns the time the clock stands at.
func (f *Fixed) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

// Set puts the clock at now, forwards or backwards.
func (f *Fixed) Set(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = now.UTC()
}

// Add moves the clock by d.
func (f *Fixed) Add(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}
