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

const schema = `{"type":"object","properties":{"amount":{"type":"integer","description":"How much.","minimum":1,"maximum":1000},"note":{"type":"string","description":"Why.","maxLength":100}},"required":["amount"],"additionalProperties":false}`

func work(_ context.Context, env tool.Env, a args) (graph.Result, error) {
	if a.Note == "fail" {
		return graph.Result{}, errors.New("disk full")
	}
	return tool.OK(map[string]any{"amount": a.Amount, "may_write": env.Tx != nil || env.Enqueue != nil})
}

// sound returns a tool of a class that answers its own arguments.
func sound(name string, class tool.Safety) tool.Tool {
	meta := "version: 1.0.0\nowner: tests\nmin_role: staff\nsafety_class: " + string(class) + "\n"
	handler := tool.Typed(work)
	if class == tool.Irreversible {
		meta += "audit_log_required: true\npolicies: [late_success]\n"
		handler = tool.Guarded(work)
	} else {
		meta += "audit_log_required: false\n"
	}
	return tool.Tool{
		Definition: fmt.Appendf(nil, `{"name":%q,"description":"d","inputSchema":%s}`, name, schema), Metadata: []byte(meta), Args: args{},
		Handler: handler,
	}
}

func TestNewRegistryRefusesMisshapenTools(t *testing.T) {
	t.Parallel()
	def := func(name, description, input string) func(t *tool.Tool) {
		return func(t *tool.Tool) {
			t.Definition = fmt.Appendf(nil, `{"name":%q,"description":%q,"inputSchema":%s}`, name, description, input)
		}
	}
	swap := func(old, with string) func(t *tool.Tool) { return def("x", "d", strings.Replace(schema, old, with, 1)) }
	meta := func(old, with string) func(t *tool.Tool) {
		return func(t *tool.Tool) { t.Metadata = []byte(strings.Replace(string(t.Metadata), old, with, 1)) }
	}
	tests := []struct {
		name  string
		spoil func(t *tool.Tool)
		want  string
	}{
		{"a definition that is no JSON", func(t *tool.Tool) { t.Definition = []byte("{") }, "definition.json: unexpected EOF"},
		{"a definition with something behind it", func(t *tool.Tool) { t.Definition = append(t.Definition, "}{"...) }, "x: definition.json: something stands behind"},
		{"a definition with an unknown field", func(t *tool.Tool) { t.Definition = []byte(`{"name":"x","returns":1}`) }, `definition.json: json: unknown field "returns"`},
		{"no name", def("", "d", schema), "definition.json: name and description are required"},
		{"a name in no words", def("Do It", "d", schema), `the name "Do It" is not in words`},
		{"no description", def("x", "", schema), "x: definition.json: name and description are required"},
		{"metadata that is no YAML", func(t *tool.Tool) { t.Metadata = []byte("version: [1") }, "metadata.yaml: "},
		{"metadata with an unknown key", meta("owner:", "colour: red\nowner:"), "colour"},
		{"no version", meta("version: 1.0.0\n", ""), "metadata.yaml: version is required"},
		{"a version that is none", meta("1.0.0", "new"), `metadata.yaml: version "new" is not three numbers`},
		{"no owner", meta("owner: tests\n", ""), "metadata.yaml: owner is required"},
		{"no safety class", meta("safety_class: read\n", ""), "metadata.yaml: safety_class is required"},
		{"another safety class", meta("safety_class: read", "safety_class: harmless"), `safety_class "harmless" is none of read, write, irreversible`},
		{"no word on audit", meta("audit_log_required: false\n", ""), "metadata.yaml: audit_log_required is required"},
		{"no least role", meta("min_role: staff\n", ""), "metadata.yaml: min_role is required"},
		{"another role", meta("min_role: staff", "min_role: king"), `min_role "king" is neither staff nor owner`},
		{"irreversible without audit", meta("safety_class: read", "safety_class: irreversible"), "an irreversible tool needs audit_log_required: true"},
		{"irreversible and unwrapped", meta("safety_class: read\naudit_log_required: false", "safety_class: irreversible\naudit_log_required: true"), "x: handler: an irreversible tool is not wrapped"},
		{"a policy of a write", meta("safety_class: read", "policies: [p]\nsafety_class: write"), "only an irreversible tool has policies"},
		{"no schema", func(t *tool.Tool) { t.Definition = []byte(`{"name":"x","description":"d"}`) }, "inputSchema: "},
		{"a schema that the meta-schema refuses", swap(`"minimum":1`, `"minimum":"one"`), "inputSchema: "},
		{"a schema that is no object", def("x", "d", `{"type":"string","maxLength":3}`), "inputSchema: want an object with additionalProperties: false"},
		{"an open schema", swap(`,"additionalProperties":false`, ""), "want an object with additionalProperties: false"},
		{"a keyword nobody checks", swap(`"maxLength":100`, `"maxLength":100,"default":"x"`), `inputSchema: json: unknown field "default"`},
		{"a property nobody described", swap(`"description":"Why.",`, ""), "inputSchema.note: want a description"},
		{"a text without bound", swap(`,"maxLength":100`, ""), "inputSchema.note: want a bound: maxLength, pattern, format or enum"},
		{"a number without bounds", swap(`,"maximum":1000`, ""), "inputSchema.amount: want bounds: minimum and maximum"},
		{"a property without type", swap(`"type":"string",`, ""), `inputSchema.note: want one type of`},
		{"a list without bound", swap(`"note":{"type":"string","description":"Why.","maxLength":100}`, `"note":{"type":"array","description":"Why.","items":{"type":"boolean"}}`), "inputSchema.note: want a bound: maxItems"},
		{"a property of another type", swap(`"type":"string"`, `"type":"boolean"`), `inputSchema.note: type "boolean", but the argument struct has string`},
		{"a property without a field", swap(`"note"`, `"notes"`), "properties [amount notes], but the argument struct has [amount note]"},
		{"a field that is not required", swap(`"required":["amount"]`, `"required":[]`), "required [], but the argument struct requires [amount]"},
		{"no argument struct", func(t *tool.Tool) { t.Args = nil }, "no argument struct"},
		{"arguments that are no struct", func(t *tool.Tool) { t.Args = 5 }, "no argument struct"},
		{"another argument struct", func(t *tool.Tool) { t.Args = struct{}{} }, "handler: takes tool_test.args, but the argument struct is struct {}"},
		{"no handler", func(t *tool.Tool) { t.Handler = tool.Handler{} }, "no handler"},
		{"a preview that writes", func(t *tool.Tool) { t.Preview = tool.Guarded(work) }, "preview: only reads"},
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
	res, err := h.Run(t.Context(), tool.Env{}, json.RawMessage(`{"At":"tomorrow"}`))
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
	// tool: a call without its actor's confirmation of these arguments: pay
	// true {"amount":500,"may_write":false} <nil>
}
