package llm

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/ratiba/ratiba/internal/money"
)

//go:embed data/catalogue.yaml
var defaultCatalogue []byte

const (
	// perMillion divides a price per million tokens into a price per token.
	perMillion = 1_000_000
	// maxPrice (per million tokens) and maxTokens (per bucket) keep every
	// product within 64 bits, whatever a file or a provider says.
	maxPrice  = 10_000 * money.USD
	maxTokens = 100_000_000
)

// Model is one entry of the catalogue.
type Model struct {
	Provider      string
	ID            string
	Aliases       []string  // other ids of the same model
	ContextTokens int       // 0 when unknown
	OutputTokens  int       // 0 when unknown
	StrictSchema  bool      // the provider enforces a schema
	Sampling      bool      // temperature is still a parameter
	Efforts       []string  // reasoning efforts it takes; empty: none
	ToolEffort    string    // the one effort in which it calls tools; empty: any
	Logprobs      bool      // it can tell the probabilities of its tokens
	Embeds        bool      // it makes vectors, and nothing else
	Retires       time.Time // zero when no date is known
	Successor     string
	Prices        []Price // by From, ascending
}

// Price is what a model costs from a day on, by length of the prompt.
type Price struct {
	From  time.Time
	Rates []Rates // by Above, ascending; the first has Above 0
}

// Rates are pico-dollars per token for prompts of more than Above tokens.
type Rates struct {
	Above      int
	Input      money.Pico
	Cached     money.Pico
	CacheWrite money.Pico
	Output     money.Pico
}

// RetiredAt reports whether the vendor has shut the model down by then.
func (m Model) RetiredAt(at time.Time) bool { return !m.Retires.IsZero() && !at.Before(m.Retires) }

func (m Model) takes(effort string) bool { return slices.Contains(m.Efforts, effort) }

// Cost prices a usage exactly. A time before the first price takes the first
// price. Counts below zero or above a hundred million tokens, which no honest
// provider sends, are taken as those bounds.
func (m Model) Cost(u Usage, at time.Time) money.Pico {
	u = Usage{bound(u.Input), bound(u.Cached), bound(u.CacheWrite), bound(u.Output)}
	price := m.price(at)
	rates := price.Rates[0]
	for _, r := range price.Rates {
		if u.Prompt() > r.Above {
			rates = r
		}
	}
	return money.Pico(u.Input)*rates.Input + money.Pico(u.Cached)*rates.Cached +
		money.Pico(u.CacheWrite)*rates.CacheWrite + money.Pico(u.Output)*rates.Output
}

// Worst prices a bound on a usage: the prompt of u.Input tokens in the dearest
// bucket it may be billed in, at whatever length up to it costs most.
func (m Model) Worst(u Usage, at time.Time) money.Pico {
	u = Usage{Input: bound(u.Input), Output: bound(u.Output)}
	var in, out money.Pico
	for _, r := range m.price(at).Rates {
		if r.Above == 0 || u.Input > r.Above {
			in, out = max(in, r.Input, r.Cached, r.CacheWrite), max(out, r.Output)
		}
	}
	return money.Pico(u.Input)*in + money.Pico(u.Output)*out
}

// price is what applies at a time; the first row applies before it too.
func (m Model) price(at time.Time) Price {
	price := m.Prices[0]
	for _, p := range m.Prices {
		if !p.From.After(at) {
			price = p
		}
	}
	return price
}

func bound(tokens int) int { return min(max(0, tokens), maxTokens) }

// Catalogue is what is known about models: data with effective dates. It does
// not change after it is made.
type Catalogue struct{ models map[string]Model }

// DefaultCatalogue returns the embedded catalogue.
func DefaultCatalogue() (*Catalogue, error) { return ParseCatalogue(defaultCatalogue) }

// ParseCatalogue reads a catalogue file. All faults are reported at once.
func ParseCatalogue(raw []byte) (*Catalogue, error) {
	return (&Catalogue{}).Extend(raw)
}

// Extend returns the catalogue with a file's models added; a model of the same
// provider and id replaces the one that was there. A local server's models come
// in this way.
func (c *Catalogue) Extend(raw []byte) (*Catalogue, error) {
	var file struct {
		Models []modelEntry `yaml:"models"`
	}
	if err := yaml.UnmarshalWithOptions(raw, &file, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("read model catalogue: %w", err)
	}
	out := &Catalogue{models: make(map[string]Model)}
	maps.Copy(out.models, c.models)
	var faults []error
	seen := make(map[string]bool)
	for i, entry := range file.Models {
		m, err := entry.model()
		if err != nil {
			faults = append(faults, fmt.Errorf("model %d (%s %s): %w", i+1, entry.Provider, entry.ID, err))
			continue
		}
		for _, id := range append([]string{m.ID}, m.Aliases...) {
			if seen[m.Provider+"\n"+id] {
				faults = append(faults, fmt.Errorf("model %d: %s %s is listed twice", i+1, m.Provider, id))
			}
			seen[m.Provider+"\n"+id] = true
			out.models[m.Provider+"\n"+id] = m
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("read model catalogue: %w", err)
	}
	return out, nil
}

// Model finds a model by its provider and its id or one of its aliases.
func (c *Catalogue) Model(provider, id string) (Model, bool) {
	m, ok := c.models[provider+"\n"+id]
	return m, ok
}

// Models returns every model once, by provider and id.
func (c *Catalogue) Models() []Model {
	var out []Model
	for key, m := range c.models {
		if key == m.Provider+"\n"+m.ID {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b Model) int {
		return strings.Compare(a.Provider+"\n"+a.ID, b.Provider+"\n"+b.ID)
	})
	return out
}

type modelEntry struct {
	Provider      string       `yaml:"provider"`
	ID            string       `yaml:"id"`
	Aliases       []string     `yaml:"aliases"`
	ContextTokens int          `yaml:"context_tokens"`
	OutputTokens  int          `yaml:"output_tokens"`
	StrictSchema  bool         `yaml:"strict_schema"`
	Sampling      bool         `yaml:"sampling"`
	Efforts       []string     `yaml:"efforts"`
	ToolEffort    string       `yaml:"tool_effort"`
	Logprobs      bool         `yaml:"logprobs"`
	Embeds        bool         `yaml:"embeds"`
	Retires       string       `yaml:"retires"`
	Successor     string       `yaml:"successor"`
	Prices        []priceEntry `yaml:"prices"`
}

type priceEntry struct {
	From  string      `yaml:"from"`
	Rates rateEntry   `yaml:",inline"`
	Steps []stepEntry `yaml:"steps"`
}

type stepEntry struct {
	Above int       `yaml:"above_prompt_tokens"`
	Rates rateEntry `yaml:",inline"`
}

type rateEntry struct {
	Input      string `yaml:"input"`
	Cached     string `yaml:"cached"`
	CacheWrite string `yaml:"cache_write"`
	Output     string `yaml:"output"`
}

func (e modelEntry) model() (Model, error) {
	m := Model{
		Provider: e.Provider, ID: e.ID, Aliases: e.Aliases,
		ContextTokens: e.ContextTokens, OutputTokens: e.OutputTokens,
		StrictSchema: e.StrictSchema, Sampling: e.Sampling, Efforts: e.Efforts,
		ToolEffort: e.ToolEffort, Logprobs: e.Logprobs, Embeds: e.Embeds,
		Successor: e.Successor,
	}
	var faults []error
	if e.Provider == "" || e.ID == "" {
		faults = append(faults, errors.New("provider and id are required"))
	}
	if e.ContextTokens < 0 || e.OutputTokens < 0 {
		faults = append(faults, errors.New("limits are positive numbers"))
	}
	if e.Retires != "" {
		at, err := time.Parse(time.DateOnly, e.Retires)
		if err != nil {
			faults = append(faults, fmt.Errorf("retires %q: want a date such as 2027-01-14", e.Retires))
		}
		m.Retires = at
	}
	for _, p := range e.Prices {
		price, err := p.price()
		faults = append(faults, err)
		m.Prices = append(m.Prices, price)
	}
	slices.SortFunc(m.Prices, func(a, b Price) int { return a.From.Compare(b.From) })
	return m, errors.Join(faults...)
}

func (e priceEntry) price() (Price, error) {
	from, err := time.Parse(time.DateOnly, e.From)
	if err != nil {
		return Price{}, fmt.Errorf("price from %q: want a date such as 2026-10-14", e.From)
	}
	base, err := e.Rates.rates(0)
	if err != nil {
		return Price{}, err
	}
	p := Price{From: from, Rates: []Rates{base}}
	for _, s := range e.Steps {
		if s.Above <= p.Rates[len(p.Rates)-1].Above {
			return Price{}, fmt.Errorf("price step above %d: steps ascend from 1", s.Above)
		}
		r, err := s.Rates.rates(s.Above)
		if err != nil {
			return Price{}, err
		}
		p.Rates = append(p.Rates, r)
	}
	return p, nil
}

func (e rateEntry) rates(above int) (Rates, error) {
	if e.Input == "" || e.Output == "" {
		return Rates{}, errors.New("a price needs input and output; write \"0\" for a model that costs nothing")
	}
	out := Rates{Above: above}
	var faults []error
	for _, f := range []struct {
		name, text string
		to         *money.Pico
	}{
		{"input", e.Input, &out.Input},
		{"cached", cmp.Or(e.Cached, e.Input), &out.Cached},
		{"cache_write", cmp.Or(e.CacheWrite, e.Input), &out.CacheWrite},
		{"output", e.Output, &out.Output},
	} {
		p, err := money.ParseUSD(f.text)
		switch {
		case err != nil:
			faults = append(faults, fmt.Errorf("price %s: %w", f.name, err))
		case p > maxPrice:
			faults = append(faults, fmt.Errorf("price %s %q: more than %s dollars", f.name, f.text, maxPrice.Dollars()))
		case p%perMillion != 0:
			faults = append(faults, fmt.Errorf("price %s %q: at most six decimals", f.name, f.text))
		}
		*f.to = p / perMillion
	}
	return out, errors.Join(faults...)
}
