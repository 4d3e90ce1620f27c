package llm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/goccy/go-yaml"

	"github.com/ratiba/ratiba/internal/ids"
)

// Policy is what one business has of its own.
type Policy struct {
	Version   int64 // raised on every change, never 0 when there are overrides
	Overrides Overrides
	Ceilings  Ceilings
}

// Policies answers from memory and is safe for concurrent use.
type Policies interface {
	Policy(ctx context.Context, tenant ids.TenantID) (Policy, error)
}

// Overrides are the roles a business has served by other models, the content
// of llm_role_overrides. An override is the whole ladder of its role.
type Overrides map[Role]Ladder

// ParseOverrides reads llm_role_overrides, JSON or YAML: each role with a
// ladder as in a roles file ({"ladder": [...]}) or one bare rung
// ({"provider": ..., "model": ...}), which is a ladder of one. Nothing, null
// and {} are no overrides. All faults are reported at once, one clear line
// each. Whether the models can serve is checked by Router.CheckOverrides, on
// writing and again on loading.
func ParseOverrides(raw []byte) (Overrides, error) {
	var file map[Role]writtenOverride
	if text := bytes.TrimSpace(raw); len(text) == 0 || string(text) == "null" {
		return Overrides{}, nil
	}
	if err := yaml.UnmarshalWithOptions(raw, &file, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("llm_role_overrides: %s", oneLine(err))
	}
	out := make(Overrides, len(file))
	var faults []error
	for role, w := range file {
		if !slices.Contains(KnownRoles(), role) {
			faults = append(faults, fmt.Errorf("llm_role_overrides: role %q is unknown", role))
			continue
		}
		ladder, wrong := w.assignment()
		for _, err := range wrong {
			faults = append(faults, fmt.Errorf("llm_role_overrides: role %s%w", role, err))
		}
		out[role] = ladder
	}
	if len(faults) > 0 {
		sortFaults(faults)
		return nil, errors.Join(faults...)
	}
	return out, nil
}
