package flow_test

import (
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/flow"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/money"
)

// kept is a time that the waitlist keeps for the customer.
func (k *talk) kept(name string) string {
	k.t.Helper()
	start := time.Date(2026, 11, 23, 15, 0, 0, 0, nairobi)
	k.world.bookings["B1"] = &calendar.Booking{
		ID: "B1", Code: "WAIT01", ContactID: customer, Name: name, ServiceID: "massage_90", StaffID: "grace", StaffName: "Grace",
		Start: start, End: start.Add(90 * time.Minute), Status: calendar.Held, HoldUntil: k.now.Add(15 * time.Minute), Version: 1,
		Price: money.Major(4500, "KES"), Deposit: money.Major(1000, "KES"), Paid: money.Amount{Currency: "KES"},
	}
	return "B1"
}

var waitlistScripts = []script{
	{"somebody waits for a day that is full, and looks on", func(k *talk) {
		k.send(massageOn(graph.When{Date: christmas}))
		k.hears("refused.closed", "offer.instead")
		k.send(graph.Input{Text: "let me know if something opens / niambie ikipatikana", Intent: graph.Unknown, Confidence: 0.3})
		k.hears("waitlist.joined", "offer.instead")
		if w := k.world.waits; len(w) != 1 || w[0].ServiceID != "massage_90" || w[0].From != christmas || w[0].To != christmas {
			k.t.Errorf("waits for %+v", w)
		}
		k.send(graph.Input{Text: "take me off the waiting list / nitoe kwenye orodha ya kusubiri", Intent: graph.Unknown, Confidence: 0.3})
		k.hears("waitlist.left", "offer.instead")
		k.send(graph.Input{Text: "take me off the waiting list", Intent: graph.Unknown, Confidence: 0.3})
		k.hears("waitlist.none", "offer.instead")
	}},
	{"waiting needs a service", func(k *talk) {
		k.send(graph.Input{Text: "do you have a waiting list?", Intent: graph.Question, Topic: "other"})
		k.hears("waitlist.what", "ask.service")
		k.at(flow.Collect)
	}},
	{"nobody waits for more than is kept", func(k *talk) {
		k.send(massageOn(graph.When{}))
		k.world.refuse[calendar.JoinWaitlist] = graph.Result{Code: calendar.WaitLimit}
		k.send(graph.Input{Text: "put me on the waiting list", Intent: graph.Unknown, Confidence: 0.3})
		k.hears("waitlist.full", "ask.day")
	}},
	{"a time that became free is taken and paid", func(k *talk) {
		id := k.kept("Wanjiru")
		k.send(graph.Input{Choice: "take/" + id})
		k.hears("summary.deposit")
		k.yes()
		k.pays(nil)
		k.hears("confirmed.paid", "@admin.booked")
		k.statuses(calendar.Confirmed)
	}},
	{"a time that became free is taken by somebody without a name", func(k *talk) {
		k.name = ""
		title := "Massage 90 min"
		if k.lang == "sw" {
			title = "Masaji dakika 90"
		}
		id := k.kept(title)
		k.send(graph.Input{Choice: "take/" + id})
		k.hears("ask.name")
		k.send(graph.Input{Text: "Achieng", Intent: graph.Unknown, Confidence: 0.3})
		k.hears("summary.deposit")
	}},
	{"a time that became free is not wanted, and then it is gone", func(k *talk) {
		id := k.kept("Wanjiru")
		k.send(graph.Input{Choice: "pass/" + id})
		k.hears("waitlist.passed")
		k.statuses(calendar.Expired)
		k.send(graph.Input{Choice: "take/" + id})
		k.hears("waitlist.gone")
		k.at(flow.Greet)
	}},
	{"a visit is praised", func(k *talk) {
		k.send(graph.Input{Choice: "rate/up/B1"})
		k.hears("feedback.up")
		if f := k.world.feedback; len(f) != 1 || f[0].BookingID != "B1" || f[0].Rating != calendar.RatedUp {
			k.t.Errorf("kept %+v", f)
		}
	}},
	{"a visit was not good", func(k *talk) {
		k.send(graph.Input{Choice: "rate/down/B1"})
		k.hears("feedback.down")
	}},
	{"words about a visit are kept as they are", func(k *talk) {
		k.send(graph.Input{Choice: "rate/say/B1"})
		k.hears("feedback.words")
		k.at(flow.Rate)
		k.send(graph.Input{Text: "The towels were cold.", Intent: graph.Complaint})
		k.hears("feedback")
		if f := k.world.feedback; len(f) != 1 || f[0].Comment != "The towels were cold." {
			k.t.Errorf("kept %+v", f)
		}
		k.send(graph.Input{Choice: "rate/say/B1"})
		k.send(graph.Input{Choice: "yes"}) // of some other message
		k.at(flow.Greet)
		k.send(graph.Input{Choice: "book"})
		k.hears("ask.service")
	}},
}
