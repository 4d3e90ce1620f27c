package server

import (
	"context"
	"errors"
	"log/slog"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/payment/mpesa"
)

// refundTimeout ends the token of the address at which a provider says that it
// did not get to a refund in time.
const refundTimeout = ".timeout"

// refundCarrier asks a provider to give a payment back. It is tried once: a lost
// acknowledgement may have been heard, and asking again would give back twice.
type refundCarrier struct{ s *Server }

// Carry implements outbox.Carrier.
func (c refundCarrier) Carry(ctx context.Context, id ids.TenantID, row outbox.Row) outbox.Outcome {
	b, attempt, o := c.s.attempt(ctx, id, row)
	if o.Verdict != "" {
		return o
	}
	now := c.s.cfg.Clock.Now()
	secret := ids.NewSource(ids.NewSeed(), now).Token(16)
	started, err := b.store.ChangeAttempt(ctx, attempt.ID, func(a payment.Attempt) (payment.Attempt, bool) {
		return payment.BeginRefund(a, hashToken(secret), now)
	}, nextCheck(now))
	if err != nil {
		return outbox.Outcome{Verdict: outbox.Retry, Class: "store", Detail: err.Error()}
	}
	if !started {
		return outbox.Outcome{Verdict: outbox.Done} // begun before a crash: its result or its timer speaks next
	}
	c.s.turns.Wake(id, now) // its timer is set
	refunder, ok := b.rails[attempt.Provider].(payment.Refunder)
	if !ok {
		return c.reject(ctx, b, attempt, "no_refunds")
	}
	result := c.s.public("/webhooks/daraja/" + b.route + "." + secret)
	conversation, err := refunder.Refund(ctx, payment.Return{
		Receipt: attempt.Receipt, Amount: attempt.Refund.Amount, Reason: attempt.Refund.Reason, ResultURL: result, TimeoutURL: result + refundTimeout,
	})
	ctx = context.WithoutCancel(ctx) // what the provider said is written down even when this process is ending
	if rejected, ok := errors.AsType[*payment.RejectedError](err); ok {
		return c.reject(ctx, b, attempt, rejected.Code)
	}
	note := func(a payment.Attempt) (payment.Attempt, bool) {
		return payment.AcceptRefund(a, conversation, now), true
	}
	if err != nil {
		c.s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "payment.refund_unknown", slog.String("tenant_id", string(id)),
			slog.String("attempt_id", attempt.ID), slog.String("error", err.Error()))
		note = func(a payment.Attempt) (payment.Attempt, bool) { return payment.LoseRefund(a, now), true }
	}
	if _, err := b.store.ChangeAttempt(ctx, attempt.ID, note, nextCheck(now)); err != nil {
		c.s.cfg.Logger.LogAttrs(ctx, slog.LevelError, "payment.note_failed", slog.String("tenant_id", string(id)),
			slog.String("attempt_id", attempt.ID), slog.String("error", err.Error()))
	}
	return outbox.Outcome{Verdict: outbox.Done}
}

// reject tells the thread that nothing goes back by itself.
func (c refundCarrier) reject(ctx context.Context, b *business, a payment.Attempt, code string) outbox.Outcome {
	c.s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "payment.refund_rejected", slog.String("tenant_id", string(b.tenant.ID)),
		slog.String("attempt_id", a.ID), slog.String("code", code))
	if err := c.s.report(ctx, b, a, payment.Report{Source: payment.FromRefund, Outcome: payment.Outcome{Kind: payment.Rejected, Code: code}}); err != nil {
		return outbox.Outcome{Verdict: outbox.InDoubt, Class: "store", Detail: err.Error()}
	}
	return outbox.Outcome{Verdict: outbox.Done}
}

// refunded stores a provider's word on a refund, which came with its secret.
func (s *Server) refunded(ctx context.Context, b *business, secret string, late bool, body []byte) error {
	a, err := b.store.AttemptByRefund(ctx, hashToken(secret))
	if err != nil {
		return err
	}
	outcome := payment.Outcome{Kind: payment.TimedOut, Code: "timeout"}
	if !late {
		if outcome, err = mpesa.ParseReversal(body); err != nil {
			s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "webhook.quarantined", slog.String("source", "daraja"), slog.String("code", "unreadable"))
			return s.store.Quarantine(ctx, "daraja", err.Error(), body, s.cfg.Clock.Now())
		}
		if c := a.Refund.Conversation; c != "" && outcome.CheckoutID != "" && outcome.CheckoutID != c {
			return fault.E(fault.NotFound, "No such payment.")
		}
	}
	s.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "payment.refund_result", slog.String("tenant_id", string(b.tenant.ID)),
		slog.String("attempt_id", a.ID), slog.String("outcome", string(outcome.Kind)))
	return s.report(ctx, b, a, payment.Report{Source: payment.FromRefund, Outcome: outcome})
}
