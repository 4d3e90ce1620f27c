package page_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/sim/page"
	"github.com/ratiba/ratiba/internal/sim/page/pagetest"
)

// object is a JSON object of the face under /sim/.
type object = map[string]any

// fake is the JSON face the page talks to, without a product behind it: what
// a test tells it is what phones receive, and what the page posts it notes.
type fake struct {
	url    string
	server *httptest.Server
	clock  *clock.Fixed
	posted chan call // every POST, in order

	mu       sync.Mutex
	changed  chan struct{}
	seq      int
	received map[string][]object // by phone
	sent     map[string][]object
	typing   map[string]bool
	prompts  []object
	events   []string
	refuse   map[string]string // path to the sentence it is refused with
}

type call struct {
	path string
	body object
}

// spa is the tenant the tests talk to.
const (
	spaNumber = "+254711000100"
	customer  = "+254700000001"
	manager   = "+254722000111"
	noon      = "2026-03-14T09:04:10Z" // 12:04 in Nairobi
)

func startFake(t *testing.T) *fake {
	t.Helper()
	base, err := time.Parse(time.RFC3339, noon)
	if err != nil {
		t.Fatalf("parse noon: %v", err)
	}
	f := &fake{
		clock: clock.NewFixed(base), posted: make(chan call, 100), changed: make(chan struct{}),
		received: map[string][]object{}, sent: map[string][]object{}, typing: map[string]bool{}, refuse: map[string]string{},
	}
	mux := http.NewServeMux()
	mux.Handle("/", page.Handler())
	mux.HandleFunc("GET /sim/tenants", f.tenants)
	mux.HandleFunc("GET /sim/clock", f.now)
	mux.HandleFunc("GET /sim/events", f.stream)
	mux.HandleFunc("GET /sim/whatsapp/messages", f.messages)
	mux.HandleFunc("GET /sim/whatsapp/state", f.state)
	mux.HandleFunc("GET /sim/daraja/prompts", f.listPrompts)
	mux.HandleFunc("POST /sim/", f.post)
	f.server = httptest.NewServer(mux)
	f.url = f.server.URL
	t.Cleanup(func() { f.stop() })
	return f
}

// stop closes the listener first, or the page would connect anew in between.
func (f *fake) stop() {
	_ = f.server.Listener.Close() // Close below closes it again, and may.
	f.server.CloseClientConnections()
	f.server.Close()
}

// restart stops the server, forgets everything and starts again at the same
// address.
func (f *fake) restart(t *testing.T) {
	t.Helper()
	address, handler := f.server.Listener.Addr().String(), f.server.Config.Handler
	f.stop()
	f.mu.Lock()
	f.seq, f.events, f.prompts = 0, nil, nil
	clear(f.received)
	clear(f.sent)
	f.mu.Unlock()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatalf("listen again: %v", err)
	}
	f.server = &httptest.Server{Listener: listener, Config: &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}}
	f.server.Start()
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (f *fake) tenants(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, []object{
		{
			"slug": "amani-spa", "name": "Amani Spa", "vertical": "spa", "number": spaNumber,
			"admins": []object{{"name": "Wanjiku", "phone": manager}, {"name": "Brian", "phone": "+254722000112"}},
		},
		{
			"slug": "makao", "name": "Makao Lettings", "vertical": "lettings", "number": "+254711000200",
			"admins": []object{{"name": "Otieno", "phone": "+254722000221"}},
		},
		{"slug": "nyasi", "name": "Nyasi Lawn Care", "vertical": "lawn_care", "number": "+254711000300", "admins": []object{}},
	})
}

func (f *fake) now(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, object{"now": f.clock.Now()})
}

// wake tells everything that waits. Callers hold mu.
func (f *fake) wake() {
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *fake) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	for told := 0; ; {
		f.mu.Lock()
		lines, changed := f.events[told:], f.changed
		told = len(f.events)
		f.mu.Unlock()
		for _, line := range lines {
			_, _ = fmt.Fprintf(w, "data: %s\n\n", line)
		}
		_ = http.NewResponseController(w).Flush()
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

// emit puts an event on the stream.
func (f *fake) emit(event object) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if event["time"] == nil {
		event["time"] = f.clock.Now().Add(time.Duration(len(f.events)) * 7 * time.Millisecond)
	}
	line, _ := json.Marshal(event)
	f.events = append(f.events, string(line))
	f.wake()
}

func (f *fake) messages(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	after, _ := strconv.Atoi(query.Get("after"))
	wait, _ := strconv.Atoi(query.Get("wait"))
	timeout := time.After(time.Duration(wait) * time.Second)
	for {
		found := []object{}
		f.mu.Lock()
		for _, m := range f.received[query.Get("phone")] {
			if m["seq"].(int) > after && m["number"] == query.Get("number") {
				found = append(found, m)
			}
		}
		changed := f.changed
		f.mu.Unlock()
		if len(found) > 0 || wait == 0 {
			answer(w, http.StatusOK, found)
			return
		}
		select {
		case <-changed:
		case <-timeout:
			wait = 0
		case <-r.Context().Done():
			return
		}
	}
}

// deliver puts a message from the spa on a phone.
func (f *fake) deliver(phone string, m object) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seq++
	m["seq"], m["from"], m["number"] = f.seq, spaNumber, spaNumber
	if m["id"] == nil {
		m["id"] = fmt.Sprintf("wamid.in%d", f.seq)
	}
	if m["at"] == nil {
		m["at"] = f.clock.Now().Add(time.Duration(f.seq) * time.Second)
	}
	f.received[phone] = append(f.received[phone], m)
	f.typing[phone] = false
	f.wake()
}

func (f *fake) state(w http.ResponseWriter, r *http.Request) {
	phone := r.URL.Query().Get("phone")
	f.mu.Lock()
	defer f.mu.Unlock()
	out := object{"typing_until": nil, "read": []string{}, "sent": append([]object{}, f.sent[phone]...)}
	if f.typing[phone] {
		out["typing_until"] = f.clock.Now().Add(20 * time.Second)
	}
	answer(w, http.StatusOK, out)
}

func (f *fake) listPrompts(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	found := []object{}
	for _, p := range f.prompts {
		if p["phone"] == r.URL.Query().Get("phone") {
			found = append(found, p)
		}
	}
	answer(w, http.StatusOK, found)
}

// prompt shows a request for money on a phone.
func (f *fake) prompt(phone string, amount int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.prompts = append(f.prompts, object{
		"id": fmt.Sprintf("ws_CO_%d", amount), "phone": phone, "amount": amount, "business": "AMANI SPA",
		"reference": "RTB7K2M4Q9XC", "state": "waiting", "text": "",
	})
}

func (f *fake) post(w http.ResponseWriter, r *http.Request) {
	var body object
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		answer(w, http.StatusBadRequest, object{"error": object{"code": "invalid", "message": err.Error()}})
		return
	}
	f.posted <- call{path: r.URL.Path, body: body}
	f.mu.Lock()
	defer f.mu.Unlock()
	if sentence := f.refuse[r.URL.Path]; sentence != "" {
		answer(w, http.StatusConflict, object{"error": object{"code": "conflict", "message": sentence}})
		return
	}
	switch r.URL.Path {
	case "/sim/whatsapp/inbound":
		answer(w, http.StatusOK, f.take(body))
	case "/sim/daraja/pin":
		f.prompts = nil
		answer(w, http.StatusOK, object{"id": "ws_CO", "result_code": 0, "result_desc": "ok", "receipt": "TCE4R5T6Y7"})
	case "/sim/clock/advance":
		seconds, _ := body["seconds"].(float64)
		f.clock.Set(f.clock.Now().Add(time.Duration(seconds) * time.Second))
		answer(w, http.StatusOK, object{"now": f.clock.Now()})
	default:
		answer(w, http.StatusOK, object{"ok": true})
	}
}

// take notes what a phone sent. Callers hold mu.
func (f *fake) take(body object) object {
	f.seq++
	id := fmt.Sprintf("wamid.out%d", f.seq)
	text, _ := body["text"].(string)
	for _, kind := range []string{"button", "list"} {
		if choice, ok := body[kind].(object); ok {
			text, _ = choice["title"].(string)
		}
	}
	phone, _ := body["from"].(string)
	f.sent[phone] = append(f.sent[phone], object{
		"id": id, "at": f.clock.Now().Add(time.Duration(f.seq) * time.Second), "type": "text", "text": text,
		"number": spaNumber, "status": http.StatusOK, "read": false,
	})
	return object{"id": id, "status": http.StatusOK}
}

// readAll marks everything a phone sent as read by the business.
func (f *fake) readAll(phone string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.sent[phone] {
		m["read"] = true
	}
}

func (f *fake) setTyping(phone string, on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.typing[phone] = on
}

func (f *fake) refuseNext(path, sentence string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refuse[path] = sentence
}

// next returns the next POST to path, passing over others.
func (f *fake) next(t *testing.T, path string) object {
	t.Helper()
	for {
		select {
		case c := <-f.posted:
			if c.path == path {
				return c.body
			}
		case <-t.Context().Done():
			t.Fatalf("no POST to %s", path)
		case <-time.After(pagetest.Patience):
			t.Fatalf("no POST to %s within %s", path, pagetest.Patience)
		}
	}
}
