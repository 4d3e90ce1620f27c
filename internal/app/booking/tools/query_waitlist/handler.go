// Package querywaitlist is the tool query_waitlist: what a customer waits for.
package querywaitlist

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
	return tool.Tool{Definition: definition, Metadata: metadata, Handler: tool.Typed(handle), Args: calendar.QueryWaitlistArgs{}}
}

func handle(ctx context.Context, env tool.Env, a calendar.QueryWaitlistArgs) (graph.Result, error) {
	c := desk.Caller(env)
	if c.Contact != "" && c.Contact != a.ContactID {
		return desk.Refuse(calendar.NotOnTheList)
	}
	places, err := bookingsql.Waits(ctx, env.Q, c, a)
	return desk.Answer(places, err)
}
