// Package tool is the registry of named actions.
//
// A tool is a folder: definition.json (the shape an MCP server lists, and the
// only schema), metadata.yaml (version, owner, safety class, audit) and a
// handler. The registry checks all of them when it is built and hands out
// nothing if one is faulty; handlers are reached through it alone, so that an
// irreversible tool cannot run without a recorded confirmation of exactly its
// arguments. A failure the caller can act on is a result; an infrastructure
// failure is an error. The package imports leaves, vocabulary and graph.
package tool

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/tenant"
)

// Safety is a tool's class.
type Safety string

// Safety classes. A read runs at once. A write runs inside the commit and is
// idempotent by its arguments. An irreversible one needs a Grant.
const (
	Read         Safety = "read"
	Write        Safety = "write"
	Irreversible Safety = "irreversible"
)

// Env is what a handler may use. Reads get a snapshot and a nil Tx; writes run
// inside the turn's commit.
type Env struct {
	Q       db.Q
	Tx      db.Tx // nil for reads
	Now     time.Time
	IDs     *ids.Source
	Tenant  *tenant.Tenant
	Contact contact.Contact
	Thread  ids.ThreadID
	Turn    ids.TurnID
	// Enqueue writes an effect beside the tool's own rows: a payment prompt, a
	// status query. Nil for reads. The effect is carried out after commit under
	// the key, once.
	Enqueue func(ctx context.Context, e Effect) error
	// SetTimer sets a timer of the contact that belongs to no thread, or removes
	// it when at is zero. The app's graph of notices gets it. Nil for reads.
	SetTimer func(name string, at time.Time, data any)
	// Answered tells who has answered in a thread so far: code alone when nobody.
	// Nil for reads.
	Answered func(ctx context.Context, th ids.ThreadID) ([]Answered, error)
}

// Answered is a model's part in a thread: the seam it was asked at, the version
// of its prompt, and the arm of a canary rollout, "" outside one.
type Answered struct {
	Role   string `json:"role"`
	Prompt string `json:"prompt"`
	Arm    string `json:"arm,omitempty"`
}

// Effect is something a write wants done outside, after commit.
type Effect struct {
	Lane    string    // kind of channel: "mpesa"; with the contact it orders effects
	Kind    string    // what the outbox's carrier switches on: "payment.prompt"
	Key     string    // idempotency key, unique per tenant
	Payload any       // encoded as JSON
	Expires time.Time // zero: never
}

// Handler does a tool's work. args were validated against the definition.
type Handler func(ctx context.Context, env Env, args json.RawMessage) (graph.Result, error)

// Tool is one folder's content.
type Tool struct {
	Definition []byte // definition.json
	Metadata   []byte // metadata.yaml
	Handler    Handler
	Args       any // zero value of the argument struct, checked against the schema
}

// Typed makes a Handler of a function over the argument struct.
func Typed[A any](fn func(ctx context.Context, env Env, args A) (graph.Result, error)) Handler {
	return func(ctx context.Context, env Env, raw json.RawMessage) (graph.Result, error) {
		var a A
		if err := json.Unmarshal(raw, &a); err != nil {
			return graph.Result{Code: "invalid_arguments", Sentence: err.Error()}, nil //nolint:nilerr // a bad argument is a result: whoever called can put it right.
		}
		return fn(ctx, env, a)
	}
}

// OK makes a successful result carrying data.
func OK(data any) (graph.Result, error) {
	raw, err := json.Marshal(data)
	if err != nil {
		return graph.Result{}, err
	}
	return graph.Result{OK: true, Data: raw}, nil
}

// Conflict makes a result the caller can act on. A write that answers it rolls
// the commit back. data may be nil.
func Conflict(code, sentence, next string, data any) (graph.Result, error) {
	raw, err := json.Marshal(data)
	if err != nil {
		return graph.Result{}, err
	}
	return graph.Result{Code: code, Sentence: sentence, Next: next, Data: raw}, nil
}

// Grant is why an irreversible call may run.
type Grant struct {
	By     string // "confirmation" or "policy"
	Ref    string // the confirmation's nonce or the policy's name
	Digest string // graph.Call.Digest of exactly what was confirmed; policies leave it empty
}
