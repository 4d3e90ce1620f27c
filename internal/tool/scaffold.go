package tool

import (
	"bytes"
	"fmt"
	"strings"
	"text/template"
)

// Scaffold writes the files of a new tool, by name: a folder that the registry
// takes, and a test that fails until the handler does its work.
func Scaffold(name, owner string) (map[string][]byte, error) {
	if !nameForm.MatchString(name) || len(name) > maxName {
		return nil, fmt.Errorf("the name %q is not in words such as list_services, of at most %d characters", name, maxName)
	}
	facts := struct{ Name, Package, Owner, Quoted string }{name, strings.ReplaceAll(name, "_", ""), owner, "`"}
	out := map[string][]byte{}
	for file, text := range map[string]string{
		"definition.json": newDefinition, "metadata.yaml": newMetadata, "handler.go": newHandler, "handler_test.go": newTest,
	} {
		t, err := template.New(file).Parse(text)
		if err != nil {
			return nil, fmt.Errorf("read template of %s: %w", file, err)
		}
		var b bytes.Buffer
		if err := t.Execute(&b, facts); err != nil {
			return nil, fmt.Errorf("write %s: %w", file, err)
		}
		out[file] = b.Bytes()
	}
	return out, nil
}

const newDefinition = `{
  "name": "{{.Name}}",
  "description": "Say what the tool does, for a model that chooses among tools and for the person who confirms.",
  "inputSchema": {
    "type": "object",
    "properties": {
      "subject": {
        "type": "string",
        "minLength": 1,
        "maxLength": 64,
        "description": "Say what it is about."
      }
    },
    "required": ["subject"],
    "additionalProperties": false
  }
}
`

const newMetadata = `# A tool reads until somebody decides that it does more. A write is idempotent by
# its arguments; an irreversible one has audit_log_required: true, a handler of
# tool.Guarded and, best, a preview.
version: 0.1.0
owner: {{.Owner}}
safety_class: read
audit_log_required: false
min_role: staff
business_only: true
`

const newHandler = `// Package {{.Package}} is the tool {{.Name}}.
package {{.Package}}

import (
	"context"
	_ "embed" // the two files beside this one

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/tool"
)

//go:embed definition.json
var definition []byte

//go:embed metadata.yaml
var metadata []byte

// Args are the tool's arguments; the definition says the same.
type Args struct {
	Subject string {{.Quoted}}json:"subject"{{.Quoted}}
}

// Tool returns the tool.
func Tool() tool.Tool {
	return tool.Tool{Definition: definition, Metadata: metadata, Handler: tool.Typed(handle), Args: Args{}}
}

func handle(_ context.Context, _ tool.Env, _ Args) (graph.Result, error) {
	return tool.Conflict("not_written", "This tool does nothing yet.", "write its handler", nil)
}
`

const newTest = `package {{.Package}}_test

import (
	"testing"

	"github.com/ratiba/ratiba/internal/app/{{.Owner}}/tools/{{.Name}}"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/tool"
)

func TestItDoesItsWork(t *testing.T) {
	t.Parallel()
	r, err := tool.NewRegistry({{.Package}}.Tool())
	if err != nil {
		t.Fatal(err)
	}
	env := tool.Env{Actor: tool.Actor{ID: "+254711000000", Role: tenant.Owner}}
	res, err := r.Read(t.Context(), env, graph.Call{Tool: "{{.Name}}", Args: {{.Package}}.Args{Subject: "x"}})
	if err != nil || !res.OK {
		t.Errorf("got %+v, %v; want what the tool is for", res, err)
	}
}
`
