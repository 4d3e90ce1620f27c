package sim_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/sim"
	"github.com/ratiba/ratiba/internal/sim/journal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 4, 25, 9, 0, 0, 0, time.UTC)

type object = map[string]any

// bundle is a Sim served over HTTP.
type bundle struct {
	t      *testing.T
	sim    *sim.Sim
	server *httptest.Server
}

func setup(t *testing.T, cfg sim.Config) *bundle {
	t.Helper()
	s, err := sim.New(cfg)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	b := &bundle{t: t, sim: s, server: httptest.NewServer(s.Handler())}
	t.Cleanup(func() {
		s.Stop()
		b.server.Close()
	})
	return b
}

// do calls the simulator; the answer's body is decoded when it is JSON.
func (b *bundle) do(method, path, body string, header http.Header) (int, string, object) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(context.WithoutCancel(b.t.Context()), method, b.server.URL+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	maps.Copy(req.Header, header)
	resp, err := b.server.Client().Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	var out object
	_ = json.Unmarshal(raw, &out) // Lists and pages are read from the text.
	return resp.StatusCode, string(raw), out
}

func sentence(out object) string {
	e, _ := out["error"].(object)
	text, _ := e["message"].(string)
	return text
}

func TestTenantsCanBeSetLater(t *testing.T) {
	t.Parallel()
	b := setup(t, sim.Config{Clock: clock.NewFixed(noon)})
	if _, raw, _ := b.do(http.MethodGet, "/sim/tenants", "", nil); strings.TrimSpace(raw) != "[]" {
		t.Errorf("without tenants: %s", raw)
	}
	b.sim.SetTenants([]sim.Tenant{
		{Slug: "serenity", Name: "Serenity Spa", Vertical: "spa", Number: "+254711000001", Admins: []sim.Admin{{Name: "Grace", Phone: "+254722000001"}}},
		{Slug: "lawn", Name: "Lawn Care", Vertical: "lawn_care", Number: "+254711000002"},
	})
	want := `[{"slug":"serenity","name":"Serenity Spa","vertical":"spa","number":"+254711000001","admins":[{"name":"Grace","phone":"+254722000001"}]},` +
		`{"slug":"lawn","name":"Lawn Care","vertical":"lawn_care","number":"+254711000002","admins":[]}]`
	if _, raw, _ := b.do(http.MethodGet, "/sim/tenants", "", nil); strings.TrimSpace(raw) != want {
		t.Errorf("tenants\n%s\nwant\n%s", raw, want)
	}
	if _, raw, _ := b.do(http.MethodGet, "/sim/whatsapp/phones", "", nil); !strings.Contains(raw, `"Grace"`) {
		t.Errorf("the admin's phone has no name: %s", raw)
	}
}

func TestTheClockMovesThroughTheProduct(t *testing.T) {
	t.Parallel()
	base := clock.NewFixed(noon)
	moved := clock.NewMovable(base, 1)
	b := setup(t, sim.Config{
		Clock: moved, Real: base,
		Advance: func(_ context.Context, by time.Duration) error {
			if by > time.Hour {
				return fault.E(fault.Conflict, "Not that far.")
			}
			moved.SetForward(moved.Now().Add(by))
			return nil
		},
	})
	if _, _, out := b.do(http.MethodGet, "/sim/clock", "", nil); !cmp.Equal(out, object{"now": "2026-04-25T09:00:00Z", "offset_seconds": 0.0}) {
		t.Errorf("the clock is %v", out)
	}
	if _, _, out := b.do(http.MethodPost, "/sim/clock/advance", `{"seconds":120}`, nil); !cmp.Equal(out, object{"now": "2026-04-25T09:02:00Z", "offset_seconds": 120.0}) {
		t.Errorf("after two minutes the clock is %v", out)
	}
	if code, _, out := b.do(http.MethodPost, "/sim/clock/advance", `{"seconds":7200}`, nil); code != http.StatusConflict || sentence(out) != "Not that far." {
		t.Errorf("the product's refusal came as %d %v", code, out)
	}
	for _, body := range []string{`{}`, `{"seconds":-1}`, `{"seconds":1e12}`, ``, `{"seconds":"x"}`} {
		if code, _, out := b.do(http.MethodPost, "/sim/clock/advance", body, nil); code != http.StatusBadRequest || sentence(out) == "" {
			t.Errorf("%s: %d %v, want 400 with a sentence", body, code, out)
		}
	}
}

func TestWhatIsNotThereIsRefusedWithASentence(t *testing.T) {
	t.Parallel()
	b := setup(t, sim.Config{Clock: clock.NewFixed(noon)})
	for _, tt := range []struct {
		method, path, body string
		code               int
	}{
		{http.MethodPost, "/sim/clock/advance", `{"seconds":1}`, http.StatusConflict},
		{http.MethodGet, "/sim/events", "", http.StatusNotFound},
		{http.MethodGet, "/sim/nothing", "", http.StatusNotFound},
		{http.MethodGet, "/sim/journal?after=x", "", http.StatusBadRequest},
		{http.MethodGet, "/sim/journal?wait=x", "", http.StatusBadRequest},
		{http.MethodPost, "/sim/whatsapp/inbound", `{"from":"+254700000101","text":"x"}`, http.StatusConflict},
	} {
		if code, raw, out := b.do(tt.method, tt.path, tt.body, nil); code != tt.code || sentence(out) == "" {
			t.Errorf("%s %s: %d %s, want %d with a sentence", tt.method, tt.path, code, raw, tt.code)
		}
	}
}

func TestAPageOfAnotherSiteMayNotAct(t *testing.T) {
	t.Parallel()
	b := setup(t, sim.Config{Clock: clock.NewFixed(noon)})
	header := http.Header{"Sec-Fetch-Site": {"cross-site"}}
	if code, _, out := b.do(http.MethodPost, "/sim/clock/advance", `{"seconds":1}`, header); code != http.StatusForbidden || sentence(out) == "" {
		t.Errorf("answered %d %v, want 403", code, out)
	}
}

func TestPageAndModelAreMounted(t *testing.T) {
	t.Parallel()
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.Path) })
	b := setup(t, sim.Config{Clock: clock.NewFixed(noon), Page: echo, Model: echo})
	for path, want := range map[string]string{
		"/sim/": "/", "/sim/assets/app.js": "/assets/app.js",
		"/openai/v1/chat/completions": "/openai/v1/chat/completions", "/anthropic/v1/messages": "/anthropic/v1/messages", "/sim/llm/calls": "/sim/llm/calls",
	} {
		if _, raw, _ := b.do(http.MethodGet, path, "", nil); raw != want {
			t.Errorf("%s reached its handler as %q, want %q", path, raw, want)
		}
	}
}

func TestEventsAreStreamed(t *testing.T) {
	t.Parallel()
	lines := make(chan []byte, 2)
	b := setup(t, sim.Config{Clock: clock.NewFixed(noon), Events: func(context.Context) <-chan []byte { return lines }})
	resp, err := b.server.Client().Get(b.server.URL + "/sim/events")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("content type %q", got)
	}
	lines <- []byte(`{"event_type":"turn.committed"}` + "\n")
	lines <- []byte(`{"event_type":"tool.invoked"}`)
	scanner := bufio.NewScanner(resp.Body)
	var got []string
	for len(got) < 2 && scanner.Scan() {
		if data, ok := strings.CutPrefix(scanner.Text(), "data: "); ok {
			got = append(got, data)
		}
	}
	if diff := cmp.Diff([]string{`{"event_type":"turn.committed"}`, `{"event_type":"tool.invoked"}`}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	b.sim.Stop()
	if scanner.Scan(); scanner.Err() != nil && !errors.Is(scanner.Err(), io.ErrUnexpectedEOF) {
		t.Errorf("the stream ended with %v", scanner.Err())
	}
}

func TestStopEndsLongPolls(t *testing.T) {
	t.Parallel()
	b := setup(t, sim.Config{Clock: clock.NewFixed(noon)})
	ended := make(chan string)
	for _, path := range []string{"/sim/journal?wait=60", "/sim/whatsapp/messages?phone=254700000101&wait=60"} {
		go func() {
			_, raw, _ := b.do(http.MethodGet, path, "", nil)
			ended <- strings.TrimSpace(raw)
		}()
	}
	b.sim.Stop()
	for range 2 {
		select {
		case got := <-ended:
			if got != "[]" {
				t.Errorf("a long poll ended with %s", got)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("a long poll went on")
		}
	}
	if err := b.sim.Start(t.Context()); fault.CodeOf(err) != fault.Conflict {
		t.Errorf("starting again gave %v, want a conflict", err)
	}
}

func TestAPromptEndsWhenTheProductsClockHasMoved(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	product := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		got <- string(raw)
	}))
	defer product.Close()
	c := clock.NewFixed(noon)
	b := setup(t, sim.Config{Clock: c, Real: c, MpesaShortcodes: []sim.Shortcode{{
		Shortcode: "600981", Passkey: "p", ConsumerKey: "k", ConsumerSecret: "s",
	}}})
	if err := b.sim.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	basic := http.Header{"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte("k:s"))}}
	_, _, token := b.do(http.MethodGet, "/daraja/oauth/v1/generate?grant_type=client_credentials", "", basic)
	text, _ := token["access_token"].(string)
	body, _ := json.Marshal(object{
		"BusinessShortCode": "600981", "Timestamp": "20260425120000",
		"Password":        base64.StdEncoding.EncodeToString([]byte("600981p20260425120000")),
		"TransactionType": "CustomerPayBillOnline", "Amount": 1, "PartyA": "254700000101", "PartyB": "600981",
		"PhoneNumber": "254700000101", "CallBackURL": product.URL, "AccountReference": "A", "TransactionDesc": "B",
	})
	code, raw, _ := b.do(http.MethodPost, "/daraja/mpesa/stkpush/v1/processrequest", string(body), http.Header{"Authorization": {"Bearer " + text}})
	if code != http.StatusOK {
		t.Fatalf("push answered %d %s", code, raw)
	}
	c.Add(time.Minute)
	select {
	case callback := <-got:
		if !strings.Contains(callback, `"ResultCode":1037`) {
			t.Errorf("callback %s, want 1037", callback)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("no callback came")
	}
	var kinds []journal.Kind
	for _, e := range b.sim.Journal(0) {
		kinds = append(kinds, e.Kind)
	}
	if len(kinds) < 2 || kinds[0] != journal.PushAccepted || kinds[1] != journal.PromptEnded {
		t.Errorf("journal %v", kinds)
	}
	if _, raw, _ := b.do(http.MethodGet, "/sim/journal?kind=push.&after=0", "", nil); !strings.Contains(raw, `"push.accepted"`) || strings.Contains(raw, `"prompt.ended"`) {
		t.Errorf("the journal served %s", raw)
	}
}

func TestFaultsOfTheConfigurationAreNamed(t *testing.T) {
	t.Parallel()
	if _, err := sim.New(sim.Config{}); err == nil || !strings.Contains(err.Error(), "Clock") {
		t.Errorf("without a clock: %v", err)
	}
	_, err := sim.New(sim.Config{
		Clock: clock.NewFixed(noon), Numbers: []sim.Number{{}}, MpesaShortcodes: []sim.Shortcode{{Shortcode: "x"}},
	})
	if err == nil || !strings.Contains(err.Error(), "number 1") || !strings.Contains(err.Error(), "shortcode 1") {
		t.Errorf("with two faults: %v", err)
	}
	b := setup(t, sim.Config{Clock: clock.NewFixed(noon)})
	if err := errors.Join(b.sim.SetNumbers([]sim.Number{{}}), b.sim.SetMpesaShortcodes([]sim.Shortcode{{}})); err == nil ||
		!strings.Contains(err.Error(), "number 1") || !strings.Contains(err.Error(), "shortcode 1") {
		t.Errorf("set later: %v", err)
	}
}
