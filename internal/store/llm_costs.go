package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/money"
	"github.com/ratiba/ratiba/internal/prompt"
)

// RoleCost is what one role cost a tenant over a span.
type RoleCost struct {
	Role   llm.Role   `json:"role"`
	Calls  int        `json:"calls"`   // attempts at models
	ByCode int        `json:"by_code"` // questions that code answered, which cost nothing
	Failed int        `json:"failed"`  // attempts without a usable answer
	Tokens llm.Usage  `json:"tokens"`
	Cost   money.Pico `json:"cost_pico"`
}

// RoleCosts sums the tenant's model calls from a time on by role, the dearest
// first. A call that is under way is not among them.
func (t *Tenant) RoleCosts(ctx context.Context, since time.Time) ([]RoleCost, error) {
	var out []RoleCost
	err := t.Read(ctx, func(q db.Q) (err error) {
		out, err = db.Collect(ctx, q, "sum model calls", func(row db.Scanner) (RoleCost, error) {
			var c RoleCost
			err := row.Scan(&c.Role, &c.Calls, &c.ByCode, &c.Failed, &c.Tokens.Input, &c.Tokens.Cached, &c.Tokens.CacheWrite, &c.Tokens.Output, &c.Cost)
			return c, err
		}, `SELECT role,
			CAST(SUM(CASE WHEN tier > 0 THEN 1 ELSE 0 END) AS BIGINT), CAST(SUM(CASE WHEN tier = 0 THEN 1 ELSE 0 END) AS BIGINT),
			CAST(SUM(CASE WHEN outcome IN ($1, $2) THEN 0 ELSE 1 END) AS BIGINT),
			CAST(SUM(tokens_in) AS BIGINT), CAST(SUM(tokens_cached) AS BIGINT), CAST(SUM(tokens_written) AS BIGINT), CAST(SUM(tokens_out) AS BIGINT),
			CAST(SUM(cost_pico) AS BIGINT) AS cost
			FROM llm_calls WHERE at >= $3 AND (held_until IS NULL OR held_until <= $4)
			GROUP BY role ORDER BY cost DESC, role`, string(llm.OK), string(llm.Unsure), db.At(since), db.At(t.store.clock.Now()))
		return err
	})
	return out, err
}

// trackSample bounds how many answers the shares of a track record are told
// from: the newest.
const trackSample = 1_000

// TrackRecord says how a role did for the tenant between two times: its answers,
// how many of them nobody contradicted since, and what the newest of them said by
// their member named label, such as "intent".
func (t *Tenant) TrackRecord(ctx context.Context, role llm.Role, label string, since, until time.Time) (prompt.Track, error) {
	var track prompt.Track
	counts := make(map[string]int)
	sampled := 0
	err := t.Read(ctx, func(q db.Q) error {
		const given = " FROM llm_calls WHERE role = $1 AND outcome = $2 AND at >= $3 AND at < $4"
		args := []any{string(role), string(llm.OK), db.At(since), db.At(until)}
		if err := q.QueryRowContext(ctx, "SELECT COUNT(*), CAST(COALESCE(SUM(CASE WHEN failure_signal = '' THEN 1 ELSE 0 END), 0) AS BIGINT)"+given, args...).
			Scan(&track.Count, &track.Right); err != nil {
			return err
		}
		answers, err := db.Collect(ctx, q, "read model answers", func(row db.Scanner) (string, error) {
			var answer string
			err := row.Scan(&answer)
			return answer, err
		}, "SELECT answer"+given+" ORDER BY at DESC, id DESC LIMIT $5", append(args, trackSample)...)
		if err != nil {
			return err
		}
		for _, answer := range answers {
			var members map[string]any
			if json.Unmarshal([]byte(answer), &members) != nil {
				continue
			}
			if said, ok := members[label].(string); ok {
				counts[said]++
				sampled++
			}
		}
		return nil
	})
	if err != nil {
		return prompt.Track{}, err
	}
	track.Checked = track.Count
	for name, n := range counts {
		track.Shares = append(track.Shares, prompt.Share{Name: name, Count: n * track.Count / max(sampled, 1)})
	}
	return track, nil
}
