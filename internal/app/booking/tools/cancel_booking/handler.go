// Package cancelbooking is the tool cancel_booking: a booking ended by its customer or the business.
package cancelbooking

import (
	"context"
	_ "embed" // the two files beside this one

	"github.com/ratiba/ratiba/internal/app/booking/bookingsql"
	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/desk"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/tool"
)

//go:embed definition.json
var definition []byte

//go:embed metadata.yaml
var metadata []byte

// Tool returns the tool.
func Tool() tool.Tool {
	return tool.Tool{Definition: definition, Metadata: metadata, Handler: tool.Guarded(handle), Args: calendar.CancelBookingArgs{}}
}

func handle(ctx context.Context, env tool.Env, a calendar.CancelBookingArgs) (graph.Result, error) {
	booking, err := bookingsql.Cancel(ctx, env.Tx, desk.Caller(env), a)
	return desk.Changed(env, booking, err)
}
