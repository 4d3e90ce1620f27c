// Package understand turns a burst of messages into the Input a graph decides
// on: by code alone where the words are plain (tier 0), with a model where they
// are not.
//
// Promises. Tier0 and HumanRequest are pure: the same request gives the same
// input, whatever the bytes, in bounded time. A confidence of 0.85 and above
// means that the input may act alone; where the code is in doubt it stays below
// 0.7, so that a model is asked. Answer is set only when nothing but courtesy
// stands beside the yes or the no, and never by a tap: a tap is its Choice.
// What a model says is checked against the text: a value that the person did
// not write is dropped, and what the code read without doubt stands against the
// model. A model that fails costs nothing but its help: tier 0's reading stands.
//
// The package imports leaves, the vocabulary, graph, llm and prompt. It knows
// no app: services and staff come in as Nouns.
package understand

import (
	"slices"
	"time"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/message"
)

// Confidence levels of tier 0.
const (
	// Sure is the confidence from which an input acts alone.
	Sure = 0.85
	// Doubt is the confidence under which a model is asked.
	Doubt = 0.70
)

// Languages an answer can be in.
const (
	English = "en"
	Swahili = "sw"
)

// Sentiments.
const (
	Positive = "positive"
	Neutral  = "neutral"
	Negative = "negative"
)

// Topics of a question.
const (
	TopicPrice    = "price"
	TopicHours    = "hours"
	TopicLocation = "location"
	TopicServices = "services"
	TopicPolicy   = "policy"
	TopicPayment  = "payment"
	TopicOther    = "other"
)

// Roles lists what understanding cannot do without where it has models at all.
// llm.Reorientation is not among them: its template says as much.
func Roles() []llm.Role {
	return []llm.Role{llm.IntentClassifier, llm.SlotExtractor, llm.ClarificationRephraser, llm.AnswerShaper}
}

// Kinds of noun and of slot that understanding treats by name. An app may
// declare further kinds of noun; they are found in the same way.
const (
	KindService = "service"
	KindStaff   = "staff"
	SlotTime    = "time"
	SlotDate    = "date"
	SlotName    = "name"
	SlotPhone   = "phone"
	SlotConfirm = "confirm"
)

// Noun is one of the app's own things that people call by name: a service, a
// member of staff.
type Noun struct {
	ID    string
	Names []string // the name first, then what else people call it, in any language
}

// Expect is what was asked and offered last, so that a bare answer finds its
// question.
type Expect struct {
	Intent  graph.Intent     // what a bare answer goes on with; empty means Book
	Slots   []string         // what was asked for: SlotTime, KindService, SlotConfirm, ...
	Choices []message.Choice // what was offered, in the order it was shown
	Yes     string           // id of the choice that says yes to what is to be confirmed, "" for none
	Other   bool             // what is asked for is for somebody else, whose name an answer gives
	About   graph.When       // the day and time being talked about, for "same time next week"
}

// wants reports whether one of the slots was asked for.
func (e Expect) wants(slots ...string) bool {
	for _, s := range e.Slots {
		if slices.Contains(slots, s) {
			return true
		}
	}
	return false
}

// intent is what a bare answer goes on with.
func (e Expect) intent() graph.Intent {
	if e.Intent == "" {
		return graph.Book
	}
	return e.Intent
}

// Request is a burst of messages and what is needed to read it.
type Request struct {
	Messages []message.Inbound // in order
	Now      time.Time
	Zone     *time.Location    // nil means UTC
	Region   string            // ISO 3166-1 alpha-2: how local phone numbers are read; empty means KE
	Locale   string            // the tenant's language
	Previous string            // the language last used with this contact, "" when there is none
	Nouns    map[string][]Noun // by kind
	Expect   Expect
}
