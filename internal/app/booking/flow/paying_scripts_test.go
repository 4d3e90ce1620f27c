package flow_test

import (
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/flow"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/money"
	"github.com/ratiba/ratiba/internal/payment"
)

// loseSlot gives the customer's held time to somebody else.
func (k *talk) loseSlot() {
	for _, b := range k.world.bookings {
		if b.ContactID == customer {
			b.Status = calendar.Expired
		}
	}
	k.taken("o1", "grace", monday, "14:00", 3*time.Hour)
	k.taken("o2", "amina", monday, "14:00", 3*time.Hour)
}

var payingScripts = []script{
	{"every failure has its own words and can be tried again", func(k *talk) {
		for _, kind := range []payment.Kind{
			payment.Declined, payment.WrongPIN, payment.NoFunds, payment.TimedOut, payment.PromptExpired, payment.Busy, payment.Limit,
			payment.Rejected, payment.OtherFailure,
		} {
			if kind == payment.Declined {
				toPrompt(k)
			}
			k.fails(kind)
			k.hears("pay.failed." + string(kind))
			k.at(flow.PaymentFailed)
			k.yes()
			k.hears("pay.sent")
		}
		k.pays(nil)
		k.hears("confirmed.paid", "@admin.booked")
	}},
	{"a second prompt too soon is said when, and asked then", func(k *talk) {
		toPrompt(k)
		k.fails(payment.Declined)
		k.world.refuse[calendar.PushPayment] = refusal(k.t, calendar.PromptTooSoon, calendar.PromptWait{Until: k.now.Add(90 * time.Second)})
		k.yes()
		k.hears("pay.too_soon")
		k.at(flow.PaymentFailed)
		k.send(graph.Input{Answer: graph.Yes, Intent: graph.Affirm})
		k.hears("pay.too_soon")
		k.rings("prompt")
		k.hears("pay.retry_now")
		k.yes()
		k.hears("pay.sent")
	}},
	{"a booking made while a given-up one's prompt is on the phone waits for it", func(k *talk) {
		toPrompt(k)
		k.send(graph.Input{Intent: graph.Cancel})
		k.yes()
		k.hears("pay.cancelled")
		old := k.gone()
		k.world.refuse[calendar.PushPayment] = refusal(k.t, calendar.PromptTooSoon, calendar.PromptWait{Until: k.now.Add(90 * time.Second)})
		toSummary(k)
		k.yes()
		k.hears("pay.too_soon")
		k.at(flow.PaymentFailed)
		k.pays(func(p *payment.Settled) { p.Subject, p.Receipt = old, "" })
		k.hears("pay.refund", "@admin.refund")
		if len(k.tasks) != 1 || k.tasks[0].Key != "refund:"+old {
			k.t.Errorf("tasks %+v, want one by what was paid for", k.tasks)
		}
		k.rings("prompt")
		k.hears("pay.retry_now")
		k.yes()
		k.hears("pay.sent")
		k.statuses(calendar.Cancelled, calendar.PendingPayment)
	}},
	{"a prompt that is still on the phone is not sent twice", func(k *talk) {
		toPrompt(k)
		k.fails(payment.Busy)
		k.world.refuse[calendar.PushPayment] = refusal(k.t, calendar.PromptLive, nil)
		k.yes()
		k.hears("pay.live")
		k.at(flow.AwaitPayment)
	}},
	{"what a customer says while waiting makes no payment true", func(k *talk) {
		toPrompt(k)
		paid := map[string]string{"en": "I have paid", "sw": "Nimelipa tayari"}[k.lang]
		k.send(graph.Input{Text: paid, Intent: graph.Unknown, Confidence: 0.4})
		k.hears("pay.no_word_yet")
		k.send(graph.Input{Text: "hm", Intent: graph.Unknown, Confidence: 0.4})
		k.hears("pay.waiting")
		k.send(graph.Input{Intent: graph.Question, Topic: "hours"})
		k.hears("answer.hours", "pay.waiting")
		k.statuses(calendar.PendingPayment)
		k.pays(nil)
		k.hears("confirmed.paid", "@admin.booked")
	}},
	{"another time while the prompt is out waits for its end", func(k *talk) {
		toPrompt(k)
		k.send(graph.Input{Intent: graph.Reschedule, When: graph.When{Date: tuesday}})
		k.hears("pay.change_later")
		k.fails(payment.Declined)
		k.hears("pay.failed_change", "summary.deposit")
		k.contains("24")
		k.pays(func(p *payment.Settled) { p.Kind, p.Subject = payment.Success, k.gone() })
		k.hears("pay.refund", "@admin.refund")
	}},
	{"another time with no time named asks for the day", func(k *talk) {
		toPrompt(k)
		k.send(graph.Input{Intent: graph.Reschedule})
		k.hears("pay.change_later")
		k.fails(payment.Declined)
		k.hears("pay.failed_change", "ask.day")
	}},
	{"the customer cancels while waiting and the money that comes is returned", func(k *talk) {
		toPrompt(k)
		k.send(graph.Input{Intent: graph.Cancel})
		k.hears("drop.summary_paying")
		k.at(flow.DropConfirm)
		k.yes()
		k.hears("pay.cancelled")
		k.at(flow.PayerCancelled)
		k.statuses(calendar.Cancelled)
		id := k.gone()
		k.fails(payment.Declined)
		k.hears()
		k.pays(func(p *payment.Settled) { p.Subject = id })
		k.hears("pay.refund", "@admin.refund")
		k.at(flow.PayerCancelled)
		k.statuses(calendar.Cancelled)
		if len(k.tasks) != 1 || k.tasks[0].Kind != "refund" {
			k.t.Errorf("tasks %+v", k.tasks)
		}
		k.send(graph.Input{Intent: graph.Thanks})
		k.hears("thanks")
		k.pays(func(p *payment.Settled) { p.Subject = id })
		k.hears("pay.refund", "@admin.refund")
	}},
	{"the customer thinks better of cancelling", func(k *talk) {
		toPrompt(k)
		k.tapOr("stop", graph.Cancel)
		k.fails(payment.Declined)
		k.hears()
		k.tapOr("keep", graph.Deny)
		k.hears("pay.failed.cancelled")
		k.tap("stop")
		k.hears("drop.summary_paying")
		k.tapOr("keep", graph.Deny)
		k.hears("pay.failed.cancelled")
		k.yes()
		k.send(graph.Input{Intent: graph.Cancel})
		k.send(graph.Input{Answer: graph.No, Intent: graph.Deny})
		k.hears("pay.waiting")
	}},
	{"a payment that arrives while the customer is asked whether to cancel counts", func(k *talk) {
		toPrompt(k)
		k.send(graph.Input{Intent: graph.Cancel})
		k.pays(nil)
		k.hears("confirmed.paid", "@admin.booked")
	}},
	{"a cancellation that crosses a change leaves the booking as it is", func(k *talk) {
		toPrompt(k)
		k.send(graph.Input{Intent: graph.Cancel})
		for _, b := range k.world.bookings {
			b.Version++
		}
		k.yes()
		k.hears("change.changed")
		k.at(flow.Closed)
	}},
	{"the phone is asked for when none is known, and used for payment", func(k *talk) {
		k.payer = ""
		k.send(massageOn(graph.When{Date: monday, Time: "15:00"}))
		k.hears("ask.phone")
		k.send(graph.Input{Text: "eh", Intent: graph.Unknown, Confidence: 0.2})
		k.hears("sorry.once", "ask.phone")
		k.send(graph.Input{Phone: "+254711222333"})
		k.hears("summary.deposit")
		k.contains("333")
		k.yes()
		k.hears("pay.sent")
		k.fails(payment.NoFunds)
		k.tap("other_phone")
		k.hears("ask.phone")
		k.send(graph.Input{Phone: "+254799888777"})
		k.hears("pay.new_phone")
		k.contains("777")
		k.yes()
		k.hears("pay.sent")
	}},
	{"after a failure the time or the service can be changed", func(k *talk) {
		toPrompt(k)
		k.fails(payment.NoFunds)
		k.send(graph.Input{Entities: service("massage_60")})
		k.hears("summary.deposit")
		k.contains("KES 3,000")
		k.yes()
		k.fails(payment.NoFunds)
		k.send(graph.Input{Intent: graph.Reschedule})
		k.hears("ask.day")
	}},
	{"after a failure nonsense is asked back, and claims are not believed", func(k *talk) {
		toPrompt(k)
		k.fails(payment.WrongPIN)
		k.send(graph.Input{Text: "??", Intent: graph.Unknown, Confidence: 0.2})
		k.hears("sorry.once", "pay.failed.wrong_pin")
		k.send(graph.Input{Text: "nimelipa", Intent: graph.Unknown, Confidence: 0.2})
		k.hears("pay.no_word_yet")
		k.event("resume")
		k.hears("pay.failed.wrong_pin")
		k.send(graph.Input{Answer: graph.No, Intent: graph.Deny})
		k.hears("drop.summary_paying")
		k.yes()
		k.hears("pay.cancelled")
	}},
	{"the prompt is refused because the time is gone", func(k *talk) {
		toSummary(k)
		res := k.world.availability(calendar.CheckAvailabilityArgs{ServiceID: "massage_90", From: tuesday, To: tuesday, Limit: 2}, k.now)
		var a calendar.Availability
		if err := res.Decode(&a); err != nil {
			k.t.Fatal(err)
		}
		k.world.refuse[calendar.PushPayment] = refusal(k.t, calendar.HoldExpired, calendar.Alternatives{Slots: a.Slots})
		k.yes()
		k.hears("refused.hold_expired", "offer.instead")
		k.at(flow.Offering)
	}},
	{"the prompt is refused because the time is gone and nothing is near", func(k *talk) {
		toSummary(k)
		k.world.refuse[calendar.PushPayment] = refusal(k.t, calendar.HoldExpired, nil)
		k.yes()
		k.hears("refused.hold_expired", "ask.day")
	}},
	{"the prompt is refused because the booking changed", func(k *talk) {
		toSummary(k)
		k.world.refuse[calendar.PushPayment] = refusal(k.t, calendar.Changed, nil)
		for _, b := range k.world.bookings {
			b.Status = calendar.Expired
		}
		k.yes()
		k.hears("pay.changed", "summary.deposit")
	}},
	{"no word comes and the time is released, then the money arrives and books it", func(k *talk) {
		toPrompt(k)
		paid := k.settledNow()
		k.rings("hold")
		k.hears("hold.expired_paying")
		k.at(flow.HoldExpired)
		k.pays(paid)
		k.hears("confirmed.paid", "@admin.booked")
		k.statuses(calendar.Confirmed)
	}},
	{"money for a time that is gone is offered for another one", func(k *talk) {
		toPrompt(k)
		k.loseSlot()
		k.pays(nil)
		k.hears("pay.too_late_choose", "@admin.paid_too_late", "offer.instead")
		if len(k.tasks) != 1 {
			k.t.Errorf("tasks %+v", k.tasks)
		}
		k.tap("slot/")
		k.hears("summary.credit")
		k.contains("SKL7X8Y9Z0")
		k.yes()
		k.hears("confirmed.paid", "@admin.booked_with_credit")
	}},
	{"money for a time that is gone, and no other is wanted", func(k *talk) {
		toPrompt(k)
		k.loseSlot()
		k.pays(nil)
		k.send(graph.Input{Intent: graph.Cancel})
		k.hears("let_go.credit")
	}},
	{"money for a time that is gone with nothing near is returned", func(k *talk) {
		toPrompt(k)
		k.world.refuse[calendar.ConfirmBooking] = refusal(k.t, calendar.HoldExpired, nil)
		k.pays(nil)
		k.hears("pay.too_late", "@admin.paid_too_late")
		k.at(flow.Greet)
	}},
	{"late money with no thread and no time left is returned", func(k *talk) {
		toPrompt(k)
		paid := k.settledNow()
		k.rings("hold")
		k.send(graph.Input{Answer: graph.No, Intent: graph.Deny})
		k.loseSlot()
		k.pays(paid)
		k.hears("pay.too_late", "@admin.paid_too_late")
	}},
	{"a second payment for what is already paid is returned", func(k *talk) {
		toPrompt(k)
		paid := k.settledNow()
		k.pays(nil)
		k.pays(func(p *payment.Settled) { paid(p); p.Receipt = "SECOND0001" })
		k.hears("pay.refund", "@admin.refund")
		k.statuses(calendar.Confirmed)
	}},
	{"a payment for a booking nobody knows is returned", func(k *talk) {
		k.pays(func(p *payment.Settled) { p.Subject = "01NOSUCH" })
		k.hears("pay.refund", "@admin.refund")
	}},
	{"a late failure with no thread says nothing", func(k *talk) {
		k.fails(payment.TimedOut)
		k.hears()
	}},
	{"money that does not fit is never a confirmation", func(k *talk) {
		toPrompt(k)
		k.pays(func(p *payment.Settled) { p.Mismatch, p.Amount = true, money.Major(7, "KES") })
		k.hears("pay.mismatch", "@admin.mismatch")
		k.at(flow.AwaitPayment)
		k.statuses(calendar.PendingPayment)
		if len(k.tasks) != 1 || k.tasks[0].Kind != "mismatch" {
			k.t.Errorf("tasks %+v", k.tasks)
		}
	}},
	{"the failure of an older prompt changes nothing", func(k *talk) {
		toPrompt(k)
		k.pays(func(p *payment.Settled) { p.Kind, p.AttemptID = payment.TimedOut, "01OLDER" })
		k.hears()
		k.at(flow.AwaitPayment)
	}},
}

// settledNow remembers what the open prompt is about.
func (k *talk) settledNow() func(*payment.Settled) {
	k.t.Helper()
	s := k.flowState()
	return func(p *payment.Settled) {
		p.AttemptID, p.Subject, p.Amount, p.Late = s.Pay.AttemptID, s.Hold.BookingID, s.Pay.Amount, true
	}
}

// gone is the booking that was given up.
func (k *talk) gone() string {
	k.t.Helper()
	s := k.flowState()
	if len(s.Gone) == 0 {
		k.t.Fatal("no booking was given up")
	}
	return s.Gone[0]
}

// tapOr taps, or says the same where the message is no longer in sight.
func (k *talk) tapOr(id string, or graph.Intent) {
	k.t.Helper()
	if k.has(id) {
		k.tap(id)
		return
	}
	in := graph.Input{Intent: or}
	if or == graph.Deny {
		in.Answer = graph.No
	}
	k.send(in)
}
