package llm

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/goccy/go-yaml"
)

//go:embed data/roles.yaml
var defaultRoles []byte

//go:embed data/roles-seed.yaml
var seedRoles []byte

// Defaults of a rung.
const (
	defaultMaxTokens = 500
	defaultTimeout   = 10 * time.Second
	maxTimeout       = 2 * time.Minute
)

// Rung is one step of a role's ladder.
type Rung struct {
	Provider  string
	Model     string
	Effort    string        // empty: the parameter is not sent
	MaxTokens int           // of output, reasoning included; 500 when not given
	Timeout   time.Duration // per attempt; 10 s when not given, at most 2 min
}

// Ladder is a role's finite list of rungs, cheapest first. The first is tier 1.
type Ladder []Rung

// Roles assigns a ladder to each role.
type Roles map[Role]Ladder

// DefaultRoles returns the embedded assignment.
func DefaultRoles() (Roles, error) { return ParseRoles(defaultRoles) }

// SeedRoles returns the assignment of the first design, for installations that
// stay with its models until they are shut down.
func SeedRoles() (Roles, error) { return ParseRoles(seedRoles) }

// ParseRoles reads a roles file. All faults are reported at once. Whether the
// models exist is checked by New, which knows catalogue and providers.
func ParseRoles(raw []byte) (Roles, error) {
	var file struct {
		Roles map[Role]struct {
			Ladder []writtenRung `yaml:"ladder"`
		} `yaml:"roles"`
	}
	if err := yaml.UnmarshalWithOptions(raw, &file, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("read roles: %w", err)
	}
	out := make(Roles, len(file.Roles))
	var faults []error
	for role, entry := range file.Roles {
		if !slices.Contains(KnownRoles(), role) {
			faults = append(faults, fmt.Errorf("role %q is unknown", role))
		}
		if len(entry.Ladder) == 0 {
			faults = append(faults, fmt.Errorf("role %s: the ladder is empty", role))
		}
		for i, e := range entry.Ladder {
			rung, wrong := e.rung()
			for _, err := range wrong {
				faults = append(faults, fmt.Errorf("role %s, rung %d: %w", role, i+1, err))
			}
			out[role] = append(out[role], rung)
		}
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("read roles: %w", err)
	}
	return out, nil
}

// writtenRung is a Rung as a roles file has it.
type writtenRung struct {
	Provider  string `yaml:"provider"`
	Model     string `yaml:"model"`
	Effort    string `yaml:"effort"`
	MaxTokens int    `yaml:"max_tokens"`
	Timeout   string `yaml:"timeout"`
}

func (w writtenRung) rung() (Rung, []error) {
	r := Rung{
		Provider: w.Provider, Model: w.Model, Effort: w.Effort,
		MaxTokens: cmp.Or(w.MaxTokens, defaultMaxTokens), Timeout: defaultTimeout,
	}
	var faults []error
	if w.Timeout != "" {
		d, err := time.ParseDuration(w.Timeout)
		if err != nil || d <= 0 || d > maxTimeout {
			faults = append(faults, fmt.Errorf("timeout %q: want a duration up to %s, such as 8s", w.Timeout, maxTimeout))
		}
		r.Timeout = d
	}
	if w.Provider == "" || w.Model == "" {
		faults = append(faults, errors.New("provider and model are required"))
	}
	if r.MaxTokens < 0 {
		faults = append(faults, fmt.Errorf("max_tokens %d", w.MaxTokens))
	}
	return r, faults
}
