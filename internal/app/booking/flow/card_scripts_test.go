package flow_test

import (
	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/flow"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/payment"
)

const cardPage = "https://pay.example/iframe/?OrderTrackingId=b945e4af"

// takes says which ways to pay the business offers.
func (k *talk) takes(rails ...payment.Rail) {
	for _, r := range rails {
		k.shared.Rails = append(k.shared.Rails, string(r))
		k.world.settings.Rails = append(k.world.settings.Rails, string(r))
	}
}

// linked is the provider's link, once there is one.
func (k *talk) linked() {
	k.t.Helper()
	k.pays(func(p *payment.Settled) { p.Kind, p.Receipt, p.Link = payment.Offered, "", cardPage })
}

// toLink is a talk whose customer has a link to pay by.
func toLink(k *talk, rails ...payment.Rail) {
	k.t.Helper()
	k.takes(rails...)
	toCardSummary(k)
	k.tap("card")
	k.hears("card.preparing")
	k.at(flow.AwaitPayment)
	k.statuses(calendar.PendingPayment)
	k.linked()
	k.hears("card.link")
	k.contains(cardPage)
}

// toCardSummary is a talk that has come to the summary.
func toCardSummary(k *talk) {
	k.t.Helper()
	k.send(massageOn(graph.When{Date: monday, Time: "15:00"}))
}

var cardScripts = []script{
	{"where both are offered two buttons choose, and the card has a link", func(k *talk) {
		toLink(k, payment.Mpesa, payment.Pesapal)
		k.send(graph.Input{Text: "hm", Intent: graph.Unknown, Confidence: 0.4})
		k.hears("card.waiting")
		k.contains(cardPage)
		k.send(graph.Input{Text: map[string]string{"en": "I have paid", "sw": "Nimelipa tayari"}[k.lang], Intent: graph.Unknown, Confidence: 0.4})
		k.hears("card.no_word_yet")
		k.statuses(calendar.PendingPayment)
		k.pays(nil)
		k.hears("confirmed.paid", "@admin.booked")
		k.statuses(calendar.Confirmed)
	}},
	{"where both are offered the yes sends the prompt", func(k *talk) {
		k.takes(payment.Mpesa, payment.Pesapal)
		toCardSummary(k)
		k.hears("summary.deposit_or_card")
		k.yes()
		k.hears("pay.sent")
		k.fails(payment.Declined)
		k.hears("pay.failed.cancelled")
		k.tap("card")
		k.hears("card.preparing")
		k.linked()
		k.pays(nil)
		k.hears("confirmed.paid", "@admin.booked")
	}},
	{"a business that takes cards alone asks for no PIN", func(k *talk) {
		k.takes(payment.Pesapal)
		toCardSummary(k)
		k.hears("summary.card")
		k.send(graph.Input{Answer: graph.Yes, Intent: graph.Affirm})
		k.hears("card.preparing")
		k.linked()
		k.fails(payment.OtherFailure)
		k.hears("card.failed.failed")
		k.send(graph.Input{Answer: graph.Yes, Intent: graph.Affirm})
		k.hears("card.preparing")
		k.fails(payment.Rejected)
		k.hears("card.failed.rejected")
		k.tap("card")
		k.linked()
		k.fails(payment.PromptExpired)
		k.hears("card.failed.expired")
	}},
	{"a business that takes cards alone asks for the phone on the bill", func(k *talk) {
		k.payer = ""
		k.takes(payment.Pesapal)
		k.send(massageOn(graph.When{Date: monday, Time: "15:00"}))
		k.hears("ask.phone_card")
		k.send(graph.Input{Phone: "+254711222333"})
		k.hears("summary.card")
	}},
	{"who has a link may pay by M-Pesa after all, and what is paid twice is returned", func(k *talk) {
		toLink(k, payment.Mpesa, payment.Pesapal)
		card := k.settledNow()
		k.tap("mpesa")
		k.hears("pay.retry_now")
		k.at(flow.PaymentFailed)
		k.yes()
		k.hears("pay.sent")
		k.pays(nil)
		k.hears("confirmed.paid", "@admin.booked")
		k.pays(func(p *payment.Settled) { card(p); p.Receipt = "PSPL0001" })
		k.hears("pay.refund", "@admin.refund")
		k.statuses(calendar.Confirmed)
	}},
	{"after a failed card M-Pesa is offered", func(k *talk) {
		toLink(k, payment.Mpesa, payment.Pesapal)
		k.fails(payment.OtherFailure)
		k.hears("card.failed.failed")
		k.tap("mpesa")
		k.hears("pay.retry_now")
		k.yes()
		k.hears("pay.sent")
	}},
	{"a link that is still good is sent again", func(k *talk) {
		toLink(k, payment.Mpesa, payment.Pesapal)
		k.tap("mpesa")
		k.world.refuse[calendar.SendPaymentLink] = refusal(k.t, calendar.PromptLive, nil)
		k.tap("card")
		k.hears("card.waiting")
		k.contains(cardPage)
		k.at(flow.AwaitPayment)
	}},
	{"another time leaves the link alone", func(k *talk) {
		toLink(k, payment.Pesapal)
		card := k.settledNow()
		k.send(graph.Input{Intent: graph.Reschedule, When: graph.When{Date: tuesday, Time: "15:00"}})
		k.hears("summary.card")
		k.pays(func(p *payment.Settled) { card(p); p.Receipt = "PSPL0001" })
		k.hears("pay.refund", "@admin.refund")
	}},
	{"a link that comes when it is no longer wanted is not sent", func(k *talk) {
		k.takes(payment.Pesapal)
		toCardSummary(k)
		k.tap("card")
		card := k.settledNow()
		k.send(graph.Input{Intent: graph.Cancel})
		k.hears("drop.summary_paying")
		k.yes()
		k.hears("pay.cancelled")
		k.pays(func(p *payment.Settled) { card(p); p.Kind, p.Link = payment.Offered, cardPage })
		k.hears()
	}},
	{"money that the provider takes back is a person's to look at", func(k *talk) {
		toLink(k, payment.Pesapal)
		card := k.settledNow()
		k.pays(nil)
		k.pays(func(p *payment.Settled) { card(p); p.Kind, p.Mismatch = payment.Reversed, true })
		k.hears("pay.reversed", "@admin.reversed")
		if len(k.tasks) != 1 || k.tasks[0].Kind != "reversed" {
			k.t.Errorf("tasks %+v", k.tasks)
		}
	}},
	{"money after a cancellation goes back by itself, and both sides hear the end", func(k *talk) {
		k.world.returns = true
		toPrompt(k)
		k.send(graph.Input{Intent: graph.Cancel})
		k.yes()
		k.hears("pay.cancelled")
		id := k.gone()
		k.pays(func(p *payment.Settled) { p.Subject = id })
		k.hears("refund.started", "@admin.refund_started")
		k.statuses(calendar.Cancelled)
		if len(k.tasks) != 0 {
			k.t.Errorf("tasks %+v", k.tasks)
		}
		k.pays(func(p *payment.Settled) { p.Subject, p.Kind = id, payment.Refunded })
		k.hears("refund.done", "@admin.refund_done")
		k.pays(func(p *payment.Settled) { p.Subject, p.Kind = id, payment.NotRefunded })
		k.hears("refund.failed", "@admin.refund_failed")
		if len(k.tasks) != 1 || k.tasks[0].Kind != "refund" {
			k.t.Errorf("tasks %+v", k.tasks)
		}
	}},
	{"under a human the human decides about money after a cancellation", func(k *talk) {
		k.world.returns = true
		toPrompt(k)
		k.send(graph.Input{Intent: graph.Cancel})
		k.yes()
		id := k.gone()
		k.pays(func(p *payment.Settled) { p.Subject, p.Human = id, true })
		k.hears("pay.refund", "@admin.refund")
	}},
	{"a booking cancelled in time is paid back", func(k *talk) {
		k.world.returns = true
		toPrompt(k)
		k.pays(nil)
		k.send(graph.Input{Intent: graph.Cancel})
		k.hears("drop.summary")
		k.yes()
		k.hears("dropped.returning", "@admin.dropped_returning")
		k.statuses(calendar.Cancelled)
	}},
}
