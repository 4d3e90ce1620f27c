package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// schemaRules is what one vendor accepts of JSON Schema.
type schemaRules struct {
	off         bool // the vendor does not look
	keywords    []string
	formats     []string // nil: any
	requireAll  bool
	maxMinItems float64
	maxDepth    int
	recursion   bool
}

const maxProperties = 5000

func openAIRules(strict bool) schemaRules {
	return schemaRules{
		off: !strict,
		keywords: []string{
			"$defs", "$ref", "additionalProperties", "anyOf", "const", "definitions", "description", "enum",
			"exclusiveMaximum", "exclusiveMinimum", "format", "items", "maxItems", "maximum", "minItems", "minimum",
			"multipleOf", "pattern", "properties", "required", "title", "type",
		},
		requireAll:  true,
		maxMinItems: 1 << 30,
		maxDepth:    10,
		recursion:   true,
	}
}

func anthropicRules() schemaRules {
	return schemaRules{
		keywords: []string{
			"$defs", "$ref", "additionalProperties", "allOf", "anyOf", "const", "description", "enum", "format",
			"items", "minItems", "oneOf", "pattern", "properties", "required", "title", "type",
		},
		formats:     []string{"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"},
		maxMinItems: 1,
		maxDepth:    32,
	}
}

// checkSchema refuses a schema the way the vendor would: the first fault, with
// its place.
func checkSchema(raw json.RawMessage, rules schemaRules) error {
	var root map[string]any
	if err := json.Unmarshal(raw, &root); err != nil || root == nil {
		return errors.New("schema must be a JSON object")
	}
	if rules.off {
		return nil
	}
	if root["type"] != "object" {
		return fmt.Errorf("schema must be a JSON Schema of 'type: \"object\"', got 'type: %v'", root["type"])
	}
	if root["anyOf"] != nil || root["oneOf"] != nil {
		return errors.New("a union is not permitted at the root")
	}
	c := schemaCheck{schemaRules: rules, root: root, sound: make(map[string]bool)}
	return c.node(root, "root", 0, nil)
}

type schemaCheck struct {
	schemaRules

	root       map[string]any
	properties int
	sound      map[string]bool // references already followed to their ends
}

func (c *schemaCheck) node(v any, at string, depth int, refs []string) error {
	n, ok := v.(map[string]any)
	switch {
	case !ok:
		return fmt.Errorf("in context=(%s), a schema must be an object", at)
	case depth > c.maxDepth:
		return fmt.Errorf("in context=(%s), the schema nests deeper than %d levels", at, c.maxDepth)
	}
	for _, key := range sortedKeys(n) {
		if !slices.Contains(c.keywords, key) {
			return fmt.Errorf("in context=(%s), '%s' is not permitted", at, key)
		}
	}
	if err := c.values(n, at); err != nil {
		return err
	}
	if isObject(n) {
		if err := c.object(n, at, depth); err != nil {
			return err
		}
	}
	return c.children(n, at, depth, refs)
}

func (c *schemaCheck) values(n map[string]any, at string) error {
	if m, ok := n["minItems"].(float64); ok && m > c.maxMinItems {
		return fmt.Errorf("in context=(%s), 'minItems' of %v is not permitted", at, m)
	}
	if f, ok := n["format"].(string); ok && c.formats != nil && !slices.Contains(c.formats, f) {
		return fmt.Errorf("in context=(%s), format '%s' is not permitted", at, f)
	}
	if e, ok := n["enum"].([]any); ok && len(e) > 1000 {
		return fmt.Errorf("in context=(%s), more than 1000 enum values", at)
	}
	return nil
}

func (c *schemaCheck) object(n map[string]any, at string, depth int) error {
	if n["additionalProperties"] != false {
		return fmt.Errorf("in context=(%s), 'additionalProperties' is required to be supplied and to be false", at)
	}
	properties, _ := n["properties"].(map[string]any)
	c.properties += len(properties)
	if c.properties > maxProperties {
		return fmt.Errorf("more than %d properties", maxProperties)
	}
	required, _ := n["required"].([]any)
	for _, name := range sortedKeys(properties) {
		if c.requireAll && !slices.Contains(required, any(name)) {
			return fmt.Errorf("in context=(%s), 'required' is required to be supplied and to be an array including every key in properties. Missing '%s'", at, name)
		}
	}
	for _, r := range required {
		if name, ok := r.(string); !ok || properties[name] == nil {
			return fmt.Errorf("in context=(%s), 'required' names %v, which is no property (level %d)", at, r, depth)
		}
	}
	return nil
}

func (c *schemaCheck) children(n map[string]any, at string, depth int, refs []string) error {
	for _, key := range []string{"properties", "$defs", "definitions"} {
		group, _ := n[key].(map[string]any)
		for _, name := range sortedKeys(group) {
			if err := c.node(group[name], at+"."+key+"."+name, depth+1, refs); err != nil {
				return err
			}
		}
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		list, _ := n[key].([]any)
		for i, sub := range list {
			if err := c.node(sub, fmt.Sprintf("%s.%s.%d", at, key, i), depth+1, refs); err != nil {
				return err
			}
		}
	}
	if items, ok := n["items"]; ok {
		if err := c.node(items, at+".items", depth+1, refs); err != nil {
			return err
		}
	}
	if ref, ok := n["$ref"].(string); ok {
		return c.ref(ref, at, depth, refs)
	}
	return nil
}

func (c *schemaCheck) ref(ref, at string, depth int, refs []string) error {
	to, ok := resolve(c.root, ref)
	if !ok {
		return fmt.Errorf("in context=(%s), reference '%s' cannot be resolved", at, ref)
	}
	if slices.Contains(refs, ref) {
		if c.recursion {
			return nil
		}
		return fmt.Errorf("in context=(%s), recursive schemas are not supported", at)
	}
	if c.sound[ref] {
		return nil
	}
	if err := c.node(to, ref, depth+1, append(slices.Clone(refs), ref)); err != nil {
		return err
	}
	c.sound[ref] = true
	return nil
}

// resolve finds a definition by "#/$defs/name" or "#/definitions/name".
func resolve(root map[string]any, ref string) (any, bool) {
	for _, key := range []string{"$defs", "definitions"} {
		if name, ok := strings.CutPrefix(ref, "#/"+key+"/"); ok {
			group, _ := root[key].(map[string]any)
			to, ok := group[name]
			return to, ok
		}
	}
	return nil, false
}

func isObject(n map[string]any) bool {
	if n["properties"] != nil || n["type"] == "object" {
		return true
	}
	list, _ := n["type"].([]any)
	return slices.Contains(list, any("object"))
}

func sortedKeys(m map[string]any) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
