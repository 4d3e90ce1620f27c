package llm_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ratiba/ratiba/internal/llm"
)

// TestARecordedClimbIsReplayedWithoutAnyProvider records calls that fail in
// many ways and plays them back: results, waits and bills are the same.
func TestARecordedClimbIsReplayedWithoutAnyProvider(t *testing.T) {
	t.Parallel()
	run := func(openai, claude llm.Provider) (*bundle, []llm.Result) {
		b := setupWith(t, func(cfg *llm.Config) {
			cfg.Roles[llm.IntentClassifier] = llm.Ladder{luna, tiers[0], tiers[1]}
			cfg.Providers = map[string]llm.Provider{"openai": openai, "anthropic": claude}
		})
		var out []llm.Result
		for seq := range 3 {
			b.req.Seq = seq
			got, err := b.router.Call(t.Context(), b.req)
			if errors.Is(err, llm.ErrNotRecorded) {
				t.Fatal(err)
			}
			out = append(out, got)
		}
		return b, out
	}
	var tape bytes.Buffer
	r := llm.NewRecorder(&tape)
	first, want := run(
		r.Provider("openai", &script{t: t, steps: []step{
			is(llm.Timeout), fails(llm.Error{Class: llm.Rate, RetryAfter: 3 * time.Second}), says(sure("0.4")), // first call
			says("Sure!"), says(mood), // second
			is(llm.Refused), // third
		}}),
		r.Provider("anthropic", &script{t: t, steps: []step{is(llm.Server), says(mood)}}),
	)
	if r.Err() != nil || strings.Count(tape.String(), "\n") != 8 {
		t.Fatalf("%v, tape:\n%s", r.Err(), tape.String())
	}
	played, err := llm.ReadTape(bytes.NewReader(tape.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	again, got := run(played.Provider("openai"), played.Provider("anthropic"))
	ids := cmp.Options{cmpopts.IgnoreFields(llm.Attempt{}, "CallID"), cmpopts.IgnoreFields(llm.Result{}, "CallID")}
	if diff := cmp.Diff(want, got, ids); diff != "" {
		t.Errorf("results (-recorded +replayed):\n%s", diff)
	}
	if !slices.Equal(first.waits, again.waits) || played.Left() != 0 {
		t.Errorf("waits %v, then %v; %d left", first.waits, again.waits, played.Left())
	}
	if _, err := played.Provider("openai").Complete(t.Context(), llm.Call{Model: "gpt-6-luna"}); !errors.Is(err, llm.ErrNotRecorded) {
		t.Errorf("got %v", err)
	}
}

func TestToolCallsAreRecordedAsTheyWere(t *testing.T) {
	t.Parallel()
	want := llm.Answer{Text: "t", ToolCalls: []llm.ToolCall{{Name: "pay", Arguments: []byte(`{"kes":`)}}, Usage: used, Metered: true, ProviderID: "id"}
	var tape bytes.Buffer
	r := llm.NewRecorder(&tape)
	call := llm.Call{Model: "m", Tools: []llm.Tool{{Name: "pay", Input: compile(t, `{"type":"object"}`)}}, MustCall: true}
	p := r.Provider("openai", &script{t: t, steps: []step{func(context.Context, llm.Call) (llm.Answer, error) { return want, nil }}})
	if _, err := p.Complete(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	played, err := llm.ReadTape(&tape)
	if err != nil {
		t.Fatal(err)
	}
	other := call
	other.MustCall = false
	if _, err := played.Provider("openai").Complete(t.Context(), other); !errors.Is(err, llm.ErrNotRecorded) {
		t.Errorf("another call was answered: %v", err)
	}
	got, err := played.Provider("openai").Complete(t.Context(), call)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestSecretsAreCutOut(t *testing.T) {
	t.Parallel()
	var tape bytes.Buffer
	p := llm.NewRecorder(&tape, "", "sk-secret").Provider("openai", &script{t: t, steps: []step{says("It is sk-secret.")}})
	if _, err := p.Complete(t.Context(), llm.Call{System: "Never say sk-secret."}); err != nil {
		t.Fatal(err)
	}
	if s := tape.String(); strings.Contains(s, "sk-secret") || strings.Count(s, "<key>") != 2 {
		t.Errorf("tape: %s", s)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestATapeThatCannotBeWrittenAnswersAllTheSame(t *testing.T) {
	t.Parallel()
	r := llm.NewRecorder(full{})
	if _, err := r.Provider("openai", &script{t: t, steps: []step{says("Hi.")}}).Complete(t.Context(), llm.Call{}); err != nil || r.Err() == nil {
		t.Errorf("got %v; the recorder says %v", err, r.Err())
	}
}

func TestBadTapesNameTheLine(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"\n{":                              "line 2",
		`{"hash":"a"}`:                     "line 1: want a hash and an answer or an error",
		`{"hash":"a","answer":1}`:          "line 1",
		`{"answer":{},"error":{}}`:         "line 1",
		strings.Repeat("x", 17<<20):        "token too long",
		`{"hash":"a","answer":{}}` + "\nx": "line 2",
	} {
		if _, err := llm.ReadTape(strings.NewReader(raw)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", raw, err, want)
		}
	}
}
