package server

import (
	"context"
	"encoding/json"

	"github.com/ratiba/ratiba/internal/broadcast"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/outbox"
)

// broadcastCarrier puts a broadcast's next recipients on their way.
type broadcastCarrier struct{ s *Server }

// Carry implements outbox.Carrier.
func (c broadcastCarrier) Carry(ctx context.Context, id ids.TenantID, row outbox.Row) outbox.Outcome {
	var batch broadcast.Batch
	if err := json.Unmarshal(row.Payload, &batch); err != nil {
		return outbox.Outcome{Verdict: outbox.GiveUp, Class: "defect", Detail: err.Error()}
	}
	b, err := c.s.business(id)
	if err != nil {
		return outbox.Outcome{Verdict: outbox.GiveUp, Class: "defect", Detail: err.Error()}
	}
	// A step that was done before changes nothing, so that it may be tried again.
	if err := b.store.Feed(ctx, batch, c.s.cfg.Clock.Now(), c.s.real.Now()); err != nil {
		return outbox.Outcome{Verdict: outbox.Retry, Class: outbox.ClassLocal, RetryAfter: broadcast.Pause, Detail: err.Error()}
	}
	return outbox.Outcome{Verdict: outbox.Done}
}
