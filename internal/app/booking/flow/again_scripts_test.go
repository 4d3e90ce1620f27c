package flow_test

import (
	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/flow"
	"github.com/ratiba/ratiba/internal/graph"
)

// What people come back for, and bring along.
var againScripts = []script{
	{"how long, who and when, from the business's own data", func(k *talk) {
		k.send(graph.Input{Intent: graph.Question, Text: "wahudumu wenu ni nani?", Topic: "other"})
		k.contains("Njeri")
		k.send(graph.Input{Intent: graph.Question, Text: "how long does it take?", Topic: "other"})
		k.hears("answer.lengths")
		k.contains("Manicure")
		k.send(graph.Input{Intent: graph.Question, Text: "how long is the manicure?", Topic: "other", Entities: service("manicure")})
		k.hears("answer.length")
		k.contains("30")
		k.send(graph.Input{Intent: graph.Question, Text: "who does it?", Topic: "other", Confidence: 0.4, Entities: service("massage_90")})
		k.hears("answer.who")
		k.contains("Grace", "Amina")
		k.send(graph.Input{Intent: graph.Question, Text: "are you open on Monday?", Topic: "hours", When: graph.When{Date: monday}})
		k.hears("answer.open_day")
		k.send(graph.Input{Intent: graph.Question, Text: "are you open at Christmas? / mko wazi Krismasi?", Topic: "hours"})
		k.hears("answer.closed_day")
		k.at(flow.Greet)
	}},
	{"the same as last time", func(k *talk) {
		k.send(graph.Input{Text: "the same as last time / kama mara ya mwisho", Intent: graph.Unknown, Confidence: 0.4})
		k.hears("ask.service") // there was none
		k.send(massageOn(graph.When{Date: monday, Time: "15:00"}))
		k.yes()
		k.pays(nil)
		k.hears("confirmed.paid", "@admin.booked")
		k.send(graph.Input{Text: "my usual please / kama kawaida tafadhali", Intent: graph.Unknown, Confidence: 0.4})
		k.hears("ask.day")
		k.send(graph.Input{When: graph.When{Date: tuesday, Time: "15:00"}})
		k.hears("summary.deposit")
		k.contains("Amina")
	}},
	{"never mind lets go", func(k *talk) {
		toSummary(k)
		k.send(graph.Input{Text: "Never mind.", Intent: graph.Deny, Confidence: 0.6})
		k.hears("let_go")
		k.statuses(calendar.Expired)
		toSummary(k)
		k.send(graph.Input{Text: "Basi acha!", Intent: graph.Unknown, Confidence: 0.3})
		k.hears("let_go")
	}},
	{"two services, one after the other", func(k *talk) {
		k.send(graph.Input{
			Text: "a massage and a manicure / masaji na manicure", Intent: graph.Book, When: graph.When{Date: monday, Time: "15:00"},
			Entities: map[string]graph.Entity{"service": {Candidates: []string{"massage_90", "manicure"}, Confidence: 0.8}},
		})
		k.hears("summary.deposit")
		k.yes()
		k.pays(nil)
		k.hears("confirmed.paid", "@admin.booked", "then.next", "offer.day")
		k.at(flow.Offering)
		k.tap("slot/")
		k.hears("summary.free")
		k.contains("Wanjiru")
		k.yes()
		k.hears("confirmed.free", "@admin.booked")
		k.statuses(calendar.Confirmed, calendar.Confirmed)
	}},
	{"another service is added on the way", func(k *talk) {
		toSummary(k)
		k.send(graph.Input{Text: "also a manicure / na pia manicure", Intent: graph.Book, Entities: service("manicure")})
		k.hears("then.noted", "summary.deposit")
		k.yes()
		k.pays(nil)
		k.hears("confirmed.paid", "@admin.booked", "then.next", "offer.day")
	}},
	{"a visit for somebody else is under their name", func(k *talk) {
		k.send(graph.Input{Text: "for my mum / ya mama yangu", Intent: graph.Book, ForOther: true, Entities: service("massage_90"), When: graph.When{Date: monday, Time: "15:00"}})
		k.hears("ask.name")
		k.send(graph.Input{Text: "ni ya mama yangu", Intent: graph.Unknown, Confidence: 0.3})
		k.hears("sorry.once", "ask.name")
		k.send(graph.Input{Text: "Jane Atieno", Intent: graph.Unknown, Confidence: 0.3})
		k.hears("summary.deposit")
		k.contains("Jane Atieno")
		k.send(graph.Input{Text: "Jane Achieng", Intent: graph.Unknown, Confidence: 0.3})
		k.hears("summary.deposit")
		k.contains("Jane Achieng")
	}},
}
