// Package confirmbooking is the tool confirm_booking: a hold made a booking, once what was due is paid.
package confirmbooking

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
	return tool.Tool{Definition: definition, Metadata: metadata, Handler: tool.Guarded(handle), Args: calendar.ConfirmBookingArgs{}}
}

func handle(ctx context.Context, env tool.Env, a calendar.ConfirmBookingArgs) (graph.Result, error) {
	booking, err := bookingsql.Confirm(ctx, env.Tx, desk.Caller(env), a)
	return desk.Changed(env, booking, err)
}
