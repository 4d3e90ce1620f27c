package turn

import (
	"context"
	"unicode/utf8"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/handoff"
	"github.com/ratiba/ratiba/internal/outbox"
)

// tokenRunes is how many characters a token is taken for where no provider has
// counted.
const tokenRunes = 4

// stepsTurn takes what was understood through the graph and decides whether a
// human should go on instead.
func (r *run) stepsTurn(ctx context.Context) error {
	start := r.e.cfg.Clock.Now()
	r.th.Language = r.in.Language
	r.contact.Language = r.in.Language
	if r.contact.Name == "" {
		r.contact.Name = r.in.Name
	}
	if r.contact.Payer() == "" {
		r.contact.PayerPhone = r.in.Phone
	}
	r.snap.Contact.PayerPhone = r.contact.PayerPhone
	r.opens = true
	if r.in.AboutBot {
		if err := r.sayTo(ctx, r.customer(), outbox.Agent, graph.Say{Text: "platform_not_human"}); err != nil {
			return err
		}
		if r.in.Intent == graph.Question || r.in.Intent == graph.Unknown {
			r.armTTL()
			return nil
		}
	}
	s, err := r.walk(ctx, r.b.App.Flow, graph.Name(r.th.Node), r.th.State)
	if err != nil {
		return err
	}
	r.signal = signal(r.in, s)
	r.stage(ctx, "step", start)
	if h := r.evaluate(s); h != nil {
		// What the graph decided is dropped: a human goes on from where it was.
		r.writes, r.lines, r.timers = nil, nil, nil
		r.th.Disclosed = r.before.Disclosed // with the line that said so
		return r.handOver(ctx, *h)
	}
	return r.keep(ctx, s)
}

// confidentUnknown is the confidence above which not knowing is a fault of the
// classifier.
const confidentUnknown = 0.5

func signal(in graph.Input, s stepped) string {
	switch {
	case s.rejected:
		return GraphRejected
	case in.Intent == graph.Unknown && in.Choice == "" && in.Confidence > confidentUnknown:
		return ConfidentUnknown
	}
	return ""
}

// evaluate counts the turn and returns the trigger that fires, if any.
func (r *run) evaluate(s stepped) *graph.Handover {
	t := r.b.Tenant.Thresholds
	r.th.Counters = handoff.Count(r.th.Counters, r.in, t, s.reprompt)
	r.th.Counters.Tokens += utf8.RuneCountInString(r.in.Text) / tokenRunes
	if s.handover != nil {
		return s.handover
	}
	return handoff.Evaluate(r.th.Counters, t)
}
