// Package prompt holds what models are told. A prompt is a folder: system.md,
// the words, and metadata.yaml, its version, role, owner and variables. Loading
// checks every folder, so that a prompt that loads can be rendered.
//
// A prompt's version names its content: "<name>@<hash>". Customer text is never
// a variable: it goes into a message of its own through Delimit. The package
// imports only leaves and llm.
package prompt

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"

	"github.com/ratiba/ratiba/internal/llm"
)

//go:embed */system.md */metadata.yaml
var embedded embed.FS

// Variable is a declared hole in a prompt.
type Variable struct {
	Name string `yaml:"name"`
	// Trusted values are written by the business or by code. Others may hold a
	// customer's words and are delimited.
	Trusted     bool   `yaml:"trusted"`
	Description string `yaml:"description"`
}

// Metadata says what a prompt is for and who answers for it.
type Metadata struct {
	Version      string     `yaml:"version"` // the author's count, such as "1"
	Role         llm.Role   `yaml:"role"`
	EvalBaseline string     `yaml:"eval_baseline"` // the score a change is held against
	Owner        string     `yaml:"owner"`
	Variables    []Variable `yaml:"variables"`
}

// Rendered is a prompt ready for a request.
type Rendered struct {
	Version string // "<name>@<hash>" of the template, whatever the values
	System  string
}

// Set is the prompts of a product. It does not change after Load and is safe
// for concurrent use.
type Set struct{ prompts map[string]template }

type template struct {
	Metadata
	version string
	parts   []part
}

// part is literal text or, when name is set, a variable.
type part struct {
	text, name string
	trusted    bool
}

var (
	hole    = regexp.MustCompile(`\{\{([^{}]*)\}\}`)
	varName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)
)

// Embedded returns the product's own prompts.
func Embedded() (*Set, error) { return Load(embedded) }

// Load reads every folder of fsys. All faults are reported at once: missing or
// unknown metadata, variables used but not declared or declared but not used.
func Load(fsys fs.FS) (*Set, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, fmt.Errorf("load prompts: %w", err)
	}
	set := &Set{prompts: make(map[string]template)}
	var faults []error
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		t, err := load(fsys, entry.Name())
		if err != nil {
			faults = append(faults, fmt.Errorf("prompt %s: %w", entry.Name(), err))
			continue
		}
		set.prompts[entry.Name()] = t
	}
	if len(entries) > 0 && len(set.prompts) == 0 && len(faults) == 0 {
		faults = append(faults, errors.New("no prompt folder found"))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("load prompts: %w", err)
	}
	return set, nil
}

func load(fsys fs.FS, name string) (template, error) {
	system, err := fs.ReadFile(fsys, name+"/system.md")
	if err != nil {
		return template{}, fmt.Errorf("read system.md: %w", err)
	}
	meta, err := fs.ReadFile(fsys, name+"/metadata.yaml")
	if err != nil {
		return template{}, fmt.Errorf("read metadata.yaml: %w", err)
	}
	var t template
	if err := yaml.UnmarshalWithOptions(meta, &t.Metadata, yaml.Strict()); err != nil {
		return template{}, fmt.Errorf("read metadata.yaml: %w", err)
	}
	faults := t.check()
	if !utf8.Valid(system) {
		faults = append(faults, errors.New("system.md is not valid UTF-8"))
	}
	text := strings.TrimSpace(strings.ReplaceAll(string(system), "\r\n", "\n"))
	if text == "" {
		faults = append(faults, errors.New("system.md is empty"))
	}
	faults = append(faults, t.split(text)...)
	t.version = name + "@" + t.hash(text)
	return t, errors.Join(faults...)
}

func (t *template) check() []error {
	var faults []error
	for field, value := range map[string]string{
		"version": t.Version, "owner": t.Owner, "eval_baseline": t.EvalBaseline,
	} {
		if value == "" {
			faults = append(faults, fmt.Errorf("metadata.yaml: %s is required", field))
		}
	}
	if !slices.Contains(llm.KnownRoles(), t.Role) {
		faults = append(faults, fmt.Errorf("metadata.yaml: role %q is unknown", t.Role))
	}
	seen := make(map[string]bool)
	for _, v := range t.Variables {
		switch {
		case !varName.MatchString(v.Name):
			faults = append(faults, fmt.Errorf("metadata.yaml: variable name %q: want lower_snake_case", v.Name))
		case seen[v.Name]:
			faults = append(faults, fmt.Errorf("metadata.yaml: variable %s is declared twice", v.Name))
		case v.Description == "":
			faults = append(faults, fmt.Errorf("metadata.yaml: variable %s needs a description", v.Name))
		}
		seen[v.Name] = true
	}
	slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return faults
}

// split cuts the text at its variables.
func (t *template) split(text string) []error {
	var faults []error
	declared := make(map[string]bool)
	used := make(map[string]bool)
	for _, v := range t.Variables {
		declared[v.Name] = v.Trusted
	}
	at := 0
	for _, m := range hole.FindAllStringSubmatchIndex(text, -1) {
		name := strings.TrimSpace(text[m[2]:m[3]])
		trusted, ok := declared[name]
		if !ok {
			faults = append(faults, fmt.Errorf("system.md: variable %q is not declared", name))
		}
		used[name] = true
		t.parts = append(t.parts, part{text: text[at:m[0]]}, part{name: name, trusted: trusted})
		at = m[1]
	}
	t.parts = append(t.parts, part{text: text[at:]})
	for _, p := range t.parts {
		if strings.Contains(p.text, "{{") || strings.Contains(p.text, "}}") {
			faults = append(faults, errors.New("system.md: a variable is not closed"))
		}
	}
	for _, v := range t.Variables {
		if !used[v.Name] {
			faults = append(faults, fmt.Errorf("metadata.yaml: variable %s is not used", v.Name))
		}
	}
	return faults
}

// hash names what a model is told: the words, and which values are delimited.
func (t *template) hash(text string) string {
	h := sha256.New()
	_, _ = h.Write([]byte(text)) // Writing to a hash cannot fail.
	for _, v := range t.Variables {
		_, _ = fmt.Fprintf(h, "\x00%s %t", v.Name, v.Trusted)
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// Names returns the prompts' names in order.
func (s *Set) Names() []string { return slices.Sorted(maps.Keys(s.prompts)) }

// Metadata returns a prompt's metadata.
func (s *Set) Metadata(name string) (Metadata, bool) {
	t, ok := s.prompts[name]
	return t.Metadata, ok
}

// Render fills a prompt in. Every declared variable must be given (an empty
// value is a value) and no other. Values are not looked through for variables.
func (s *Set) Render(name string, vars map[string]string) (Rendered, error) {
	t, ok := s.prompts[name]
	if !ok {
		return Rendered{}, fmt.Errorf("render prompt: there is no prompt %q", name)
	}
	var faults []error
	declared := make(map[string]bool, len(t.Variables))
	for _, v := range t.Variables {
		declared[v.Name] = true
		if _, ok := vars[v.Name]; !ok {
			faults = append(faults, fmt.Errorf("variable %s is missing", v.Name))
		}
	}
	for _, given := range slices.Sorted(maps.Keys(vars)) {
		if !declared[given] {
			faults = append(faults, fmt.Errorf("variable %s is not declared", given))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return Rendered{}, fmt.Errorf("render prompt %s: %w", name, err)
	}
	var b strings.Builder
	for _, p := range t.parts {
		switch {
		case p.name == "":
			b.WriteString(p.text)
		case p.trusted:
			b.WriteString(strings.TrimSpace(vars[p.name]))
		default:
			b.WriteString(delimit(p.name, vars[p.name]))
		}
	}
	return Rendered{Version: t.version, System: b.String()}, nil
}
