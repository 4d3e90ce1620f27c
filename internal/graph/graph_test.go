package graph_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ratiba/ratiba/internal/graph"
)

type state struct{ Guests int }

type (
	in  = graph.In[state]
	out = graph.Out[state]
	def = graph.Def[state]
)

func rest(at graph.Name) func(in) out {
	return func(i in) out { return out{State: i.State, Rest: at} }
}

func stay(i in) graph.Name { return i.Node }

// sound returns a definition without a defect: ask, pay, done.
func sound() def {
	return def{
		Name: "table", Version: 3, Start: "ask", Route: stay,
		Nodes: []graph.Node[state]{
			{Name: "ask", Edges: []graph.Name{"ask", "pay"}, Step: rest("ask")},
			{Name: "pay", Edges: []graph.Name{"ask", "done"}, Step: rest("done")},
			{Name: "done", End: true},
		},
	}
}

var sentinels = []error{
	graph.ErrNoStart, graph.ErrNoRoute, graph.ErrDuplicateNode, graph.ErrNoStep, graph.ErrUnknownTarget, graph.ErrDuplicateEdge,
	graph.ErrUnreachable, graph.ErrNoWayOut, graph.ErrEndHasEdge, graph.ErrNoEnd,
}

func TestNewNamesEachDefect(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		spoil func(d *def)
		want  []error // exactly these
		about string  // what the message points at
	}{
		{"the start is not in the table", func(d *def) { d.Start = "lost"; d.Routes = []graph.Name{"ask"} }, []error{graph.ErrNoStart}, "lost"},
		{"there is no route function", func(d *def) { d.Route = nil }, []error{graph.ErrNoRoute}, "table"},
		{"two nodes have one name", func(d *def) { d.Nodes = append(d.Nodes, d.Nodes[1]) }, []error{graph.ErrDuplicateNode}, "pay"},
		{"a node has no step", func(d *def) { d.Nodes[1].Step = nil }, []error{graph.ErrNoStep}, "pay"},
		{"an edge leads nowhere", func(d *def) { d.Nodes[0].Edges = append(d.Nodes[0].Edges, "moon") }, []error{graph.ErrUnknownTarget}, "ask -> moon"},
		{"a route leads nowhere", func(d *def) { d.Routes = []graph.Name{"moon"} }, []error{graph.ErrUnknownTarget}, "moon"},
		{"an edge is named twice", func(d *def) { d.Nodes[0].Edges = append(d.Nodes[0].Edges, "pay") }, []error{graph.ErrDuplicateEdge}, "ask -> pay"},
		{"a node is never reached", func(d *def) {
			d.Nodes = append(d.Nodes, graph.Node[state]{Name: "island", Edges: []graph.Name{"done"}, Step: rest("done")})
		}, []error{graph.ErrUnreachable}, "island"},
		{
			"a node has no way out", func(d *def) { d.Nodes[1].Edges = nil; d.Nodes[0].Edges = append(d.Nodes[0].Edges, "done") },
			[]error{graph.ErrNoWayOut, graph.ErrNoEnd},
			"pay",
		},
		{"an end goes on", func(d *def) { d.Nodes[2].Edges = []graph.Name{"ask"} }, []error{graph.ErrEndHasEdge}, "done"},
		{"a circle never ends", func(d *def) {
			d.Nodes[0].Edges = append(d.Nodes[0].Edges, "loop")
			d.Nodes = append(d.Nodes, graph.Node[state]{Name: "loop", Edges: []graph.Name{"loop"}, Step: rest("loop")})
		}, []error{graph.ErrNoEnd}, "loop"},
		{
			"several defects are named at once", func(d *def) { d.Route = nil; d.Nodes[0].Step = nil; d.Routes = []graph.Name{"moon"} },
			[]error{graph.ErrNoRoute, graph.ErrNoStep, graph.ErrUnknownTarget},
			"moon",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := sound()
			tt.spoil(&d)
			g, err := graph.New(d)
			if err == nil || g != nil {
				t.Fatalf("New: got a graph %v and error %v, want a refusal", g, err)
			}
			for _, s := range sentinels {
				if got, want := errors.Is(err, s), slices.Contains(tt.want, s); got != want {
					t.Errorf("errors.Is(err, %q) = %v, want %v; err: %v", s, got, want, err)
				}
			}
			if !strings.Contains(err.Error(), tt.about) {
				t.Errorf("error %q does not name %q", err, tt.about)
			}
		})
	}
}

func TestNewAcceptsASoundGraph(t *testing.T) {
	t.Parallel()
	g, err := graph.New(sound())
	if err != nil {
		t.Fatal(err)
	}
	if g.Name() != "table" || g.Version() != 3 || g.Start() != "ask" {
		t.Errorf("got %s %d %s, want table 3 ask", g.Name(), g.Version(), g.Start())
	}
	if g.Ends("ask") || !g.Ends("done") || g.Ends("moon") {
		t.Error("Ends: want only done to end the thread")
	}
}

func TestBegin(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		at   graph.Name // where the thread rests
		to   graph.Name // what the route function says
		want graph.Name
		err  error
	}{
		{"the route keeps the resting node", "pay", "pay", "pay", nil},
		{"the route chooses a declared node", "ask", "pay", "pay", nil},
		{"the route chooses a node it does not declare", "ask", "done", "", graph.ErrUndeclaredRoute},
		{"the route invents a node", "ask", "moon", "", graph.ErrUndeclaredRoute},
		{"the thread rests at a node that is gone", "moon", "pay", "", graph.ErrUnknownNode},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := sound()
			d.Routes = []graph.Name{"pay"}
			d.Route = func(in) graph.Name { return tt.to }
			g := must(t, d)
			got, err := g.Begin(in{Node: tt.at})
			if got != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("Begin = %q, %v; want %q, %v", got, err, tt.want, tt.err)
			}
		})
	}
}

func TestStep(t *testing.T) {
	t.Parallel()
	write := func(success, conflict graph.Name) out {
		return out{Write: &graph.Write{Call: graph.Call{Tool: "hold_slot"}, Success: success, Conflict: conflict}}
	}
	tests := []struct {
		name string
		at   graph.Name
		out  out
		err  error
	}{
		{"rests at itself", "ask", out{Rest: "ask"}, nil},
		{"goes on along an edge", "ask", out{Go: "pay"}, nil},
		{"asks for a read", "ask", out{Reads: []graph.Call{{Tool: "list"}}}, nil},
		{"writes along two edges", "ask", write("pay", "ask"), nil},
		{"rests nowhere", "ask", out{}, graph.ErrUndeclaredEdge},
		{"rests off its edges", "ask", out{Rest: "done"}, graph.ErrUndeclaredEdge},
		{"goes on off its edges", "ask", out{Go: "done"}, graph.ErrUndeclaredEdge},
		{"writes with an undeclared success", "ask", write("done", "ask"), graph.ErrUndeclaredEdge},
		{"writes with an undeclared conflict", "ask", write("pay", "done"), graph.ErrUndeclaredEdge},
		{"writes without a conflict edge", "ask", write("pay", ""), graph.ErrUndeclaredEdge},
		{"runs an end", "done", out{}, graph.ErrUnknownNode},
		{"runs a node that is gone", "moon", out{}, graph.ErrUnknownNode},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := sound()
			for i := range d.Nodes[:2] {
				d.Nodes[i].Step = func(in) out { return tt.out }
			}
			got, err := must(t, d).Step(in{Node: tt.at})
			if !errors.Is(err, tt.err) {
				t.Fatalf("Step: got error %v, want %v", err, tt.err)
			}
			want := tt.out
			if tt.err != nil {
				want = out{}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Step (-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever route and step functions answer, a turn stays on declared nodes and
// edges.
func TestBeginAndStepNeverLeaveTheTable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		names := []graph.Name{"a", "b", "c", "d", "end", "nowhere", ""}
		name := rapid.SampledFrom(names)
		d := def{Name: "random", Start: "a", Routes: []graph.Name{"b"}}
		edges := map[graph.Name][]graph.Name{}
		for _, n := range names[:4] {
			edges[n] = append([]graph.Name{"end"}, rapid.SliceOfDistinct(rapid.SampledFrom(names[:4]), rapid.ID).Draw(rt, "edges")...)
		}
		edges["a"] = names[:5] // everything can be reached
		d.Route = func(in) graph.Name { return name.Draw(rt, "route") }
		for _, n := range names[:4] {
			d.Nodes = append(d.Nodes, graph.Node[state]{Name: n, Edges: edges[n], Step: func(in) out {
				switch rapid.IntRange(0, 2).Draw(rt, "move") {
				case 0:
					return out{Go: name.Draw(rt, "go"), Rest: name.Draw(rt, "rest")}
				case 1:
					return out{Write: &graph.Write{Success: name.Draw(rt, "success"), Conflict: name.Draw(rt, "conflict")}}
				}
				return out{Rest: name.Draw(rt, "rest")}
			}})
		}
		d.Nodes = append(d.Nodes, graph.Node[state]{Name: "end", End: true})
		g, err := graph.New(d)
		if err != nil {
			rt.Fatal(err)
		}
		at := name.Draw(rt, "resting")
		begun, err := g.Begin(in{Node: at})
		if err != nil {
			return
		}
		if begun != at && begun != "b" {
			rt.Fatalf("Begin led from %q to %q", at, begun)
		}
		o, err := g.Step(in{Node: begun})
		if err != nil {
			return
		}
		taken := []graph.Name{o.Rest}
		switch {
		case o.Write != nil:
			taken = []graph.Name{o.Write.Success, o.Write.Conflict}
		case o.Go != "":
			taken = []graph.Name{o.Go}
		}
		for _, to := range taken {
			if !slices.Contains(edges[begun], to) {
				rt.Fatalf("Step led from %q to %q, declared are %q", begun, to, edges[begun])
			}
		}
	})
}

func TestDigestNamesToolAndExactArguments(t *testing.T) {
	t.Parallel()
	type args struct {
		Amount int `json:"amount"`
	}
	base := graph.Call{Tool: "pay", Args: args{500}}
	if got := (graph.Call{Tool: "pay", Args: args{500}}).Digest(); got != base.Digest() {
		t.Errorf("the same call has two digests: %s and %s", got, base.Digest())
	}
	for name, other := range map[string]graph.Call{
		"other arguments": {Tool: "pay", Args: args{501}}, "another tool": {Tool: "refund", Args: args{500}},
	} {
		if other.Digest() == base.Digest() {
			t.Errorf("%s: want another digest", name)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("arguments that cannot be encoded: want a panic")
		}
	}()
	_ = graph.Call{Tool: "pay", Args: func() {}}.Digest()
}

func TestResults(t *testing.T) {
	t.Parallel()
	call := graph.Call{Tool: "list", Args: map[string]int{"n": 1}}
	results := graph.Results{call.Digest(): {OK: true, Data: json.RawMessage(`{"free":["09:00"]}`)}}
	res, ok := results.Get(call)
	if !ok {
		t.Fatal("Get: the call's result is missing")
	}
	var data struct{ Free []string }
	if err := res.Decode(&data); err != nil || len(data.Free) != 1 {
		t.Errorf("Decode: got %v, %v", data, err)
	}
	if _, ok := results.Get(graph.Call{Tool: "list"}); ok {
		t.Error("Get: a call that was not made has a result")
	}
	if err := (graph.Result{Data: json.RawMessage(`{`)}).Decode(&data); err == nil {
		t.Error("Decode: broken data was read")
	}
}

func TestWhenIsEmptyOnlyWhenNothingWasSaid(t *testing.T) {
	t.Parallel()
	if !(graph.When{DateTo: "2026-01-02", Confidence: 1, Span: "x"}).Empty() {
		t.Error("a range's end alone says nothing")
	}
	for _, w := range []graph.When{{Date: "2026-01-02"}, {Time: "15:00"}, {From: "15:00"}, {To: "18:00"}, {Options: []string{"03:00"}}, {Fault: "past"}} {
		if w.Empty() {
			t.Errorf("%+v: want not empty", w)
		}
	}
}

func must(t *testing.T, d def) *graph.Graph[state] {
	t.Helper()
	g, err := graph.New(d)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func ExampleNew() {
	type order struct{ Paid bool }
	_, err := graph.New(graph.Def[order]{
		Name: "order", Version: 1, Start: "ask",
		Route: func(in graph.In[order]) graph.Name { return in.Node },
		Nodes: []graph.Node[order]{
			{Name: "ask", Edges: []graph.Name{"ask", "pay"}, Step: func(in graph.In[order]) graph.Out[order] {
				return graph.Out[order]{State: in.State, Rest: "ask", Say: []graph.Say{{Text: "please_pay"}}}
			}},
			{Name: "done", End: true},
		},
	})
	fmt.Println(err)
	// Output:
	// graph: an edge leads to a node that does not exist: ask -> pay
	// graph: a node cannot reach any node that ends the thread: ask
	// graph: a node cannot be reached: done
}

func ExampleGraph_Step() {
	g, err := graph.New(sound())
	if err != nil {
		fmt.Println(err)
		return
	}
	at, err := g.Begin(in{Node: g.Start()})
	fmt.Println(at, err)
	o, err := g.Step(in{Node: "pay", State: state{Guests: 2}})
	fmt.Println(o.Rest, o.State.Guests, g.Ends(o.Rest), err)
	// Output:
	// ask <nil>
	// done 2 true <nil>
}

func ExampleGraph_Diagram() {
	d := sound()
	d.Routes = []graph.Name{"pay"}
	g, err := graph.New(d)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(g.Diagram())
	// Output:
	// stateDiagram-v2
	//     [*] --> ask
	//     [*] --> pay: route
	//     ask --> ask
	//     ask --> pay
	//     done --> [*]
	//     pay --> ask
	//     pay --> done
}
