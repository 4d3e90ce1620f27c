// Package releasehold is the tool release_hold: a held slot given back.
package releasehold

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
	return tool.Tool{Definition: definition, Metadata: metadata, Handler: tool.Typed(handle), Args: calendar.ReleaseHoldArgs{}}
}

func handle(ctx context.Context, env tool.Env, a calendar.ReleaseHoldArgs) (graph.Result, error) {
	booking, err := bookingsql.Release(ctx, env.Tx, desk.Caller(env), a.BookingID)
	if err == nil {
		desk.Keep(env, booking)
	}
	return desk.Answer(struct{}{}, err)
}
