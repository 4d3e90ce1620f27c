package app

import (
	"encoding/json"
	"fmt"

	"github.com/ratiba/ratiba/internal/graph"
)

// UpgradeStep brings a checkpoint one version forward.
type UpgradeStep func(node graph.Name, state json.RawMessage) (graph.Name, json.RawMessage, error)

// Erase makes a Flow of a typed graph. upgrades[v] brings version v to v+1;
// there must be one for each version that may still be stored.
func Erase[S any](g *graph.Graph[S], upgrades map[int]UpgradeStep) Flow {
	return erased[S]{g: g, upgrades: upgrades}
}

type erased[S any] struct {
	g        *graph.Graph[S]
	upgrades map[int]UpgradeStep
}

func (e erased[S]) Name() string              { return e.g.Name() }
func (e erased[S]) Version() int              { return e.g.Version() }
func (e erased[S]) Ends(node graph.Name) bool { return e.g.Ends(node) }

func (e erased[S]) Start() (graph.Name, json.RawMessage) {
	var zero S
	state, err := json.Marshal(zero)
	if err != nil {
		panic(fmt.Sprintf("app: state of %s cannot be encoded: %v", e.g.Name(), err)) // the state is the app's own struct
	}
	return e.g.Start(), state
}

func (e erased[S]) Begin(in graph.In[json.RawMessage]) (graph.Name, error) {
	typed, err := decode[S](in)
	if err != nil {
		return "", err
	}
	return e.g.Begin(typed)
}

func (e erased[S]) Step(in graph.In[json.RawMessage]) (graph.Out[json.RawMessage], error) {
	typed, err := decode[S](in)
	if err != nil {
		return graph.Out[json.RawMessage]{}, err
	}
	out, err := e.g.Step(typed)
	if err != nil {
		return graph.Out[json.RawMessage]{}, err
	}
	state := in.State
	if len(out.Reads)+len(out.Previews) == 0 { // else the node runs again with the state it had
		if state, err = json.Marshal(out.State); err != nil {
			return graph.Out[json.RawMessage]{}, fmt.Errorf("encode state at %s: %w", in.Node, err)
		}
	}
	return graph.Out[json.RawMessage]{
		State: state, Reads: out.Reads, Previews: out.Previews, Write: out.Write, Go: out.Go, Rest: out.Rest, Say: out.Say, Timers: out.Timers,
		Tasks: out.Tasks, Handover: out.Handover, Rejected: out.Rejected, Reprompt: out.Reprompt, Understood: out.Understood,
	}, nil
}

func (e erased[S]) Upgrade(version int, node graph.Name, state json.RawMessage) (graph.Name, json.RawMessage, error) {
	for ; version < e.g.Version(); version++ {
		step, ok := e.upgrades[version]
		if !ok {
			return "", nil, fmt.Errorf("upgrade %s: no step from version %d", e.g.Name(), version)
		}
		var err error
		if node, state, err = step(node, state); err != nil {
			return "", nil, fmt.Errorf("upgrade %s from version %d: %w", e.g.Name(), version, err)
		}
	}
	if version > e.g.Version() {
		return "", nil, fmt.Errorf("upgrade %s: checkpoint has version %d, newer than %d", e.g.Name(), version, e.g.Version())
	}
	return node, state, nil
}

func decode[S any](in graph.In[json.RawMessage]) (graph.In[S], error) {
	out := graph.In[S]{
		Node: in.Node, Input: in.Input, Facts: in.Facts, Now: in.Now, IDs: in.IDs, Results: in.Results, Conflict: in.Conflict,
	}
	if err := json.Unmarshal(in.State, &out.State); err != nil {
		return out, fmt.Errorf("decode state at %s: %w", in.Node, err)
	}
	return out, nil
}
