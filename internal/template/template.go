// Package template is the list of WhatsApp templates the product relies on,
// with their words in every language.
//
// WhatsApp lets a business write to somebody who has been silent for 24 hours
// only in words that Meta has approved. What is listed here must be registered
// for every number; docs/templates.md shows it to people, and ratiba doctor
// compares it with what the provider has. The package decides nothing about
// when a template is used. It imports leaves and vocabulary.
package template

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/ratiba/ratiba/internal/message"
)

// Names of the templates.
const (
	Notice   = "ratiba_notice"
	Page     = "ratiba_page"
	Relay    = "ratiba_relay"
	Reminder = "ratiba_reminder"
	Callback = "ratiba_callback"
	Call     = "ratiba_call"
)

// Names of parameters.
const (
	Text     = "text" // the message as it would have been sent
	Business = "business"
	Code     = "code" // of a handoff, with its mark: #K7
	Name     = "name" // the customer's
	Reason   = "reason"
)

// Bounds of a parameter, in runes: WhatsApp takes 1,024 characters of a whole
// template, and a field that is not the text is short.
const (
	MaxText  = 900 // of the only parameter; less beside others
	MaxField = 60
	maxBody  = 1024
)

// Languages in which every template must be approved.
func Languages() []string { return []string{"en", "sw"} }

// Template is one template.
type Template struct {
	Name       string              `yaml:"name"`
	Use        string              `yaml:"use"`
	Parameters []string            `yaml:"parameters"`
	Body       map[string]string   `yaml:"body"`    // by language
	Buttons    map[string][]string `yaml:"buttons"` // titles of quick replies, by language
}

//go:embed templates.yaml
var listed []byte

// All returns the templates in their order. An error is a fault of the list.
func All() ([]Template, error) {
	var all []Template
	if err := yaml.UnmarshalWithOptions(listed, &all, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("read templates: %w", err)
	}
	for _, t := range all {
		for _, lang := range Languages() {
			if t.Body[lang] == "" {
				return nil, fmt.Errorf("read templates: %s has no body in %s", t.Name, lang)
			}
			if len(t.Buttons[lang]) != len(t.Buttons["en"]) {
				return nil, fmt.Errorf("read templates: %s has other buttons in %s", t.Name, lang)
			}
		}
		for i := range t.Parameters {
			for lang, body := range t.Body {
				if strings.Count(body, mark(i)) != 1 {
					return nil, fmt.Errorf("read templates: %s in %s wants %s once", t.Name, lang, mark(i))
				}
			}
		}
	}
	return all, nil
}

func mark(i int) string { return fmt.Sprintf("{{%d}}", i+1) }

// Set finds templates by name.
type Set map[string]Template

// Load returns all templates by name.
func Load() (Set, error) {
	all, err := All()
	if err != nil {
		return nil, err
	}
	s := Set{}
	for _, t := range all {
		s[t.Name] = t
	}
	return s, nil
}

// Fill makes a template ready for sending: every parameter on one line, none
// empty, and together within WhatsApp's bound. payloads are what taps on its
// buttons bring back. A language that no template is in becomes English.
func (s Set) Fill(name, lang string, values map[string]string, payloads ...string) *message.TemplateRef {
	t := s[name]
	if t.Body[lang] == "" {
		lang = "en"
	}
	ref := &message.TemplateRef{Name: t.Name, Language: lang, Payloads: payloads}
	room := maxBody - len([]rune(t.Body[lang]))
	for _, p := range t.Parameters {
		if p != Text {
			room -= len([]rune(line(values[p], MaxField)))
		}
	}
	for _, p := range t.Parameters {
		limit := MaxField
		if p == Text {
			limit = min(MaxText, room)
		}
		ref.Parameters = append(ref.Parameters, line(values[p], limit))
	}
	return ref
}

// line is a text on one line, at most limit runes of it.
func line(text string, limit int) string {
	text = strings.Join(strings.Fields(text), " ")
	if text == "" {
		return "-" // WhatsApp refuses an empty parameter
	}
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return text
}
