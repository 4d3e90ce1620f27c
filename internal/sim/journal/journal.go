// Package journal records what happened at the simulated providers, for
// auditors and tests: every send accepted or refused, every webhook posted,
// every prompt and callback.
//
// Entries are numbered from 1 in the order they happened. A journal that is full
// drops its oldest entries; a first number above 1 shows that it did. It is safe for concurrent use and imports only leaves.
package journal

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
)

// defaultCapacity is how many entries are kept unless said otherwise.
const defaultCapacity = 200_000

// Kind says what an entry is about.
type Kind string

// What is recorded.
const (
	SendAccepted    Kind = "send.accepted"     // the provider took a message: ID, Opaque
	SendRefused     Kind = "send.refused"      // the provider refused one at once: Code
	SendFailed      Kind = "send.failed"       // taken, then reported as failed: Code
	MarkedRead      Kind = "send.marked_read"  // the product marked ID as read
	StatusPosted    Kind = "status.posted"     // a status webhook for ID; HTTPStatus is the product's answer
	InboundPosted   Kind = "inbound.posted"    // an inbound webhook for ID
	PushAccepted    Kind = "push.accepted"     // Daraja took a prompt request
	PushRefused     Kind = "push.refused"      // Daraja refused one: Code
	PromptEnded     Kind = "prompt.ended"      // the payer, the program or the clock decided: Code, Receipt
	CallbackPost    Kind = "callback.posted"   // a callback for ID; HTTPStatus is the product's answer
	Queried         Kind = "query.answered"    // a status query for ID: Code
	CardPosted      Kind = "slack.posted"      // Slack took a message: ID is its ts, Number the channel
	CardUpdated     Kind = "slack.updated"     // Slack changed message ID
	Whispered       Kind = "slack.whispered"   // Slack showed Text to the person Phone alone
	CardRefused     Kind = "slack.refused"     // Slack refused a call: Code
	TapPosted       Kind = "slack.tapped"      // an interaction on message ID; HTTPStatus is the product's answer
	OrderAccepted   Kind = "order.accepted"    // PesaPal took an order
	OrderRefused    Kind = "order.refused"     // PesaPal refused one: Code
	OrderEnded      Kind = "order.ended"       // the payer, the program or the provider decided: Status, Receipt
	NotifyPosted    Kind = "notify.posted"     // a notification about ID; HTTPStatus is the product's answer
	ReversalAsked   Kind = "reversal.accepted" // Daraja was asked to reverse Receipt
	ReversalTold    Kind = "reversal.posted"   // its result: Code
	ReversalRefused Kind = "reversal.refused"  // Daraja refused to: Code
	RefundAsked     Kind = "refund.asked"      // PesaPal was asked to give Receipt back: Code
)

// Silent is the Type of a prompt that ends without a callback.
const Silent = "silent"

// Entry is one thing that happened. Which fields are set follows from Kind.
type Entry struct {
	Seq        int64     `json:"seq"`
	At         time.Time `json:"at"` // by the product's clock
	Kind       Kind      `json:"kind"`
	ID         string    `json:"id,omitempty"` // message id or CheckoutRequestID
	Number     string    `json:"number,omitempty"`
	Phone      string    `json:"phone,omitempty"`
	BSUID      string    `json:"bsuid,omitempty"`
	Type       string    `json:"type,omitempty"`
	Text       string    `json:"text,omitempty"`
	Opaque     string    `json:"opaque,omitempty"` // biz_opaque_callback_data
	Status     string    `json:"status,omitempty"`
	Code       string    `json:"code,omitempty"` // the provider's error or result code
	HTTPStatus int       `json:"http_status,omitempty"`
	Attempt    int       `json:"attempt,omitempty"`
	Error      string    `json:"error,omitempty"` // why a post had no answer
	Amount     int64     `json:"amount,omitempty"`
	Reference  string    `json:"reference,omitempty"`
	Receipt    string    `json:"receipt,omitempty"`
	URL        string    `json:"url,omitempty"`
}

// Journal holds entries.
type Journal struct {
	clock    clock.Clock
	capacity int

	mu      sync.Mutex
	seq     int64
	entries []Entry
	changed chan struct{} // nil while nobody waits
}

// New returns an empty journal stamped by the product's clock. It keeps at most
// capacity entries; 0 means 200,000.
func New(c clock.Clock, capacity int) *Journal {
	return &Journal{clock: c, capacity: cmp.Or(capacity, defaultCapacity)}
}

// Add records e, giving it its number and time, and returns the number.
func (j *Journal) Add(e Entry) int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seq++
	e.Seq, e.At = j.seq, j.clock.Now()
	if len(j.entries) >= j.capacity {
		// Dropping a quarter at once keeps the copying rare.
		j.entries = append(j.entries[:0], j.entries[(j.capacity+3)/4:]...)
	}
	j.entries = append(j.entries, e)
	if j.changed != nil {
		close(j.changed)
		j.changed = nil
	}
	return e.Seq
}

// After returns the entries with a number above seq whose kind starts with
// prefix. When there are none it waits until one is added or ctx is done, and
// then returns what there is, which may be nothing.
func (j *Journal) After(ctx context.Context, seq int64, prefix string) []Entry {
	for {
		found, changed := j.scan(seq, prefix)
		if len(found) > 0 {
			return found
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return found
		}
	}
}

// Since is After without the wait.
func (j *Journal) Since(seq int64, prefix string) []Entry {
	found, _ := j.scan(seq, prefix)
	return found
}

func (j *Journal) scan(seq int64, prefix string) ([]Entry, <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	found := []Entry{}
	first := 0 // numbers have no gaps, so the place follows from the number
	if len(j.entries) > 0 {
		first = int(max(0, min(seq+1-j.entries[0].Seq, int64(len(j.entries)))))
	}
	for i := first; i < len(j.entries); i++ {
		if strings.HasPrefix(string(j.entries[i].Kind), prefix) {
			found = append(found, j.entries[i])
		}
	}
	if j.changed == nil {
		j.changed = make(chan struct{})
	}
	return found, j.changed
}
