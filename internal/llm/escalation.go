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
	Title    string   `json:"title"`
	Question string   `json:"question"`
	Choices  []Choice `json:"choices,omitempty"` // what may be decided by one tap; empty for free text
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
	ID       string        `json:"id"` // the same for the same request, so that a repeated step posts no second card
	Tenant   ids.TenantID  `json:"tenant_id"`
	Thread   ids.ThreadID  `json:"thread_id,omitempty"`
	Contact  ids.ContactID `json:"contact_id,omitempty"`
	Turn     ids.TurnID    `json:"turn_id,omitempty"`
	Role     Role          `json:"role"`
	TaskID   string        `json:"task_id,omitempty"`
	Step     string        `json:"step,omitempty"`
	Cause    Cause         `json:"cause"`
	Card     Card          `json:"card"`
	Messages []Message     `json:"messages,omitempty"` // what the models were shown, instructions aside
	// Answer is the best valid answer, nil when there is none, with the tier and
	// the confidence it was given; Text is the same for free text.
	Answer     json.RawMessage `json:"answer,omitempty"`
	Text       string          `json:"text,omitempty"`
	Tier       int             `json:"tier,omitempty"`
	Confidence float64         `json:"confidence,omitempty"`
	Schema     json.RawMessage `json:"schema,omitempty"` // what a decision has to satisfy; nil for free text
	Chain      []Attempt       `json:"chain,omitempty"`
	Cost       money.Pico      `json:"cost_pico"`
	At         time.Time       `json:"at"`
}

// Escalations are where people decide: a chat channel, the dashboard's queue.
type Escalations interface {
	// Post puts a card before people, durably, before it returns. An ID that was
	// posted before is no second card and no error.
	Post(ctx context.Context, e Escalation) error
}
