package llm

import (
	"sync"
	"time"
)

// A breaker opens after so many failures in a row, for so long at first, and
// for twice as long after each probe that fails. A spent quota opens it at once
// and for longer, because somebody has to pay a bill first.
const (
	breakerFailures = 5
	breakerPause    = 15 * time.Second
	breakerLongest  = 5 * time.Minute
	quotaPause      = 2 * time.Minute
)

// breaker keeps calls from a provider that keeps failing. Once its pause is
// over it lets a single call through and decides by how that one ends.
type breaker struct {
	mu      sync.Mutex
	fails   int           // in a row
	pause   time.Duration // of the last opening
	until   time.Time     // open until then; zero when closed
	probing bool          // the single call is on its way
}

// turn is what a breaker did.
type turn struct {
	opened, closed bool
	pause          time.Duration
}

// allow says whether a call may be made now, and whether it is the single one
// of an open breaker. Whoever is allowed reports how the call ended, once.
func (b *breaker) allow(now time.Time) (allowed, probe bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.until.IsZero() {
		return true, false
	}
	if b.probing || now.Before(b.until) {
		return false, false
	}
	b.probing = true
	return true, true
}

// report takes the end of an allowed call: the class of its error, the empty
// class when it went well. What says nothing about the provider (the caller
// went, or nothing was sent) leaves the breaker as it is; so does the end of a
// call from before the opening, unless it makes it longer.
func (b *breaker) report(class Class, probe bool, now time.Time) turn {
	b.mu.Lock()
	defer b.mu.Unlock()
	if probe {
		b.probing = false
	}
	switch class {
	case Cancelled, OutOfOrder, NotAllowed:
		return turn{}
	case Quota:
		return b.open(quotaPause, probe, now)
	case Timeout, Server, Auth:
		b.fails++
		if probe || b.until.IsZero() && b.fails >= breakerFailures {
			return b.open(breakerPause, probe, now)
		}
		return turn{}
	case Rate, Refused, Truncated, Malformed, InvalidRequest, "":
	}
	b.fails = 0 // it answers
	if !probe {
		return turn{}
	}
	b.until, b.pause = time.Time{}, 0
	return turn{closed: true}
}

// open opens for at least pause, after a probe for twice as long as before.
func (b *breaker) open(pause time.Duration, probe bool, now time.Time) turn {
	if probe {
		pause = max(pause, min(2*b.pause, breakerLongest))
	}
	if !now.Add(pause).After(b.until) {
		return turn{}
	}
	b.pause, b.until = pause, now.Add(pause)
	return turn{opened: true, pause: pause}
}
