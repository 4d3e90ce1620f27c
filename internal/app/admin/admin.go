// Package admin is the assistant of a business's own people: what an admin
// writes is read as commands, which are done in order, each by one tool.
//
// It knows tools by name and arguments, through the registry, and the
// business's nouns through app.Office; it imports no other app. Commands are
// read by code alone. Whether one asks for a yes first follows from its tool's
// safety class. What customers wrote (names, notes) is quoted and never read
// as a command or put into a call.
package admin

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"time"

	"github.com/ratiba/ratiba/internal/app"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/tool"
	"github.com/ratiba/ratiba/internal/understand"
	"github.com/ratiba/ratiba/internal/wording"
)

// Name is the app's name on its threads and before its choices.
const Name = "admin"

// The states. Closed is where "that's all" ends the session.
const (
	Idle    graph.Name = "IDLE"
	Routed  graph.Name = "ROUTED"
	Await   graph.Name = "AWAIT_CONFIRMATION"
	Execute graph.Name = "EXECUTED"
	Closed  graph.Name = "CLOSED"
)

// Ids of choices. What else follows prefix is a command, tapped.
const (
	prefix   = Name + ":"
	yes      = prefix + "yes"
	no       = prefix + "no"
	maxQueue = 5 // commands of one message
)

//go:embed texts/en.yaml texts/sw.yaml
var texts embed.FS

// State is what a thread of an admin remembers.
type State struct {
	Queue []Command `json:"queue,omitempty"` // still to do, in order
	Asked *Action   `json:"asked,omitempty"` // waits for a yes, or is being done
}

// Action is one call and what is said about it. Facts are words already.
type Action struct {
	Tool  string         `json:"tool"`
	Args  map[string]any `json:"args"` // encoded with sorted keys, so that its digest is one
	Text  string         `json:"text"` // names the texts confirm_X and done_X
	Facts map[string]any `json:"facts"`
	At    time.Time      `json:"at"` // when it was asked
}

func (a Action) call() graph.Call { return graph.Call{Tool: a.Tool, Args: a.Args} }

type (
	in  = graph.In[State]
	out = graph.Out[State]
)

// New assembles the app. An error is a defect of the graph or of the texts.
func New() (app.App, error) {
	g, err := graph.New(graph.Def[State]{
		Name: Name, Version: 1, Start: Idle, Route: route, Routes: []graph.Name{Routed},
		Nodes: []graph.Node[State]{
			{Name: Idle, Edges: []graph.Name{Routed}, Step: routed},
			{Name: Routed, Edges: []graph.Name{Routed, Await, Execute, Idle, Closed}, Step: routed},
			{Name: Await, Edges: []graph.Name{Await, Execute, Routed, Idle}, Step: await},
			{Name: Execute, Edges: []graph.Name{Routed, Idle}, Step: executed},
			{Name: Closed, End: true},
		},
	})
	if err != nil {
		return app.App{}, fmt.Errorf("build the admins' graph: %w", err)
	}
	files, err := fs.Sub(texts, "texts")
	if err != nil {
		return app.App{}, fmt.Errorf("open the admins' texts: %w", err)
	}
	catalogue, err := wording.Load(files)
	if err != nil {
		return app.App{}, fmt.Errorf("load the admins' texts: %w", err)
	}
	return app.App{
		Name: Name, Flow: app.Erase(g, nil), Texts: catalogue, Expect: expect,
		Owns:  func(json.RawMessage, string) bool { return false },
		Close: func(json.RawMessage) []graph.Call { return nil },
	}, nil
}

// expect says that a yes or a no is waited for.
func expect(node string, _ json.RawMessage) understand.Expect {
	if graph.Name(node) != Await {
		return understand.Expect{}
	}
	return understand.Expect{
		Slots: []string{understand.SlotConfirm}, Yes: yes,
		Choices: []message.Choice{{ID: yes, Title: "yes"}, {ID: no, Title: "no"}},
	}
}

func route(i in) graph.Name {
	if i.Node == Await {
		return Await
	}
	return Routed
}

// routed does the first command of the queue, which a new message fills.
func routed(i in) out {
	s := i.State
	if len(s.Queue) == 0 {
		s.Queue = read(i, said(i.Input))
	}
	c := s.Queue[0]
	rest := State{Queue: s.Queue[1:]}
	o := do(i, c)
	switch {
	case len(o.reads)+len(o.previews) > 0:
		return out{State: i.State, Reads: o.reads, Previews: o.previews}
	case o.action != nil:
		rest.Asked = o.action
		return act(i, rest)
	case c.Verb == bye:
		return out{Say: o.says, Rest: Closed}
	}
	return next(rest, o.says...)
}

// act asks for a yes where the tool's class wants one, else does it.
func act(i in, s State) out {
	if needed, _ := office(i).Confirms(s.Asked.Tool); needed {
		s.Asked.At = i.Now
		return out{State: s, Say: []graph.Say{ask(*s.Asked)}, Rest: Await}
	}
	return perform(s)
}

func perform(s State) out {
	return out{State: s, Write: &graph.Write{Call: s.Asked.call(), Success: Execute, Conflict: Execute}}
}

// ask shows what will happen, with a yes that is good for exactly that.
func ask(a Action) graph.Say {
	return graph.Say{
		Text: "confirm_" + a.Text, Facts: a.Facts,
		Choices: []graph.Choice{{ID: yes, Text: "button_yes"}, {ID: no, Text: "button_no"}},
		Confirm: &graph.Confirm{Calls: []graph.Call{a.call()}, Yes: yes, Shown: a.Facts},
	}
}

// await takes the answer. Only a yes to exactly this, in time, is one; a text
// that is a command is taken as that, and anything else is a no.
func await(i in) out {
	s := i.State
	text := said(i.Input)
	var fresh []Command
	if text != "" && i.Input.Choice != yes {
		fresh = known(read(i, text))
	}
	saysYes := i.Input.Choice == yes || i.Input.Choice == "" && i.Input.Answer == graph.Yes
	asked := *s.Asked
	s.Asked = nil
	switch {
	case len(fresh) > 0:
		s.Queue = append(fresh, s.Queue...)
		return next(s, note("left", nil))
	case i.Input.Confirmed:
		s.Asked = &asked
		return perform(s)
	case saysYes && i.Now.Sub(asked.At) > tool.ConfirmTime:
		return next(s, note("expired", nil))
	case saysYes: // of another question, or before this one was sent
		asked.At = i.Now
		s.Asked = &asked
		return out{State: s, Say: []graph.Say{note("other_question", nil), ask(asked)}, Rest: Await}
	}
	return next(s, note("left", nil))
}

// executed tells what came of it.
func executed(i in) out {
	s := i.State
	a := s.Asked
	s.Asked = nil
	if i.Conflict != nil {
		return next(s, refusal(*i.Conflict))
	}
	return next(s, note("done_"+a.Text, a.Facts))
}

// next goes on with the queue, or rests.
func next(s State, says ...graph.Say) out {
	if len(s.Queue) > 0 {
		return out{State: s, Say: says, Go: Routed}
	}
	return out{State: s, Say: says, Rest: Idle}
}

func note(text string, facts map[string]any) graph.Say { return graph.Say{Text: text, Facts: facts} }

// refusal says why something was not done, by the tool's code.
func refusal(r graph.Result) graph.Say {
	return note("refused", map[string]any{"code": r.Code})
}

// office is what the turn lets the steps know.
func office(i in) app.Office {
	o, ok := i.Facts.Settings.(app.Office)
	if !ok {
		panic("admin: a step without its office") // the engine gives it to every step of this app
	}
	return o
}
