package server_test

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratiba/ratiba/internal/config"
	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/server"
	"github.com/ratiba/ratiba/internal/tenant"
)

// A stream that breaks off must not pass for a whole one, however it breaks.
func TestABrokenStreamIsTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", filepath.Join(dir, "control.sock"))
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /tenants/export", func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		w.Header().Set("Trailer", "Ratiba-Error")
		_, _ = io.WriteString(w, "half an arch")
		_ = http.NewResponseController(w).Flush()
		switch {
		case strings.Contains(string(raw), "trailer"):
			w.Header().Set("Ratiba-Error", `{"code":"unavailable","error":"the disk is full"}`)
		case strings.Contains(string(raw), "died"):
			panic(http.ErrAbortHandler)
		}
	})
	mux.HandleFunc("POST /tenants/delete", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "what?", http.StatusTeapot) })
	srv := &http.Server{Handler: mux, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })

	r := server.Reach(dir)
	var out bytes.Buffer
	if err := r.ExportTenant(t.Context(), "trailer", &out); fault.CodeOf(err) != fault.Unavailable || err.Error() != "the disk is full" {
		t.Errorf("an error after the first byte: got %v", err)
	}
	if err := r.ExportTenant(t.Context(), "died", &out); err == nil {
		t.Error("a process that died: want an error")
	}
	if err := r.ExportTenant(t.Context(), "whole", &out); err != nil {
		t.Errorf("a whole stream: %v", err)
	}
	if err := r.DeleteTenant(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), "418") {
		t.Errorf("an answer that is none: got %v", err)
	}
	nobody := server.Reach(t.TempDir())
	if err := nobody.DeleteTenant(t.Context(), "x"); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("nobody there: got %v", err)
	}
}

// What is refused is refused in the same words by the process itself and
// through its socket, and an import that could not be served is.
func TestTheSocketSaysWhatTheServerSays(t *testing.T) {
	t.Parallel()
	have := map[string]string{"DUKA_TOKEN": "a", "DUKA_SECRET": "b"}
	open := func() (*server.Server, string) {
		dir := t.TempDir()
		s, err := server.New(t.Context(), server.Config{
			Settings: config.Config{PublicURL: "http://127.0.0.1", Data: dir}, Logger: slog.New(slog.DiscardHandler),
			Secrets: func(name string) string { return have[name] },
		})
		if err != nil {
			t.Fatal(err)
		}
		stop, err := s.ServeControl(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = stop(); _ = s.Stop() })
		return s, dir
	}
	s, dir := open()
	def, err := tenant.Parse([]byte(shop))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), def); err != nil {
		t.Fatal(err)
	}
	r := server.Reach(dir)
	var archive bytes.Buffer
	if err := r.ExportTenant(t.Context(), "duka", &archive); err != nil {
		t.Fatal(err)
	}
	here, err := s.Holdings(t.Context(), "duka")
	if err != nil {
		t.Fatal(err)
	}
	if there, err := r.Holdings(t.Context(), "duka"); err != nil || there.String() != here.String() || here.Rows() == 0 {
		t.Errorf("holds %s here and %s there (%v)", here, there, err)
	}
	nobody := contact.Identity{Kind: contact.Phone, Value: "+254700000099"}
	_, local := s.ErasePerson(t.Context(), "duka", nobody)
	if _, err := r.ErasePerson(t.Context(), "duka", nobody); fault.CodeOf(err) != fault.NotFound || err.Error() != local.Error() {
		t.Errorf("erasing: %v here, %v there", local, err)
	}
	var out bytes.Buffer
	if err := r.ExportPerson(t.Context(), "duka", nobody, &out); fault.CodeOf(err) != fault.NotFound || out.Len() > 0 {
		t.Errorf("exporting nobody: %v and %d bytes", err, out.Len())
	}
	if err := r.DeleteTenant(t.Context(), "duka"); err != nil || len(s.Tenants()) != 0 {
		t.Errorf("deleting: %v, %d are served", err, len(s.Tenants()))
	}

	delete(have, "DUKA_TOKEN")
	_, err = r.ImportTenant(t.Context(), bytes.NewReader(archive.Bytes()), int64(archive.Len()), "")
	if fault.CodeOf(err) != fault.Invalid || !strings.Contains(err.Error(), "DUKA_TOKEN") {
		t.Errorf("importing without a secret: %v, want its name", err)
	}
	have["DUKA_TOKEN"] = "a"
	back, err := r.ImportTenant(t.Context(), bytes.NewReader(archive.Bytes()), int64(archive.Len()), "duka2")
	if err != nil || back.Slug != "duka2" || len(s.Tenants()) != 1 {
		t.Errorf("importing: %s, %v, %d are served", back.Slug, err, len(s.Tenants()))
	}
}
