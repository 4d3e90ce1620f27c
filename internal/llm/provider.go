package llm

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Provider asks one vendor's models. It is safe for concurrent use, does not
// retry, and returns only errors that are or wrap an *Error. The deadline is
// the context's.
type Provider interface {
	Complete(ctx context.Context, call Call) (Answer, error)
}

// SchemaChecker is the extra ability of a provider that can tell before the
// first call whether it can express a schema in its own dialect.
type SchemaChecker interface {
	CheckSchema(s *Schema) error
}

// Call is one attempt, as a provider sees it.
type Call struct {
	Model     string
	Effort    string // reasoning effort; empty sends none
	System    string
	Messages  []Message
	Schema    *Schema // nil asks for free text or tools
	Tools     []Tool
	MustCall  bool     // one of the tools has to be called
	Texts     []string // to be embedded, and nothing else asked
	MaxTokens int
	// Deterministic asks for temperature 0. It is set only for models that
	// still take sampling parameters.
	Deterministic bool
}

// Answer is what a provider returned, before validation.
type Answer struct {
	Text string
	// ToolCalls are what the model asks for, not yet validated.
	ToolCalls []ToolCall
	Vectors   [][]float32 // of Call.Texts, in their order
	// Usage counts what was billed. Metered tells a usage of zero from a
	// response that carried none.
	Usage   Usage
	Metered bool
	// ProviderID is the provider's own id of the response.
	ProviderID string
}

// Class sorts provider errors by what a caller may do about them.
type Class string

// The classes.
const (
	Timeout        Class = "timeout"         // no answer in time; may have been billed
	Rate           Class = "rate"            // too many requests; worth waiting for
	Quota          Class = "quota"           // credit or spend limit; waiting does not help
	Server         Class = "server"          // the provider's fault, or it cannot be reached
	Refused        Class = "refused"         // the model declined
	Truncated      Class = "truncated"       // the answer hit its token limit
	Malformed      Class = "malformed"       // not JSON, not the schema, or not the protocol
	InvalidRequest Class = "invalid_request" // our request is at fault
	Auth           Class = "auth"            // the key is missing, wrong or not allowed
	Cancelled      Class = "cancelled"       // the caller gave up; may have been billed
	OutOfOrder     Class = "out_of_order"    // every provider that could be asked is skipped for a while
	NotAllowed     Class = "not_allowed"     // the request's tiers leave no model
)

// Error is a failed attempt. Its text names class, provider, status and the
// provider's own code, and never holds what the provider wrote freely, because
// that may quote the customer or the key.
type Error struct {
	Class      Class
	Provider   string
	Status     int           // HTTP status, 0 when there was none
	Code       string        // the provider's machine-readable code or type
	RetryAfter time.Duration // what the provider asked for; 0 when it did not say
	// Usage and Metered are as in Answer: truncated, refused and malformed
	// answers are billed.
	Usage   Usage
	Metered bool
	// MayBeBilled reports that the provider may have charged although it sent
	// no usage. Such an attempt is settled as an estimate.
	MayBeBilled bool
	// Text is what the model had written, for the ledger, and Complaint why it
	// was refused, for the model. Neither is part of the error's text.
	Text      string
	Complaint string
	Cause     error
}

// Error describes the failure for an operator.
func (e *Error) Error() string {
	s := e.Provider + ": " + string(e.Class)
	if e.Status != 0 {
		s += fmt.Sprintf(" (http %d)", e.Status)
	}
	if e.Code != "" {
		s += " " + e.Code
	}
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// ClassOf returns the class of the first *Error in err's chain, or the empty
// class when there is none.
func ClassOf(err error) Class {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Class
	}
	return ""
}
