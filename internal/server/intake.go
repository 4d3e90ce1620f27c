package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/channel/whatsapp"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/payment/mpesa"
	"github.com/ratiba/ratiba/internal/tenant"
)

// Meta implements httpd.Intake. Several tenants may share an app and its
// secret; the secret that verifies a webhook authorises exactly the numbers
// that name it.
func (s *Server) Meta(ctx context.Context, signature string, body []byte) error {
	for secret, numbers := range s.routes.Load().meta {
		if whatsapp.VerifyMeta(secret, signature, body) == nil {
			return s.once(ctx, "meta", secret, body, func() error { return s.take(ctx, "meta", numbers, body) })
		}
	}
	return fault.E(fault.Unauthorized, "The webhook's signature is wrong.")
}

// MetaChallenge implements httpd.Intake.
func (s *Server) MetaChallenge(query url.Values) (string, error) {
	return whatsapp.VerifyChallenge(query, s.cfg.Secrets(s.cfg.Settings.WhatsApp.VerifyTokenEnv))
}

// Dialog360 implements httpd.Intake.
func (s *Server) Dialog360(ctx context.Context, secret, signature string, body []byte) error {
	allowed := map[string]*business{}
	for _, d := range s.routes.Load().dialog360[sha256.Sum256([]byte(secret))] {
		if whatsapp.VerifyDialog360(d.secret, secret, d.signing, signature, body) == nil {
			allowed[d.number] = d.business
		}
	}
	if len(allowed) == 0 {
		return fault.E(fault.Unauthorized, "The webhook's secret is wrong.")
	}
	return s.once(ctx, "360dialog", secret, body, func() error { return s.take(ctx, "360dialog", allowed, body) })
}

// seenFor is how long a delivery that was stored is known again without asking
// the database.
const seenFor = 10 * time.Minute

// once stores a delivery unless the very same one was stored already: a
// provider in trouble delivers again and again. What forgets costs a look at
// the database, which knows better.
func (s *Server) once(ctx context.Context, source, secret string, body []byte, store func() error) error {
	h := sha256.New()
	_, _ = h.Write([]byte(source + "\x00" + secret + "\x00"))
	_, _ = h.Write(body)
	key := hex.EncodeToString(h.Sum(nil))
	if s.hot.Seen(ctx, key) {
		return nil
	}
	err := store()
	if err == nil {
		s.hot.Remember(ctx, key, seenFor)
	}
	return err
}

// part is what a webhook brought for one business.
type part struct {
	messages []message.Inbound
	receipts []message.Receipt
}

// take stores a verified webhook. Everything it brought for the numbers it may
// speak for is durable when it returns nil.
func (s *Server) take(ctx context.Context, source string, allowed map[string]*business, body []byte) error {
	now := s.cfg.Clock.Now()
	batch, err := whatsapp.Parse(body)
	if err != nil {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "webhook.quarantined", slog.String("source", source), slog.String("code", "unreadable"))
		return s.store.Quarantine(ctx, source, err.Error(), body, now)
	}
	parts := map[*business]*part{}
	refused := len(batch.Skipped)
	of := func(number string) *part {
		b, ok := allowed[number]
		if !ok {
			refused++
			return nil
		}
		if parts[b] == nil {
			parts[b] = &part{}
		}
		return parts[b]
	}
	for _, m := range batch.Messages {
		if p := of(m.Number); p != nil {
			p.messages = append(p.messages, m)
		}
	}
	for _, r := range batch.Receipts {
		if p := of(r.Number); p != nil {
			p.receipts = append(p.receipts, r)
		}
	}
	var errs []error
	for b, p := range parts {
		errs = append(errs, s.deliver(ctx, source, b, p, now))
	}
	if refused > 0 {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "webhook.quarantined", slog.String("source", source),
			slog.String("code", "not_ours"), slog.Int("parts", refused))
		errs = append(errs, s.store.Quarantine(ctx, source, "parts for unknown numbers or unreadable", body, now))
	}
	return errors.Join(errs...)
}

// deliver stores a business's part of a webhook and wakes who waits for it.
func (s *Server) deliver(ctx context.Context, source string, b *business, p *part, now time.Time) error {
	d, err := b.store.Deliver(ctx, p.messages, p.receipts, now, b.tenant.QuietTime)
	if err != nil {
		return err
	}
	level := slog.LevelInfo
	if len(p.messages) == 0 {
		level = slog.LevelDebug // receipts come three to a message and tell little
	}
	s.cfg.Logger.LogAttrs(ctx, level, "webhook.stored", slog.String("tenant_id", string(b.tenant.ID)),
		slog.String("source", source), slog.Int("messages", d.Messages), slog.Int("receipts", d.Receipts))
	if d.Messages > 0 || d.Events > 0 {
		s.turns.Wake(b.tenant.ID, now.Add(b.tenant.QuietTime))
	}
	if d.Unblocked {
		s.sends.Wake(b.tenant.ID, s.real.Now())
	}
	return nil
}

// Daraja implements httpd.Intake. The token names the tenant by its route and
// the attempt by a secret of which only a hash is stored.
func (s *Server) Daraja(ctx context.Context, token string, body []byte) error {
	route, secret, ok := strings.Cut(token, ".")
	if !ok {
		return fault.E(fault.NotFound, "No such payment.")
	}
	b := s.routes.Load().payments[route]
	if b == nil {
		return fault.E(fault.NotFound, "No such payment.")
	}
	secret, late := strings.CutSuffix(secret, refundTimeout)
	attempt, err := b.store.AttemptByToken(ctx, hashToken(secret))
	if fault.CodeOf(err) == fault.NotFound {
		return s.refunded(ctx, b, secret, late, body)
	}
	if err != nil || late {
		return errors.Join(err, lateAttempt(late))
	}
	now := s.cfg.Clock.Now()
	outcome, err := mpesa.ParseCallback(body)
	if err != nil {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "webhook.quarantined", slog.String("source", "daraja"), slog.String("code", "unreadable"))
		return s.store.Quarantine(ctx, "daraja", err.Error(), body, now)
	}
	fresh, err := b.store.Report(ctx, attempt, payment.Report{Source: payment.FromCallback, Outcome: outcome}, now)
	if err != nil {
		return err
	}
	s.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "payment.callback", slog.String("tenant_id", string(b.tenant.ID)),
		slog.String("attempt_id", attempt.ID), slog.String("outcome", string(outcome.Kind)), slog.Bool("repeated", !fresh))
	s.turns.Wake(b.tenant.ID, now)
	return nil
}

// lateAttempt refuses the word that belongs to refunds at a prompt's address.
func lateAttempt(late bool) error {
	if !late {
		return nil
	}
	return fault.E(fault.NotFound, "No such payment.")
}

func hashToken(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// numberOf returns a tenant's number by the provider's id.
func numberOf(t tenant.Tenant, id string) (tenant.Number, bool) {
	for _, n := range t.Numbers {
		if n.ID == id {
			return n, true
		}
	}
	return tenant.Number{}, false
}
