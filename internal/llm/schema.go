package llm

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// MaxAnswer is the most a model's answer may hold, in bytes.
const MaxAnswer = 256 << 10

// maxComplaint bounds what a validation error tells the model and the reader.
const maxComplaint = 600

// ErrAnswer is wrapped by every refusal of Schema.Parse.
var ErrAnswer = errors.New("answer refused")

// Schema is one seam's answer, written once as JSON Schema. Providers compile
// it into their own dialects; answers are validated against the original. It
// does not change after CompileSchema and is safe for concurrent use.
type Schema struct {
	name     string
	raw      []byte
	digest   [sha256.Size]byte // of raw
	root     *node
	compiled *jsonschema.Schema
	quick    *quick // nil when the schema says more than it knows
	optional bool   // some object has an optional member
}

var schemaName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// CompileSchema reads a JSON Schema (draft 2020-12) whose root is an object.
// The name goes to providers that want one: at most 64 letters, digits,
// underscores and hyphens.
func CompileSchema(name string, raw []byte) (*Schema, error) {
	if !schemaName.MatchString(name) {
		return nil, fmt.Errorf("schema name %q: want 1 to 64 of A-Z a-z 0-9 _ -", name)
	}
	root, err := parseNode(raw)
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", name, err)
	}
	if t, _ := root.member("type").text(); t != "object" {
		return nil, fmt.Errorf("schema %s: the root must be an object", name)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", name, err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.UseLoader(noLoader{})
	url := "seam:///" + name
	if err := c.AddResource(url, doc); err != nil {
		return nil, fmt.Errorf("schema %s: %w", name, err)
	}
	compiled, err := c.Compile(url)
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", name, err)
	}
	s := &Schema{
		name: name, raw: slices.Clone(raw), digest: sha256.Sum256(raw), root: root, compiled: compiled, quick: compileQuick(root),
	}
	s.optional = s.hasOptional(root, 0)
	return s, nil
}

// noLoader keeps a schema from reaching files or the network.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("a seam's schema is self-contained, it refers to %s", url)
}

// Name returns the schema's name.
func (s *Schema) Name() string { return s.name }

// Raw returns the schema as it was written. The caller does not change it.
func (s *Schema) Raw() []byte { return s.raw }

// Parse validates a model's answer: exactly one JSON document of at most
// MaxAnswer bytes of valid UTF-8 without NUL that satisfies the schema. Errors
// wrap ErrAnswer and may quote the answer, so they are shown to the model and
// kept out of logs.
func (s *Schema) Parse(answer string) (json.RawMessage, error) {
	doc, err := s.parse(answer)
	if err != nil {
		return nil, err
	}
	return doc.raw, nil
}

type parsed struct {
	raw        json.RawMessage
	confidence float64
	stated     bool
}

func (s *Schema) parse(answer string) (parsed, error) {
	switch {
	case len(answer) > MaxAnswer:
		return parsed{}, fmt.Errorf("%w: %d bytes, the limit is %d", ErrAnswer, len(answer), MaxAnswer)
	case strings.TrimSpace(answer) == "":
		return parsed{}, fmt.Errorf("%w: empty", ErrAnswer)
	case !utf8.ValidString(answer):
		return parsed{}, fmt.Errorf("%w: not valid UTF-8", ErrAnswer)
	}
	if s.quick != nil {
		if confidence, stated, ok := s.quick.accept(answer); ok {
			return parsed{raw: json.RawMessage(strings.TrimSpace(answer)), confidence: confidence, stated: stated}, nil
		}
	}
	return s.parseInFull(answer)
}

// parseInFull is parse by the full validator.
func (s *Schema) parseInFull(answer string) (parsed, error) {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(answer))
	if err != nil {
		return parsed{}, fmt.Errorf("%w: not one JSON document: %s", ErrAnswer, clip(err.Error()))
	}
	if holdsNUL(doc) {
		return parsed{}, fmt.Errorf("%w: it holds a NUL character, which no database keeps", ErrAnswer)
	}
	if err := s.compiled.Validate(doc); err != nil {
		return parsed{}, fmt.Errorf("%w: %s", ErrAnswer, complaint(err))
	}
	out := parsed{raw: json.RawMessage(strings.TrimSpace(answer))}
	out.confidence, out.stated = statedConfidence(doc)
	return out, nil
}

// Confidence returns how sure a valid answer says it is: its "confidence"
// member or, where there is none, the least confidence among its members that
// found a value ({"value", "confidence"} pairs whose value is not null). An
// answer that states none counts as 1. The number is the model's own claim and
// not a calibrated probability.
func (s *Schema) Confidence(answer json.RawMessage) float64 {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(answer)))
	if err != nil {
		return 0
	}
	c, _ := statedConfidence(doc)
	return c
}

func statedConfidence(doc any) (confidence float64, stated bool) {
	object, ok := doc.(map[string]any)
	if !ok {
		return 1, false
	}
	if c, ok := number(object["confidence"]); ok {
		return c, true
	}
	least := 1.0
	for _, member := range object {
		pair, ok := member.(map[string]any)
		if !ok || pair["value"] == nil {
			continue
		}
		if c, ok := number(pair["confidence"]); ok {
			least, stated = min(least, c), true
		}
	}
	return least, stated
}

func number(v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}

func holdsNUL(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.ContainsRune(v, 0)
	case []any:
		if slices.ContainsFunc(v, holdsNUL) {
			return true
		}
	case map[string]any:
		for k, e := range v {
			if strings.ContainsRune(k, 0) || holdsNUL(e) {
				return true
			}
		}
	}
	return false
}

// complaint lists what is wrong with an answer, one place a clause.
func complaint(err error) string {
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return clip(err.Error())
	}
	printer := message.NewPrinter(language.English)
	var parts []string
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(e.Causes) == 0 {
			at := "/" + strings.Join(e.InstanceLocation, "/")
			parts = append(parts, "at "+at+": "+e.ErrorKind.LocalizedString(printer))
		}
		for _, c := range e.Causes {
			walk(c)
		}
	}
	walk(invalid)
	return clip(strings.Join(parts, "; "))
}

func clip(s string) string {
	if len(s) <= maxComplaint {
		return s
	}
	return strings.ToValidUTF8(s[:maxComplaint], "") + "…"
}

// storable makes what a model wrote fit any text column.
func storable(s string) string {
	if len(s) > MaxAnswer {
		s = s[:MaxAnswer]
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
