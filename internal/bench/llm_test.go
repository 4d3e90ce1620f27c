package bench_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ratiba/ratiba/internal/bench"
)

// upstreams are the two models, both without a delay.
func upstreams(t *testing.T, h http.Handler) bench.LLMOptions {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return bench.LLMOptions{Fast: srv.URL, Slow: srv.URL, Calls: 3, CrowdCalls: 1, Rounds: 2, Progress: func(string, ...any) {}}
}

func TestTheRouterIsMeasuredBesideABareCall(t *testing.T) {
	t.Parallel()
	r, err := bench.LLM(t.Context(), upstreams(t, bench.Upstream(0)))
	if err != nil {
		t.Fatal(err)
	}
	figures := r.Map()
	for _, name := range []string{
		"llm_post_p50_us", "llm_bare_p50_us", "llm_router_over_post_p50_us", "llm_router_added_p50_us", "llm_bare_allocs",
		"llm_router_added_allocs", "llm_bare_cpu_us", "llm_router_added_cpu_us", "llm_64_bare_p99_ms", "llm_64_router_added_p99_ms",
	} {
		if _, ok := figures[name]; !ok {
			t.Errorf("%s is missing from %v", name, figures)
		}
	}
	if figures["llm_bare_p50_us"] <= 0 || figures["llm_bare_allocs"] <= 0 || len(figures) != 10 {
		t.Errorf("figures %v", figures)
	}
}

func TestAMeasurementEndsWithTheFirstWrongAnswer(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]http.HandlerFunc{
		"an error":      func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"no completion": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{}`)) },
		"no classification": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"choices":[{"message":{"content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`))
		},
	} {
		if r, err := bench.LLM(t.Context(), upstreams(t, h)); err == nil {
			t.Errorf("%s: measured %v", name, r.Map())
		}
	}
	if _, err := bench.LLM(t.Context(), bench.LLMOptions{}); err == nil {
		t.Error("nothing to do was measured")
	}
}

func TestPeersThatCannotBeBuiltAreAnError(t *testing.T) {
	t.Parallel()
	opt := upstreams(t, bench.Upstream(0))
	opt.Peers = &bench.LLMPeers{Source: t.TempDir(), Build: t.TempDir()}
	if _, err := bench.LLM(t.Context(), opt); err == nil || !strings.Contains(err.Error(), "build the peers") {
		t.Errorf("got %v", err)
	}
}
