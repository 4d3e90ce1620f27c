package payment

import "time"

// Times of a prompt, after it was sent. PromptLife is how long the question
// stays on the payer's phone at most; the queries ask for a missing callback;
// closeAfter leaves a callback two minutes after the prompt is gone.
const (
	PromptLife = 90 * time.Second
	closeAfter = PromptLife + 2*time.Minute
)

// queryAfter is the time from the sending of a prompt to its n-th query.
func queryAfter(n int) (time.Duration, bool) {
	switch n {
	case 0:
		return 25 * time.Second, true
	case 1:
		return 50 * time.Second, true
	case 2:
		return PromptLife, true
	}
	return 0, false
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

// NextQuery returns when to ask the provider about a prompt whose callback is
// missing, never before now. It reports false when there is nothing to ask: the
// attempt has ended, has no checkout id, or was asked often enough. Whoever asks
// raises a.Queries.
func NextQuery(a Attempt, now time.Time) (time.Time, bool) {
	after, more := queryAfter(a.Queries)
	if a.Status != Prompted || a.CheckoutID == "" || !more {
		return time.Time{}, false
	}
	if due := a.SentAt.Add(after); due.After(now) {
		return due, true
	}
	return now, true
}

// CloseAt returns when an attempt that was sent and had no word is given up. It
// reports false when the attempt is not waiting for word.
func CloseAt(a Attempt) (time.Time, bool) {
	if !a.Status.Live() || a.Status == Created {
		return time.Time{}, false
	}
	return a.SentAt.Add(closeAfter), true
}

// Close gives up an attempt whose CloseAt has come: it becomes UnknownClosed,
// its thread is told TimedOut, and a new attempt may begin. A success that still
// comes is Late.
func Close(a Attempt, now time.Time) (Attempt, Settled, bool) {
	at, waiting := CloseAt(a)
	if !waiting || now.Before(at) {
		return a, Settled{}, false
	}
	a.Status, a.Outcome, a.SettledAt = UnknownClosed, TimedOut, now
	return a, Settled{AttemptID: a.ID, Subject: a.Subject, Kind: TimedOut}, true
}
