package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// maxFill bounds how deep an answer nests, maxFilled how long it gets: a schema
// that refers to itself has no end of its own.
const (
	maxFill   = 16
	maxFilled = 64 << 10
)

// fields are what the model would like to answer, by property name.
type fields map[string]any

// filler writes an instance of a schema: proposed values where they fit,
// the plainest possible ones elsewhere. Members keep the schema's order, as a
// vendor's constrained decoding does.
type filler struct{ root map[string]any }

func fill(schema json.RawMessage, proposed fields) string {
	f := filler{}
	if json.Unmarshal(schema, &f.root) != nil {
		return "{}"
	}
	var b bytes.Buffer
	f.write(&b, schema, map[string]any(proposed), 0)
	return b.String()
}

// member is one member of an object, undecoded.
type member struct {
	name string
	raw  json.RawMessage
}

// members lists an object's members in their order; nothing when it is none.
func members(raw json.RawMessage) []member {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return nil
	}
	var out []member
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return out
		}
		m := member{name: fmt.Sprint(tok)}
		if dec.Decode(&m.raw) != nil {
			return out
		}
		out = append(out, m)
	}
	return out
}

// node is the part of a schema the filler looks at.
type node struct {
	Ref        string            `json:"$ref"`
	Type       json.RawMessage   `json:"type"`
	Enum       []any             `json:"enum"`
	Const      any               `json:"const"`
	Properties json.RawMessage   `json:"properties"`
	AnyOf      []json.RawMessage `json:"anyOf"`
	OneOf      []json.RawMessage `json:"oneOf"`
}

func (n node) types() []string {
	var one string
	if json.Unmarshal(n.Type, &one) == nil {
		return []string{one}
	}
	var many []string
	_ = json.Unmarshal(n.Type, &many) // A type that is neither is treated as none.
	return many
}

func (f filler) write(b *bytes.Buffer, schema json.RawMessage, proposed any, depth int) {
	var n node
	if depth > maxFill || b.Len() > maxFilled || json.Unmarshal(schema, &n) != nil {
		b.WriteString("null")
		return
	}
	if n.Ref != "" {
		// A definition's members come out sorted; order matters at the root only.
		to, _ := resolve(f.root, n.Ref)
		raw, _ := json.Marshal(to) // It was decoded from JSON.
		f.write(b, raw, proposed, depth+1)
		return
	}
	if branches := append(n.AnyOf, n.OneOf...); len(branches) > 0 {
		f.write(b, f.branch(branches, proposed), proposed, depth+1)
		return
	}
	if len(n.Properties) > 0 {
		if proposed == nil && slices.Contains(n.types(), "null") {
			b.WriteString("null")
			return
		}
		f.object(b, n, proposed, depth)
		return
	}
	raw, err := json.Marshal(f.scalar(n, proposed))
	if err != nil {
		raw = []byte("null")
	}
	b.Write(raw)
}

func (f filler) object(b *bytes.Buffer, n node, proposed any, depth int) {
	given, _ := proposed.(map[string]any)
	b.WriteByte('{')
	for i, m := range members(n.Properties) {
		if i > 0 {
			b.WriteByte(',')
		}
		name, _ := json.Marshal(m.name)
		b.Write(name)
		b.WriteByte(':')
		f.write(b, m.raw, given[m.name], depth+1)
	}
	b.WriteByte('}')
}

// branch picks the branch of a union that the value fits.
func (f filler) branch(branches []json.RawMessage, proposed any) json.RawMessage {
	for _, raw := range branches {
		var n node
		if json.Unmarshal(raw, &n) == nil && fits(n, proposed) {
			return raw
		}
	}
	return branches[0]
}

func fits(n node, v any) bool {
	if n.Ref != "" || len(n.Properties) > 0 {
		_, ok := v.(map[string]any)
		return ok
	}
	if len(n.Enum) > 0 {
		return slices.Contains(n.Enum, v)
	}
	types := n.types()
	switch v := v.(type) {
	case nil:
		return slices.Contains(types, "null")
	case string:
		return slices.Contains(types, "string")
	case bool:
		return slices.Contains(types, "boolean")
	case float64:
		return slices.Contains(types, "number") || v == float64(int64(v)) && slices.Contains(types, "integer")
	case []any:
		return slices.Contains(types, "array")
	}
	return false
}

func (f filler) scalar(n node, proposed any) any {
	if n.Const != nil {
		return n.Const
	}
	if fits(n, proposed) {
		return proposed
	}
	types := n.types()
	switch {
	case slices.Contains(types, "null"):
		return nil
	case len(n.Enum) > 0:
		return n.Enum[0]
	case slices.Contains(types, "array"):
		return []any{}
	case slices.Contains(types, "object"):
		return map[string]any{}
	case slices.Contains(types, "number"), slices.Contains(types, "integer"):
		return 0
	case slices.Contains(types, "boolean"):
		return false
	}
	return ""
}
