// Package prompt holds what models are told. A prompt is a folder: system.md,
// the words that are its stable version, canary.md, words on trial where there
// are any, and metadata.yaml, its version, role, owner and variables. Loading
// checks every folder, so that a prompt that loads can be rendered.
//
// A version names its content: "<name>@<hash>". Values of variables that are not
// trusted are delimited. A customer's words never stand in a system prompt: they
// go into messages of their own, delimited, through Delimit or as a variable that
// is declared as the customer's. Nothing that is delimited can end its delimiter.
// The package imports only leaves and llm.
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

//go:embed */*.md */metadata.yaml
var embedded embed.FS

// Variable is a declared hole in a prompt.
type Variable struct {
	Name string `yaml:"name"`
	// Trusted values are written by the business or by code. Others may quote
	// what somebody else wrote and are delimited.
	Trusted bool `yaml:"trusted"`
	// Customer values are a customer's own words: the system prompt says where
	// they are, and they go into a message of their own.
	Customer bool `yaml:"customer"`
	// Optional values may be left out, which is the same as an empty one.
	Optional    bool   `yaml:"optional"`
	Description string `yaml:"description"`
}

// Aliases of a prompt's versions.
const (
	Stable = "stable" // system.md
	Canary = "canary" // canary.md, or system.md where nothing is on trial
)

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
	// Messages are the customer's words that the prompt refers to, each delimited
	// in a message of its own. Most prompts have none.
	Messages []llm.Message
}

// Set is the prompts of a product. It does not change after Load and is safe
// for concurrent use.
type Set struct{ prompts map[string]template }

type template struct {
	Metadata
	texts map[string]text // by alias
}

// text is one version's words, cut at its variables.
type text struct {
	version string
	parts   []part
}

// part is literal text or, when the variable has a name, a variable.
type part struct {
	text string
	Variable
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
	meta, err := fs.ReadFile(fsys, name+"/metadata.yaml")
	if err != nil {
		return template{}, fmt.Errorf("read metadata.yaml: %w", err)
	}
	t := template{texts: make(map[string]text)}
	if err := yaml.UnmarshalWithOptions(meta, &t.Metadata, yaml.Strict()); err != nil {
		return template{}, fmt.Errorf("read metadata.yaml: %w", err)
	}
	faults := t.check()
	used := make(map[string]bool)
	for _, alias := range []struct{ name, file string }{{Stable, "system.md"}, {Canary, "canary.md"}} {
		raw, err := fs.ReadFile(fsys, name+"/"+alias.file)
		if errors.Is(err, fs.ErrNotExist) && alias.name == Canary {
			t.texts[Canary] = t.texts[Stable]
			continue
		}
		if err != nil {
			return template{}, fmt.Errorf("read %s: %w", alias.file, err)
		}
		words, wrong := t.read(raw, used)
		for _, err := range wrong {
			faults = append(faults, fmt.Errorf("%s: %w", alias.file, err))
		}
		words.version = name + "@" + words.version
		t.texts[alias.name] = words
	}
	for _, v := range t.Variables {
		if !used[v.Name] {
			faults = append(faults, fmt.Errorf("metadata.yaml: variable %s is not used", v.Name))
		}
	}
	return t, errors.Join(faults...)
}

// read cuts a version's words at their variables and notes which it used.
func (t *template) read(raw []byte, used map[string]bool) (text, []error) {
	var faults []error
	if !utf8.Valid(raw) {
		faults = append(faults, errors.New("not valid UTF-8"))
	}
	words := strings.TrimSpace(strings.ReplaceAll(string(raw), "\r\n", "\n"))
	if words == "" {
		faults = append(faults, errors.New("empty"))
	}
	parts, wrong := split(words, t.Variables)
	for _, p := range parts {
		used[p.Name] = true
	}
	return text{version: hash(words, t.Variables), parts: parts}, append(faults, wrong...)
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
	for _, err := range checkVariables(t.Variables) {
		faults = append(faults, fmt.Errorf("metadata.yaml: %w", err))
	}
	slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return faults
}

// checkVariables names what is wrong with declarations.
func checkVariables(declared []Variable) []error {
	var faults []error
	seen := make(map[string]bool)
	for _, v := range declared {
		switch {
		case !varName.MatchString(v.Name):
			faults = append(faults, fmt.Errorf("variable name %q: want lower_snake_case", v.Name))
		case seen[v.Name]:
			faults = append(faults, fmt.Errorf("variable %s is declared twice", v.Name))
		case v.Trusted && v.Customer:
			faults = append(faults, fmt.Errorf("variable %s is the customer's and cannot be trusted", v.Name))
		case v.Description == "":
			faults = append(faults, fmt.Errorf("variable %s needs a description", v.Name))
		}
		seen[v.Name] = true
	}
	return faults
}

// joined is the faults in order as one error, nil for none.
func joined(faults []error) error {
	slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(faults...)
}

// split cuts words at their variables, each of which is declared.
func split(words string, declared []Variable) ([]part, []error) {
	var faults []error
	var parts []part
	at := 0
	for _, m := range hole.FindAllStringSubmatchIndex(words, -1) {
		name := strings.TrimSpace(words[m[2]:m[3]])
		i := slices.IndexFunc(declared, func(v Variable) bool { return v.Name == name })
		v := Variable{Name: name}
		if i >= 0 {
			v = declared[i]
		} else {
			faults = append(faults, fmt.Errorf("variable %q is not declared", name))
		}
		parts = append(parts, part{text: words[at:m[0]]}, part{Variable: v})
		at = m[1]
	}
	parts = append(parts, part{text: words[at:]})
	for _, p := range parts {
		if strings.Contains(p.text, "{{") || strings.Contains(p.text, "}}") {
			faults = append(faults, errors.New("a variable is not closed"))
		}
	}
	return parts, faults
}

// hash names what a model is told: the words, and which values are delimited
// and where.
func hash(words string, declared []Variable) string {
	h := sha256.New()
	_, _ = h.Write([]byte(words)) // Writing to a hash cannot fail.
	for _, v := range declared {
		_, _ = fmt.Fprintf(h, "\x00%s %t", v.Name, v.Trusted)
		if v.Customer {
			_, _ = h.Write([]byte(" customer"))
		}
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

// Version is "<name>@<hash>" of the version that an alias stands for, empty when
// there is no such prompt. An alias that is not known counts as Stable.
func (s *Set) Version(name, alias string) string {
	t := s.prompts[name]
	return t.text(alias).version
}

func (t *template) text(alias string) text {
	if words, ok := t.texts[alias]; ok {
		return words
	}
	return t.texts[Stable]
}

// Render fills a prompt's stable version in; see RenderAs.
func (s *Set) Render(name string, vars map[string]string) (Rendered, error) {
	return s.RenderAs(name, Stable, vars)
}

// RenderAs fills in the version that an alias stands for. Every declared
// variable that is not optional must be given (an empty value is a value) and no
// other. Values are not looked through for variables.
func (s *Set) RenderAs(name, alias string, vars map[string]string) (Rendered, error) {
	t, ok := s.prompts[name]
	if !ok {
		return Rendered{}, fmt.Errorf("render prompt: there is no prompt %q", name)
	}
	if err := given(t.Variables, vars); err != nil {
		return Rendered{}, fmt.Errorf("render prompt %s: %w", name, err)
	}
	words := t.text(alias)
	system, messages := fill(words.parts, vars)
	return Rendered{Version: words.version, System: system, Messages: messages}, nil
}

// given checks values against what is declared.
func given(declared []Variable, vars map[string]string) error {
	var faults []error
	known := make(map[string]bool, len(declared))
	for _, v := range declared {
		known[v.Name] = true
		if _, ok := vars[v.Name]; !ok && !v.Optional {
			faults = append(faults, fmt.Errorf("variable %s is missing", v.Name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		if !known[name] {
			faults = append(faults, fmt.Errorf("variable %s is not declared", name))
		}
	}
	return errors.Join(faults...)
}

// fill writes a text with its values, and the customer's words beside it, each
// once.
func fill(parts []part, vars map[string]string) (string, []llm.Message) {
	var b strings.Builder
	var messages []llm.Message
	sent := make(map[string]bool)
	for _, p := range parts {
		switch {
		case p.Name == "":
			b.WriteString(p.text)
		case p.Customer:
			b.WriteString("(in a message of its own, between <" + p.Name + "> tags)")
			if !sent[p.Name] {
				sent[p.Name] = true
				messages = append(messages, llm.Message{Role: llm.User, Content: delimit(p.Name, vars[p.Name])})
			}
		case p.Trusted:
			b.WriteString(strings.TrimSpace(vars[p.Name]))
		default:
			b.WriteString(delimit(p.Name, vars[p.Name]))
		}
	}
	return b.String(), messages
}
