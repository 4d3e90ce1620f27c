package flow

import (
	"slices"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/payment"
)

// takes reports whether the business takes payments on a rail. Where nothing is
// said it is M-Pesa.
func (b business) takes(r payment.Rail) bool {
	return slices.Contains(b.Rails, string(r)) || len(b.Rails) == 0 && r == payment.Mpesa
}

// askPhone is how a payer's phone is asked for.
func (b business) askPhone() string {
	if b.takes(payment.Mpesa) {
		return "ask.phone"
	}
	return "ask.phone_card"
}

// wantsCard reports whether the customer wants to pay by card: by a tap, in
// words, or by a yes where there is no other way.
func (s State) wantsCard(i in) bool {
	b := about(i)
	switch {
	case !b.takes(payment.Pesapal) || s.Hold == nil || s.deposit(b).Minor == 0:
		return false
	case tapped(i) == tapCard || says(i.Input.Text, "by card", "card", "visa", "mastercard", "kwa kadi", "kadi"):
		return true
	}
	return !b.takes(payment.Mpesa) && (i.Input.Answer == graph.Yes || tapped(i) == tapYes)
}

// saysMpesa reports whether a text asks for M-Pesa.
func saysMpesa(text string) bool { return says(text, "mpesa", "m-pesa", "by mpesa", "kwa mpesa") }

// sendLink makes the order whose link is sent. Nobody is charged by it, so that
// it needs no yes of its own.
func (s State) sendLink(i in) out {
	b := about(i)
	s.Ask, s.Spent = &Ask{Link: s.push(i, b, s.deposit(b)).Push}, true
	return out{State: s, Write: &graph.Write{Call: s.Ask.call(), Success: AwaitPayment, Conflict: PaymentFailed}}
}

// preparing says that the link is on its way, once its order is.
func (s State) preparing(i in) out {
	p := s.Ask.Link
	s.Pay, s.Ask = &Pay{Card: true, AttemptID: p.AttemptID, Amount: p.Amount, Phone: p.Phone}, nil
	if p.HoldUntil.After(s.Hold.Until) {
		s.Hold.Until = p.HoldUntil
	}
	o := rest(i, s, AwaitPayment, s.waiting(i, "waiting"))
	o.Timers = []graph.Timer{holdTimer(s.Hold), {Name: timerRetry}}
	return o
}

// offered sends the link, if it is still for what the thread is about.
func (s State) offered(i in, told payment.Settled) out {
	if s.Pay == nil || s.Pay.AttemptID != told.AttemptID || s.Hold == nil {
		return onward(s, Back)
	}
	s.Pay.Link = told.Link
	return onward(s, Back, say(i, "card.link", s.payFacts(i), s.whileWaiting(i)...))
}

// waiting is a text about a payment that was asked for.
func (s State) waiting(i in, key string) graph.Say {
	switch {
	case s.Pay == nil || !s.Pay.Card:
		key = "pay." + key
	case s.Pay.Link == "":
		key = "card.preparing"
	case key == "live":
		key = "card.waiting"
	default:
		key = "card." + key
	}
	choices := s.whileWaiting(i)
	if key == "pay.no_word_yet" {
		choices = nil
	}
	return say(i, key, s.payFacts(i), choices...)
}

// whileWaiting is what can be tapped while a payment is awaited.
func (s State) whileWaiting(i in) []graph.Choice {
	choices := []graph.Choice{button(tapStop, "button.cancel")}
	if s.Pay != nil && s.Pay.Card && about(i).takes(payment.Mpesa) {
		choices = append([]graph.Choice{button(tapMpesa, "button.mpesa")}, choices...)
	}
	return choices
}

// summaryByCard is the summary of a business that takes cards alone.
func (s State) summaryByCard(i in, shown facts) out {
	s.Ask, s.Done, s.Asked = nil, s.done(i, about(i)), askConfirm
	return rest(i, s, Confirming, say(i, "summary.card", shown,
		button(tapCard, "button.card"), button(tapChange, "button.change"), button(tapStop, "button.cancel")))
}

// retryByCard asks how to go on after a link that did not work.
func (s State) retryByCard(i in) out {
	s.Pay.Card = true
	s.Ask, s.Asked = nil, askConfirm
	choices := []graph.Choice{button(tapCard, "button.new_link"), button(tapStop, "button.cancel")}
	if about(i).takes(payment.Mpesa) {
		choices = slices.Insert(choices, 1, button(tapMpesa, "button.mpesa"))
	}
	return rest(i, s, PaymentFailed, say(i, cardFailure(s.Pay.Failed), s.payFacts(i), choices...))
}

func cardFailure(kind string) string {
	switch payment.Kind(kind) {
	case payment.Rejected, payment.Busy, payment.Limit:
		return "card.failed.rejected"
	case payment.PromptExpired, payment.TimedOut:
		return "card.failed.expired"
	case payment.Declined, payment.WrongPIN, payment.NoFunds, payment.OtherFailure, payment.Pending, payment.Success, payment.Offered, payment.Reversed,
		payment.Refunded, payment.NotRefunded:
	}
	return "card.failed.failed"
}

// takenBack tells of money that the provider gave back by itself.
func (s State) takenBack(i in, told payment.Settled) out {
	o := onward(s, Back, say(i, "pay.reversed", facts{"Amount": told.Amount, "Receipt": told.Receipt}), toAdmins(i, "admin.reversed", s.adminFacts(i, told)))
	o.Tasks = []graph.Task{task(i, "reversed", told.AttemptID, told)}
	return o
}
