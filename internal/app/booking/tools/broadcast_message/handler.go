// Package broadcastmessage is the tool broadcast_message: one text to every
// customer who wants it. The recipients are written down with the call; the
// messages follow, a few at a time.
package broadcastmessage

import (
	"context"
	_ "embed" // the two files beside this one

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/desk"
	"github.com/ratiba/ratiba/internal/broadcast"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/tool"
)

//go:embed definition.json
var definition []byte

//go:embed metadata.yaml
var metadata []byte

// Tool returns the tool over the business's broadcasts.
func Tool(ledger broadcast.Ledger) tool.Tool {
	h := handler{ledger}
	return tool.Tool{
		Definition: definition, Metadata: metadata, Handler: tool.Guarded(h.handle), Args: calendar.BroadcastArgs{}, Preview: tool.Typed(h.preview),
	}
}

type handler struct{ ledger broadcast.Ledger }

func order(env tool.Env, a calendar.BroadcastArgs) broadcast.Order {
	o := broadcast.Order{ID: a.BroadcastID, Text: a.Text, Days: a.Days, By: env.Actor.ID, Locale: env.Tenant.Locale, Number: desk.Number(env, "")}
	for _, admin := range env.Tenant.Admins {
		o.Admins = append(o.Admins, admin.Phone)
	}
	return o
}

// preview counts whom the text would reach, by which way, and who is left out.
func (h handler) preview(ctx context.Context, env tool.Env, a calendar.BroadcastArgs) (graph.Result, error) {
	counts, err := h.ledger.Count(ctx, env.Q, order(env, a), env.Now)
	if err == nil && counts.Recipients() == 0 {
		return desk.Refuse(calendar.NobodyToTell)
	}
	return desk.Answer(counts.Priced(env.Tenant.AnnouncementCost), err)
}

func (h handler) handle(ctx context.Context, env tool.Env, a calendar.BroadcastArgs) (graph.Result, error) {
	o := order(env, a)
	counts, fresh, err := h.ledger.Start(ctx, env.Tx, o, env.Now)
	if err != nil {
		return graph.Result{}, err
	}
	if !fresh {
		known, err := h.ledger.Progress(ctx, env.Q, o.ID, 1)
		switch {
		case err != nil:
			return graph.Result{}, err
		case len(known) == 0:
			return desk.Refuse(calendar.NobodyToTell)
		case known[0].Text != o.Text:
			return desk.Refuse(calendar.AlreadyDone)
		}
		return tool.OK(counts.Priced(env.Tenant.AnnouncementCost))
	}
	err = env.Enqueue(ctx, tool.Effect{
		Lane: broadcast.Lane, Origin: outbox.System, Kind: broadcast.Effect, Key: "broadcast:" + o.ID + ":step:0", Payload: broadcast.Batch{ID: o.ID},
	})
	return desk.Answer(counts.Priced(env.Tenant.AnnouncementCost), err)
}
