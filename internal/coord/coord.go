// Package coord coordinates work: Pump runs what is due, and Hot is what
// processes share to run it well. All of it may be lost at any moment at the
// cost of speed only; what must be right is right in the database.
//
// Local is the hot tier of one process and needs nothing outside it; package
// coord/redis is that of several. The package imports only leaves.
package coord

import (
	"context"
	"time"
)

// Hot is the hot tier: what the processes of one installation share that may
// be lost at any moment. It is safe for concurrent use. Names, keys and topics
// are the caller's; each kind has a space of its own.
type Hot interface {
	Locks
	Dedupe
	Cache
	Fanout
	Buckets

	// Ping tells whether the tier answers now.
	Ping(ctx context.Context) error
	// Close ends subscriptions and gives back what the tier holds.
	Close() error
}

// Locks are named locks. A lock spares two processes the same work; it proves
// nothing, because it may run out or be lost while its holder works. Where
// being right depends on it, the fence is compared with the highest one seen.
type Locks interface {
	// Lock takes a lock for ttl. A lock that somebody else holds is ok=false and
	// no error.
	Lock(ctx context.Context, name string, ttl time.Duration) (l Lock, ok bool, err error)
	// Extend lets a lock run out ttl from now. It is ok=false when the lock had
	// run out or was lost.
	Extend(ctx context.Context, l Lock, ttl time.Duration) (ok bool, err error)
	// Unlock gives a lock back. One that is no longer held is left alone.
	Unlock(ctx context.Context, l Lock) error
}

// Lock is a lock as it was taken.
type Lock struct {
	Name string
	// Fence is higher than that of every earlier holder of this name, also when
	// the tier has forgotten them.
	Fence int64
}

// Dedupe spares doing again what is already durable. It forgets: whoever asks
// must be right without it.
type Dedupe interface {
	// Remember notes for ttl that key was done. It is called once the thing is
	// durable, never before.
	Remember(ctx context.Context, key string, ttl time.Duration)
	// Seen tells whether key is remembered. What cannot be asked was not seen.
	Seen(ctx context.Context, key string) bool
}

// MaxValue is the largest value a Cache takes, in bytes.
const MaxValue = 64 << 10

// Cache keeps small values for a short time.
type Cache interface {
	// Get returns a value, and whether there is one. An outage is a miss.
	Get(ctx context.Context, key string) (value []byte, ok bool)
	// Set keeps a value for ttl at most. One larger than MaxValue is not kept,
	// nor is an older one under its key.
	Set(ctx context.Context, key string, value []byte, ttl time.Duration)
	// Delete removes a value. After an error the old value may be read until its
	// time is over.
	Delete(ctx context.Context, key string) error
}

// Note is what a subscriber is told.
type Note struct {
	Payload []byte
	// Gap, without a payload, says that notes before this one may be missing:
	// read again what they would have told. Every subscription begins with one.
	Gap bool
}

// Fanout tells every process what one of them says.
type Fanout interface {
	// Publish tells who is subscribed to topic. After an error nobody was told,
	// or it is not known.
	Publish(ctx context.Context, topic string, payload []byte) error
	// Subscribe calls f, one note at a time and in order, until ctx ends or the
	// tier is closed; then it returns. It outlives outages. Notes wait while f
	// runs; too many of them become a gap. Payloads belong to nobody: f must not
	// change them.
	Subscribe(ctx context.Context, topic string, f func(Note))
}

// Buckets are token buckets shared by all processes.
type Buckets interface {
	// Bucket returns the buckets of that name. A name has one rate everywhere.
	Bucket(name string, rate Rate) Taker
}

// Taker takes tokens from buckets that have a key each.
type Taker interface {
	// Take takes a token and returns zero, or takes none and returns how long to
	// wait for one. now is the machine's time; a tier with a clock of its own
	// goes by that. In an outage each process counts for itself.
	Take(ctx context.Context, key string, now time.Time) time.Duration
}
