package store

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/money"
)

// purse is what one ceiling bounds, a row of llm_purses.
type purse struct {
	ceiling llm.Ceiling
	holder  string
	day     int64 // since 1970, 0 for threads
	limit   money.Pico
}

// pursesOf are the purses that a reservation is held against. All transactions
// lock them in this order, so that none waits for another in a circle.
func pursesOf(r llm.Reservation) []purse {
	const seconds = 24 * 60 * 60
	day := r.At.Unix() / seconds
	switch r.Account {
	case llm.AccountOperations:
		return []purse{{llm.CeilingOperations, "", day, r.Ceilings.OperationsDay}}
	case llm.AccountEval:
		return []purse{{llm.CeilingEval, "", day, r.Ceilings.EvalDay}}
	case llm.AccountThread:
	}
	var out []purse
	if r.Thread != "" {
		out = append(out, purse{llm.CeilingThread, string(r.Thread), 0, r.Ceilings.Hard})
	}
	if r.Contact != "" {
		out = append(out, purse{llm.CeilingContactDay, string(r.Contact), day, r.Ceilings.ContactDay})
	}
	return append(out, purse{llm.CeilingTenantDay, "", day, r.Ceilings.TenantDay})
}

// Reserve implements llm.Ledger. The attempt is stored as lost at its worst
// case, and the purses take that at once: should nobody settle it, everything is
// settled already.
func (c Calls) Reserve(ctx context.Context, r llm.Reservation) error {
	t, err := c.Open(ctx, r.Tenant)
	if err != nil {
		return err
	}
	return t.Write(ctx, func(tx db.Tx) error {
		purses := pursesOf(r)
		filled, err := fill(ctx, tx, purses, r.Worst)
		if err != nil {
			return err
		}
		for _, p := range purses {
			if left := p.limit - (filled[p.ceiling] - r.Worst); r.Worst > left {
				return &llm.BudgetError{Ceiling: p.ceiling, Limit: p.limit, Left: left, Worst: r.Worst}
			}
		}
		return insertCall(ctx, tx, r.Lost, r.Owner, db.At(r.ExpiresAt))
	})
}

// fill adds an amount to purses and returns what each then holds. It locks them
// until the transaction ends.
func fill(ctx context.Context, tx db.Tx, purses []purse, amount money.Pico) (map[llm.Ceiling]money.Pico, error) {
	var rows []string
	args := []any{int64(amount)}
	for _, p := range purses {
		n := len(args)
		rows = append(rows, "($"+strconv.Itoa(n+1)+", $"+strconv.Itoa(n+2)+", $"+strconv.Itoa(n+3)+", $1)")
		args = append(args, string(p.ceiling), p.holder, p.day)
	}
	out := make(map[llm.Ceiling]money.Pico, len(purses))
	_, err := db.Collect(ctx, tx, "fill purses", func(row db.Scanner) (none struct{}, err error) {
		var name llm.Ceiling
		var total money.Pico
		err = row.Scan(&name, &total)
		out[name] = total
		return none, err
	}, "INSERT INTO llm_purses (ceiling, holder, day, cost_pico) VALUES "+strings.Join(rows, ", ")+`
		ON CONFLICT (ceiling, holder, day) DO UPDATE SET cost_pico = llm_purses.cost_pico + excluded.cost_pico
		RETURNING ceiling, cost_pico`, args...)
	return out, err
}

// Settle implements llm.Ledger.
func (c Calls) Settle(ctx context.Context, r llm.Reservation, rec llm.Record) (llm.Standing, error) {
	t, err := c.Open(ctx, r.Tenant)
	if err != nil {
		return llm.Standing{}, err
	}
	var standing llm.Standing
	err = t.Write(ctx, func(tx db.Tx) error {
		standing = llm.Standing{}
		changed, err := db.Changed(ctx, tx, "settle model call", settleCall, callValues(rec)...)
		if err != nil || changed == 0 {
			return err
		}
		purses := pursesOf(r)
		if _, err := fill(ctx, tx, purses, rec.Cost-r.Worst); err != nil {
			return err
		}
		if purses[0].ceiling != llm.CeilingThread {
			return nil
		}
		standing, err = c.stand(ctx, tx, r)
		return err
	})
	return standing, err
}

// settleCall puts a record, in the order of callColumns, in the place of the
// reservation that waits for it.
const settleCall = `UPDATE llm_calls SET role = $2, thread_id = $3, turn_id = $4, tier = $5, provider = $6, model = $7,
	prompt_version = $8, tokens_in = $9, tokens_cached = $10, tokens_written = $11, tokens_out = $12, estimated = $13, cost_pico = $14,
	latency_us = $15, outcome = $16, confidence = $17, canary_arm = $18, account = $19, task_id = $20, step = $21, answer = $22,
	request_hash = $23, failure_signal = $24, at = $25, contact_id = $26, held_until = NULL
	WHERE id = $1 AND held_until IS NOT NULL`

// stand sums what a thread has settled, what ran out included. Its purse is
// locked, so that one settlement alone finds the soft ceiling crossed.
func (c Calls) stand(ctx context.Context, tx db.Tx, r llm.Reservation) (out llm.Standing, err error) {
	now := cmp.Or[clock.Clock](c.Real, clock.Real{}).Now()
	if err := tx.QueryRowContext(ctx, `SELECT CAST(COALESCE(SUM(cost_pico), 0) AS BIGINT) FROM llm_calls
		WHERE thread_id = $1 AND account = $2 AND (held_until IS NULL OR held_until <= $3)`,
		string(r.Thread), string(llm.AccountThread), db.At(now)).Scan(&out.Spent); err != nil {
		return out, fmt.Errorf("sum what a thread cost: %w", err)
	}
	if out.Spent <= r.Ceilings.Soft {
		return out, nil
	}
	told, err := db.Changed(ctx, tx, "tell the soft ceiling", `UPDATE llm_purses SET told = TRUE
		WHERE ceiling = $1 AND holder = $2 AND day = 0 AND told = FALSE`, string(llm.CeilingThread), string(r.Thread))
	out.SoftBreach = told > 0
	return out, err
}
