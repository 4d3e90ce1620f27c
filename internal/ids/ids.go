// Package ids makes identifiers and names their kinds.
//
// An identifier is a ULID: sortable by the time it was made. Inside a turn,
// identifiers come from a Source seeded with recorded bytes, so that a replay
// draws the same ones. The package imports only leaves.
package ids

import (
	"crypto/rand"
	"encoding/base64"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

// The kinds of identifier. Each is a ULID except where its comment says otherwise.
type (
	// TenantID names a business.
	TenantID string
	// ContactID names a customer or admin within one tenant.
	ContactID string
	// ThreadID names one piece of business; events call it conversation_id.
	ThreadID string
	// TurnID names one turn of a thread.
	TurnID string
	// MailboxKey is opaque: what messages and timers wait under.
	MailboxKey string
)

// Seed is the recorded randomness of a turn.
type Seed [32]byte

// NewSeed draws a seed from the system's randomness.
func NewSeed() Seed {
	var s Seed
	_, _ = rand.Read(s[:]) // crypto/rand.Read never fails (documented since Go 1.24).
	return s
}

// Source makes identifiers from a seed at a fixed time. The same seed and time
// give the same sequence. It is safe for concurrent use.
type Source struct {
	at time.Time

	mu     sync.Mutex
	stream *mathrand.ChaCha8
}

// NewSource returns a source of identifiers stamped with at.
func NewSource(seed Seed, at time.Time) *Source {
	return &Source{at: at, stream: mathrand.NewChaCha8(seed)}
}

// Clone returns a source that goes on from here on its own, so that work that
// may be done again draws the same.
func (s *Source) Clone() *Source {
	s.mu.Lock()
	defer s.mu.Unlock()
	stream := *s.stream
	return &Source{at: s.at, stream: &stream}
}

// New returns a new ULID.
func (s *Source) New() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return ulid.MustNew(ulid.Timestamp(s.at), s.stream).String()
}

// Token returns n random bytes in unpadded base64url: unguessable when n is 16
// or more.
func (s *Source) Token(n int) string {
	b := make([]byte, n)
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.stream.Read(b) // ChaCha8.Read never fails.
	return base64.RawURLEncoding.EncodeToString(b)
}

// codeAlphabet leaves out letters and digits that people confuse when they
// read a code aloud or copy it by hand.
const codeAlphabet = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"

// Code returns a human code of n characters.
func (s *Source) Code(n int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := make([]byte, n)
	for i := range b {
		b[i] = codeAlphabet[s.stream.Uint64()%uint64(len(codeAlphabet))]
	}
	return string(b)
}

// New returns a ULID stamped with at, from the system's randomness.
func New(at time.Time) string { return NewSource(NewSeed(), at).New() }
