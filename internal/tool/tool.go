// Package tool is the registry of named actions.
//
// A tool is a folder: definition.json (the shape an MCP server lists, and the
// only schema), metadata.yaml (version, owner, safety class, audit, least role)
// and a handler. The registry checks all of them when it is built and hands out
// nothing if one is faulty; handlers are reached through it alone, so that an
// irreversible tool cannot run without a recorded confirmation of exactly its
// arguments by whoever asks. A failure the caller can act on is a result; an
// infrastructure failure is an error. The package imports leaves, vocabulary,
// outbox and graph.
package tool

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"time"

	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/tenant"
)

// Safety is a tool's class.
type Safety string

// Safety classes. A read runs at once. A write runs inside the commit and is
// idempotent by its arguments; a tenant may want people of the business to
// confirm it. An irreversible one needs a Grant.
const (
	Read         Safety = "read"
	Write        Safety = "write"
	Irreversible Safety = "irreversible"
)

// Customer is the role of whoever is not one of the business's people.
const Customer tenant.Role = "customer"

// Actor is in whose name a call is made. The zero Actor is a customer.
type Actor struct {
	ID    string // a customer's contact id, an admin's phone
	Role  tenant.Role
	Name  string
	Staff string // the member of staff whose calendar is theirs, "" for none
}

// Business reports whether the actor is one of the business's people.
func (a Actor) Business() bool { return a.Role == tenant.Staff || a.Role == tenant.Owner }

// Admin is the actor that an admin is.
func Admin(a tenant.Admin) Actor {
	return Actor{ID: a.Phone, Role: a.Role, Name: a.Name, Staff: a.Calendar()}
}

// Env is what a handler may use. Reads get a snapshot and a nil Tx; writes run
// inside the turn's commit.
type Env struct {
	Q       db.Q
	Tx      db.Tx // nil for reads
	Now     time.Time
	IDs     *ids.Source
	Tenant  *tenant.Tenant
	Contact contact.Contact // whom the call is for; zero when the business itself asks
	Actor   Actor
	At      Place
	Thread  ids.ThreadID
	Turn    ids.TurnID
	// Enqueue writes an effect beside the tool's own rows: a payment prompt, a
	// message. Nil for reads. The effect is carried out after commit under the
	// key, once.
	Enqueue func(ctx context.Context, e Effect) error
	// SetTimer sets a timer of the contact that belongs to no thread, or removes
	// it when at is zero. The app's graph of notices gets it. Nil for reads.
	SetTimer func(name string, at time.Time, data any)
	// Answered tells who has answered in a thread so far: code alone when nobody.
	// Nil for reads.
	Answered func(ctx context.Context, th ids.ThreadID) ([]Answered, error)

	granted bool // set by the registry alone
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
	Lane    string        // kind of channel: "mpesa"; with the contact it orders effects
	Contact ids.ContactID // whose lane it is in; "" is the turn's own contact
	Origin  outbox.Origin // "" is outbox.Payment
	Kind    string        // what the outbox's carrier switches on: "payment.prompt"
	Key     string        // idempotency key, unique per tenant
	Payload any           // encoded as JSON
	Expires time.Time     // zero: never
}

// Handler does a tool's work. It is made by Typed or Guarded; the zero Handler
// is none.
type Handler struct {
	run     func(ctx context.Context, env Env, args json.RawMessage) (graph.Result, error)
	args    reflect.Type
	guarded bool
}

// Run does the work of a handler outside a registry, for tests of handlers. One
// that is Guarded answers ErrNotConfirmed: only a registry can grant it.
func (h Handler) Run(ctx context.Context, env Env, args json.RawMessage) (graph.Result, error) {
	env.granted = false
	return h.run(ctx, env, args)
}

// Tool is one folder's content.
type Tool struct {
	Definition []byte // definition.json
	Metadata   []byte // metadata.yaml
	Handler    Handler
	Args       any // zero value of the argument struct, checked against the schema
	// Preview says what a call would do, in numbers and names, before a person
	// confirms it. It only reads. A refusal is what the call itself would answer.
	// The zero Handler: the arguments say all.
	Preview Handler
}

// Typed makes a Handler of a function over the argument struct.
func Typed[A any](fn func(ctx context.Context, env Env, args A) (graph.Result, error)) Handler {
	return Handler{args: reflect.TypeFor[A](), run: func(ctx context.Context, env Env, raw json.RawMessage) (graph.Result, error) {
		var a A
		if err := json.Unmarshal(raw, &a); err != nil {
			return graph.Result{Code: InvalidArguments, Sentence: err.Error()}, nil //nolint:nilerr // a bad argument is a result: whoever called can put it right.
		}
		return fn(ctx, env, a)
	}}
}

// Guarded makes a Handler that works only under a grant of the registry. An
// irreversible tool must have one.
func Guarded[A any](fn func(ctx context.Context, env Env, args A) (graph.Result, error)) Handler {
	h := Typed(fn)
	work := h.run
	h.guarded = true
	h.run = func(ctx context.Context, env Env, raw json.RawMessage) (graph.Result, error) {
		if !env.granted {
			return graph.Result{}, ErrNotConfirmed
		}
		return work(ctx, env, raw)
	}
	return h
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

// Codes of results that the registry itself answers.
const (
	InvalidArguments = "invalid_arguments"
	NotPermitted     = "not_permitted" // not this role's, or not here: see Table
)

// Faults of a call. They are defects of the caller, not results.
var (
	ErrUnknown      = errors.New("tool: no such tool")
	ErrNotConfirmed = errors.New("tool: a call without its actor's confirmation of these arguments")
	ErrNotRead      = errors.New("tool: only a read may run outside the commit")
)
