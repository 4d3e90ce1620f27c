// Package payment is the truth about money: what was asked for, what came in,
// and what follows from it.
//
// An attempt is stored before a prompt is sent. A success callback is
// authoritative in every state; a query never overrides it. Decisions are pure
// functions here; rows are kept by a Ledger, the provider is reached through a
// Gateway. The package imports leaves, vocabulary and engines, and no adapter.
package payment

import (
	"context"
	"time"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/money"
)

// Status is an attempt's state.
type Status string

// Attempt states. Created has sent nothing; Sending is marked before the
// provider is asked; Prompted was accepted by the provider; Unknown lost the
// provider's answer. The rest are final, except that a success may still
// arrive for any of them.
const (
	Created       Status = "created"
	Sending       Status = "sending"
	Prompted      Status = "prompted"
	Unknown       Status = "unknown"
	Succeeded     Status = "succeeded"
	Failed        Status = "failed"
	Mismatched    Status = "mismatched"     // money came that does not fit the attempt
	Withdrawn     Status = "withdrawn"      // never sent
	UnknownClosed Status = "unknown_closed" // no word came in time
	TakenBack     Status = "reversed"       // the provider gave the money back
)

// Live reports whether a prompt may still be on the payer's phone.
func (s Status) Live() bool {
	return s == Created || s == Sending || s == Prompted || s == Unknown
}

// Attempt is one request for money.
type Attempt struct {
	ID         string        `json:"id"`
	Thread     ids.ThreadID  `json:"thread_id"`
	ContactID  ids.ContactID `json:"contact_id"`
	Subject    string        `json:"subject"` // what it pays for: a booking's id
	Provider   Rail          `json:"provider"`
	Reference  string        `json:"reference"` // RTB-<slug>-<ULID>, ours alone
	Account    string        `json:"account"`   // at most 12 characters, shown to the payer
	Amount     money.Amount  `json:"amount"`
	Phone      string        `json:"phone"` // E.164 of the payer
	TokenHash  string        `json:"-"`     // SHA-256 of the callback URL's secret, hex
	MerchantID string        `json:"merchant_request_id"`
	CheckoutID string        `json:"checkout_request_id"`
	Status     Status        `json:"status"`
	Outcome    Kind          `json:"outcome"`
	Receipt    string        `json:"receipt"`
	Surplus    []string      `json:"surplus,omitempty"` // receipts of money beyond the one payment: to be given back
	Queries    int           `json:"queries"`           // how often the provider was asked
	CreatedAt  time.Time     `json:"created_at"`
	SentAt     time.Time     `json:"sent_at"`
	Until      time.Time     `json:"until"`    // a link's end; zero for a prompt
	AskAt      time.Time     `json:"ask_at"`   // when to ask because there may be news; zero for no reason
	AskedAt    time.Time     `json:"asked_at"` // the last query

	Refund      *Refund   `json:"refund,omitempty"` // its return, nil when none was decided
	RefundToken string    `json:"-"`                // SHA-256 of the secret that the refund's result comes with, hex
	SettledAt   time.Time `json:"settled_at"`
}

// Kind is how an attempt ended, in the provider-neutral vocabulary.
type Kind string

// Outcomes.
const (
	Pending       Kind = "pending" // the provider is still working on it
	Offered       Kind = "offered" // there is a link to pay by: nothing has happened yet
	Success       Kind = "success"
	Declined      Kind = "cancelled" // the payer pressed cancel
	WrongPIN      Kind = "wrong_pin"
	NoFunds       Kind = "insufficient"
	TimedOut      Kind = "timeout" // no answer from the phone; may still succeed late
	PromptExpired Kind = "expired"
	Busy          Kind = "busy"     // the payer has another session open
	Limit         Kind = "limit"    // over a limit of the payer or the provider
	Rejected      Kind = "rejected" // the provider refused the request: nothing was sent
	OtherFailure  Kind = "failed"
	Reversed      Kind = "reversed" // the provider gave the money back to the payer
	Refunded      Kind = "refunded" // we had it given back
	NotRefunded   Kind = "refund_failed"
)

// Outcome is what a provider said about an attempt.
type Outcome struct {
	Kind       Kind         `json:"kind"`
	MerchantID string       `json:"merchant_request_id,omitempty"`
	CheckoutID string       `json:"checkout_request_id,omitempty"`
	Code       string       `json:"code"` // the provider's own
	Detail     string       `json:"detail,omitempty"`
	Receipt    string       `json:"receipt,omitempty"`
	Amount     money.Amount `json:"amount"`
	Phone      string       `json:"phone,omitempty"` // as the provider wrote it
	Link       string       `json:"link,omitempty"`  // of Offered: the page to pay on
}

// Source is where an outcome came from.
type Source string

// Sources of outcomes.
const (
	FromCallback Source = "callback"
	FromQuery    Source = "query"
	FromPrompt   Source = "prompt" // the answer to the prompt request itself
	FromClose    Source = "close"  // nobody said anything in time: Close decides
	FromRefund   Source = "refund" // of a refund, which SettleRefund reads
	RefundClose  Source = "refund_close"
)

// Prompt is a request to ask a payer for money. Every rail has what it needs
// in it.
type Prompt struct {
	Amount      money.Amount
	Reference   string // ours alone, unique
	Phone       string // E.164
	Account     string // at most 12 characters
	Description string // at most 13 characters
	CallbackURL string // where the provider tells the outcome; may hold the attempt's secret: never log it
	ReturnURL   string // where the payer's browser goes after paying, on rails with a page
}

// Accepted is the provider's acknowledgement of a prompt. Accepted is not paid.
// Link is the page to pay on, on rails that have one.
type Accepted struct{ MerchantID, CheckoutID, Link string }

// Gateway reaches a payment provider. It is safe for concurrent use.
type Gateway interface {
	// Prompt asks for money. A *RejectedError means nothing reached the phone;
	// any other error leaves an unknown that only waiting or a query resolves.
	Prompt(ctx context.Context, p Prompt) (Accepted, error)
	// Query asks what became of a prompt. Pending is an outcome, not an error.
	Query(ctx context.Context, checkoutID string) (Outcome, error)
}

// RejectedError is a refusal by the provider before anything reached the phone.
type RejectedError struct {
	Code      string
	Detail    string
	Transient bool // the same request may be accepted later
}

// Error implements error.
func (e *RejectedError) Error() string { return "payment prompt rejected: " + e.Code + " " + e.Detail }

// Ledger keeps attempts. Every method runs inside the caller's transaction.
type Ledger interface {
	Insert(ctx context.Context, tx db.Tx, a Attempt) error
	// Update writes all of a that may change after it was inserted. It answers a
	// fault.Conflict when the checkout id or receipt belongs to another attempt.
	Update(ctx context.Context, tx db.Tx, a Attempt) error
	// BySubject returns the attempts for a subject, newest first.
	BySubject(ctx context.Context, q db.Q, subject string) ([]Attempt, error)
	// OnPhone returns the attempts for a payer's phone that are live, or were
	// made or sent at since or later, newest first. Until the transaction ends
	// nobody else is told of the same phone, so that of two who would both ask
	// it for money the second sees the first.
	OnPhone(ctx context.Context, tx db.Tx, phone string, since time.Time) ([]Attempt, error)
	// ByReceipt returns the attempt that a receipt paid, or a fault.NotFound.
	ByReceipt(ctx context.Context, q db.Q, receipt string) (Attempt, error)
	// ByID returns an attempt or a fault.NotFound.
	ByID(ctx context.Context, q db.Q, id string) (Attempt, error)
	// Locked is ByID that keeps others from changing the attempt until the
	// transaction ends.
	Locked(ctx context.Context, tx db.Tx, id string) (Attempt, error)
}

// EffectPrompt is the effect that sends a created attempt to the payer's
// phone; its payload is EffectPayload. EffectQuery asks what became of it.
const (
	EffectPrompt = "payment.prompt"
	EffectQuery  = "payment.query"
)

// EffectPayload names the attempt an effect is about.
type EffectPayload struct {
	AttemptID string `json:"attempt_id"`
}

// Settled is the event a thread receives when an attempt got an outcome: the
// data of a graph event of kind "payment" whose name is the outcome's Kind.
type Settled struct {
	AttemptID string       `json:"attempt_id"`
	Subject   string       `json:"subject"`
	Kind      Kind         `json:"kind"`
	Amount    money.Amount `json:"amount"` // what came in
	Receipt   string       `json:"receipt"`
	Mismatch  bool         `json:"mismatch"` // amount or payer differ: a person must look
	Late      bool         `json:"late"`     // success after the attempt had ended otherwise
	Link      string       `json:"link,omitempty"`
	Human     bool         `json:"human,omitempty"` // a human drove when it came: what becomes of it is theirs to decide
}

// Report is a provider's word on an attempt, as it waits in the payer's mailbox.
type Report struct {
	Source  Source  `json:"source"`
	Outcome Outcome `json:"outcome"`
}
