// Package deleteservice is the tool delete_service: a service taken out of what can be booked.
package deleteservice

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
		Definition: definition, Metadata: metadata, Handler: tool.Guarded(handle), Args: calendar.DeleteServiceArgs{}, Preview: tool.Typed(preview),
	}
}

func handle(ctx context.Context, env tool.Env, a calendar.DeleteServiceArgs) (graph.Result, error) {
	deleted, err := bookingsql.Delete(ctx, env.Tx, desk.Caller(env), a.ServiceID)
	return desk.Answer(deleted, err)
}

// preview counts the bookings that are kept.
func preview(ctx context.Context, env tool.Env, a calendar.DeleteServiceArgs) (graph.Result, error) {
	deleted, err := bookingsql.Deleting(ctx, env.Q, desk.Caller(env), a.ServiceID)
	return desk.Answer(deleted, err)
}
