// Package upsertcontact is the tool upsert_contact: a customer added, or what is kept of one changed.
package upsertcontact

import (
	"context"
	_ "embed" // the two files beside this one

	"github.com/ratiba/ratiba/internal/app/booking/bookingsql"
	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/desk"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/people"
	"github.com/ratiba/ratiba/internal/tool"
)

//go:embed definition.json
var definition []byte

//go:embed metadata.yaml
var metadata []byte

// Tool returns the tool over the business's address book.
func Tool(book people.Book) tool.Tool {
	h := handler{book}
	return tool.Tool{Definition: definition, Metadata: metadata, Handler: tool.Typed(h.handle), Args: calendar.UpsertContactArgs{}}
}

type handler struct{ book people.Book }

// handle writes an entry. Staff change those who come to them and add new ones.
func (h handler) handle(ctx context.Context, env tool.Env, a calendar.UpsertContactArgs) (graph.Result, error) {
	fresh := ids.ContactID(env.IDs.New())
	p, err := h.book.Put(ctx, env.Tx, people.Entry{
		ID: ids.ContactID(a.ContactID), Phone: a.Phone, Name: a.Name, Language: a.Language, Announcements: a.Announcements,
	}, fresh, env.Now)
	if code := fault.CodeOf(err); code == fault.NotFound || code == fault.Conflict || code == fault.Invalid {
		return tool.Conflict(calendar.NoSuchContact, fault.SentenceOf(err), "look the customer up first", nil)
	}
	if err != nil {
		return graph.Result{}, err
	}
	if own := desk.Caller(env).Staff; own != "" && p.ID != fresh {
		theirs, err := bookingsql.Visitors(ctx, env.Q, own, []string{string(p.ID)})
		if err != nil {
			return graph.Result{}, err
		}
		if !theirs[string(p.ID)] {
			return desk.Refuse(calendar.NotYours)
		}
	}
	return tool.OK(desk.Contact(p))
}
