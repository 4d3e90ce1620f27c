package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// maxDepth bounds how deep a schema may nest.
const maxDepth = 64

// node is a JSON document that keeps the order of its members. Order matters:
// a model writes its answer in the order of the schema's properties, and the
// reasoning has to come before the confidence.
type node struct {
	names   []string // of an object's members, in order
	members map[string]*node
	items   []*node         // of an array
	scalar  json.RawMessage // anything else
}

var errDepth = errors.New("nested too deep")

func parseNode(raw []byte) (*node, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	n, err := readNode(dec, 0)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text after the document")
	}
	return n, nil
}

func readNode(dec *json.Decoder, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, errDepth
	}
	tok, err := dec.Token()
	if err != nil {
		return nil, fmt.Errorf("read json: %w", err)
	}
	switch tok {
	case json.Delim('{'):
		return readObject(dec, depth)
	case json.Delim('['):
		n := &node{items: []*node{}}
		for dec.More() {
			item, err := readNode(dec, depth+1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, item)
		}
		_, err := dec.Token()
		return n, err
	}
	scalar, err := json.Marshal(tok)
	return &node{scalar: scalar}, err
}

func readObject(dec *json.Decoder, depth int) (*node, error) {
	n := &node{members: map[string]*node{}}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("read json: %w", err)
		}
		name, ok := tok.(string)
		if !ok {
			return nil, fmt.Errorf("read json: member name %v", tok)
		}
		value, err := readNode(dec, depth+1)
		if err != nil {
			return nil, err
		}
		if n.members[name] != nil {
			return nil, fmt.Errorf("member %q is given twice", name)
		}
		n.set(name, value)
	}
	_, err := dec.Token()
	return n, err
}

func newObject() *node { return &node{members: map[string]*node{}} }

func textNode(s string) *node {
	raw, _ := json.Marshal(s) // A string always marshals.
	return &node{scalar: raw}
}

func (n *node) isObject() bool { return n != nil && n.members != nil }

// member returns an object's member, nil when there is none.
func (n *node) member(name string) *node {
	if n == nil {
		return nil
	}
	return n.members[name]
}

func (n *node) set(name string, value *node) {
	if n.members[name] == nil {
		n.names = append(n.names, name)
	}
	n.members[name] = value
}

func (n *node) remove(name string) {
	if n.members[name] != nil {
		delete(n.members, name)
		n.names = slices.DeleteFunc(n.names, func(s string) bool { return s == name })
	}
}

func (n *node) text() (string, bool) {
	if n == nil || len(n.scalar) == 0 || n.scalar[0] != '"' {
		return "", false
	}
	var s string
	err := json.Unmarshal(n.scalar, &s)
	return s, err == nil
}

func (n *node) clone() *node {
	if n == nil {
		return nil
	}
	out := &node{names: slices.Clone(n.names), scalar: slices.Clone(n.scalar)}
	if n.members != nil {
		out.members = make(map[string]*node, len(n.members))
		for k, v := range n.members {
			out.members[k] = v.clone()
		}
	}
	if n.items != nil {
		out.items = make([]*node, len(n.items))
		for i, v := range n.items {
			out.items[i] = v.clone()
		}
	}
	return out
}

// MarshalJSON writes the document with its members in their order.
func (n *node) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	n.write(&b)
	return b.Bytes(), nil
}

func (n *node) write(b *bytes.Buffer) {
	switch {
	case n.members != nil:
		b.WriteByte('{')
		for i, name := range n.names {
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(textNode(name).scalar)
			b.WriteByte(':')
			n.members[name].write(b)
		}
		b.WriteByte('}')
	case n.items != nil:
		b.WriteByte('[')
		for i, item := range n.items {
			if i > 0 {
				b.WriteByte(',')
			}
			item.write(b)
		}
		b.WriteByte(']')
	default:
		b.Write(n.scalar)
	}
}
