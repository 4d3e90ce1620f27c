package coord

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
)

// What Local may hold, in bytes.
const (
	cacheRoom = 32 << 20
	seenRoom  = 16 << 20
)

// Local is the hot tier of a single process. It does not fail.
type Local struct {
	real clock.Clock
	hub  *Hub

	mu      sync.Mutex
	fence   int64
	locks   map[string]local
	prune   int // how many locks are looked through for those that ran out
	seen    *shelf
	cache   *shelf
	buckets map[string]*Limiter
}

// local is a lock's state.
type local struct {
	fence int64
	until time.Time
}

// minPrune is the number of locks that are kept without a look.
const minPrune = 1024

// NewLocal returns an empty tier that follows the machine's clock.
func NewLocal(real clock.Clock) *Local {
	return &Local{
		real: real, hub: NewHub(), locks: map[string]local{}, prune: minPrune,
		seen: newShelf(seenRoom), cache: newShelf(cacheRoom), buckets: map[string]*Limiter{},
	}
}

// Lock implements Locks.
func (l *Local) Lock(_ context.Context, name string, ttl time.Duration) (Lock, bool, error) {
	now := l.real.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.locks[name].until.After(now) {
		return Lock{}, false, nil
	}
	if len(l.locks) >= l.prune {
		for n, held := range l.locks {
			if !held.until.After(now) {
				delete(l.locks, n)
			}
		}
		l.prune = max(minPrune, 2*len(l.locks))
	}
	// The time keeps fences rising over a restart of the process.
	l.fence = max(l.fence+1, now.UnixMicro())
	l.locks[name] = local{l.fence, now.Add(ttl)}
	return Lock{name, l.fence}, true, nil
}

// Extend implements Locks.
func (l *Local) Extend(_ context.Context, lock Lock, ttl time.Duration) (bool, error) {
	now := l.real.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	held := l.locks[lock.Name]
	if held.fence != lock.Fence || !held.until.After(now) {
		return false, nil
	}
	l.locks[lock.Name] = local{held.fence, now.Add(ttl)}
	return true, nil
}

// Unlock implements Locks.
func (l *Local) Unlock(_ context.Context, lock Lock) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.locks[lock.Name].fence == lock.Fence {
		delete(l.locks, lock.Name)
	}
	return nil
}

// Remember implements Dedupe.
func (l *Local) Remember(_ context.Context, key string, ttl time.Duration) {
	until := l.real.Now().Add(ttl)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen.put(item{key: key, until: until})
}

// Seen implements Dedupe.
func (l *Local) Seen(_ context.Context, key string) bool {
	now := l.real.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.seen.get(key, now)
	return ok
}

// Get implements Cache.
func (l *Local) Get(_ context.Context, key string) ([]byte, bool) {
	now := l.real.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	value, ok := l.cache.get(key, now)
	return bytes.Clone(value), ok
}

// Set implements Cache.
func (l *Local) Set(_ context.Context, key string, value []byte, ttl time.Duration) {
	until := l.real.Now().Add(ttl)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(value) > MaxValue {
		l.cache.del(key)
		return
	}
	l.cache.put(item{key, bytes.Clone(value), until})
}

// Delete implements Cache.
func (l *Local) Delete(_ context.Context, key string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cache.del(key)
	return nil
}

// Publish implements Fanout.
func (l *Local) Publish(_ context.Context, topic string, payload []byte) error {
	l.hub.Tell(topic, Note{Payload: bytes.Clone(payload)})
	return nil
}

// Subscribe implements Fanout.
func (l *Local) Subscribe(ctx context.Context, topic string, f func(Note)) {
	l.hub.Listen(ctx, topic, func() bool { return true }, f)
}

// Bucket implements Buckets.
func (l *Local) Bucket(name string, rate Rate) Taker {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.buckets[name] == nil {
		l.buckets[name] = NewLimiter(rate)
	}
	return l.buckets[name]
}

// Ping implements Hot.
func (l *Local) Ping(context.Context) error { return nil }

// Close implements Hot.
func (l *Local) Close() error {
	l.hub.Close()
	return nil
}
