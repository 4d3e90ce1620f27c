package oracles_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/sim/model"
	"github.com/ratiba/ratiba/oracles"
)

const (
	openAIPath    = "github.com/openai/openai-go/v3"
	anthropicPath = "github.com/anthropics/anthropic-sdk-go"
)

// lab is the simulated vendors behind a server that keeps what went through it.
type lab struct {
	sim *model.Simulator
	url string

	mu        sync.Mutex
	exchanges []exchange
}

type exchange struct {
	path              string
	header            http.Header
	request, response []byte
	status            int
}

// saturday is the present of every lab.
var saturday = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

func newLab(t *testing.T) *lab {
	t.Helper()
	sim, err := model.New(model.Config{Clock: clock.NewFixed(saturday)})
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{sim: sim}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client has gone
		}
		r.Body = io.NopCloser(bytes.NewReader(request))
		tee := &tee{ResponseWriter: w, status: http.StatusOK}
		sim.ServeHTTP(tee, r)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.exchanges = append(l.exchanges, exchange{r.URL.Path, r.Header, request, tee.body.Bytes(), tee.status})
	}))
	t.Cleanup(srv.Close)
	l.url = srv.URL
	return l
}

type tee struct {
	http.ResponseWriter

	body   bytes.Buffer
	status int
}

func (t *tee) WriteHeader(status int) {
	t.status = status
	t.ResponseWriter.WriteHeader(status)
}

func (t *tee) Write(p []byte) (int, error) {
	t.body.Write(p)
	return t.ResponseWriter.Write(p)
}

// fail makes the next calls fail.
func (l *lab) fail(t *testing.T, f model.Fault) {
	t.Helper()
	if err := l.sim.Program(f); err != nil {
		t.Fatal(err)
	}
}

func (l *lab) seen() []exchange {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]exchange(nil), l.exchanges...)
}

// library opens a vendor's library once.
func library(importPath string) func() (*oracles.Library, error) {
	return sync.OnceValues(func() (*oracles.Library, error) {
		dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", importPath).Output()
		if err != nil {
			return nil, fmt.Errorf("find the source of %s: %w", importPath, err)
		}
		return oracles.Open(importPath, strings.TrimSpace(string(dir)))
	})
}

var openAILibrary, anthropicLibrary = library(openAIPath), library(anthropicPath)

// schema builds the schema of a library's type.
func schema[T any](t *testing.T, d oracles.Direction) *jsonschema.Schema {
	t.Helper()
	typ, open := reflect.TypeFor[T](), openAILibrary
	if strings.HasPrefix(typ.PkgPath(), anthropicPath) {
		open = anthropicLibrary
	}
	l, err := open()
	if err != nil {
		t.Fatal(err)
	}
	s, err := l.Schema(typ, d)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// intentSchema is a seam's answer with the bounds that one vendor takes and
// the other does not.
const intentSchema = `{"type":"object","additionalProperties":false,"required":["reasoning","intent","confidence"],
"properties":{"reasoning":{"type":"string"},"intent":{"type":"string","enum":["book","cancel","question","unknown"]},
"confidence":{"type":"number"}}}`

const intentPrompt = "Sort the message. Now: Saturday 2026-11-21 12:00\nServices:\n- Swedish massage\n"

func said(text string) string { return "<customer_message>\n" + text + "\n</customer_message>" }
