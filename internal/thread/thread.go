// Package thread is the vocabulary of conversations: what a thread is, who
// drives it, and the counters handover decisions read.
package thread

import (
	"encoding/json"
	"time"

	"github.com/ratiba/ratiba/internal/ids"
)

// Actor is whose thread it is.
type Actor string

// Actor types.
const (
	Customer Actor = "customer"
	Admin    Actor = "admin"
	Task     Actor = "task"
)

// Driver is who speaks on a thread. It is orthogonal to the graph's state.
type Driver string

// Drivers. Resumed lasts for one turn.
const (
	AgentDriving Driver = "AGENT_DRIVING"
	Suspended    Driver = "SUSPENDED_FOR_HUMAN"
	HumanDriving Driver = "HUMAN_DRIVING"
	Resumed      Driver = "RESUMED_BY_AGENT"
)

// Counters are what the handover triggers read. They start anew at hand-back.
type Counters struct {
	Turns         int `json:"turns"`
	Tokens        int `json:"tokens"`                // model-written and uncached customer tokens
	LowIntent     int `json:"low_intent"`            // consecutive turns under the intent threshold
	Negative      int `json:"negative"`              // consecutive turns of negative sentiment
	SlotReprompts int `json:"slot_reprompts"`        // reprompts for the slot now asked for
	ToolErrors    int `json:"tool_errors"`           // unrecoverable tool failures
	OverBudget    int `json:"over_budget,omitempty"` // models not asked for want of money
}

// Handoff is the open handover of a thread, if any.
type Handoff struct {
	Code       string    `json:"code"` // short, as people type it: K7
	Signal     string    `json:"signal"`
	Detail     string    `json:"detail"`
	Since      time.Time `json:"since"`
	AdminID    string    `json:"admin_id,omitempty"` // contact id of the driving admin
	AdminName  string    `json:"admin_name,omitempty"`
	AdminPhone string    `json:"admin_phone,omitempty"`
	TakenAt    time.Time `json:"taken_at"`         // when the driving admin last chose it: the latest is in focus
	Number     string    `json:"number,omitempty"` // the business number the customer wrote to
	// Engaged are the phones of admins who have reacted to the page, Asked of those
	// who were then asked by name. CallBack says that nobody came, and that the
	// customer was promised a call.
	Engaged  []string `json:"engaged,omitempty"`
	Asked    []string `json:"asked,omitempty"`
	CallBack bool     `json:"call_back,omitempty"`
	// Draft is what the agent would have said, in the customer's language; a human
	// may have it sent.
	Draft string `json:"draft,omitempty"`
	// Briefs are what a model made of the chat for the admins, by language, as
	// handoff.Brief writes it.
	Briefs map[string]json.RawMessage `json:"briefs,omitempty"`
	// Told is what a human decided at the hand-back, in the customer's words.
	Told []string `json:"told,omitempty"`
	// Missed are payment events that came under the human; the graph gets them
	// at hand-back.
	Missed []json.RawMessage `json:"missed,omitempty"`
	// Decided are decisions that came under the human, by escalation; the graph
	// gets them at hand-back.
	Decided map[string]json.RawMessage `json:"decided,omitempty"`
	// Timers are those of the graph that fell due under the human, for the same.
	Timers []Timer `json:"timers,omitempty"`
}

// Timer is one that has fallen due.
type Timer struct {
	Name string          `json:"name"`
	Data json.RawMessage `json:"data,omitempty"`
	At   time.Time       `json:"at"`
}

// Thread is one piece of business with one contact.
type Thread struct {
	ID        ids.ThreadID    `json:"id"`
	ContactID ids.ContactID   `json:"contact_id"`
	Actor     Actor           `json:"actor"`
	Mailbox   ids.MailboxKey  `json:"mailbox"`
	App       string          `json:"app"`
	GraphVer  int             `json:"graph_version"`
	Node      string          `json:"node"`
	State     json.RawMessage `json:"state"`
	Driver    Driver          `json:"driver"`
	Handoff   *Handoff        `json:"handoff,omitempty"`
	Language  string          `json:"language"`
	Disclosed bool            `json:"disclosed"`
	Counters  Counters        `json:"counters"`
	Pending   *Confirmation   `json:"pending,omitempty"`
	// Arms are which arm of each model role's trial the conversation is in, by
	// role, as they were first assigned.
	Arms     map[string]string `json:"arms,omitempty"`
	Version  int64             `json:"version"`
	Epoch    int64             `json:"epoch"` // raised when the driver changes; queued agent rows of an older epoch are dropped
	OpenedAt time.Time         `json:"opened_at"`
	LastAt   time.Time         `json:"last_at"`   // last turn
	ClosedAt time.Time         `json:"closed_at"` // zero while open
}

// Confirmation is a question whose yes lets something irreversible happen. The
// yes counts only when it is a tap that carries Nonce, or a typed yes received
// after the question was accepted for sending.
type Confirmation struct {
	Nonce    string          `json:"nonce"`
	Digests  []string        `json:"digests"` // of the calls the yes allows, by exact arguments
	OutboxID string          `json:"outbox_id"`
	Shown    json.RawMessage `json:"shown,omitempty"` // the facts the person was shown
	Actor    string          `json:"actor,omitempty"` // whose yes it is: tool.Actor.ID
	Until    time.Time       `json:"until,omitzero"`  // no yes counts after it; zero: as long as the thread
}

// Open reports whether the thread still takes turns.
func (t *Thread) Open() bool { return t.ClosedAt.IsZero() }
