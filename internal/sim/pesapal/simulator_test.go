package pesapal_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/sim/courier"
	"github.com/ratiba/ratiba/internal/sim/journal"
	"github.com/ratiba/ratiba/internal/sim/pesapal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 4, 25, 9, 0, 0, 0, time.UTC)

type object = map[string]any

// bundle is a simulator served over HTTP and a product that is notified.
type bundle struct {
	t       *testing.T
	clock   *clock.Fixed
	server  *httptest.Server
	product *httptest.Server
	told    chan url.Values
	deaf    atomic.Int32 // notifications that are not acknowledged
	token   string
	ipn     string
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{t: t, clock: clock.NewFixed(noon), told: make(chan url.Values, 100)}
	b.product = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		b.told <- q
		if b.deaf.Add(-1) >= 0 {
			_, _ = io.WriteString(w, "ok") // no acknowledgement
			return
		}
		_ = json.NewEncoder(w).Encode(object{
			"orderNotificationType": q.Get("OrderNotificationType"), "orderTrackingId": q.Get("OrderTrackingId"), "status": 200,
		})
	}))
	post := courier.New(courier.Config{Backoff: time.Millisecond})
	sim, err := pesapal.New(pesapal.Config{
		Clock: b.clock, Courier: post, Journal: journal.New(b.clock, 0),
		Merchants: []pesapal.Merchant{{ConsumerKey: "key", ConsumerSecret: "secret", Name: "Kijani"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	sim.Routes(mux)
	b.server = httptest.NewServer(mux)
	t.Cleanup(func() { b.server.Close(); post.Stop(); b.product.Close() })
	b.login()
	_, reg := b.call(http.MethodPost, "/pesapal/api/URLSetup/RegisterIPN", object{"url": b.product.URL + "/ipn", "ipn_notification_type": "GET"})
	b.ipn, _ = reg["ipn_id"].(string)
	return b
}

func (b *bundle) login() {
	b.t.Helper()
	_, out := b.call(http.MethodPost, "/pesapal/api/Auth/RequestToken", object{"consumer_key": "key", "consumer_secret": "secret"})
	b.token, _ = out["token"].(string)
	if out["status"] != "200" || b.token == "" || out["expiryDate"] != b.clock.Now().Add(5*time.Minute).Format("2006-01-02T15:04:05.000Z") {
		b.t.Fatalf("the token came as %v", out)
	}
}

func (b *bundle) call(method, path string, body any) (int, object) {
	b.t.Helper()
	raw, _ := json.Marshal(body)
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.server.URL+path, bytes.NewReader(raw))
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+b.token)
	resp, err := b.server.Client().Do(req)
	if err != nil {
		return 0, nil
	}
	defer func() { _ = resp.Body.Close() }()
	var out object
	_ = json.NewDecoder(resp.Body).Decode(&out) // a list and nothing stay nil
	return resp.StatusCode, out
}

func (b *bundle) order(id string) (int, object) {
	return b.call(http.MethodPost, "/pesapal/api/Transactions/SubmitOrderRequest", object{
		"id": id, "currency": "KES", "amount": 500.5, "description": "Booking", "callback_url": "https://shop.example/back",
		"notification_id": b.ipn, "billing_address": object{"phone_number": "0712345678"},
	})
}

func (b *bundle) status(id any) object {
	s, _ := id.(string)
	_, out := b.call(http.MethodGet, "/pesapal/api/Transactions/GetTransactionStatus?orderTrackingId="+url.QueryEscape(s), nil)
	return out
}

func TestAnOrderIsPaidOnItsPage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	code, made := b.order("RTB-1")
	link, _ := made["redirect_url"].(string)
	if code != http.StatusOK || made["merchant_reference"] != "RTB-1" || !strings.HasPrefix(link, b.server.URL+"/pesapal/pesapaliframe/") {
		t.Fatalf("order: %d %v", code, made)
	}
	if s := b.status(made["order_tracking_id"]); s["status_code"] != 0.0 || s["payment_status_description"] != "Invalid" || s["confirmation_code"] != "" {
		t.Errorf("before it is paid: %v", s)
	}
	client := b.server.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Get(link)
	if err != nil {
		t.Fatal(err)
	}
	html, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if !strings.Contains(string(html), "KES 500.5") || !strings.Contains(string(html), "Kijani") || resp.Header.Get("Content-Security-Policy") == "" {
		t.Errorf("page: %s", html)
	}
	form := url.Values{"OrderTrackingId": {made["order_tracking_id"].(string)}, "action": {"pay"}}
	resp, err = client.PostForm(link, form)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if back := resp.Header.Get("Location"); resp.StatusCode != http.StatusSeeOther || !strings.HasPrefix(back, "https://shop.example/back?") || !strings.Contains(back, "CALLBACKURL") {
		t.Errorf("the payer is sent %d to %q", resp.StatusCode, back)
	}
	if q := <-b.told; q.Get("OrderNotificationType") != "IPNCHANGE" || q.Get("OrderMerchantReference") != "RTB-1" || len(q) != 3 {
		t.Errorf("notified with %v", q)
	}
	if s := b.status(made["order_tracking_id"]); s["status_code"] != 1.0 || s["payment_status_description"] != "Completed" || s["amount"] != 500.5 || s["confirmation_code"] == "" {
		t.Errorf("after it was paid: %v", s)
	}
}

func TestANotificationIsRepeatedUntilItIsAcknowledged(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.deaf.Store(2)
	_, _ = b.order("RTB-1")
	if code, out := b.call(http.MethodPost, "/sim/pesapal/pay", object{"phone": "+254712345678"}); code != http.StatusOK || out["state"] != "COMPLETED" {
		t.Fatalf("pay: %d %v", code, out)
	}
	for range 3 {
		<-b.told
	}
	if code, _ := b.call(http.MethodPost, "/sim/pesapal/pay", object{"phone": "+254712345678"}); code != http.StatusConflict {
		t.Errorf("an order was paid twice: %d", code)
	}
}

func TestWhatTheRealOneRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if code, _ := b.order("RTB-1"); code != http.StatusOK {
		t.Fatal(code)
	}
	for name, try := range map[string]object{
		"a reference used before": {"id": "RTB-1"}, "a long reference": {"id": strings.Repeat("x", 51)}, "no amount": {"amount": 0},
		"an unknown address": {"notification_id": "x"}, "no payer": {"billing_address": object{}},
	} {
		body := object{
			"id": "RTB-" + name, "currency": "KES", "amount": 5, "description": "d", "callback_url": "https://shop.example", "notification_id": b.ipn,
			"billing_address": object{"phone_number": "1"},
		}
		maps.Copy(body, try)
		if code, out := b.call(http.MethodPost, "/pesapal/api/Transactions/SubmitOrderRequest", body); code != http.StatusBadRequest || out["error"] == nil {
			t.Errorf("%s: %d %v", name, code, out)
		}
	}
	b.clock.Add(5 * time.Minute)
	if code, _ := b.order("RTB-2"); code != http.StatusUnauthorized {
		t.Errorf("a token of five minutes ago: %d", code)
	}
	b.login()
	if code, _ := b.order("RTB-2"); code != http.StatusOK {
		t.Errorf("with a new token: %d", code)
	}
}

func TestRefundsAreOnePerPayment(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.call(http.MethodPost, "/sim/pesapal/next", object{"refund": "hold"})
	_, made := b.order("RTB-1")
	_, paid := b.call(http.MethodPost, "/sim/pesapal/pay", object{"tracking_id": made["order_tracking_id"]})
	<-b.told
	ask := func(amount string) object {
		_, out := b.call(http.MethodPost, "/pesapal/api/Transactions/RefundRequest", object{
			"confirmation_code": paid["receipt"], "amount": amount, "username": "Ratiba", "remarks": "cancelled",
		})
		return out
	}
	if out := ask("501"); out["status"] != "500" {
		t.Errorf("more than was paid: %v", out)
	}
	if out := ask("500.50"); out["status"] != "200" {
		t.Errorf("refund: %v", out)
	}
	if out := ask("500.50"); out["status"] != "500" {
		t.Errorf("a second refund: %v", out)
	}
	if s := b.status(made["order_tracking_id"]); s["status_code"] != 1.0 {
		t.Errorf("while it waits: %v", s)
	}
	if code, _ := b.call(http.MethodPost, "/sim/pesapal/refund", object{"tracking_id": made["order_tracking_id"]}); code != http.StatusOK {
		t.Errorf("approve: %d", code)
	}
	<-b.told
	if s := b.status(made["order_tracking_id"]); s["status_code"] != 3.0 || s["payment_status_description"] != "Reversed" {
		t.Errorf("afterwards: %v", s)
	}
}

func TestProgramsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, bad := range []object{
		{"outcome": "paid"}, {"then": "REVERSED"}, {"submit": "418"}, {"query": "lose"}, {"amount": "-1"}, {"delay_ms": -1}, {"notifications": -1}, {"refund": "maybe"},
	} {
		if code, _ := b.call(http.MethodPost, "/sim/pesapal/next", bad); code != http.StatusBadRequest {
			t.Errorf("%v: %d", bad, code)
		}
	}
}
