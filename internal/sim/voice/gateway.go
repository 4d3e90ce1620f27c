// Package voice simulates a telephone gateway: people who call a business, with
// words in place of sound.
//
// It posts a call's events to the product, signed, in order and one at a time,
// and keeps what was said on both sides. A repetition or a gap is made on
// demand. It is safe for concurrent use and imports only leaves and the
// simulator's own.
package voice

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/sim/face"
)

// Bounds: of one event at the product, of its answer in bytes, and of the calls
// that are kept.
const (
	callTime  = 30 * time.Second
	maxAnswer = 64 << 10
	maxCalls  = 1000
)

// Config is what a Gateway is made of.
type Config struct {
	URL    string       // where the product listens
	Secret string       // signs events; without it nobody can call
	Client *http.Client // an own one when nil
}

// Line is something that was said in a call.
type Line struct {
	By     string `json:"by"` // caller or business
	Text   string `json:"text"`
	Filler bool   `json:"filler,omitempty"`
}

// Call is a telephone call.
type Call struct {
	ID    string `json:"id"`
	From  string `json:"from"`
	To    string `json:"to"`
	Lines []Line `json:"lines"`
	Ended bool   `json:"ended"`

	busy sync.Mutex // one event at a time
	seq  int
}

// Answer is what the product answered an event.
type Answer struct {
	Say      string `json:"say"`
	Language string `json:"language"`
	HangUp   bool   `json:"hang_up"`
	Filler   bool   `json:"filler,omitempty"`
}

// Gateway is the telephone network. It is safe for concurrent use.
type Gateway struct {
	cfg Config

	mu    sync.Mutex
	calls map[string]*Call
	order []string
}

// New returns a gateway.
func New(cfg Config) *Gateway {
	if cfg.Client == nil {
		cfg.Client = &http.Client{}
	}
	return &Gateway{cfg: cfg, calls: map[string]*Call{}}
}

// Routes mounts the laboratory's face on mux.
func (g *Gateway) Routes(mux *http.ServeMux) {
	mux.HandleFunc("POST /sim/voice/calls", face.Handle(g.faceCall))
	mux.HandleFunc("POST /sim/voice/calls/{id}", face.Handle(g.faceEvent))
	mux.HandleFunc("GET /sim/voice/calls/{id}", face.Handle(g.faceShow))
}

// event is what is posted to the product.
type event struct {
	Seq      int    `json:"seq"`
	Kind     string `json:"event"`
	From     string `json:"from"`
	To       string `json:"to"`
	Text     string `json:"text,omitempty"`
	Key      string `json:"key,omitempty"`
	Language string `json:"language,omitempty"`
}

// told is how a call stands after an event.
type told struct {
	ID     string `json:"id"`
	Answer Answer `json:"answer"`
	Ended  bool   `json:"ended"`
}

func (g *Gateway) faceCall(w http.ResponseWriter, r *http.Request) (any, error) {
	var in struct {
		From     string `json:"from"`
		To       string `json:"to"`
		Language string `json:"language"`
	}
	if err := face.Read(w, r, &in); err != nil {
		return nil, err
	}
	if g.cfg.Secret == "" {
		return nil, fault.E(fault.Unavailable, "No telephone is connected: the voice secret is not set.")
	}
	c := &Call{ID: "call-" + strings.ToLower(rand.Text()), From: number(in.From), To: number(in.To), Lines: []Line{}}
	g.mu.Lock()
	g.calls[c.ID] = c
	if g.order = append(g.order, c.ID); len(g.order) > maxCalls {
		delete(g.calls, g.order[0])
		g.order = slices.Delete(g.order, 0, 1)
	}
	g.mu.Unlock()
	return g.post(r.Context(), c, event{Kind: "start", Language: in.Language}, 0)
}

// number writes a phone as the product has it.
func number(s string) string {
	if digits := face.Digits(s); digits != "" {
		return "+" + digits
	}
	return ""
}

func (g *Gateway) call(id string) (*Call, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.calls[id]
	if c == nil {
		return nil, fault.E(fault.NotFound, "There is no such call.")
	}
	return c, nil
}

func (g *Gateway) faceEvent(w http.ResponseWriter, r *http.Request) (any, error) {
	var in struct {
		Text *string `json:"text"`
		Key  string  `json:"key"`
		End  bool    `json:"end"`
		Seq  int     `json:"seq"` // in place of the next: a repetition, or a gap
	}
	if err := face.Read(w, r, &in); err != nil {
		return nil, err
	}
	c, err := g.call(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	e := event{Kind: "heard", Key: in.Key}
	switch {
	case in.End:
		e.Kind = "end"
	case in.Key != "":
		e.Kind = "key"
	case in.Text == nil:
		return nil, fault.E(fault.Invalid, `Say "text" ("" for silence), press a "key", or "end" the call.`)
	default:
		e.Text = *in.Text
	}
	return g.post(r.Context(), c, e, in.Seq)
}

func (g *Gateway) faceShow(_ http.ResponseWriter, r *http.Request) (any, error) {
	c, err := g.call(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return map[string]any{"id": c.ID, "from": c.From, "to": c.To, "lines": slices.Clone(c.Lines), "ended": c.Ended}, nil
}

// post sends one event and keeps what was said.
func (g *Gateway) post(ctx context.Context, c *Call, e event, seq int) (any, error) {
	c.busy.Lock()
	defer c.busy.Unlock()
	e.Seq, e.From, e.To = cmp.Or(seq, c.seq+1), c.From, c.To
	a, err := g.send(ctx, c.ID, e)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	c.seq = max(c.seq, e.Seq)
	if said := cmp.Or(e.Text, e.Key); said != "" && seq == 0 {
		c.Lines = append(c.Lines, Line{By: "caller", Text: said})
	}
	if a.Say != "" && seq == 0 {
		c.Lines = append(c.Lines, Line{By: "business", Text: a.Say, Filler: a.Filler})
	}
	c.Ended = c.Ended || a.HangUp || e.Kind == "end"
	return told{ID: c.ID, Answer: a, Ended: c.Ended}, nil
}

// send posts one signed event to the product.
func (g *Gateway) send(ctx context.Context, id string, e event) (a Answer, err error) {
	body, err := json.Marshal(e)
	if err != nil {
		return a, fmt.Errorf("encode event: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(g.cfg.URL, "/")+"/voice/calls/"+id+"/events", bytes.NewReader(body))
	if err != nil {
		return a, fmt.Errorf("call: %w", err)
	}
	mac := hmac.New(sha256.New, []byte(g.cfg.Secret))
	_, _ = mac.Write([]byte(id + "\n"))
	_, _ = mac.Write(body)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Ratiba-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	res, err := g.cfg.Client.Do(req)
	if err != nil {
		return a, fault.Wrap(err, fault.Unavailable, "The product does not answer the telephone.")
	}
	defer res.Body.Close() //nolint:errcheck // nothing follows from a failed close of a read body.
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return a, fmt.Errorf("read answer: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		return a, fault.E(fault.Conflict, fmt.Sprintf("The product answers %d: %s", res.StatusCode, strings.TrimSpace(string(raw))))
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		return a, fmt.Errorf("read answer: %w", err)
	}
	return a, nil
}
