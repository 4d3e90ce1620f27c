package flow

import (
	"slices"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/graph"
)

// Answers about the business itself: how long a visit takes, who does it, and
// when it is open.

func asksLength(text string) bool {
	return says(text, "how long", "how many minutes", "how many hours", "what duration", "inachukua muda", "huchukua muda", "muda gani", "dakika ngapi", "masaa mangapi", "inachukua saa ngapi")
}

func asksWho(text string) bool {
	return says(text, "who does", "who do ", "who is doing", "who will do", "who'll do", "who can do", "who are your", "who works", "which staff", "which therapist", "which barber",
		"nani anafanya", "nani hufanya", "nani atafanya", "nani atanifanyia", "wahudumu wenu", "wahudumu ni nani", "kina nani", "akina nani")
}

func (b business) lengthAnswer(i in) graph.Say {
	if sv, ok := b.service(serviceMeant(i)); ok {
		return say(i, "answer.length", facts{"Service": sv.Name, "Duration": sv.Duration})
	}
	return say(i, "answer.lengths", facts{"Services": priceList(b, i.Input.Entities[kindService].Candidates)})
}

// whoAnswer names who offers the service that is meant, or everyone.
func (b business) whoAnswer(i in) graph.Say {
	sv, ok := b.service(serviceMeant(i))
	var names []string
	for _, st := range b.Staff {
		if !ok || slices.Contains(sv.Staff, st.ID) {
			names = append(names, st.Name)
		}
	}
	f := facts{"Names": names, "Service": ""}
	if ok {
		f["Service"] = sv.Name
	}
	return say(i, "answer.who", f)
}

// hoursAnswer tells the hours of the day that was asked about, else of the week.
func (b business) hoursAnswer(i in) graph.Say {
	if c, ok := b.closureNamed(i.Input.Text); ok {
		return b.dayAnswer(i, c.From.Date)
	}
	if w := i.Input.When; w.Date != "" && w.DateTo == "" {
		if d, err := calendar.ParseDate(w.Date); err == nil {
			return b.dayAnswer(i, d)
		}
	}
	return say(i, "answer.hours", facts{"Lines": b.week()})
}

// closureNamed finds the coming closure whose name a text holds: "on Christmas".
func (b business) closureNamed(text string) (calendar.Closure, bool) {
	text = strings.ToLower(text)
	for _, c := range b.Closures {
		if to, _ := c.To.In(b.zone); to.Before(b.now) {
			continue
		}
		for _, name := range c.Name {
			if name != "" && strings.Contains(text, strings.ToLower(name)) {
				return c, true
			}
		}
	}
	return calendar.Closure{}, false
}

func (b business) dayAnswer(i in, d calendar.Date) graph.Say {
	instant := func(c calendar.Clock) time.Time {
		at, _ := calendar.Moment{Date: d, Clock: c}.In(b.zone)
		return at
	}
	f := facts{"Date": instant(12 * 60)}
	opens, closes, open := b.hours(d, "")
	if !open {
		return say(i, "answer.closed_day", f)
	}
	from, to := instant(opens), instant(closes)
	for _, c := range b.Closures {
		shut, _ := c.From.In(b.zone)
		again, _ := c.To.In(b.zone)
		switch {
		case !shut.Before(to) || !again.After(from):
		case !shut.After(from) && !again.Before(to):
			return say(i, "answer.closed_day", f)
		case !shut.After(from):
			from = again
		default:
			to = shut
		}
	}
	f["From"], f["To"] = from, to
	return say(i, "answer.open_day", f)
}
