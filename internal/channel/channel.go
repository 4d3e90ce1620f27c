// Package channel is the contract between the product and the networks people
// write on: how a message goes out, how a message is marked read, how a file is
// fetched, and what may go wrong.
//
// It promises nothing about order or repetition: whoever calls it decides from
// an Error's class whether to repeat. Extra abilities of a network are extra
// one-method interfaces, found by assertion. The package imports only leaves
// and vocabulary.
package channel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/message"
)

// Provider is the company through which a network is reached.
type Provider string

// The providers of WhatsApp.
const (
	Meta      Provider = "meta"      // the Cloud API itself
	Dialog360 Provider = "360dialog" // the Cloud API behind 360dialog
)

// Account is a business number at its provider and the key to it.
type Account struct {
	Provider Provider
	Number   string // the provider's id of the number, not the number people dial
	BaseURL  string // without a version; the provider's public address when empty
	Token    string // a secret: never logged
	Business string // the provider's id of the business account that owns the templates; "" when not known
}

// String names the account without its token.
func (a Account) String() string { return string(a.Provider) + ":" + a.Number }

// GoString keeps the token out of %#v.
func (a Account) GoString() string { return a.String() }

// Sender delivers messages. It is safe for concurrent use.
type Sender interface {
	// Send hands one message to the provider and returns the provider's id for
	// it. to holds every identity known of the receiver. opaque is echoed in the
	// receipts of the message where the provider can do that. Every error is an
	// *Error. A message over a limit is refused with class Defect before
	// anything is sent.
	Send(ctx context.Context, a Account, to []contact.Identity, out message.Outbound, opaque string) (providerID string, err error)
}

// Marker marks inbound messages as read. It is safe for concurrent use.
type Marker interface {
	// MarkRead marks a message and those before it as read. With typing it also
	// shows the sender that an answer is being written. Every error is an
	// *Error; repeating a mark is harmless.
	MarkRead(ctx context.Context, a Account, providerID string, typing bool) error
}

// Media is a downloaded file.
type Media struct {
	MIME  string // what the bytes are, never what the sender claimed
	Bytes []byte
}

// Fetcher downloads files that people sent. It is safe for concurrent use.
type Fetcher interface {
	// Fetch downloads an attachment by its provider's id. A file that is too
	// large, of a type the product does not take, or not what it claims to be is
	// refused with class Permanent. Every error is an *Error.
	Fetch(ctx context.Context, a Account, attachmentID string) (Media, error)
}

// Template is a message template as a provider has it.
type Template struct {
	Name       string
	Language   string
	Category   string // utility, marketing, authentication; lower case
	Status     string // approved, pending, rejected, paused, ...; lower case
	Body       string
	Parameters int // of the body
	Buttons    int // quick replies
}

// Templater lists the templates of an account. It is safe for concurrent use.
type Templater interface {
	// Templates returns all templates of the account, whatever their status.
	// Every error is an *Error; an account without Business, where the provider
	// needs one, is class Defect.
	Templates(ctx context.Context, a Account) ([]Template, error)
}

// Uploader stores a file with the provider, so that it can be sent. It is safe
// for concurrent use.
type Uploader interface {
	// Upload returns the provider's id of the file, for message.Attachment.ID.
	// Every error is an *Error; uploading twice harms nobody.
	Upload(ctx context.Context, a Account, m Media, filename string) (attachmentID string, err error)
}

// Class says what follows from a failed call.
type Class string

// Classes of failure.
const (
	Permanent Class = "permanent" // this message will not be taken; repeating is useless
	Rate      Class = "rate"      // the number or account sends too much: wait, then repeat
	PairRate  Class = "pair_rate" // too much to this one person: wait 4^attempt seconds
	Transient Class = "transient" // nothing was taken; the same request may work later
	Window    Class = "window"    // the receiver was silent for more than 24 hours: use a template

	// Undeliverable: the receiver cannot be reached on this network, or only
	// through another identity. Use another way.
	Undeliverable Class = "undeliverable"

	// Unknown: the request may have been accepted. Its answer was lost, came too
	// late, or said nothing. Repeating it blindly may deliver it twice, so wait
	// for a receipt that carries our opaque value first.
	Unknown Class = "unknown"

	Defect Class = "defect" // the message breaks a rule of the network: ours to repair
	Auth   Class = "auth"   // key, permission or billing: the operator must act
)

// Error is a failed call to a provider. It holds no address, key or text of a
// message.
type Error struct {
	Class      Class
	Code       int           // the provider's code, 0 when there was none
	Detail     string        // for the operator, bounded, without personal data where the provider allows
	RetryAfter time.Duration // the least time to wait before a repetition, 0 when not known
	Cause      error         // what failed below, or nil
}

// Error implements error.
func (e *Error) Error() string {
	s := "channel: " + string(e.Class)
	if e.Code != 0 {
		s += fmt.Sprintf(" (code %d)", e.Code)
	}
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Retryable reports whether the same request may be sent again later without
// the risk of delivering it twice. Unknown is not retryable.
func (e *Error) Retryable() bool {
	return e.Class == Rate || e.Class == PairRate || e.Class == Transient
}

// ClassOf returns the class of the outermost *Error in err's chain, "" for nil
// and Unknown for an error that carries none.
func ClassOf(err error) Class {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Class
	}
	return Unknown
}
