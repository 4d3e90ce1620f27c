package pesapal_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/money"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/payment/pesapal"
)

var noon = time.Date(2026, 4, 25, 9, 0, 0, 0, time.UTC)

const notify = "https://ratiba.example/webhooks/pesapal/ipn"

// server is a small fake: it hands out numbered tokens and answers by path.
type server struct {
	mu      sync.Mutex
	tokens  int
	refused string // a token that is refused
	answers map[string]string
	status  int // of the answers; 200 when zero
	hangUp  bool
	calls   []string
	last    map[string]any
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.HasSuffix(r.URL.Path, "/RequestToken") {
		s.tokens++
		_, _ = io.WriteString(w, `{"token":"t`+string(rune('0'+s.tokens))+`","expiryDate":"`+noon.Add(5*time.Minute).Format("2006-01-02T15:04:05.999Z")+`","error":null,"status":"200"}`)
		return
	}
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	s.calls = append(s.calls, token+" "+r.URL.Path)
	if token == s.refused {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	raw, _ := io.ReadAll(r.Body)
	if strings.HasSuffix(r.URL.Path, "/SubmitOrderRequest") || strings.HasSuffix(r.URL.Path, "/RefundRequest") {
		s.last = nil
		dec := json.NewDecoder(strings.NewReader(string(raw)))
		dec.UseNumber()
		_ = dec.Decode(&s.last)
		if s.hangUp {
			conn, _, _ := http.NewResponseController(w).Hijack()
			_ = conn.Close()
			return
		}
	}
	for path, answer := range s.answers {
		if strings.HasSuffix(r.URL.Path, path) {
			if s.status != 0 {
				w.WriteHeader(s.status)
			}
			_, _ = io.WriteString(w, answer)
			return
		}
	}
	w.WriteHeader(http.StatusNotFound)
}

const made = `{"order_tracking_id":"trk-1","merchant_reference":"RTB-spa-1","redirect_url":"http://pay.example/?OrderTrackingId=trk-1","error":null,"status":"200"}`

func setup(t *testing.T) (*pesapal.Client, *server, *clock.Fixed) {
	t.Helper()
	s := &server{answers: map[string]string{
		"/GetIpnList": `[{"url":"` + notify + `","ipn_id":"ipn-1","error":null,"status":"200"}]`, "/SubmitOrderRequest": made,
	}}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	clk := clock.NewFixed(noon)
	c, err := pesapal.New(pesapal.Config{BaseURL: srv.URL, ConsumerKey: "k", ConsumerSecret: "s", NotifyURL: notify, HTTPClient: srv.Client(), Clock: clk})
	if err != nil {
		t.Fatal(err)
	}
	return c, s, clk
}

var prompt = payment.Prompt{
	Amount: money.Amount{Minor: 150050, Currency: "KES"}, Reference: "RTB-spa-1", Phone: "+254711223344", Description: "Booking", ReturnURL: "https://ratiba.example/back",
}

func TestAnOrder(t *testing.T) {
	t.Parallel()
	c, s, _ := setup(t)
	got, err := c.Prompt(t.Context(), prompt)
	want := payment.Accepted{MerchantID: "RTB-spa-1", CheckoutID: "trk-1", Link: "http://pay.example/?OrderTrackingId=trk-1"}
	if err != nil || got != want {
		t.Fatalf("Prompt = %+v, %v", got, err)
	}
	body := map[string]any{
		"id": "RTB-spa-1", "currency": "KES", "amount": json.Number("1500.50"), "description": "Booking", "callback_url": "https://ratiba.example/back",
		"notification_id": "ipn-1", "billing_address": map[string]any{"phone_number": "254711223344"},
	}
	if diff := cmp.Diff(body, s.last); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestTheAddressForNotificationsIsRegisteredOnce(t *testing.T) {
	t.Parallel()
	c, s, _ := setup(t)
	s.answers["/GetIpnList"] = `[{"url":"https://other.example","ipn_id":"x"}]`
	s.answers["/RegisterIPN"] = `{"ipn_id":"ipn-9","error":null,"status":"200"}`
	for range 2 {
		if _, err := c.Prompt(t.Context(), prompt); err != nil {
			t.Fatal(err)
		}
	}
	registered := 0
	for _, call := range s.calls {
		if strings.HasSuffix(call, "/RegisterIPN") {
			registered++
		}
	}
	if registered != 1 || s.last["notification_id"] != "ipn-9" {
		t.Errorf("registered %d times, ordered with %v", registered, s.last["notification_id"])
	}
}

func TestATokenIsKeptAndRenewed(t *testing.T) {
	t.Parallel()
	c, s, clk := setup(t)
	s.answers["/GetTransactionStatus"] = `{"status_code":0,"payment_status_description":"INVALID","merchant_reference":"RTB-spa-1","status":"200"}`
	ask := func() {
		t.Helper()
		if o, err := c.Query(t.Context(), "trk-1"); err != nil || o.Kind != payment.Pending {
			t.Fatalf("Query = %+v, %v", o, err)
		}
	}
	ask()
	ask()
	if s.tokens != 1 {
		t.Fatalf("%d tokens were fetched for two queries", s.tokens)
	}
	s.refused = "t1"
	ask()
	if s.tokens != 2 {
		t.Fatalf("%d tokens after one was refused", s.tokens)
	}
	clk.Add(4*time.Minute + 31*time.Second)
	ask()
	if s.tokens != 3 {
		t.Errorf("%d tokens after one ran out", s.tokens)
	}
}

func TestWhatCannotBeOrderedIsRejected(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		name      string
		change    func(*payment.Prompt, *server)
		code      string
		transient bool
	}{
		{"a reference too long", func(p *payment.Prompt, _ *server) { p.Reference = strings.Repeat("x", 51) }, "limit", false},
		{"no phone", func(p *payment.Prompt, _ *server) { p.Phone = "" }, "limit", false},
		{"nothing to pay", func(p *payment.Prompt, _ *server) { p.Amount.Minor = 0 }, "limit", false},
		{"an error with HTTP 200", func(_ *payment.Prompt, s *server) {
			s.answers["/SubmitOrderRequest"] = `{"error":{"type":"t","code":"duplicate","message":"Duplicate"},"status":"500"}`
		}, "duplicate", false},
		{"a fault of theirs", func(_ *payment.Prompt, s *server) { s.status = 500 }, "HTTP 500", true},
		{"an answer that is lost: nobody has the link", func(_ *payment.Prompt, s *server) { s.hangUp = true }, "lost", true},
		{"an answer about another order", func(_ *payment.Prompt, s *server) {
			s.answers["/SubmitOrderRequest"] = strings.Replace(made, "RTB-spa-1", "RTB-spa-2", 1)
		}, "lost", true},
		{"a link nobody should follow", func(_ *payment.Prompt, s *server) {
			s.answers["/SubmitOrderRequest"] = strings.Replace(made, "http://pay.example", "javascript:alert", 1)
		}, "lost", true},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			c, s, _ := setup(t)
			p := prompt
			r.change(&p, s)
			_, err := c.Prompt(t.Context(), p)
			refused, ok := errors.AsType[*payment.RejectedError](err)
			if !ok || refused.Code != r.code || refused.Transient != r.transient {
				t.Errorf("Prompt: %v (%+v), want %s, transient %v", err, refused, r.code, r.transient)
			}
		})
	}
}

func TestWhatAStatusMeans(t *testing.T) {
	t.Parallel()
	const full = `"amount":1500.5,"currency":"KES","confirmation_code":"P1","merchant_reference":"RTB-spa-1","status":"200","error":{"error_type":null,"code":null,"message":null}`
	paid := money.Amount{Minor: 150050, Currency: "KES"}
	for _, r := range []struct {
		name, answer string
		want         payment.Kind
		receipt      string
		amount       money.Amount
	}{
		{"completed", `{"status_code":1,"payment_status_description":"Completed",` + full + `}`, payment.Success, "P1", paid},
		{"completed, with the code as text", `{"status_code":"1",` + full + `}`, payment.Success, "P1", paid},
		{"completed, in capitals and without a code", `{"payment_status_description":"COMPLETED",` + full + `}`, payment.Success, "P1", paid},
		{"not paid yet", `{"status_code":0,"payment_status_description":"INVALID",` + full + `}`, payment.Pending, "", money.Amount{}},
		{"failed", `{"status_code":2,"payment_status_description":"Failed",` + full + `}`, payment.OtherFailure, "", money.Amount{}},
		{"reversed", `{"status_code":3,"payment_status_description":"Reversed",` + full + `}`, payment.Reversed, "P1", money.Amount{}},
		{"an amount that cannot be read is none", `{"status_code":1,` + strings.Replace(full, "1500.5", `"1,500"`, 1) + `}`, payment.Success, "P1", money.Amount{Currency: "KES"}},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			c, s, _ := setup(t)
			s.answers["/GetTransactionStatus"] = r.answer
			o, err := c.Query(t.Context(), "trk-1")
			if err != nil || o.Kind != r.want || o.Receipt != r.receipt || o.Amount != r.amount || o.MerchantID != "RTB-spa-1" {
				t.Errorf("Query = %+v, %v", o, err)
			}
		})
	}
	for _, answer := range []string{`{"status":"200"}`, `{}`, `nonsense`, `{"status_code":1,"error":{"code":"x"}}`, `{"status_code":1,"status":"500"}`} {
		c, s, _ := setup(t)
		s.answers["/GetTransactionStatus"] = answer
		if o, err := c.Query(t.Context(), "trk-1"); err == nil {
			t.Errorf("%s was read as %+v", answer, o)
		}
	}
}

func TestNotifications(t *testing.T) {
	t.Parallel()
	query := url.Values{"OrderTrackingId": {"trk"}, "OrderMerchantReference": {"RTB-spa-1"}, "OrderNotificationType": {"IPNCHANGE"}}
	want := pesapal.Notification{TrackingID: "trk", Reference: "RTB-spa-1", Type: "IPNCHANGE"}
	for name, try := range map[string]struct {
		query url.Values
		body  string
	}{
		"by address":  {query, ""},
		"by JSON":     {nil, `{"OrderTrackingId":"trk","OrderMerchantReference":"RTB-spa-1","OrderNotificationType":"IPNCHANGE"}`},
		"by a form":   {nil, query.Encode()},
		"with both":   {query, `{"OrderTrackingId":"other"}`},
		"with spaces": {nil, `{"OrderTrackingId":" trk ","OrderMerchantReference":"RTB-spa-1","OrderNotificationType":"IPNCHANGE"}`},
	} {
		if got, err := pesapal.ParseNotification(try.query, []byte(try.body)); err != nil || got != want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if ack := want.Acknowledge(200); ack.Status != 200 || ack.TrackingID != "trk" || ack.Type != "IPNCHANGE" {
		t.Errorf("acknowledged with %+v", ack)
	}
	for body, code := range map[string]fault.Code{
		"": fault.Invalid, "{}": fault.Invalid, "%zz": fault.Invalid, `{"OrderTrackingId":"x"}`: fault.Invalid, strings.Repeat("x", 5000): fault.TooLarge,
	} {
		if _, err := pesapal.ParseNotification(nil, []byte(body)); fault.CodeOf(err) != code {
			t.Errorf("%.20q: %v", body, err)
		}
	}
}

func FuzzNotification(f *testing.F) {
	f.Add("OrderTrackingId=a&OrderMerchantReference=b", `{"OrderTrackingId":"a"}`)
	f.Fuzz(func(t *testing.T, address, body string) {
		q, err := url.ParseQuery(address)
		if err != nil {
			return
		}
		n, err := pesapal.ParseNotification(q, []byte(body))
		if err == nil && (n.TrackingID == "" || n.Reference == "" || len(n.TrackingID) > 200) {
			t.Errorf("%q and %q gave %+v", address, body, n)
		}
	})
}
