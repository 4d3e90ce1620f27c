package pesapal

import (
	"context"
	"fmt"
	"net/http"

	"github.com/ratiba/ratiba/internal/payment"
)

var _ payment.Refunder = (*Client)(nil)

// Refund implements payment.Refunder. People of PesaPal approve a refund, and
// only a status query tells that it was made. The conversation is the payment's
// confirmation code: there is no other name for it.
func (c *Client) Refund(ctx context.Context, r payment.Return) (string, error) {
	if r.Receipt == "" || r.Amount.Minor <= 0 {
		return "", &payment.RejectedError{Code: "limit", Detail: "there is no payment to return"}
	}
	ans, err := c.call(ctx, http.MethodPost, "/api/Transactions/RefundRequest", map[string]string{
		"confirmation_code": r.Receipt, "amount": decimal(r.Amount), "username": "Ratiba", "remarks": r.Reason,
	})
	switch {
	case err != nil:
		return "", err
	case ans.status >= 500:
		return "", fmt.Errorf("refund payment: no clear answer: %w", ans.fault())
	case !ans.ok() || ans.body.Status != "200":
		return "", ans.rejection()
	}
	return r.Receipt, nil
}
