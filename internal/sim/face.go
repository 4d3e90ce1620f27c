package sim

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/sim/face"
)

const (
	maxAdvance = 400 * 24 * time.Hour
	keepAlive  = 15 * time.Second
)

func (s *Sim) faceTenants(http.ResponseWriter, *http.Request) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := append([]Tenant{}, s.tenants...)
	for i := range out {
		if out[i].Admins == nil {
			out[i].Admins = []Admin{}
		}
	}
	return out, nil
}

// clockAnswer tells the product's time and how far ahead of the machine's it is.
type clockAnswer struct {
	Now    string `json:"now"` // RFC 3339
	Offset int64  `json:"offset_seconds"`
}

func (s *Sim) clock() clockAnswer {
	now := s.cfg.Clock.Now()
	return clockAnswer{
		Now:    now.UTC().Format(time.RFC3339),
		Offset: int64(now.Sub(s.cfg.Real.Now()).Round(time.Second) / time.Second),
	}
}

func (s *Sim) faceClock(http.ResponseWriter, *http.Request) (any, error) { return s.clock(), nil }

func (s *Sim) faceAdvance(w http.ResponseWriter, r *http.Request) (any, error) {
	var req struct {
		Seconds float64 `json:"seconds"`
	}
	if err := face.Read(w, r, &req); err != nil {
		return nil, err
	}
	if !(req.Seconds > 0) || req.Seconds > maxAdvance.Seconds() {
		return nil, fault.E(fault.Invalid, fmt.Sprintf(`"seconds" must be above 0 and at most %d.`, int64(maxAdvance.Seconds())))
	}
	if s.cfg.Advance == nil {
		return nil, fault.E(fault.Conflict, "The product runs in another process, whose clock cannot be moved from here.")
	}
	if err := s.cfg.Advance(r.Context(), time.Duration(req.Seconds*float64(time.Second))); err != nil {
		return nil, fmt.Errorf("advance clock: %w", err)
	}
	s.daraja.ExpireDue()
	return s.clock(), nil
}

func (s *Sim) faceJournal(_ http.ResponseWriter, r *http.Request) (any, error) {
	after, err := face.After(r)
	if err != nil {
		return nil, err
	}
	wait, err := face.Wait(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	return s.journal.After(ctx, after, r.URL.Query().Get("kind")), nil
}

// streamEvents sends the product's event lines as server-sent events, one
// line each, until the reader goes away.
func (s *Sim) streamEvents(w http.ResponseWriter, r *http.Request) {
	if s.cfg.Events == nil {
		face.Fail(w, fault.E(fault.NotFound, "The product runs in another process; its event log cannot be seen from here."))
		return
	}
	lines := s.cfg.Events(r.Context())
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(w)
	beat := time.NewTicker(keepAlive)
	defer beat.Stop()
	if _, err := fmt.Fprint(w, ": the product's event log\n\n"); err != nil || out.Flush() != nil {
		return
	}
	for {
		select {
		case line, open := <-lines:
			if !open {
				return
			}
			if _, err := fmt.Fprintf(w, "data: %s\n\n", bytes.TrimSpace(line)); err != nil || out.Flush() != nil {
				return
			}
		case <-beat.C:
			if _, err := fmt.Fprint(w, ": still here\n\n"); err != nil || out.Flush() != nil {
				return
			}
		case <-r.Context().Done():
			return
		}
	}
}
