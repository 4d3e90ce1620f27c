// Package broadcast is one message of the business to many of its contacts.
//
// Recipients are those who wrote to the business themselves and have not opted
// out. They are written down with the broadcast, in one transaction; then a few
// at a time become outbox rows, so that conversations never wait behind a
// broadcast and a crash loses and doubles nobody: each recipient has one row.
// The package imports leaves, vocabulary and people.
package broadcast

import (
	"context"
	"time"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/money"
)

// Effect is the kind of outbox row that feeds the next recipients; its payload
// is a Batch. Lane is the kind of lane that the messages themselves go down: one
// that replies do not wait in.
const (
	Effect = "broadcast.batch"
	Lane   = "broadcast"
)

// A batch feeds BatchSize recipients and the next one comes after Pause: at most
// 50 a second, of the 80 that WhatsApp takes from a number, and few at a time, so
// that a reply finds few sends before it. With Backlog messages still on their
// way nobody is fed. Real time.
const (
	BatchSize = 10
	Pause     = 200 * time.Millisecond
	Backlog   = 20
)

// Batch names a broadcast's next step.
type Batch struct {
	ID   string `json:"broadcast_id"`
	Step int64  `json:"step"`
}

// Order is a broadcast as it is asked for.
type Order struct {
	ID     string // drawn by the caller: the same again changes nothing
	Text   string
	Days   int      // only who wrote in the last so many days; 0 is everybody
	Number string   // the business number it leaves from
	By     string   // who ordered it
	Admins []string // phones that are no customers'
	Locale string   // for whom no language is known
}

// Counts say whom an order reaches, and why not the others.
type Counts struct {
	InWindow    int        `json:"in_window"`   // free text, without cost
	ByTemplate  int        `json:"by_template"` // silent for a day: a template, at a cost
	OptedOut    int        `json:"skipped_opted_out"`
	NeverWrote  int        `json:"skipped_never_wrote"`
	Unreachable int        `json:"skipped_unreachable"`
	Quiet       int        `json:"skipped_quiet"` // last wrote before Order.Days
	CostUSD     string     `json:"cost_usd"`      // what the templates cost at most
	Cost        money.Pico `json:"-"`
}

// Recipients counts those who are written to.
func (c Counts) Recipients() int { return c.InWindow + c.ByTemplate }

// Priced is the counts with what the templates cost at a price each.
func (c Counts) Priced(each money.Pico) Counts {
	c.Cost = each * money.Pico(c.ByTemplate)
	c.CostUSD = c.Cost.Dollars()
	return c
}

// Progress says how far a broadcast is.
type Progress struct {
	ID        string    `json:"broadcast_id"`
	Text      string    `json:"text"`
	CreatedAt time.Time `json:"created_at"`
	Total     int       `json:"total"`
	Waiting   int       `json:"waiting"` // not yet on their way
	Sending   int       `json:"sending"`
	Sent      int       `json:"sent"` // taken by WhatsApp
	Delivered int       `json:"delivered"`
	Failed    int       `json:"failed"`
}

// Ledger keeps a tenant's broadcasts.
type Ledger interface {
	// Count says whom an order would reach at now.
	Count(ctx context.Context, q db.Q, o Order, now time.Time) (Counts, error)
	// Start writes an order down with its recipients. One that is there already
	// is answered with fresh false, and nothing changes.
	Start(ctx context.Context, tx db.Tx, o Order, now time.Time) (c Counts, fresh bool, err error)
	// Progress lists the last broadcasts, newest first; id "" is any.
	Progress(ctx context.Context, q db.Q, id string, limit int) ([]Progress, error)
}
