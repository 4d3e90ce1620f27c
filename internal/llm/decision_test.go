package llm_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/llm"
)

func TestWhatDecidesAnEscalation(t *testing.T) {
	t.Parallel()
	tap := llm.Escalation{Card: llm.Card{Choices: []llm.Choice{{ID: "yes", Label: "Yes"}, {ID: "no"}}}}
	free := llm.Escalation{}
	document := llm.Escalation{Schema: json.RawMessage(`{"type":"object","properties":{"category":{"enum":["spam","lead"]}},"required":["category"],"additionalProperties":false}`)}
	tests := map[string]struct {
		e    llm.Escalation
		d    llm.Decision
		want string // of the refusal; "" when it decides
	}{
		"a choice":              {tap, llm.Decision{Choice: "no", By: "Kamau"}, ""},
		"a choice with a note":  {tap, llm.Decision{Choice: "yes", Text: "this once", By: "Kamau"}, ""},
		"another choice":        {tap, llm.Decision{Choice: "Yes", By: "Kamau"}, "yes, no"},
		"a text for choices":    {tap, llm.Decision{Text: "yes", By: "Kamau"}, "yes, no"},
		"nobody":                {tap, llm.Decision{Choice: "yes"}, "who decides"},
		"a long name":           {tap, llm.Decision{Choice: "yes", By: strings.Repeat("K", 201)}, "who decides"},
		"a text":                {free, llm.Decision{Text: "call her", By: "Kamau"}, ""},
		"an empty text":         {free, llm.Decision{Text: " \n", By: "Kamau"}, "Write"},
		"a choice of none":      {free, llm.Decision{Choice: "yes", By: "Kamau"}, "nothing to choose"},
		"a long text":           {free, llm.Decision{Text: strings.Repeat("a", 4001), By: "Kamau"}, "longer"},
		"a document":            {document, llm.Decision{Text: `{"category":"lead"}`, By: "Kamau"}, ""},
		"a wrong document":      {document, llm.Decision{Text: `{"category":"ham"}`, By: "Kamau"}, "/category"},
		"words for a document":  {document, llm.Decision{Text: "a lead", By: "Kamau"}, "JSON"},
		"two documents in one":  {document, llm.Decision{Text: `{"category":"lead"} {}`, By: "Kamau"}, "JSON"},
		"a document and no end": {document, llm.Decision{Text: `{"category":`, By: "Kamau"}, "JSON"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := tt.e.Accepts(tt.d)
			if tt.want == "" && err != nil || tt.want != "" && (fault.CodeOf(err) != fault.Invalid || !strings.Contains(fault.SentenceOf(err), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	c := llm.Case{Escalation: tap, Decision: &llm.Decision{Choice: "yes"}}
	if c.Label() != "Yes" {
		t.Errorf("the card says %q, want the choice's label", c.Label())
	}
}
