// Package joinwaitlist is the tool join_waitlist: a place in line for a time that is taken.
package joinwaitlist

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
	return tool.Tool{Definition: definition, Metadata: metadata, Handler: tool.Typed(handle), Args: calendar.JoinWaitlistArgs{}}
}

func handle(ctx context.Context, env tool.Env, a calendar.JoinWaitlistArgs) (graph.Result, error) {
	c := desk.Caller(env)
	if c.Contact != "" && c.Contact != a.ContactID {
		return desk.Refuse(calendar.NotOnTheList)
	}
	place, err := bookingsql.Join(ctx, env.Tx, c, a)
	return desk.Answer(place, err)
}
