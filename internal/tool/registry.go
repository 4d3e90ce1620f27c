package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/tenant"
)

// maxArguments bounds the arguments of one call, in bytes of JSON.
const maxArguments = 64 << 10

type entry struct {
	raw     json.RawMessage // definition.json as it is
	def     Definition
	meta    Metadata
	schema  *jsonschema.Schema // compiled once
	handler Handler
	preview Handler
}

// Registry holds checked tools. It is immutable and safe for concurrent use.
type Registry struct {
	tools map[string]*entry
	table Table // nil permits everything
}

// NewRegistry checks every tool and returns all faults at once.
func NewRegistry(tools ...Tool) (*Registry, error) {
	r := &Registry{tools: map[string]*entry{}}
	var errs []error
	for i, t := range tools {
		e, faults := check(t)
		name := e.def.Name
		if name == "" {
			name = fmt.Sprintf("tool %d", i)
		}
		for _, f := range faults {
			errs = append(errs, fmt.Errorf("%s: %w", name, f))
		}
		if len(faults) > 0 {
			continue
		}
		if r.tools[name] != nil {
			errs = append(errs, fmt.Errorf("%s: two tools have one name", name))
		}
		r.tools[name] = e
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return r, nil
}

// Names lists the tools, sorted.
func (r *Registry) Names() []string { return slices.Sorted(maps.Keys(r.tools)) }

// For lists the tools that somebody may call, sorted.
func (r *Registry) For(a Actor) []string {
	return slices.DeleteFunc(r.Names(), func(name string) bool { return !r.tools[name].open(a) })
}

// Metadata returns a tool's metadata.
func (r *Registry) Metadata(name string) (Metadata, bool) {
	e, ok := r.tools[name]
	if !ok {
		return Metadata{}, false
	}
	return e.meta, true
}

// Definition returns a tool's definition.json, byte for byte.
func (r *Registry) Definition(name string) (json.RawMessage, bool) {
	e, ok := r.tools[name]
	if !ok {
		return nil, false
	}
	return slices.Clone(e.raw), true
}

// Read runs a read at once.
func (r *Registry) Read(ctx context.Context, env Env, call graph.Call) (graph.Result, error) {
	e, args, err := r.find(call)
	if err != nil {
		return graph.Result{}, err
	}
	if e.meta.SafetyClass != Read {
		return graph.Result{}, fmt.Errorf("%w: %s", ErrNotRead, call.Tool)
	}
	env.Tx, env.Enqueue = nil, nil
	return r.dispatch(ctx, env, e, e.handler, args)
}

// Write runs a write or irreversible tool inside the commit. One that needs a
// grant runs only under one for exactly these arguments.
func (r *Registry) Write(ctx context.Context, env Env, call graph.Call, grants []Grant) (graph.Result, error) {
	e, args, err := r.find(call)
	if err != nil {
		return graph.Result{}, err
	}
	env.granted = e.granted(env, args, grants)
	if !env.granted && e.needs(env.Actor, env.Tenant) {
		return graph.Result{}, fmt.Errorf("%w: %s", ErrNotConfirmed, call.Tool)
	}
	return r.dispatch(ctx, env, e, e.handler, args)
}

// Preview says what a call would do. It reads only, whatever the tool's class,
// and refuses what the call would be refused for. Where the tool has no preview
// of its own, the result has no data.
func (r *Registry) Preview(ctx context.Context, env Env, call graph.Call) (graph.Result, error) {
	e, args, err := r.find(call)
	if err != nil {
		return graph.Result{}, err
	}
	env.Tx, env.Enqueue = nil, nil
	return r.dispatch(ctx, env, e, e.preview, args)
}

func (r *Registry) find(call graph.Call) (*entry, json.RawMessage, error) {
	e, ok := r.tools[call.Tool]
	if !ok {
		return nil, nil, fmt.Errorf("%w: %s", ErrUnknown, call.Tool)
	}
	args, err := json.Marshal(call.Args)
	if err != nil {
		return nil, nil, fmt.Errorf("encode arguments of %s: %w", call.Tool, err)
	}
	return e, args, nil
}

// dispatch is the one way to a handler: whose, where and with what arguments
// are looked at first.
func (r *Registry) dispatch(ctx context.Context, env Env, e *entry, h Handler, args json.RawMessage) (graph.Result, error) {
	name := e.def.Name
	if !e.open(env.Actor) {
		return Conflict(NotPermitted, "That is not for your role.", "ask the owner", nil)
	}
	if r.table != nil && !r.table.permits(env.At, name) {
		return Conflict(NotPermitted, "That cannot be done at this point.", "go on with what is asked now", nil)
	}
	if len(args) > maxArguments {
		return Conflict(InvalidArguments, fmt.Sprintf("%s: the arguments are larger than %d bytes", name, maxArguments), "send less", nil)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(args))
	if err != nil {
		return graph.Result{}, fmt.Errorf("arguments of %s: %w", name, err)
	}
	if err := e.schema.Validate(doc); err != nil {
		return Conflict(InvalidArguments, fmt.Sprintf("%s: %v", name, err), "correct the arguments", nil)
	}
	if h.run == nil {
		return graph.Result{OK: true}, nil
	}
	res, err := h.run(ctx, env, args)
	if err != nil {
		return graph.Result{}, fmt.Errorf("run %s: %w", name, err)
	}
	return res, nil
}

// open reports whether the tool is for somebody. Customers reach what is not
// the business's alone, and only through a graph.
func (e *entry) open(a Actor) bool {
	switch a.Role {
	case tenant.Owner:
		return true
	case tenant.Staff:
		return e.meta.MinRole != tenant.Owner
	}
	return !e.meta.BusinessOnly
}
