// Package graph runs a deterministic state graph, one pure step at a time.
//
// A graph is a table of nodes with declared edges, checked when it is built:
// each defect has its own sentinel error. A node is a pure function of state,
// input, results and time; it asks for reads and writes as values and never
// performs them. The package knows no model, clock, store or context, and
// imports only leaves.
package graph

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/ids"
)

// The defects a graph is checked for, and the faults a step can have.
var (
	ErrNoStart         = errors.New("graph: the start node is not in the table")
	ErrNoRoute         = errors.New("graph: no route function")
	ErrDuplicateNode   = errors.New("graph: two nodes have one name")
	ErrNoStep          = errors.New("graph: a node has no step function")
	ErrUnknownTarget   = errors.New("graph: an edge leads to a node that does not exist")
	ErrDuplicateEdge   = errors.New("graph: a node names one edge twice")
	ErrUnreachable     = errors.New("graph: a node cannot be reached")
	ErrNoWayOut        = errors.New("graph: a node that does not end the thread has no edge")
	ErrEndHasEdge      = errors.New("graph: a node that ends the thread has an edge")
	ErrNoEnd           = errors.New("graph: a node cannot reach any node that ends the thread")
	ErrUnknownNode     = errors.New("graph: the thread rests at a node this graph does not have")
	ErrUndeclaredEdge  = errors.New("graph: a step took an edge its node does not declare")
	ErrUndeclaredRoute = errors.New("graph: the route function chose a node it does not declare")
)

// Name is a node's name: the state a thread rests at.
type Name string

// Facts are what every step may read about the business. They are recorded
// with the turn by the tenant's version.
type Facts struct {
	Tenant    string
	Business  string
	Assistant string
	Locale    string
	Currency  string
	Zone      *time.Location
	Contact   ContactFacts
	Settings  any // what the app made of its own section of the tenant's definition; never changed
}

// ContactFacts are what a step may read about the contact.
type ContactFacts struct {
	ID    string
	Name  string
	Phone string // "" when only a business-scoped id is known
	Payer string // phone a payment prompt would go to, "" when none is known
}

// In is what a step reads. IDs draws recorded randomness: the same turn draws
// the same values on replay.
type In[S any] struct {
	Node     Name
	State    S
	Input    Input
	Facts    Facts
	Now      time.Time
	IDs      *ids.Source
	Results  Results
	Conflict *Result // set when this node was entered by a write's conflict edge
}

// Call names a tool and its arguments.
type Call struct {
	Tool string
	Args any // a struct the tool's schema describes; encoded as JSON
}

// Digest identifies a call by tool and exact arguments.
func (c Call) Digest() string {
	args, err := json.Marshal(c.Args)
	if err != nil {
		panic(fmt.Sprintf("graph: arguments of %s cannot be encoded: %v", c.Tool, err)) // arguments are our own structs
	}
	return DigestOf(c.Tool, args)
}

// DigestOf is the digest of a call whose arguments are encoded already.
func DigestOf(tool string, args json.RawMessage) string {
	sum := sha256.Sum256(append([]byte(tool+"\n"), args...))
	return hex.EncodeToString(sum[:])
}

// Result is what a tool answered. A failure a caller can act on is a result
// with OK false.
type Result struct {
	OK       bool            `json:"ok"`
	Code     string          `json:"code,omitempty"`     // slot_taken, outside_hours, ...
	Sentence string          `json:"sentence,omitempty"` // for people
	Next     string          `json:"next,omitempty"`     // suggested next action
	Data     json.RawMessage `json:"data,omitempty"`
}

// Decode reads the result's data into v.
func (r Result) Decode(v any) error {
	if err := json.Unmarshal(r.Data, v); err != nil {
		return fmt.Errorf("decode tool result: %w", err)
	}
	return nil
}

// Results holds what the reads of this turn answered, by the call's digest.
type Results map[string]Result

// Get returns the result of a call, if it was made.
func (r Results) Get(c Call) (Result, bool) {
	res, ok := r[c.Digest()]
	return res, ok
}

// Choice is something to tap. Its title is a text of the app's catalogue, or
// literal when Literal is set.
type Choice struct {
	ID          string
	Text        string
	Literal     string
	Facts       map[string]any
	Description string // list rows only, literal
}

// Audience is whom something is said to.
type Audience string

// Audiences.
const (
	ToContact Audience = ""
	ToAdmins  Audience = "admins"
)

// Say is something to say, not yet words: a text of the app's catalogue with
// the facts that go into it.
type Say struct {
	To        Audience
	Text      string
	Facts     map[string]any
	Choices   []Choice
	ListLabel string   // text key; with it the choices are a list, without it buttons
	Phrase    bool     // a model may phrase it; it must keep the facts
	AskPhone  bool     // asks for the sender's phone with one tap where the channel can
	Confirm   *Confirm // this text is a summary whose yes lets Calls happen
}

// Confirm binds a yes to exact calls. The engine puts a nonce into the id of
// the choice named Yes and records what was shown.
type Confirm struct {
	Calls []Call
	Yes   string // id of the choice that says yes
	Shown any    // the facts the person sees, recorded with the confirmation
}

// Write is a call that happens inside the commit. Its result is known only
// there: the step goes on along Success, and a conflict rolls the commit back
// and enters Conflict instead.
type Write struct {
	Call
	Success  Name
	Conflict Name
	Policy   string // names the recorded rule that confirms an irreversible call in place of a yes
}

// Timer is a wake-up that outlives the process. Setting a timer replaces the
// thread's timer of that name; a zero At removes it.
type Timer struct {
	Name string
	At   time.Time
	Data any
}

// Task is work for a person of the business: a call-back, a refund, a mismatch.
// Key makes it once: raising a task whose key exists changes nothing.
type Task struct {
	Kind   string // callback, refund, mismatch
	Key    string
	Detail string
	Due    time.Time
}

// Handover asks for a human.
type Handover struct{ Signal, Detail string }

// Out is what a step decides. Exactly one of Reads or Previews, Write, Go and rest (none
// of them) moves the turn on.
type Out[S any] struct {
	State    S
	Reads    []Call // perform these, then run this node again with the state it had
	Previews []Call // with the reads: what these calls would do, in Results under their own digests
	Write    *Write
	Go       Name // run that node now, in the same turn
	Rest     Name // wait there for the next turn; an end node closes the thread
	Say      []Say
	Timers   []Timer
	Tasks    []Task
	Handover *Handover
	Rejected bool // the input's intent is impossible here: a signal about the classifier
	Reprompt bool // the same slot is asked for again
	// Understood reports that the graph knew the words by itself, however unsure
	// the input's intent is: nobody needs to be called because of them.
	Understood bool
}

// Node is one row of the table.
type Node[S any] struct {
	Name  Name
	Edges []Name // where a step of this node may lead, itself included
	End   bool   // the thread closes here
	Step  func(In[S]) Out[S]
}

// Def is a graph before it is checked.
type Def[S any] struct {
	Name    string
	Version int
	Start   Name
	Nodes   []Node[S]
	// Route says at which node a turn begins, given where the thread rests: a
	// question in mid-booking, a payment's outcome. It may choose the resting
	// node itself or one of Routes.
	Route  func(In[S]) Name
	Routes []Name
}

// Graph is a checked graph. It is immutable and safe for concurrent use.
type Graph[S any] struct {
	def   Def[S]
	nodes map[Name]Node[S]
}

// New checks a definition and returns every defect found, joined.
func New[S any](def Def[S]) (*Graph[S], error) {
	g := &Graph[S]{def: def, nodes: make(map[Name]Node[S], len(def.Nodes))}
	var errs []error
	add := func(sentinel error, what Name) { errs = append(errs, fmt.Errorf("%w: %s", sentinel, what)) }
	for _, n := range def.Nodes {
		if _, dup := g.nodes[n.Name]; dup {
			add(ErrDuplicateNode, n.Name)
		}
		g.nodes[n.Name] = n
		if n.Step == nil && !n.End {
			add(ErrNoStep, n.Name)
		}
	}
	if _, ok := g.nodes[def.Start]; !ok {
		add(ErrNoStart, def.Start)
	}
	if def.Route == nil {
		add(ErrNoRoute, Name(def.Name))
	}
	for _, r := range def.Routes {
		if _, ok := g.nodes[r]; !ok {
			add(ErrUnknownTarget, r)
		}
	}
	g.checkEdges(add)
	g.checkReach(add)
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return g, nil
}

func (g *Graph[S]) checkEdges(add func(error, Name)) {
	for _, n := range g.def.Nodes {
		seen := map[Name]bool{}
		for _, e := range n.Edges {
			if _, ok := g.nodes[e]; !ok {
				add(ErrUnknownTarget, n.Name+" -> "+e)
			}
			if seen[e] {
				add(ErrDuplicateEdge, n.Name+" -> "+e)
			}
			seen[e] = true
		}
		switch out := len(n.Edges) > 0; {
		case n.End && out:
			add(ErrEndHasEdge, n.Name)
		case !n.End && !out:
			add(ErrNoWayOut, n.Name)
		}
	}
}

func (g *Graph[S]) checkReach(add func(error, Name)) {
	reached := g.reach(append([]Name{g.def.Start}, g.def.Routes...))
	for _, n := range g.def.Nodes {
		if !reached[n.Name] {
			add(ErrUnreachable, n.Name)
		}
		if n.End {
			continue
		}
		ends := false
		for m := range g.reach([]Name{n.Name}) {
			ends = ends || g.nodes[m].End
		}
		if !ends {
			add(ErrNoEnd, n.Name)
		}
	}
}

func (g *Graph[S]) reach(from []Name) map[Name]bool {
	seen := map[Name]bool{}
	for len(from) > 0 {
		n := from[0]
		from = from[1:]
		if seen[n] {
			continue
		}
		seen[n] = true
		from = append(from, g.nodes[n].Edges...)
	}
	return seen
}

// Name returns the graph's name.
func (g *Graph[S]) Name() string { return g.def.Name }

// Version returns the version checkpoints of this graph carry.
func (g *Graph[S]) Version() int { return g.def.Version }

// Start returns the node a new thread rests at.
func (g *Graph[S]) Start() Name { return g.def.Start }

// Ends reports whether a thread that rests at n is closed.
func (g *Graph[S]) Ends(n Name) bool { return g.nodes[n].End }

// Begin returns the node at which a turn begins.
func (g *Graph[S]) Begin(in In[S]) (Name, error) {
	if _, ok := g.nodes[in.Node]; !ok {
		return "", fmt.Errorf("%w: %s", ErrUnknownNode, in.Node)
	}
	at := g.def.Route(in)
	if at == in.Node {
		return at, nil
	}
	if slices.Contains(g.def.Routes, at) {
		return at, nil
	}
	return "", fmt.Errorf("%w: %s", ErrUndeclaredRoute, at)
}

// Step runs the node in.Node once and checks the edges it takes.
func (g *Graph[S]) Step(in In[S]) (Out[S], error) {
	n, ok := g.nodes[in.Node]
	if !ok || n.Step == nil {
		return Out[S]{}, fmt.Errorf("%w: %s", ErrUnknownNode, in.Node)
	}
	out := n.Step(in)
	var taken []Name
	switch {
	case len(out.Reads)+len(out.Previews) > 0:
	case out.Write != nil:
		taken = []Name{out.Write.Success, out.Write.Conflict}
	case out.Go != "":
		taken = []Name{out.Go}
	default:
		taken = []Name{out.Rest}
	}
	for _, t := range taken {
		if !n.has(t) {
			return Out[S]{}, fmt.Errorf("%w: %s -> %s", ErrUndeclaredEdge, in.Node, t)
		}
	}
	return out, nil
}

func (n Node[S]) has(target Name) bool {
	return slices.Contains(n.Edges, target)
}

// Diagram draws the table in Mermaid, nodes and edges sorted, so that it can be
// compared with a golden file.
func (g *Graph[S]) Diagram() string {
	var lines []string
	for _, n := range g.def.Nodes {
		for _, e := range n.Edges {
			lines = append(lines, fmt.Sprintf("    %s --> %s", n.Name, e))
		}
		if n.End {
			lines = append(lines, fmt.Sprintf("    %s --> [*]", n.Name))
		}
	}
	for _, r := range g.def.Routes {
		lines = append(lines, fmt.Sprintf("    [*] --> %s: route", r))
	}
	sort.Strings(lines)
	return "stateDiagram-v2\n    [*] --> " + string(g.def.Start) + "\n" + strings.Join(lines, "\n") + "\n"
}
