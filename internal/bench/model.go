package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/ratiba/ratiba/internal/llm"
)

// scripted answers every seam at once and in the same way each time: the model
// is not what is measured. It implements llm.Provider, so that prompts are
// rendered, answers validated, and calls priced and stored as with a vendor's.
type scripted struct{ calls atomic.Int64 }

// slot is one detail of the slot extractor's answer.
type slot struct {
	Value      *string `json:"value"`
	Confidence float64 `json:"confidence"`
}

// Complete implements llm.Provider.
func (s *scripted) Complete(_ context.Context, call llm.Call) (llm.Answer, error) {
	s.calls.Add(1)
	var answer any
	switch name := call.Schema.Name(); name {
	case "intent_classifier":
		answer = map[string]any{
			"reasoning": "They want a visit.", "intent": "book", "confidence": 0.93, "language": "en", "language_confidence": 0.98, "sentiment": "neutral",
		}
	case "slot_extractor":
		none := slot{Confidence: 0.9}
		answer = map[string]any{
			"reasoning": "They name no detail.", "service": none, "staff": none, "date": none, "time": none, "time_from": none, "time_to": none, "name": none,
		}
	case "phrased_text":
		answer = map[string]any{"reasoning": "The facts answer it.", "text": phrased(call.System), "confidence": 0.95}
	default:
		return llm.Answer{}, &llm.Error{Class: llm.InvalidRequest, Provider: "bench", Cause: fmt.Errorf("no answer is scripted for %s", name)}
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return llm.Answer{}, fmt.Errorf("encode answer: %w", err)
	}
	return llm.Answer{Text: string(text), Usage: llm.Usage{Input: 900, Output: 60}, Metered: true}, nil
}

// phrased says the facts a prompt lists, each word for word.
func phrased(system string) string {
	_, facts, _ := strings.Cut(system, "\nFacts:\n")
	var out []string
	for line := range strings.Lines(facts) {
		if fact, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
			out = append(out, fact)
		}
	}
	return strings.Join(out, " ")
}
