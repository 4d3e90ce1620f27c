// Package initiatestkpush is the tool initiate_stk_push: the deposit asked
// from the payer's phone. The attempt is stored before anything is sent; the
// prompt itself is an effect that is carried out after the commit.
package initiatestkpush

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
		return desk.Charge(ctx, env, attempts, payment.Mpesa, a)
	}
	return tool.Tool{Definition: definition, Metadata: metadata, Handler: tool.Guarded(handle), Args: calendar.PushPaymentArgs{}}
}
