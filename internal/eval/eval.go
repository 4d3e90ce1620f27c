// Package eval measures how well the product does on labelled examples: here,
// how well code alone (tier 0) understands what people write in English, in
// Swahili and in both at once.
//
// An example is one utterance with what was asked before it, the moment it was
// written and what it means (Row). Load reads examples from JSON Lines and says
// by line number what is wrong with them; Own are the project's. Judge compares
// one reading with its labels, Measure adds the judgements up, and Report.Below
// says which limits they miss. All of this is pure: the same examples give the
// same report. Converse alone runs the engine: it replays conversation scripts
// and counts the turns that needed no model.
//
// The package belongs to the laboratory: it may import any package of the
// product and golden, and the product never imports it.
package eval

import (
	"time"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/understand"
)

// Row is one example. A row is measured for what it is labelled with: one
// without an intent counts for the language alone, one without a language for
// everything else.
type Row struct {
	ID       string     `json:"id"`
	Split    string     `json:"split"`    // dev or test; empty means test
	Lang     string     `json:"lang"`     // en, sw, mixed or other; empty: the text has no language
	Business string     `json:"business"` // barber, clinic, spa or tutor: who it is written to
	Nouns    Nouns      `json:"nouns"`    // services and staff of any other business
	Now      *time.Time `json:"now"`      // when it was written, in the customer's zone; empty: Wednesday 25 November 2026, 10:00 in Nairobi
	Previous string     `json:"previous"` // the language last used with the customer
	Expect   *Expect    `json:"expect"`   // what was asked before
	Text     string     `json:"text"`
	Tap      string     `json:"tap"` // id of a tapped choice; Text is then its title

	Intent graph.Intent `json:"intent"` // unknown: out of scope
	Topic  string       `json:"topic"`  // of a question
	Answer graph.Answer `json:"answer"` // a plain yes or no
	Choice string       `json:"choice"` // id of the choice that was picked
	Slots  Slots        `json:"slots"`
	When   When         `json:"when"`
	// Open are the parts of the meaning that are not judged, because people would
	// not agree on them: when, date, time, service, staff, any, choice.
	Open []string `json:"open"`

	Source string `json:"source"` // where it comes from, for people; Generated marks what Mixes made
}

// Nouns are what a business sells and who works there, by kind: service, staff.
type Nouns map[string][]understand.Noun

// Expect is what was asked and offered last.
type Expect struct {
	Intent  graph.Intent `json:"intent"`
	Slots   []string     `json:"slots"`
	Choices []Choice     `json:"choices"`
	Yes     string       `json:"yes"`
	About   About        `json:"about"`
}

// Choice is something that was offered.
type Choice struct {
	ID          string `json:"id"`
	Title       string `json:"title"`
	Description string `json:"description"`
}

// About is the day and the clock time that is being talked about.
type About struct {
	Date string `json:"date"`
	Time string `json:"time"`
}

// Slots are the details an utterance gives beside its time.
type Slots struct {
	Service []string `json:"service"` // ids; several that fit equally well
	Staff   []string `json:"staff"`
	Any     bool     `json:"any_staff"`
	Name    string   `json:"name"`
	Phone   string   `json:"phone"` // E.164
}

// When is the day and time an utterance names, as graph.When has it.
type When struct {
	Date    string   `json:"date"`
	DateTo  string   `json:"date_to"`
	Time    string   `json:"time"`
	From    string   `json:"from"`
	To      string   `json:"to"`
	Options []string `json:"options"` // what an ambiguous time may mean, in any order
	Fault   string   `json:"fault"`
}

// wednesday is when an example was written that does not say: 25 November 2026,
// 10:00 in Nairobi.
func wednesday() time.Time {
	return time.Date(2026, 11, 25, 10, 0, 0, 0, time.FixedZone("EAT", 3*60*60))
}

// request is what understanding gets of an example.
func (r Row) request() understand.Request {
	now, nouns := wednesday(), r.Nouns
	if nouns == nil {
		nouns = businesses[r.Business]
	}
	if r.Now != nil {
		now = *r.Now
	}
	m := message.Inbound{Kind: message.Text, Text: r.Text}
	if r.Tap != "" {
		m.Kind, m.Choice = message.Button, r.Tap
	}
	req := understand.Request{
		Messages: []message.Inbound{m}, Now: now, Zone: now.Location(), Region: "KE", Locale: understand.English, Previous: r.Previous, Nouns: nouns,
	}
	if e := r.Expect; e != nil {
		req.Expect = understand.Expect{
			Intent: e.Intent, Slots: e.Slots, Yes: e.Yes, About: graph.When{Date: e.About.Date, Time: e.About.Time},
		}
		for _, c := range e.Choices {
			req.Expect.Choices = append(req.Expect.Choices, message.Choice{ID: c.ID, Title: c.Title, Description: c.Description})
		}
	}
	return req
}
