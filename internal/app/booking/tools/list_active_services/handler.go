// Package listactiveservices is the tool list_active_services: what a customer may book.
package listactiveservices

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
	return tool.Tool{Definition: definition, Metadata: metadata, Handler: tool.Typed(handle), Args: calendar.ListServicesArgs{}}
}

func handle(ctx context.Context, env tool.Env, _ calendar.ListServicesArgs) (graph.Result, error) {
	catalogue, err := bookingsql.Catalogue(ctx, env.Q)
	return desk.Answer(catalogue, err)
}
