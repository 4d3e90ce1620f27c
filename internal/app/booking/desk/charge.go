package desk

import (
	"context"
	"slices"

	"github.com/ratiba/ratiba/internal/app/booking/bookingsql"
	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/tool"
)

// Charge asks for a held booking's deposit on a rail: it stores the attempt and
// the effect that sends it, and the booking awaits its payment. The same call
// again changes nothing.
func Charge(ctx context.Context, env tool.Env, attempts payment.Ledger, rail payment.Rail, a calendar.PushPaymentArgs) (graph.Result, error) {
	made, err := attempts.ByID(ctx, env.Tx, a.AttemptID)
	switch {
	case err == nil && made.Subject == a.BookingID: // the same call again: its prompt is on its way
		booking, err := bookingsql.Booking(ctx, env.Tx, Caller(env), a.BookingID)
		return Answer(booking, err)
	case err == nil:
		return Refuse(calendar.NoSuchBooking)
	case fault.CodeOf(err) != fault.NotFound:
		return graph.Result{}, err
	}
	if res, err := busy(ctx, env, attempts, rail, a); err != nil || res.Code != "" {
		return res, err
	}
	booking, err := bookingsql.AwaitPayment(ctx, env.Tx, Caller(env), a.BookingID, a.HoldUntil)
	if err != nil {
		return Answer(nil, err)
	}
	due := booking.Deposit
	due.Minor -= booking.Paid.Minor
	if a.Amount != due || due.Minor <= 0 {
		return Refuse(calendar.Changed)
	}
	if err := ask(ctx, env, attempts, rail, a, booking); err != nil {
		return graph.Result{}, err
	}
	return Changed(env, booking, nil)
}

// busy answers a conflict while the payer is asked for the booking on this rail,
// or on a phone that was prompted for anything a moment ago. A link does not
// keep a phone from a prompt: who chose the wrong way to pay may choose again,
// and what is paid twice is given back.
func busy(ctx context.Context, env tool.Env, ledger payment.Ledger, rail payment.Rail, a calendar.PushPaymentArgs) (graph.Result, error) {
	attempts, err := ledger.BySubject(ctx, env.Tx, a.BookingID)
	if err != nil {
		return graph.Result{}, err
	}
	if slices.ContainsFunc(attempts, func(made payment.Attempt) bool {
		return made.Status.Live() && (made.Provider == rail || !made.Provider.Linked())
	}) {
		return Refuse(calendar.PromptLive)
	}
	if rail.Linked() {
		return graph.Result{}, nil
	}
	attempts, err = ledger.OnPhone(ctx, env.Tx, a.Phone, env.Now.Add(-payment.BetweenPrompts))
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

// ask stores the attempt and the effect that sends it. What was not sent while
// the slot was held is not sent at all.
func ask(ctx context.Context, env tool.Env, ledger payment.Ledger, rail payment.Rail, a calendar.PushPaymentArgs, b calendar.Booking) error {
	made := payment.Attempt{
		ID: a.AttemptID, Thread: env.Thread, ContactID: env.Contact.ID, Subject: b.ID, Provider: rail,
		Reference: "RTB-" + env.Tenant.Slug + "-" + a.AttemptID, Account: b.Code, Amount: a.Amount, Phone: a.Phone,
		Status: payment.Created, CreatedAt: env.Now,
	}
	if rail.Linked() {
		made.Until = b.HoldUntil
	}
	if err := ledger.Insert(ctx, env.Tx, made); err != nil {
		return err
	}
	return env.Enqueue(ctx, tool.Effect{
		Lane: string(rail), Kind: payment.EffectPrompt, Key: "prompt:" + a.AttemptID,
		Payload: payment.EffectPayload{AttemptID: a.AttemptID}, Expires: b.HoldUntil,
	})
}
