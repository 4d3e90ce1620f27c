package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

// schema is the part of JSON Schema that definitions are written in.
type schema struct {
	Type                 string             `json:"type"`
	Description          string             `json:"description"`
	Properties           map[string]*schema `json:"properties"`
	Required             []string           `json:"required"`
	AdditionalProperties *bool              `json:"additionalProperties"`
	Items                *schema            `json:"items"`
	Enum                 []any              `json:"enum"`
	Pattern              *string            `json:"pattern"`
	Format               string             `json:"format"`
	MinLength            *int               `json:"minLength"`
	MaxLength            *int               `json:"maxLength"`
	Minimum              *float64           `json:"minimum"`
	Maximum              *float64           `json:"maximum"`
	MinItems             *int               `json:"minItems"`
	MaxItems             *int               `json:"maxItems"`
	UniqueItems          bool               `json:"uniqueItems"`
}

func readSchema(raw json.RawMessage) (*schema, error) {
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.DisallowUnknownFields()
	var s schema
	if err := dec.Decode(&s); err != nil {
		return nil, fmt.Errorf("inputSchema: %w", err)
	}
	return &s, nil
}

// checkSchema holds a schema against rules that are stricter than JSON Schema:
// closed objects, everything described, everything bounded. What a model fills
// in has no room for what nobody thought of.
func checkSchema(raw json.RawMessage) []error {
	s, err := readSchema(raw)
	if err != nil {
		return []error{err}
	}
	if s.Type != "object" || s.AdditionalProperties == nil || *s.AdditionalProperties {
		return []error{errors.New("inputSchema: want an object with additionalProperties: false")}
	}
	return s.strict("inputSchema", true)
}

func (s *schema) strict(path string, root bool) (errs []error) {
	fault := func(want string) { errs = append(errs, fmt.Errorf("%s: %s", path, want)) }
	if s.Description == "" && !root {
		fault("want a description")
	}
	switch s.Type {
	case "object":
		if s.AdditionalProperties == nil || *s.AdditionalProperties {
			fault("want additionalProperties: false")
		}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			errs = append(errs, s.Properties[name].strict(path+"."+name, false)...)
		}
	case "string":
		if s.MaxLength == nil && s.Pattern == nil && s.Format == "" && len(s.Enum) == 0 {
			fault("want a bound: maxLength, pattern, format or enum")
		}
	case "integer", "number":
		if len(s.Enum) == 0 && (s.Minimum == nil || s.Maximum == nil) {
			fault("want bounds: minimum and maximum")
		}
	case "array":
		if s.MaxItems == nil {
			fault("want a bound: maxItems")
		}
		if s.Items == nil {
			fault("want items")
		} else {
			errs = append(errs, s.Items.strict(path+"[]", true)...)
		}
	case "boolean":
	default:
		fault(fmt.Sprintf("want one type of object, string, integer, number, array, boolean, not %q", s.Type))
	}
	return errs
}

// checkArgs holds the argument struct against the schema: the same properties,
// of the same types, and required exactly where the field may not be left out.
func checkArgs(raw json.RawMessage, args any) []error {
	s, err := readSchema(raw)
	if err != nil {
		return nil // reported by checkSchema
	}
	typ := reflect.TypeOf(args)
	if typ == nil || typ.Kind() != reflect.Struct {
		return []error{errors.New("no argument struct")}
	}
	return s.agrees("inputSchema", typ)
}

func (s *schema) agrees(path string, typ reflect.Type) (errs []error) {
	fault := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: %s", path, fmt.Sprintf(format, args...)))
	}
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if want := typeOf(typ); s.Type != want {
		fault("type %q, but the argument struct has %v, which is %q", s.Type, typ, want)
		return errs
	}
	switch {
	case s.Type == "array" && s.Items != nil:
		return s.Items.agrees(path+"[]", typ.Elem())
	case s.Type == "string" && typ == reflect.TypeFor[time.Time]() && s.Format != "date-time":
		fault("the argument struct has a time, but the format is not date-time")
	case s.Type != "object":
		return errs
	}
	fields := map[string]reflect.Type{}
	var required []string
	for f := range typ.Fields() {
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			fault("the field %s of the argument struct has no json name", f.Name)
			continue
		}
		fields[name] = f.Type
		if !strings.Contains(opts, "omitempty") && !strings.Contains(opts, "omitzero") {
			required = append(required, name)
		}
	}
	slices.Sort(required)
	wanted := slices.Sorted(slices.Values(s.Required))
	props, has := slices.Sorted(maps.Keys(s.Properties)), slices.Sorted(maps.Keys(fields))
	if !slices.Equal(has, props) {
		fault("properties %v, but the argument struct has %v", props, has)
	}
	if !slices.Equal(required, wanted) {
		fault("required %v, but the argument struct requires %v", wanted, required)
	}
	for _, name := range props {
		if t, ok := fields[name]; ok {
			errs = append(errs, s.Properties[name].agrees(path+"."+name, t)...)
		}
	}
	return errs
}

// typeOf is the JSON type that a Go type is encoded as.
func typeOf(t reflect.Type) string {
	if t == reflect.TypeFor[time.Time]() {
		return "string"
	}
	switch t.Kind() { //nolint:exhaustive // what else there is, is no argument.
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "integer"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Slice:
		return "array"
	case reflect.Struct:
		return "object"
	}
	return t.Kind().String()
}
