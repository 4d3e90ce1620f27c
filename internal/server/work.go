package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/ratiba/ratiba/internal/app"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/store"
	"github.com/ratiba/ratiba/internal/turn"
)

// Bounds of one run of a job, and how long it rests after it failed.
const (
	jobTime = time.Minute
	jobRest = time.Minute
)

// work runs a claimed mailbox's job and gives the mailbox back. It returns when
// the tenant's mailboxes are to be looked at again.
func (s *Server) work(ctx context.Context, b *business, claim mailbox.Claim) time.Time {
	ctx, cancel := context.WithTimeout(ctx, jobTime)
	defer cancel()
	now := s.cfg.Clock.Now()
	due, err := s.runJob(ctx, b, claim, now)
	switch {
	case err == nil:
		return due
	case errors.Is(err, turn.ErrLost):
		return now
	case errors.Is(err, turn.ErrStale), errors.Is(err, app.ErrAgain):
		due = now // others were faster: what they did is read anew
	default:
		due = now.Add(jobRest)
		s.cfg.Logger.LogAttrs(ctx, slog.LevelError, "job.failed", slog.String("tenant_id", string(b.tenant.ID)),
			slog.String("job", string(claim.Key)), slog.String("error", err.Error()))
	}
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := b.store.Release(ctx, claim, due, false); err != nil && !errors.Is(err, turn.ErrLost) {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelError, "turn.release_failed", slog.String("tenant_id", string(b.tenant.ID)),
			slog.String("error", err.Error()))
	}
	return due
}

// runJob has the job do one piece of work and commits what it came to.
func (s *Server) runJob(ctx context.Context, b *business, claim mailbox.Claim, now time.Time) (due time.Time, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	jobs := b.turns.App.Jobs
	i := slices.IndexFunc(jobs, func(j app.Job) bool { return j.Mailbox() == claim.Key })
	source := ids.NewSource(ids.NewSeed(), now)
	piece := app.Piece{} // of a job this build does not have
	if i >= 0 {
		piece, err = jobs[i].Run(ctx, s.workFor(b, now, source))
		if err != nil {
			return time.Time{}, err
		}
	}
	c := &turn.Commit{Claim: claim, Now: now, TurnID: ids.TurnID(source.New()), Due: now}
	if err := put(c, piece, source); err != nil {
		return time.Time{}, err
	}
	if !piece.Again.IsZero() {
		c.Timers = append(c.Timers, turn.TimerRow{Mailbox: claim.Key, Name: app.JobsAgain, At: piece.Again})
	}
	err = store.Turns{Tenant: b.store}.FinishWork(ctx, c, writing(piece))
	if len(piece.Notices) > 0 {
		return now, err // other mailboxes have something now
	}
	return c.Due, err
}

// writing is what a piece writes.
func writing(p app.Piece) func(ctx context.Context, tx db.Tx) error {
	if p.Write == nil {
		return func(context.Context, db.Tx) error { return nil }
	}
	return p.Write
}

// put puts a piece's notices and tasks into a commit.
func put(c *turn.Commit, piece app.Piece, source *ids.Source) error {
	for _, n := range piece.Notices {
		to := store.KeyOf(n.Contact)
		raw, err := json.Marshal(n.Data)
		if err != nil {
			return fmt.Errorf("encode notice %s: %w", n.Name, err)
		}
		if n.At.IsZero() {
			c.Events = append(c.Events, turn.Posted{Mailbox: to, Dedupe: n.Key, Event: mailbox.Event{
				Kind: mailbox.Notice, Name: n.Name, Data: raw,
			}})
		} else {
			c.Timers = append(c.Timers, turn.TimerRow{Mailbox: to, Name: n.Name, At: n.At, Data: n.Data})
		}
	}
	for _, t := range piece.Tasks {
		c.Tasks = append(c.Tasks, turn.TaskRow{ID: source.New(), Kind: t.Kind, Key: t.Key, Detail: t.Detail, Due: t.Due})
	}
	return nil
}

// wakeJobs has a tenant's jobs run now: its definition is another.
func (s *Server) wakeJobs(ctx context.Context, id ids.TenantID) error {
	b, err := s.business(id)
	if err != nil {
		return err
	}
	now := s.cfg.Clock.Now()
	var timers []turn.TimerRow
	for _, j := range b.turns.App.Jobs {
		timers = append(timers, turn.TimerRow{Mailbox: j.Mailbox(), Name: app.JobTimer, At: now})
	}
	if err := b.store.Wake(ctx, timers...); err != nil {
		return fmt.Errorf("wake jobs: %w", err)
	}
	s.turns.Wake(id, now)
	return nil
}
