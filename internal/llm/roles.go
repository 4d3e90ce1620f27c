package llm

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	// DefaultThreshold is the confidence below which the next rung is asked,
	// until a role's own is calibrated.
	DefaultThreshold = 0.7
)

// Rung is one step of a role's ladder: a model, or a person.
type Rung struct {
	Provider  string
	Model     string
	Effort    string        // empty: the parameter is not sent
	MaxTokens int           // of output, reasoning included; 500 when not given
	Timeout   time.Duration // per attempt; 10 s when not given, at most 2 min
	// Threshold is the confidence that is sure enough; DefaultThreshold when 0.
	Threshold float64
	// Human is the last rung of a role that ends in a person; nothing else is set.
	Human bool
}

// Ladder is a role's finite list of rungs, cheapest first. The first is tier 1.
// One that does not end in a person ends in an error.
type Ladder []Rung

// Roles assigns a ladder to each role.
type Roles map[Role]Ladder

// DefaultRoles returns the embedded assignment.
func DefaultRoles() (Roles, error) { return ParseRoles(defaultRoles) }

// SeedRoles returns the assignment of the first design, for installations that
// stay with its models until they are shut down.
func SeedRoles() (Roles, error) { return ParseRoles(seedRoles) }

// ParseRoles reads a roles file. All faults are reported at once, one line
// each. Whether the models exist is checked by New, which knows catalogue and
// providers.
func ParseRoles(raw []byte) (Roles, error) {
	roles, _, err := parseRoles(raw)
	return roles, err
}

// ParseCanaries reads the ladders that a roles file puts on trial, by role. A
// role without one has a trial of its prompt at most.
func ParseCanaries(raw []byte) (Roles, error) {
	_, canaries, err := parseRoles(raw)
	return canaries, err
}

func parseRoles(raw []byte) (roles, canaries Roles, err error) {
	var file struct {
		Roles map[Role]writtenRole `yaml:"roles"`
	}
	if err := yaml.UnmarshalWithOptions(raw, &file, yaml.Strict()); err != nil {
		return nil, nil, fmt.Errorf("roles: %s", oneLine(err))
	}
	roles, canaries = make(Roles, len(file.Roles)), Roles{}
	var faults []error
	for role, w := range file.Roles {
		if !slices.Contains(KnownRoles(), role) {
			faults = append(faults, fmt.Errorf("roles: role %q is unknown", role))
			continue
		}
		var wrong []error
		roles[role], wrong = w.ladder()
		if w.Canary != nil && w.Canary.Like == "" {
			trial := writtenRole{Threshold: cmp.Or(w.Canary.Threshold, w.Threshold), Ladder: w.Canary.Ladder}
			var more []error
			canaries[role], more = trial.ladder()
			for _, err := range more {
				wrong = append(wrong, fmt.Errorf(", canary%w", err))
			}
		}
		for _, err := range wrong {
			faults = append(faults, fmt.Errorf("roles: role %s%w", role, err))
		}
	}
	faults = append(faults, borrow(file.Roles, roles, canaries)...)
	if len(faults) > 0 {
		sortFaults(faults)
		return nil, nil, errors.Join(faults...)
	}
	return roles, canaries, nil
}

// borrow fills in the canaries that are another role's.
func borrow(file map[Role]writtenRole, roles, canaries Roles) []error {
	var faults []error
	for role, w := range file {
		if w.Canary == nil || w.Canary.Like == "" {
			continue
		}
		end, err := follow(file, role)
		if err != nil {
			faults = append(faults, fmt.Errorf("roles: role %s, canary: %w", role, err))
			continue
		}
		if canaries[role] = canaries[end]; canaries[role] == nil {
			canaries[role] = roles[end]
		}
	}
	return faults
}

// follow finds the role whose ladder a canary tries: "like" names a role and
// means that role's own canary where it has one, else its ladder.
func follow(file map[Role]writtenRole, role Role) (Role, error) {
	path := []string{string(role)}
	for {
		next := file[role].Canary.Like
		if _, ok := file[next]; !ok {
			return "", fmt.Errorf("like %q: no such role in this file", next)
		}
		again := slices.Contains(path, string(next))
		path = append(path, string(next))
		if again {
			return "", fmt.Errorf("a cycle of canaries: %s", strings.Join(path, " -> "))
		}
		if file[next].Canary == nil || file[next].Canary.Like == "" {
			return next, nil
		}
		role = next
	}
}

// writtenRole is a role as a roles file has it.
type writtenRole struct {
	Ladder    []writtenRung  `yaml:"ladder"`
	Threshold *float64       `yaml:"threshold"`
	Canary    *writtenCanary `yaml:"canary"`
}

// writtenCanary is a ladder on trial, its own or another role's. How many
// conversations have it is control data.
type writtenCanary struct {
	Ladder    []writtenRung `yaml:"ladder"`
	Threshold *float64      `yaml:"threshold"`
	Like      Role          `yaml:"like"`
}

// ladder reads the rungs. Faults continue a sentence that names the role.
func (w writtenRole) ladder() (Ladder, []error) {
	var faults []error
	if len(w.Ladder) == 0 {
		faults = append(faults, errors.New(": the ladder is empty"))
	}
	threshold := 0.0
	if w.Threshold != nil {
		if threshold = *w.Threshold; !(threshold > 0 && threshold <= 1) {
			faults = append(faults, fmt.Errorf(": threshold %v: want more than 0, at most 1", threshold))
		}
	}
	out := make(Ladder, 0, len(w.Ladder))
	for i, written := range w.Ladder {
		rung, wrong := written.rung()
		if !rung.Human {
			rung.Threshold = threshold
		} else if i != len(w.Ladder)-1 {
			wrong = append(wrong, errors.New("a person is the last rung"))
		}
		for _, err := range wrong {
			faults = append(faults, fmt.Errorf(", rung %d: %w", i+1, err))
		}
		out = append(out, rung)
	}
	return out, faults
}

// writtenOverride is a role as llm_role_overrides has it: a role, or a rung.
type writtenOverride struct {
	Rung      writtenFields `yaml:",inline"`
	Ladder    []writtenRung `yaml:"ladder"`
	Threshold *float64      `yaml:"threshold"`
}

func (w writtenOverride) assignment() (Ladder, []error) {
	bare := w.Rung != writtenFields{}
	if bare && len(w.Ladder) > 0 {
		return nil, []error{errors.New(": want a ladder or one rung, not both")}
	}
	if bare {
		w.Ladder = []writtenRung{{writtenFields: w.Rung}}
	}
	return writtenRole{Ladder: w.Ladder, Threshold: w.Threshold}.ladder()
}

// writtenRung is a Rung as files have it: fields, or the word human.
type writtenRung struct {
	writtenFields

	human bool
}

type writtenFields struct {
	Provider  string `yaml:"provider"`
	Model     string `yaml:"model"`
	Effort    string `yaml:"effort"`
	MaxTokens int    `yaml:"max_tokens"`
	Timeout   string `yaml:"timeout"`
}

// UnmarshalYAML implements yaml.BytesUnmarshaler.
func (w *writtenRung) UnmarshalYAML(raw []byte) error {
	if text := strings.Trim(strings.TrimSpace(string(raw)), `"'`); text == "human" {
		w.human = true
		return nil
	}
	return yaml.UnmarshalWithOptions(raw, &w.writtenFields, yaml.Strict())
}

func (w writtenRung) rung() (Rung, []error) {
	if w.human {
		return Rung{Human: true}, nil
	}
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
	if r.MaxTokens < 0 || r.MaxTokens > maxTokens {
		faults = append(faults, fmt.Errorf("max_tokens %d: want 1 to %d", w.MaxTokens, maxTokens))
	}
	return r, faults
}

// oneLine is the first line of what a parser says; the rest draws the place.
func oneLine(err error) string {
	line, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	return line
}

func sortFaults(faults []error) {
	slices.SortFunc(faults, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
}
