package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/llm"
)

// Calls keeps every model attempt in the database of the tenant it was made
// for. It implements llm.Ledger.
type Calls struct {
	// Open returns a tenant's database.
	Open func(ctx context.Context, id ids.TenantID) (*Tenant, error)
}

// Lookup implements llm.Ledger.
func (c Calls) Lookup(ctx context.Context, tenant ids.TenantID, requestHash string) (*llm.Record, error) {
	t, err := c.Open(ctx, tenant)
	if err != nil {
		return nil, err
	}
	var found []llm.Record
	err = t.Read(ctx, func(q db.Q) (err error) {
		found, err = db.Collect(ctx, q, "look up model answer", scanCall, "SELECT "+callColumns+
			" FROM llm_calls WHERE request_hash = $1 AND outcome = $2 ORDER BY at DESC, id DESC LIMIT 1", requestHash, string(llm.OK))
		return err
	})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	found[0].Tenant = tenant
	return &found[0], nil
}

// Record implements llm.Ledger.
func (c Calls) Record(ctx context.Context, r llm.Record) error {
	t, err := c.Open(ctx, r.Tenant)
	if err != nil {
		return err
	}
	return t.Write(ctx, func(tx db.Tx) error {
		var confidence sql.NullFloat64
		if r.Confidence != nil {
			confidence = sql.NullFloat64{Float64: *r.Confidence, Valid: true}
		}
		return db.Exec(ctx, tx, "store model call", "INSERT INTO llm_calls ("+callColumns+`)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25)`,
			r.ID, string(r.Role), string(r.Thread), string(r.Turn), r.Tier, r.Provider, r.Model, r.PromptVersion, r.Usage.Input,
			r.Usage.Cached, r.Usage.CacheWrite, r.Usage.Output, r.Estimated, int64(r.Cost), r.Latency.Microseconds(), string(r.Outcome),
			confidence, r.CanaryArm, string(r.Account), orNull(r.TaskID), orNull(r.Step), r.Answer, r.RequestHash, r.FailureSignal, db.At(r.At))
	})
}

const callColumns = `id, role, thread_id, turn_id, tier, provider, model, prompt_version, tokens_in, tokens_cached, tokens_written,
	tokens_out, estimated, cost_pico, latency_us, outcome, confidence, canary_arm, account, task_id, step, answer, request_hash,
	failure_signal, at`

func scanCall(row db.Scanner) (llm.Record, error) {
	var r llm.Record
	var confidence sql.NullFloat64
	var task, step sql.NullString
	var latency int64
	var at db.Time
	err := row.Scan(&r.ID, &r.Role, &r.Thread, &r.Turn, &r.Tier, &r.Provider, &r.Model, &r.PromptVersion, &r.Usage.Input,
		&r.Usage.Cached, &r.Usage.CacheWrite, &r.Usage.Output, &r.Estimated, &r.Cost, &latency, &r.Outcome, &confidence, &r.CanaryArm,
		&r.Account, &task, &step, &r.Answer, &r.RequestHash, &r.FailureSignal, &at)
	if err != nil {
		return r, fmt.Errorf("scan model call: %w", err)
	}
	if confidence.Valid {
		r.Confidence = &confidence.Float64
	}
	r.TaskID, r.Step, r.Latency, r.At = task.String, step.String, time.Duration(latency)*time.Microsecond, at.Time
	return r, nil
}
