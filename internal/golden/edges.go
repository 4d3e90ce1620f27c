package golden

import (
	"encoding/json"
	"sort"
	"strings"
	"sync"

	"github.com/ratiba/ratiba/internal/app"
	"github.com/ratiba/ratiba/internal/graph"
)

// Edges are the edges of the graph that scripts have taken. The zero value is
// ready; it is safe for concurrent use.
type Edges struct{ edges edges }

type edges struct {
	mu   sync.Mutex
	seen map[string]bool
}

func (e *edges) take(from, to graph.Name) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.seen == nil {
		e.seen = map[string]bool{}
	}
	e.seen[string(from)+" --> "+string(to)] = true
}

// Missing lists the edges of a diagram that no script has taken, sorted.
func (e *Edges) Missing(diagram string) (missing []string) {
	e.edges.mu.Lock()
	defer e.edges.mu.Unlock()
	for line := range strings.SplitSeq(diagram, "\n") {
		line = strings.TrimSpace(line)
		if !strings.Contains(line, "-->") || strings.Contains(line, "[*]") {
			continue
		}
		if !e.edges.seen[line] {
			missing = append(missing, line)
		}
	}
	sort.Strings(missing)
	return missing
}

// watchedFlow notes the edges its steps take. It belongs to one world, whose
// turns run one after another.
type watchedFlow struct {
	app.Flow

	seen *edges
	from graph.Name // left for the node that steps next
}

// Begin implements app.Flow.
func (f *watchedFlow) Begin(in graph.In[json.RawMessage]) (graph.Name, error) {
	f.from = ""
	return f.Flow.Begin(in)
}

// Step implements app.Flow. Whether a write goes on along its success or its
// conflict shows in the node that steps next.
func (f *watchedFlow) Step(in graph.In[json.RawMessage]) (graph.Out[json.RawMessage], error) {
	if f.from != "" {
		f.seen.take(f.from, in.Node)
		f.from = ""
	}
	out, err := f.Flow.Step(in)
	switch {
	case err != nil || len(out.Reads) > 0:
	case out.Write != nil || out.Go != "":
		f.from = in.Node
	default:
		f.seen.take(in.Node, out.Rest)
	}
	return out, err
}
