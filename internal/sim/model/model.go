// Package model simulates OpenAI's chat completions and Anthropic's messages.
//
// It speaks the real wire formats and refuses what the vendors refuse: a
// missing key, a schema outside their strict subset, a parameter a model no
// longer takes. Behind them sits one modest model of its own, rules for English
// and Swahili, that knows a seam by its schema's properties and reads what it
// needs out of the messages. It shares no code with the product, so that the
// product is not tested against itself. Faults are programmed through the face.
//
// The package imports only leaves and the laboratory's face.
package model

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/ids"
)

const (
	maxRequest = 8 << 20 // bytes of a request's body
	maxCalls   = 10_000  // calls remembered
	maxSeen    = 1_000   // prompts remembered by the cache
)

// Base paths, to be appended to the simulator's address. They are what the
// product's providers are configured with.
const (
	OpenAIBase    = "/openai/v1"
	AnthropicBase = "/anthropic"
)

// Config makes a Simulator.
type Config struct {
	Clock   clock.Clock   // what the model takes as the present when a prompt does not say; required
	Latency time.Duration // real time every answer takes; 0 answers at once
	Logger  *slog.Logger  // discards when nil
}

// Simulator is both vendors and the face over them. It is safe for concurrent
// use.
type Simulator struct {
	clock   clock.Clock
	latency time.Duration
	log     *slog.Logger
	mux     *http.ServeMux

	mu     sync.Mutex
	seq    int
	calls  []Call
	faults []*Fault
	seen   map[string]bool // system prompts, for the prompt cache
}

// Call is one request a vendor received.
type Call struct {
	Seq      int       `json:"seq"`
	At       time.Time `json:"at"`
	Provider string    `json:"provider"`
	Model    string    `json:"model"`
	Role     string    `json:"role"` // the seam, empty when it is not recognised
	Status   int       `json:"status"`
	Fault    string    `json:"fault,omitempty"` // the programmed fault that was carried out
	Error    string    `json:"error,omitempty"` // why the request was refused
	Input    int       `json:"input_tokens"`
	Output   int       `json:"output_tokens"`
	Text     string    `json:"text,omitempty"`   // what the customer wrote
	Answer   string    `json:"answer,omitempty"` // what the model wrote
}

// New makes a Simulator.
func New(cfg Config) (*Simulator, error) {
	if cfg.Clock == nil {
		return nil, errors.New("simulated model: a clock is required")
	}
	s := &Simulator{
		clock: cfg.Clock, latency: cfg.Latency, log: cfg.Logger,
		mux: http.NewServeMux(), seen: make(map[string]bool),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.Routes(s.mux)
	return s, nil
}

// Routes adds the simulator's routes to mux.
func (s *Simulator) Routes(mux *http.ServeMux) {
	mux.HandleFunc("POST "+OpenAIBase+"/chat/completions", s.openAI)
	mux.HandleFunc("POST "+AnthropicBase+"/v1/messages", s.anthropic)
	mux.HandleFunc("POST /sim/llm/next", s.program)
	mux.HandleFunc("GET /sim/llm/calls", s.listCalls)
}

// ServeHTTP serves the routes of Routes.
func (s *Simulator) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Calls returns what the vendors received after the call numbered after.
func (s *Simulator) Calls(after int) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []Call{}
	for _, c := range s.calls {
		if c.Seq > after {
			out = append(out, c)
		}
	}
	return out
}

func (s *Simulator) remember(c Call) {
	s.mu.Lock()
	s.seq++
	c.Seq, c.At = s.seq, s.clock.Now()
	s.calls = append(s.calls, c)
	if len(s.calls) > maxCalls {
		s.calls = append(s.calls[:0:0], s.calls[len(s.calls)-maxCalls:]...)
	}
	s.mu.Unlock()
	s.log.LogAttrs(context.Background(), slog.LevelInfo, "sim.llm.call", slog.String("provider", c.Provider), slog.String("model", c.Model),
		slog.String("role", c.Role), slog.Int("status", c.Status), slog.String("fault", c.Fault))
}

// cached reports how many of a prompt's tokens a vendor's cache serves: none
// the first time, later the whole steps of 128 once there are 1,024.
func (s *Simulator) cached(system string) int {
	n := tokens(system)
	if n < 1024 {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen[system] {
		return n / 128 * 128
	}
	if len(s.seen) < maxSeen {
		s.seen[system] = true
	}
	return 0
}

// wait lets the latency pass, or less if the caller goes.
func (s *Simulator) wait(ctx context.Context) {
	if s.latency <= 0 {
		return
	}
	t := time.NewTimer(s.latency)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// id makes a provider's id.
func (s *Simulator) id(prefix string) string {
	return prefix + strings.ToLower(ids.New(s.clock.Now()))
}

// tokens estimates as vendors' guides do: four characters a token.
func tokens(text string) int { return (len([]rune(text)) + 3) / 4 }

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	return io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
}
