package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/tool"
)

type args struct {
	Amount int    `json:"amount"`
	Note   string `json:"note,omitempty"`
}

const schema = `{"type":"object","properties":{"amount":{"type":"integer","minimum":1},"note":{"type":"string"}},"required":["amount"],"additionalProperties":false}`

// sound returns a tool of a class that answers its own arguments.
func sound(name string, class tool.Safety) tool.Tool {
	meta := "version: 1.0.0\nowner: tests\nsafety_class: " + string(class) + "\n"
	if class == tool.Irreversible {
		meta += "audit_log_required: true\npolicies: [late_success]\n"
	}
	return tool.Tool{
		Definition: fmt.Appendf(nil, `{"name":%q,"description":"d","inputSchema":%s}`, name, schema), Metadata: []byte(meta), Args: args{},
		Handler: tool.Typed(func(_ context.Context, env tool.Env, a args) (graph.Result, error) {
			if a.Note == "fail" {
				return graph.Result{}, errors.New("disk full")
			}
			return tool.OK(map[string]any{"amount": a.Amount, "may_write": env.Tx != nil || env.Enqueue != nil})
		}),
	}
}

func TestNewRegistryRefusesMisshapenTools(t *testing.T) {
	t.Parallel()
	def := func(name, description, input string) func(t *tool.Tool) {
		return func(t *tool.Tool) {
			t.Definition = fmt.Appendf(nil, `{"name":%q,"description":%q,"inputSchema":%s}`, name, description, input)
		}
	}
	meta := func(text string) func(t *tool.Tool) { return func(t *tool.Tool) { t.Metadata = []byte(text) } }
	tests := []struct {
		name  string
		spoil func(t *tool.Tool)
		want  string
	}{
		{"a definition that is no JSON", func(t *tool.Tool) { t.Definition = []byte("{") }, "definition.json: unexpected EOF"},
		{"a definition with something behind it", func(t *tool.Tool) { t.Definition = append(t.Definition, "}{"...) }, "definition.json: "},
		{"a definition with an unknown field", func(t *tool.Tool) { t.Definition = []byte(`{"name":"x","returns":1}`) }, `definition.json: json: unknown field "returns"`},
		{"no name", def("", "d", schema), "definition.json: name and description are required"},
		{"no description", def("x", "", schema), "x: definition.json: name and description are required"},
		{"metadata that is no YAML", meta("version: [1"), "metadata.yaml: "},
		{"metadata with an unknown key", meta("version: 1\nowner: t\nsafety_class: read\ncolour: red\n"), "colour"},
		{"no owner", meta("version: 1\nsafety_class: read\n"), "metadata.yaml: version and owner are required"},
		{"no safety class", meta("version: 1\nowner: t\n"), `safety_class "" is none of read, write, irreversible`},
		{"irreversible without audit", meta("version: 1\nowner: t\nsafety_class: irreversible\n"), "an irreversible tool needs audit_log_required: true"},
		{"a policy of a write", meta("version: 1\nowner: t\nsafety_class: write\npolicies: [p]\n"), "only an irreversible tool has policies"},
		{"no schema", func(t *tool.Tool) { t.Definition = []byte(`{"name":"x","description":"d"}`) }, "inputSchema: "},
		{"a schema that is none", def("x", "d", `{"type":"banana"}`), "inputSchema: "},
		{"an open schema", def("x", "d", strings.Replace(schema, `,"additionalProperties":false`, "", 1)), "want an object with additionalProperties: false"},
		{"a property without a field", def("x", "d", strings.Replace(schema, `"note"`, `"notes"`, 1)), "properties [amount notes], but the argument struct has [amount note]"},
		{"a field that is not required", def("x", "d", strings.Replace(schema, `"required":["amount"]`, `"required":[]`, 1)), "required [], but the argument struct requires [amount]"},
		{"no argument struct", func(t *tool.Tool) { t.Args = nil }, "no argument struct"},
		{"arguments that are no struct", func(t *tool.Tool) { t.Args = 5 }, "no argument struct"},
		{"no handler", func(t *tool.Tool) { t.Handler = nil }, "no handler"},
	}
	var every []tool.Tool
	for _, tt := range tests {
		bad := sound("x", tool.Read)
		tt.spoil(&bad)
		every = append(every, bad)
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, err := tool.NewRegistry(sound("good", tool.Read), bad)
			if err == nil || r != nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want a refusal with %q", err, tt.want)
			}
		})
	}
	if _, err := tool.NewRegistry(sound("x", tool.Read), sound("x", tool.Read)); err == nil || err.Error() != "x: two tools have one name" {
		t.Errorf("two tools of one name: %v", err)
	}
	_, err := tool.NewRegistry(every...)
	for _, tt := range tests {
		if !strings.Contains(err.Error(), tt.want) {
			t.Errorf("all at once: %q is missing", tt.want)
		}
	}
}

func registry(t *testing.T) *tool.Registry {
	t.Helper()
	r, err := tool.NewRegistry(sound("look", tool.Read), sound("hold", tool.Write), sound("pay", tool.Irreversible))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// noTx is a transaction no test statement reaches.
type noTx struct{ db.Tx }

func TestReadsRunOnlyReads(t *testing.T) {
	t.Parallel()
	r := registry(t)
	env := tool.Env{Tx: noTx{}, Enqueue: func(context.Context, tool.Effect) error { return nil }}
	res, err := r.Read(t.Context(), env, graph.Call{Tool: "look", Args: args{Amount: 5}})
	if err != nil || !res.OK || string(res.Data) != `{"amount":5,"may_write":false}` {
		t.Errorf("Read = %+v, %v; want a read without means to write", res, err)
	}
	for _, name := range []string{"hold", "pay"} {
		if _, err := r.Read(t.Context(), env, graph.Call{Tool: name, Args: args{Amount: 5}}); !errors.Is(err, tool.ErrNotRead) {
			t.Errorf("%s as a read: %v, want ErrNotRead", name, err)
		}
	}
	if _, err := r.Read(t.Context(), env, graph.Call{Tool: "fly"}); !errors.Is(err, tool.ErrUnknown) {
		t.Errorf("unknown tool: %v", err)
	}
}

func TestP6AnIrreversibleCallNeedsAGrantForExactlyItsArguments(t *testing.T) {
	t.Parallel()
	r := registry(t)
	call := graph.Call{Tool: "pay", Args: args{Amount: 500}}
	confirmed := tool.Grant{By: "confirmation", Ref: "nonce", Digest: call.Digest()}
	tests := []struct {
		name   string
		call   graph.Call
		grants []tool.Grant
		err    error
	}{
		{"without a grant", call, nil, tool.ErrNotConfirmed},
		{"confirmed", call, []tool.Grant{confirmed}, nil},
		{"confirmed, then changed", graph.Call{Tool: "pay", Args: args{Amount: 501}}, []tool.Grant{confirmed}, tool.ErrNotConfirmed},
		{"confirmed for another tool", call, []tool.Grant{{By: "confirmation", Digest: graph.Call{Tool: "hold", Args: args{Amount: 500}}.Digest()}}, tool.ErrNotConfirmed},
		{"a confirmation without a digest", call, []tool.Grant{{By: "confirmation", Ref: "nonce"}}, tool.ErrNotConfirmed},
		{"a policy of the tool", call, []tool.Grant{{By: "policy", Ref: "late_success"}}, nil},
		{"a policy the tool does not name", call, []tool.Grant{{By: "policy", Ref: "because"}}, tool.ErrNotConfirmed},
		{"a policy without a name", call, []tool.Grant{{By: "policy"}}, tool.ErrNotConfirmed},
		{"a grant of nobody", call, []tool.Grant{{By: "", Ref: "late_success", Digest: call.Digest()}}, tool.ErrNotConfirmed},
		{"one good grant among others", call, []tool.Grant{{By: "policy", Ref: "x"}, confirmed}, nil},
		{"a write needs none", graph.Call{Tool: "hold", Args: args{Amount: 1}}, nil, nil},
		{"an unknown tool", graph.Call{Tool: "fly"}, []tool.Grant{confirmed}, tool.ErrUnknown},
	}
	for _, tt := range tests {
		res, err := r.Write(t.Context(), tool.Env{}, tt.call, tt.grants)
		if !errors.Is(err, tt.err) || res.OK != (tt.err == nil) {
			t.Errorf("%s: got ok %v, %v; want %v", tt.name, res.OK, err, tt.err)
		}
	}
}

func TestArgumentsAreChecked(t *testing.T) {
	t.Parallel()
	r := registry(t)
	for name, a := range map[string]any{
		"below the minimum": args{}, "no object": 5, "an unknown property": map[string]any{"amount": 1, "extra": true}, "nothing": nil,
	} {
		res, err := r.Write(t.Context(), tool.Env{}, graph.Call{Tool: "hold", Args: a}, nil)
		if err != nil || res.OK || res.Code != "invalid_arguments" || res.Sentence == "" || res.Next == "" {
			t.Errorf("%s: got %+v, %v; want a result that says what to correct", name, res, err)
		}
	}
	if _, err := r.Write(t.Context(), tool.Env{}, graph.Call{Tool: "hold", Args: func() {}}, nil); err == nil {
		t.Error("arguments that cannot be encoded: want an error")
	}
	if _, err := r.Write(t.Context(), tool.Env{}, graph.Call{Tool: "hold", Args: args{Amount: 1, Note: "fail"}}, nil); err == nil || err.Error() != "run hold: disk full" {
		t.Errorf("a handler's failure: got %v, want an error and no result", err)
	}
}

func TestTypedAnswersArgumentsItCannotRead(t *testing.T) {
	t.Parallel()
	h := tool.Typed(func(context.Context, tool.Env, struct{ At time.Time }) (graph.Result, error) { return tool.OK(nil) })
	res, err := h(t.Context(), tool.Env{}, json.RawMessage(`{"At":"tomorrow"}`))
	if err != nil || res.Code != "invalid_arguments" {
		t.Errorf("got %+v, %v", res, err)
	}
	if _, err := tool.OK(func() {}); err == nil {
		t.Error("OK encoded a function")
	}
	if _, err := tool.Conflict("c", "s", "n", func() {}); err == nil {
		t.Error("Conflict encoded a function")
	}
}

func TestMetadataAndNames(t *testing.T) {
	t.Parallel()
	r := registry(t)
	if got := strings.Join(r.Names(), " "); got != "hold look pay" {
		t.Errorf("Names = %s", got)
	}
	if m, ok := r.Metadata("pay"); !ok || m.SafetyClass != tool.Irreversible || !m.AuditRequired {
		t.Errorf("Metadata = %+v, %v", m, ok)
	}
	if _, ok := r.Metadata("fly"); ok {
		t.Error("an unknown tool has metadata")
	}
}

func ExampleRegistry() {
	r, err := tool.NewRegistry(sound("pay", tool.Irreversible))
	if err != nil {
		fmt.Println(err)
		return
	}
	call := graph.Call{Tool: "pay", Args: args{Amount: 500}}
	_, err = r.Write(context.Background(), tool.Env{}, call, nil)
	fmt.Println(err)
	res, err := r.Write(context.Background(), tool.Env{}, call, []tool.Grant{{By: "confirmation", Digest: call.Digest()}})
	fmt.Println(res.OK, string(res.Data), err)
	// Output:
	// tool: an irreversible call without a confirmation of these arguments: pay
	// true {"amount":500,"may_write":false} <nil>
}
