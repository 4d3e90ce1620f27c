// Package app is the contract of an app: a kind of business on the platform.
//
// An app is a plain struct: its graph, tools, texts, nouns and tables. The
// platform runs it without knowing what is booked or repaired. An app imports
// this package and what lies left of it, and never another app.
package app

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"time"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/handoff"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/money"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/tool"
	"github.com/ratiba/ratiba/internal/understand"
	"github.com/ratiba/ratiba/internal/wording"
)

// App is what a kind of business brings.
type App struct {
	Name  string
	Flow  Flow
	Tools []tool.Tool
	// Table says which tools are permitted where; nil: every one everywhere.
	// Dimensions are a thread's state as the table sees it.
	Table      tool.Table
	Dimensions func(node string, state json.RawMessage) map[string]string
	Texts      *wording.Catalogue
	// Notices is the graph of what is done and said without having been asked: it
	// takes timers that belong to no thread and events of the kind notice, each
	// from its start. It opens no thread and keeps no state. Nil when the app has
	// none.
	Notices Flow

	// Section reads the app's section of a tenant's definition, once for all
	// turns of that version.
	Section func(t *tenant.Tenant) (Section, error)
	// Expect says what the thread was last asked, so that a bare "3" or "the
	// second one" can be understood.
	Expect func(node string, state json.RawMessage) understand.Expect
	// Owns reports whether the thread's state is about a subject, such as a
	// booking's id: a payment for it then steps the thread.
	Owns func(state json.RawMessage, subject string) bool
	// Close lists the writes that give back what a thread held when it is closed
	// by its time to live. They are no irreversible calls.
	Close func(state json.RawMessage) []graph.Call

	// Collected names what a thread's state has gathered so far, as people of the
	// business read it. Nil: nothing is told.
	Collected func(s Said) []handoff.Slot
	// Fill gives a thread's state what a person decided, each value as it was
	// typed. What is wrong comes back as a saying of the app's catalogue, with what
	// would be right, and nothing is filled. Nil: the app has no slots.
	Fill func(s Said, slots []handoff.Slot) (Filled, *graph.Say)
	// AtStake is the money a refund would be about, zero when none is known. Nil:
	// the app takes none.
	AtStake func(state json.RawMessage) money.Amount
	// Jobs are work that belongs to no contact.
	Jobs []Job
	// Operations are what people of the business have done by command, by name.
	// What they come to is kept as a job's piece is; its answer is encoded as JSON.
	// A fault in the chain is what the person is told.
	Operations map[string]func(ctx context.Context, w Work, args json.RawMessage) (p Piece, answer any, err error)
	// Feed returns the calendar that a secret leads to, fault.NotFound when it leads
	// nowhere. Nil when the app has none.
	Feed func(ctx context.Context, w Work, secret string) ([]byte, error)

	// Migrations are the app's tables, beside the platform's in each tenant's database.
	Migrations fs.FS
	// Merge moves the app's rows of one contact to another, who turned out to be
	// the same person.
	Merge func(ctx context.Context, tx db.Tx, from, to ids.ContactID) error
	// Person are the app's rows about one contact, $1, for those who ask what is
	// kept of them.
	Person []db.Selection
	// Erase takes from the app's rows of a contact what tells who that is, and
	// gives back what they held. What was agreed and paid stays.
	Erase func(ctx context.Context, tx db.Tx, c ids.ContactID, now time.Time) error
	// Paid are what the app's rows that changed in a time say was paid: what a
	// reconciliation compares with the payments.
	Paid func(ctx context.Context, q db.Q, since, until time.Time) ([]payment.Entry, error)
	// Apply writes the app's section of a tenant's definition into its tables.
	Apply func(ctx context.Context, tx db.Tx, t *tenant.Tenant, now time.Time) error
	// Check names every fault of the app's section of a definition.
	Check func(t *tenant.Tenant) error
}

// Said is a thread as people speak about it.
type Said struct {
	Node  graph.Name
	State json.RawMessage
	Facts graph.Facts
	Now   time.Time
	Lang  string // that values are written in
}

// Filled is a thread's state after a person decided something.
type Filled struct {
	Node  graph.Name
	State json.RawMessage
	Told  []string // the values as the customer is told them
}

// Job is work of an app that belongs to no contact. It waits in a mailbox of its
// own, so that one process at a time does it, and runs when a definition was
// applied, when a write that Wakes names was committed, and when its own last
// run said.
type Job struct {
	Name  string   // of its mailbox, unique in the app
	Wakes []string // tools whose writes may leave it something to do
	// Run does one piece, with no transaction open. An error has it run again
	// later.
	Run func(ctx context.Context, w Work) (Piece, error)
}

// Work is what a run of a job starts from.
type Work struct {
	Tenant *tenant.Tenant
	Now    time.Time // the product's
	IDs    *ids.Source
	Read   func(ctx context.Context, fn func(q db.Q) error) error
	Secret func(name string) string // of the environment, "" when it is not there
	// Fetch reads an address, a secret itself, within bounds; body is nil when nothing
	// changed since the answer with the tag.
	Fetch func(ctx context.Context, address, tag string) (body []byte, newTag string, err error)
	// FeedURL is the address of the calendar a secret leads to.
	FeedURL func(secret string) string
}

// Piece is what a run came to. It is kept whole or not at all, and a refusal by
// Write has the job run again at once.
type Piece struct {
	Write   func(ctx context.Context, tx db.Tx) error // nil when there is nothing to write
	Notices []Notice
	Tasks   []graph.Task
	Again   time.Time // when to run again, zero for when it is woken
}

// Notice is an event for a contact's mailbox, or, with At, a timer there. The
// app's graph of notices gets it.
type Notice struct {
	Contact ids.ContactID
	Name    string
	Data    any
	Key     string    // an event of one key is delivered once
	At      time.Time // zero for an event
}

// Mailbox is where the job waits.
func (j Job) Mailbox() ids.MailboxKey { return ids.MailboxKey(JobPrefix + j.Name) }

// JobPrefix begins the keys of jobs' mailboxes. They come after every contact's,
// in the order in which mailboxes are locked.
const JobPrefix = "system:"

// Timers of a job's mailbox: somebody left it something to do, and its own last
// run said when to run again.
const (
	JobTimer  = "run"
	JobsAgain = "again"
)

// ErrAgain is what Piece.Write answers when what was read is no longer so.
var ErrAgain = errors.New("app: read again")

// Section is what an app made of its section of a definition. Turns share it
// and change nothing in it.
type Section struct {
	// Nouns are the business's own names that understanding may find in a text,
	// by kind.
	Nouns map[string][]understand.Noun
	// Settings are what the graph's steps read as graph.Facts.Settings.
	Settings any
}

// Office is what the steps of an admins' own assistant read as
// graph.Facts.Settings: who writes, and what the business's app brings. It
// belongs to no kind of business.
type Office struct {
	Actor   tool.Actor
	Nouns   map[string][]understand.Noun // those of the business's app
	Waiting int                          // customers who wait for a person
	// Confirms reports whether a call of the tool needs a yes, which follows from
	// its safety class and the tenant alone, and whether there is such a tool.
	Confirms func(tool string) (needed, known bool)
}

// Flow is a graph with its state erased to JSON.
type Flow interface {
	Name() string
	Version() int
	// Start returns the node and state of a new thread.
	Start() (node graph.Name, state json.RawMessage)
	Ends(node graph.Name) bool
	// Begin returns the node at which a turn begins.
	Begin(in graph.In[json.RawMessage]) (graph.Name, error)
	// Step runs one node.
	Step(in graph.In[json.RawMessage]) (graph.Out[json.RawMessage], error)
	// Upgrade brings a checkpoint of an older version to this one. A version it
	// cannot read is an error.
	Upgrade(version int, node graph.Name, state json.RawMessage) (graph.Name, json.RawMessage, error)
}
