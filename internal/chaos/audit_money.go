package chaos

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/sim/journal"
)

// noCloser is how long an attempt may stay open without word.
const noCloser = 5 * time.Minute

// owned is an attempt with its business.
type owned struct {
	*attemptRow
	b *books
}

// money checks every prompt and every charge of the provider against the books.
func (a *audit) money(all []*books) {
	byToken, byCheckout, byReceipt := map[string]owned{}, map[string]owned{}, map[string]owned{}
	for _, b := range all {
		for i := range b.attempts {
			at := owned{&b.attempts[i], b}
			byToken[at.token], byCheckout[at.checkout], byReceipt[at.receipt] = at, at, at
			for _, r := range at.surplus {
				byReceipt[r] = at
			}
		}
	}
	prompts := map[string]int{} // by attempt
	paidBy := map[string]owned{}
	for _, e := range a.e.Journal {
		switch e.Kind {
		case journal.PushAccepted:
			at, ok := byToken[tokenOf(e.URL)]
			if !ok {
				a.find(MoneyLost, "", "prompt %s to %s belongs to no attempt", e.ID, e.Phone)
				continue
			}
			paidBy[e.ID] = at
			if prompts[at.id]++; prompts[at.id] == 2 {
				a.find(MoneyDoubled, at.b.slug, "attempt %s prompted its payer more than once", at.id)
			}
		case journal.PromptEnded:
			if e.Receipt != "" {
				a.charged(e, byReceipt[e.Receipt], paidBy[e.ID])
			}
		case journal.SendAccepted, journal.SendRefused, journal.SendFailed, journal.MarkedRead, journal.StatusPosted,
			journal.InboundPosted, journal.PushRefused, journal.CallbackPost, journal.Queried, journal.CardPosted, journal.CardUpdated, journal.Whispered, journal.CardRefused, journal.TapPosted, journal.OrderAccepted,
			journal.OrderRefused, journal.OrderEnded, journal.NotifyPosted, journal.ReversalAsked, journal.ReversalTold, journal.ReversalRefused,
			journal.RefundAsked:
		}
	}
	for _, b := range all {
		a.credited(b)
		a.confirmations(b, prompts)
	}
}

// tokenOf is the stored form of the secret in a callback's address.
func tokenOf(address string) string {
	_, secret, _ := strings.Cut(address[strings.LastIndexByte(address, '/')+1:], ".")
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// charged checks that one charge is settled: on its attempt, and as a paid
// booking, a visit moved or cancelled since, or a task for a person.
func (a *audit) charged(e journal.Entry, by, prompted owned) {
	if by.attemptRow == nil {
		slug := ""
		if prompted.b != nil {
			slug = prompted.b.slug
		}
		a.find(MoneyLost, slug, "%s paid %d (receipt %s, prompt %s) and no attempt has it", e.Phone, e.Amount, e.Receipt, e.ID)
		return
	}
	if by.status != "succeeded" && by.status != "mismatched" {
		a.find(MoneyLost, by.b.slug, "receipt %s is on attempt %s, which is %s", e.Receipt, by.id, by.status)
		return
	}
	if by.b.hasTask("refund:"+e.Receipt) || by.b.hasTask("refund:"+by.subject) || by.b.hasTask("mismatch:"+by.id) {
		return
	}
	for _, bk := range by.b.bookings {
		// Who was told by a query has no receipt for the booking.
		pays := bk.receipt == e.Receipt || bk.receipt == "" && bk.id == by.subject
		if pays && bk.paid == 100*e.Amount && bk.status != "held" && bk.status != "expired" && bk.status != "pending_payment" {
			return
		}
	}
	a.find(MoneyLost, by.b.slug, "%s paid %d (receipt %s, attempt %s, booking %s): no paid booking and no task has it",
		e.Phone, e.Amount, e.Receipt, by.id, by.subject)
}

func (b *books) hasTask(key string) bool {
	return slices.ContainsFunc(b.tasks, func(t taskRow) bool { return t.key == key })
}

// credited checks that no payment counts for two bookings, and no booking is
// paid without one.
func (a *audit) credited(b *books) {
	seen := map[string]string{}
	for _, bk := range b.bookings {
		if bk.receipt == "" {
			if bk.paid > 0 && !slices.ContainsFunc(b.attempts, func(at attemptRow) bool {
				return at.subject == bk.id && at.status == "succeeded" && at.amount == bk.paid
			}) {
				a.find(MoneyDoubled, b.slug, "booking %s has %d paid, and no attempt for it succeeded", bk.id, bk.paid)
			}
			continue
		}
		if other := seen[bk.receipt]; other != "" {
			a.find(MoneyDoubled, b.slug, "receipt %s pays for bookings %s and %s", bk.receipt, other, bk.id)
		}
		seen[bk.receipt] = bk.id
		i := slices.IndexFunc(b.attempts, func(at attemptRow) bool { return at.receipt == bk.receipt })
		if i < 0 || b.attempts[i].amount != bk.paid {
			a.find(MoneyDoubled, b.slug, "booking %s has %d paid with receipt %s, which is on no attempt of that amount", bk.id, bk.paid, bk.receipt)
		}
	}
}

// confirmations checks the attempts of each booking against each other: never
// two prompts at once, and of two payments one is given back.
func (a *audit) confirmations(b *books, prompts map[string]int) {
	bySubject := map[string][]attemptRow{}
	for _, at := range b.attempts {
		if live(at.status) && a.e.Stopped.Sub(at.created) > noCloser {
			a.find(Leaked, b.slug, "attempt %s of %s is still %s", at.id, stamp(at.created), at.status)
		}
		for _, other := range bySubject[at.subject] {
			both := prompts[at.id] > 0 && prompts[other.id] > 0
			if both && (other.settled.IsZero() || other.settled.After(at.created)) && !lateSuccess(other) {
				a.find(MoneyDoubled, b.slug, "booking %s was prompted by attempt %s while %s was open", at.subject, at.id, other.id)
			}
			if at.status == "succeeded" && other.status == "succeeded" &&
				!b.hasTask("refund:"+at.receipt) && !b.hasTask("refund:"+other.receipt) {
				a.find(MoneyDoubled, b.slug, "booking %s was paid by attempts %s and %s and nothing is given back", at.subject, other.id, at.id)
			}
		}
		bySubject[at.subject] = append(bySubject[at.subject], at)
	}
}

func live(status string) bool {
	return status == "created" || status == "sending" || status == "prompted" || status == "unknown"
}

// lateSuccess reports that an attempt's end was rewritten by money that came
// later, so that it does not say when the attempt ended first.
func lateSuccess(at attemptRow) bool { return at.status == "succeeded" || at.status == "mismatched" }
