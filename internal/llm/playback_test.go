package llm_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ratiba/ratiba/internal/llm"
)

func TestATapeIsPlayedAndItsAnswersAreJudged(t *testing.T) {
	t.Parallel()
	schema := func(confidence string) *llm.Schema {
		s, err := llm.CompileSchema("sorted", []byte(`{"type":"object","additionalProperties":false,"required":["reasoning","confidence"],
			"properties":{"reasoning":{"type":"string"},"confidence":{"type":"number","minimum":0,"maximum":`+confidence+`}}}`))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	now := schema("1")
	var tape bytes.Buffer
	p := llm.NewRecorder(&tape).Provider("openai", &script{t: t, steps: []step{
		says(`{"reasoning":"r","confidence":0.8}`), says(`{"reasoning":"r","confidence":7}`), fails(llm.Error{Class: llm.Rate, Provider: "openai"}), says("free"),
	}})
	calls := []llm.Call{
		{Model: "m", System: "a", Schema: now, MaxTokens: 9},
		{Model: "m", System: "b", Schema: now, MaxTokens: 9},
		{Model: "m", System: "c", Schema: now, MaxTokens: 9},
		{Model: "m", System: "d", MaxTokens: 9},
	}
	for _, c := range calls {
		_, _ = p.Complete(t.Context(), c) // one of them fails, as it should
	}
	played, err := llm.Play(tape.Bytes(), now)
	if err != nil || len(played) != len(calls) {
		t.Fatalf("%d played, %v", len(played), err)
	}
	for i, want := range []struct {
		outcome    llm.Outcome
		confidence float64
		complains  bool
	}{{llm.OK, 0.8, false}, {"malformed", 0, true}, {"rate", 0, false}, {llm.OK, 1, false}} {
		if got := played[i]; got.Line != i+1 || got.Outcome != want.outcome || got.Confidence != want.confidence || got.Complaint != "" != want.complains || got.Changed {
			t.Errorf("line %d: %+v, want %+v", i+1, got, want)
		}
	}
	for name, change := range map[string]func() ([]llm.Played, error){
		"another schema": func() ([]llm.Played, error) { return llm.Play(tape.Bytes(), schema("0.9")) },
		"another prompt": func() ([]llm.Played, error) {
			return llm.Play([]byte(strings.Replace(tape.String(), `"system":"a"`, `"system":"z"`, 1)), now)
		},
	} {
		if played, err := change(); err != nil || !played[0].Changed {
			t.Errorf("%s: %+v, %v", name, played, err)
		}
	}
	if played, err := llm.Play(tape.Bytes()); err != nil || played[0].Changed || played[1].Outcome != llm.OK {
		t.Errorf("a schema that is not known is not judged: %+v, %v", played, err)
	}
	if _, err := llm.Play([]byte("{}\n")); err == nil {
		t.Error("a line that is no exchange was played")
	}
}
