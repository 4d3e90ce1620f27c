package whatsapp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/sim/courier"
	"github.com/ratiba/ratiba/internal/sim/journal"
	"github.com/ratiba/ratiba/internal/sim/whatsapp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	spaID    = "900000000000001"
	spaPhone = "254711000001"
	spaToken = "token-of-the-spa"
	spaKey   = "app-secret"
	jane     = "+254700000101"
)

var noon = time.Date(2026, 4, 25, 9, 0, 0, 0, time.UTC)

// hook is one webhook the product got.
type hook struct {
	path   string
	header http.Header
	body   []byte
}

// product is a fake of the product's webhook: it answers what it is told to.
type product struct {
	server *httptest.Server
	hooks  chan hook

	mu     sync.Mutex
	answer func(hook) int
}

func newProduct(t *testing.T) *product {
	t.Helper()
	p := &product{hooks: make(chan hook, 1000)}
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, r.URL.Query().Get("hub.challenge"))
			return
		}
		body, _ := io.ReadAll(r.Body)
		h := hook{path: r.URL.Path, header: r.Header.Clone(), body: body}
		p.mu.Lock()
		answer := p.answer
		p.mu.Unlock()
		status := http.StatusOK
		if answer != nil {
			status = answer(h)
		}
		p.hooks <- h
		w.WriteHeader(status)
	}))
	t.Cleanup(p.server.Close)
	return p
}

func (p *product) answers(f func(hook) int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = f
}

// next returns the next webhook, decoded down to its value.
func (p *product) next(t *testing.T) (hook, value) {
	t.Helper()
	select {
	case h := <-p.hooks:
		var e struct {
			Object string `json:"object"`
			Entry  []struct {
				ID      string `json:"id"`
				Changes []struct {
					Field string `json:"field"`
					Value value  `json:"value"`
				} `json:"changes"`
			} `json:"entry"`
		}
		if err := json.Unmarshal(h.body, &e); err != nil {
			t.Fatalf("webhook is not JSON: %v", err)
		}
		if e.Object != "whatsapp_business_account" || len(e.Entry) != 1 || len(e.Entry[0].Changes) != 1 {
			t.Fatalf("unexpected envelope: %s", h.body)
		}
		return h, e.Entry[0].Changes[0].Value
	case <-t.Context().Done():
		t.Fatal("no webhook came")
	case <-time.After(10 * time.Second):
		t.Fatal("no webhook within ten seconds")
	}
	return hook{}, value{}
}

type value struct {
	Product  string `json:"messaging_product"`
	Metadata struct {
		Display string `json:"display_phone_number"`
		ID      string `json:"phone_number_id"`
	} `json:"metadata"`
	Contacts []map[string]any `json:"contacts"`
	Messages []map[string]any `json:"messages"`
	Statuses []status         `json:"statuses"`
}

type status struct {
	ID        string           `json:"id"`
	Status    string           `json:"status"`
	Timestamp string           `json:"timestamp"`
	Recipient string           `json:"recipient_id"`
	UserID    string           `json:"recipient_user_id"`
	Opaque    string           `json:"biz_opaque_callback_data"`
	Errors    []map[string]any `json:"errors"`
	Pricing   map[string]any   `json:"pricing"`
}

// bundle is a simulator served over HTTP and the product it talks to.
type bundle struct {
	t       *testing.T
	sim     *whatsapp.Simulator
	clock   *clock.Fixed
	real    *clock.Fixed
	journal *journal.Journal
	server  *httptest.Server
	product *product
}

func setup(t *testing.T, change ...func(*whatsapp.Config)) *bundle {
	t.Helper()
	b := &bundle{t: t, clock: clock.NewFixed(noon), real: clock.NewFixed(noon), product: newProduct(t)}
	b.journal = journal.New(b.clock, 0)
	post := courier.New(courier.Config{Backoff: time.Millisecond})
	cfg := whatsapp.Config{
		Clock: b.clock, Real: b.real, Courier: post, Journal: b.journal, StatusDelay: time.Millisecond,
		Numbers: []whatsapp.Number{{
			PhoneNumberID: spaID, DisplayPhone: "+" + spaPhone, AccessToken: spaToken, AppSecret: spaKey,
			WebhookURL: b.product.server.URL + "/webhooks/whatsapp", VerifyToken: "verify-me",
		}},
		Templates: []whatsapp.Template{{
			Name: "handoff_brief", Language: "en", Params: 2, Buttons: 1,
			Body: "{{1}} asks for help: {{2}}", Titles: []string{"Show"},
		}},
	}
	for _, f := range change {
		f(&cfg)
	}
	sim, err := whatsapp.New(cfg)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	b.sim = sim
	mux := http.NewServeMux()
	sim.Routes(mux)
	b.server = httptest.NewServer(mux)
	t.Cleanup(func() {
		b.server.Close()
		post.Stop()
	})
	return b
}

// do calls the simulator and decodes the answer into out, if out is not nil.
func (b *bundle) do(method, path string, header http.Header, body, out any) int {
	b.t.Helper()
	var raw []byte
	switch v := body.(type) {
	case nil:
	case []byte:
		raw = v
	case string:
		raw = []byte(v)
	default:
		raw, _ = json.Marshal(v)
	}
	req, err := http.NewRequestWithContext(context.WithoutCancel(b.t.Context()), method, b.server.URL+path, bytes.NewReader(raw))
	if err != nil {
		b.t.Fatalf("request: %v", err)
	}
	maps.Copy(req.Header, header)
	resp, err := b.server.Client().Do(req)
	if err != nil {
		b.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatalf("read answer: %v", err)
	}
	if out != nil {
		if err := json.Unmarshal(got, out); err != nil {
			b.t.Fatalf("%s %s answered %d %s: %v", method, path, resp.StatusCode, got, err)
		}
	}
	return resp.StatusCode
}

func auth() http.Header { return http.Header{"Authorization": {"Bearer " + spaToken}} }

type sendAnswer struct {
	Contacts []map[string]string `json:"contacts"`
	Messages []map[string]string `json:"messages"`
	Success  bool                `json:"success"`
	Error    struct {
		Message   string            `json:"message"`
		Type      string            `json:"type"`
		Code      int               `json:"code"`
		Subcode   int               `json:"error_subcode"`
		Transient bool              `json:"is_transient"`
		Data      map[string]string `json:"error_data"`
		Trace     string            `json:"fbtrace_id"`
	} `json:"error"`
}

type object = map[string]any

// send posts a message as the product does.
func (b *bundle) send(body any) (int, sendAnswer) {
	b.t.Helper()
	var out sendAnswer
	code := b.do(http.MethodPost, "/graph/v23.0/"+spaID+"/messages", auth(), body, &out)
	return code, out
}

func textTo(to, body string) object {
	return object{
		"messaging_product": "whatsapp", "recipient_type": "individual", "to": to,
		"type": "text", "text": object{"body": body},
	}
}

type inboundAnswer struct {
	ID     string `json:"id"`
	Status int    `json:"status"`
	Error  struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// write is somebody writing to the business.
func (b *bundle) write(body object) (int, inboundAnswer) {
	b.t.Helper()
	if _, ok := body["to"]; !ok {
		body["to"] = spaPhone
	}
	var out inboundAnswer
	code := b.do(http.MethodPost, "/sim/whatsapp/inbound", nil, body, &out)
	return code, out
}

// hello opens the window of jane's phone and swallows the webhook.
func (b *bundle) hello() string {
	b.t.Helper()
	code, out := b.write(object{"from": jane, "text": "Hi"})
	if code != http.StatusOK {
		b.t.Fatalf("inbound answered %d %+v", code, out)
	}
	b.product.next(b.t)
	return out.ID
}

func (b *bundle) messages(query url.Values) []whatsapp.Received {
	b.t.Helper()
	var out []whatsapp.Received
	if code := b.do(http.MethodGet, "/sim/whatsapp/messages?"+query.Encode(), nil, nil, &out); code != http.StatusOK {
		b.t.Fatalf("messages answered %d", code)
	}
	return out
}

// ok posts to the face and wants a success.
func (b *bundle) ok(path string, body any) {
	b.t.Helper()
	var out object
	if code := b.do(http.MethodPost, path, nil, body, &out); code != http.StatusOK {
		b.t.Fatalf("POST %s answered %d %v", path, code, out)
	}
}
