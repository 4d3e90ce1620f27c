package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
)

// Fault is something the network did to one exchange.
type Fault struct {
	At     time.Time
	Kind   FaultKind
	Opaque string // of a send to WhatsApp: the product's own id of it
}

// FaultKind says what the network did.
type FaultKind string

// What the network does. The first four happen to webhooks, the rest to calls
// of the providers. A dead node's refused connection is a drop of its own.
const (
	Dropped    FaultKind = "dropped"     // never came to the product
	Unanswered FaultKind = "unanswered"  // came, and its 200 was lost
	Repeated   FaultKind = "repeated"    // came twice
	Delayed    FaultKind = "delayed"     // came late, and so after later ones
	Refused    FaultKind = "refused"     // the provider was busy, or over a rate
	CallLost   FaultKind = "call_lost"   // never came to the provider
	AnswerLost FaultKind = "answer_lost" // came, and the provider's answer was lost
	Slow       FaultKind = "slow"
)

// ledger keeps what the network did.
type ledger struct {
	real clock.Clock
	mu   sync.Mutex
	all  []Fault
	draw *rand.Rand
}

func newLedger(draw *rand.Rand) *ledger { return &ledger{real: clock.Real{}, draw: draw} }

// roll draws whether and which fault the next exchange has. odds are in
// thousandths, in order; "" is no fault. span is a random time for faults that
// take some.
func (l *ledger) roll(opaque string, odds []odd) (FaultKind, time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, span := l.draw.IntN(1000), time.Duration(l.draw.IntN(1200))*time.Millisecond
	for _, o := range odds {
		if n -= o.thousandths; n < 0 {
			l.all = append(l.all, Fault{At: l.real.Now(), Kind: o.kind, Opaque: opaque})
			return o.kind, span
		}
	}
	return "", 0
}

type odd struct {
	kind        FaultKind
	thousandths int
}

func (l *ledger) faults() []Fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Fault(nil), l.all...)
}

// gate is the address providers post to: a balancer over the nodes, round robin
// and without health checks, with a bad network before it.
type gate struct {
	ledger *ledger
	client *http.Client
	server *http.Server
	url    string

	mu    sync.Mutex
	nodes []string
	next  int
}

func newGate(ctx context.Context, l *ledger) (*gate, error) {
	g := &gate{ledger: l, client: &http.Client{
		Timeout:   30 * time.Second,
		Transport: &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: 10 * time.Second},
	}}
	var err error
	g.server, g.url, err = serve(ctx, http.HandlerFunc(g.pass))
	return g, err
}

func (g *gate) open(nodes []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.nodes = nodes
}

func (g *gate) node() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.nodes) == 0 {
		return ""
	}
	g.next++
	return g.nodes[g.next%len(g.nodes)]
}

// pass forwards one webhook.
func (g *gate) pass(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		hangUp(w)
		return
	}
	kind, span := g.ledger.roll("", []odd{{Dropped, 30}, {Unanswered, 30}, {Repeated, 50}, {Delayed, 120}})
	switch kind {
	case Dropped:
		hangUp(w)
		return
	case Delayed:
		if !pause(r.Context(), span) {
			return
		}
	case Repeated:
		if res, err := g.forward(r, body); err == nil {
			_ = res.Body.Close()
		}
	case Unanswered, Refused, CallLost, AnswerLost, Slow:
	}
	res, err := g.forward(r, body)
	if err != nil {
		http.Error(w, "no node answered", http.StatusBadGateway)
		return
	}
	defer func() { _ = res.Body.Close() }()
	if kind == Unanswered {
		hangUp(w)
		return
	}
	maps.Copy(w.Header(), res.Header)
	w.WriteHeader(res.StatusCode)
	_, _ = io.Copy(w, res.Body) // who asked has gone: the provider repeats it
}

func (g *gate) forward(r *http.Request, body []byte) (*http.Response, error) {
	node := g.node()
	if node == "" {
		return nil, errors.New("no node")
	}
	req, err := http.NewRequestWithContext(r.Context(), r.Method, "http://"+node+r.URL.RequestURI(), bytes.NewReader(body)) //nolint:gosec // node is ours.
	if err != nil {
		return nil, fmt.Errorf("forward: %w", err)
	}
	req.Header = r.Header.Clone()
	return g.client.Do(req) //nolint:gosec // as above.
}

func (g *gate) stop() {
	_ = g.server.Close()
	g.client.CloseIdleConnections()
}

// unreliable is the way from the product to the providers.
func unreliable(next http.Handler, l *ledger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		send := r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/messages") && !strings.Contains(r.URL.Path, "anthropic")
		if !send {
			next.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			hangUp(w)
			return
		}
		var said struct {
			Opaque string `json:"biz_opaque_callback_data"`
		}
		_ = json.Unmarshal(body, &said) // what cannot be read has no name
		r.Body = io.NopCloser(bytes.NewReader(body))
		kind, span := l.roll(said.Opaque, []odd{{Refused, 30}, {CallLost, 3}, {AnswerLost, 12}, {Slow, 60}})
		switch kind {
		case Refused:
			busy(w, span)
			return
		case CallLost:
			hangUp(w)
			return
		case Slow:
			if !pause(r.Context(), span/2) {
				return
			}
		case AnswerLost:
			next.ServeHTTP(&nobody{header: http.Header{}}, r)
			hangUp(w)
			return
		case Dropped, Unanswered, Repeated, Delayed:
		}
		next.ServeHTTP(w, r)
	})
}

// busy answers as the platform does when it is, or when a rate is exceeded.
func busy(w http.ResponseWriter, span time.Duration) {
	status, code, text := http.StatusInternalServerError, 131016, "Service unavailable"
	if span > 600*time.Millisecond {
		status, code, text = http.StatusBadRequest, 130429, "Rate limit hit"
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{
		"message": fmt.Sprintf("(#%d) %s", code, text), "type": "OAuthException", "code": code, "fbtrace_id": "A",
	}}) // who asked has gone
}

// nobody takes an answer that is lost.
type nobody struct{ header http.Header }

// Header implements http.ResponseWriter.
func (n *nobody) Header() http.Header { return n.header }

// Write implements http.ResponseWriter.
func (n *nobody) Write(b []byte) (int, error) { return len(b), nil }

// WriteHeader implements http.ResponseWriter.
func (n *nobody) WriteHeader(int) {}

// hangUp breaks the connection without an answer.
func hangUp(w http.ResponseWriter) {
	h, ok := w.(http.Hijacker)
	if !ok {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	if conn, _, err := h.Hijack(); err == nil {
		_ = conn.Close()
	}
}

// serve listens on a free loopback port.
func serve(ctx context.Context, h http.Handler) (*http.Server, string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", fmt.Errorf("listen: %w", err)
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.Serve(l) }() // ends with Close
	return s, "http://" + l.Addr().String(), nil
}
