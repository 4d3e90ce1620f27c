// Package sendpaymentlink is the tool send_payment_link: the deposit paid on a
// page that a link leads to. The attempt is stored before the order is made; the
// order is an effect that is carried out after the commit, and its link comes
// back as an event. Nobody is charged before they pay on the page, so that the
// tool is no irreversible one.
package sendpaymentlink

import (
	"context"
	_ "embed" // the two files beside this one

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/desk"
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
	handle := func(ctx context.Context, env tool.Env, a calendar.PushPaymentArgs) (graph.Result, error) {
		return desk.Charge(ctx, env, attempts, payment.Pesapal, a)
	}
	return tool.Tool{Definition: definition, Metadata: metadata, Handler: tool.Typed(handle), Args: calendar.PushPaymentArgs{}}
}
