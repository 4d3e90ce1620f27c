package turn

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/mailbox"
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

// Replay computes a recorded turn again, without store, clock, model or
// network, and returns the digest of what it decides now: the same as the
// recorded one unless the code or the tenant's settings differ (P12). A turn
// whose inputs were erased is answered with ErrErased.
func (e *Engine) Replay(ctx context.Context, b Business, inputs json.RawMessage) (string, error) {
	var rec recorded
	if err := json.Unmarshal(inputs, &rec); err != nil { //nolint:musttag // as recorded.
		return "", fmt.Errorf("read recorded turn: %w", err)
	}
	if rec.Erased {
		return "", ErrErased
	}
	r := &run{
		e: e, b: b, claim: mailbox.Claim{Key: rec.Key}, snap: rec.Snapshot, batch: mailbox.Batch{Items: rec.Batch},
		now: rec.Now, turnID: rec.TurnID, path: rec.Path, in: rec.Input, understood: rec.Input, calls: rec.Calls,
		conflicts: rec.Conflicts, known: rec.Reads, replay: &rec, arms: rec.Arms,
	}
	if n, err := hex.Decode(r.seed[:], []byte(rec.Seed)); err != nil || n != len(r.seed) {
		return "", errors.New("read recorded turn: bad seed")
	}
	r.admin = b.Tenant.AdminByPhone(rec.Snapshot.Contact.Phone())
	if rec.Snapshot.Thread != nil {
		r.before = *rec.Snapshot.Thread
	}
	if r.path == pathPayment {
		if err := r.settle(); err != nil {
			return "", err
		}
		r.settling.taken = rec.Taken
	}
	if err := r.decideStages(ctx); err != nil {
		return "", err
	}
	return r.commit.Digest, nil
}
