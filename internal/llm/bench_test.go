package llm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/llm"
)

type instant struct{}

func (instant) Complete(context.Context, llm.Call) (llm.Answer, error) {
	return llm.Answer{Text: mood, Usage: used, Metered: true}, nil
}

func benchRouter(b *testing.B, p llm.Provider) (*llm.Router, llm.Request) {
	b.Helper()
	generous := llm.Ceilings{Soft: 1 << 60, Hard: 1 << 60, ContactDay: 1 << 60, TenantDay: 1 << 60}
	r, err := llm.New(llm.Config{
		Roles:     llm.Roles{llm.IntentClassifier: {{Provider: "openai", Model: "gpt-6-luna", Effort: "none", MaxTokens: 100, Timeout: time.Minute}}},
		Catalogue: catalogue(b), Ledger: llm.NewMemory(nil), Providers: map[string]llm.Provider{"openai": p},
		Policies: everybody{Ceilings: generous},
	})
	if err != nil {
		b.Fatal(err)
	}
	return r, llm.Request{
		Role: llm.IntentClassifier, Tenant: "t", Thread: "c", Contact: "k", Turn: "u", System: strings.Repeat("rule ", 600),
		Messages: []llm.Message{{Role: llm.User, Content: "hi"}}, Schema: compile(b, moodSchema),
	}
}

type everybody llm.Policy

func (p everybody) Policy(context.Context, ids.TenantID) (llm.Policy, error) {
	return llm.Policy(p), nil
}

// BenchmarkRouter is what the router adds to a provider's own time: resolution,
// hash, look-up, reservation, validation, price, settlement.
func BenchmarkRouter(b *testing.B) {
	r, req := benchRouter(b, instant{})
	b.ReportAllocs()
	for b.Loop() {
		req.Seq++
		if _, err := r.Call(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
}

// upstream answers at once over real HTTP.
func upstream(b *testing.B, wait time.Duration) *httptest.Server {
	b.Helper()
	body := []byte(wires[0].says(quoted(mood)))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if wait > 0 {
			<-time.After(wait)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	}))
	b.Cleanup(srv.Close)
	return srv
}

// bare asks the same over net/http and encoding/json, and nothing else.
func bare(client *http.Client, url string, req *llm.Request) error {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	body, err := json.Marshal(map[string]any{
		"model": "gpt-6-luna", "messages": []message{{"system", req.System}, {"user", req.Messages[0].Content}}, "max_completion_tokens": 100,
		"response_format": map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": "seam", "strict": true, "schema": json.RawMessage(req.Schema.Raw())}},
	})
	if err != nil {
		return err
	}
	r, err := http.NewRequest(http.MethodPost, url+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer k")
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var out struct {
		Choices []struct {
			Message struct {
				Content string `json:"content"`
			} `json:"message"`
		} `json:"choices"`
		Usage struct {
			PromptTokens int `json:"prompt_tokens"`
		} `json:"usage"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
		return err
	}
	var answer map[string]any
	return json.Unmarshal([]byte(out.Choices[0].Message.Content), &answer)
}

// quantile is of durations; it sorts them.
func quantile(d []time.Duration, q float64) time.Duration {
	slices.Sort(d)
	return d[int(q*float64(len(d)-1))]
}

// BenchmarkOverHTTP goes the whole way to an upstream that answers at once,
// router and bare net/http in turns, and reports the medians and what the
// router adds.
func BenchmarkOverHTTP(b *testing.B) {
	srv := upstream(b, 0)
	client, err := wires[0].client(srv.URL)
	if err != nil {
		b.Fatal(err)
	}
	r, req := benchRouter(b, client)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	plain := &http.Client{Transport: transport}
	b.Cleanup(transport.CloseIdleConnections)
	var ours, theirs []time.Duration
	watch := clock.Real{}
	for b.Loop() {
		req.Seq++
		t0 := watch.Now()
		if _, err := r.Call(b.Context(), req); err != nil {
			b.Fatal(err)
		}
		t1 := watch.Now()
		if err := bare(plain, srv.URL, &req); err != nil {
			b.Fatal(err)
		}
		theirs = append(theirs, watch.Now().Sub(t1))
		ours = append(ours, t1.Sub(t0))
	}
	b.ReportMetric(0, "ns/op")
	o, t := quantile(ours, 0.5), quantile(theirs, 0.5)
	b.ReportMetric(float64(o.Nanoseconds())/1e3, "router-µs")
	b.ReportMetric(float64(t.Nanoseconds())/1e3, "bare-µs")
	b.ReportMetric(float64((o-t).Nanoseconds())/1e3, "added-µs")
	allocs := func(f func()) float64 { return testing.AllocsPerRun(200, f) }
	added := allocs(func() {
		req.Seq++
		_, _ = r.Call(b.Context(), req)
	}) - allocs(func() { _ = bare(plain, srv.URL, &req) })
	b.ReportMetric(added, "added-allocs")
}

// BenchmarkClassifications64 is 64 at a time against an upstream of 20 ms: what
// the router adds to the slowest percent.
func BenchmarkClassifications64(b *testing.B) {
	srv := upstream(b, 20*time.Millisecond)
	client, err := wires[0].client(srv.URL)
	if err != nil {
		b.Fatal(err)
	}
	r, req := benchRouter(b, client)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64
	b.Cleanup(transport.CloseIdleConnections)
	plain := &http.Client{Transport: transport}
	watch := clock.Real{}
	const each = 40
	round := func(call func(seq int) error) []time.Duration {
		var mu sync.Mutex
		var out []time.Duration
		var all sync.WaitGroup
		for w := range 64 {
			all.Go(func() {
				for i := range each {
					t0 := watch.Now()
					if err := call(w*each + i); err != nil {
						b.Error(err)
						return
					}
					d := watch.Now().Sub(t0)
					mu.Lock()
					out = append(out, d)
					mu.Unlock()
				}
			})
		}
		all.Wait()
		return out
	}
	var ours, theirs []time.Duration
	seq := 0
	for b.Loop() {
		seq += 64 * each
		base := seq
		ours = append(ours, round(func(n int) error {
			mine := req
			mine.Seq = base + n
			_, err := r.Call(b.Context(), mine)
			return err
		})...)
		theirs = append(theirs, round(func(int) error { return bare(plain, srv.URL, &req) })...)
	}
	for name, q := range map[string]float64{"p50": 0.5, "p99": 0.99} {
		o, t := quantile(ours, q), quantile(theirs, q)
		b.ReportMetric(float64(o.Microseconds())/1e3, "router-"+name+"-ms")
		b.ReportMetric(float64((o-t).Microseconds())/1e3, "added-"+name+"-ms")
	}
}
