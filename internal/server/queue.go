package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/llm"
)

// maxVerdict bounds the body of a decision, in bytes.
const maxVerdict = 64 << 10

// queued is an answer of the queue.
type queued struct {
	Escalations []llm.Case `json:"escalations,omitempty"`
	Escalation  *llm.Case  `json:"escalation,omitempty"`
	Error       *refusal   `json:"error,omitempty"`
}

type refusal struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
}

// queueRoutes are the queue of what people are asked, behind guard.
func (s *Server) queueRoutes(mux *http.ServeMux, guard func(http.HandlerFunc) http.HandlerFunc) {
	handle := func(pattern string, do func(w http.ResponseWriter, r *http.Request) (queued, error)) {
		mux.HandleFunc(pattern, guard(func(w http.ResponseWriter, r *http.Request) {
			out, err := do(w, r)
			queueAnswer(w, out, err)
		}))
	}
	handle("GET /api/tenants/{slug}/escalations", func(_ http.ResponseWriter, r *http.Request) (queued, error) {
		all, err := s.Escalations(r.Context(), r.PathValue("slug"), llm.CaseState(r.URL.Query().Get("state")))
		return queued{Escalations: all}, err
	})
	handle("GET /api/tenants/{slug}/escalations/{id}", func(_ http.ResponseWriter, r *http.Request) (queued, error) {
		k, err := s.Escalation(r.Context(), r.PathValue("slug"), r.PathValue("id"))
		return queued{Escalation: &k}, err
	})
	handle("POST /api/tenants/{slug}/escalations/{id}/decision", func(w http.ResponseWriter, r *http.Request) (queued, error) {
		var d llm.Decision
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxVerdict)).Decode(&d); err != nil {
			return queued{}, fault.Wrap(err, fault.Invalid, `The decision cannot be read: send {"choice"} or {"text"}, and {"by"}.`)
		}
		k, err := s.Decide(r.Context(), r.PathValue("slug"), r.PathValue("id"), d)
		return queued{Escalation: &k}, err
	})
}

// queueAnswer answers with what was found. A conflict is answered with the case
// as it was decided.
func queueAnswer(w http.ResponseWriter, out queued, err error) {
	status := http.StatusOK
	if code := fault.CodeOf(err); err != nil {
		out.Error = &refusal{code, fault.SentenceOf(err)}
		if code != fault.Conflict {
			out.Escalation = nil
		}
		status = statusOf(code)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(out) // a caller that has gone needs no answer
}

// queue asks the serving process's queue.
func (r *Remote) queue(ctx context.Context, method string, path []string, query url.Values, body any) (queued, error) {
	u := (&url.URL{Scheme: "http", Host: "ratiba", RawQuery: query.Encode()}).JoinPath(append([]string{"api", "tenants"}, path...)...)
	var out queued
	var raw io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return out, fmt.Errorf("encode request: %w", err)
		}
		raw = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), raw)
	if err != nil {
		return out, fmt.Errorf("ask the serving process: %w", err)
	}
	res, err := r.client.Do(req)
	if err != nil {
		return out, fault.Wrap(err, fault.Unavailable, "The process that uses "+r.dir+" does not answer commands.")
	}
	defer func() { _ = res.Body.Close() }()
	if err := json.NewDecoder(res.Body).Decode(&out); err != nil {
		return out, fmt.Errorf("the serving process answered %s", res.Status)
	}
	if out.Error != nil {
		return out, fault.E(out.Error.Code, out.Error.Message)
	}
	return out, nil
}

// one is the case of an answer.
func (q queued) one() (k llm.Case) {
	if q.Escalation != nil {
		k = *q.Escalation
	}
	return k
}

// Escalations is Server.Escalations.
func (r *Remote) Escalations(ctx context.Context, slug string, state llm.CaseState) ([]llm.Case, error) {
	out, err := r.queue(ctx, http.MethodGet, []string{url.PathEscape(slug), "escalations"}, url.Values{"state": {string(state)}}, nil)
	return out.Escalations, err
}

// Escalation is Server.Escalation.
func (r *Remote) Escalation(ctx context.Context, slug, id string) (llm.Case, error) {
	out, err := r.queue(ctx, http.MethodGet, []string{url.PathEscape(slug), "escalations", url.PathEscape(id)}, nil, nil)
	return out.one(), err
}

// Decide is Server.Decide.
func (r *Remote) Decide(ctx context.Context, slug, id string, d llm.Decision) (llm.Case, error) {
	out, err := r.queue(ctx, http.MethodPost, []string{url.PathEscape(slug), "escalations", url.PathEscape(id), "decision"}, nil, d)
	return out.one(), err
}
