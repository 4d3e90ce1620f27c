package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/tenant"
)

// One process owns an embedded data directory. What a command wants while that
// process serves goes to it by a socket in the directory, which only the
// directory's owner can open.
const (
	controlSocket = "control.sock"
	maxDefinition = 4 << 20
	controlTime   = 30 * time.Second
)

// ServeControl answers commands until the returned function is called, which
// waits for those under way.
func (s *Server) ServeControl(ctx context.Context) (stop func() error, err error) {
	if s.Shared() {
		// Commands use the database beside this process and need no door.
		return func() error { return nil }, nil
	}
	path := filepath.Join(s.cfg.Settings.Data, controlSocket)
	// The data directory's lock is ours, so a socket that is there is a dead one's.
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove old control socket: %w", err)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("open control socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("protect control socket: %w", err), l.Close())
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /tenants", s.controlApply)
	s.archiveRoutes(mux)
	s.queueRoutes(mux, func(h http.HandlerFunc) http.HandlerFunc { return h }) // who opens the socket may
	s.operatorRoutes(mux)
	s.taskControl(mux)
	s.toolRoutes(mux)
	srv := &http.Server{Handler: mux, ReadTimeout: controlTime, WriteTimeout: controlTime}
	s.tasks.Go(func() { _ = srv.Serve(l) })
	return func() error {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), controlTime)
		defer cancel()
		return srv.Shutdown(end)
	}, nil
}

// applied is the answer of the control socket.
type applied struct {
	Tenant tenant.Tenant `json:"tenant"`
	Code   fault.Code    `json:"code,omitempty"`
	Error  string        `json:"error,omitempty"`
}

func (s *Server) controlApply(w http.ResponseWriter, r *http.Request) {
	var t tenant.Tenant
	var out applied
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxDefinition)).Decode(&t)
	if err == nil {
		out.Tenant, err = s.Apply(r.Context(), t)
	}
	if err != nil {
		out.Code, out.Error = fault.CodeOf(err), err.Error()
		w.WriteHeader(http.StatusUnprocessableEntity)
	}
	_ = json.NewEncoder(w).Encode(out) // a caller that has gone needs no answer
}

// ApplyThrough has the process that serves a data directory apply a tenant's
// definition. It answers fault.Unavailable when nobody serves it.
func ApplyThrough(ctx context.Context, dir string, t tenant.Tenant) (tenant.Tenant, error) {
	client := &http.Client{Timeout: controlTime, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(dir, controlSocket))
		},
	}}
	defer client.CloseIdleConnections()
	raw, err := json.Marshal(t)
	if err != nil {
		return t, fmt.Errorf("encode definition: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://ratiba/tenants", bytes.NewReader(raw))
	if err != nil {
		return t, fmt.Errorf("ask the serving process: %w", err)
	}
	res, err := client.Do(req)
	if err != nil {
		return t, fault.Wrap(err, fault.Unavailable, "The process that uses "+dir+" does not answer commands.")
	}
	defer func() { _ = res.Body.Close() }()
	var out applied
	if err := json.NewDecoder(res.Body).Decode(&out); err != nil {
		return t, fmt.Errorf("read the serving process's answer: %w", err)
	}
	if out.Error != "" {
		return t, fault.E(out.Code, out.Error)
	}
	return out.Tenant, nil
}
