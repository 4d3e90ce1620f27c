// Package outbox carries out what turns decided, after they committed.
//
// It delivers at least once, in order per lane. A lane is a contact and a kind
// of channel, so that WhatsApp's backoff never delays a payment prompt. Before
// each attempt a committed mark says that it starts: no agent-written message
// starts after a takeover has committed. An attempt whose outcome is unknown is
// never repeated blindly. The package knows no channel; carriers do. It imports
// leaves, vocabulary and coord.
package outbox

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/message"
)

// Origin says who wrote what goes out. Only Agent is silenced by a takeover.
type Origin string

// Origins.
const (
	Agent    Origin = "agent"
	Reminder Origin = "reminder"
	Payment  Origin = "payment"
	Relay    Origin = "relay"
	System   Origin = "system"
)

// State is where a row stands.
type State string

// Row states. Doubt waits for a receipt to say whether an attempt arrived.
// Stale was not sent in time; Silenced would have spoken over a human.
const (
	Queued   State = "queued"
	Sending  State = "sending"
	Doubt    State = "doubt"
	Sent     State = "sent"
	Failed   State = "failed"
	Silenced State = "silenced"
	Stale    State = "stale"
)

// SendMessage is the kind of row that carries a message.
const SendMessage = "message.send"

// SpeakMessage is the kind of row that is said in a telephone call. Whoever has
// the call takes it; what nobody takes within SpeakTime is not said any more.
const SpeakMessage = "message.speak"

// SpeakTime is how long what is to be said waits for its call; real time.
const SpeakTime = 30 * time.Second

// DoubtWait is how long a row in doubt waits for a receipt before it is sent
// again; real time.
const DoubtWait = 60 * time.Second

// MaxResends is how often a row is sent again after a doubt. One whose last copy
// is in doubt as well is given up, and a person is told.
const MaxResends = 3

// CarryTime bounds one attempt; real time.
const CarryTime = 30 * time.Second

// Row is one effect on its way.
type Row struct {
	Seq       int64
	ID        string
	Lane      string
	Kind      string
	Origin    Origin
	Key       string // idempotency key
	ContactID ids.ContactID
	ThreadID  ids.ThreadID
	TurnID    ids.TurnID
	Epoch     int64 // of the thread when the row was written
	Payload   json.RawMessage
	State     State
	Tries     int
	Resends   int       // times it was sent again after a doubt
	DueAt     time.Time // real time
	ExpiresAt time.Time // product clock; zero: never
	CreatedAt time.Time // product clock
}

// Send is the payload of a SendMessage row.
type Send struct {
	Number string             `json:"number"` // the business number it leaves from
	To     []contact.Identity `json:"to"`
	Out    message.Outbound   `json:"out"`
	// After names a contact to whom no agent-written send may be under way when
	// this one starts: a takeover is acknowledged only then.
	After ids.ContactID `json:"after,omitempty"`
	// Again is the row whose words this one says once more, as a template.
	Again string `json:"again,omitempty"`
	// Handoff is the code of the handoff an admin is written to about, "" for none:
	// quoting such a message means its customer.
	Handoff string `json:"handoff,omitempty"`
}

// yieldTime is how long a message waits at most for the sends it must not
// overtake, YieldStep how often they are looked at.
const (
	yieldTime = 10 * time.Second
	YieldStep = 100 * time.Millisecond
)

// Yields reports whether the message of a row still waits, at now, for sends to
// s.After that are under way.
func (s Send) Yields(row Row, now time.Time) bool {
	return s.After != "" && now.Sub(row.CreatedAt) < yieldTime
}

// Verdict is what became of an attempt.
type Verdict string

// Verdicts of a carrier.
const (
	Done    Verdict = "done"
	Retry   Verdict = "retry"   // did not arrive; may be tried again
	InDoubt Verdict = "doubt"   // may have arrived
	GiveUp  Verdict = "give_up" // did not arrive and will not
)

// Outcome is a carrier's report.
type Outcome struct {
	Verdict    Verdict
	ProviderID string
	Class      string // of the error, for backoff and the record
	Code       int
	Detail     string
	RetryAfter time.Duration // the provider's own wish, 0 for none
}

// Carrier carries out rows of one kind. It is safe for concurrent use. It
// returns an outcome rather than an error: every failure has a verdict.
type Carrier interface {
	Carry(ctx context.Context, tenant ids.TenantID, row Row) Outcome
}

// Store keeps rows of one tenant.
type Store interface {
	// ClaimOutbox marks up to limit rows as sending and returns them: the first
	// of each lane, due at real. Rows that are stale at now, or would speak over
	// a human, are put aside instead. It also says when the next row is due.
	ClaimOutbox(ctx context.Context, now, real time.Time, limit int) ([]Row, time.Time, error)
	// SettleOutbox records an outcome. A row that is to be tried again is due at due.
	SettleOutbox(ctx context.Context, row Row, state State, due time.Time, o Outcome, now time.Time) error
}
