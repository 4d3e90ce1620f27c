package turn_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/ratiba/ratiba/internal/app"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/understand"
	"github.com/ratiba/ratiba/internal/wording"
)

// state is what the fake app keeps: what it offers to do after a yes, and what
// it was paid for.
type state struct {
	Asked   int    `json:"asked"`
	Subject string `json:"subject,omitempty"`
}

// number is the argument of every fake tool.
type number struct {
	N int `json:"n"`
}

const (
	talk graph.Name = "talk"
	done graph.Name = "done"
	busy graph.Name = "busy"
	end  graph.Name = "end"
)

func call(name string, n int) graph.Call { return graph.Call{Tool: name, Args: number{n}} }

// step is the fake app: it does what the text names.
func step(in graph.In[state]) graph.Out[state] {
	s := in.State
	rest := func(says ...graph.Say) graph.Out[state] { return graph.Out[state]{State: s, Rest: talk, Say: says} }
	say := func(text string) graph.Say {
		return graph.Say{Text: "echo", Facts: map[string]any{"text": text}}
	}
	if e := in.Input.Event; e != nil {
		if e.Name == "poisonous" || s.Subject == "poisonous" {
			panic("the app cannot take this event")
		}
		var told payment.Settled
		if json.Unmarshal(e.Data, &told) == nil && told.Mismatch {
			return rest(say("that money does not fit"))
		}
		if e.Kind == "resume" {
			return rest()
		}
		return rest(say("event " + e.Kind + " " + e.Name))
	}
	text := in.Input.Text
	switch {
	case in.Input.Confirmed:
		return graph.Out[state]{State: s, Write: &graph.Write{Call: call("pay", s.Asked), Success: done, Conflict: busy}}
	case strings.Contains(text, "panic"):
		panic("the app cannot take this")
	case strings.Contains(text, "buy"):
		s.Asked++
		q := say("sure?")
		q.Choices = []graph.Choice{{ID: "yes", Literal: "Yes"}}
		q.Confirm = &graph.Confirm{Calls: []graph.Call{call("pay", s.Asked)}, Yes: "yes"}
		return rest(q)
	case strings.Contains(text, "grab"):
		return graph.Out[state]{State: s, Write: &graph.Write{Call: call("grab", s.Asked), Success: done, Conflict: busy}}
	case strings.Contains(text, "look"):
		res, known := in.Results.Get(call("look", 1))
		if !known {
			return graph.Out[state]{State: s, Reads: []graph.Call{call("look", 1)}}
		}
		q := say("saw " + string(res.Data))
		q.Phrase = true
		return rest(q)
	case strings.Contains(text, "owe "):
		s.Subject = strings.TrimPrefix(text, "owe ")
	case strings.Contains(text, "remind"):
		o := rest(say("will do"))
		o.Timers = []graph.Timer{{Name: "reminder", At: in.Now.Add(time.Minute)}}
		o.Tasks = []graph.Task{{Kind: "callback", Key: "cb", Detail: "call"}}
		return o
	case strings.Contains(text, "escalate"):
		o := rest(say("dropped"))
		o.Handover = &graph.Handover{Signal: "TOOL_ERROR_UNRECOVERABLE", Detail: "asked for"}
		return o
	case strings.Contains(text, "everyone"):
		return rest(say("hello"), graph.Say{To: graph.ToAdmins, Text: "echo", Facts: map[string]any{"text": "news"}})
	case strings.Contains(text, "menu"):
		q := say("choose")
		for i := range 4 {
			q.Choices = append(q.Choices, graph.Choice{ID: strconv.Itoa(i), Literal: fmt.Sprint("Choice ", i)})
		}
		return rest(q)
	case strings.Contains(text, "phone please"):
		q := say("share it")
		q.AskPhone = true
		return rest(q)
	case strings.Contains(text, "goodbye"):
		return graph.Out[state]{State: s, Rest: end, Say: []graph.Say{say("bye")}}
	}
	return rest(say(text))
}

func fakeApp(t *testing.T, version int) app.App {
	t.Helper()
	outcome := func(text string) func(graph.In[state]) graph.Out[state] {
		return func(in graph.In[state]) graph.Out[state] {
			return graph.Out[state]{State: in.State, Rest: talk, Say: []graph.Say{{Text: "echo", Facts: map[string]any{"text": text}}}}
		}
	}
	again := func(in graph.In[state]) graph.Out[state] {
		in.State.Asked++ // another one, which may be refused as well
		if in.State.Asked > 10 {
			return outcome("nothing is left")(in)
		}
		return graph.Out[state]{State: in.State, Write: &graph.Write{Call: call("grab", in.State.Asked), Success: done, Conflict: busy}}
	}
	g, err := graph.New(graph.Def[state]{
		Name: "fake", Version: version, Start: talk,
		Nodes: []graph.Node[state]{
			{Name: talk, Edges: []graph.Name{talk, done, busy, end}, Step: step},
			{Name: done, Edges: []graph.Name{talk}, Step: outcome("it is yours")},
			{Name: busy, Edges: []graph.Name{talk, done, busy}, Step: again},
			{Name: end, End: true},
		},
		Route: func(in graph.In[state]) graph.Name { return in.Node },
	})
	if err != nil {
		t.Fatal(err)
	}
	texts, err := wording.Load(fstest.MapFS{
		"en.yaml": {Data: []byte(`echo: "{{.text}}"`)}, "sw.yaml": {Data: []byte(`echo: "{{.text}}"`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return app.App{
		Name: "fake", Flow: app.Erase(g, nil), Texts: texts,
		Section: func(*tenant.Tenant) (app.Section, error) { return app.Section{}, nil },
		Expect:  func(string, json.RawMessage) understand.Expect { return understand.Expect{} },
		Owns: func(raw json.RawMessage, subject string) bool {
			var s state
			return json.Unmarshal(raw, &s) == nil && s.Subject != "" && s.Subject == subject
		},
		Close: func(json.RawMessage) []graph.Call { return []graph.Call{call("release", 1)} },
	}
}
