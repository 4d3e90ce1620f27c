package demo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/db/dbtest"
	"github.com/ratiba/ratiba/internal/demo"
)

// monday is when the stories begin: 9:30 in Nairobi.
var monday = time.Date(2026, 11, 23, 6, 30, 0, 0, time.UTC)

const (
	spa     = "+254711000001"
	wanjiku = "+254722000001"
)

// start runs a demo on a clock that stands still until it is advanced.
func start(t *testing.T, change ...func(*demo.Options)) *demo.Demo {
	t.Helper()
	quiet := time.Duration(0)
	opt := demo.Options{Addr: "127.0.0.1:0", Data: t.TempDir(), Clock: clock.NewFixed(monday), QuietTime: &quiet, Events: testLog{t}}
	if dbtest.Backend(t) == "postgres" {
		opt.Database = dbtest.Postgres(t)
	}
	for _, c := range change {
		c(&opt)
	}
	d, err := demo.Start(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return d
}

// testLog shows the warnings and errors of the event log with the test's output.
type testLog struct{ t *testing.T }

func (l testLog) Write(line []byte) (int, error) {
	if !bytes.Contains(line, []byte(`"level":"info"`)) && l.t.Context().Err() == nil {
		l.t.Logf("%s", bytes.TrimSpace(line))
	}
	return len(line), nil
}

// heard is a message a phone received.
type heard struct {
	Seq     int64  `json:"seq"`
	ID      string `json:"id"`
	Type    string `json:"type"`
	Text    string `json:"text"`
	Buttons []struct {
		ID    string `json:"id"`
		Title string `json:"title"`
	} `json:"buttons"`
	List []struct {
		Rows []struct {
			ID    string `json:"id"`
			Title string `json:"title"`
		} `json:"rows"`
	} `json:"list"`
	Template *struct {
		Name       string   `json:"name"`
		Parameters []string `json:"parameters"`
	} `json:"template"`
}

// choices lists what can be tapped, buttons or rows, as id and title.
func (h heard) choices() [][2]string {
	var out [][2]string
	for _, b := range h.Buttons {
		out = append(out, [2]string{b.ID, b.Title})
	}
	for _, s := range h.List {
		for _, r := range s.Rows {
			out = append(out, [2]string{r.ID, r.Title})
		}
	}
	return out
}

// phone is a person with a WhatsApp number.
type phone struct {
	t      *testing.T
	d      *demo.Demo
	number string
	to     string
	after  int64
	last   heard
}

func (w world) phone(number string) *phone {
	return &phone{t: w.t, d: w.Demo, number: number, to: spa}
}

// world is a demo in a test.
type world struct {
	*demo.Demo
	t *testing.T
}

func newWorld(t *testing.T, change ...func(*demo.Options)) world {
	t.Helper()
	return world{start(t, change...), t}
}

func (w world) post(path string, body any) (int, []byte) {
	w.t.Helper()
	return post(w.t, w.URL+path, body)
}

func post(tb testing.TB, address string, body any) (int, []byte) {
	tb.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		tb.Fatal(err)
	}
	req, err := http.NewRequestWithContext(tb.Context(), http.MethodPost, address, bytes.NewReader(raw))
	if err != nil {
		tb.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	return do(tb, req)
}

func get(tb testing.TB, address string, into any) {
	tb.Helper()
	req, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, address, nil)
	if err != nil {
		tb.Fatal(err)
	}
	status, raw := do(tb, req)
	if status != http.StatusOK {
		tb.Fatalf("GET %s: %d %s", address, status, raw)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		tb.Fatalf("GET %s: %v in %s", address, err, raw)
	}
}

func do(tb testing.TB, req *http.Request) (int, []byte) {
	tb.Helper()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return res.StatusCode, raw
}

// send posts an inbound message of any kind from this phone.
func (p *phone) send(fields map[string]any) {
	p.t.Helper()
	body := map[string]any{"from": p.number, "to": p.to}
	maps.Copy(body, fields)
	status, raw := post(p.t, p.d.URL+"/sim/whatsapp/inbound", body)
	if status/100 != 2 {
		p.t.Fatalf("inbound %v: %d %s", fields, status, raw)
	}
}

// say writes a text and returns the answer.
func (p *phone) say(text string) heard {
	p.t.Helper()
	p.send(map[string]any{"text": text})
	return p.hear()
}

// tap taps the first choice of the last message whose id or title begins so.
func (p *phone) tap(prefix string) heard {
	p.t.Helper()
	for _, c := range p.last.choices() {
		if strings.HasPrefix(c[0], prefix) || strings.HasPrefix(c[1], prefix) {
			kind := "button"
			if len(p.last.Buttons) == 0 {
				kind = "list"
			}
			p.send(map[string]any{kind: map[string]string{"id": c[0], "title": c[1]}, "reply_to": p.last.ID})
			return p.hear()
		}
	}
	p.t.Fatalf("nothing to tap begins with %q: %q offers %v", prefix, p.last.Text, p.last.choices())
	return heard{}
}

// hear waits for the next message.
func (p *phone) hear() heard {
	p.t.Helper()
	all := p.poll(10)
	if len(all) == 0 {
		p.t.Fatalf("%s hears nothing after %q", p.number, p.last.Text)
	}
	p.last = all[0]
	p.after = all[0].Seq
	p.t.Logf("%s hears: %s %v", p.number, p.last.Text, p.last.choices())
	return p.last
}

// quiet checks that nothing more was said once the product is idle.
func (p *phone) quiet() {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 10*time.Second)
	defer cancel()
	if err := p.d.Server.Idle(ctx); err != nil {
		p.t.Fatal(err)
	}
	for _, h := range p.poll(0) {
		p.t.Errorf("%s hears more than it should: %q", p.number, h.Text)
	}
}

func (p *phone) poll(wait int) []heard {
	p.t.Helper()
	var all []heard
	get(p.t, fmt.Sprintf("%s/sim/whatsapp/messages?phone=%s&number=%s&after=%d&wait=%d",
		p.d.URL, url.QueryEscape(p.number), url.QueryEscape(p.to), p.after, wait), &all)
	return all
}

// pin enters the M-Pesa PIN once the prompt is on the phone.
func (p *phone) pin(pin string) {
	p.t.Helper()
	p.prompt()
	if status, raw := post(p.t, p.d.URL+"/sim/daraja/pin", map[string]any{"phone": p.number, "pin": pin}); status/100 != 2 {
		p.t.Fatalf("pin: %d %s", status, raw)
	}
}

// decline presses cancel on the prompt.
func (p *phone) decline() {
	p.t.Helper()
	p.prompt()
	if status, raw := post(p.t, p.d.URL+"/sim/daraja/pin", map[string]any{"phone": p.number, "cancel": true}); status/100 != 2 {
		p.t.Fatalf("cancel: %d %s", status, raw)
	}
}

// prompt waits until a prompt is on the phone. The product sends it after the
// message that announces it, so it may lag by a moment.
func (p *phone) prompt() {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 10*time.Second)
	defer cancel()
	if err := p.d.Server.Idle(ctx); err != nil {
		p.t.Fatal(err)
	}
}

func mustSay(t *testing.T, h heard, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(strings.ToLower(h.Text), strings.ToLower(w)) {
			t.Errorf("%q does not say %q", h.Text, w)
		}
	}
}

func ctxIdle(t *testing.T, w world) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := w.Server.Idle(ctx); err != nil {
		t.Fatal(err)
	}
}

func getList(t *testing.T, address string, into any) {
	t.Helper()
	get(t, address, into)
}
