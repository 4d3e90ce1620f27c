package llm_test

import (
	"bytes"
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/money"
)

func vectors(v ...[]float32) step {
	return func(context.Context, llm.Call) (llm.Answer, error) {
		return llm.Answer{Vectors: v, Usage: llm.Usage{Input: 10}, Metered: true}, nil
	}
}

func embedding(t *testing.T, steps ...step) *bundle {
	t.Helper()
	b := setupWith(t, func(cfg *llm.Config) {
		cfg.Roles[llm.Embedder] = llm.Ladder{{Provider: "openai", Model: "text-embedding-3-small", Timeout: time.Minute}}
	}, steps...)
	b.req = llm.Request{Role: llm.Embedder, Tenant: "t1", Account: llm.AccountOperations, Texts: []string{"nywele", "kucha"}}
	return b
}

func TestEmbeddingsArePricedStoredAndReusedLikeEveryCall(t *testing.T) {
	t.Parallel()
	want := [][]float32{{0.5, -1}, {math.SmallestNonzeroFloat32, 3}}
	b := embedding(t, is(llm.Timeout), vectors([]float32{1}), vectors(want...))
	got, err := b.router.Call(t.Context(), b.req)
	if diff := cmp.Diff(want, got.Vectors); err != nil || diff != "" {
		t.Fatalf("%v (-want +got):\n%s", err, diff)
	}
	records := b.ledger.All()
	if len(records) != 3 || records[2].Cost != 10*money.USD/50/1_000_000 || records[2].Account != llm.AccountOperations || !records[0].Estimated {
		t.Errorf("records %+v", records)
	}
	again, err := b.router.Call(t.Context(), b.req)
	if diff := cmp.Diff(want, again.Vectors); err != nil || diff != "" || !again.Reused {
		t.Errorf("%v, reused %v (-want +got):\n%s", err, again.Reused, diff)
	}
}

func TestVectorsThatFitNoTextAreRefused(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]step{
		"too few": vectors([]float32{1}), "too many": vectors([]float32{1}, []float32{1}, []float32{1}), "of two lengths": vectors([]float32{1}, []float32{1, 2}),
		"empty": vectors(nil, nil), "not a number": vectors([]float32{1}, []float32{float32(math.NaN())}),
	} {
		b := embedding(t, bad, bad)
		if got, err := b.router.Call(t.Context(), b.req); llm.ClassOf(err) != llm.Malformed || got.Vectors != nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestARoleGetsTheKindOfModelItNeeds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for role, rung := range map[llm.Role]llm.Rung{llm.Embedder: luna, llm.SlotExtractor: {Provider: "openai", Model: "text-embedding-3-small"}} {
		if err := b.router.CheckOverrides(llm.Overrides{role: {rung}}); err == nil || !strings.Contains(err.Error(), "vectors") {
			t.Errorf("%s by %s: %v", role, rung.Model, err)
		}
	}
}

func TestVectorsAreRecordedAndReplayed(t *testing.T) {
	t.Parallel()
	var tape bytes.Buffer
	want := [][]float32{{0.1, 0.2}, {0.3, 0.4}}
	call := llm.Call{Model: "text-embedding-3-small", Texts: []string{"a", "b"}}
	p := llm.NewRecorder(&tape).Provider("openai", &script{t: t, steps: []step{vectors(want...)}})
	if _, err := p.Complete(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	played, err := llm.ReadTape(&tape)
	if err != nil {
		t.Fatal(err)
	}
	got, err := played.Provider("openai").Complete(t.Context(), call)
	if diff := cmp.Diff(want, got.Vectors); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
