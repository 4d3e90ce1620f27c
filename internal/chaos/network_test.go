package chaos

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTheSeedIsTheSchedule(t *testing.T) {
	t.Parallel()
	o := Options{For: time.Minute, Kills: 20, Nodes: 3, Seed: 7}
	first := deaths(o)
	if diff := cmp.Diff(first, deaths(o), cmp.AllowUnexported(death{})); diff != "" {
		t.Errorf("the same seed kills otherwise: %s", diff)
	}
	o.Seed = 8
	if cmp.Equal(first, deaths(o), cmp.AllowUnexported(death{})) {
		t.Error("another seed kills alike")
	}
	nodes := map[int]bool{}
	for i, k := range first {
		nodes[k.node] = true
		if k.after < 0 || k.after > o.For || i > 0 && k.after < first[i-1].after {
			t.Errorf("kill %d is at %v", i, k.after)
		}
	}
	if len(first) != 20 || len(nodes) != 3 {
		t.Errorf("%d kills of %d nodes, want 20 of 3", len(first), len(nodes))
	}
	if got := deaths(Options{For: time.Minute, Nodes: 1}); len(got) != 0 {
		t.Errorf("no kills are %v", got)
	}
}

// node counts what comes to it.
func node(t *testing.T, came *atomic.Int32) string {
	t.Helper()
	server, url, err := serve(t.Context(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		came.Add(1)
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Seen", r.Header.Get("X-Hub-Signature-256")+" "+r.URL.RequestURI()+" "+string(body))
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return strings.TrimPrefix(url, "http://")
}

func post(t *testing.T, url string) (*http.Response, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Hub-Signature-256", "signed")
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err == nil {
		_ = res.Body.Close()
	}
	return res, err
}

// inParallel does something n times, twenty at once, and counts how often it
// was true.
func inParallel(n int, do func() bool) int {
	var done sync.WaitGroup
	var count atomic.Int32
	slots := make(chan struct{}, 20)
	for range n {
		slots <- struct{}{}
		done.Go(func() {
			if do() {
				count.Add(1)
			}
			<-slots
		})
	}
	done.Wait()
	return int(count.Load())
}

func TestTheGateTurnsToEachNode(t *testing.T) {
	t.Parallel()
	var a, b atomic.Int32
	l := newLedger(stream(3, streamInbound))
	g, err := newGate(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	defer g.stop()
	if res, err := post(t, g.url+"/webhooks/whatsapp"); err == nil && res.StatusCode != http.StatusBadGateway {
		t.Errorf("without a node it answers %d", res.StatusCode)
	}
	g.open([]string{node(t, &a), node(t, &b)})
	answered := inParallel(200, func() bool {
		res, err := post(t, g.url+"/webhooks/whatsapp?x=1")
		if err != nil {
			return false // dropped, or its answer was
		}
		if got := res.Header.Get("X-Seen"); got != "signed /webhooks/whatsapp?x=1 {}" {
			t.Errorf("the node saw %q", got)
		}
		return true
	})
	kinds := map[FaultKind]int{}
	for _, f := range l.faults() {
		kinds[f.Kind]++
	}
	for _, k := range []FaultKind{Dropped, Unanswered, Repeated, Delayed} {
		if kinds[k] == 0 {
			t.Errorf("nothing was %s in 200", k)
		}
	}
	if want := 201 - kinds[Dropped] - kinds[Unanswered]; answered != want && answered != want-1 {
		t.Errorf("%d answers, want %d: %v", answered, want, kinds)
	}
	if want := int32(200 - kinds[Dropped] + kinds[Repeated]); a.Load()+b.Load() < want-1 || a.Load() == 0 || b.Load() == 0 {
		t.Errorf("%d and %d came, want %d in all", a.Load(), b.Load(), want)
	}
}

func TestCallsToTheProvidersFailInEveryWay(t *testing.T) {
	t.Parallel()
	var came atomic.Int32
	l := newLedger(stream(4, streamOutbound))
	server, url, err := serve(t.Context(), unreliable(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { came.Add(1) }), l))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	const calls = 600
	refused := inParallel(calls, func() bool {
		res, err := post(t, url+"/graph/v23.0/1/messages")
		return err == nil && res.StatusCode != http.StatusOK
	})
	kinds := map[FaultKind]int{}
	for _, f := range l.faults() {
		kinds[f.Kind]++
	}
	if kinds[Refused] == 0 || kinds[CallLost] == 0 || kinds[AnswerLost] == 0 || kinds[Slow] == 0 {
		t.Errorf("some faults never happened: %v", kinds)
	}
	if refused != kinds[Refused] || int(came.Load()) != calls-kinds[Refused]-kinds[CallLost] {
		t.Errorf("%d refused and %d came: %v", refused, came.Load(), kinds)
	}
	if before := len(l.faults()); before > 0 {
		for range 100 {
			if _, err := post(t, url+"/daraja/oauth/v1/generate"); err != nil {
				t.Fatal(err)
			}
		}
		if len(l.faults()) != before {
			t.Error("other calls have faults, too")
		}
	}
}
