// Package leavewaitlist is the tool leave_waitlist: a place in line given up.
package leavewaitlist

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
	return tool.Tool{Definition: definition, Metadata: metadata, Handler: tool.Typed(handle), Args: calendar.LeaveWaitlistArgs{}}
}

func handle(ctx context.Context, env tool.Env, a calendar.LeaveWaitlistArgs) (graph.Result, error) {
	place, err := bookingsql.Leave(ctx, env.Tx, desk.Caller(env), a)
	return desk.Answer(place, err)
}
