package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ratiba/ratiba/internal/tenant"
)

// Metadata is a tool's metadata.yaml.
type Metadata struct {
	Version       string      `yaml:"version"` // 1.2.3
	Owner         string      `yaml:"owner"`
	SafetyClass   Safety      `yaml:"safety_class"`
	AuditRequired bool        `yaml:"audit_log_required"`
	MinRole       tenant.Role `yaml:"min_role"`      // of the business's people: staff or owner
	BusinessOnly  bool        `yaml:"business_only"` // no customer's conversation may call it
	Policies      []string    `yaml:"policies"`      // recorded rules that confirm in place of a yes
}

// Definition is a definition.json.
type Definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

var (
	nameForm    = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	versionForm = regexp.MustCompile(`^\d+\.\d+\.\d+$`)
)

// maxName bounds a tool's name as MCP clients take it.
const maxName = 64

// check reads one tool and names everything that is wrong with it.
func check(t Tool) (*entry, []error) {
	e := &entry{raw: t.Definition, handler: t.Handler, preview: t.Preview}
	dec := json.NewDecoder(bytes.NewReader(t.Definition))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&e.def); err != nil {
		return e, []error{fmt.Errorf("definition.json: %w", err)}
	}
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		fault("definition.json: something stands behind the definition")
	}
	if e.def.Name == "" || e.def.Description == "" {
		fault("definition.json: name and description are required")
	} else if !nameForm.MatchString(e.def.Name) || len(e.def.Name) > maxName {
		fault("definition.json: the name %q is not in words such as list_services, of at most %d characters", e.def.Name, maxName)
	}
	errs = append(errs, e.checkMetadata(t.Metadata)...)
	var err error
	if e.schema, err = compile(e.def); err != nil {
		errs = append(errs, err)
	} else {
		errs = append(errs, checkSchema(e.def.InputSchema)...)
		errs = append(errs, checkArgs(e.def.InputSchema, t.Args)...)
	}
	return e, append(errs, e.checkHandler(t.Args)...)
}

func (e *entry) checkMetadata(raw []byte) (errs []error) {
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf("metadata.yaml: "+format, args...)) }
	var said map[string]any
	if err := errors.Join(yaml.UnmarshalWithOptions(raw, &e.meta, yaml.Strict()), yaml.Unmarshal(raw, &said)); err != nil {
		fault("%w", err)
		return errs
	}
	m := e.meta
	for _, key := range []string{"version", "owner", "safety_class", "audit_log_required", "min_role"} {
		if said[key] == nil || said[key] == "" {
			fault("%s is required", key)
		}
	}
	if m.Version != "" && !versionForm.MatchString(m.Version) {
		fault("version %q is not three numbers such as 1.0.0", m.Version)
	}
	if m.SafetyClass != "" && !slices.Contains([]Safety{Read, Write, Irreversible}, m.SafetyClass) {
		fault("safety_class %q is none of read, write, irreversible", m.SafetyClass)
	}
	if m.MinRole != "" && m.MinRole != tenant.Staff && m.MinRole != tenant.Owner {
		fault("min_role %q is neither staff nor owner", m.MinRole)
	}
	if m.SafetyClass == Irreversible && !m.AuditRequired {
		fault("an irreversible tool needs audit_log_required: true")
	}
	if m.SafetyClass != Irreversible && len(m.Policies) > 0 {
		fault("only an irreversible tool has policies")
	}
	return errs
}

// checkHandler holds handlers against the safety class and the argument struct.
func (e *entry) checkHandler(args any) (errs []error) {
	if e.handler.run == nil {
		return []error{errors.New("no handler")}
	}
	if e.meta.SafetyClass == Irreversible && !e.handler.guarded {
		errs = append(errs, errors.New("handler: an irreversible tool is not wrapped: make its handler with tool.Guarded"))
	}
	if e.preview.guarded {
		errs = append(errs, errors.New("preview: only reads, and needs no grant: make it with tool.Typed"))
	}
	for what, h := range map[string]Handler{"handler": e.handler, "preview": e.preview} {
		if typ := reflect.TypeOf(args); h.run != nil && typ != nil && typ != h.args {
			errs = append(errs, fmt.Errorf("%s: takes %v, but the argument struct is %v", what, h.args, typ))
		}
	}
	return errs
}

// compile reads a schema, which the meta-schema of JSON Schema 2020-12 must take.
func compile(def Definition) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(def.InputSchema))
	if err != nil {
		return nil, fmt.Errorf("inputSchema: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("tool:input", doc); err != nil {
		return nil, fmt.Errorf("inputSchema: %w", err)
	}
	s, err := c.Compile("tool:input")
	if err != nil {
		return nil, fmt.Errorf("inputSchema: %w", err)
	}
	return s, nil
}
