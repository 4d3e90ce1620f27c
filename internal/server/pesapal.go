package server

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/payment/pesapal"
)

// Pesapal implements httpd.Intake. Anybody can send a notification, as often as
// they like, so that it is nothing but a reason to ask PesaPal: once for all
// that come before the question, and not more often than payment.NudgeEvery.
func (s *Server) Pesapal(ctx context.Context, query url.Values, body []byte) (any, error) {
	n, err := pesapal.ParseNotification(query, body)
	if err != nil {
		return nil, fault.Wrap(err, fault.NotFound, "No such payment.")
	}
	b, attempt, err := s.ordered(ctx, n)
	if err != nil {
		return nil, err
	}
	now := s.cfg.Clock.Now()
	asks, err := b.store.ChangeAttempt(ctx, attempt.ID, func(a payment.Attempt) (payment.Attempt, bool) {
		return payment.Nudge(a, now)
	}, nextCheck(now))
	if err != nil {
		return nil, err
	}
	if asks {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "payment.notified", slog.String("tenant_id", string(b.tenant.ID)),
			slog.String("attempt_id", attempt.ID))
		s.turns.Wake(b.tenant.ID, now)
	}
	return n.Acknowledge(http.StatusOK), nil
}

// ordered finds the attempt that a notification names. Both of its names must
// be those of one order; a notification may overtake the answer that tells us
// the second.
func (s *Server) ordered(ctx context.Context, n pesapal.Notification) (*business, payment.Attempt, error) {
	unknown := fault.E(fault.NotFound, "No such payment.")
	parts := strings.Split(n.Reference, "-") // RTB-<slug>-<ULID>
	if len(parts) != 3 {
		return nil, payment.Attempt{}, unknown
	}
	b := s.routes.Load().slugs[parts[1]]
	if b == nil {
		return nil, payment.Attempt{}, unknown
	}
	a, err := b.store.Attempt(ctx, parts[2])
	if err != nil {
		return nil, a, err
	}
	if a.Provider != payment.Pesapal || a.Reference != n.Reference || a.CheckoutID != n.TrackingID && a.CheckoutID != "" {
		return nil, a, unknown
	}
	return b, a, nil
}
