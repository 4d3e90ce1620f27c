package turn

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/thread"
)

// ErasedInputs are the recorded inputs of a turn of somebody whose data was
// erased.
const ErasedInputs = `{"erased":true}`

// ErrErased is Replay's answer to such a turn.
var ErrErased = errors.New("turn: what it was computed from was erased with a person's data, so it cannot be replayed")

// recorded is everything a turn was computed from. With the tenant's settings
// of that version it computes the same again.
type recorded struct {
	Path      path                    `json:"path"`
	Batch     []mailbox.Item          `json:"batch"`
	Key       ids.MailboxKey          `json:"mailbox"`
	TurnID    ids.TurnID              `json:"turn_id"`
	Now       time.Time               `json:"now"`
	Seed      string                  `json:"seed"`
	Tenant    int64                   `json:"tenant_version"`
	Snapshot  Snapshot                `json:"snapshot"`
	Input     graph.Input             `json:"input"`
	Calls     []string                `json:"model_calls"`
	Phrases   []string                `json:"phrases"` // what a model phrased, in order; "" where the template stood
	Unpaid    int                     `json:"unpaid,omitempty"`
	Others    []other                 `json:"others"` // what was read of other contacts
	Reads     graph.Results           `json:"reads"`
	Conflicts map[string]graph.Result `json:"conflicts"`
	Taken     bool                    `json:"receipt_taken,omitempty"`
	Arms      map[string]string       `json:"arms,omitempty"` // as the thread keeps them from this turn on
	Erased    bool                    `json:"erased,omitempty"`
}

// other is what a turn read beyond its own mailbox: a customer an admin takes
// over.
type other struct {
	To    *who   `json:"to,omitempty"`
	Lines []Line `json:"lines,omitempty"`

	Quoted *Quoted `json:"quoted,omitempty"`
	Chats  []Chat  `json:"chats,omitempty"`
}

// record writes the turn's inputs and the digest of what they led to into the
// commit.
func (r *run) record() error {
	inputs, err := json.Marshal(recorded{ //nolint:musttag // Go's names are the stored form, which only Replay reads.
		Path: r.path, Batch: r.batch.Items, Key: r.claim.Key, TurnID: r.turnID, Now: r.now, Seed: hex.EncodeToString(r.seed[:]),
		Tenant: r.b.Tenant.Version, Snapshot: r.snap, Input: r.understood, Calls: r.calls, Phrases: r.phrases, Unpaid: r.unpaid, Others: r.others,
		Reads: r.reads, Conflicts: r.conflicts, Taken: r.settling != nil && r.settling.taken, Arms: r.arms,
	})
	if err != nil {
		return fmt.Errorf("record turn: %w", err)
	}
	r.commit.Inputs = inputs
	r.commit.Digest, err = digest(r.commit, r.writes)
	return err
}

// digest identifies what a turn decided: everything it writes but the moment
// at which its rows are due, which is real time.
func digest(c Commit, writes []graph.Write) (string, error) {
	c.Claim = mailbox.Claim{Key: c.Claim.Key} // who holds the lease, and how often it was tried, decides nothing
	c.Inputs, c.Digest, c.Supersede = nil, "", false
	c.Tools = nil // what was read is an input
	rows := append(c.Outbox[:0:0], c.Outbox...)
	for i := range rows {
		rows[i].DueAt = time.Time{}
	}
	c.Outbox = rows
	raw, err := json.Marshal(struct { //nolint:musttag // only hashed.
		Commit Commit
		Writes []graph.Write
	}{c, writes})
	if err != nil {
		return "", fmt.Errorf("digest turn: %w", err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), nil
}

// Replayed is a recorded turn that was computed again: what it read, what it
// decides now, and the digest of that.
type Replayed struct {
	Thread   ids.ThreadID
	Settings int64 // the version of the tenant's definition it was computed from
	Read     Read
	Decided  Decision
	Digest   string
}

// Read is what a turn was computed from.
type Read struct {
	At         time.Time               `json:"at"`
	Items      []mailbox.Item          `json:"items"`
	Contact    contact.Contact         `json:"contact"`
	Recent     []Line                  `json:"recent,omitempty"` // of the thread, and of one that an admin took over
	Understood graph.Input             `json:"understood"`
	ModelCalls []string                `json:"model_calls,omitempty"`
	Phrases    []string                `json:"phrases,omitempty"` // a model's, "" where the template stood
	Results    graph.Results           `json:"results,omitempty"` // of reading tools
	Conflicts  map[string]graph.Result `json:"conflicts,omitempty"`
}

// Decision is what a turn made of it. Before and After are its thread, nil where
// there is none.
type Decision struct {
	Before *thread.Thread `json:"before"`
	After  *thread.Thread `json:"after"`
	Outbox []outbox.Row   `json:"outbox"` // what the turn itself sends; what its writes send comes with them
	Writes []graph.Write  `json:"writes"`
	Timers []TimerRow     `json:"timers,omitempty"`
	Tasks  []TaskRow      `json:"tasks,omitempty"`
	Events []Posted       `json:"events,omitempty"`
}

// Replay computes a recorded turn again, without store, clock, model or
// network. Its digest is the recorded one unless the code or the tenant's
// settings differ (P12). A turn whose inputs were erased is answered with
// ErrErased.
func (e *Engine) Replay(ctx context.Context, b Business, inputs json.RawMessage) (Replayed, error) {
	var rec recorded
	if err := json.Unmarshal(inputs, &rec); err != nil { //nolint:musttag // as recorded.
		return Replayed{}, fmt.Errorf("read recorded turn: %w", err)
	}
	if rec.Erased {
		return Replayed{}, ErrErased
	}
	r := &run{
		e: e, b: b, claim: mailbox.Claim{Key: rec.Key}, snap: rec.Snapshot, batch: mailbox.Batch{Items: rec.Batch},
		now: rec.Now, turnID: rec.TurnID, path: rec.Path, in: rec.Input, understood: rec.Input, calls: rec.Calls,
		conflicts: rec.Conflicts, known: rec.Reads, replay: &rec, arms: rec.Arms,
	}
	if n, err := hex.Decode(r.seed[:], []byte(rec.Seed)); err != nil || n != len(r.seed) {
		return Replayed{}, errors.New("read recorded turn: bad seed")
	}
	r.admin = b.Tenant.AdminByPhone(rec.Snapshot.Contact.Phone())
	if rec.Snapshot.Thread != nil {
		r.before = *rec.Snapshot.Thread
	}
	if r.path == pathPayment {
		if err := r.settle(); err != nil {
			return Replayed{}, err
		}
		r.settling.taken = rec.Taken
	}
	if err := r.decideStages(ctx); err != nil {
		return Replayed{}, err
	}
	recent := rec.Snapshot.Recent
	for _, o := range rec.Others {
		recent = append(recent, o.Lines...)
	}
	return Replayed{
		Thread: r.conversation(), Settings: rec.Tenant, Digest: r.commit.Digest,
		Read: Read{
			At: rec.Now, Items: rec.Batch, Contact: rec.Snapshot.Contact, Recent: recent, Understood: rec.Input, ModelCalls: rec.Calls,
			Phrases: rec.Phrases, Results: rec.Reads, Conflicts: rec.Conflicts,
		},
		Decided: Decision{
			Before: rec.Snapshot.Thread, After: r.commit.Thread, Outbox: r.commit.Outbox, Writes: r.writes,
			Timers: r.commit.Timers, Tasks: r.commit.Tasks, Events: r.commit.Events,
		},
	}, nil
}
