// Package lookupcontact is the tool lookup_contact: customers found by name or phone.
package lookupcontact

import (
	"cmp"
	"context"
	_ "embed" // the two files beside this one
	"slices"

	"github.com/ratiba/ratiba/internal/app/booking/bookingsql"
	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/desk"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/people"
	"github.com/ratiba/ratiba/internal/tool"
)

//go:embed definition.json
var definition []byte

//go:embed metadata.yaml
var metadata []byte

// standard is how many customers are listed unless the caller says.
const standard = 10

// Tool returns the tool over the business's address book.
func Tool(book people.Book) tool.Tool {
	h := handler{book}
	return tool.Tool{Definition: definition, Metadata: metadata, Handler: tool.Typed(h.handle), Args: calendar.LookupContactArgs{}}
}

type handler struct{ book people.Book }

// handle lists customers. Staff find those who come to them.
func (h handler) handle(ctx context.Context, env tool.Env, a calendar.LookupContactArgs) (graph.Result, error) {
	found, err := h.book.Find(ctx, env.Q, a.Query, cmp.Or(a.Limit, standard))
	if err != nil {
		return graph.Result{}, err
	}
	if own := desk.Caller(env).Staff; own != "" {
		var ids []string
		for _, p := range found {
			ids = append(ids, string(p.ID))
		}
		theirs, err := bookingsql.Visitors(ctx, env.Q, own, ids)
		if err != nil {
			return graph.Result{}, err
		}
		found = slices.DeleteFunc(found, func(p people.Person) bool { return !theirs[string(p.ID)] })
	}
	out := calendar.Contacts{Contacts: []calendar.Contact{}}
	for _, p := range found {
		out.Contacts = append(out.Contacts, desk.Contact(p))
	}
	return tool.OK(out)
}
