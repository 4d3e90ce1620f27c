package coord

import (
	"sync"
	"time"
)

// Rate is a token bucket's shape: one token every Every, at most Burst saved.
type Rate struct {
	Every time.Duration
	Burst int
}

// Limiter keeps token buckets by key. It is safe for concurrent use. Buckets
// follow real time; the caller passes it.
type Limiter struct {
	rate Rate

	mu      sync.Mutex
	buckets map[string]time.Time // when the bucket is full again
}

// maxBuckets bounds memory: full buckets are forgotten beyond it.
const maxBuckets = 100_000

// NewLimiter returns a limiter whose buckets are full.
func NewLimiter(rate Rate) *Limiter { return &Limiter{rate: rate, buckets: map[string]time.Time{}} }

// Take takes a token and returns zero, or takes none and returns how long to
// wait for one.
func (l *Limiter) Take(key string, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.buckets) > maxBuckets {
		for k, at := range l.buckets {
			if at.Before(now) {
				delete(l.buckets, k)
			}
		}
	}
	at := l.buckets[key]
	if at.Before(now) {
		at = now
	}
	if wait := at.Sub(now) - l.rate.Every*time.Duration(l.rate.Burst-1); wait > 0 {
		return wait
	}
	l.buckets[key] = at.Add(l.rate.Every)
	return 0
}
