// Package page is the laboratory's web page: the customer's phone, the
// admin's phone and the product's event log side by side, with the means to
// move the clock and to make the outside world fail. A second one, below slack/,
// is the channel in which people decide for models.
//
// It is files and nothing else: no build step, no script from elsewhere, no
// state on the server. The browser talks to the JSON face under /sim/ of the
// same origin. Every answer carries a content security policy that admits only
// this origin and no markup made from text, because what customers write is
// hostile. The package imports only the standard library.
package page

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed static
var files embed.FS

// policy lets the page load and call its own origin only. Trusted types are
// required and none is allowed, so assigning to innerHTML throws.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types 'none'"

// contentTypes are fixed here because mime.TypeByExtension asks the machine.
var contentTypes = map[string]string{ //nolint:gochecknoglobals // a constant table.
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// asset is one file, ready to be served.
type asset struct {
	body        string
	contentType string
	etag        string
}

// Handler serves the page at its root and what the page needs under assets/.
// Mounted below a prefix it needs http.StripPrefix and the trailing slash: the
// page names its assets relative to itself. It answers GET and HEAD, and
// everything it does not know with 404. Browsers may keep files but ask each
// time whether they changed. It is safe for concurrent use.
func Handler() http.Handler {
	assets := load(files)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setHeaders(w.Header())
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "This page is only read.", http.StatusMethodNotAllowed)
			return
		}
		name := strings.TrimPrefix(r.URL.Path, "/")
		if name == "" || strings.HasSuffix(name, "/") {
			name += "index.html"
		}
		a, ok := assets[name]
		if !ok {
			http.NotFound(w, r)
			return
		}
		serve(w, r, a)
	})
}

func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

func serve(w http.ResponseWriter, r *http.Request, a asset) {
	w.Header().Set("Content-Type", a.contentType)
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", a.etag)
	// ServeContent answers If-None-Match and HEAD.
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(a.body))
}

// load reads the embedded files. They are compiled in, so a fault here is a
// programmer's.
func load(embedded fs.FS) map[string]asset {
	assets := map[string]asset{}
	err := fs.WalkDir(embedded, "static", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		body, err := fs.ReadFile(embedded, name)
		if err != nil {
			return err
		}
		contentType, ok := contentTypes[path.Ext(name)]
		if !ok {
			panic("page: no content type for " + name)
		}
		sum := sha256.Sum256(body)
		assets[strings.TrimPrefix(name, "static/")] = asset{
			body:        string(body),
			contentType: contentType,
			etag:        `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`,
		}
		return nil
	})
	if err != nil {
		panic("page: read embedded files: " + err.Error())
	}
	return assets
}
