package mpesa_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/money"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/payment/mpesa"
)

// daraja is a small fake: it hands out numbered tokens and answers by script.
type daraja struct {
	t *testing.T

	mu      sync.Mutex
	tokens  int
	refuse  string // a token that is refused
	life    string // expires_in
	oauth   http.HandlerFunc
	answer  http.HandlerFunc
	bearers []string
	last    map[string]any
}

const pushed = `{"MerchantRequestID":"8841-200-1","CheckoutRequestID":"ws_CO_0903","ResponseCode":"0","ResponseDescription":"Accepted"}`

func (d *daraja) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.URL.Path == "/oauth/v1/generate" {
		d.grant(w, r)
		return
	}
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	d.bearers = append(d.bearers, token)
	raw, _ := io.ReadAll(r.Body)
	d.last = map[string]any{"path": r.URL.Path}
	if err := json.Unmarshal(raw, &d.last); err != nil {
		d.t.Errorf("request is not JSON: %s", raw)
	}
	if token == d.refuse {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"requestId":"9","errorCode":"404.001.03","errorMessage":"Invalid Access Token"}`)
		return
	}
	d.answer(w, r)
}

func (d *daraja) grant(w http.ResponseWriter, r *http.Request) {
	if d.oauth != nil {
		d.oauth(w, r)
		return
	}
	user, pass, _ := r.BasicAuth()
	if user != "key" || pass != "secret" || r.URL.Query().Get("grant_type") != "client_credentials" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	d.tokens++
	_, _ = io.WriteString(w, `{"access_token":"tok-`+string(rune('0'+d.tokens))+`","expires_in":`+d.life+`}`)
}

type bundle struct {
	fake   *daraja
	clock  *clock.Fixed
	client *mpesa.Client
	server *httptest.Server
}

func setup(t *testing.T, change func(*mpesa.Config)) *bundle {
	t.Helper()
	d := &daraja{t: t, life: `"3599"`, answer: says(200, pushed)}
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	at := clock.NewFixed(time.Date(2026, 3, 9, 21, 5, 9, 0, time.UTC))
	cfg := mpesa.Config{
		BaseURL: server.URL + "/", Shortcode: "600999", Passkey: "pass", ConsumerKey: "key", ConsumerSecret: "secret",
		HTTPClient: server.Client(), Clock: at, Timeout: 5 * time.Second,
	}
	if change != nil {
		change(&cfg)
	}
	c, err := mpesa.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &bundle{fake: d, clock: at, client: c, server: server}
}

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func prompt() payment.Prompt {
	return payment.Prompt{
		Amount: money.Major(1500, "KES"), Phone: "+254711223344", Account: "SPA7QK2MXWTB",
		Description: "Deposit", CallbackURL: "https://ratiba.example/webhooks/daraja/s3cr3t",
	}
}
