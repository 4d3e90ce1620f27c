package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/store"
	"github.com/ratiba/ratiba/internal/turn"
)

// reconcileBack is how far back a daily comparison looks, so that what crosses
// midnight is seen whole; retryAfter is when one that failed is tried again.
const (
	reconcileBack = 48 * time.Hour
	retryAfter    = 10 * time.Minute
	taskWithin    = 24 * time.Hour
)

// reconcile is the work of a tenant's reconciliation mailbox: it compares what
// payments came to with what is noted as paid, has providers asked again about
// what ended without a word, and raises a task for everything that does not add
// up. It returns when the mailbox is due again.
func (s *Server) reconcile(ctx context.Context, b *business, claim mailbox.Claim) time.Time {
	now := s.cfg.Clock.Now()
	tasks, next, err := s.compare(ctx, b, now)
	if err == nil {
		err = b.store.EndReconciliation(ctx, claim, tasks, next, now)
	}
	if err == nil {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "payment.reconciled", slog.String("tenant_id", string(b.tenant.ID)), slog.Int("disagreements", len(tasks)))
		return next
	}
	s.cfg.Logger.LogAttrs(ctx, slog.LevelError, "payment.reconcile_failed", slog.String("tenant_id", string(b.tenant.ID)), slog.String("error", err.Error()))
	next = now.Add(retryAfter)
	if err := b.store.Release(context.WithoutCancel(ctx), claim, next, false); err != nil {
		return time.Time{} // the lease runs out
	}
	return next
}

// compare finds the tasks of a day, and when to look again: not at all once
// nothing is left that could still change.
func (s *Server) compare(ctx context.Context, b *business, now time.Time) ([]turn.TaskRow, time.Time, error) {
	since := now.Add(-reconcileBack)
	c, err := b.store.Compare(ctx, since, now, s.apps[b.tenant.App].Paid)
	if err != nil {
		return nil, time.Time{}, err
	}
	for _, a := range c.Attempts {
		if !payment.AskAgain(a) || b.rails[a.Provider] == nil {
			continue
		}
		if _, err := b.store.ChangeAttempt(ctx, a.ID, func(a payment.Attempt) (payment.Attempt, bool) {
			return payment.Nudge(a, now)
		}, nextCheck(now)); err != nil {
			return nil, time.Time{}, err
		}
	}
	var tasks []turn.TaskRow
	for _, d := range payment.Reconcile(c.Attempts, c.Entries, c.Known, now) {
		tasks = append(tasks, turn.TaskRow{
			ID: ids.New(now), Kind: taskKind(d), Key: d.Key, Detail: d.Detail + ", for " + d.Subject, Contact: d.ContactID, Due: now.Add(taskWithin),
		})
	}
	next := time.Time{}
	if len(c.Attempts) > 0 {
		next = store.NextReconciliation(now)
	}
	return tasks, next, nil
}

// taskKind is what a person has to do about a disagreement: money to return is
// what the conversation asks for by the same name.
func taskKind(d payment.Disagreement) string {
	if strings.HasPrefix(d.Key, "refund:") {
		return "refund"
	}
	return "reconcile"
}

// ReconcileTenant compares the payments of a business that were made on a day of
// its own, 2006-01-02, or in the last two days where that is empty, and writes
// what does not add up, one line each. It changes nothing.
func (s *Server) ReconcileTenant(ctx context.Context, slug, day string, w io.Writer) error {
	for _, b := range s.all() {
		if b.tenant.Slug != slug {
			continue
		}
		now := s.cfg.Clock.Now()
		since, until := now.Add(-reconcileBack), now
		if day != "" {
			start, err := time.ParseInLocation(time.DateOnly, day, b.tenant.Location())
			if err != nil {
				return fault.Wrap(err, fault.Invalid, "The day must be written like 2026-11-23.")
			}
			since, until = start, start.AddDate(0, 0, 1)
		}
		c, err := b.store.Compare(ctx, since, until, s.apps[b.tenant.App].Paid)
		if err != nil {
			return err
		}
		found := payment.Reconcile(c.Attempts, c.Entries, c.Known, now)
		for _, d := range found {
			if _, err := fmt.Fprintf(w, "%-17s %s %s: %s\n", d.What, d.Subject, d.AttemptID, d.Detail); err != nil {
				return err
			}
		}
		_, err = fmt.Fprintf(w, "%d payments and %d entries compared, %d disagreements\n", len(c.Attempts), len(c.Entries), len(found))
		return err
	}
	return fault.E(fault.NotFound, "No business is called "+slug+".")
}
