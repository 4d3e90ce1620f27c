package llm

import (
	"encoding/json"
	"slices"
	"strconv"
	"unicode/utf8"
)

// quick is a subschema in a form that accepts good answers in one pass without
// allocating. It only ever accepts: what it does not accept, and schemas that
// say more than it knows, go to the full validator, which also finds the words
// for what is wrong.
type quick struct {
	kinds            kind
	enum             []string // of strings; nil: any
	minimum, maximum *float64
	minLen, maxLen   int // of a string, in runes; maxLen negative: any
	minItems         int
	maxItems         int // negative: any
	items            *quick
	props            []quickProp
	required         uint64 // bits of props
}

type quickProp struct {
	name string
	*quick
}

// kind is a set of JSON types.
type kind uint8

const (
	kindObject kind = 1 << iota
	kindArray
	kindString
	kindNumber
	kindInteger
	kindBoolean
	kindNull
)

func kindOf(name string) kind {
	switch name {
	case "object":
		return kindObject
	case "array":
		return kindArray
	case "string":
		return kindString
	case "number":
		return kindNumber | kindInteger
	case "integer":
		return kindInteger
	case "boolean":
		return kindBoolean
	case "null":
		return kindNull
	}
	return 0
}

const (
	maxQuickProps  = 64
	maxQuickDigits = 15 // a longer number may round to a bound it exceeds
)

// compileQuick returns nil for a schema with a keyword it does not know.
func compileQuick(n *node) *quick {
	if !n.isObject() || n.member("type") == nil && n.member("enum") == nil {
		return nil
	}
	q := &quick{maxLen: -1, maxItems: -1}
	if n.member("type") == nil {
		q.kinds = kindString // the enum allows nothing else
	}
	for _, key := range n.names {
		if key != "description" && !annotates(key) && !q.keyword(key, n) {
			return nil
		}
	}
	if q.kinds&kindArray != 0 && q.items == nil {
		return nil
	}
	return q
}

func (q *quick) keyword(key string, n *node) bool {
	value := n.members[key]
	switch key {
	case "type":
		for _, t := range append([]*node{value}, value.items...) {
			if name, ok := t.text(); ok {
				q.kinds |= kindOf(name)
			}
		}
		return q.kinds != 0
	case "enum":
		for _, item := range value.items {
			text, ok := item.text()
			if !ok || !plain(text) {
				return false
			}
			q.enum = append(q.enum, text)
		}
		return len(q.enum) > 0
	case "minimum":
		return limit(value, &q.minimum)
	case "maximum":
		return limit(value, &q.maximum)
	case "minLength":
		return count(value, &q.minLen)
	case "maxLength":
		return count(value, &q.maxLen)
	case "minItems":
		return count(value, &q.minItems)
	case "maxItems":
		return count(value, &q.maxItems)
	case "items":
		q.items = compileQuick(value)
		return q.items != nil
	case "properties", "required":
		return len(q.props) > 0 || q.properties(n)
	case "additionalProperties":
		return true // a member that is not among the properties is never accepted here
	}
	return false
}

func (q *quick) properties(n *node) bool {
	properties := n.member("properties")
	if properties == nil || len(properties.names) > maxQuickProps {
		return false
	}
	for i, name := range properties.names {
		sub := compileQuick(properties.members[name])
		if sub == nil || !plain(name) {
			return false
		}
		q.props = append(q.props, quickProp{name, sub})
		if requires(n, name) {
			q.required |= 1 << i
		}
	}
	list := n.member("required")
	return list == nil || !slices.ContainsFunc(list.items, func(item *node) bool {
		name, _ := item.text()
		return properties.member(name) == nil
	})
}

// plain reports whether a text is the same inside JSON's quotes.
func plain(s string) bool {
	raw, err := json.Marshal(s)
	return err == nil && string(raw) == `"`+s+`"`
}

func limit(n *node, to **float64) bool {
	f, err := strconv.ParseFloat(string(n.scalar), 64)
	*to = &f
	return err == nil && len(n.scalar) <= maxQuickDigits
}

func count(n *node, to *int) bool {
	v, err := strconv.Atoi(string(n.scalar))
	*to = v
	return err == nil && v >= 0
}

// quickScan reads one answer of valid UTF-8.
type quickScan struct {
	s          string
	i          int
	depth      int
	confidence float64
	stated     bool
}

// accept reports whether an answer is one document of the schema, and what
// confidence it states: see statedConfidence.
func (q *quick) accept(answer string) (confidence float64, stated, ok bool) {
	s := quickScan{s: answer, confidence: 1}
	s.space()
	if !s.value(q) {
		return 0, false, false
	}
	s.space()
	return s.confidence, s.stated, s.i == len(answer)
}

func (s *quickScan) space() {
	for s.i < len(s.s) && (s.s[s.i] == ' ' || s.s[s.i] == '\n' || s.s[s.i] == '\t' || s.s[s.i] == '\r') {
		s.i++
	}
}

// eat takes one character after white space.
func (s *quickScan) eat(c byte) bool {
	s.space()
	if s.i < len(s.s) && s.s[s.i] == c {
		s.i++
		return true
	}
	return false
}

func (s *quickScan) word(w string) bool {
	if len(s.s)-s.i >= len(w) && s.s[s.i:s.i+len(w)] == w {
		s.i += len(w)
		return true
	}
	return false
}

func (s *quickScan) value(q *quick) bool {
	if s.i >= len(s.s) {
		return false
	}
	c := s.s[s.i]
	if q.enum != nil && c != '"' {
		return false
	}
	switch c {
	case '{':
		return q.kinds&kindObject != 0 && s.object(q)
	case '[':
		return q.kinds&kindArray != 0 && s.array(q)
	case '"':
		return q.kinds&kindString != 0 && s.text(q)
	case 't':
		return q.kinds&kindBoolean != 0 && s.word("true")
	case 'f':
		return q.kinds&kindBoolean != 0 && s.word("false")
	case 'n':
		return q.kinds&kindNull != 0 && s.word("null")
	default:
		_, ok := s.number(q)
		return ok
	}
}

func (s *quickScan) array(q *quick) bool {
	s.i++
	n := 0
	for first := true; !s.eat(']'); first = false {
		if !first && !s.eat(',') {
			return false
		}
		s.space()
		s.depth += 2 // pairs of value and confidence count in the root alone
		ok := s.value(q.items)
		s.depth -= 2
		if !ok {
			return false
		}
		n++
	}
	return n >= q.minItems && (q.maxItems < 0 || n <= q.maxItems)
}

func (s *quickScan) object(q *quick) bool {
	s.i++
	var seen uint64
	var confidence float64
	var stated, valued bool
	for first := true; !s.eat('}'); first = false {
		if !first && !s.eat(',') {
			return false
		}
		at := s.member(q)
		if at < 0 || seen&(1<<at) != 0 {
			return false
		}
		seen |= 1 << at
		p := q.props[at]
		if p.name == "confidence" && p.kinds&kindNumber != 0 && s.i < len(s.s) && (s.s[s.i] == '-' || s.s[s.i]-'0' < 10) {
			if confidence, stated = s.number(p.quick); !stated {
				return false
			}
			continue
		}
		valued = valued || p.name == "value" && s.i < len(s.s) && s.s[s.i] != 'n'
		s.depth++
		ok := s.value(p.quick)
		s.depth--
		if !ok {
			return false
		}
	}
	switch {
	case !stated:
	case s.depth == 0:
		s.confidence, s.stated = confidence, true
	case s.depth == 1 && valued:
		s.confidence, s.stated = min(s.confidence, confidence), true
	}
	return seen&q.required == q.required
}

// member reads a name with its colon and returns which property it is, -1 for
// none of them.
func (s *quickScan) member(q *quick) int {
	s.space()
	if !s.eat('"') {
		return -1
	}
	for at := range q.props {
		name := q.props[at].name
		if end := s.i + len(name); end < len(s.s) && s.s[end] == '"' && s.s[s.i:end] == name {
			s.i = end + 1
			if !s.eat(':') {
				return -1
			}
			s.space()
			return at
		}
	}
	return -1
}

func (s *quickScan) text(q *quick) bool {
	s.i++
	start, escaped := s.i, false
	for ; s.i < len(s.s); s.i++ {
		c := s.s[s.i]
		if c == '"' {
			break
		}
		if c < ' ' {
			return false
		}
		if c == '\\' {
			escaped = true
			if !s.escape() {
				return false
			}
		}
	}
	if s.i >= len(s.s) {
		return false
	}
	body := s.s[start:s.i]
	s.i++
	if q.enum != nil && (escaped || !slices.Contains(q.enum, body)) {
		return false
	}
	if q.minLen > 0 && (escaped || utf8.RuneCountInString(body) < q.minLen) {
		return false
	}
	return q.maxLen < 0 || len(body) <= q.maxLen || !escaped && utf8.RuneCountInString(body) <= q.maxLen
}

// escape reads an escape but for its last character. NUL and surrogates are
// for the full validator.
func (s *quickScan) escape() bool {
	if s.i+1 >= len(s.s) {
		return false
	}
	s.i++
	switch s.s[s.i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
		if s.i+4 >= len(s.s) {
			return false
		}
		code, err := strconv.ParseUint(s.s[s.i+1:s.i+5], 16, 16)
		s.i += 4
		return err == nil && code != 0 && (code < 0xD800 || code > 0xDFFF)
	}
	return false
}

func (s *quickScan) digits() bool {
	start := s.i
	for s.i < len(s.s) && s.s[s.i]-'0' < 10 {
		s.i++
	}
	return s.i > start
}

// number reads a short number within the bounds.
func (s *quickScan) number(q *quick) (float64, bool) {
	start, whole := s.i, true
	if s.i < len(s.s) && s.s[s.i] == '-' {
		s.i++
	}
	zero := s.i < len(s.s) && s.s[s.i] == '0'
	first := s.i
	if !s.digits() || zero && s.i > first+1 {
		return 0, false
	}
	if s.i < len(s.s) && s.s[s.i] == '.' {
		whole = false
		s.i++
		if !s.digits() {
			return 0, false
		}
	}
	if s.i < len(s.s) && (s.s[s.i] == 'e' || s.s[s.i] == 'E') || s.i-start > maxQuickDigits {
		return 0, false
	}
	if q.kinds&kindNumber == 0 && (q.kinds&kindInteger == 0 || !whole) {
		return 0, false
	}
	f, err := strconv.ParseFloat(s.s[start:s.i], 64)
	ok := err == nil && (q.minimum == nil || f >= *q.minimum) && (q.maximum == nil || f <= *q.maximum)
	return f, ok
}
