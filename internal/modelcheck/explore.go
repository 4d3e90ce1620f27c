package modelcheck

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Config says what to explore.
type Config struct {
	Start  string // one of Starts
	Depth  int
	Budget Budget
	Faults Faults
	// Limit bounds the states, 0 for none. A search that reaches it is not
	// exhaustive and says so.
	Limit int
	// Sample is called with paths that reached a new state, one in Every.
	Sample func(path []Action)
	Every  int
}

// Report is what a search found.
type Report struct {
	Start       string
	States      int
	Transitions int
	Depth       int  // of the deepest state
	Ended       bool // nothing was left to do: the depth cut nothing off
	Cut         bool // the limit was reached
	Drivers     map[string]int
	Begin       []Action // from nobody having written to the start
	Path        []Action // from the start to the violation
	Violation   error
}

// String is a line for people.
func (r Report) String() string {
	how := "exhaustive to this depth"
	if r.Ended {
		how = "exhaustive within the budgets"
	}
	if r.Cut {
		how = "cut off"
	}
	return fmt.Sprintf("from %s: %d states, %d transitions, depth %d (%s)", r.Start, r.States, r.Transitions, r.Depth, how)
}

// Trace lists a path, one action a line.
func Trace(path []Action) string {
	var out strings.Builder
	for i, a := range path {
		fmt.Fprintf(&out, "%3d. %s\n", i+1, a)
	}
	return out.String()
}

// node is a state that is to be expanded, and how it was reached.
type node struct {
	s    *state
	step int // its place among the steps
}

// step is the last action of a path; the path goes on at parent.
type step struct {
	parent int32
	action Action
}

// found is what expanding a node came to.
type found struct {
	s      *state
	digest digest
	action Action
	err    error
}

// Explore searches breadth-first from a start.
func Explore(ctx context.Context, cfg Config) (Report, error) {
	k, err := inMemory()
	if err != nil {
		return Report{}, err
	}
	s, path, err := begin(ctx, k, cfg)
	if err != nil {
		return Report{}, err
	}
	x := &search{cfg: cfg, seen: map[digest]bool{s.digest(): true}, steps: []step{{parent: -1}}}
	x.report = Report{Start: cfg.Start, Begin: path, States: 1, Drivers: map[string]int{}}
	level := []node{{s: s}}
	for depth := 0; len(level) > 0 && depth < cfg.Depth && x.report.Violation == nil && !x.report.Cut; depth++ {
		if err := ctx.Err(); err != nil {
			return x.report, err
		}
		level = x.deeper(ctx, level, depth+1)
	}
	x.report.Ended = len(level) == 0 && x.report.Violation == nil && !x.report.Cut
	return x.report, nil
}

// search is one exploration under way.
type search struct {
	cfg    Config
	seen   map[digest]bool
	steps  []step
	report Report
}

// chunk is how many nodes are expanded before their successors are merged: it
// bounds what is in memory twice.
const chunk = 2048

// deeper expands a level and returns the next one.
func (x *search) deeper(ctx context.Context, level []node, depth int) []node {
	var next []node
	for len(level) > 0 {
		part := level[:min(chunk, len(level))]
		results := expandAll(ctx, part)
		for i, fs := range results {
			parent := part[i].step
			part[i].s = nil
			for _, f := range fs {
				x.report.Transitions++
				if f.err != nil {
					x.report.Violation, x.report.Path = f.err, append(x.path(parent), f.action)
					return nil
				}
				if x.seen[f.digest] {
					continue
				}
				x.seen[f.digest] = true
				x.steps = append(x.steps, step{parent: int32(parent), action: f.action}) //nolint:gosec // bounded by memory.
				x.note(f, depth)
				next = append(next, node{s: f.s, step: len(x.steps) - 1})
			}
		}
		level = level[len(part):]
		if x.cfg.Limit > 0 && x.report.States >= x.cfg.Limit {
			x.report.Cut = true
			return nil
		}
	}
	return next
}

func (x *search) note(f found, depth int) {
	x.report.States++
	x.report.Depth = depth
	for _, th := range f.s.mem.threads {
		if th.Open() {
			x.report.Drivers[string(th.Driver)]++
		}
	}
	if x.cfg.Sample != nil && x.report.States%x.cfg.Every == 0 {
		x.cfg.Sample(slices.Concat(x.report.Begin, x.path(len(x.steps)-1)))
	}
}

// path is how a step was reached from the start.
func (x *search) path(at int) []Action {
	var out []Action
	for at > 0 {
		out = append(out, x.steps[at].action)
		at = int(x.steps[at].parent)
	}
	slices.Reverse(out)
	return out
}

// expandAll takes every action of every node, on all processors. The order of
// what it returns is that of the nodes.
func expandAll(ctx context.Context, nodes []node) [][]found {
	out := make([][]found, len(nodes))
	var wg sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		wg.Go(func() {
			for i := w; i < len(nodes); i += workers {
				out[i] = expand(ctx, nodes[i].s)
			}
		})
	}
	wg.Wait()
	return out
}

func expand(ctx context.Context, s *state) []found {
	var out []found
	for _, a := range s.enabled() {
		next := s.clone()
		f := found{action: a, s: next}
		if f.err = next.apply(ctx, a); f.err == nil {
			f.err = next.check()
		}
		if f.err == nil {
			f.digest = next.digest()
		}
		out = append(out, f)
	}
	return out
}
