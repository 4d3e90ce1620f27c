package turn

import (
	"context"

	"github.com/ratiba/ratiba/internal/understand"
)

// requestTurn hands over because of what the customer wrote: they ask for a
// person, or say what a policy keeps from an assistant. Code decides it, on the
// first ask, whatever the graph's state; no model is asked.
func (r *run) requestTurn(ctx context.Context) error {
	// No model is asked, but the answer is in the language of the request.
	in := understand.Tier0(understand.Request{
		Messages: r.batch.Messages(), Now: r.now, Zone: r.b.zone, Region: r.b.Tenant.Country, Locale: r.b.Tenant.Locale,
		Previous: r.previous(),
	})
	r.th.Language, r.contact.Language = in.Language, in.Language
	return r.handOver(ctx, *r.called())
}
