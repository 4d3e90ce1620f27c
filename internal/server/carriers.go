package server

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/ratiba/ratiba/internal/channel"
	"github.com/ratiba/ratiba/internal/channel/whatsapp"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/turn"
)

// account is a business number with its key.
func (s *Server) account(n tenant.Number) channel.Account {
	a := channel.Account{
		Provider: channel.Provider(n.Provider), Number: n.ID, Token: s.cfg.Secrets(n.TokenEnv), BaseURL: s.cfg.Settings.WhatsApp.MetaURL,
		Business: n.Account,
	}
	if a.Provider == channel.Dialog360 {
		a.BaseURL = s.cfg.Settings.WhatsApp.Dialog360URL
	}
	return a
}

// messageCarrier sends messages on WhatsApp.
type messageCarrier struct{ s *Server }

// Carry implements outbox.Carrier.
func (c messageCarrier) Carry(ctx context.Context, id ids.TenantID, row outbox.Row) outbox.Outcome {
	var send outbox.Send
	if err := json.Unmarshal(row.Payload, &send); err != nil {
		return outbox.Outcome{Verdict: outbox.GiveUp, Class: "defect", Detail: err.Error()}
	}
	b, err := c.s.business(id)
	if err != nil {
		return outbox.Outcome{Verdict: outbox.GiveUp, Class: "defect", Detail: err.Error()}
	}
	number, ok := numberOf(b.tenant, send.Number)
	if !ok {
		return outbox.Outcome{Verdict: outbox.GiveUp, Class: "defect", Detail: "the number is no longer the tenant's"}
	}
	if wait := c.wait(ctx, b, row, send); wait > 0 {
		return outbox.Outcome{Verdict: outbox.Retry, Class: outbox.ClassLocal, RetryAfter: wait}
	}
	out, err := whatsapp.Fit(send.Out)
	if err != nil {
		return failed(err)
	}
	if out.Kind == message.Media && row.Origin == outbox.Relay {
		if out, err = c.passOn(ctx, c.s.account(number), out); err != nil {
			return failed(err)
		}
	}
	providerID, err := c.s.whatsapp.Send(ctx, c.s.account(number), send.To, out, row.ID)
	if err != nil {
		return failed(err)
	}
	return outbox.Outcome{Verdict: outbox.Done, ProviderID: providerID}
}

// passOn makes a file that somebody sent one that can be sent: it is fetched,
// checked and stored anew. One that cannot be fetched any more is told by its
// code.
func (c messageCarrier) passOn(ctx context.Context, a channel.Account, out message.Outbound) (message.Outbound, error) {
	file, err := c.s.whatsapp.Fetch(ctx, a, out.Attachment.ID)
	attachment := *out.Attachment
	if err == nil {
		attachment.ID, err = c.s.whatsapp.Upload(ctx, a, file, attachment.Filename)
	}
	if e, ok := errors.AsType[*channel.Error](err); ok && !e.Retryable() {
		e.Code = fileLost
	}
	out.Attachment = &attachment
	return out, err
}

// fileLost is turn.FileLost as the provider counts.
const fileLost = 131052

// wait says how long a message must wait here: for sends that a takeover's
// acknowledgement must not overtake, and for WhatsApp's rates.
func (c messageCarrier) wait(ctx context.Context, b *business, row outbox.Row, send outbox.Send) time.Duration {
	now := c.s.real.Now()
	if send.Yields(row, c.s.cfg.Clock.Now()) {
		if n, err := b.store.InFlight(ctx, send.After); err != nil || n > 0 {
			return outbox.YieldStep
		}
	}
	if wait := c.s.pairs.Take(ctx, send.Number+"/"+string(row.ContactID), now); wait > 0 {
		return wait
	}
	return c.s.numbers.Take(ctx, send.Number, now)
}

// failed turns a channel's error into a verdict.
func failed(err error) outbox.Outcome {
	o := outbox.Outcome{Verdict: outbox.GiveUp, Class: string(channel.ClassOf(err))}
	if e, ok := errors.AsType[*channel.Error](err); ok {
		o.Code, o.Detail, o.RetryAfter = e.Code, e.Detail, e.RetryAfter
	}
	switch channel.ClassOf(err) {
	case channel.Rate, channel.PairRate, channel.Transient:
		o.Verdict = outbox.Retry
	case channel.Unknown:
		o.Verdict = outbox.InDoubt
	case channel.Permanent, channel.Window, channel.Undeliverable, channel.Defect, channel.Auth:
	}
	return o
}

// promptCarrier puts a payment prompt on the payer's phone. It is tried once:
// a lost answer leaves an unknown that waiting resolves, never a second prompt.
type promptCarrier struct{ s *Server }

// Carry implements outbox.Carrier.
func (c promptCarrier) Carry(ctx context.Context, id ids.TenantID, row outbox.Row) outbox.Outcome {
	b, attempt, o := c.s.attempt(ctx, id, row)
	if o.Verdict != "" {
		return o
	}
	now := c.s.cfg.Clock.Now()
	secret := ""
	if !attempt.Provider.Linked() {
		secret = ids.NewSource(ids.NewSeed(), now).Token(16)
	}
	started, err := b.store.ChangeAttempt(ctx, attempt.ID, func(a payment.Attempt) (payment.Attempt, bool) {
		a, ok := payment.Begin(a, now)
		if secret != "" {
			a.TokenHash = hashToken(secret)
		}
		return a, ok
	}, nextCheck(now))
	if err != nil {
		return outbox.Outcome{Verdict: outbox.Retry, Class: "store", Detail: err.Error()}
	}
	if !started {
		// Withdrawn, or started before a crash: its callback or its timer speaks next.
		return outbox.Outcome{Verdict: outbox.Done}
	}
	gateway := b.rails[attempt.Provider]
	if gateway == nil {
		return c.reject(ctx, b, attempt, &payment.RejectedError{Code: "no_gateway", Detail: "the business takes no such payments"})
	}
	accepted, err := gateway.Prompt(ctx, payment.Prompt{
		Amount: attempt.Amount, Reference: attempt.Reference, Phone: attempt.Phone, Account: attempt.Account, Description: "Booking",
		CallbackURL: c.s.public("/webhooks/daraja/" + b.route + "." + secret), ReturnURL: c.s.public("/webhooks/pesapal/return"),
	})
	// What the provider said is written down even when this process is ending.
	ctx = context.WithoutCancel(ctx)
	if rejected, ok := errors.AsType[*payment.RejectedError](err); ok {
		return c.reject(ctx, b, attempt, rejected)
	}
	note := func(a payment.Attempt) (payment.Attempt, bool) { return payment.Accept(a, accepted), true }
	if err != nil {
		c.s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "payment.prompt_unknown", slog.String("tenant_id", string(id)),
			slog.String("attempt_id", attempt.ID), slog.String("error", err.Error()))
		note = func(a payment.Attempt) (payment.Attempt, bool) { return payment.Lose(a), true }
	}
	var told *payment.Report
	if err == nil && accepted.Link != "" {
		told = &payment.Report{Source: payment.FromPrompt, Outcome: payment.Outcome{
			Kind: payment.Offered, CheckoutID: accepted.CheckoutID, Code: string(payment.Offered), Link: accepted.Link,
		}}
	}
	if err := b.store.NoteAttempt(ctx, attempt.ID, note, nextCheck(c.s.cfg.Clock.Now()), told, c.s.cfg.Clock.Now()); err != nil {
		c.s.cfg.Logger.LogAttrs(ctx, slog.LevelError, "payment.note_failed", slog.String("tenant_id", string(id)),
			slog.String("attempt_id", attempt.ID), slog.String("error", err.Error()))
	}
	c.s.turns.Wake(id, c.s.cfg.Clock.Now()) // its timer is set
	return outbox.Outcome{Verdict: outbox.Done}
}

// reject tells the thread that nothing reached the phone.
func (c promptCarrier) reject(ctx context.Context, b *business, a payment.Attempt, r *payment.RejectedError) outbox.Outcome {
	c.s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "payment.prompt_rejected", slog.String("tenant_id", string(b.tenant.ID)),
		slog.String("attempt_id", a.ID), slog.String("code", r.Code))
	kind := payment.Rejected
	if r.Transient {
		kind = payment.Busy
	}
	if err := c.s.report(ctx, b, a, payment.Report{Source: payment.FromPrompt, Outcome: payment.Outcome{
		Kind: kind, Code: r.Code, Detail: r.Detail,
	}}); err != nil {
		return outbox.Outcome{Verdict: outbox.InDoubt, Class: "store", Detail: err.Error()}
	}
	return outbox.Outcome{Verdict: outbox.Done}
}

// queryCarrier asks the provider what became of a prompt.
type queryCarrier struct{ s *Server }

// Carry implements outbox.Carrier.
func (c queryCarrier) Carry(ctx context.Context, id ids.TenantID, row outbox.Row) outbox.Outcome {
	b, attempt, o := c.s.attempt(ctx, id, row)
	if o.Verdict != "" {
		return o
	}
	now := c.s.cfg.Clock.Now()
	if at, waiting := payment.RefundCloseAt(attempt); waiting && !now.Before(at) {
		return c.close(ctx, b, attempt, payment.RefundClose)
	}
	ask, giveUp := payment.Asks(attempt, now)
	if giveUp {
		return c.close(ctx, b, attempt, payment.FromClose)
	}
	if !ask {
		return outbox.Outcome{Verdict: outbox.Done}
	}
	answered, err := c.query(ctx, b, attempt)
	if err != nil {
		return outbox.Outcome{Verdict: outbox.Retry, Class: "store", Detail: err.Error()}
	}
	_, err = b.store.ChangeAttempt(ctx, attempt.ID, func(a payment.Attempt) (payment.Attempt, bool) {
		if !answered {
			return payment.Unanswered(a, now), true
		}
		return payment.Asked(a, now), true
	}, nextCheck(now))
	if err != nil {
		return outbox.Outcome{Verdict: outbox.Retry, Class: "store", Detail: err.Error()}
	}
	c.s.turns.Wake(id, now) // its timer is set
	return outbox.Outcome{Verdict: outbox.Done}
}

// query reports what the provider says of a prompt, and whether it said
// anything. A business that takes no payments any more has nobody to ask; its
// attempts end by their time.
func (c queryCarrier) query(ctx context.Context, b *business, a payment.Attempt) (answered bool, err error) {
	gateway := b.rails[a.Provider]
	if gateway == nil {
		return true, nil
	}
	said, err := gateway.Query(ctx, a.CheckoutID)
	if err == nil && a.Provider.Linked() && said.MerchantID != a.Reference {
		c.s.cfg.Logger.LogAttrs(ctx, slog.LevelError, "payment.query_foreign", slog.String("tenant_id", string(b.tenant.ID)),
			slog.String("attempt_id", a.ID)) // the answer is about somebody else's order
		return true, nil
	}
	if err != nil || said.Kind == payment.Pending {
		return err == nil, nil //nolint:nilerr // it is asked again, or given up in time.
	}
	return true, c.s.report(ctx, b, a, payment.Report{Source: payment.FromQuery, Outcome: said})
}

// close gives an attempt or its refund up whose time is over; its thread is told.
func (c queryCarrier) close(ctx context.Context, b *business, a payment.Attempt, from payment.Source) outbox.Outcome {
	if err := c.s.report(ctx, b, a, payment.Report{Source: from}); err != nil {
		return outbox.Outcome{Verdict: outbox.Retry, Class: "store", Detail: err.Error()}
	}
	return outbox.Outcome{Verdict: outbox.Done}
}

func nextCheck(now time.Time) func(a payment.Attempt) time.Time {
	return func(a payment.Attempt) time.Time { return payment.NextCheck(a, now) }
}

// report stores what is known of an attempt and wakes the turn that handles it.
func (s *Server) report(ctx context.Context, b *business, a payment.Attempt, r payment.Report) error {
	now := s.cfg.Clock.Now()
	if _, err := b.store.Report(ctx, a, r, now); err != nil {
		return err
	}
	s.turns.Wake(b.tenant.ID, now)
	return nil
}

// attempt reads the attempt an effect is about. With a verdict there is
// nothing to carry out.
func (s *Server) attempt(ctx context.Context, id ids.TenantID, row outbox.Row) (*business, payment.Attempt, outbox.Outcome) {
	var p payment.EffectPayload
	if err := json.Unmarshal(row.Payload, &p); err != nil {
		return nil, payment.Attempt{}, outbox.Outcome{Verdict: outbox.GiveUp, Class: "defect", Detail: err.Error()}
	}
	b, err := s.business(id)
	if err != nil {
		return nil, payment.Attempt{}, outbox.Outcome{Verdict: outbox.GiveUp, Class: "defect", Detail: err.Error()}
	}
	a, err := b.store.Attempt(ctx, p.AttemptID)
	if err != nil {
		return nil, payment.Attempt{}, outbox.Outcome{Verdict: outbox.Retry, Class: "store", Detail: err.Error()}
	}
	return b, a, outbox.Outcome{}
}

// typingQueue bounds how many typing marks wait; more are left out, because a
// late one would tell a lie.
const typingQueue = 64

type typing struct {
	number     tenant.Number
	providerID string
}

// showTyping marks a message as read and shows that an answer is written. It is
// a courtesy: it is lost without harm.
func (s *Server) showTyping(b turn.Business, number, providerID string) {
	n, ok := numberOf(*b.Tenant, number)
	if !ok {
		return
	}
	select {
	case s.typing <- typing{number: n, providerID: providerID}:
	default:
	}
}

func (s *Server) typingLoop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case t := <-s.typing:
			call, cancel := context.WithTimeout(ctx, 5*time.Second)
			if err := s.whatsapp.MarkRead(call, s.account(t.number), t.providerID, true); err != nil {
				s.cfg.Logger.LogAttrs(ctx, slog.LevelDebug, "channel.mark_failed", slog.String("class", string(channel.ClassOf(err))))
			}
			cancel()
		}
	}
}
