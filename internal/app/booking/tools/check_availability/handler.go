// Package checkavailability is the tool check_availability: free starts, or why there are none.
package checkavailability

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
	return tool.Tool{Definition: definition, Metadata: metadata, Handler: tool.Typed(handle), Args: calendar.CheckAvailabilityArgs{}}
}

func handle(ctx context.Context, env tool.Env, a calendar.CheckAvailabilityArgs) (graph.Result, error) {
	free, err := bookingsql.Availability(ctx, env.Q, desk.Caller(env), a)
	return desk.Answer(free, err)
}
