package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"sort"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ratiba/ratiba/internal/graph"
)

// Faults of a call. They are defects of the caller, not results.
var (
	ErrUnknown      = errors.New("tool: no such tool")
	ErrNotConfirmed = errors.New("tool: an irreversible call without a confirmation of these arguments")
	ErrNotRead      = errors.New("tool: only a read may run outside the commit")
)

// Metadata is a tool's metadata.yaml.
type Metadata struct {
	Version       string   `yaml:"version"`
	Owner         string   `yaml:"owner"`
	SafetyClass   Safety   `yaml:"safety_class"`
	AuditRequired bool     `yaml:"audit_log_required"`
	MinRole       string   `yaml:"min_role"`
	Policies      []string `yaml:"policies"` // recorded rules that confirm in place of a yes
}

// Definition is the part of definition.json the registry reads.
type Definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

type entry struct {
	def     Definition
	meta    Metadata
	schema  *jsonschema.Schema
	handler Handler
}

// Registry holds checked tools. It is immutable and safe for concurrent use.
type Registry struct{ tools map[string]entry }

// NewRegistry checks every tool and returns all faults at once.
func NewRegistry(tools ...Tool) (*Registry, error) {
	r := &Registry{tools: map[string]entry{}}
	var errs []error
	for i, t := range tools {
		e, err := check(t)
		name := e.def.Name
		if name == "" {
			name = fmt.Sprintf("tool %d", i)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
			continue
		}
		if _, dup := r.tools[name]; dup {
			errs = append(errs, fmt.Errorf("%s: two tools have one name", name))
		}
		r.tools[name] = e
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return r, nil
}

func check(t Tool) (entry, error) {
	var e entry
	dec := json.NewDecoder(bytes.NewReader(t.Definition))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&e.def); err != nil {
		return e, fmt.Errorf("definition.json: %w", err)
	}
	var errs []error
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		errs = append(errs, errors.New("definition.json: something stands behind the definition"))
	}
	if e.def.Name == "" || e.def.Description == "" {
		errs = append(errs, errors.New("definition.json: name and description are required"))
	}
	if err := yaml.UnmarshalWithOptions(t.Metadata, &e.meta, yaml.Strict()); err != nil {
		errs = append(errs, fmt.Errorf("metadata.yaml: %w", err))
	}
	errs = append(errs, checkMetadata(e.meta)...)
	schema, err := compile(e.def)
	if err != nil {
		errs = append(errs, err)
	}
	e.schema, e.handler = schema, t.Handler
	if t.Handler == nil {
		errs = append(errs, errors.New("no handler"))
	}
	errs = append(errs, checkArgs(e.def.InputSchema, t.Args)...)
	return e, errors.Join(errs...)
}

func checkMetadata(m Metadata) []error {
	var errs []error
	if m.Version == "" || m.Owner == "" {
		errs = append(errs, errors.New("metadata.yaml: version and owner are required"))
	}
	if !slices.Contains([]Safety{Read, Write, Irreversible}, m.SafetyClass) {
		errs = append(errs, fmt.Errorf("metadata.yaml: safety_class %q is none of read, write, irreversible", m.SafetyClass))
	}
	if m.SafetyClass == Irreversible && !m.AuditRequired {
		errs = append(errs, errors.New("metadata.yaml: an irreversible tool needs audit_log_required: true"))
	}
	if m.SafetyClass != Irreversible && len(m.Policies) > 0 {
		errs = append(errs, errors.New("metadata.yaml: only an irreversible tool has policies"))
	}
	return errs
}

func compile(def Definition) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(def.InputSchema))
	if err != nil {
		return nil, fmt.Errorf("inputSchema: %w", err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("tool:input", doc); err != nil {
		return nil, fmt.Errorf("inputSchema: %w", err)
	}
	s, err := c.Compile("tool:input")
	if err != nil {
		return nil, fmt.Errorf("inputSchema: %w", err)
	}
	return s, nil
}

// checkArgs holds the argument struct against the schema: same properties, and
// required exactly where the field is not omitempty.
func checkArgs(raw json.RawMessage, args any) []error {
	var s struct {
		Type                 string                     `json:"type"`
		Properties           map[string]json.RawMessage `json:"properties"`
		Required             []string                   `json:"required"`
		AdditionalProperties *bool                      `json:"additionalProperties"`
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return []error{fmt.Errorf("inputSchema: %w", err)}
	}
	var errs []error
	if s.Type != "object" || s.AdditionalProperties == nil || *s.AdditionalProperties {
		errs = append(errs, errors.New("inputSchema: want an object with additionalProperties: false"))
	}
	typ := reflect.TypeOf(args)
	if typ == nil || typ.Kind() != reflect.Struct {
		return append(errs, errors.New("no argument struct"))
	}
	var fields, required []string
	for f := range typ.Fields() {
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields = append(fields, name)
		if !strings.Contains(opts, "omitempty") && !strings.Contains(opts, "omitzero") {
			required = append(required, name)
		}
	}
	var props []string
	for p := range s.Properties {
		props = append(props, p)
	}
	for _, l := range [][]string{fields, required, props, s.Required} {
		sort.Strings(l)
	}
	if !slices.Equal(fields, props) {
		errs = append(errs, fmt.Errorf("inputSchema: properties %v, but the argument struct has %v", props, fields))
	}
	if !slices.Equal(required, s.Required) {
		errs = append(errs, fmt.Errorf("inputSchema: required %v, but the argument struct requires %v", s.Required, required))
	}
	return errs
}

// Names lists the tools, sorted.
func (r *Registry) Names() []string {
	var names []string
	for n := range r.tools {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// Metadata returns a tool's metadata.
func (r *Registry) Metadata(name string) (Metadata, bool) {
	e, ok := r.tools[name]
	return e.meta, ok
}

// Read runs a read at once.
func (r *Registry) Read(ctx context.Context, env Env, call graph.Call) (graph.Result, error) {
	e, args, err := r.prepare(call)
	if err != nil {
		return graph.Result{}, err
	}
	if e.meta.SafetyClass != Read {
		return graph.Result{}, fmt.Errorf("%w: %s", ErrNotRead, call.Tool)
	}
	env.Tx, env.Enqueue = nil, nil
	return e.run(ctx, env, args)
}

// Write runs a write or irreversible tool inside the commit. An irreversible
// one runs only under a grant for exactly these arguments.
func (r *Registry) Write(ctx context.Context, env Env, call graph.Call, grants []Grant) (graph.Result, error) {
	e, args, err := r.prepare(call)
	if err != nil {
		return graph.Result{}, err
	}
	if e.meta.SafetyClass == Irreversible && !e.granted(call, grants) {
		return graph.Result{}, fmt.Errorf("%w: %s", ErrNotConfirmed, call.Tool)
	}
	return e.run(ctx, env, args)
}

func (r *Registry) prepare(call graph.Call) (entry, json.RawMessage, error) {
	e, ok := r.tools[call.Tool]
	if !ok {
		return e, nil, fmt.Errorf("%w: %s", ErrUnknown, call.Tool)
	}
	args, err := json.Marshal(call.Args)
	if err != nil {
		return e, nil, fmt.Errorf("encode arguments of %s: %w", call.Tool, err)
	}
	return e, args, nil
}

func (e entry) granted(call graph.Call, grants []Grant) bool {
	for _, g := range grants {
		if g.By == "confirmation" && g.Digest == call.Digest() {
			return true
		}
		if g.By == "policy" && slices.Contains(e.meta.Policies, g.Ref) {
			return true
		}
	}
	return false
}

func (e entry) run(ctx context.Context, env Env, args json.RawMessage) (graph.Result, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(args))
	if err != nil {
		return graph.Result{}, fmt.Errorf("arguments of %s: %w", e.def.Name, err)
	}
	if err := e.schema.Validate(doc); err != nil {
		return Conflict("invalid_arguments", fmt.Sprintf("%s: %v", e.def.Name, err), "correct the arguments", nil)
	}
	res, err := e.handler(ctx, env, args)
	if err != nil {
		return graph.Result{}, fmt.Errorf("run %s: %w", e.def.Name, err)
	}
	return res, nil
}
