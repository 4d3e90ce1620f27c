// Package initiatestkpush is the tool initiate_stk_push: the deposit asked
// from the payer's phone. The attempt is stored before anything is sent; the
// prompt itself is an effect that is carried out after the commit.
package initiatestkpush

import (
	"context"
	_ "embed" // the two files beside this one
	"slices"

	"github.com/ratiba/ratiba/internal/app/booking/bookingsql"
	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/desk"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/tool"
)

//go:embed definition.json
var definition []byte

//go:embed metadata.yaml
var metadata []byte

// Tool returns the tool over the tenant's attempts.
func Tool(attempts payment.Ledger) tool.Tool {
	h := handler{attempts: attempts}
	return tool.Tool{Definition: definition, Metadata: metadata, Handler: tool.Typed(h.handle), Args: calendar.PushPaymentArgs{}}
}

type handler struct{ attempts payment.Ledger }

func (h handler) handle(ctx context.Context, env tool.Env, a calendar.PushPaymentArgs) (graph.Result, error) {
	made, err := h.attempts.ByID(ctx, env.Tx, a.AttemptID)
	switch {
	case err == nil && made.Subject == a.BookingID: // the same call again: its prompt is on its way
		booking, err := bookingsql.Booking(ctx, env.Tx, desk.Caller(env), a.BookingID)
		return desk.Answer(booking, err)
	case err == nil:
		return desk.Refuse(calendar.NoSuchBooking)
	case fault.CodeOf(err) != fault.NotFound:
		return graph.Result{}, err
	}
	if res, err := h.busy(ctx, env, a); err != nil || res.Code != "" {
		return res, err
	}
	booking, err := bookingsql.AwaitPayment(ctx, env.Tx, desk.Caller(env), a.BookingID, a.HoldUntil)
	if err != nil {
		return desk.Answer(nil, err)
	}
	due := booking.Deposit
	due.Minor -= booking.Paid.Minor
	if a.Amount != due || due.Minor <= 0 {
		return desk.Refuse(calendar.Changed)
	}
	if err := h.ask(ctx, env, a, booking); err != nil {
		return graph.Result{}, err
	}
	return desk.Answer(booking, nil)
}

// busy answers a conflict while a prompt for the booking is open, or one for
// anything was on the payer's phone a moment ago.
func (h handler) busy(ctx context.Context, env tool.Env, a calendar.PushPaymentArgs) (graph.Result, error) {
	attempts, err := h.attempts.BySubject(ctx, env.Tx, a.BookingID)
	if err != nil {
		return graph.Result{}, err
	}
	if slices.ContainsFunc(attempts, func(made payment.Attempt) bool { return made.Status.Live() }) {
		return desk.Refuse(calendar.PromptLive)
	}
	attempts, err = h.attempts.OnPhone(ctx, env.Tx, a.Phone, env.Now.Add(-payment.BetweenPrompts))
	if err != nil {
		return graph.Result{}, err
	}
	until := payment.FreeAt(attempts, env.Now)
	if !until.After(env.Now) {
		return graph.Result{}, nil
	}
	sentence, next := calendar.Advice(calendar.PromptTooSoon)
	return tool.Conflict(calendar.PromptTooSoon, sentence, next, calendar.PromptWait{Until: until})
}

// ask stores the attempt and the effect that sends its prompt. A prompt that
// was not sent while the slot was held is not sent at all.
func (h handler) ask(ctx context.Context, env tool.Env, a calendar.PushPaymentArgs, b calendar.Booking) error {
	err := h.attempts.Insert(ctx, env.Tx, payment.Attempt{
		ID: a.AttemptID, Thread: env.Thread, ContactID: env.Contact.ID, Subject: b.ID, Provider: payment.Mpesa,
		Reference: "RTB-" + env.Tenant.Slug + "-" + a.AttemptID, Account: b.Code, Amount: a.Amount, Phone: a.Phone,
		Status: payment.Created, CreatedAt: env.Now,
	})
	if err != nil {
		return err
	}
	return env.Enqueue(ctx, tool.Effect{
		Lane: string(payment.Mpesa), Kind: payment.EffectPrompt, Key: "prompt:" + a.AttemptID,
		Payload: payment.EffectPayload{AttemptID: a.AttemptID}, Expires: b.HoldUntil,
	})
}
