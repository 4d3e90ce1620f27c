// Package llm is the only way to a model.
//
// A caller names a role (a seam of the product) and never a model: a Router
// resolves the role to a ladder of rungs, reserves the worst case of an attempt
// in the Ledger, asks the provider, validates the answer against the caller's
// own schema and checks, and settles the reservation with what was billed. An
// answer that is not sure enough, and a failure that waiting does not cure,
// lead to the next rung; the last rung may be a person. The Router alone
// retries: six attempts and the caller's deadline bound a call. A request that
// was already answered within its turn is answered from the Ledger and is not
// paid twice.
//
// Promises: an answer that is returned satisfies the schema; no attempt starts
// whose worst case would exceed a hard ceiling; an attempt that may have been
// billed is never stored as free; customer text and keys are in no error and no
// log line. Routers are safe for concurrent use.
//
// The package imports only leaves. Providers live in packages of their own.
package llm

import (
	"cmp"
	"encoding/json"

	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/money"
)

// Role names a seam of the product.
type Role string

// The roles of the first app.
const (
	IntentClassifier       Role = "intent_classifier"
	SlotExtractor          Role = "slot_extractor"
	ClarificationRephraser Role = "clarification_rephraser"
	AnswerShaper           Role = "answer_shaper"
	HandoffSummarizer      Role = "handoff_summarizer"
	Reorientation          Role = "reorientation"
)

// The roles beside the first app's. ProcedureStep serves the model steps of
// procedures and ends in a person. Embedder turns Request.Texts into vectors.
const (
	ProcedureStep Role = "procedure_step"
	Embedder      Role = "embedder"
)

// KnownRoles lists every role a roles file may assign.
func KnownRoles() []Role {
	return []Role{
		IntentClassifier, SlotExtractor, ClarificationRephraser,
		AnswerShaper, HandoffSummarizer, Reorientation,
		ProcedureStep, Embedder,
	}
}

// Account says who bears the cost of a call.
type Account string

// The accounts. A customer's thread pays for what answers the customer; the
// tenant's operations account pays for briefs and translations.
const (
	AccountThread     Account = "thread"
	AccountOperations Account = "operations"
	AccountEval       Account = "eval"
)

// paidBy is the account a request names, the thread's when it names none.
func paidBy(a Account) Account { return cmp.Or(a, AccountThread) }

// Speakers of a Message.
const (
	User      = "user"
	Assistant = "assistant"
)

// Message is one message of the conversation shown to the model. Role is User
// or Assistant; instructions go into Request.System.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Request is one question to a model. It asks for an answer of a schema, for
// calls of tools, for free text, or, in the role Embedder, for vectors.
type Request struct {
	Role          Role
	Tenant        ids.TenantID
	Thread        ids.ThreadID
	Contact       ids.ContactID // whose day pays beside the thread's; empty when nobody is known
	Turn          ids.TurnID
	Account       Account // empty means AccountThread
	PromptVersion string  // "<name>@<hash>", from the prompt set
	Arm           Arm     // what the thread froze for this role; empty when nothing yet
	System        string
	Messages      []Message
	Schema        *Schema // nil asks for tools or free text
	// Tools may be called in place of answering, or, with MustCall, have to be.
	// With tools there is no Schema.
	Tools    []Tool
	MustCall bool
	Texts    []string // to be embedded; with them there are no messages
	// Check is asked about every answer that satisfies the schema, as written
	// (with tools, the ToolCalls as JSON). Its error is a failure of the answer
	// and is shown to the model, so it may quote the answer. It decides by the
	// answer and the request alone.
	Check func(answer json.RawMessage) error
	// MinTier and MaxTier cut the ladder: 0 is no bound, MaxTier wins, and NoTier
	// as MaxTier allows no model at all. A ladder that is shorter than MinTier
	// starts at its last rung.
	MinTier   int
	MaxTier   int
	MaxTokens int    // 0 means what the rung says
	Seq       int    // tells equal requests of one turn apart
	TaskID    string // set by procedures only
	Step      string // set by procedures only
	Card      Card   // what a person is asked if the ladder ends in one
}

// NoTier as Request.MaxTier allows no model: the call ends where its ladder
// ends, in a person or in an error.
const NoTier = -1

// Tool is what a model may call.
type Tool struct {
	Name        string // at most 64 of A-Z a-z 0-9 _ -
	Description string
	Input       *Schema // of the arguments; enforced by the provider and here
}

// ToolCall is one call a model asks for. Its arguments satisfy the tool's
// schema. It was not executed.
type ToolCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// Usage counts tokens in disjoint buckets: Input is what was neither read from
// nor written to a cache; Output includes reasoning. Caches of one hour are
// never asked for, so one bucket of cache writes is enough.
type Usage struct {
	Input      int `json:"input"`
	Cached     int `json:"cached"`
	CacheWrite int `json:"cache_write"`
	Output     int `json:"output"`
}

// Prompt is the whole prompt in tokens: what long-context price steps look at.
func (u Usage) Prompt() int { return u.Input + u.Cached + u.CacheWrite }

// Result is an answer and what it took to get it. When Call fails, Arm, Cost,
// Chain and the last attempt's tier, provider and model are set and the rest is
// zero.
type Result struct {
	Ending     Ending // Answered, Uncertain or Human
	Text       string
	JSON       json.RawMessage // validated; nil when no schema was given
	ToolCalls  []ToolCall      // validated; a model that calls a tool may write Text beside it
	Vectors    [][]float32     // one for each of Request.Texts, all of one length
	Confidence float64         // see Schema.Confidence; 1 for free text
	Tier       int             // 1 is the first rung
	Provider   string
	Model      string
	Usage      Usage      // of the answering attempt
	Cost       money.Pico // of all attempts; when Reused, of the answering one, already charged
	Escalated  bool       // a rung above the first allowed one was tried, or a person is asked
	Chain      []Attempt
	CallID     string // the answering attempt's Record.ID
	Reused     bool   // answered from the Ledger; nothing was called
	Arm        Arm    // what the thread stores for this role
	// Escalation was posted; set with Human only.
	Escalation *Escalation
}

// Attempt is one step of a Result's chain: a call, or a rung that was passed
// over without one.
type Attempt struct {
	CallID     string     `json:"call_id,omitempty"` // empty when nothing was called
	Tier       int        `json:"tier"`
	Provider   string     `json:"provider"`
	Model      string     `json:"model"`
	Reason     string     `json:"reason"` // why this step was taken or passed over
	Outcome    Outcome    `json:"outcome"`
	Confidence float64    `json:"confidence,omitempty"`
	Cost       money.Pico `json:"cost_pico"`
}

// Outcome says how an attempt ended: OK, one of the outcomes below, or the
// Class of its error.
type Outcome string

// The outcomes that are no error's class.
const (
	// OK: a valid answer, sure enough.
	OK Outcome = "ok"
	// Unsure: a valid answer below the rung's threshold.
	Unsure Outcome = "below_threshold"
	// Lost: nobody settled the attempt; its process died. Settled at its worst
	// case.
	Lost Outcome = "lost"
	// Skipped: the rung was passed over, its provider being out of order.
	Skipped Outcome = "skipped"
	// OverBudget: the rung was passed over, a hard ceiling being too near.
	OverBudget Outcome = "over_budget"
)
