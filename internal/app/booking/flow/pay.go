package flow

import (
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/payment"
)

// awaitPayment waits for the provider's word on a prompt. Nothing the customer
// says makes a payment true.
func awaitPayment(i in) out {
	s := i.State
	waiting := s.waiting(i, "waiting")
	switch {
	case s.Spent && s.Ask != nil && s.Ask.Link != nil:
		return s.preparing(i)
	case s.Pay != nil && s.Pay.Card && !s.Spent && (tapped(i) == tapMpesa || saysMpesa(i.Input.Text)) && about(i).takes(payment.Mpesa):
		s.Pay.Switch = true
		return onward(s, PaymentFailed)
	case s.Pay != nil && s.Pay.Card && !s.Spent && wantsChange(i): // a link is left alone, and what is paid on it returned
		s.Want.When = When{}.merge(i.Input.When)
		return onward(s, Collect)
	case s.Hold == nil:
		return rest(i, s.settle(), AwaitPayment, say(i, "pay.waiting", s.payFacts(i)))
	case s.Spent && s.Ask != nil && s.Ask.Push != nil:
		p := s.Ask.Push
		s.Pay, s.Ask = &Pay{AttemptID: p.AttemptID, Amount: p.Amount, Phone: p.Phone}, nil
		if p.HoldUntil.After(s.Hold.Until) {
			s.Hold.Until = p.HoldUntil
		}
		o := rest(i, s, AwaitPayment, say(i, "pay.sent", s.payFacts(i)))
		o.Timers = []graph.Timer{holdTimer(s.Hold), {Name: timerRetry}}
		return o
	case s.Spent:
		return rest(i, s, AwaitPayment, waiting)
	case tapped(i) == tapStop || i.Input.Intent == graph.Cancel && i.Input.Confidence >= sure:
		return onward(s, DropConfirm)
	case wantsChange(i):
		s.Pay.Change = true
		s.Want.When = s.Want.When.merge(i.Input.When)
		return rest(i, s, AwaitPayment, say(i, "pay.change_later", s.payFacts(i), button(tapStop, "button.cancel")))
	case saysPaid(i.Input.Text), asksPaid(i.Input.Text):
		return rest(i, s, AwaitPayment, s.waiting(i, "no_word_yet"))
	}
	o := rest(i, s, AwaitPayment, waiting)
	o.Rejected = i.Input.Intent == graph.Book && i.Input.Confidence >= sure
	return o
}

// payFacts are the facts of the prompt that is out.
func (s State) payFacts(i in) facts {
	f := facts{"Amount": about(i).zero(), "Phone": "", "Start": i.Now, "Service": "", "Link": "", "Until": i.Now}
	if s.Pay != nil {
		f["Amount"], f["Phone"], f["Link"] = s.Pay.Amount, masked(s.Pay.Phone), s.Pay.Link
	}
	if s.Hold != nil {
		f["Until"] = s.Hold.Until
		f["Start"], f["Service"] = s.Hold.Slot.Start, about(i).serviceName(s.Hold.ServiceID)
	}
	return f
}

// masked shows the end of a phone, enough to know which of one's own it is.
func masked(phone string) string {
	if len(phone) < 4 {
		return phone
	}
	return "…" + phone[len(phone)-3:]
}

func wantsChange(i in) bool {
	id := tapped(i)
	return id == tapTime || id == tapChange || i.Input.Intent == graph.Reschedule && i.Input.Confidence >= sure || !i.Input.When.Empty()
}

// saysPaid reports whether a text claims that the money was sent.
func saysPaid(text string) bool {
	return says(text, "paid", "sent the money", "done", "entered the pin", "nimelipa", "nishalipa", "nimeshalipa", "nimetuma", "nimeweka pin", "tayari")
}

// asksPaid reports whether a text asks if the money has come.
func asksPaid(text string) bool {
	return says(text, "received", "gone through", "went through", "did you get", "umepokea", "mmepokea", "imefika", "zimefika", "imeingia", "zimeingia", "mmepata")
}

// paymentFailed says why a prompt did not work and offers the next step. A new
// prompt needs a new yes.
func paymentFailed(i in) out {
	s := i.State
	if s.Hold == nil || s.Pay == nil && i.Conflict == nil {
		return onward(s, Collect)
	}
	switch {
	case i.Conflict != nil:
		return s.promptRefused(i)
	case i.Input.Event != nil && i.Input.Event.Kind == "timer":
		return s.retry(i, "pay.retry_now")
	case s.Pay.Switch:
		s.Pay.Switch, s.Pay.Card, s.Spent = false, false, true
		return s.retry(i, "pay.retry_now")
	case s.Spent && s.Pay.Change && !s.Repeat:
		s.Pay.Change = false
		if s.Want.When.equal(s.exactly(about(i))) {
			s.Want.When = When{}
		}
		return onward(s, Collect, say(i, "pay.failed_change", nil))
	case s.Spent:
		return s.retry(i, s.failureText())
	}
	s.Spent = true
	return s.failedAnswer(i)
}

// failedAnswer reads what the customer wants after a failed prompt.
func (s State) failedAnswer(i in) out {
	id := tapped(i)
	switch {
	case i.Input.Confirmed && s.Ask != nil:
		return s.carryOut()
	case s.wantsCard(i):
		return s.sendLink(i)
	case id == tapStop || i.Input.Intent == graph.Cancel && i.Input.Confidence >= sure:
		return onward(s, DropConfirm)
	case i.Input.Phone != "":
		s.Payer = i.Input.Phone
		return s.retry(i, "pay.new_phone")
	case id == tapPhone:
		s.Asked = askPhone
		q := say(i, about(i).askPhone(), nil)
		q.AskPhone = true
		return rest(i, s, PaymentFailed, q)
	case id == tapTime || id == tapChange || i.Input.Intent == graph.Reschedule && i.Input.Confidence >= sure:
		s.Want.When = When{}.merge(i.Input.When)
		return onward(s, Collect)
	case s.take(i):
		return onward(s, Collect)
	case i.Input.Answer == graph.Yes || id == tapYes, id == tapMpesa:
		s.Pay.Card = s.Pay.Card && id != tapMpesa
		return s.retry(i, "pay.retry_now")
	case i.Input.Answer == graph.No:
		return onward(s, DropConfirm)
	case saysPaid(i.Input.Text):
		return rest(i, s, PaymentFailed, s.waiting(i, "no_word_yet"))
	}
	return lostAt(i, s.retry(i, s.failureText()), s)
}

// retry asks whether to send another prompt, or says when one may be sent.
func (s State) retry(i in, key string) out {
	b := about(i)
	due := s.deposit(b)
	if s.Pay.Card || !b.takes(payment.Mpesa) {
		return s.retryByCard(i)
	}
	if i.Now.Before(s.Pay.Retry) {
		f := s.payFacts(i)
		f["Until"], f["Phone"] = s.Pay.Retry, masked(s.payer(i))
		return rest(i, s, PaymentFailed, say(i, "pay.too_soon", f, button(tapTime, "button.time"), button(tapStop, "button.cancel")))
	}
	s.Ask = s.push(i, b, due)
	s.Asked = askConfirm
	f := s.payFacts(i)
	f["Phone"], f["Amount"] = masked(s.payer(i)), due
	q := say(i, key, f, button(tapYes, "button.try_again"), button(tapPhone, "button.other_phone"), button(tapStop, "button.cancel"))
	if b.takes(payment.Pesapal) { // another number can be written
		q.Choices[1] = button(tapCard, "button.card")
	}
	q.Confirm = &graph.Confirm{Calls: []graph.Call{s.Ask.call()}, Yes: tapYes, Shown: f}
	return rest(i, s, PaymentFailed, q)
}

// promptRefused answers a prompt that was not sent at all.
func (s State) promptRefused(i in) out {
	if s.Pay == nil {
		s.Pay = &Pay{Amount: s.deposit(about(i)), Phone: s.payer(i)}
	}
	s.Ask = nil
	switch i.Conflict.Code {
	case calendar.PromptTooSoon:
		var wait calendar.PromptWait
		if err := i.Conflict.Decode(&wait); err != nil || wait.Until.IsZero() {
			wait.Until = i.Now.Add(2 * time.Minute)
		}
		s.Pay.Retry = wait.Until
		o := s.retry(i, "pay.retry_now")
		o.Timers = []graph.Timer{{Name: timerRetry, At: wait.Until}}
		return o
	case calendar.PromptLive:
		s.Pay.Card = s.Pay.Link != ""
		return rest(i, s, AwaitPayment, s.waiting(i, "live"))
	case calendar.HoldExpired, calendar.SlotTaken:
		var alt calendar.Alternatives
		if err := i.Conflict.Decode(&alt); err != nil {
			alt.Slots = nil
		}
		s.Hold, s.Pay = nil, nil
		s.Spent = true
		if len(alt.Slots) == 0 {
			s.Want.When = When{}
			return onward(s, Collect, say(i, "refused.hold_expired", s.offerFacts(i)))
		}
		return s.handOffer(alt.Slots, say(i, "refused.hold_expired", s.offerFacts(i)))
	}
	s.Hold, s.Pay = nil, nil // what was shown is no longer so: look again from the start
	return onward(s, Collect, say(i, "pay.changed", nil))
}

// handOffer goes to the offer with starts that are already known.
func (s State) handOffer(slots []calendar.Slot, before graph.Say) out {
	s.Want.When = When{}
	s.Offer = &Offer{Slots: inOrder(slots), Given: true}
	return onward(s, Offering, before)
}

func (s State) failureText() string {
	if s.Pay.Card {
		return cardFailure(s.Pay.Failed)
	}
	switch payment.Kind(s.Pay.Failed) {
	case payment.Declined:
		return "pay.failed.cancelled"
	case payment.WrongPIN:
		return "pay.failed.wrong_pin"
	case payment.NoFunds:
		return "pay.failed.insufficient"
	case payment.TimedOut:
		return "pay.failed.timeout"
	case payment.PromptExpired:
		return "pay.failed.expired"
	case payment.Busy:
		return "pay.failed.busy"
	case payment.Limit:
		return "pay.failed.limit"
	case payment.Rejected:
		return "pay.failed.rejected"
	case payment.OtherFailure, payment.Pending, payment.Success, payment.Offered, payment.Reversed, payment.Refunded, payment.NotRefunded:
	}
	return "pay.failed.failed"
}

// payerCancelled tells what happens to money that may still come, and lets the
// customer begin something else.
func payerCancelled(i in) out {
	s := i.State
	if !s.Spent {
		return out{State: s, Go: Greet}
	}
	if s.Hold != nil {
		s.Gone = append(s.Gone, s.Hold.BookingID)
	}
	o := rest(i, s.settle(), PayerCancelled, say(i, "pay.cancelled", s.payFacts(i)))
	o.Timers = []graph.Timer{{Name: timerHold}, {Name: timerRetry}}
	return o
}
