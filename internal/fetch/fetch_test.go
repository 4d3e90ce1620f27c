package fetch_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ratiba/ratiba/internal/fetch"
)

func server(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/ok", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Etag", `"1"`)
		if r.Header.Get("If-None-Match") == `"1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write([]byte("BEGIN"))
	})
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 2<<20+1)) })
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	mux.HandleFunc("/file", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

func TestGet(t *testing.T) {
	t.Parallel()
	at, c := server(t), fetch.New(true)
	body, tag, err := c.Get(t.Context(), at+"/ok", "")
	if err != nil || string(body) != "BEGIN" || tag != `"1"` {
		t.Fatalf("%q %q %v", body, tag, err)
	}
	if body, _, err = c.Get(t.Context(), at+"/ok", tag); err != nil || body != nil {
		t.Errorf("what has not changed: %q, %v", body, err)
	}
	for name, path := range map[string]string{"too large": "/large", "a loop": "/loop", "another scheme": "/file", "not there": "/gone"} {
		if _, _, err := c.Get(t.Context(), at+path, ""); err == nil || strings.Contains(err.Error(), "127.0.0.1") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whoever names an address does not reach this machine or its network by it.
func TestWhatIsNotReached(t *testing.T) {
	t.Parallel()
	c := fetch.New(false)
	for _, address := range []string{
		"http://example.com/x.ics", "ftp://example.com/x", "https://", "no address", "https://user:pass@example.com/x",
		"https://127.0.0.1:1/x", "https://localhost:1/x", "https://10.0.0.1:1/x", "https://192.168.1.1:1/x", "https://169.254.169.254/latest",
		"https://[::1]:1/x", "https://[fd00::1]:1/x", "https://[::ffff:127.0.0.1]:1/x", "https://100.64.0.1:1/x", "https://0.0.0.0:1/x",
		"https://[64:ff9b::7f00:1]:1/x",
	} {
		_, _, err := c.Get(t.Context(), address, "")
		if err == nil {
			t.Errorf("%s was reached", address)
			continue
		}
		if strings.HasPrefix(address, "https://1") && !strings.Contains(err.Error(), "network of its own") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
