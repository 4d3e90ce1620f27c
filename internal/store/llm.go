package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/llm"
)

// Calls keeps every model attempt in the database of the tenant it was made
// for, and the purses it is paid from. It implements llm.Ledger.
type Calls struct {
	// Open returns a tenant's database.
	Open func(ctx context.Context, id ids.TenantID) (*Tenant, error)
	// Real is real time, by which reservations run out; clock.Real when nil.
	Real clock.Clock
}

// Lookup implements llm.Records.
func (c Calls) Lookup(ctx context.Context, tenant ids.TenantID, requestHash string) (*llm.Record, error) {
	t, err := c.Open(ctx, tenant)
	if err != nil {
		return nil, err
	}
	var found []llm.Record
	err = t.Read(ctx, func(q db.Q) (err error) {
		found, err = db.Collect(ctx, q, "look up model answer", scanCall, "SELECT "+callColumns+
			" FROM llm_calls WHERE request_hash = $1 AND outcome IN ($2, $3) ORDER BY tier DESC, at DESC, id DESC LIMIT 1",
			requestHash, string(llm.OK), string(llm.Unsure))
		return err
	})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	found[0].Tenant = tenant
	return &found[0], nil
}

// Record implements llm.Records.
func (c Calls) Record(ctx context.Context, r llm.Record) error {
	t, err := c.Open(ctx, r.Tenant)
	if err != nil {
		return err
	}
	return t.Write(ctx, func(tx db.Tx) error { return insertCall(ctx, tx, r, "", db.Time{}) })
}

// insertCall stores an attempt. One that owner holds is not settled yet.
func insertCall(ctx context.Context, tx db.Tx, r llm.Record, owner string, until db.Time) error {
	return db.Exec(ctx, tx, "store model call", "INSERT INTO llm_calls ("+callColumns+`, owner, held_until)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26,
			$27, $28)`, append(callValues(r), owner, until)...)
}

const callColumns = `id, role, thread_id, turn_id, tier, provider, model, prompt_version, tokens_in, tokens_cached, tokens_written,
	tokens_out, estimated, cost_pico, latency_us, outcome, confidence, canary_arm, account, task_id, step, answer, request_hash,
	failure_signal, at, contact_id`

// callValues are a record's, in the order of callColumns.
func callValues(r llm.Record) []any {
	var confidence sql.NullFloat64
	if r.Confidence != nil {
		confidence = sql.NullFloat64{Float64: *r.Confidence, Valid: true}
	}
	return []any{
		r.ID, string(r.Role), string(r.Thread), string(r.Turn), r.Tier, r.Provider, r.Model, r.PromptVersion, r.Usage.Input,
		r.Usage.Cached, r.Usage.CacheWrite, r.Usage.Output, r.Estimated, int64(r.Cost), r.Latency.Microseconds(), string(r.Outcome),
		confidence, r.CanaryArm, string(r.Account), orNull(r.TaskID), orNull(r.Step), r.Answer, r.RequestHash, r.FailureSignal, db.At(r.At),
		string(r.Contact),
	}
}

func scanCall(row db.Scanner) (llm.Record, error) {
	var r llm.Record
	var confidence sql.NullFloat64
	var task, step sql.NullString
	var latency int64
	var at db.Time
	err := row.Scan(&r.ID, &r.Role, &r.Thread, &r.Turn, &r.Tier, &r.Provider, &r.Model, &r.PromptVersion, &r.Usage.Input,
		&r.Usage.Cached, &r.Usage.CacheWrite, &r.Usage.Output, &r.Estimated, &r.Cost, &latency, &r.Outcome, &confidence, &r.CanaryArm,
		&r.Account, &task, &step, &r.Answer, &r.RequestHash, &r.FailureSignal, &at, &r.Contact)
	if err != nil {
		return r, fmt.Errorf("scan model call: %w", err)
	}
	if confidence.Valid {
		r.Confidence = &confidence.Float64
	}
	r.TaskID, r.Step, r.Latency, r.At = task.String, step.String, time.Duration(latency)*time.Microsecond, at.Time
	return r, nil
}
