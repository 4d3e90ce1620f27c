package llm

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"time"

	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/money"
)

// Ledger keeps every attempt. It is safe for concurrent use.
type Ledger interface {
	// Lookup returns the newest record of the tenant whose outcome is OK and
	// whose request hash is requestHash, or nil when there is none.
	Lookup(ctx context.Context, tenant ids.TenantID, requestHash string) (*Record, error)
	// Record stores one attempt. The router calls it exactly once per attempt,
	// also when the caller's context is already over.
	Record(ctx context.Context, rec Record) error
}

// Record is one attempt, the row of llm_calls.
type Record struct {
	ID            string
	Role          Role
	Tenant        ids.TenantID
	Thread        ids.ThreadID
	Turn          ids.TurnID
	Tier          int // 0 for classifications made by code
	Provider      string
	Model         string
	PromptVersion string
	Usage         Usage
	// Estimated reports that Usage and Cost are the worst case of an attempt
	// whose bill is unknown.
	Estimated  bool
	Cost       money.Pico
	Latency    time.Duration
	Outcome    Outcome
	Confidence *float64 // nil when the answer states none
	CanaryArm  string
	Account    Account
	TaskID     string // empty outside procedures
	Step       string // empty outside procedures
	// Answer is what the model wrote, whatever the outcome: a valid answer is
	// reused by a repeated turn, an invalid one explains its cost.
	Answer        string
	RequestHash   string
	At            time.Time
	FailureSignal string // confident_unknown, fsm_rejected, customer_contradicted
}

// Hash identifies the request within its turn. Every field counts, so a
// changed prompt or schema is a new request; the ladder does not, so an answer
// outlives a change of roles.
func (r Request) Hash() string {
	h := hasher{Hash: sha256.New()}
	h.text(string(r.Tenant), string(r.Thread), string(r.Turn), string(r.Role),
		string(r.account()), r.PromptVersion, r.TaskID, r.Step, r.System)
	h.number(len(r.Messages))
	for _, m := range r.Messages {
		h.text(m.Role, m.Content)
	}
	if r.Schema != nil {
		h.text(r.Schema.Name(), string(r.Schema.Raw()))
	} else {
		h.text("", "")
	}
	h.number(r.MaxTokens)
	h.number(r.Seq)
	return hex.EncodeToString(h.Sum(nil))
}

func (r Request) account() Account {
	if r.Account == "" {
		return AccountThread
	}
	return r.Account
}

// hasher writes fields with their lengths in front, so that no two lists of
// fields share an encoding. Writing to a hash cannot fail.
type hasher struct{ hash.Hash }

func (h hasher) number(n int) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n)) //nolint:gosec // any bijection will do.
	_, _ = h.Write(b[:])
}

func (h hasher) text(fields ...string) {
	for _, f := range fields {
		h.number(len(f))
		_, _ = h.Write([]byte(f))
	}
}
