// Package turn takes a burst of messages, or one event, to one committed
// answer.
//
// There is one file per stage, in the order a turn runs them: resolve, driver,
// request, understand, event, step, tools, evaluate, shape, commit. A turn
// computes with no transaction open and commits once, fenced on the mailbox's
// lease and the thread's version; what reaches outside is an outbox row of
// that commit. Its inputs are recorded, so that it can be replayed. The
// package imports the app contract and what lies left of it, and no adapter.
package turn

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/ratiba/ratiba/internal/app"
	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/coord"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/template"
	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/thread"
	"github.com/ratiba/ratiba/internal/tool"
	"github.com/ratiba/ratiba/internal/understand"
	"github.com/ratiba/ratiba/internal/wording"
)

// Lifetimes of threads that nobody goes on with.
const (
	CustomerTTL = 30 * time.Minute
	AdminTTL    = 4 * time.Hour
)

// Bounds of one turn.
const (
	maxSteps     = 40
	maxConflicts = 3
	deadline     = 45 * time.Second // real time; the lease is extended meanwhile
	// understandTime is what models have of it; after that code's reading stands.
	understandTime = 25 * time.Second
	answerLife     = 15 * time.Minute // after which an unsent answer is stale
	window         = 24 * time.Hour   // in which free text may be sent to a contact
	maxBackoff     = 10               // doublings of the second a mailbox rests after a failure
)

// Bounds of one contact's turns that may ask a model, real time: far above
// what a person types, far below what a machine can. Who goes beyond is told
// so, once in slowTold.
const (
	turnEvery = 6 * time.Second
	turnBurst = 60
	slowTold  = time.Minute
)

// Understander reads bursts and phrases answers.
type Understander interface {
	Understand(ctx context.Context, req understand.Request, ids understand.IDs) (graph.Input, []string, error)
	Shape(ctx context.Context, role llm.Role, facts []string, draft, lang string, ids understand.IDs) (text, callID string, err error)
}

// Business is one version of a tenant's definition as turns see it. NewBusiness
// makes one; its store may be another's.
type Business struct {
	Tenant *tenant.Tenant
	App    app.App
	Admin  app.App // the admins' own assistant; without a Flow there is none
	Tools  *tool.Registry
	Store  Store

	// What each turn would else read out of the definition again.
	zone    *time.Location
	section app.Section
}

// NewBusiness reads a definition for turns. An error is a fault of the app's
// section.
func NewBusiness(t *tenant.Tenant, a app.App, tools *tool.Registry, s Store) (Business, error) {
	section, err := a.Section(t)
	if err != nil {
		return Business{}, fmt.Errorf("read the section of %s: %w", a.Name, err)
	}
	return Business{Tenant: t, App: a, Tools: tools, Store: s, zone: t.Location(), section: section}, nil
}

// Config is what an Engine needs.
type Config struct {
	Understander Understander
	Texts        *wording.Catalogue // the platform's own
	Payments     payment.Ledger
	Clock        clock.Clock // the product's
	Real         clock.Clock // the machine's: when an outbox row is due
	Logger       *slog.Logger
	// Split breaks a text into parts that may each be sent. Nil breaks nothing.
	Split func(text string) []string
	// Typing shows the sender that an answer is being prepared. It must not
	// block. Nil shows nothing.
	Typing func(b Business, number, providerID string)
	// Models says that there are models to brief admins and to translate for them.
	Models bool
	// Buckets count a contact's turns; of this process alone when nil.
	Buckets coord.Buckets
}

// Engine runs turns. It is safe for concurrent use; the mailbox's lease keeps
// two turns of one contact apart.
type Engine struct {
	cfg  Config
	pace coord.Taker // turns of a contact that may ask a model
	told coord.Taker // how often a contact beyond it is told so
	// templates are what may be said to somebody who has been silent for a day.
	templates template.Set
}

// New returns an engine.
func New(cfg Config) *Engine {
	if cfg.Buckets == nil {
		cfg.Buckets = coord.NewLocal(cfg.Real)
	}
	templates, err := template.Load()
	if err != nil {
		panic(err) // the list is part of the program, and a test reads it
	}
	return &Engine{
		templates: templates,
		cfg:       cfg, pace: cfg.Buckets.Bucket("turns", coord.Rate{Every: turnEvery, Burst: turnBurst}),
		told: cfg.Buckets.Bucket("told", coord.Rate{Every: slowTold, Burst: 1}),
	}
}

// errCrashes puts a batch aside that processes keep dying over.
var errCrashes = errors.New("turn: too many processes died over this batch")

// conflict undoes a commit because a write's tool answered a typed conflict.
type conflict struct {
	digest string
	result graph.Result
}

func (c *conflict) Error() string { return "turn: write refused: " + c.result.Code }

// Handle takes the next batch of a claimed mailbox through a turn and gives
// the mailbox back. It reports whether a turn was committed, and when the
// tenant's mailboxes are to be looked at for what it left: never when zero, now
// when it cannot tell.
//
// A turn that fails because its process stops, or because the database is away,
// is nobody's fault and counts as no try.
func (e *Engine) Handle(ctx context.Context, b Business, claim mailbox.Claim) (committed bool, due time.Time) {
	working := ctx
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	r := &run{e: e, b: b, claim: claim, seed: ids.NewSeed()}
	committed, err := r.attempt(ctx)
	if err == nil || errors.Is(err, ErrLost) {
		return committed, r.next(committed)
	}
	r.log(ctx, slog.LevelError, "turn.failed", slog.String("error", err.Error()), slog.Int("tries", claim.Tries+1))
	// The deadline may be what failed; giving the mailbox back must not fail with it.
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	poisoned := false
	switch now := e.cfg.Clock.Now(); {
	case working.Err() != nil:
		err = b.Store.Release(ctx, claim, now, false)
	case db.IsAway(err):
		err = b.Store.Release(ctx, claim, now.Add(time.Second), false)
	case len(r.batch.Items) > 0 && (claim.Tries+1 >= mailbox.MaxTries || errors.Is(err, errCrashes)):
		poisoned = true
		err = r.poison(ctx)
	default:
		err = b.Store.Release(ctx, claim, now.Add(time.Second<<min(claim.Tries, maxBackoff)), true)
	}
	if err != nil && !errors.Is(err, ErrLost) {
		r.log(ctx, slog.LevelError, "turn.release_failed", slog.String("error", err.Error()))
	}
	committed = poisoned && err == nil
	return committed, r.next(committed)
}

// next is when the tenant's mailboxes are to be looked at again. A commit knows
// when its own is due; other mailboxes it touched may be due at once, and so
// may one that came back without a commit: whoever was woken for it meanwhile
// found it leased.
func (r *run) next(committed bool) time.Time {
	foreign := func(t TimerRow) bool { return t.Mailbox != r.claim.Key }
	if !committed || len(r.commit.Events) > 0 || slices.ContainsFunc(r.commit.Timers, foreign) {
		return r.e.cfg.Clock.Now()
	}
	return r.commit.Due
}

// attempt reruns the turn until it commits, its mailbox is lost, or it fails.
func (r *run) attempt(ctx context.Context) (committed bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	for supersedes := 0; ; {
		due, err := r.load(ctx)
		if err != nil {
			return false, err
		}
		if len(r.batch.Items) == 0 {
			return false, r.b.Store.Release(ctx, r.claim, due, false)
		}
		if r.claim.Crashes >= mailbox.MaxCrashes {
			return false, errCrashes
		}
		err = r.commitWith(ctx, supersedes < mailbox.MaxSupersedes)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, ErrSuperseded):
			supersedes++
			r.log(ctx, slog.LevelInfo, "turn.superseded")
		case errors.Is(err, ErrStale):
			r.log(ctx, slog.LevelInfo, "turn.stale")
		default:
			return false, err
		}
	}
}

// commitWith computes and commits once per conflict: a write that is refused
// rolls everything back, and the steps run again knowing it.
func (r *run) commitWith(ctx context.Context, supersede bool) error {
	r.conflicts, r.known = map[string]graph.Result{}, graph.Results{}
	if err := r.understandStages(ctx); err != nil {
		return err
	}
	for {
		if err := r.decideStages(ctx); err != nil {
			return err
		}
		r.commit.Supersede = supersede && r.batch.Event() == nil && r.admin == nil
		start := r.e.cfg.Clock.Now()
		err := r.b.Store.Commit(ctx, &r.commit, r.inside)
		if errors.Is(err, errReceiptTaken) && !r.settling.taken {
			r.settling.taken = true
			continue
		}
		var c *conflict
		if errors.As(err, &c) && len(r.conflicts) < maxConflicts {
			r.conflicts[c.digest] = c.result
			r.log(ctx, slog.LevelInfo, "turn.conflict", slog.String("code", c.result.Code))
			continue
		}
		r.stage(ctx, "commit", start)
		if err == nil {
			r.report(ctx)
		}
		return err
	}
}

// run is one turn under way.
type run struct {
	e     *Engine
	b     Business
	claim mailbox.Claim
	seed  ids.Seed

	// What it starts from.
	snap   Snapshot
	batch  mailbox.Batch
	now    time.Time
	turnID ids.TurnID
	admin  *tenant.Admin // set when the writer is one
	app    app.App       // whose graph the thread is in
	before thread.Thread // the open thread as it was read; zero when there is none
	paced  path          // what the contact's rate made of a turn through the graph
	// unreadable says why this build cannot read the open thread's state.
	unreadable error

	// What was understood; kept across conflicts.
	path       path
	in         graph.Input
	understood graph.Input // in as it was recorded, before an event takes its place
	calls      []string
	arms       map[string]string // by model role: what the thread has, and what this turn assigned
	settling   *settling
	replay     *recorded     // set when a recorded turn is computed again
	known      graph.Results // what a replay has read already

	// What was decided; built anew after each conflict.
	conflicts map[string]graph.Result
	reads     graph.Results
	phrases   []string
	unpaid    int // phrases that a cost ceiling kept from being made
	others    []other
	ids       *ids.Source
	th        *thread.Thread
	writes    []graph.Write
	lines     []line
	tools     []ToolCall
	effects   []outbox.Row
	timers    []TimerRow
	tasks     []TaskRow
	posts     []Posted
	holds     []Held // cards that wait for their admin's word
	shown     bool   // those that waited for this admin go out
	signal    string
	contact   contact.Contact
	opens     bool // the thread is written even when it was not open before
	commit    Commit

	// Another contact's thread, changed by an admin's command.
	other       *thread.Thread
	otherBefore int64
	withdraw    bool
	settleFirst ids.ContactID // lines wait until sends to this contact are over
	marker      ids.ThreadID  // the thread whose transcript gets the end of a human's part
	aboutThread ids.ThreadID  // what admins are written to about, "" for the turn's own thread
	aboutCode   string
	spoken      int // how often something was said to the contact
	afterwards  []func()
}

// load reads the mailbox and picks the batch. With an empty batch it returns
// when to look again.
func (r *run) load(ctx context.Context) (time.Time, error) {
	start := r.e.cfg.Clock.Now()
	snap, err := r.b.Store.Load(ctx, r.claim.Key)
	if err != nil {
		return time.Time{}, fmt.Errorf("load turn: %w", err)
	}
	r.snap, r.now = snap, r.e.cfg.Clock.Now()
	r.admin = r.b.Tenant.AdminByPhone(snap.Contact.Phone())
	bursts := r.admin == nil
	var due time.Time
	quiet := r.b.Tenant.QuietTime
	if called(snap.Items) {
		quiet = 0 // who has said something on the phone waits for the answer
	}
	r.batch, due = mailbox.Next(snap.Items, r.now, quiet, bursts)
	r.before = thread.Thread{}
	if snap.Thread != nil {
		r.before = *snap.Thread
	}
	if len(r.batch.Items) == 0 {
		return due, nil
	}
	r.turnID = turnID(r.claim.Key, r.batch.Items[0])
	r.begin()
	r.path = r.pacing(ctx, r.resolve())
	r.stage(ctx, "resolve", start)
	return due, nil
}

// turnID names the turn after the first thing it takes, so that a turn that
// runs again after a crash finds the model answers it has already paid for. A
// timer that was set again for the time it had before is told by its data.
func turnID(key ids.MailboxKey, first mailbox.Item) ids.TurnID {
	name := fmt.Sprintf("%s/%d", key, first.Seq)
	if first.Seq == 0 {
		name = fmt.Sprintf("%s/%s/%s/%d/%s", key, first.Event.Scope, first.Event.Name, first.ReceivedAt.UnixMicro(), first.Event.Data)
	}
	return ids.TurnID(ids.NewSource(sha256.Sum256([]byte(name)), first.ReceivedAt).New())
}

func (r *run) log(ctx context.Context, level slog.Level, event string, attrs ...slog.Attr) {
	all := append([]slog.Attr{
		slog.String("tenant_id", string(r.b.Tenant.ID)), slog.String("conversation_id", string(r.conversation())),
		slog.String("turn_id", string(r.turnID)),
	}, attrs...)
	r.e.cfg.Logger.LogAttrs(ctx, level, event, all...) //nolint:sloglint // callers give constants, which the house rules read.
}

// conversation is the thread a turn is about: an admin's command is about the
// customer's.
func (r *run) conversation() ids.ThreadID {
	switch {
	case r.other != nil:
		return r.other.ID
	case r.th != nil && r.admin == nil:
		return r.th.ID
	}
	return r.before.ID
}

// after has fn called once the turn is committed: it logs what is true only then.
func (r *run) after(fn func()) { r.afterwards = append(r.afterwards, fn) }

// stage reports that a stage is over.
func (r *run) stage(ctx context.Context, name string, start time.Time) {
	r.log(ctx, slog.LevelInfo, "turn.stage", slog.String("stage", name),
		slog.Float64("duration_ms", float64(r.e.cfg.Clock.Now().Sub(start).Microseconds())/1000))
}

const slogInfo = slog.LevelInfo

func attr(key, value string) slog.Attr { return slog.String(key, value) }

func encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("turn: %T cannot be encoded: %v", v, err)) // our own structs
	}
	return b
}
