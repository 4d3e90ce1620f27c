package payment

import (
	"context"
	"time"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/money"
)

// RefundStatus is how far the return of a payment has come.
type RefundStatus string

// States of a refund. Wanted has asked nobody; Sending is marked before the
// provider is asked; Asked was acknowledged, and its result is awaited; Unknown
// lost the acknowledgement: it is never asked for again, because it may have
// been heard. The rest are final, except that a success may still arrive for
// Unanswered.
const (
	RefundWanted     RefundStatus = "wanted"
	RefundSending    RefundStatus = "sending"
	RefundAsked      RefundStatus = "asked"
	RefundUnknown    RefundStatus = "unknown"
	RefundDone       RefundStatus = "done"
	RefundFailed     RefundStatus = "failed"
	RefundUnanswered RefundStatus = "unanswered"
)

// Refund is the return of an attempt's payment. There is one for an attempt at
// most, so that no payment is returned twice by us.
type Refund struct {
	Amount       money.Amount `json:"amount"`
	Reason       string       `json:"reason"`
	Status       RefundStatus `json:"status"`
	Conversation string       `json:"conversation,omitempty"` // the provider's name for it
	Code         string       `json:"code,omitempty"`
	Receipt      string       `json:"receipt,omitempty"` // of the return itself
	WantedAt     time.Time    `json:"wanted_at"`
	SentAt       time.Time    `json:"sent_at"`
	SettledAt    time.Time    `json:"settled_at"`
}

// awaits reports whether the provider's word on a refund may still come.
func (r *Refund) awaits() bool {
	return r != nil && (r.Status == RefundSending || r.Status == RefundAsked || r.Status == RefundUnknown)
}

// Return is a request to give a payment back, wholly or in part.
type Return struct {
	Receipt    string // the payment's
	Amount     money.Amount
	Reason     string
	ResultURL  string // holds a secret: never log it
	TimeoutURL string // as ResultURL
}

// Refunder is a Gateway that gives payments back. A *RejectedError means that
// nothing was taken on; any other error leaves an unknown that only waiting
// resolves. The word is heard later.
type Refunder interface {
	Refund(ctx context.Context, r Return) (conversation string, err error)
}

// EffectRefund is the effect that asks for a refund; its payload is EffectPayload.
const EffectRefund = "payment.refund"

// Times of a refund, after it was asked for: how long its word is awaited before
// a person is asked, and how often a provider that does not call is asked. A
// card's refund is approved by people of the provider.
const (
	refundWait       = 30 * time.Minute
	refundWaitLinked = 7 * 24 * time.Hour
	refundAsk        = 12 * time.Hour
)

// WantRefund decides that an attempt's payment is given back. It refuses one
// that is not there, is not known by a receipt, is less, or goes back already:
// a fault.Conflict.
func WantRefund(a Attempt, amount money.Amount, reason string, now time.Time) (Attempt, error) {
	switch {
	case a.Refund != nil:
		return a, fault.E(fault.Conflict, "That payment is being returned already.")
	case a.Status != Succeeded || a.Receipt == "":
		return a, fault.E(fault.Conflict, "There is no payment that could be returned.")
	case amount.Minor <= 0 || amount.Minor > a.Amount.Minor || amount.Currency != a.Amount.Currency:
		return a, fault.E(fault.Conflict, "That is not what was paid.")
	}
	a.Refund = &Refund{Amount: amount, Reason: reason, Status: RefundWanted, WantedAt: now}
	return a, nil
}

// changed returns a copy of the attempt's refund to change.
func (a *Attempt) changed() *Refund {
	r := *a.Refund
	a.Refund = &r
	return &r
}

// BeginRefund marks a refund as being asked for, under the hash of the secret
// its result comes with. It reports false when it is in any other state: then
// nothing may be asked.
func BeginRefund(a Attempt, tokenHash string, now time.Time) (Attempt, bool) {
	if a.Refund == nil || a.Refund.Status != RefundWanted {
		return a, false
	}
	r := a.changed()
	r.Status, r.SentAt = RefundSending, now
	a.RefundToken = tokenHash
	return a, true
}

// AcceptRefund notes the provider's acknowledgement.
func AcceptRefund(a Attempt, conversation string, now time.Time) Attempt {
	if a.Refund == nil {
		return a
	}
	r := a.changed()
	r.Conversation = conversation
	if r.Status == RefundSending {
		r.Status = RefundAsked
	}
	return askOfRefund(a, now)
}

// LoseRefund notes that the acknowledgement was lost.
func LoseRefund(a Attempt, now time.Time) Attempt {
	if a.Refund != nil && a.Refund.Status == RefundSending {
		a.changed().Status = RefundUnknown
	}
	return askOfRefund(a, now)
}

// askOfRefund has a provider asked that tells a refund's end only so.
func askOfRefund(a Attempt, now time.Time) Attempt {
	if a.Provider.Linked() && a.Refund.awaits() && a.AskAt.IsZero() {
		a.AskAt = now.Add(refundAsk)
	}
	return a
}

// SettleRefund returns what a provider's word on a refund makes of the attempt,
// and what its thread is told. A success stands in every state and is told once;
// so is the failure of what was awaited.
func SettleRefund(a Attempt, o Outcome, now time.Time) (Attempt, Settled, bool) {
	if a.Refund == nil || a.Refund.Status == RefundDone || o.Kind == Pending {
		return a, Settled{}, false
	}
	told := Settled{AttemptID: a.ID, Subject: a.Subject, Kind: Refunded, Amount: a.Refund.Amount, Receipt: o.Receipt}
	if o.Kind == Success {
		r := a.changed()
		r.Status, r.Code, r.Receipt, r.SettledAt = RefundDone, o.Code, o.Receipt, now
		return a, told, true
	}
	if !a.Refund.awaits() {
		return a, Settled{}, false
	}
	r := a.changed()
	r.Status, r.Code, r.SettledAt = RefundFailed, o.Code, now
	if o.Kind == TimedOut {
		r.Status = RefundUnanswered
	}
	told.Kind, told.Receipt = NotRefunded, a.Receipt
	return a, told, true
}

// RefundCloseAt returns when a refund without a word is given to a person. It
// reports false when none is awaited.
func RefundCloseAt(a Attempt) (time.Time, bool) {
	wait := refundWait
	if a.Provider.Linked() {
		wait = refundWaitLinked
	}
	if !a.Refund.awaits() {
		return time.Time{}, false
	}
	return a.Refund.SentAt.Add(wait), true
}

// CloseRefund gives a refund up whose RefundCloseAt has come.
func CloseRefund(a Attempt, now time.Time) (Attempt, Settled, bool) {
	if at, waiting := RefundCloseAt(a); !waiting || now.Before(at) {
		return a, Settled{}, false
	}
	return SettleRefund(a, Outcome{Kind: TimedOut}, now)
}
