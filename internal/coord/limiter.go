package coord

import (
	"context"
	"sync"
	"time"
)

// Rate is a token bucket's shape: one token every Every, at most Burst saved.
type Rate struct {
	Every time.Duration
	Burst int
}

// Limiter keeps token buckets by key in this process. It is a Taker and safe
// for concurrent use. Buckets follow real time; the caller passes it.
type Limiter struct {
	rate Rate

	mu      sync.Mutex
	buckets map[string]time.Time // when the bucket is full again
	prune   int                  // how many buckets are looked through for full ones
}

// minBuckets is how many buckets are kept without a look. Beyond it full ones
// are forgotten each time the number has doubled.
const minBuckets = 100_000

// NewLimiter returns a limiter whose buckets are full.
func NewLimiter(rate Rate) *Limiter {
	return &Limiter{rate: rate, buckets: map[string]time.Time{}, prune: minBuckets}
}

// Take implements Taker.
func (l *Limiter) Take(_ context.Context, key string, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.buckets) > l.prune {
		for k, at := range l.buckets {
			if at.Before(now) {
				delete(l.buckets, k)
			}
		}
		l.prune = max(minBuckets, 2*len(l.buckets))
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
