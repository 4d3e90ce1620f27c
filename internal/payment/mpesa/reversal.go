package mpesa

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/payment"
)

var _ payment.Refunder = (*Client)(nil)

// Refund implements payment.Refunder: it asks for a payment's reversal, whose
// result comes to ResultURL. The conversation's id is Daraja's.
func (c *Client) Refund(ctx context.Context, r payment.Return) (string, error) {
	reason := ""
	switch {
	case c.cfg.Initiator == "" || c.cfg.SecurityCredential == "":
		reason = "there is no initiator"
	case r.Receipt == "":
		reason = "there is no receipt"
	case r.Amount.Currency != "KES" || r.Amount.Minor <= 0 || r.Amount.Minor%100 != 0:
		reason = "the amount is not in whole shillings"
	}
	if reason != "" {
		return "", &payment.RejectedError{Code: "limit", Detail: reason}
	}
	ans, err := c.call(ctx, "/mpesa/reversal/v1/request", map[string]any{
		"Initiator":          c.cfg.Initiator,
		"SecurityCredential": c.cfg.SecurityCredential,
		"CommandID":          "TransactionReversal",
		"TransactionID":      r.Receipt,
		"Amount":             r.Amount.Minor / 100,
		"ReceiverParty":      c.cfg.Shortcode,
		// It is the API that spells it so.
		"RecieverIdentifierType": "4",
		"ResultURL":              r.ResultURL,
		"QueueTimeOutURL":        r.TimeoutURL,
		"Remarks":                "Refund",
		"Occasion":               r.Reason,
	})
	switch {
	case err != nil:
		return "", err
	case ans.refused():
		return "", ans.rejection()
	case !ans.ok():
		return "", fmt.Errorf("reverse payment: no clear answer: %w", ans.fault())
	case ans.body.ResponseCode == "0" && ans.body.ConversationID != "":
		return string(ans.body.ConversationID), nil
	case ans.body.ResponseCode != "" && ans.body.ResponseCode != "0":
		return "", &payment.RejectedError{Code: bounded(ans.body.ResponseCode), Detail: bounded(ans.body.ResponseDescription)}
	}
	return "", errors.New("reverse payment: the answer names no conversation")
}

// ParseReversal reads the result of a reversal. CheckoutID of the outcome is the
// conversation, Receipt the reversal's own. The error is a fault.Invalid or
// fault.TooLarge.
func ParseReversal(body []byte) (payment.Outcome, error) {
	if len(body) > MaxCallback {
		return payment.Outcome{}, fault.E(fault.TooLarge, "The result is too long.")
	}
	var w struct {
		Result *struct {
			ResultCode     str `json:"ResultCode"`
			ResultDesc     str `json:"ResultDesc"`
			ConversationID str `json:"ConversationID"`
			TransactionID  str `json:"TransactionID"`
		} `json:"Result"`
	}
	if err := json.Unmarshal(body, &w); err != nil {
		return payment.Outcome{}, fault.Wrap(err, fault.Invalid, "The result is not readable.")
	}
	if w.Result == nil || w.Result.ResultCode == "" {
		return payment.Outcome{}, fault.E(fault.Invalid, "The result has no code.")
	}
	o := payment.Outcome{
		Kind: payment.OtherFailure, CheckoutID: bounded(w.Result.ConversationID), Code: bounded(w.Result.ResultCode), Detail: bounded(w.Result.ResultDesc),
	}
	if w.Result.ResultCode == "0" {
		o.Kind, o.Receipt = payment.Success, bounded(w.Result.TransactionID)
	}
	return o, nil
}
