package payment

import (
	"slices"
	"strings"
	"time"
)

// Settle returns what an outcome makes of an attempt, what its thread is told,
// and whether the attempt changed and must be stored. A zero Settled means that
// there is nothing to tell.
//
// A success stands in every state; Late says that the attempt had ended
// otherwise. Money that does not fit the attempt, by amount, checkout id or the
// last nine digits of the payer's phone, and money beyond the first payment, is
// kept and told with Mismatch: a person must look. A failure only ends what is
// still live. A query's success carries no details, so it confirms the attempt
// as it stands and never overrides what a callback said. The same outcome again
// changes nothing, and once a success is among the outcomes their order does not
// matter.
func Settle(a Attempt, o Outcome, from Source, now time.Time) (Attempt, Settled, bool) {
	switch o.Kind {
	case Success:
		return succeed(a, o, from, now)
	case Declined, WrongPIN, NoFunds, TimedOut, PromptExpired, Busy, Limit, Rejected, OtherFailure:
		return fail(a, o, now)
	case Offered:
		return offer(a, o)
	case Reversed:
		return reverse(a, o, now)
	case Pending, Refunded, NotRefunded:
	}
	return a, Settled{}, false
}

// offer tells of a link to pay by, once, as long as it is good for anything.
func offer(a Attempt, o Outcome) (Attempt, Settled, bool) {
	if !a.Status.Live() || a.Outcome == Offered || foreign(a, o) || o.Link == "" {
		return a, Settled{}, false
	}
	a.Outcome = Offered
	return a, Settled{AttemptID: a.ID, Subject: a.Subject, Kind: Offered, Amount: a.Amount, Link: o.Link}, true
}

// reverse notes that the provider gave the money back. It is the last word: what
// is heard afterwards of the same payment is older.
func reverse(a Attempt, o Outcome, now time.Time) (Attempt, Settled, bool) {
	if a.Status == TakenBack || a.Status == Withdrawn || foreign(a, o) {
		return a, Settled{}, false
	}
	if a.Refund != nil && a.Refund.Status != RefundWanted { // it is what we asked for
		return SettleRefund(a, Outcome{Kind: Success, Code: o.Code}, now)
	}
	told := Settled{AttemptID: a.ID, Subject: a.Subject, Kind: OtherFailure}
	if a.Status == Succeeded || a.Status == Mismatched {
		told = Settled{AttemptID: a.ID, Subject: a.Subject, Kind: Reversed, Amount: a.Amount, Receipt: a.Receipt, Mismatch: true}
	} else if !a.Status.Live() {
		told = Settled{}
	}
	a.Status, a.Outcome, a.SettledAt = TakenBack, Reversed, now
	if a.Receipt == "" {
		a.Receipt = o.Receipt
	}
	return a, told, true
}

// fail ends a live attempt. For one that was closed without word the failure is
// kept, but nobody is told a second time.
func fail(a Attempt, o Outcome, now time.Time) (Attempt, Settled, bool) {
	live := a.Status.Live()
	if !live && a.Status != UnknownClosed || foreign(a, o) {
		return a, Settled{}, false
	}
	a.Status, a.Outcome, a.SettledAt = Failed, o.Kind, now
	if !live {
		return a, Settled{}, true
	}
	return a, Settled{AttemptID: a.ID, Subject: a.Subject, Kind: o.Kind}, true
}

func succeed(a Attempt, o Outcome, from Source, now time.Time) (Attempt, Settled, bool) {
	told := Settled{AttemptID: a.ID, Subject: a.Subject, Kind: Success, Amount: o.Amount, Receipt: o.Receipt}
	// A callback must prove its details; another source answers for our prompt
	// as a whole and has none.
	fits := fitting(a, o)
	if from != FromCallback && o.Amount.IsZero() && o.Receipt == "" {
		if foreign(a, o) || a.Status == Succeeded || a.Status == Mismatched {
			return a, Settled{}, false
		}
		told.Amount, fits = a.Amount, true
	}
	told.Mismatch = !fits
	if a.Status == TakenBack {
		return afterwards(a, o, told)
	}
	if a.Status == Succeeded || a.Status == Mismatched {
		return more(a, o, told, now)
	}
	told.Late = !a.Status.Live()
	return take(a, o, told, now), told, true
}

// afterwards takes a success that is heard after the provider gave money back:
// of that money it is old news, of other money it is for a person to look at.
func afterwards(a Attempt, o Outcome, told Settled) (Attempt, Settled, bool) {
	switch {
	case o.Receipt == "" || o.Receipt == a.Receipt || slices.Contains(a.Surplus, o.Receipt):
		return a, Settled{}, false
	case a.Receipt == "":
		a.Receipt = o.Receipt
		return a, Settled{}, true
	}
	a.Surplus = with(a.Surplus, o.Receipt)
	told.Mismatch = true
	return a, told, true
}

// take makes o's money the attempt's payment.
func take(a Attempt, o Outcome, told Settled, now time.Time) Attempt {
	a.Status, a.Outcome, a.Receipt, a.SettledAt = Succeeded, Success, o.Receipt, now
	if told.Mismatch {
		a.Status = Mismatched
		return a
	}
	// The callback of a prompt whose answer was lost is the first to name its ids.
	if a.CheckoutID == "" {
		a.CheckoutID, a.MerchantID = o.CheckoutID, o.MerchantID
	}
	return a
}

// more takes a callback's success for an attempt that money already came for.
func more(a Attempt, o Outcome, told Settled, now time.Time) (Attempt, Settled, bool) {
	known := o.Receipt == "" || o.Receipt == a.Receipt || slices.Contains(a.Surplus, o.Receipt)
	switch {
	case a.Status == Mismatched && !told.Mismatch:
		// The payment asked for, after one that did not fit.
		surplus := slices.DeleteFunc(with(a.Surplus, a.Receipt), func(r string) bool { return r == o.Receipt })
		a = take(a, o, told, now)
		a.Surplus, told.Late = surplus, true
		return a, told, true
	case a.Receipt == "" && !told.Mismatch:
		// A query said so before; the callback brings the receipt. Nothing new to tell.
		return take(a, o, told, a.SettledAt), Settled{}, true
	case a.Status == Succeeded && a.Receipt == "":
		// A query said so before; the callback shows another sum or payer.
		return take(a, o, told, now), told, true
	case known:
		return a, Settled{}, false
	case a.Receipt == "":
		a.Receipt = o.Receipt
	default:
		a.Surplus = with(a.Surplus, o.Receipt)
	}
	told.Mismatch = true
	return a, told, true
}

// with returns a copy of list that ends in receipt, unless it is empty.
func with(list []string, receipt string) []string {
	list = slices.Clone(list)
	if receipt != "" {
		list = append(list, receipt)
	}
	return list
}

// foreign reports whether an outcome names another prompt than the attempt's.
func foreign(a Attempt, o Outcome) bool {
	return a.CheckoutID != "" && o.CheckoutID != "" && a.CheckoutID != o.CheckoutID
}

// fitting reports whether a callback's money is the money asked for. A phone
// that is absent does not speak against it.
func fitting(a Attempt, o Outcome) bool {
	return !foreign(a, o) && o.Receipt != "" && o.Amount == a.Amount &&
		(o.Phone == "" || SamePhone(a.Phone, o.Phone))
}

// SamePhone compares two Kenyan phones by their last nine digits, because one is
// written +254712..., another 254712... or 0712... Fewer than nine digits equal
// nothing.
func SamePhone(a, b string) bool {
	x, y := tail(a), tail(b)
	return x != "" && x == y
}

func tail(phone string) string {
	digits := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, phone)
	if len(digits) < 9 {
		return ""
	}
	return digits[len(digits)-9:]
}
