package daraja_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/sim/courier"
	"github.com/ratiba/ratiba/internal/sim/daraja"
	"github.com/ratiba/ratiba/internal/sim/journal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	shortcode = "600981"
	passkey   = "a-passkey-of-the-laboratory"
	phone     = "254700000101"
)

var noon = time.Date(2026, 4, 25, 9, 0, 0, 0, time.UTC)

type object = map[string]any

// bundle is a simulator served over HTTP and a product that takes callbacks.
type bundle struct {
	t         *testing.T
	sim       *daraja.Simulator
	clock     *clock.Fixed
	journal   *journal.Journal
	server    *httptest.Server
	product   *httptest.Server
	callbacks chan []byte
	token     string
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{t: t, clock: clock.NewFixed(noon), callbacks: make(chan []byte, 100)}
	b.product = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		b.callbacks <- body
		w.WriteHeader(http.StatusOK)
	}))
	b.journal = journal.New(b.clock, 0)
	post := courier.New(courier.Config{Backoff: time.Millisecond})
	sim, err := daraja.New(daraja.Config{
		Clock: b.clock, Real: b.clock, Courier: post, Journal: b.journal,
		Shortcodes: []daraja.Shortcode{{
			Shortcode: shortcode, Passkey: passkey, ConsumerKey: "key", ConsumerSecret: "secret", Name: "Serenity Spa",
		}},
	})
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
		b.product.Close()
	})
	b.login()
	return b
}

// login fetches a token as the product does.
func (b *bundle) login() {
	b.t.Helper()
	req, _ := http.NewRequestWithContext(context.WithoutCancel(b.t.Context()), http.MethodGet,
		b.server.URL+"/daraja/oauth/v1/generate?grant_type=client_credentials", nil)
	req.SetBasicAuth("key", "secret")
	resp, err := b.server.Client().Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var out map[string]string
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil || out["expires_in"] != "3599" || out["access_token"] == "" {
		b.t.Fatalf("the token came as %v, %v", out, err)
	}
	b.token = out["access_token"]
}

// do calls the simulator and decodes the answer into out, if out is not nil.
func (b *bundle) do(method, path string, body, out any) (int, error) {
	b.t.Helper()
	var raw []byte
	switch v := body.(type) {
	case nil:
	case string:
		raw = []byte(v)
	default:
		raw, _ = json.Marshal(v)
	}
	req, err := http.NewRequestWithContext(context.WithoutCancel(b.t.Context()), method, b.server.URL+path, bytes.NewReader(raw))
	if err != nil {
		b.t.Fatal(err)
	}
	if b.token != "" {
		req.Header.Set("Authorization", "Bearer "+b.token)
	}
	resp, err := b.server.Client().Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	if out != nil {
		if err := json.Unmarshal(got, out); err != nil {
			b.t.Fatalf("%s %s answered %d %s", method, path, resp.StatusCode, got)
		}
	}
	return resp.StatusCode, nil
}

// ok posts to the face and wants a success.
func (b *bundle) ok(path string, body any) {
	b.t.Helper()
	var out object
	if code, err := b.do(http.MethodPost, path, body, &out); err != nil || code != http.StatusOK {
		b.t.Fatalf("POST %s answered %d %v %v", path, code, out, err)
	}
}

func (b *bundle) timestamp() string {
	return b.clock.Now().In(time.FixedZone("EAT", 3*3600)).Format("20060102150405")
}

func password(timestamp string) string {
	return base64.StdEncoding.EncodeToString([]byte(shortcode + passkey + timestamp))
}

// request is a push that is in order.
func (b *bundle) request() object {
	ts := b.timestamp()
	return object{
		"BusinessShortCode": shortcode, "Password": password(ts), "Timestamp": ts,
		"TransactionType": "CustomerPayBillOnline", "Amount": 1750, "PartyA": phone, "PartyB": shortcode,
		"PhoneNumber": phone, "CallBackURL": b.product.URL + "/webhooks/daraja/abc",
		"AccountReference": "RTB4K7QX2M9A", "TransactionDesc": "Deposit",
	}
}

type pushAnswer struct {
	Merchant     string `json:"MerchantRequestID"`
	Checkout     string `json:"CheckoutRequestID"`
	ResponseCode string `json:"ResponseCode"`
	ErrorCode    string `json:"errorCode"`
	ErrorMessage string `json:"errorMessage"`
	RequestID    string `json:"requestId"`
}

func (b *bundle) push(body any) (int, pushAnswer) {
	b.t.Helper()
	var out pushAnswer
	code, err := b.do(http.MethodPost, "/daraja/mpesa/stkpush/v1/processrequest", body, &out)
	if err != nil {
		b.t.Fatal(err)
	}
	return code, out
}

// prompt pushes and wants it taken.
func (b *bundle) prompt() pushAnswer {
	b.t.Helper()
	code, out := b.push(b.request())
	if code != http.StatusOK || out.ResponseCode != "0" {
		b.t.Fatalf("push answered %d %+v", code, out)
	}
	return out
}

func (b *bundle) query(id string) (int, map[string]string) {
	b.t.Helper()
	var out map[string]string
	ts := b.timestamp()
	code, err := b.do(http.MethodPost, "/daraja/mpesa/stkpushquery/v1/query", object{
		"BusinessShortCode": shortcode, "Password": password(ts), "Timestamp": ts, "CheckoutRequestID": id,
	}, &out)
	if err != nil {
		b.t.Fatal(err)
	}
	return code, out
}

type callback struct {
	Merchant string `json:"MerchantRequestID"`
	Checkout string `json:"CheckoutRequestID"`
	Code     any    `json:"ResultCode"`
	Desc     string `json:"ResultDesc"`
	Metadata *struct {
		Item []object `json:"Item"`
	} `json:"CallbackMetadata"`
}

func (c callback) item(name string) (any, bool) {
	for _, i := range c.Metadata.Item {
		if i["Name"] == name {
			return i["Value"], true
		}
	}
	return nil, false
}

// callback waits for the next one.
func (b *bundle) callback() callback {
	b.t.Helper()
	select {
	case raw := <-b.callbacks:
		var out struct {
			Body struct {
				StkCallback callback `json:"stkCallback"`
			} `json:"Body"`
		}
		if err := json.Unmarshal(raw, &out); err != nil {
			b.t.Fatalf("callback %s: %v", raw, err)
		}
		return out.Body.StkCallback
	case <-time.After(10 * time.Second):
		b.t.Fatal("no callback within ten seconds")
	}
	return callback{}
}

type pinAnswer struct {
	Result  int    `json:"result_code"`
	Receipt string `json:"receipt"`
	Status  int    `json:"status"`
	Error   struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func (b *bundle) pin(body object) (int, pinAnswer) {
	b.t.Helper()
	var out pinAnswer
	code, err := b.do(http.MethodPost, "/sim/daraja/pin", body, &out)
	if err != nil {
		b.t.Fatal(err)
	}
	return code, out
}
