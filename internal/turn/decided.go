package turn

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/thread"
)

// decidedTurn goes on with what waited for a person's decision. While a human
// is in the chat the decision waits for the hand-back, as payments do.
func (r *run) decidedTurn(ctx context.Context) error {
	e := r.batch.Event()
	switch {
	case r.before.Driver == thread.AgentDriving && r.unreadable == nil:
		return r.stepDecided(ctx, e.Name, e.Data)
	case r.before.Driver == thread.AgentDriving:
		if err := r.unreadableTurn(ctx); err != nil {
			return err
		}
	}
	decided := maps.Clone(r.th.Handoff.Decided)
	if decided == nil {
		decided = map[string]json.RawMessage{}
	}
	decided[e.Name] = e.Data
	r.th.Handoff.Decided = decided
	return nil
}

// asked reports whether people have been asked something for the thread that
// nobody decided yet.
func (r *run) asked() bool {
	return slices.ContainsFunc(r.snap.Items, func(it mailbox.Item) bool {
		e := it.Event
		return e != nil && e.Kind == mailbox.Timer && e.Scope == r.before.ID && strings.HasPrefix(e.Name, Undecided)
	})
}

// stepDecided takes a decision through the graph.
func (r *run) stepDecided(ctx context.Context, escalation string, decision json.RawMessage) error {
	r.in = graph.Input{Language: r.th.Language, LanguageConfidence: 1, Confidence: 1, Event: &graph.Event{
		Kind: mailbox.Decided, Name: escalation, Data: decision, At: r.now,
	}}
	s, err := r.walk(ctx, r.app.Flow, graph.Name(r.th.Node), r.th.State)
	if err != nil {
		return err
	}
	r.after(func() { r.log(ctx, slogInfo, "escalation.resumed", attr("escalation_id", escalation)) })
	return r.keep(ctx, s)
}

// stepHeld takes the decisions that came under a human through the graph. What
// ended the thread ends that; a thread that this build still cannot read goes
// back to people with them.
func (r *run) stepHeld(ctx context.Context, decided map[string]json.RawMessage) error {
	if len(decided) > 0 && r.unreadable != nil {
		if err := r.unreadableTurn(ctx); err != nil {
			return err
		}
		r.th.Handoff.Decided = decided
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(decided)) {
		if !r.th.Open() {
			return nil
		}
		if err := r.stepDecided(ctx, id, decided[id]); err != nil {
			return err
		}
	}
	return nil
}
