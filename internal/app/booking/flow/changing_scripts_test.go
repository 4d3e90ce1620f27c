package flow_test

import (
	"encoding/json"
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/flow"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/money"
)

func (k *talk) flowState() flow.State {
	k.t.Helper()
	var s flow.State
	if err := json.Unmarshal(k.state, &s); err != nil {
		k.t.Fatal(err)
	}
	return s
}

// booked gives the customer a confirmed visit.
func (k *talk) booked(id, date, clock string, paid int64) {
	k.t.Helper()
	k.taken(id, "grace", date, clock, 90*time.Minute)
	b := k.world.bookings[id]
	b.ContactID, b.Code, b.ServiceID, b.StaffName, b.Name = customer, "CODE"+id, "massage_90", "Grace", "Wanjiru"
	b.Paid, b.Version, b.ChangeUntil = money.Major(paid, "KES"), 3, b.Start.Add(-12*time.Hour)
}

var changingScripts = []script{
	{"a visit is moved and keeps its code", func(k *talk) {
		k.booked("b1", monday, "15:00", 1000)
		k.send(graph.Input{Intent: graph.Reschedule})
		k.hears("move.when")
		k.tap("on/2026-11-22")
		k.hears("refused.outside_hours", "offer.instead")
		k.send(graph.Input{When: graph.When{Date: tuesday}})
		k.hears("offer.day")
		k.tap("to/")
		k.hears("move.summary")
		k.contains("CODEb1", "Grace")
		k.yes()
		k.hears("moved", "@admin.moved")
		k.at(flow.Closed)
		if got := k.world.bookings["b1"].Start.In(nairobi).Format(time.DateOnly); got != tuesday {
			k.t.Errorf("moved to %s", got)
		}
	}},
	{"a new time without a day is on the visit's own day", func(k *talk) {
		k.booked("b1", monday, "15:00", 1000)
		k.send(graph.Input{Text: "push it to 11", Intent: graph.Reschedule, When: graph.When{Time: "11:00"}})
		k.hears("move.summary")
		k.contains("23", "11:00 am")
		k.send(graph.Input{Answer: graph.No, Intent: graph.Deny})
		k.send(graph.Input{Text: "change my booking to tuesday same time", Intent: graph.Reschedule, When: graph.When{Date: tuesday}})
		k.hears("move.summary")
		k.contains("24", "3:00 pm")
	}},
	{"a no to the question when leaves the visit as it is", func(k *talk) {
		k.booked("b1", monday, "15:00", 1000)
		k.send(graph.Input{Intent: graph.Reschedule})
		k.hears("move.when")
		k.send(graph.Input{Answer: graph.No, Intent: graph.Deny})
		k.hears("kept")
		k.at(flow.Closed)
	}},
	{"a visit is moved in one message", func(k *talk) {
		k.booked("b1", monday, "15:00", 1000)
		k.send(graph.Input{Intent: graph.Reschedule, Entities: staff("amina"), When: graph.When{Date: tuesday, Time: "11:00"}})
		k.hears("move.summary")
		k.contains("Amina")
		k.tap("change_time")
		k.hears("move.when")
		k.send(graph.Input{Intent: graph.Reschedule, When: graph.When{Date: tuesday, Time: "12:00"}})
		k.hears("move.summary")
		k.send(graph.Input{When: graph.When{Time: "13:00"}})
		k.hears("move.summary")
		k.contains("1:00 pm")
		k.send(graph.Input{Answer: graph.Yes, Intent: graph.Affirm})
		k.hears("move.summary")
		k.send(graph.Input{Text: "?", Intent: graph.Unknown, Confidence: 0.1})
		k.hears("sorry.once", "move.summary")
		k.send(graph.Input{Answer: graph.No, Intent: graph.Deny})
		k.hears("kept")
	}},
	{"which of two to move is asked", func(k *talk) {
		k.booked("b1", monday, "15:00", 1000)
		k.booked("b2", tuesday, "11:00", 1000)
		k.send(graph.Input{Intent: graph.Reschedule})
		k.hears("move.which")
		k.send(graph.Input{Text: "?", Intent: graph.Unknown, Confidence: 0.1})
		k.hears("sorry.once", "move.which")
		k.event("resume")
		k.hears("move.which")
		k.send(graph.Input{Number: 2})
		k.hears("move.when")
		k.contains("24")
		k.send(graph.Input{Text: "?", Intent: graph.Unknown, Confidence: 0.1})
		k.hears("sorry.once", "move.when")
		k.send(graph.Input{When: graph.When{Fault: "no_such_date"}})
		k.hears("fault.no_such_date", "move.when")
		k.send(graph.Input{Intent: graph.Question, Topic: "location"})
		k.hears("answer.location", "move.when")
		k.send(graph.Input{When: graph.When{Date: tuesday, From: "12:00", To: "17:00"}})
		k.hears("offer.day")
		k.send(graph.Input{Intent: graph.Question, Topic: "location"})
		k.hears("answer.location", "offer.day")
		k.tap("another_day")
		k.hears("move.when")
		k.tap("soonest")
		k.hears("offer.day")
		k.tap("to/")
		k.hears("move.summary")
		k.send(graph.Input{Intent: graph.Question, Topic: "location"})
		k.hears("answer.location", "move.summary")
	}},
	{"nothing to move and nothing to cancel", func(k *talk) {
		k.send(graph.Input{Intent: graph.Reschedule})
		k.hears("bookings.none")
		k.at(flow.Greet)
		k.send(graph.Input{Intent: graph.Cancel})
		k.hears("bookings.none")
		k.send(graph.Input{Intent: graph.MyBookings})
		k.hears("bookings.none")
	}},
	{"too late to move or cancel is said, with a person to talk to", func(k *talk) {
		k.booked("b1", "2026-11-21", "15:00", 1000)
		k.send(graph.Input{Intent: graph.Reschedule})
		k.hears("change.too_late")
		k.send(graph.Input{Intent: graph.Cancel})
		k.hears("change.too_late")
		k.tap("human")
		if !k.handed {
			k.t.Error("no handover")
		}
	}},
	{"the new time is taken meanwhile, and the old one stands", func(k *talk) {
		k.booked("b1", monday, "15:00", 1000)
		k.send(graph.Input{Intent: graph.Reschedule, When: graph.When{Date: tuesday, Time: "11:00"}})
		res := k.world.availability(calendar.CheckAvailabilityArgs{ServiceID: "massage_90", From: tuesday, To: tuesday, Limit: 2}, k.now)
		var a calendar.Availability
		if err := res.Decode(&a); err != nil {
			k.t.Fatal(err)
		}
		k.world.refuse[calendar.RescheduleBooking] = refusal(k.t, calendar.SlotTaken, calendar.Alternatives{Slots: a.Slots})
		k.yes()
		k.hears("move.refused", "offer.instead")
		k.at(flow.MoveOffer)
		k.tap("to/")
		k.world.refuse[calendar.RescheduleBooking] = refusal(k.t, calendar.PolicyCutoff, nil)
		k.yes()
		k.hears("change.too_late")
		k.at(flow.Closed)
	}},
	{"a paid visit is cancelled and the deposit is a task", func(k *talk) {
		k.booked("b1", monday, "15:00", 1000)
		k.send(graph.Input{Intent: graph.Cancel})
		k.hears("drop.summary")
		k.contains("KES 1,000")
		k.send(graph.Input{Text: "?", Intent: graph.Unknown, Confidence: 0.1})
		k.hears("drop.summary")
		k.send(graph.Input{Text: "?", Intent: graph.Unknown, Confidence: 0.1})
		k.hears("drop.summary")
		k.send(graph.Input{Intent: graph.Question, Topic: "policy"})
		k.hears("answer.policy", "drop.summary")
		k.yes()
		k.hears("dropped.paid", "@admin.dropped")
		k.statuses(calendar.Cancelled)
		if len(k.tasks) != 1 || k.tasks[0].Kind != "refund" {
			k.t.Errorf("tasks %+v", k.tasks)
		}
	}},
	{"which of two to cancel is asked, and it can be kept", func(k *talk) {
		k.booked("b1", monday, "15:00", 0)
		k.booked("b2", tuesday, "11:00", 0)
		k.send(graph.Input{Intent: graph.Cancel})
		k.hears("drop.which")
		k.send(graph.Input{Text: "?", Intent: graph.Unknown, Confidence: 0.1})
		k.hears("sorry.once", "drop.which")
		k.event("resume")
		k.hears("drop.which")
		k.tap("drop/b2")
		k.hears("drop.summary")
		k.tap("keep")
		k.hears("kept")
		k.send(graph.Input{Choice: "drop/b1"})
		k.hears("drop.summary")
		k.yes()
		k.hears("dropped", "@admin.dropped")
	}},
	{"something else in place of an answer to the cancellation", func(k *talk) {
		k.booked("b1", monday, "15:00", 0)
		k.send(graph.Input{Intent: graph.Cancel})
		k.hears("drop.summary")
		k.send(graph.Input{Intent: graph.Cancel, Entities: service("massage_90")})
		k.hears("drop.summary")
		k.send(graph.Input{Intent: graph.Cancel, Entities: service("manicure"), When: graph.When{Date: tuesday}})
		k.hears("offer.day")
		k.statuses(calendar.Confirmed)
	}},
	{"a booking that vanished cannot be cancelled", func(k *talk) {
		k.booked("b1", monday, "15:00", 0)
		k.send(graph.Input{Intent: graph.Cancel})
		delete(k.world.bookings, "b1")
		k.send(graph.Input{Answer: graph.Yes, Intent: graph.Affirm})
		k.hears("change.changed")
	}},
	{"my bookings lists one with what can be done", func(k *talk) {
		k.booked("b1", monday, "15:00", 1000)
		k.send(graph.Input{Intent: graph.MyBookings})
		k.hears("bookings.list")
		k.at(flow.MyBookings)
		k.contains("CODEb1")
		k.send(graph.Input{Intent: graph.Question, Topic: "location"})
		k.hears("answer.location")
		k.at(flow.MyBookings)
		k.send(graph.Input{Choice: "move/b1"})
		k.hears("move.when")
		k.send(graph.Input{Choice: "book"})
		k.hears("ask.service")
	}},
	{"my bookings lists two and shows one of them", func(k *talk) {
		k.booked("b1", monday, "15:00", 1000)
		k.booked("b2", tuesday, "11:00", 1000)
		k.send(graph.Input{Intent: graph.MyBookings})
		k.hears("bookings.list")
		k.send(graph.Input{Number: 2})
		k.hears("bookings.list")
		k.contains("CODEb2")
		k.tap("drop/b2")
		k.hears("drop.summary")
		k.send(graph.Input{Choice: "show/b1"})
		k.hears("bookings.list", "drop.summary")
	}},
	{"from my bookings to something else", func(k *talk) {
		k.booked("b1", monday, "15:00", 1000)
		k.send(graph.Input{Intent: graph.MyBookings})
		k.send(graph.Input{Intent: graph.Greeting})
		k.hears("welcome")
	}},
	{"an old tap on a time to move to begins the move again", func(k *talk) {
		k.booked("b1", monday, "15:00", 1000)
		k.send(graph.Input{Intent: graph.Reschedule, When: graph.When{Date: tuesday, From: "09:00", To: "11:00"}})
		old := k.find("to/")
		k.tap("to/")
		k.send(graph.Input{Intent: graph.Book})
		k.hears("ask.service")
		k.send(graph.Input{Choice: old})
		k.hears("move.when")
	}},
}
