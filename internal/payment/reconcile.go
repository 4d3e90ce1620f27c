package payment

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/money"
)

// Entry is what an app's own rows say was paid for something: a booking, say.
type Entry struct {
	Subject   string
	ContactID ids.ContactID
	Receipt   string // "" where no payment is named
	Paid      money.Amount
}

// Difference is what a disagreement is about.
type Difference string

// The differences that a reconciliation looks for.
const (
	OpenTooLong     Difference = "open_too_long"    // no word, and nobody gave it up
	UnusedPayment   Difference = "unused_payment"   // money that paid for nothing and does not go back
	UnknownPayment  Difference = "unknown_payment"  // something is paid by a payment nobody knows
	OtherAmount     Difference = "other_amount"     // what is noted as paid is not what came
	NoReceipt       Difference = "no_receipt"       // a query said paid, and no callback brought the receipt
	RefundOpen      Difference = "refund_open"      // asked back, and no word
	RefundMissing   Difference = "refund_missing"   // the return failed, or nobody spoke of it
	PaymentMismatch Difference = "payment_mismatch" // money that does not fit what was asked for
	SurplusPayment  Difference = "surplus_payment"  // money beyond the one payment
)

// Disagreement is one thing that does not add up. Key is the same for the same
// disagreement, however often it is found, and where the conversation raised a
// task for it already, that task's.
type Disagreement struct {
	What      Difference    `json:"what"`
	Key       string        `json:"key"`
	AttemptID string        `json:"attempt_id,omitempty"`
	Subject   string        `json:"subject"`
	ContactID ids.ContactID `json:"contact_id"`
	Detail    string        `json:"detail"`
}

// patience is how long after its time something may still be on its way before a
// reconciliation finds fault with it.
const patience = 15 * time.Minute

// Reconcile compares attempts, with what callbacks and queries made of them, and
// what is noted as paid. known are attempts by their receipt beyond those in
// attempts. It decides nothing about money: each disagreement is for a person.
func Reconcile(attempts []Attempt, entries []Entry, known map[string]Attempt, now time.Time) []Disagreement {
	byReceipt, used, paidFor := map[string]Attempt{}, map[string]bool{}, map[string]bool{}
	maps.Copy(byReceipt, known)
	for _, a := range attempts {
		if a.Receipt != "" {
			byReceipt[a.Receipt] = a
		}
	}
	var out []Disagreement
	for _, e := range entries {
		used[e.Receipt], paidFor[e.Subject] = true, true
		out = append(out, entryFaults(e, byReceipt)...)
	}
	for _, a := range attempts {
		out = append(out, attemptFaults(a, now, used[a.Receipt] && a.Receipt != "" || a.Receipt == "" && paidFor[a.Subject])...)
	}
	slices.SortFunc(out, func(x, y Disagreement) int { return cmp.Or(cmp.Compare(x.Key, y.Key), cmp.Compare(x.What, y.What)) })
	return out
}

func entryFaults(e Entry, byReceipt map[string]Attempt) []Disagreement {
	found := func(what Difference, format string, args ...any) []Disagreement {
		return []Disagreement{{
			What: what, Key: string(what) + ":" + e.Subject, Subject: e.Subject, ContactID: e.ContactID, Detail: fmt.Sprintf(format, args...),
		}}
	}
	a, ok := byReceipt[e.Receipt]
	switch {
	case e.Receipt == "":
		return nil // its attempt is told of, if it has no receipt either
	case !ok:
		return found(UnknownPayment, "%s is noted as paid by %s, which nobody knows", e.Paid, e.Receipt)
	case a.Amount != e.Paid:
		return found(OtherAmount, "%s is noted as paid by %s, which was %s", e.Paid, e.Receipt, a.Amount)
	}
	return nil
}

// attemptFaults looks at an attempt; used says whether something is paid by it.
func attemptFaults(a Attempt, now time.Time, used bool) []Disagreement {
	var out []Disagreement
	add := func(what Difference, key, format string, args ...any) {
		out = append(out, Disagreement{
			What: what, Key: key, AttemptID: a.ID, Subject: a.Subject, ContactID: a.ContactID, Detail: fmt.Sprintf(format, args...),
		})
	}
	late := func(at time.Time) bool { return now.After(at.Add(patience)) }
	refund := "refund:" + cmp.Or(a.Receipt, a.Subject)
	switch at, waiting := CloseAt(a); {
	case waiting && late(at):
		add(OpenTooLong, "open:"+a.ID, "%s is open since %s", a.Amount, a.SentAt.UTC().Format(time.RFC3339))
	case a.Status == Created && late(a.CreatedAt.Add(time.Hour)):
		add(OpenTooLong, "open:"+a.ID, "%s was never sent", a.Amount)
	case a.Status == Mismatched && late(a.SettledAt):
		add(PaymentMismatch, "mismatch:"+a.ID, "%s was asked for, and receipt %s does not fit", a.Amount, a.Receipt)
	case a.Status == Succeeded && a.Receipt == "" && late(a.SettledAt):
		add(NoReceipt, "receipt:"+a.ID, "%s was paid by the provider's word, and no receipt came", a.Amount)
	}
	if a.Status == Succeeded && a.Refund == nil && !used && late(a.SettledAt) {
		add(UnusedPayment, refund, "%s, receipt %s, pays for nothing", a.Amount, a.Receipt)
	}
	for _, r := range a.Surplus {
		add(SurplusPayment, "mismatch:"+a.ID, "receipt %s came beyond the payment %s", r, a.Receipt)
	}
	if r := a.Refund; r != nil {
		at, awaited := RefundCloseAt(a)
		switch {
		case awaited && late(at), r.Status == RefundWanted && late(r.WantedAt.Add(time.Hour)):
			add(RefundOpen, refund, "%s should go back since %s", r.Amount, r.WantedAt.UTC().Format(time.RFC3339))
		case r.Status == RefundFailed || r.Status == RefundUnanswered:
			add(RefundMissing, refund, "%s could not be returned, or nobody said whether it was", r.Amount)
		}
	}
	return out
}

// AskAgain reports whether a reconciliation has the provider asked once more
// about an attempt that ended without any word of its payer.
func AskAgain(a Attempt) bool {
	return a.CheckoutID != "" && (a.Status == UnknownClosed || a.Status == Succeeded && a.Receipt == "" && a.Provider.Linked())
}
