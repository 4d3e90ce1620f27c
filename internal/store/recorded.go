package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/thread"
)

// Committed is a stored turn with what of its commit is still there to be held
// against it.
type Committed struct {
	Recorded

	Sent  []Sent
	Tools []Invoked
	// Thread is its conversation as it is now: a later turn may have changed it,
	// which its version tells. Nil for a turn without one.
	Thread *thread.Thread
}

// Sent is an effect of a turn.
type Sent struct {
	ID, Kind string
	Payload  json.RawMessage
}

// Invoked is a tool call of a turn.
type Invoked struct{ Tool, Digest, Code string }

// Committed reads a stored turn; fault.NotFound when there is none.
func (t *Tenant) Committed(ctx context.Context, id ids.TurnID) (Committed, error) {
	var out Committed
	err := t.Read(ctx, func(q db.Q) error {
		out = Committed{}
		return readCommitted(ctx, q, id, &out)
	})
	if err == nil && out.ID == "" {
		return out, fault.E(fault.NotFound, fmt.Sprintf("There is no stored turn %s. The event log names turns as turn_id.", id))
	}
	return out, err
}

func readCommitted(ctx context.Context, q db.Q, id ids.TurnID, out *Committed) error {
	return db.Gather(ctx, q,
		db.Each("load turn", func(row db.Scanner) error {
			var inputs string
			err := row.Scan(&out.ID, &inputs, &out.Digest)
			out.Inputs = json.RawMessage(inputs)
			return err
		}, "SELECT id, inputs, digest FROM turns WHERE id = $1", string(id)),
		db.Each("load what a turn sent", func(row db.Scanner) error {
			var s Sent
			err := row.Scan(&s.ID, &s.Kind, db.JSON{V: &s.Payload})
			out.Sent = append(out.Sent, s)
			return err
		}, "SELECT id, kind, payload FROM outbox WHERE turn_id = $1 ORDER BY seq", string(id)),
		db.Each("load a turn's tools", func(row db.Scanner) error {
			var i Invoked
			err := row.Scan(&i.Tool, &i.Digest, &i.Code)
			out.Tools = append(out.Tools, i)
			return err
		}, "SELECT tool, digest, code FROM tool_calls WHERE turn_id = $1 ORDER BY seq", string(id)),
		db.Each("load a turn's thread", func(row db.Scanner) error {
			th, err := scanThread(row)
			out.Thread = &th
			return err
		}, "SELECT "+threadColumns+" FROM conversation_threads WHERE id = (SELECT thread_id FROM turns WHERE id = $1)", string(id)))
}
