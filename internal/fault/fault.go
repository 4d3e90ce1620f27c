// Package fault gives an error a code for machines and a sentence for people.
//
// An error that carries no fault is internal: the person reads a plain
// apology, the operator reads the cause. Codes are mapped to HTTP statuses or
// to chat text once, at the edge. The package imports only the standard
// library.
package fault

import (
	"errors"
	"fmt"
)

// Code classifies a fault for machines.
type Code string

// The codes a caller may branch on.
const (
	Internal     Code = "internal"
	Invalid      Code = "invalid"
	NotFound     Code = "not_found"
	Conflict     Code = "conflict"
	Unauthorized Code = "unauthorized"
	Forbidden    Code = "forbidden"
	TooLarge     Code = "too_large"
	RateLimited  Code = "rate_limited"
	Unavailable  Code = "unavailable"
)

// Error is a fault: a code, a sentence a person may read, and the cause that
// only the operator reads.
type Error struct {
	Code     Code
	Sentence string
	Cause    error
}

// Error returns the sentence followed by the cause, for logs.
func (e *Error) Error() string {
	if e.Cause == nil {
		return e.Sentence
	}
	return fmt.Sprintf("%s: %v", e.Sentence, e.Cause)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// E makes a fault without a cause.
func E(code Code, sentence string) *Error { return &Error{Code: code, Sentence: sentence} }

// Wrap makes a fault out of a cause.
func Wrap(cause error, code Code, sentence string) *Error {
	return &Error{Code: code, Sentence: sentence, Cause: cause}
}

// CodeOf returns the code of the outermost fault in err's chain, Internal if
// there is none, and the empty code for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Internal
}

// SentenceOf returns what a person may read about err. An internal error
// yields a plain sentence without its cause.
func SentenceOf(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok && e.Code != Internal {
		return e.Sentence
	}
	return "Something went wrong on our side."
}
