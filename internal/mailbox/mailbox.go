// Package mailbox orders what waits for one contact and decides what a turn
// takes from it.
//
// A mailbox is a row with a due time and a lease. Messages, events and timers
// wait in it durably; a worker claims it, takes the next batch, computes with
// no transaction open, and commits fenced on the lease. One lease means one
// turn at a time per mailbox; that the commit compares the lease means a stale
// worker changes nothing. The package decides; rows are kept by the store. It
// imports leaves and vocabulary.
package mailbox

import (
	"encoding/json"
	"time"

	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/message"
)

// The bounds of bursts, leases and retries.
const (
	MaxBurst  = 20               // messages
	MaxWait   = 6 * time.Second  // from a burst's first message
	LeaseTime = 20 * time.Second // real time; extended while a turn runs
	// MaxTries is how often a turn that fails is tried before its batch is put
	// aside for a person.
	MaxTries = 3
	// MaxCrashes is how often a process may die over a batch, or lose its lease,
	// before the batch is put aside.
	MaxCrashes = 10
	// MaxSupersedes is how often a newer message restarts a turn: a talkative
	// customer is still answered.
	MaxSupersedes = 2
)

// Event is something that happened outside the conversation.
type Event struct {
	Kind string          `json:"kind"`
	Name string          `json:"name"`
	Data json.RawMessage `json:"data,omitempty"`
	// Scope is the thread the event belongs to, "" when it belongs to none.
	Scope ids.ThreadID `json:"scope,omitempty"`
}

// Kinds of event.
const (
	Payment       = "payment"
	Timer         = "timer"
	ReceiptFailed = "receipt_failed"
	Resume        = "resume"
	Notice        = "notice" // the app's own: something its contact is told without having asked
	Missed        = "missed" // a payment's outcome that waited under a human who closed the chat
	// Decided is a person's decision in a model's place: Name is the escalation,
	// Data the llm.Decision.
	Decided    = "decided"
	Engaged    = "engaged"    // an admin reacted to the page of a handoff
	Briefed    = "briefed"    // a model has briefed the admins about a chat
	Translated = "translated" // a model has translated a chat, or failed to
)

// Item is one thing that waits: a message or an event.
type Item struct {
	Seq        int64            `json:"seq"` // 0 for a timer, which is a row of its own table
	Message    *message.Inbound `json:"message,omitempty"`
	Event      *Event           `json:"event,omitempty"`
	ReceivedAt time.Time        `json:"received_at"` // product clock; a timer's due time
}

// Claim is a leased mailbox.
type Claim struct {
	Key     ids.MailboxKey
	Token   string
	WakeSeq int64
	Tries   int
	Crashes int // leases of this mailbox that were never given back
}

// Batch is what one turn takes: a burst of messages or a single event.
type Batch struct {
	Items []Item
}

// Messages returns the batch's messages, in order.
func (b Batch) Messages() []message.Inbound {
	var out []message.Inbound
	for _, it := range b.Items {
		if it.Message != nil {
			out = append(out, *it.Message)
		}
	}
	return out
}

// Event returns the batch's event, or nil.
func (b Batch) Event() *Event {
	if len(b.Items) == 1 {
		return b.Items[0].Event
	}
	return nil
}

// Next decides what a turn takes from the items that wait, which are in order.
// With an empty batch it says when to look again, the zero time for never.
//
// An event is a turn of its own. Messages up to the next event form a burst
// once nobody has written for quiet, at the latest MaxWait after the first
// message or when there are MaxBurst of them. bursts is false for mailboxes
// whose messages are answered one by one.
func Next(items []Item, now time.Time, quiet time.Duration, bursts bool) (Batch, time.Time) {
	if len(items) == 0 {
		return Batch{}, time.Time{}
	}
	if items[0].Event != nil {
		if items[0].ReceivedAt.After(now) {
			return Batch{}, items[0].ReceivedAt
		}
		return Batch{Items: items[:1]}, time.Time{}
	}
	n := 1
	for bursts && n < len(items) && n < MaxBurst && items[n].Message != nil {
		n++
	}
	// A timer that is due later ends no burst: nearly every thread has one.
	full := n == MaxBurst || n < len(items) && !items[n].ReceivedAt.After(now)
	if bursts && !full {
		ready := items[n-1].ReceivedAt.Add(quiet)
		if latest := items[0].ReceivedAt.Add(MaxWait); latest.Before(ready) {
			ready = latest
		}
		if ready.After(now) {
			return Batch{}, ready
		}
	}
	return Batch{Items: items[:n]}, time.Time{}
}
