package llm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/fault"
)

// EscalationLife is how long people have to decide, on the product's clock.
// After it the work that waits is told that nobody did.
const EscalationLife = 72 * time.Hour

// maxDecision bounds what a person writes, maxDecider their name; in bytes.
const (
	maxDecision = 4000
	maxDecider  = 200
)

// Decision is what a person decided in the model's place: what the work that
// waits reads.
type Decision struct {
	Choice string `json:"choice,omitempty"` // one of the card's, by its id
	// Text is the decision where the card offers no choices, and a note where it
	// does. Where the escalation has a schema and no choices it is a JSON
	// document that satisfies it.
	Text string    `json:"text,omitempty"`
	By   string    `json:"by"` // the person, as the others know them
	At   time.Time `json:"at"`
}

// Same reports whether two decisions are one that was made again: the same
// person decided the same.
func (d Decision) Same(o Decision) bool {
	return d.By == o.By && d.Choice == o.Choice && d.Text == o.Text
}

// Accepts checks that a decision answers the question. Its error is
// fault.Invalid and says what is wanted.
func (e *Escalation) Accepts(d Decision) error {
	choices := make([]string, len(e.Card.Choices))
	for i, c := range e.Card.Choices {
		choices[i] = c.ID
	}
	switch {
	case strings.TrimSpace(d.By) == "" || len(d.By) > maxDecider:
		return fault.E(fault.Invalid, fmt.Sprintf("Say who decides, in at most %d bytes.", maxDecider))
	case len(d.Text) > maxDecision:
		return fault.E(fault.Invalid, fmt.Sprintf("The text is longer than %d bytes.", maxDecision))
	case len(choices) > 0 && !slices.Contains(choices, d.Choice):
		return fault.E(fault.Invalid, fmt.Sprintf("Decide for one of: %s.", strings.Join(choices, ", ")))
	case len(choices) > 0:
		return nil
	case d.Choice != "":
		return fault.E(fault.Invalid, "This is decided by a text: there is nothing to choose from.")
	case strings.TrimSpace(d.Text) == "":
		return fault.E(fault.Invalid, "Write the decision.")
	case e.Schema == nil:
		return nil
	}
	schema, err := CompileSchema("decision", e.Schema)
	if err != nil {
		return fmt.Errorf("read the decision's schema: %w", err)
	}
	if _, err := schema.Parse(d.Text); err != nil {
		return fault.Wrap(err, fault.Invalid, "The decision is not the JSON document that is wanted: "+complaint(err))
	}
	return nil
}

// CaseState is where an escalation stands.
type CaseState string

// Where an escalation stands.
const (
	CaseOpen    CaseState = "open"
	CaseDecided CaseState = "decided"
	CaseExpired CaseState = "expired" // nobody decided in time
)

// Place is where a card stands in a chat: the channel and the message in it.
type Place struct {
	Channel string `json:"channel"`
	Message string `json:"message"`
}

// Case is an escalation as the queue holds it.
type Case struct {
	Escalation

	State    CaseState `json:"state"`
	Expires  time.Time `json:"expires_at"`
	Decision *Decision `json:"decision,omitempty"` // set when decided
	Place    Place     `json:"place,omitzero"`     // of the card; zero while it is in no chat
}

// Label is what the decision reads on the card, "" while there is none.
func (c *Case) Label() string {
	if c.Decision == nil {
		return ""
	}
	for _, choice := range c.Card.Choices {
		if choice.ID == c.Decision.Choice {
			return cmp.Or(choice.Label, choice.ID)
		}
	}
	return cmp.Or(c.Decision.Text, c.Decision.Choice)
}

// Kinds of outbox rows that carry escalations into a chat.
const (
	EffectCard   = "escalation.post"   // the card
	EffectUpdate = "escalation.update" // the card, as it stands now
	EffectNotice = "escalation.notice" // tells one person that another decided
)

// EscalationEffect is their payload. It names the escalation and holds none of
// it.
type EscalationEffect struct {
	Escalation string `json:"escalation"`
	Place      Place  `json:"place,omitzero"` // of the card to update, or of the notice
	User       string `json:"user,omitempty"` // who is told
}
