// Package querybookings is the tool query_bookings: a contact's own bookings.
package querybookings

import (
	"context"
	_ "embed" // the two files beside this one
	"slices"

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
	return tool.Tool{Definition: definition, Metadata: metadata, Handler: tool.Typed(handle), Args: calendar.QueryBookingsArgs{}}
}

func handle(ctx context.Context, env tool.Env, a calendar.QueryBookingsArgs) (graph.Result, error) {
	if c := desk.Caller(env); c.Contact != "" && c.Contact != a.ContactID {
		return desk.Refuse(calendar.NoSuchBooking)
	}
	bookings, err := bookingsql.List(ctx, env.Q, env.Now, a)
	if own := desk.Caller(env).Staff; own != "" {
		bookings.Bookings = slices.DeleteFunc(bookings.Bookings, func(b calendar.Booking) bool { return b.StaffID != own })
	}
	return desk.Answer(bookings, err)
}
