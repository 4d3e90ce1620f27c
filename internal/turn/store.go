package turn

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/money"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/thread"
	"github.com/ratiba/ratiba/internal/tool"
)

// What a commit may answer in place of success. None of them counts as a
// failed try.
var (
	// ErrLost: another worker holds the mailbox now. Drop everything.
	ErrLost = errors.New("turn: the lease was lost")
	// ErrStale: the thread changed since it was read. Read again and rerun.
	ErrStale = errors.New("turn: the thread changed meanwhile")
	// ErrSuperseded: a newer customer message is waiting. Rerun over the larger burst.
	ErrSuperseded = errors.New("turn: a newer message arrived")
)

// Store is what turns need of one tenant's database. It is safe for
// concurrent use.
type Store interface { //nolint:interfacebloat // a method for each thing a turn does with a tenant's rows.
	// Load reads everything a turn over the mailbox starts from.
	Load(ctx context.Context, key ids.MailboxKey) (Snapshot, error)
	// Read runs fn over a snapshot, for the reads of tools.
	Read(ctx context.Context, fn func(q db.Q) error) error
	// Commit writes a turn whole or not at all. inside runs first, in the same
	// transaction; its error is returned and undoes everything.
	Commit(ctx context.Context, c *Commit, inside func(ctx context.Context, tx db.Tx) error) error
	// Release gives the mailbox back without a turn: due again at due, never
	// when zero. failed counts a try.
	Release(ctx context.Context, c mailbox.Claim, due time.Time, failed bool) error
	// Contact reads another contact and when they last wrote.
	Contact(ctx context.Context, id ids.ContactID) (contact.Contact, time.Time, error)
	// Answered tells which models have answered in a thread, by role and prompt.
	Answered(ctx context.Context, q db.Q, th ids.ThreadID) ([]tool.Answered, error)
	// Transcript reads a thread's lines, oldest first, the last thousand at most.
	Transcript(ctx context.Context, th ids.ThreadID) ([]Line, error)
	// Quoted finds what a message to a contact was about, by the provider's id of
	// it. It reports false for a message about no customer's thread.
	Quoted(ctx context.Context, to ids.ContactID, providerID string) (Quoted, bool, error)
	// Chats finds customers' open threads, those with the latest words first.
	Chats(ctx context.Context, q ChatQuery) ([]Chat, error)
}

// Quoted is what a message was about.
type Quoted struct {
	Thread  ids.ThreadID  `json:"thread_id"`
	Contact ids.ContactID `json:"contact_id"`
	Name    string        `json:"name"`
	Handoff string        `json:"handoff"` // the code it was written about, "" for none
}

// ChatQuery says which open threads of customers are looked for. What is empty
// does not matter.
type ChatQuery struct {
	Thread  ids.ThreadID
	Contact ids.ContactID
	Digits  string // the end of the phone
	Name    string // a part of the name, lower case
	Agent   bool   // only those the agent drives
	Limit   int
}

// Chat is a customer's open thread, as an admin chooses among them.
type Chat struct {
	Thread thread.Thread `json:"thread"`
	Name   string        `json:"name"`
	Phone  string        `json:"phone"`
}

// Snapshot is what a turn starts from.
type Snapshot struct {
	Contact     contact.Contact
	LastInbound time.Time      // when the contact last wrote, for the 24-hour window
	Number      string         // the business number they last wrote to
	Items       []mailbox.Item // what waits, due or not, in order
	Thread      *thread.Thread // the open thread, nil when there is none
	// AskedAt is when the thread's pending question was accepted for sending,
	// zero while it was not.
	AskedAt time.Time
	// Attempt is the payment attempt that the first payment event among Items is
	// about, nil when none waits.
	Attempt *payment.Attempt
	// PaymentOpen reports whether the thread's payments have an attempt that may still
	// be on the payer's phone.
	PaymentOpen bool
	// Codes are those of all open handoffs.
	Codes []string
	// Withdrawn are the thread's payment attempts that the last takeover took
	// back before they were sent; loaded for the turn after a hand-back.
	Withdrawn []payment.Attempt
	// Handoffs are the threads that wait for, or are driven by, an admin; loaded
	// for admins' mailboxes, and for that of a customer with whom a human is.
	Handoffs []thread.Thread
	// Held are cards of handoffs nobody has taken that the contact, an admin, was
	// told of by a template only; loaded for admins' mailboxes.
	Held []Held `json:",omitempty"` //nolint:tagliatelle // recorded under Go's names, like the rest.
	// Admins are the contacts of the tenant's admins who can be written to, by phone.
	Admins map[string]AdminContact
	// Recent are the last lines of the thread, oldest first.
	Recent []Line
}

// AdminContact is where an admin is written to.
type AdminContact struct {
	ID          ids.ContactID
	LastInbound time.Time
	Number      string
}

// Held is a card for an admin whose 24-hour window was closed: they got a
// template, and the card follows their first word.
type Held struct {
	Contact ids.ContactID
	Thread  ids.ThreadID
	Code    string // of the handoff
	Out     message.Outbound
}

// Line is one line of a transcript.
type Line struct {
	Direction  string              `json:"direction"` // in or out
	Origin     string              `json:"origin"`
	Kind       string              `json:"kind,omitempty"` // message.Kind, or handBack
	Text       string              `json:"text"`
	Attachment *message.Attachment `json:"attachment,omitempty"`
	At         time.Time           `json:"at"`
}

// Commit is a turn's one write.
type Commit struct {
	Claim   mailbox.Claim
	Batch   mailbox.Batch
	TurnID  ids.TurnID
	Started time.Time
	Now     time.Time
	Inputs  json.RawMessage // recorded inputs, canonical JSON
	Digest  string          // of what they led to
	// Contact is the contact as the turn leaves it.
	Contact contact.Contact
	// Thread is nil for a turn that opens none. Before is the version it was
	// read at, 0 for a new one.
	Thread *thread.Thread
	Before int64
	// Other is another contact's thread a takeover changes, conditional on OtherBefore.
	Other       *thread.Thread
	OtherBefore int64
	Said        []Spoken
	Outbox      []outbox.Row
	Timers      []TimerRow
	Tasks       []TaskRow
	Tools       []ToolCall
	Events      []Posted
	Withdraw    bool // Other's payment prompts that were not sent are withdrawn
	// Held are cards that wait for their admin's word; Shown says that those which
	// waited for this turn's contact wait no more.
	Held  []Held `json:",omitempty"` //nolint:tagliatelle // hashed under Go's names, like the rest.
	Shown bool   `json:",omitempty"` //nolint:tagliatelle // as above.
	// Cost is set by Store.Commit: what the turn's model calls cost, discarded
	// ones included.
	Cost money.Pico
	// Due is when the mailbox is due next, zero when nothing waits in it. It is
	// the turn's own time, which is safe, until Store.Commit knows better.
	Due time.Time `json:"-"` // decides nothing, so it is in no digest
	// Signal marks this turn's classifications as failed, for those who judge the
	// classifier: "" for none.
	Signal string
	// Supersede lets a newer customer message undo this commit.
	Supersede bool
}

// Spoken is a transcript line to write.
type Spoken struct {
	Thread     ids.ThreadID
	Direction  string
	Origin     string
	Body       any
	ProviderID string
	At         time.Time
}

// TimerRow sets a timer, or removes it when At is zero.
type TimerRow struct {
	Mailbox ids.MailboxKey
	Scope   ids.ThreadID
	Name    string
	At      time.Time
	Data    any
}

// TaskRow is work for a person.
type TaskRow struct {
	ID, Kind, Key, Detail string
	Thread                ids.ThreadID
	Contact               ids.ContactID
	Due                   time.Time
}

// ToolCall is one invocation, for the record.
type ToolCall struct {
	Call   graph.Call
	Result graph.Result
	Actor  string // in whose name: tool.Actor.ID
}

// Posted is an event for another mailbox, written with the turn.
type Posted struct {
	Mailbox ids.MailboxKey
	Event   mailbox.Event
	Dedupe  string
}

// Names of the events and timers the platform itself posts; the id of an
// attempt, or of an escalation, follows.
const (
	PaymentAttempt = "attempt:"
	PaymentCheck   = "payment_check:"
	// Undecided and an escalation's id name the timer that tells a thread that
	// nobody decided in time.
	Undecided = "undecided:"
)

// Signals about a classifier that the turn itself can see.
const (
	ConfidentUnknown = "confident_unknown" // sure that it does not know
	GraphRejected    = "fsm_rejected"      // an intent that is impossible here
)

// TTLTimer closes a thread nobody goes on with.
const TTLTimer = "ttl"
