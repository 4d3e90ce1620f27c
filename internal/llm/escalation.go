package llm

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/money"
)

// Ending says how a ladder ended for a call that returned no error.
type Ending string

// The endings.
const (
	// Answered: the answer is valid and sure enough.
	Answered Ending = "answered"
	// Uncertain: the answer is valid, and no rung that was allowed was sure of
	// it. The caller asks the customer, or does without.
	Uncertain Ending = "uncertain"
	// Human: no rung served, the ladder ends in a person, and Result.Escalation
	// was posted. The work that waits goes on with the person's decision; the
	// result holds no answer.
	Human Ending = "human"
)

// Cause says why an escalation reached a person.
type Cause string

// The causes.
const (
	CauseUnsure  Cause = "below_threshold" // the strongest allowed rung was not sure
	CauseFailed  Cause = "failed"          // every rung failed
	CauseRefused Cause = "refused"         // the model declined
	CauseBudget  Cause = "budget"          // a hard ceiling stops further calls
	CauseCapped  Cause = "capped"          // no model is allowed here
)

// Card is what a person is shown when the ladder ends in one. The caller words
// it; without, the person sees the last message and decides freely.
type Card struct {
	Title    string
	Question string
	Choices  []Choice // what may be decided by one tap; empty for free text
}

// Choice is one decision that is offered.
type Choice struct {
	ID    string `json:"id"` // what the waiting work reads
	Label string `json:"label"`
}

// Escalation is the human rung: everything a person needs to decide in the
// model's place and everything the waiting work needs to go on. It holds
// customer text: it goes to people and is in no log.
type Escalation struct {
	ID       string // the same for the same request, so that a repeated step posts no second card
	Tenant   ids.TenantID
	Thread   ids.ThreadID
	Contact  ids.ContactID
	Turn     ids.TurnID
	Role     Role
	TaskID   string
	Step     string
	Cause    Cause
	Card     Card
	Messages []Message // what the models were shown, instructions aside
	// Answer is the best valid answer, nil when there is none, with the tier and
	// the confidence it was given; Text is the same for free text.
	Answer     json.RawMessage
	Text       string
	Tier       int
	Confidence float64
	Schema     json.RawMessage // what a decision has to satisfy; nil for free text
	Chain      []Attempt
	Cost       money.Pico
	At         time.Time
}

// Escalations are where people decide: a chat channel, the dashboard's queue.
type Escalations interface {
	// Post puts a card before people, durably, before it returns. An ID that was
	// posted before is no second card and no error.
	Post(ctx context.Context, e Escalation) error
}
