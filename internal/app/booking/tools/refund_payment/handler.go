// Package refundpayment is the tool refund_payment: a payment given back. What
// is decided is stored with the payment, which goes back once; the provider is
// asked by an effect after the commit, and its word comes back as an event.
package refundpayment

import (
	"context"
	_ "embed" // the two files beside this one

	"github.com/ratiba/ratiba/internal/app/booking/bookingsql"
	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/desk"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/tool"
)

//go:embed definition.json
var definition []byte

//go:embed metadata.yaml
var metadata []byte

// Tool returns the tool over the tenant's attempts.
func Tool(attempts payment.Ledger) tool.Tool {
	h := handler{attempts: attempts}
	return tool.Tool{Definition: definition, Metadata: metadata, Handler: tool.Guarded(h.handle), Args: calendar.RefundPaymentArgs{}}
}

type handler struct{ attempts payment.Ledger }

func (h handler) handle(ctx context.Context, env tool.Env, a calendar.RefundPaymentArgs) (graph.Result, error) {
	if !returns(env.Tenant, payment.Mpesa) && !returns(env.Tenant, payment.Pesapal) {
		return desk.Refuse(calendar.CannotRefund)
	}
	receipt := a.Receipt
	if receipt == "" {
		paid, err := bookingsql.Receipt(ctx, env.Tx, desk.Caller(env), a.BookingID)
		if err != nil || paid == "" {
			return desk.Answer(nil, orRefusal(err))
		}
		receipt = paid
	}
	made, err := h.attempts.ByReceipt(ctx, env.Tx, receipt)
	if fault.CodeOf(err) == fault.NotFound || err == nil && made.ContactID != env.Contact.ID {
		return desk.Refuse(calendar.CannotRefund)
	}
	if err != nil {
		return graph.Result{}, err
	}
	if made, err = h.attempts.Locked(ctx, env.Tx, made.ID); err != nil {
		return graph.Result{}, err
	}
	wanted, err := payment.WantRefund(made, a.Amount, a.Reason, env.Now)
	if err != nil || !returns(env.Tenant, made.Provider) {
		return desk.Refuse(calendar.CannotRefund)
	}
	if err := h.attempts.Update(ctx, env.Tx, wanted); err != nil {
		return graph.Result{}, err
	}
	err = env.Enqueue(ctx, tool.Effect{
		Lane: string(made.Provider), Kind: payment.EffectRefund, Key: "refund:" + made.ID, Payload: payment.EffectPayload{AttemptID: made.ID},
	})
	if err != nil {
		return graph.Result{}, err
	}
	return tool.OK(map[string]string{"attempt_id": made.ID})
}

// returns reports whether the business gives payments of a rail back by itself.
func returns(t *tenant.Tenant, rail payment.Rail) bool {
	if rail == payment.Pesapal {
		return t.Pesapal != nil
	}
	return t.Mpesa != nil && t.Mpesa.Initiator != ""
}

// orRefusal is err, or that nothing can be given back where there is none.
func orRefusal(err error) error {
	if err != nil {
		return err
	}
	return &calendar.Refusal{Code: calendar.CannotRefund}
}
