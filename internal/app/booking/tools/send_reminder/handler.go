// Package sendreminder is the tool send_reminder: a customer reminded of a booking.
package sendreminder

import (
	"cmp"
	"context"
	_ "embed" // the two files beside this one
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/bookingsql"
	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/desk"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/people"
	"github.com/ratiba/ratiba/internal/tool"
)

//go:embed definition.json
var definition []byte

//go:embed metadata.yaml
var metadata []byte

// life is how long a reminder may wait to be sent.
const life = 6 * time.Hour

// Tool returns the tool over the business's address book.
func Tool(book people.Book) tool.Tool {
	h := handler{book}
	return tool.Tool{Definition: definition, Metadata: metadata, Handler: tool.Typed(h.handle), Args: calendar.SendReminderArgs{}}
}

type handler struct{ book people.Book }

func (h handler) handle(ctx context.Context, env tool.Env, a calendar.SendReminderArgs) (graph.Result, error) {
	booking, service, err := bookingsql.Reminding(ctx, env.Q, desk.Caller(env), a.BookingID)
	if err != nil {
		return desk.Answer(nil, err)
	}
	p, err := h.book.Get(ctx, env.Q, ids.ContactID(booking.ContactID))
	if fault.CodeOf(err) == fault.NotFound || err == nil && !p.Reachable() {
		return desk.Refuse(calendar.Unreachable)
	}
	if err != nil {
		return graph.Result{}, err
	}
	lang := cmp.Or(p.Language, env.Tenant.Locale)
	text, err := desk.Say(lang, "reminder", env, map[string]any{
		"name": booking.Name, "service": service.In(lang), "staff": booking.StaffName, "start": booking.Start, "code": booking.Code,
	})
	if err != nil {
		return graph.Result{}, err
	}
	today := calendar.DateIn(env.Now, env.Tenant.Location())
	expires := env.Now.Add(life)
	if booking.Start.Before(expires) {
		expires = booking.Start
	}
	err = env.Enqueue(ctx, tool.Effect{
		Lane: "whatsapp", Contact: p.ID, Origin: outbox.Reminder, Kind: outbox.SendMessage, Key: "reminder:" + booking.ID + ":" + today.String(),
		Payload: people.Letter(p, desk.Number(env, p.Number), people.Notice, lang, text, env.Now), Expires: expires,
	})
	return desk.Answer(calendar.Reminded{
		BookingID: booking.ID, Name: booking.Name, Start: booking.Start, Template: !p.InWindow(env.Now),
	}, err)
}
