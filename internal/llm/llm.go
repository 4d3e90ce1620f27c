// Package llm is the only way to a model.
//
// A caller names a role (a seam of the product) and never a model: a Router
// resolves the role to a rung of its ladder, asks the provider, validates the
// answer against the caller's own schema, prices it and stores every attempt
// in the Ledger before anything is returned. The Router alone retries. A
// request that was already answered within its turn is answered from the
// Ledger and is not paid twice.
//
// Promises: an answer that is returned satisfies the schema; an attempt that
// may have been billed is never stored as free; customer text and keys are in
// no error and no log line. Routers are safe for concurrent use.
//
// The package imports only leaves. Providers live in packages of their own.
package llm

import (
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

// KnownRoles lists every role a roles file may assign.
func KnownRoles() []Role {
	return []Role{
		IntentClassifier, SlotExtractor, ClarificationRephraser,
		AnswerShaper, HandoffSummarizer, Reorientation,
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

// Request is one question to a model.
type Request struct {
	Role          Role
	Tenant        ids.TenantID
	Thread        ids.ThreadID
	Turn          ids.TurnID
	Account       Account // empty means AccountThread
	PromptVersion string  // "<name>@<hash>", from the prompt set
	System        string
	Messages      []Message
	Schema        *Schema // nil asks for free text
	MaxTokens     int     // 0 means what the rung says
	Seq           int     // tells equal requests of one turn apart
	TaskID        string  // set by procedures only
	Step          string  // set by procedures only
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

// Result is an answer and what it took to get it. When Call fails, Cost, Chain
// and the last attempt's provider and model are set and the rest is zero.
type Result struct {
	Text       string
	JSON       json.RawMessage // validated; nil when no schema was given
	Confidence float64         // see Schema.Confidence; 1 for free text
	Tier       int             // 1 is the first rung
	Provider   string
	Model      string
	Usage      Usage      // of the answering attempt
	Cost       money.Pico // of all attempts; when Reused, of the answering one, already charged
	Escalated  bool
	Chain      []Attempt
	CallID     string // the answering attempt's Record.ID
	Reused     bool   // answered from the Ledger; nothing was called
}

// Attempt is one step of a Result's chain.
type Attempt struct {
	CallID   string     `json:"call_id"`
	Tier     int        `json:"tier"`
	Provider string     `json:"provider"`
	Model    string     `json:"model"`
	Outcome  Outcome    `json:"outcome"`
	Cost     money.Pico `json:"cost_pico"`
}

// Outcome says how an attempt ended: "ok" or the Class of its error.
type Outcome string

// OK is the outcome of an attempt whose answer was returned.
const OK Outcome = "ok"
