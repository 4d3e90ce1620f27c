// Package createstafftimeblock is the tool create_staff_time_block: time taken out of a calendar.
package createstafftimeblock

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
	return tool.Tool{
		Definition: definition, Metadata: metadata, Handler: tool.Guarded(handle), Args: calendar.BlockTimeArgs{}, Preview: tool.Typed(preview),
	}
}

func handle(ctx context.Context, env tool.Env, a calendar.BlockTimeArgs) (graph.Result, error) {
	block, err := bookingsql.BlockTime(ctx, env.Tx, desk.Caller(env), env.Actor.ID, a)
	return desk.Answer(block, err)
}

// preview names the bookings that stand in the time.
func preview(ctx context.Context, env tool.Env, a calendar.BlockTimeArgs) (graph.Result, error) {
	block, err := bookingsql.Blocking(ctx, env.Q, desk.Caller(env), a)
	return desk.Answer(block, err)
}
