package tool

import (
	"fmt"
	"slices"

	"github.com/ratiba/ratiba/internal/thread"
)

// Place is where a call is made: the dimensions of the app's state, and who
// speaks on the thread.
type Place struct {
	State  map[string]string
	Driver thread.Driver
}

// Table says which tools an app permits where. Where several rows hold, each
// permits its own. No table permits every tool everywhere; an empty one none.
type Table []Row

// Row permits tools where every dimension it names has one of the values it
// lists, and the driver is one of its drivers. An absent dimension, and no
// driver, hold anywhere.
type Row struct {
	State   map[string][]string
	Drivers []thread.Driver
	Tools   []string
}

func (t Table) permits(at Place, name string) bool {
	return slices.ContainsFunc(t, func(r Row) bool { return slices.Contains(r.Tools, name) && r.holds(at) })
}

func (r Row) holds(at Place) bool {
	if len(r.Drivers) > 0 && !slices.Contains(r.Drivers, at.Driver) {
		return false
	}
	for dimension, values := range r.State {
		if !slices.Contains(values, at.State[dimension]) {
			return false
		}
	}
	return true
}

// Under is the registry with an app's table: a call outside it is refused. A
// table that names a tool there is none of is faulty.
func (r *Registry) Under(t Table) (*Registry, error) {
	for i, row := range t {
		for _, name := range row.Tools {
			if r.tools[name] == nil {
				return nil, fmt.Errorf("table row %d: %w: %s", i, ErrUnknown, name)
			}
		}
	}
	if t == nil {
		return r, nil
	}
	return &Registry{tools: r.tools, table: t}, nil
}
