package payment

import (
	"fmt"
	"time"
)

// FreeAt returns from when on a phone may be sent another prompt, not after now
// when it may be at once. on is what Ledger.OnPhone knows of it since
// BetweenPrompts ago, whatever was to be paid: a payer who gave up one booking
// and makes another still has the first question on the phone. Where a prompt is
// still on its way, the answer is when to ask again.
func FreeAt(on []Attempt, now time.Time) time.Time {
	free := now
	for _, a := range on {
		from := a.CreatedAt
		switch {
		case a.Provider.Linked():
			continue // it is on no phone
		case a.Status == Created:
			from = now
		case a.Status == Withdrawn || a.Status == Succeeded || a.Outcome == Rejected:
			continue // it was not sent, or its answer was the PIN
		case a.SentAt.After(from):
			from = a.SentAt
		}
		if at := from.Add(BetweenPrompts); at.After(free) {
			free = at
		}
	}
	return free
}

// Begin marks a created attempt as being sent. It reports false when the attempt
// is in any other state: then nothing may be sent.
func Begin(a Attempt, now time.Time) (Attempt, bool) {
	if a.Status != Created {
		return a, false
	}
	a.Status, a.SentAt = Sending, now
	return a, true
}

// Accept notes the provider's acknowledgement. An outcome that came before it
// stands; the provider's ids are kept either way.
func Accept(a Attempt, acc Accepted) Attempt {
	a.MerchantID, a.CheckoutID = acc.MerchantID, acc.CheckoutID
	if a.Status == Sending || a.Status == Unknown {
		a.Status = Prompted
	}
	return a
}

// Lose notes that the provider's answer was lost. An outcome that came before
// stands.
func Lose(a Attempt) Attempt {
	if a.Status == Sending {
		a.Status = Unknown
	}
	return a
}

// Withdraw ends an attempt that was not sent. It reports false when it may have
// been.
func Withdraw(a Attempt, now time.Time) (Attempt, bool) {
	if a.Status != Created {
		return a, false
	}
	a.Status, a.SettledAt = Withdrawn, now
	return a, true
}

// NudgeEvery is the least time between two queries of one attempt for which
// somebody's claim is the reason. Whoever may claim is not known, so that this
// bounds what one can make us ask.
const NudgeEvery = 10 * time.Second

// Nudge has the provider asked about an attempt, whatever state it is in,
// because somebody claims that there is news: a claim is believed no further. One
// that comes before the provider's acknowledgement waits for it. It reports
// false when there is nothing to ask about, or it is to be asked anyway.
func Nudge(a Attempt, now time.Time) (Attempt, bool) {
	at := now
	if next := a.AskedAt.Add(NudgeEvery); !a.AskedAt.IsZero() && next.After(now) {
		at = next
	}
	if !a.AskAt.IsZero() && !a.AskAt.After(at) || a.CheckoutID == "" && !a.Status.Live() {
		return a, false
	}
	a.AskAt = at
	return a, true
}

// scheduled is when the schedule has the provider asked next.
func scheduled(a Attempt) (time.Time, bool) {
	after, more := queryAfter(a, a.Queries)
	if a.Status != Prompted || a.CheckoutID == "" || !more {
		return time.Time{}, false
	}
	return a.SentAt.Add(after), true
}

// NextQuery returns when to ask the provider about an attempt whose word is
// missing or claimed, never before now. It reports false when there is nothing
// to ask: the attempt has ended, has no checkout id, or was asked often enough,
// and nobody claims that there is news. Whoever asks counts it with Asked.
func NextQuery(a Attempt, now time.Time) (time.Time, bool) {
	due, ask := scheduled(a)
	if a.CheckoutID != "" && !a.AskAt.IsZero() && (!ask || a.AskAt.Before(due)) {
		due, ask = a.AskAt, true
	}
	if !ask || due.After(now) {
		return due, ask
	}
	return now, true
}

// NextCheck returns when to look at an attempt again: to ask the provider about
// it, or to give it up; zero when it has ended.
func NextCheck(a Attempt, now time.Time) time.Time {
	next, _ := CloseAt(a)
	if at, ask := NextQuery(a, now); ask {
		next = at
	}
	if at, waiting := RefundCloseAt(a); waiting && (next.IsZero() || at.Before(next)) {
		next = at
	}
	return next
}

// Asks reports what a check that has come is for at now: to ask the provider,
// or to give the attempt up. Neither when its word came meanwhile.
func Asks(a Attempt, now time.Time) (ask, giveUp bool) {
	if _, ask := NextQuery(a, now); ask {
		return true, false
	}
	at, waiting := CloseAt(a)
	return false, waiting && !now.Before(at)
}

// Asked notes a query made at now. One that only a claim was the reason for
// does not count among those of the schedule.
func Asked(a Attempt, now time.Time) Attempt {
	if due, ask := scheduled(a); a.AskAt.IsZero() || ask && !due.After(now) {
		a.Queries++
	}
	a.AskAt, a.AskedAt = time.Time{}, now
	return askOfRefund(a, now)
}

// askAgain is when a query that nobody answered is made again for the claim that
// was its reason, askAgainFor how long after the attempt was sent that goes on.
const (
	askAgain    = 30 * time.Second
	askAgainFor = 24 * time.Hour
)

// Unanswered notes a query made at now that had no answer. A claim that was its
// reason stands.
func Unanswered(a Attempt, now time.Time) Attempt {
	claimed := !a.AskAt.IsZero()
	a = Asked(a, now)
	if claimed && now.Before(a.SentAt.Add(askAgainFor)) {
		a.AskAt = now.Add(askAgain)
	}
	return a
}

// Check tells one look at an attempt from all others: every change after which
// the attempt is looked at again is to another state, or is another query. Two
// looks may fall due at the same time, when CloseAt has passed before the
// provider's answer is noted.
func Check(a Attempt) string {
	check := fmt.Sprintf("%s %d", a.Status, a.Queries)
	if !a.AskAt.IsZero() {
		check = fmt.Sprintf("%s %d", check, a.AskAt.UnixMicro())
	}
	if a.Refund != nil {
		check += " " + string(a.Refund.Status)
	}
	return check
}

// CloseAt returns when an attempt that was sent and had no word is given up. It
// reports false when the attempt is not waiting for word.
func CloseAt(a Attempt) (time.Time, bool) {
	if !a.Status.Live() || a.Status == Created {
		return time.Time{}, false
	}
	return closes(a), true
}

// Close gives up an attempt whose CloseAt has come: it becomes UnknownClosed,
// its thread is told that nobody answered in time, and a new attempt may begin. A
// success that still comes is Late.
func Close(a Attempt, now time.Time) (Attempt, Settled, bool) {
	at, waiting := CloseAt(a)
	if !waiting || now.Before(at) {
		return a, Settled{}, false
	}
	a.Status, a.Outcome, a.SettledAt = UnknownClosed, closedAs(a), now
	return a, Settled{AttemptID: a.ID, Subject: a.Subject, Kind: a.Outcome}, true
}
