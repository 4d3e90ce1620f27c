package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ratiba/ratiba/internal/app"
	"github.com/ratiba/ratiba/internal/graph"
)

// errEndless is a graph that does not come to rest.
var errEndless = errors.New("turn: the graph does not come to rest")

// stepped is what a walk through the graph decided.
type stepped struct {
	rest     graph.Name
	state    json.RawMessage
	says     []graph.Say
	timers   []graph.Timer
	tasks    []graph.Task
	handover *graph.Handover
	rejected bool
	reprompt bool
	known    bool // the graph understood the words by itself
}

// walk takes the turn's input through the graph until it rests. It is a pure
// function of the input, the recorded reads and the conflicts known so far.
func (r *run) walk(ctx context.Context, flow app.Flow, node graph.Name, state json.RawMessage) (stepped, error) {
	in := graph.In[json.RawMessage]{
		Node: node, State: state, Input: r.in, Facts: r.facts(), Now: r.now, IDs: r.ids, Results: r.reads,
	}
	if r.assisted() {
		in.Facts.Settings = r.office()
	}
	var s stepped
	at, err := flow.Begin(in)
	if err != nil {
		return s, fmt.Errorf("begin: %w", err)
	}
	in.Node = at
	for range maxSteps {
		draws := r.ids.Clone() // a node that runs again after its reads draws the same
		in.IDs = draws
		out, err := flow.Step(in)
		if err != nil {
			return s, fmt.Errorf("step: %w", err)
		}
		if len(out.Reads)+len(out.Previews) > 0 {
			if err := r.read(ctx, out.Reads, out.Previews); err != nil {
				return s, err
			}
			continue
		}
		r.ids = draws
		s.take(out)
		switch {
		case out.Write != nil:
			in.Node, in.Conflict = r.write(*out.Write)
		case out.Go != "":
			in.Node, in.Conflict = out.Go, nil
		default:
			s.rest, s.state = out.Rest, out.State
			return s, nil
		}
		in.State = out.State
	}
	return s, fmt.Errorf("%w: at %s", errEndless, in.Node)
}

func (s *stepped) take(out graph.Out[json.RawMessage]) {
	s.says = append(s.says, out.Say...)
	s.timers = append(s.timers, out.Timers...)
	s.tasks = append(s.tasks, out.Tasks...)
	s.rejected = s.rejected || out.Rejected
	s.reprompt = s.reprompt || out.Reprompt
	s.known = s.known || out.Understood
	if out.Handover != nil {
		s.handover = out.Handover
	}
}

// write notes a write for the commit and goes on along its success edge; one
// that is known to be refused goes along its conflict edge.
func (r *run) write(w graph.Write) (graph.Name, *graph.Result) {
	if refused, ok := r.conflicts[w.Digest()]; ok {
		r.tools = append(r.tools, ToolCall{Call: w.Call, Result: refused, Actor: r.actor().ID})
		return w.Conflict, &refused
	}
	r.writes = append(r.writes, w)
	return w.Success, nil
}

func (r *run) facts() graph.Facts {
	f := r.b.Facts()
	f.Contact = graph.ContactFacts{
		ID: string(r.snap.Contact.ID), Name: r.snap.Contact.Name, Phone: r.snap.Contact.Phone(), Payer: r.snap.Contact.Payer(),
	}
	return f
}

// Facts are what steps may read about the business, without a contact.
func (b Business) Facts() graph.Facts {
	t := b.Tenant
	return graph.Facts{
		Tenant: t.Slug, Business: t.Name, Assistant: t.Assistant, Locale: t.Locale, Currency: t.Currency, Zone: b.zone,
		Settings: b.section.Settings,
	}
}
