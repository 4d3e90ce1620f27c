package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Dialect is what one provider accepts of JSON Schema. What it does not accept
// is moved into the description, where the model still reads it; the local
// validation enforces it either way.
type Dialect struct {
	Name    string
	Keep    []string // constraint keywords sent as they are
	Formats []string // values of "format" sent as they are
	// MaxMinItems is the greatest "minItems" sent as it is; negative means any.
	MaxMinItems int
	// RequireAll makes every property required and an optional one a union
	// with null. Restore undoes it in the answer.
	RequireAll bool
	// Recursion allows a schema to refer to itself.
	Recursion bool
}

// Compiler compiles schemas into one dialect, each once. It is safe for
// concurrent use; providers embed it.
type Compiler struct {
	Dialect *Dialect

	compiled sync.Map // *Schema to json.RawMessage
}

// Compile returns the schema in the dialect.
func (c *Compiler) Compile(s *Schema) (json.RawMessage, error) {
	if raw, ok := c.compiled.Load(s); ok {
		return raw.(json.RawMessage), nil //nolint:forcetypeassert // nothing else is stored.
	}
	raw, err := s.In(c.Dialect)
	if err != nil {
		return nil, err
	}
	c.compiled.Store(s, raw)
	return raw, nil
}

// CheckSchema implements SchemaChecker.
func (c *Compiler) CheckSchema(s *Schema) error {
	_, err := c.Compile(s)
	return err
}

var (
	errOpenObject = errors.New("additionalProperties other than false cannot be promised")
	errRecursive  = errors.New("the schema refers to itself")
	errRootUnion  = errors.New("a union at the root is not accepted")
)

// In compiles the schema into a dialect. The members of the result keep the
// order of the original. It fails where moving a keyword into the description
// would change the answer's shape.
func (s *Schema) In(d *Dialect) (json.RawMessage, error) {
	for _, union := range []string{"anyOf", "oneOf"} {
		if s.root.member(union) != nil {
			return nil, fmt.Errorf("schema %s for %s: %w", s.name, d.Name, errRootUnion)
		}
	}
	c := dialectCompiler{Dialect: d, defs: s.root.member("$defs")}
	out, err := c.schema(s.root, nil)
	if err != nil {
		return nil, fmt.Errorf("schema %s for %s: %w", s.name, d.Name, err)
	}
	return out.MarshalJSON()
}

type dialectCompiler struct {
	*Dialect
	defs *node
}

// schema compiles one subschema; refs are the definitions it is inside of.
func (c dialectCompiler) schema(n *node, refs []string) (*node, error) {
	if !n.isObject() {
		return nil, errors.New("a subschema must be an object")
	}
	if ref := n.member("$ref"); ref != nil {
		return c.ref(ref, refs)
	}
	out, moved := newObject(), []string{}
	for _, key := range n.names {
		value := n.members[key]
		switch {
		case key == "required" || annotates(key):
		case key == "additionalProperties":
			if string(value.scalar) != "false" {
				return nil, errOpenObject
			}
		case nests(key) || key == "allOf" && c.keeps("allOf"):
			if err := c.nested(out, key, value, refs); err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
		case c.keepsValue(key, value):
			out.set(key, value.clone())
		default:
			raw, _ := value.MarshalJSON()
			moved = append(moved, key+": "+string(raw))
		}
	}
	if describesObject(n) {
		c.close(n, out)
	}
	describe(out, moved)
	return out, nil
}

// annotates reports whether a keyword constrains nothing and is dropped.
func annotates(key string) bool {
	switch key {
	case "$schema", "$id", "$comment", "$anchor", "title", "examples", "readOnly", "writeOnly", "deprecated":
		return true
	}
	return false
}

// nests reports whether a keyword holds subschemas in every dialect.
func nests(key string) bool {
	switch key {
	case "properties", "$defs", "items", "anyOf", "oneOf":
		return true
	}
	return false
}

// nested compiles the subschemas a keyword holds.
func (c dialectCompiler) nested(out *node, key string, value *node, refs []string) error {
	var compiled *node
	var err error
	switch key {
	case "properties", "$defs":
		compiled, err = c.each(value, refs)
	case "items":
		compiled, err = c.schema(value, refs)
	default:
		return c.union(out, key, value, refs)
	}
	if err != nil {
		return err
	}
	out.set(key, compiled)
	return nil
}

func (c dialectCompiler) keeps(key string) bool { return slices.Contains(c.Keep, key) }

func (c dialectCompiler) keepsValue(key string, value *node) bool {
	switch key {
	case "type", "description", "enum", "const":
		return true
	case "format":
		f, _ := value.text()
		return slices.Contains(c.Formats, f)
	case "minItems":
		return c.MaxMinItems < 0 || slices.Contains([]string{"0", "1"}, string(value.scalar))
	}
	return c.keeps(key)
}

func (c dialectCompiler) each(n *node, refs []string) (*node, error) {
	out := newObject()
	for _, name := range n.names {
		compiled, err := c.schema(n.members[name], refs)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out.set(name, compiled)
	}
	return out, nil
}

func (c dialectCompiler) union(out *node, key string, value *node, refs []string) error {
	if key == "oneOf" {
		key = "anyOf"
	}
	if out.member(key) != nil {
		return errors.New("anyOf beside oneOf")
	}
	branches := &node{items: []*node{}}
	for _, item := range value.items {
		compiled, err := c.schema(item, refs)
		if err != nil {
			return err
		}
		branches.items = append(branches.items, compiled)
	}
	out.set(key, branches)
	return nil
}

func (c dialectCompiler) ref(ref *node, refs []string) (*node, error) {
	to, _ := ref.text()
	name, ok := strings.CutPrefix(to, "#/$defs/")
	if !ok || c.defs.member(name) == nil {
		return nil, fmt.Errorf("$ref %q does not name one of $defs", to)
	}
	if !c.Recursion {
		if slices.Contains(refs, name) {
			return nil, errRecursive
		}
		// The definition is compiled where it stands; this walk only looks
		// for a way back to it.
		if _, err := c.schema(c.defs.member(name), append(slices.Clone(refs), name)); err != nil {
			return nil, err
		}
	}
	out := newObject()
	out.set("$ref", textNode(to))
	return out, nil
}

// close makes an object schema strict: no other members and, where the dialect
// asks for it, every member required.
func (c dialectCompiler) close(original, out *node) {
	properties := out.member("properties")
	if properties == nil {
		properties = newObject()
		out.set("properties", properties)
	}
	required := &node{items: []*node{}}
	for _, name := range properties.names {
		switch {
		case requires(original, name):
		case c.RequireAll:
			properties.members[name] = nullable(properties.members[name])
		default:
			continue
		}
		required.items = append(required.items, textNode(name))
	}
	out.set("required", required)
	out.set("additionalProperties", &node{scalar: json.RawMessage("false")})
}

func describesObject(n *node) bool {
	if n.member("properties") != nil {
		return true
	}
	return allowsType(n.member("type"), "object")
}

func allowsType(n *node, want string) bool {
	if n == nil {
		return false
	}
	for _, t := range append([]*node{n}, n.items...) {
		if s, ok := t.text(); ok && s == want {
			return true
		}
	}
	return false
}

func requires(n *node, name string) bool {
	list := n.member("required")
	if list == nil {
		return false
	}
	return slices.ContainsFunc(list.items, func(item *node) bool {
		s, _ := item.text()
		return s == name
	})
}

func nullable(n *node) *node {
	if allowsType(n.member("type"), "null") {
		return n
	}
	null := newObject()
	null.set("type", textNode("null"))
	out := newObject()
	out.set("anyOf", &node{items: []*node{n, null}})
	return out
}

func describe(out *node, moved []string) {
	if len(moved) == 0 {
		return
	}
	text := "Must satisfy " + strings.Join(moved, ", ") + "."
	if before, ok := out.member("description").text(); ok && before != "" {
		text = before + " " + text
	}
	out.set("description", textNode(text))
}

// Restore undoes what RequireAll did to an answer: a null that stands for an
// optional member is left out again. What is not JSON is returned unchanged.
func (s *Schema) Restore(answer string) string {
	if !s.optional {
		return answer
	}
	doc, err := parseNode([]byte(answer))
	if err != nil {
		return answer
	}
	s.restore(s.root, doc, 0)
	out, err := doc.MarshalJSON()
	if err != nil {
		return answer
	}
	return string(out)
}

func (s *Schema) resolve(n *node) *node {
	if to, ok := n.member("$ref").text(); ok {
		return s.root.member("$defs").member(strings.TrimPrefix(to, "#/$defs/"))
	}
	return n
}

// hasOptional reports whether any object under n has an optional member.
func (s *Schema) hasOptional(n *node, depth int) bool {
	n = s.resolve(n)
	if n == nil || depth > maxDepth {
		return false
	}
	if properties := n.member("properties"); properties != nil {
		for _, name := range properties.names {
			if !requires(n, name) || s.hasOptional(properties.members[name], depth+1) {
				return true
			}
		}
	}
	for _, sub := range s.branches(n) {
		if s.hasOptional(sub, depth+1) {
			return true
		}
	}
	return s.hasOptional(n.member("items"), depth+1)
}

// branches returns the only object branch of a union. With several, which one
// an answer follows is unknown, and its nulls are left to the validation.
func (s *Schema) branches(n *node) []*node {
	var objects []*node
	for _, union := range []string{"anyOf", "oneOf"} {
		if list := n.member(union); list != nil {
			for _, item := range list.items {
				if r := s.resolve(item); r.isObject() && describesObject(r) {
					objects = append(objects, r)
				}
			}
		}
	}
	if len(objects) != 1 {
		return nil
	}
	return objects
}

func (s *Schema) restore(n, doc *node, depth int) {
	n = s.resolve(n)
	if n == nil || doc == nil || depth > maxDepth {
		return
	}
	if properties := n.member("properties"); properties != nil && doc.isObject() {
		for _, name := range properties.names {
			value := doc.member(name)
			if value != nil && string(value.scalar) == "null" && !requires(n, name) {
				doc.remove(name)
				continue
			}
			s.restore(properties.members[name], value, depth+1)
		}
	}
	for _, item := range doc.items {
		s.restore(n.member("items"), item, depth+1)
	}
	for _, sub := range s.branches(n) {
		s.restore(sub, doc, depth+1)
	}
}
