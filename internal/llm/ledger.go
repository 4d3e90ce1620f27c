package llm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/money"
)

// Records keeps what models were asked and answered. It is safe for concurrent
// use.
type Records interface {
	// Lookup returns, of the tenant's records with this request hash whose outcome
	// is OK or Unsure, the one of the highest tier, the newest of several; nil when
	// there is none.
	Lookup(ctx context.Context, tenant ids.TenantID, requestHash string) (*Record, error)
	// Record stores an attempt that reserved nothing, such as a classification
	// made by code.
	Record(ctx context.Context, rec Record) error
}

// Ledger keeps every attempt and every purse it is paid from. What a purse has
// spent is what its records cost plus what is reserved and not yet settled,
// and no sequence of concurrent calls brings that above a hard ceiling by a
// reservation. Reserve and Settle first settle what ran out in the tenant's
// purses, so that no sweep has to come in time. It is safe for concurrent use,
// by several processes too.
//
// A purse is a thread for its whole life (thread), a contact's, a tenant's, its
// operations account's or its evaluations' day (the UTC day of Reservation.At).
// Which purses a reservation is held against follows from its account:
// AccountThread from the thread, the contact's day (when a contact is named)
// and the tenant's day; AccountOperations and AccountEval each from their own
// day alone.
type Ledger interface {
	Records

	// Reserve sets r.Worst aside in every purse of its account, or in none: an
	// error that holds a *BudgetError says which ceiling it would exceed. A sum
	// equal to the ceiling is allowed. It is called once per attempt, in a
	// transaction of its own, before anything is sent.
	Reserve(ctx context.Context, r Reservation) error
	// Settle puts rec in the place of the reservation of the same ID: the purses
	// give back r.Worst and take rec.Cost, which may be more or less. The router
	// calls it once per successful Reserve, also when the caller's context is
	// over. Settling again what is settled changes nothing and is no error. A
	// reservation that ran out was settled with r.Lost; a late rec replaces that.
	Settle(ctx context.Context, r Reservation, rec Record) (Standing, error)
}

// Standing is where a thread's purse stands after a settlement.
type Standing struct {
	Spent money.Pico // settled cost of the thread; 0 for other accounts
	// SoftBreach is true for one settlement in a thread's life: the first that
	// leaves its settled cost above Ceilings.Soft.
	SoftBreach bool
}

// Reservation is the worst case of one attempt, set aside before it is made.
type Reservation struct {
	ID      string // the attempt's Record.ID
	Tenant  ids.TenantID
	Thread  ids.ThreadID  // empty outside threads; AccountThread then has no thread purse
	Contact ids.ContactID // empty when nobody is known; then no contact's purse
	Account Account
	Worst   money.Pico
	Owner   string    // the process that made it
	At      time.Time // product time: says which day pays
	// ExpiresAt is real time, beyond the attempt's deadline. From then on the
	// ledger settles the reservation with Lost, at its worst case.
	ExpiresAt time.Time
	Ceilings  Ceilings
	Lost      Record // outcome Lost, cost Worst, Estimated
}

// Ceilings bound what may be spent, in pico-dollars. Each is a hard ceiling
// but Soft. Zero allows nothing that costs.
type Ceilings struct {
	Soft          money.Pico // of a thread: told once, stops nothing
	Hard          money.Pico // of a thread
	ContactDay    money.Pico
	TenantDay     money.Pico // of all threads of the tenant together
	OperationsDay money.Pico
	EvalDay       money.Pico
}

// DefaultCeilings returns what a business starts with: 0.05 dollars soft and
// 0.20 hard a thread, 0.60 a contact and day, 20 a tenant and day, 5 for its
// operations and 20 for its evaluations a day.
func DefaultCeilings() Ceilings {
	return Ceilings{
		Soft: money.USD / 20, Hard: money.USD / 5, ContactDay: money.USD * 6 / 10,
		TenantDay: 20 * money.USD, OperationsDay: 5 * money.USD, EvalDay: 20 * money.USD,
	}
}

// Ceiling names a hard ceiling.
type Ceiling string

// The hard ceilings.
const (
	CeilingThread     Ceiling = "thread"
	CeilingContactDay Ceiling = "contact_day"
	CeilingTenantDay  Ceiling = "tenant_day"
	CeilingOperations Ceiling = "operations_day"
	CeilingEval       Ceiling = "eval_day"
)

// ErrBudget is wrapped by every BudgetError.
var ErrBudget = errors.New("budget")

// BudgetError refuses a reservation.
type BudgetError struct {
	Ceiling Ceiling
	Limit   money.Pico
	Left    money.Pico // of the limit, what others reserved taken off; may be below zero
	Worst   money.Pico // what was asked for
}

// Error says in dollars what was asked for and what is left.
func (e *BudgetError) Error() string {
	return fmt.Sprintf("%v: %s ceiling of $%s has $%s left, the call may cost $%s",
		ErrBudget, e.Ceiling, e.Limit.Dollars(), e.Left.Dollars(), e.Worst.Dollars())
}

// Unwrap returns ErrBudget.
func (e *BudgetError) Unwrap() error { return ErrBudget }

// Record is one attempt, the row of llm_calls.
type Record struct {
	ID            string
	Role          Role
	Tenant        ids.TenantID
	Thread        ids.ThreadID
	Contact       ids.ContactID // empty when the request named nobody
	Turn          ids.TurnID
	Tier          int // 0 for classifications made by code
	Provider      string
	Model         string
	PromptVersion string
	Usage         Usage
	// Estimated reports that Usage and Cost are the worst case of an attempt
	// whose bill is unknown.
	Estimated  bool
	Cost       money.Pico
	Latency    time.Duration
	Outcome    Outcome
	Confidence *float64 // nil when the answer states none
	CanaryArm  string   // an Arm
	Account    Account
	TaskID     string // empty outside procedures
	Step       string // empty outside procedures
	// Answer is what the model wrote, whatever the outcome: a valid answer is
	// reused by a repeated turn, an invalid one explains its cost.
	Answer        string
	RequestHash   string
	At            time.Time
	FailureSignal string // confident_unknown, fsm_rejected, customer_contradicted
}

// ByCode is the record of a question that code answered and no model was asked:
// tier 0, free, counted beside the others. The caller stores it with its id.
func ByCode(id string, req Request, confidence float64, at time.Time) Record {
	return Record{
		ID: id, Role: req.Role, Tenant: req.Tenant, Thread: req.Thread, Contact: req.Contact, Turn: req.Turn,
		Provider: "code", Model: "code", PromptVersion: req.PromptVersion, Outcome: OK, Confidence: &confidence,
		CanaryArm: string(Stable), Account: paidBy(req.Account), TaskID: req.TaskID, Step: req.Step, At: at,
	}
}
