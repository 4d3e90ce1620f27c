package payment

import "time"

// Rail is a way for money to come in. Everything that differs between rails and
// is not the wire stands in this file.
type Rail string

// The rails: a prompt on the payer's phone, and a link to a page that takes
// cards and more.
const (
	Mpesa   Rail = "mpesa"
	Pesapal Rail = "pesapal"
)

// Linked reports whether the payer pays on a page that a link leads to. A link
// lives as long as what it pays for is held, and is on no phone: it keeps no
// prompt waiting.
func (r Rail) Linked() bool { return r == Pesapal }

// Times of a prompt, after it was sent. PromptLife is how long the question
// stays on the payer's phone at most; the queries ask for a missing callback;
// closeAfter leaves a callback two minutes after the prompt is gone.
// BetweenPrompts is how long a phone is left alone after a prompt: a second one
// sooner is answered by the provider as busy. It covers the time that the
// provider may take to accept the prompt, and the prompt's life.
const (
	PromptLife     = 90 * time.Second
	BetweenPrompts = 2 * time.Minute
	closeAfter     = PromptLife + 2*time.Minute
)

// linkGrace is how long a link's last query may take after the link's end.
const linkGrace = time.Minute

// queryAfter is the time from the sending of an attempt to its n-th query. A
// link is asked about ever less often, and at its end.
func queryAfter(a Attempt, n int) (time.Duration, bool) {
	after := []time.Duration{25 * time.Second, 50 * time.Second, PromptLife}
	if a.Provider.Linked() {
		after = nil
		end := a.Until.Sub(a.SentAt)
		for d := time.Minute; d < end; d *= 2 {
			after = append(after, d)
		}
		after = append(after, max(end, 0))
	}
	if n < len(after) {
		return after[n], true
	}
	return 0, false
}

// closes is when an attempt that was sent and had no word is given up.
func closes(a Attempt) time.Time {
	if a.Provider.Linked() && a.CheckoutID != "" {
		return a.Until.Add(linkGrace)
	}
	return a.SentAt.Add(closeAfter)
}

// closedAs is what the thread is told of an attempt that is given up.
func closedAs(a Attempt) Kind {
	if a.Provider.Linked() {
		return PromptExpired
	}
	return TimedOut
}
