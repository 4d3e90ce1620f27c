package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/store"
)

// unclear is what code alone does not understand.
const unclear = "which of those would suit the cousin then?"

// ahead is the machine's clock, and some time.
type ahead struct{ by time.Duration }

func (a ahead) Now() time.Time { return clock.Real{}.Now().Add(a.by) }

// spentAt opens an installation nobody uses, as it would be that much later, and
// tells what models cost its business.
func spentAt(t *testing.T, data string, later time.Duration) []store.RoleCost {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{Dir: data, Node: "test", Alone: true, Real: ahead{later}})
	if err != nil {
		t.Fatal(err)
	}
	known, err := s.Tenants(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tenant, err := s.Tenant(known[0].Tenant.ID, "booking")
	if err != nil {
		t.Fatal(err)
	}
	costs, err := tenant.RoleCosts(t.Context(), time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return costs
}

// TestP9AKilledProcessLeavesNoReservation kills a product while it waits for a
// model. What it had set aside is nobody's cost until its time is over, and then
// the worst that the call could have cost.
func TestP9AKilledProcessLeavesNoReservation(t *testing.T) {
	t.Parallel()
	file, data, product := write(t, "kinyozi.yaml", barber), t.TempDir(), freeAddress(t)
	sim := start(t, secrets(), "sim", "--addr", "127.0.0.1:0", "--product", "http://"+product, "-f", file).
		says(`^Simulators: (http://127\.0\.0\.1:[1-9]\d*)/sim/$`)
	asked := make(chan struct{}, 100)
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		ctx, cancel := context.WithTimeout(r.Context(), patience) // a client that was killed is noticed when something is written
		defer cancel()
		<-ctx.Done()
	}))
	t.Cleanup(slow.CloseClientConnections)
	environ := append(secrets(), "RATIBA_DATA="+data, "RATIBA_PUBLIC_URL=http://"+product, "RATIBA_LISTEN="+product,
		"RATIBA_META_URL="+sim+"/graph", "RATIBA_DARAJA_URL="+sim+"/daraja", "OPENAI_API_KEY=no-real-key")
	at := func(vendor string) []string {
		return append(slices.Clip(environ), "RATIBA_OPENAI_URL="+vendor+"/openai/v1")
	}
	if status, _, errOut := finish(t, at(sim), "tenant", "apply", "-f", file); status != 0 {
		t.Fatalf("apply: %s", errOut)
	}
	p := spawn(t, at(slow.URL), "serve")
	awaitReady(t, "http://"+product+"/readyz")
	body := `{"from":"+254700000001","to":"+254711555001","text":"` + unclear + `"}`
	if status, answer := call(t, http.MethodPost, sim+"/sim/whatsapp/inbound", body); status != http.StatusOK {
		t.Fatalf("writing: %d %s", status, answer)
	}
	select {
	case <-asked:
	case <-time.After(patience):
		t.Fatal("no model was asked")
	}
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.Wait() // it was killed

	if costs := spentAt(t, data, 0); len(costs) != 0 {
		t.Errorf("before its time is over: %+v", costs)
	}
	model, ok := mustCatalogue(t).Model("openai", "gpt-6-luna")
	if !ok {
		t.Fatal("the catalogue lacks the model")
	}
	costs := spentAt(t, data, 2*time.Minute) // ten seconds for the call, and a minute
	if len(costs) != 1 || costs[0].Role != llm.IntentClassifier || costs[0].Calls != 1 || costs[0].Failed != 1 || costs[0].Tokens.Output == 0 ||
		costs[0].Cost == 0 || costs[0].Cost != model.Worst(costs[0].Tokens, clock.Real{}.Now()) {
		t.Errorf("after it: %+v, want one lost call at its worst case", costs)
	}

	last := start(t, at(sim), "serve")
	last.says(`"event_type":"(turn\.committed)"`)
	if heard := hear(t, sim, "&wait=20"); len(heard) != 1 || !strings.Contains(heard[0].Text, "Juma") {
		t.Errorf("the customer heard %+v", heard)
	}
}

func mustCatalogue(t *testing.T) *llm.Catalogue {
	t.Helper()
	c, err := llm.DefaultCatalogue()
	if err != nil {
		t.Fatal(err)
	}
	return c
}
