package flow_test

import (
	"encoding/json"
	"strings"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/flow"
	"github.com/ratiba/ratiba/internal/graph"
)

var talkingScripts = []script{
	{"a greeting offers what can be done", func(k *talk) {
		k.send(graph.Input{Intent: graph.Greeting})
		k.hears("welcome")
		if n := len(k.last[0].choices); n != 3 {
			k.t.Errorf("%d buttons", n)
		}
		k.tap("ask")
		k.hears("ask.what")
		k.send(graph.Input{Intent: graph.Question, Topic: "price"})
		k.hears("answer.prices")
		k.contains("KES 3,000", "KES 4,500")
		k.send(graph.Input{Intent: graph.Thanks})
		k.hears("thanks")
		k.at(flow.Closed)
	}},
	{"what is not understood is answered differently each time", func(k *talk) {
		k.send(graph.Input{Text: "??", Intent: graph.Unknown, Confidence: 0.1})
		k.hears("help.once")
		k.send(graph.Input{Text: "??", Intent: graph.Unknown, Confidence: 0.1})
		k.hears("help.again")
		if !k.has("human") || !k.out.Reprompt {
			k.t.Error("no way out")
		}
		k.tap("book")
		k.hears("ask.service")
		k.send(graph.Input{Text: "??", Intent: graph.Unknown, Confidence: 0.1})
		k.hears("sorry.once", "ask.service")
		k.send(graph.Input{Text: "??", Intent: graph.Unknown, Confidence: 0.1})
		k.hears("ask.service", "sorry.again")
		k.tap("stop")
		k.hears("let_go")
	}},
	{"a question in the middle is answered and the booking goes on", func(k *talk) {
		k.send(massageOn(graph.When{}))
		k.hears("ask.day")
		k.send(graph.Input{Intent: graph.Question, Topic: "price"})
		k.hears("answer.price", "ask.day")
		k.contains("KES 4,500", "KES 1,000")
		k.send(graph.Input{When: graph.When{Date: monday}})
		k.send(graph.Input{Intent: graph.Question, Topic: "payment"})
		k.hears("answer.payment", "offer.day")
		k.tap("slot/")
		k.send(graph.Input{Intent: graph.Question, Text: "do you have towels? / mna taulo?", Topic: "other"})
		k.hears("answer.faq", "summary.deposit")
		k.send(graph.Input{Intent: graph.Question, Text: "can you fix a car?", Topic: "other"})
		k.hears("answer.unknown", "summary.deposit")
		k.yes()
		k.hears("pay.sent")
	}},
	{"the questions a business is asked", func(k *talk) {
		for topic, want := range map[string]string{
			"hours": "answer.hours", "location": "answer.location", "policy": "answer.policy", "services": "answer.services",
			"payment": "answer.payment", "other": "answer.unknown",
		} {
			k.send(graph.Input{Intent: graph.Question, Topic: topic})
			k.hears(want)
			k.at(flow.Greet)
		}
		k.send(graph.Input{Intent: graph.Question, Topic: "price", Entities: service("massage_60")})
		k.hears("answer.price")
		k.tap("book")
		k.hears("ask.day")
	}},
	{"a question about a free time is a booking", func(k *talk) {
		k.send(graph.Input{Intent: graph.Question, Topic: "other", Entities: service("massage_90"), When: graph.When{Date: monday}})
		k.hears("offer.day")
	}},
	{"courtesies in the middle lose nothing", func(k *talk) {
		k.send(massageOn(graph.When{}))
		k.send(graph.Input{Intent: graph.Thanks})
		k.hears("thanks.midway", "ask.day")
		k.send(graph.Input{Intent: graph.Greeting})
		k.hears("welcome.midway", "ask.day")
		k.send(graph.Input{Intent: graph.Feedback})
		k.hears("feedback", "ask.day")
		k.send(graph.Input{Intent: graph.Complaint})
		k.hears("complaint")
		k.send(graph.Input{Intent: graph.MyBookings})
		k.hears("bookings.none", "ask.day")
	}},
	{"a complaint and feedback with nothing open", func(k *talk) {
		k.send(graph.Input{Intent: graph.Complaint})
		k.hears("complaint")
		k.tap("human")
		if !k.handed {
			k.t.Error("no handover")
		}
		k.send(graph.Input{Intent: graph.Feedback})
		k.hears("feedback")
	}},
	{"nothing more is wanted", func(k *talk) {
		k.send(graph.Input{Intent: graph.Greeting})
		k.send(graph.Input{Answer: graph.No, Intent: graph.Deny})
		k.hears("goodbye")
	}},
	{"events that mean nothing here say nothing", func(k *talk) {
		k.event("receipt_failed")
		k.hears()
		k.at(flow.Closed)
		k.send(graph.Input{Intent: graph.Greeting})
		k.event("resume")
		k.hears()
		k.at(flow.Greet)
	}},
	{"a rude word is answered with an apology, an ok after all is said with help", func(k *talk) {
		k.send(graph.Input{Text: "you are useless", Sentiment: "negative", Intent: graph.Unknown, Confidence: 0.4})
		k.hears("complaint")
		k.send(graph.Input{Text: "poa", Answer: graph.Yes, Intent: graph.Affirm})
		k.hears("welcome")
	}},
	{"a question that has no options points at none", func(k *talk) {
		k.name = ""
		k.send(massageOn(graph.When{Date: monday, Time: "10:00"}))
		k.hears("ask.name")
		for range 2 {
			k.send(graph.Input{Text: "??", Intent: graph.Unknown, Confidence: 0.1})
		}
		k.hears("ask.name", "sorry.again_open")
		k.send(graph.Input{Answer: graph.No, Intent: graph.Deny})
		k.hears("ask.change")
		k.tap("change_service")
		k.hears("ask.service")
	}},
	{"a name given before it is asked for is kept", func(k *talk) {
		k.name = ""
		k.send(massageOn(graph.When{Date: monday}))
		k.send(graph.Input{Name: "Faith Njeri"})
		k.hears("offer.again")
		k.tap("slot/")
		k.hears("summary.deposit")
		k.contains("Faith Njeri")
		k.send(graph.Input{Name: "Faith Wanjiru", Intent: graph.Reschedule})
		k.hears("summary.deposit")
		k.contains("Faith Wanjiru")
		for _, b := range k.world.bookings {
			if b.Status == calendar.Held && b.Name != "Faith Wanjiru" {
				k.t.Errorf("a time is kept for %q", b.Name)
			}
		}
	}},
	{"another service beside a time that cannot be", func(k *talk) {
		k.send(massageOn(graph.When{Date: monday}))
		k.send(graph.Input{Entities: service("manicure"), When: graph.When{Fault: "no_such_date"}})
		k.hears("fault.no_such_date", "ask.day")
	}},
	{"the price of several candidates, then which one", func(k *talk) {
		k.send(graph.Input{Intent: graph.Question, Topic: "price", Entities: map[string]graph.Entity{
			"service": {Candidates: []string{"massage_60", "massage_90"}, Confidence: 0.92},
		}})
		k.hears("answer.prices")
		for _, s := range k.last {
			if strings.Contains(s.text, "KES 1,200") {
				k.t.Errorf("a price nobody asked for: %s", s.text)
			}
		}
		var s flow.State
		if err := json.Unmarshal(k.state, &s); err != nil || s.Asked != "service" {
			k.t.Errorf("asked for %q, %v", s.Asked, err)
		}
	}},
	{"an ok with thanks ends it, the time is left to us, and a past day leaves no half of a time", func(k *talk) {
		k.send(graph.Input{Text: "ok thanks", Answer: graph.Yes, Intent: graph.Affirm})
		k.hears("thanks")
		k.at(flow.Closed)
		k.send(graph.Input{Text: "manicure anytime", Entities: service("manicure")})
		k.hears("offer.day")
		k.send(graph.Input{Text: "SOONEST", Intent: graph.Unknown, Confidence: 0.3})
		k.hears("summary.free")
		k.tap("stop")
		k.send(graph.Input{Entities: service("manicure"), When: graph.When{Options: []string{"15:00", "03:00"}}})
		k.hears("ask.day")
		k.send(graph.Input{When: graph.When{Fault: "past"}})
		k.hears("fault.past", "offer.day")
	}},
	{"changes said in words at the summary", func(k *talk) {
		k.send(massageOn(graph.When{Date: monday, Time: "10:00"}))
		k.hears("summary.deposit")
		k.send(graph.Input{When: graph.When{Time: "10:00"}})
		k.hears("summary.deposit")
		k.send(graph.Input{Text: "change the time", Intent: graph.Reschedule})
		k.hears("offer.day")
		k.contains("23 Nov")
		k.send(graph.Input{Text: "other time please", Intent: graph.Unknown, Confidence: 0.4})
		k.hears("ask.day")
		k.send(graph.Input{When: graph.When{Date: monday, Time: "10:00"}})
		k.send(graph.Input{Text: "badilisha siku", Intent: graph.Reschedule})
		k.hears("ask.day")
		k.send(graph.Input{When: graph.When{Date: tuesday}})
		k.hears("summary.deposit")
		k.send(graph.Input{Text: "change service", Intent: graph.Unknown, Confidence: 0.4})
		k.hears("ask.service")
	}},
	{"somebody else asked for by a question", func(k *talk) {
		k.send(graph.Input{Intent: graph.Book, Entities: map[string]graph.Entity{"service": {ID: "massage_60"}, "staff": {ID: "grace"}}, When: graph.When{Date: monday}})
		k.hears("offer.day")
		k.send(graph.Input{Text: "can Amina do it instead?", Intent: graph.Question, Topic: "other", Entities: staff("amina")})
		k.hears("offer.day")
		k.contains("Amina")
	}},
	{"the business hears who is running late", func(k *talk) {
		k.send(graph.Input{Text: "Nimechelewa kidogo", Intent: graph.Unknown, Confidence: 0.3})
		k.hears("late", "@admin.late")
		k.contains("Wanjiru")
	}},
	{"whether there is parking", func(k *talk) {
		k.send(graph.Input{Intent: graph.Question, Topic: "other", Text: "Is there parking?"})
		k.hears("answer.location")
	}},
	{"whether the money has come is no unknown question", func(k *talk) {
		k.send(massageOn(graph.When{Date: monday, Time: "10:00"}))
		k.yes()
		k.send(graph.Input{Intent: graph.Question, Topic: "other", Text: "have you received?"})
		k.hears("pay.no_word_yet")
		k.at(flow.AwaitPayment)
	}},
	{"low confidence in an intent asks back", func(k *talk) {
		k.send(graph.Input{Intent: graph.Cancel, Confidence: 0.7})
		k.hears("help.once")
	}},
}
