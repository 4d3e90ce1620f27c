package page_test

import (
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/ratiba/ratiba/internal/sim/page"
)

func get(t *testing.T, h http.Handler, method, target string, header http.Header) *http.Response {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), method, target, nil)
	maps.Copy(req.Header, header)
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, req)
	return rec.Result()
}

func TestHandlerServesFilesWithTheirTypes(t *testing.T) {
	t.Parallel()
	h := page.Handler()
	for target, want := range map[string]string{
		"/":                     "text/html; charset=utf-8",
		"/index.html":           "text/html; charset=utf-8",
		"/assets/app.js":        "text/javascript; charset=utf-8",
		"/assets/style.css":     "text/css; charset=utf-8",
		"/assets/wallpaper.svg": "image/svg+xml",
	} {
		res := get(t, h, http.MethodGet, target, nil)
		if res.StatusCode != http.StatusOK {
			t.Errorf("GET %s: got status %d, want 200", target, res.StatusCode)
		}
		if got := res.Header.Get("Content-Type"); got != want {
			t.Errorf("GET %s: got type %q, want %q", target, got, want)
		}
	}
}

func TestHandlerWorksBelowAPrefix(t *testing.T) {
	t.Parallel()
	h := http.StripPrefix("/phones", page.Handler())
	for _, target := range []string{"/phones/", "/phones/assets/app.js"} {
		if res := get(t, h, http.MethodGet, target, nil); res.StatusCode != http.StatusOK {
			t.Errorf("GET %s: got status %d, want 200", target, res.StatusCode)
		}
	}
}

func TestHandlerForbidsEverythingFromElsewhere(t *testing.T) {
	t.Parallel()
	h := page.Handler()
	for _, target := range []string{"/", "/assets/app.js", "/nowhere"} {
		res := get(t, h, http.MethodGet, target, nil)
		policy := res.Header.Get("Content-Security-Policy")
		for _, directive := range []string{
			"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'",
			"base-uri 'none'", "form-action 'none'", "require-trusted-types-for 'script'",
		} {
			if !strings.Contains(policy, directive) {
				t.Errorf("GET %s: policy %q lacks %q", target, policy, directive)
			}
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") || strings.Contains(policy, "data:") {
			t.Errorf("GET %s: policy %q admits more than this origin", target, policy)
		}
		if got := res.Header.Get("X-Content-Type-Options"); got != "nosniff" {
			t.Errorf("GET %s: got X-Content-Type-Options %q, want nosniff", target, got)
		}
	}
}

func TestHandlerAnswersWhatItDoesNotKnowWith404(t *testing.T) {
	t.Parallel()
	h := page.Handler()
	for _, target := range []string{"/assets/", "/assets/none.js", "/static/index.html", "/page.go", "/assets/../page.go"} {
		if res := get(t, h, http.MethodGet, target, nil); res.StatusCode != http.StatusNotFound {
			t.Errorf("GET %s: got status %d, want 404", target, res.StatusCode)
		}
	}
}

func TestHandlerIsOnlyRead(t *testing.T) {
	t.Parallel()
	res := get(t, page.Handler(), http.MethodPost, "/", nil)
	if res.StatusCode != http.StatusMethodNotAllowed || res.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST /: got status %d and Allow %q, want 405 and GET, HEAD", res.StatusCode, res.Header.Get("Allow"))
	}
	res = get(t, page.Handler(), http.MethodHead, "/", nil)
	if res.StatusCode != http.StatusOK || res.ContentLength == 0 {
		t.Errorf("HEAD /: got status %d and length %d, want 200 and a length", res.StatusCode, res.ContentLength)
	}
}

func TestHandlerLetsBrowsersAskWhetherAFileChanged(t *testing.T) {
	t.Parallel()
	h := page.Handler()
	res := get(t, h, http.MethodGet, "/assets/app.js", nil)
	tag := res.Header.Get("ETag")
	if tag == "" || res.Header.Get("Cache-Control") != "no-cache" {
		t.Fatalf("got ETag %q and Cache-Control %q, want a tag and no-cache", tag, res.Header.Get("Cache-Control"))
	}
	again := get(t, h, http.MethodGet, "/assets/app.js", http.Header{"If-None-Match": {tag}})
	if again.StatusCode != http.StatusNotModified {
		t.Errorf("with the same tag: got status %d, want 304", again.StatusCode)
	}
	changed := get(t, h, http.MethodGet, "/assets/app.js", http.Header{"If-None-Match": {`"older"`}})
	if changed.StatusCode != http.StatusOK {
		t.Errorf("with another tag: got status %d, want 200", changed.StatusCode)
	}
}

// The page must not be able to do by accident what the policy forbids: no
// markup from text, no inline script or style, no address elsewhere.
func TestFilesHoldNothingThatRunsText(t *testing.T) {
	t.Parallel()
	forbidden := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|` +
		`\son[a-z]+="|\sstyle="|<script>|<style|javascript:|https?://`)
	allowed := regexp.MustCompile(`http://www\.w3\.org/2000/svg`)
	err := fs.WalkDir(os.DirFS("static"), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		body, err := os.ReadFile("static/" + name)
		if err != nil {
			return err
		}
		text := allowed.ReplaceAllString(string(body), "")
		if found := forbidden.FindString(text); found != "" {
			t.Errorf("%s holds %q", name, found)
		}
		if lines := strings.Count(text, "\n"); strings.HasSuffix(name, ".js") && lines >= 400 {
			t.Errorf("%s has %d lines, want fewer than 400", name, lines)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("read files: %v", err)
	}
}
