package store

import (
	"context"
	"time"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/llm"
)

// Rollout is how much of a role's conversations what is on trial gets, and since
// when.
type Rollout struct {
	Role llm.Role `json:"role"`
	llm.Rollout
	UpdatedAt time.Time `json:"updated_at"`
}

// Rollouts returns every rollout that was ever set, by role.
func (s *Store) Rollouts(ctx context.Context) ([]Rollout, error) {
	var out []Rollout
	err := s.control.Read(ctx, func(q db.Q) (err error) {
		out, err = db.Collect(ctx, q, "list rollouts", func(row db.Scanner) (r Rollout, err error) {
			var at db.Time
			err = row.Scan(&r.Role, &r.Percent, &r.Experiment, &at)
			r.UpdatedAt = at.Time
			return r, err
		}, "SELECT role, percent, experiment, updated_at FROM rollouts ORDER BY role")
		return err
	})
	return out, err
}

// SetRollout sets a role's rollout from now on. Who calls it checked it.
func (s *Store) SetRollout(ctx context.Context, role llm.Role, r llm.Rollout, now time.Time) error {
	return s.control.Write(ctx, func(tx db.Tx) error {
		return db.Exec(ctx, tx, "set rollout", `
			INSERT INTO rollouts (role, percent, experiment, updated_at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (role) DO UPDATE SET percent = excluded.percent, experiment = excluded.experiment, updated_at = excluded.updated_at`,
			string(role), r.Percent, r.Experiment, db.At(now))
	})
}
