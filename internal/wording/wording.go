// Package wording holds what is said, in every language it is said in.
//
// A catalogue is a file per language, key to text/template. It is checked when
// it is loaded: the same keys in every language, every template readable, the
// same facts used. Rendering is strict: a fact that is missing is an error and
// never an empty place in a sentence. A Catalogue is immutable and safe for
// concurrent use. The package imports only leaves and knows no channel.
package wording

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sort"
	"strings"
	"text/template"
	"text/template/parse"
	"time"

	"github.com/goccy/go-yaml"
)

// The languages every catalogue is written in.
const (
	English = "en"
	Swahili = "sw"
)

// Faults of a catalogue and of rendering.
var (
	ErrUnknownKey = errors.New("wording: no such text")
	ErrFacts      = errors.New("wording: the languages use different facts")
	ErrMissingKey = errors.New("wording: a text is missing in a language")
	ErrEmpty      = errors.New("wording: a text is empty")
	ErrTwice      = errors.New("wording: a text stands in two folders")
)

// Localized is a fact that reads differently per language, such as a service's
// name. Rendering replaces it by its text.
type Localized interface{ In(lang string) string }

// Catalogue holds checked texts.
type Catalogue struct {
	texts map[string]map[string]*template.Template // by language, by key
}

// Load reads en.yaml and sw.yaml of each folder and returns every fault found,
// joined. A key stands in one folder.
func Load(folders ...fs.FS) (*Catalogue, error) {
	c := &Catalogue{texts: map[string]map[string]*template.Template{}}
	var errs []error
	for _, lang := range []string{English, Swahili} {
		c.texts[lang] = map[string]*template.Template{}
		for _, fsys := range folders {
			texts, err := load(fsys, lang)
			if err != nil {
				errs = append(errs, err)
			}
			for key, text := range texts {
				if _, twice := c.texts[lang][key]; twice {
					errs = append(errs, fmt.Errorf("%w: %s in %s", ErrTwice, key, lang))
				}
				c.texts[lang][key] = text
			}
		}
	}
	errs = append(errs, c.compare()...)
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return c, nil
}

func load(fsys fs.FS, lang string) (map[string]*template.Template, error) {
	name := lang + ".yaml"
	raw, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, fmt.Errorf("read texts: %w", err)
	}
	var source map[string]string
	if err := yaml.UnmarshalWithOptions(raw, &source, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("read texts of %s: %w", name, err)
	}
	out := map[string]*template.Template{}
	var errs []error
	for key, text := range source {
		if strings.TrimSpace(text) == "" {
			errs = append(errs, fmt.Errorf("%w: %s in %s", ErrEmpty, key, name))
			continue
		}
		t, err := template.New(key).Option("missingkey=error").Funcs(funcs(lang)).Parse(strings.TrimRight(text, "\n"))
		if err != nil {
			errs = append(errs, fmt.Errorf("read text %s of %s: %w", key, name, err))
			continue
		}
		out[key] = t
	}
	return out, errors.Join(errs...)
}

// compare holds the languages against each other.
func (c *Catalogue) compare() []error {
	var errs []error
	for _, key := range c.Keys() {
		en, inEnglish := c.texts[English][key]
		sw, inSwahili := c.texts[Swahili][key]
		if !inEnglish || !inSwahili {
			errs = append(errs, fmt.Errorf("%w: %s", ErrMissingKey, key))
			continue
		}
		if a, b := facts(en), facts(sw); !slices.Equal(a, b) {
			errs = append(errs, fmt.Errorf("%w: %s: en %v, sw %v", ErrFacts, key, a, b))
		}
	}
	return errs
}

// Keys lists the keys of all languages, sorted.
func (c *Catalogue) Keys() []string {
	var keys []string
	for _, texts := range c.texts {
		for k := range texts {
			keys = append(keys, k)
		}
	}
	sort.Strings(keys)
	return slices.Compact(keys)
}

// Has reports whether the catalogue has a text.
func (c *Catalogue) Has(key string) bool {
	_, ok := c.texts[English][key]
	return ok
}

// Render fills a text with facts. Times are written in zone, nil meaning UTC;
// a Localized fact is written in lang. A language the catalogue does not have
// is answered in English. An unknown key and a missing fact are errors.
func (c *Catalogue) Render(lang, key string, zone *time.Location, facts map[string]any) (string, error) {
	texts, ok := c.texts[lang]
	if !ok {
		lang, texts = English, c.texts[English]
	}
	t, ok := texts[key]
	if !ok {
		return "", fmt.Errorf("%w: %s", ErrUnknownKey, key)
	}
	if zone == nil {
		zone = time.UTC
	}
	local := make(map[string]any, len(facts))
	for k, v := range facts {
		local[k] = localize(v, lang, zone)
	}
	var b strings.Builder
	if err := t.Execute(&b, local); err != nil {
		return "", fmt.Errorf("render text %s in %s: %w", key, lang, err)
	}
	return b.String(), nil
}

// localize brings a fact into the language and zone it is written in.
func localize(v any, lang string, zone *time.Location) any {
	switch v := v.(type) {
	case time.Time:
		return v.In(zone)
	case Localized:
		return v.In(lang)
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = localize(e, lang, zone)
		}
		return out
	case []map[string]any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = localize(e, lang, zone)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = localize(e, lang, zone)
		}
		return out
	}
	return v
}

// facts lists the names a template reads, sorted, each once.
func facts(t *template.Template) []string {
	var names []string
	var walk func(parse.Node)
	list := func(l *parse.ListNode) {
		if l != nil {
			for _, n := range l.Nodes {
				walk(n)
			}
		}
	}
	branch := func(b *parse.BranchNode) {
		walk(b.Pipe)
		list(b.List)
		list(b.ElseList)
	}
	walk = func(n parse.Node) {
		switch n := n.(type) {
		case *parse.ListNode:
			list(n)
		case *parse.ActionNode:
			walk(n.Pipe)
		case *parse.PipeNode:
			for _, c := range n.Cmds {
				for _, a := range c.Args {
					walk(a)
				}
			}
		case *parse.FieldNode:
			names = append(names, n.Ident[0])
		case *parse.IfNode:
			branch(&n.BranchNode)
		case *parse.RangeNode:
			branch(&n.BranchNode)
		case *parse.WithNode:
			branch(&n.BranchNode)
		}
	}
	if t.Tree != nil {
		walk(t.Root)
	}
	sort.Strings(names)
	return slices.Compact(names)
}
