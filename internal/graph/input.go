package graph

import (
	"encoding/json"
	"time"
)

// Intent is what a person wants, in the platform's closed vocabulary.
type Intent string

// The intents the classifier and tier 0 may report.
const (
	Book       Intent = "book"
	Reschedule Intent = "reschedule"
	Cancel     Intent = "cancel"
	MyBookings Intent = "my_bookings"
	Question   Intent = "question"
	Greeting   Intent = "greeting"
	Thanks     Intent = "thanks"
	Affirm     Intent = "affirm"
	Deny       Intent = "deny"
	Human      Intent = "human"
	Complaint  Intent = "complaint"
	Feedback   Intent = "feedback"
	Unknown    Intent = "unknown"
)

// Answer is a plain yes or no.
type Answer string

// Answers. The empty answer means the person gave none.
const (
	NoAnswer Answer = ""
	Yes      Answer = "yes"
	No       Answer = "no"
)

// When is what a person said about time, resolved against their local now. It
// holds civil dates and clock times of the business's zone as text, because an
// instant exists only once both are known.
type When struct {
	Date       string   `json:"date,omitempty"`       // 2006-01-02
	DateTo     string   `json:"date_to,omitempty"`    // last day of a range that starts at Date: "next week"
	Time       string   `json:"time,omitempty"`       // 15:04, exact
	From       string   `json:"from,omitempty"`       // 15:04, window start: "after 3", "jioni"
	To         string   `json:"to,omitempty"`         // 15:04, window end, exclusive
	Options    []string `json:"options,omitempty"`    // 15:04 each: what an ambiguous time may mean
	Fault      string   `json:"fault,omitempty"`      // no_such_date, no_such_time, past
	Confidence float64  `json:"confidence,omitempty"` // 0 when nothing was said
	Span       string   `json:"span,omitempty"`       // the words it was read from
}

// Empty reports whether nothing was said about time.
func (w When) Empty() bool {
	return w.Date == "" && w.Time == "" && w.From == "" && w.To == "" && len(w.Options) == 0 && w.Fault == ""
}

// Entity is one of the app's own nouns found in the text: a service, a member
// of staff.
type Entity struct {
	ID         string   `json:"id"`                   // "" when only Candidates are known
	Candidates []string `json:"candidates,omitempty"` // ids that fit equally well
	Confidence float64  `json:"confidence"`
	Span       string   `json:"span,omitempty"`
}

// Input is what a turn understood of a burst of messages or of an event. It is
// recorded with the turn.
type Input struct {
	Text               string            `json:"text,omitempty"` // the burst's texts, joined by newlines
	Kind               string            `json:"kind,omitempty"` // message.Kind of the last message
	Language           string            `json:"language"`       // en or sw: what the answer is in
	LanguageConfidence float64           `json:"language_confidence"`
	Intent             Intent            `json:"intent"`
	Confidence         float64           `json:"confidence"`
	Sentiment          string            `json:"sentiment,omitempty"` // positive, neutral, negative
	Tier               int               `json:"tier"`                // 0 when code understood alone
	Answer             Answer            `json:"answer,omitempty"`
	Confirmed          bool              `json:"confirmed,omitempty"` // a yes that answers the pending confirmation
	Choice             string            `json:"choice,omitempty"`    // id of what was tapped
	Number             int               `json:"number,omitempty"`    // a bare number typed alone: the third of a list
	Name               string            `json:"name,omitempty"`      // what the person calls themselves, or with ForOther another
	ForOther           bool              `json:"for_other,omitempty"` // for somebody else: Name is theirs
	Phone              string            `json:"phone,omitempty"`     // E.164, typed or shared as a card
	AnyStaff           bool              `json:"any_staff,omitempty"` // "anyone", "yeyote"
	AboutBot           bool              `json:"about_bot,omitempty"` // asks whether it is human
	When               When              `json:"when"`
	Entities           map[string]Entity `json:"entities,omitempty"` // by kind: service, staff
	Topic              string            `json:"topic,omitempty"`    // of a question: price, hours, location, services, policy, payment, other
	// OverBudget reports that a model was not asked, because a hard cost ceiling
	// leaves no money for it.
	OverBudget bool   `json:"over_budget,omitempty"`
	Event      *Event `json:"event,omitempty"`
}

// Event is something that happened outside the conversation and takes the
// place of understanding.
type Event struct {
	Kind string          `json:"kind"` // payment, timer or decided
	Name string          `json:"name"` // the timer's name, the payment's outcome, the escalation's id
	Data json.RawMessage `json:"data,omitempty"`
	At   time.Time       `json:"at"`
}
