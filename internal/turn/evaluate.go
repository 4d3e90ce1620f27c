package turn

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/handoff"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/understand"
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
	if r.contact.Name == "" && !r.in.ForOther {
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
	s, err := r.walk(ctx, r.app.Flow, graph.Name(r.th.Node), r.th.State)
	if err != nil {
		return err
	}
	r.signal = signal(r.in, s)
	r.stage(ctx, "step", start)
	if h := r.evaluate(s); h != nil {
		draft := r.draft(s)
		// What the graph decided is dropped: a human goes on from where it was.
		r.writes, r.lines, r.timers = nil, nil, nil
		r.th.Disclosed = r.before.Disclosed // with the line that said so
		if err := r.handOver(ctx, *h); err != nil {
			return err
		}
		r.th.Handoff.Draft = draft
		return nil
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
	asked := len(r.app.Expect(r.before.Node, r.before.State).Slots) > 0
	missed := asked && (s.reprompt || handoff.Unsure(r.in, t))
	in := r.in
	if s.known {
		in.Confidence, missed = 1, false
	}
	r.th.Counters = handoff.Count(r.th.Counters, in, t, missed)
	r.th.Counters.Tokens += utf8.RuneCountInString(r.in.Text) / tokenRunes
	asks := r.in.Intent == graph.Human && r.in.Confidence >= understand.Sure // in words that code does not know
	return handoff.Evaluate(handoff.Facts{Asked: asks, Counters: r.th.Counters, Graph: s.handover}, t)
}

// draft is what the agent would have said, for a human to send as it is: only
// words that are true without anything the graph would have done.
func (r *run) draft(s stepped) string {
	if len(r.writes) > 0 || s.reprompt {
		return ""
	}
	var out []string
	for _, say := range s.says {
		if say.To != graph.ToContact || say.Confirm != nil {
			continue
		}
		text, err := r.render(r.th.Language, say.Text, say.Facts)
		if err != nil {
			return ""
		}
		out = append(out, text)
	}
	return strings.Join(out, "\n\n")
}
