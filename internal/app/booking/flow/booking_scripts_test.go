package flow_test

import (
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/flow"
	"github.com/ratiba/ratiba/internal/graph"
)

// What people say, as understanding reports it. The tests' today is a Saturday.

const (
	sunday    = "2026-11-22"
	monday    = "2026-11-23"
	tuesday   = "2026-11-24"
	christmas = "2026-12-25"
)

func service(id string) map[string]graph.Entity {
	return map[string]graph.Entity{"service": {ID: id, Confidence: 0.95}}
}

func staff(id string) map[string]graph.Entity {
	return map[string]graph.Entity{"staff": {ID: id, Confidence: 0.95}}
}

// massageOn is "a 90 minute massage on <date>", with a time or a window.
func massageOn(w graph.When) graph.Input {
	return graph.Input{Intent: graph.Book, Entities: service("massage_90"), When: w}
}

// toSummary goes to the summary of a massage on Monday at three.
func toSummary(k *talk) {
	k.t.Helper()
	k.send(massageOn(graph.When{Date: monday, Time: "15:00"}))
	k.hears("summary.deposit")
	k.at(flow.Confirming)
}

// toPrompt goes to a payment prompt on the phone.
func toPrompt(k *talk) {
	k.t.Helper()
	toSummary(k)
	k.yes()
	k.hears("pay.sent")
	k.at(flow.AwaitPayment)
}

// taken books a time for somebody else.
func (k *talk) taken(id, staffID, date, clock string, length time.Duration) {
	k.t.Helper()
	start, err := time.ParseInLocation("2006-01-02 15:04", date+" "+clock, nairobi)
	if err != nil {
		k.t.Fatal(err)
	}
	k.world.bookings[id] = &calendar.Booking{
		ID: id, Code: "OTHER1", ContactID: "01SOMEBODY", StaffID: staffID, Start: start, End: start.Add(length), Status: calendar.Confirmed,
	}
}

var bookingScripts = []script{
	{"a visit is booked and paid in five steps", func(k *talk) {
		k.send(massageOn(graph.When{Date: monday, From: "12:00", To: "17:00"}))
		k.hears("offer.day")
		k.at(flow.Offering)
		k.tap("slot/")
		k.hears("summary.deposit")
		k.contains("KES 4,500", "KES 1,000", "Wanjiru")
		k.yes()
		k.hears("pay.sent")
		k.statuses(calendar.PendingPayment)
		k.pays(nil)
		k.hears("confirmed.paid", "@admin.booked")
		k.contains("SKL7X8Y9Z0", "KES 3,500")
		k.at(flow.Closed)
		k.statuses(calendar.Confirmed)
		k.send(graph.Input{Intent: graph.MyBookings})
		k.hears("bookings.list")
	}},
	{"only what is missing is asked for, one thing at a time", func(k *talk) {
		k.name = ""
		k.send(graph.Input{Intent: graph.Book})
		k.hears("ask.service")
		k.tap("service/massage_60")
		k.hears("ask.day")
		k.tap("on/2026-11-22")
		k.hears("offer.day")
		k.send(graph.Input{When: graph.When{Time: "10:00"}})
		k.hears("ask.name")
		k.send(graph.Input{Text: "?? 12 ??", Intent: graph.Unknown, Confidence: 0.3})
		k.hears("sorry.once", "ask.name")
		k.send(graph.Input{Text: "Achieng Otieno", Intent: graph.Unknown, Confidence: 0.3})
		k.hears("summary.deposit")
		k.contains("Achieng Otieno")
	}},
	{"a service that needs no deposit is confirmed by the yes alone", func(k *talk) {
		k.send(graph.Input{Intent: graph.Book, Entities: service("manicure"), When: graph.When{Date: monday, Time: "10:00"}})
		k.hears("summary.free")
		k.yes()
		k.hears("confirmed.free", "@admin.booked")
		k.at(flow.Closed)
	}},
	{"two services that fit equally well are asked back with buttons", func(k *talk) {
		k.send(graph.Input{Intent: graph.Book, When: graph.When{Date: monday, Time: "15:00"}, Entities: map[string]graph.Entity{
			"service": {Candidates: []string{"massage_60", "massage_90"}, Confidence: 0.9},
		}})
		k.hears("ask.which_service")
		if len(k.last[0].choices) != 2 || k.last[0].list {
			k.t.Errorf("want two buttons, got %v", k.last[0].titles)
		}
		k.send(graph.Input{Number: 2})
		k.hears("summary.deposit")
		k.contains("KES 4,500")
	}},
	{"an ambiguous time at which nobody works at night is the afternoon", func(k *talk) {
		k.send(massageOn(graph.When{Date: monday, Options: []string{"03:00", "15:00"}}))
		k.hears("summary.deposit")
		k.contains("3:00 pm")
	}},
	{"an ambiguous time with two readings inside the hours is asked back", func(k *talk) {
		k.send(graph.Input{Intent: graph.Book, Entities: service("manicure"), When: graph.When{Date: monday, Options: []string{"03:00", "15:00"}}})
		k.hears("ask.time")
		if n := len(k.last[0].choices); n != 2 {
			k.t.Errorf("want two buttons, got %d", n)
		}
		k.tap("at/15:00")
		k.hears("summary.free")
	}},
	{"an ambiguous time where nobody works at all is told so", func(k *talk) {
		k.send(massageOn(graph.When{Date: christmas, Options: []string{"03:00", "04:00"}}))
		k.hears("refused.closed", "offer.instead")
	}},
	{"a correction changes one slot and keeps the rest", func(k *talk) {
		toSummary(k)
		k.send(graph.Input{When: graph.When{Date: tuesday}})
		k.hears("summary.deposit")
		k.contains("24", "3:00 pm")
		k.statuses(calendar.Expired, calendar.Held)
		k.send(graph.Input{Entities: service("massage_60")})
		k.hears("summary.deposit")
		k.contains("KES 3,000", "24")
		k.send(graph.Input{Entities: staff("amina")})
		k.contains("Amina")
	}},
	{"a slot somebody else took meanwhile is answered with others", func(k *talk) {
		k.send(massageOn(graph.When{Date: monday, From: "15:00", To: "15:30"}))
		k.hears("offer.day")
		k.taken("o1", "grace", monday, "14:00", 3*time.Hour)
		k.taken("o2", "amina", monday, "14:00", 3*time.Hour)
		k.tap("slot/")
		k.hears("refused.slot_taken", "offer.instead")
		k.at(flow.Offering)
		k.tap("slot/")
		k.hears("summary.deposit")
	}},
	{"who is free at the picked time takes the place of who was taken", func(k *talk) {
		k.send(massageOn(graph.When{Date: monday, From: "15:00", To: "15:30"}))
		k.hears("offer.day")
		picked := k.find("slot/")
		other, busy := "amina", "grace"
		if strings.HasSuffix(picked, "amina") {
			other, busy = busy, other
		}
		k.taken("o1", busy, monday, "14:00", 3*time.Hour)
		k.tap("slot/")
		k.hears("summary.deposit")
		if got := k.flowState().Hold.Slot.StaffID; got != other {
			k.t.Errorf("kept with %s", got)
		}
	}},
	{"a closed day is answered with the nearest free times", func(k *talk) {
		k.send(massageOn(graph.When{Date: christmas}))
		k.hears("refused.closed", "offer.instead")
		k.tap("another_day")
		k.hears("ask.day")
	}},
	{"a time outside the hours is answered with the nearest free times", func(k *talk) {
		k.send(massageOn(graph.When{Date: monday, Time: "20:00"}))
		k.hears("refused.outside_hours", "offer.instead")
	}},
	{"a date too far ahead is said to be too far", func(k *talk) {
		k.send(massageOn(graph.When{Date: "2027-06-02"}))
		k.hears("refused.too_far", "ask.day")
	}},
	{"a date that does not exist is said so and asked again", func(k *talk) {
		k.send(graph.Input{Intent: graph.Book, Entities: service("massage_90"), When: graph.When{Fault: "no_such_date"}})
		k.hears("fault.no_such_date", "ask.day")
		k.send(graph.Input{When: graph.When{Fault: "past"}})
		k.hears("fault.past", "offer.day")
		k.send(graph.Input{When: graph.When{Fault: "no_such_time"}})
		k.hears("fault.no_such_time", "offer.again")
		k.at(flow.Offering)
	}},
	{"more times and another day are there to tap", func(k *talk) {
		k.send(massageOn(graph.When{Date: monday}))
		k.hears("offer.day")
		if !k.last[0].list {
			k.t.Error("want a list")
		}
		k.tap("more")
		k.hears("offer.day")
		for range 2 {
			if k.keys()[0] == "offer.day" && k.last[0].list && k.has("more") {
				k.tap("more")
			}
		}
		k.tap("another_day")
		k.hears("ask.day")
		k.tap("soonest")
		k.hears("offer.day")
	}},
	{"a week is offered with times of every day", func(k *talk) {
		k.send(massageOn(graph.When{Date: monday, DateTo: "2026-11-29"}))
		k.hears("offer.days")
		first := k.find("slot/")
		k.tap("more")
		k.hears("offer.days")
		if k.find("slot/") == first {
			k.t.Error("the next page is the first again")
		}
		k.send(graph.Input{When: graph.When{Date: "2026-11-25", Time: "09:00"}})
		k.hears("summary.deposit")
	}},
	{"a pick by number, by typed time and by a yes to the only one", func(k *talk) {
		k.send(massageOn(graph.When{Date: monday}))
		k.send(graph.Input{Number: 3})
		k.hears("summary.deposit")
		k.contains("10:00 am")
		k.tap("change")
		k.hears("ask.change")
		k.tap("change_time")
		k.hears("ask.day")
		k.send(graph.Input{When: graph.When{Date: monday, From: "13:00", To: "13:30"}})
		k.hears("offer.day")
		k.send(graph.Input{Answer: graph.Yes, Intent: graph.Affirm})
		k.hears("summary.deposit")
	}},
	{"with somebody else at the same time", func(k *talk) {
		k.send(massageOn(graph.When{Date: monday}))
		k.send(graph.Input{Entities: staff("amina")})
		k.hears("offer.day")
		k.contains("Amina")
		k.send(graph.Input{AnyStaff: true, Number: 0})
		k.hears("offer.day")
	}},
	{"a no to the offer asks for another day, a time without a day keeps the time", func(k *talk) {
		k.send(massageOn(graph.When{Time: "11:00"}))
		k.hears("ask.day")
		k.tap("on/2026-11-22")
		k.hears("summary.deposit")
		k.contains("11:00 am")
	}},
	{"a tap on an old list still means what it said", func(k *talk) {
		k.send(massageOn(graph.When{Date: monday}))
		old := k.find("slot/")
		k.send(graph.Input{Answer: graph.No, Intent: graph.Deny})
		k.hears("ask.day")
		k.send(graph.Input{Choice: old})
		k.hears("summary.deposit")
		k.tap("stop")
		k.hears("let_go")
		k.at(flow.Closed)
		k.statuses(calendar.Expired)
		k.send(graph.Input{Choice: old})
		k.hears("summary.deposit")
	}},
	{"the same time picked again is not held twice", func(k *talk) {
		k.send(massageOn(graph.When{Date: monday}))
		old := k.find("slot/")
		k.tap("slot/")
		k.send(graph.Input{Choice: old})
		k.hears("summary.deposit")
		k.statuses(calendar.Held)
	}},
	{"the hold runs out before the yes", func(k *talk) {
		toSummary(k)
		k.rings("hold")
		k.hears("hold.expired")
		k.at(flow.HoldExpired)
		k.event("resume")
		k.hears("hold.look_again")
		k.tap("again")
		k.hears("summary.deposit")
	}},
	{"the hold runs out and nothing more is wanted", func(k *talk) {
		toSummary(k)
		k.rings("hold")
		k.send(graph.Input{Answer: graph.No, Intent: graph.Deny})
		k.hears("let_go")
	}},
	{"a timer for a hold that was replaced says nothing", func(k *talk) {
		toSummary(k)
		old := k.timers["hold"]
		k.send(graph.Input{When: graph.When{Date: tuesday}})
		k.timers["hold"] = old
		k.rings("hold")
		k.hears()
		k.at(flow.Confirming)
	}},
	{"a free visit whose slot is gone at the yes is offered anew", func(k *talk) {
		k.send(graph.Input{Intent: graph.Book, Entities: service("manicure"), When: graph.When{Date: monday, Time: "10:00"}})
		k.taken("o1", "njeri", monday, "10:00", time.Hour)
		for _, b := range k.world.bookings {
			if b.ContactID == customer {
				b.Status = calendar.Expired
			}
		}
		k.yes()
		k.hears("refused.hold_expired", "offer.instead")
		k.send(graph.Input{Choice: k.find("slot/")})
		k.hears("summary.free")
		k.tap("change")
		k.tap("change_service")
		k.hears("ask.service")
	}},
	{"nothing free at all asks for another day", func(k *talk) {
		k.send(massageOn(graph.When{Date: monday, From: "15:00", To: "15:30"}))
		k.world.refuse[calendar.HoldSlot] = refusal(k.t, calendar.HoldLimit, nil)
		k.tap("slot/")
		k.hears("refused.hold_limit", "ask.day")
	}},
	{"every refusal of a time has its own words", func(k *talk) {
		for _, code := range []string{
			calendar.TooSoon, calendar.TooFar, calendar.OffGrid, calendar.OwnOverlap, calendar.NotEligible, calendar.SlotTaken, "unheard_of",
		} {
			k.send(massageOn(graph.When{Date: monday, From: "15:00", To: "15:30"}))
			k.world.refuse[calendar.HoldSlot] = refusal(k.t, code, nil)
			k.tap("slot/")
			want := "refused." + code
			if code == "unheard_of" {
				want = "refused.slot_taken"
			}
			k.hears(want, "ask.day")
		}
	}},
	{"the last page says that these were all", func(k *talk) {
		k.send(massageOn(graph.When{Date: monday, From: "09:00", To: "13:30"}))
		k.tap("more")
		k.taken("o1", "grace", monday, "08:00", 10*time.Hour)
		k.taken("o2", "amina", monday, "08:00", 10*time.Hour)
		k.send(graph.Input{Choice: "more"})
		k.hears("offer.no_more", "ask.day")
	}},
	{"a yes that answers no open question shows the summary again", func(k *talk) {
		toSummary(k)
		k.send(graph.Input{Answer: graph.Yes, Intent: graph.Affirm})
		k.hears("summary.deposit")
		k.send(graph.Input{Answer: graph.No, Intent: graph.Deny})
		k.hears("ask.change")
		k.send(graph.Input{Text: "hmm", Intent: graph.Unknown, Confidence: 0.2})
		k.hears("sorry.once", "summary.deposit")
		k.send(graph.Input{Text: "hmm", Intent: graph.Unknown, Confidence: 0.2})
		k.hears("summary.deposit", "sorry.again")
		k.tap("human")
		if !k.handed {
			k.t.Error("no handover")
		}
	}},
	{"a booking in progress is given up by saying cancel", func(k *talk) {
		k.send(massageOn(graph.When{Date: monday}))
		k.send(graph.Input{Intent: graph.Cancel})
		k.hears("let_go")
		k.at(flow.Closed)
	}},
}

// has reports whether something to tap begins with a prefix.
func (k *talk) has(prefix string) bool {
	for _, s := range k.last {
		for _, c := range s.choices {
			if len(c.ID) >= len(prefix) && c.ID[:len(prefix)] == prefix {
				return true
			}
		}
	}
	return false
}
