package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/retrieve"
	"github.com/ratiba/ratiba/internal/store"
	"github.com/ratiba/ratiba/internal/tenant"
)

// asked is what a command asks about a business's data.
type asked struct {
	Slug   string           `json:"slug"`
	Day    string           `json:"day,omitempty"`
	Person contact.Identity `json:"person,omitzero"`
	Role   llm.Role         `json:"role,omitempty"`
	Trial  llm.Rollout      `json:"trial,omitzero"`
	Since  time.Time        `json:"since,omitzero"`
	Turn   ids.TurnID       `json:"turn,omitempty"`
	Clear  bool             `json:"clear,omitempty"`
	// About MCP and documents.
	Admin    string            `json:"admin,omitempty"`
	Label    string            `json:"label,omitempty"`
	ID       string            `json:"id,omitempty"`
	Document retrieve.Document `json:"document,omitzero"`
	// Operation and Args are those of Operate.
	Operation string          `json:"operation,omitempty"`
	Args      json.RawMessage `json:"args,omitempty"`
}

// told is the answer, and what a stream ends with that broke off.
type told struct {
	Tenant    tenant.Tenant    `json:"tenant,omitzero"`
	Counts    store.Counts     `json:"counts,omitempty"`
	Answer    json.RawMessage  `json:"answer,omitempty"`
	Erasure   store.Erasure    `json:"erasure,omitzero"`
	Trials    []store.Rollout  `json:"trials,omitempty"`
	Tenants   []tenant.Tenant  `json:"tenants,omitempty"`
	Costs     []Costs          `json:"costs,omitempty"`
	Replay    *Replay          `json:"replay,omitempty"`
	Token     store.MCPToken   `json:"token,omitzero"`
	Shown     string           `json:"shown,omitempty"`
	Tokens    []store.MCPToken `json:"tokens,omitempty"`
	Documents []store.Listed   `json:"documents,omitempty"`
	Code      fault.Code       `json:"code,omitempty"`
	Error     string           `json:"error,omitempty"`
}

// endError is the trailer of a stream: the answer when it broke off.
const endError = "Ratiba-Error"

// archiveRoutes are the commands about data as a whole.
func (s *Server) archiveRoutes(mux *http.ServeMux) {
	mux.HandleFunc("POST /tenants/export", streams(func(ctx context.Context, a asked, w io.Writer) error {
		return s.ExportTenant(ctx, a.Slug, w)
	}))
	mux.HandleFunc("POST /tenants/reconcile", streams(func(ctx context.Context, a asked, w io.Writer) error {
		return s.ReconcileTenant(ctx, a.Slug, a.Day, w)
	}))
	mux.HandleFunc("POST /tenants/import", s.controlImport)
	mux.HandleFunc("POST /tenants/holdings", answers(func(ctx context.Context, a asked) (out told, err error) {
		out.Counts, err = s.Holdings(ctx, a.Slug)
		return out, err
	}))
	mux.HandleFunc("POST /tenants/delete", answers(func(ctx context.Context, a asked) (told, error) {
		return told{}, s.DeleteTenant(ctx, a.Slug)
	}))
	mux.HandleFunc("POST /tenants/operate", answers(func(ctx context.Context, a asked) (out told, err error) {
		out.Answer, err = s.Operate(ctx, a.Slug, a.Operation, a.Args)
		return out, err
	}))
	mux.HandleFunc("POST /persons/export", streams(func(ctx context.Context, a asked, w io.Writer) error {
		return s.ExportPerson(ctx, a.Slug, a.Person, w)
	}))
	mux.HandleFunc("POST /persons/erase", answers(func(ctx context.Context, a asked) (out told, err error) {
		out.Erasure, err = s.ErasePerson(ctx, a.Slug, a.Person)
		return out, err
	}))
}

// unhurried lifts the deadlines of commands that take as long as the data are
// large.
func unhurried(w http.ResponseWriter) {
	c := http.NewResponseController(w)
	// A server without deadlines needs none lifted.
	_ = errors.Join(c.SetReadDeadline(time.Time{}), c.SetWriteDeadline(time.Time{}))
}

func answer(w http.ResponseWriter, out told, err error) {
	if err != nil {
		out.Code, out.Error = fault.CodeOf(err), err.Error()
		w.WriteHeader(http.StatusUnprocessableEntity)
	}
	_ = json.NewEncoder(w).Encode(out) // a caller that has gone needs no answer
}

func question(w http.ResponseWriter, r *http.Request) (a asked, err error) {
	unhurried(w)
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxDefinition)).Decode(&a); err != nil {
		return a, fault.Wrap(err, fault.Invalid, "The request cannot be read.")
	}
	return a, nil
}

func answers(do func(ctx context.Context, a asked) (told, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		a, err := question(w, r)
		var out told
		if err == nil {
			out, err = do(r.Context(), a)
		}
		answer(w, out, err)
	}
}

// streams answers with what is written. An error before the first byte is an
// answer of its own; a later one is in the trailer.
func streams(do func(ctx context.Context, a asked, w io.Writer) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		a, err := question(w, r)
		out := &counting{w: w}
		if err == nil {
			w.Header().Set("Trailer", endError)
			err = do(r.Context(), a, out)
		}
		if err == nil {
			return
		}
		if out.n == 0 {
			w.Header().Del("Trailer")
			answer(w, told{}, err)
			return
		}
		end, _ := json.Marshal(told{Code: fault.CodeOf(err), Error: err.Error()}) // strings alone
		w.Header().Set(endError, string(end))
	}
}

// counting counts what was written.
type counting struct {
	w io.Writer
	n int64
}

// Write implements io.Writer.
func (c *counting) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// controlImport takes an archive as the request's body.
func (s *Server) controlImport(w http.ResponseWriter, r *http.Request) {
	unhurried(w)
	var out told
	err := spooled(s.cfg.Settings.Data, r.Body, func(f io.ReaderAt, size int64) (err error) {
		out.Tenant, err = s.ImportTenant(r.Context(), f, size, r.URL.Query().Get("slug"))
		return err
	})
	answer(w, out, err)
}

// spooled keeps a stream in a file that nobody else can open and that is gone
// with the process.
func spooled(dir string, r io.Reader, use func(f io.ReaderAt, size int64) error) error {
	f, err := os.CreateTemp(dir, "import-*")
	if err != nil {
		return fmt.Errorf("keep the archive: %w", err)
	}
	defer func() { _ = f.Close() }()
	if err := os.Remove(f.Name()); err != nil {
		return fmt.Errorf("keep the archive: %w", err)
	}
	size, err := io.Copy(f, r)
	if err != nil {
		return fmt.Errorf("keep the archive: %w", err)
	}
	return use(f, size)
}

// Remote is the process that serves an embedded data directory, as commands see
// it. Its methods are those of a Server; they answer fault.Unavailable when
// nobody serves the directory.
type Remote struct {
	dir    string
	client *http.Client
}

// Reach finds the process that serves a data directory. Nothing is asked yet.
func Reach(dir string) *Remote {
	return &Remote{dir: dir, client: &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{Timeout: controlTime}).DialContext(ctx, "unix", filepath.Join(dir, controlSocket))
		},
	}}}
}

// reply is an answer that went well: what it says, and once all of that is read
// how it ended.
type reply struct {
	body io.Reader
	end  func() string
}

// post sends a request and hands its answer to read when it went well.
func (r *Remote) post(ctx context.Context, path string, body io.Reader, read func(a reply) error) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://ratiba"+path, body)
	if err != nil {
		return fmt.Errorf("ask the serving process: %w", err)
	}
	res, err := r.client.Do(req)
	if err != nil {
		return fault.Wrap(err, fault.Unavailable, "The process that uses "+r.dir+" does not answer commands.")
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode == http.StatusOK {
		return read(reply{res.Body, func() string { return res.Trailer.Get(endError) }})
	}
	var out told
	if err := json.NewDecoder(res.Body).Decode(&out); err != nil || out.Error == "" {
		return fmt.Errorf("the serving process answered %s", res.Status)
	}
	return fault.E(out.Code, out.Error)
}

func (r *Remote) ask(ctx context.Context, path string, a asked, read func(a reply) error) error {
	raw, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("encode request: %w", err)
	}
	return r.post(ctx, path, bytes.NewReader(raw), read)
}

// into reads an answer.
func into(out *told) func(a reply) error {
	return func(a reply) error {
		if err := json.NewDecoder(a.body).Decode(out); err != nil {
			return fmt.Errorf("read the serving process's answer: %w", err)
		}
		return nil
	}
}

// stream copies an answer that must come whole.
func stream(w io.Writer) func(a reply) error {
	return func(a reply) error {
		if _, err := io.Copy(w, a.body); err != nil {
			return fmt.Errorf("the serving process broke off: %w", err)
		}
		end := a.end()
		if end == "" {
			return nil
		}
		var out told
		if err := json.Unmarshal([]byte(end), &out); err != nil {
			return fmt.Errorf("read the serving process's answer: %w", err)
		}
		return fault.E(out.Code, out.Error)
	}
}

// ExportTenant is Server.ExportTenant.
func (r *Remote) ExportTenant(ctx context.Context, slug string, w io.Writer) error {
	return r.ask(ctx, "/tenants/export", asked{Slug: slug}, stream(w))
}

// ImportTenant is Server.ImportTenant.
func (r *Remote) ImportTenant(ctx context.Context, archive io.ReaderAt, size int64, slug string) (tenant.Tenant, error) {
	var out told
	err := r.post(ctx, "/tenants/import?slug="+url.QueryEscape(slug), io.NewSectionReader(archive, 0, size), into(&out))
	return out.Tenant, err
}

// Holdings is Server.Holdings.
func (r *Remote) Holdings(ctx context.Context, slug string) (store.Counts, error) {
	var out told
	err := r.ask(ctx, "/tenants/holdings", asked{Slug: slug}, into(&out))
	return out.Counts, err
}

// Operate is Server.Operate.
func (r *Remote) Operate(ctx context.Context, slug, operation string, args json.RawMessage) (json.RawMessage, error) {
	var out told
	err := r.ask(ctx, "/tenants/operate", asked{Slug: slug, Operation: operation, Args: args}, into(&out))
	return out.Answer, err
}

// ReconcileTenant is Server.ReconcileTenant.
func (r *Remote) ReconcileTenant(ctx context.Context, slug, day string, w io.Writer) error {
	return r.ask(ctx, "/tenants/reconcile", asked{Slug: slug, Day: day}, stream(w))
}

// DeleteTenant is Server.DeleteTenant.
func (r *Remote) DeleteTenant(ctx context.Context, slug string) error {
	return r.ask(ctx, "/tenants/delete", asked{Slug: slug}, into(&told{}))
}

// ExportPerson is Server.ExportPerson.
func (r *Remote) ExportPerson(ctx context.Context, slug string, who contact.Identity, w io.Writer) error {
	return r.ask(ctx, "/persons/export", asked{Slug: slug, Person: who}, stream(w))
}

// ErasePerson is Server.ErasePerson.
func (r *Remote) ErasePerson(ctx context.Context, slug string, who contact.Identity) (store.Erasure, error) {
	var out told
	err := r.ask(ctx, "/persons/erase", asked{Slug: slug, Person: who}, into(&out))
	return out.Erasure, err
}

// Stop gives the connection back; the process goes on.
func (r *Remote) Stop() error {
	r.client.CloseIdleConnections()
	return nil
}
