// Package answerfromknowledge is the tool answer_from_knowledge: what the
// business has written about a question.
package answerfromknowledge

import (
	"cmp"
	"context"
	_ "embed" // the two files beside this one

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/desk"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/retrieve"
	"github.com/ratiba/ratiba/internal/tool"
)

//go:embed definition.json
var definition []byte

//go:embed metadata.yaml
var metadata []byte

// standard is how many passages are answered unless the caller says.
const standard = 3

// Tool returns the tool over the business's documents.
func Tool(index retrieve.Index) tool.Tool {
	h := handler{index}
	return tool.Tool{Definition: definition, Metadata: metadata, Handler: tool.Typed(h.handle), Args: calendar.AskKnowledgeArgs{}}
}

type handler struct{ index retrieve.Index }

// Answer are the passages, best first.
type Answer struct {
	Passages []retrieve.Passage `json:"passages"`
}

func (h handler) handle(ctx context.Context, env tool.Env, a calendar.AskKnowledgeArgs) (graph.Result, error) {
	found, err := h.index.Search(ctx, env.Q, retrieve.Words(a.Question), cmp.Or(a.Limit, standard))
	if err != nil {
		return graph.Result{}, err
	}
	if len(found) == 0 {
		return desk.Refuse(calendar.NothingWritten)
	}
	return tool.OK(Answer{found})
}
