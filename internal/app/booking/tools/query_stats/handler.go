// Package querystats is the tool query_stats: reports computed by the database, never by a model.
package querystats

import (
	"context"
	_ "embed" // the two files beside this one

	"github.com/ratiba/ratiba/internal/app/booking/bookingsql"
	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/desk"
	"github.com/ratiba/ratiba/internal/broadcast"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/tool"
)

//go:embed definition.json
var definition []byte

//go:embed metadata.yaml
var metadata []byte

// lastBroadcasts is how many announcements a report lists.
const lastBroadcasts = 10

// Tool returns the tool.
func Tool(ledger broadcast.Ledger) tool.Tool {
	h := handler{ledger}
	return tool.Tool{Definition: definition, Metadata: metadata, Handler: tool.Typed(h.handle), Args: calendar.QueryStatsArgs{}}
}

type handler struct{ broadcasts broadcast.Ledger }

// Broadcasts is the report about announcements.
type Broadcasts struct {
	Report     calendar.Report      `json:"report"`
	Broadcasts []broadcast.Progress `json:"broadcasts"`
}

func (h handler) handle(ctx context.Context, env tool.Env, a calendar.QueryStatsArgs) (graph.Result, error) {
	if a.Report != calendar.ReportBroadcasts {
		stats, err := bookingsql.Stats(ctx, env.Q, desk.Caller(env), env.Tenant.Currency, a)
		return desk.Answer(stats, err)
	}
	if env.Actor.Role != tenant.Owner {
		return desk.Refuse(calendar.OwnersOnly)
	}
	last, err := h.broadcasts.Progress(ctx, env.Q, "", lastBroadcasts)
	return desk.Answer(Broadcasts{Report: a.Report, Broadcasts: append([]broadcast.Progress{}, last...)}, err)
}
