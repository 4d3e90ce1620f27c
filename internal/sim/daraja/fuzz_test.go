package daraja_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/sim/courier"
	"github.com/ratiba/ratiba/internal/sim/daraja"
	"github.com/ratiba/ratiba/internal/sim/journal"
)

type nowhere struct{}

func (nowhere) RoundTrip(*http.Request) (*http.Response, error) { return nil, http.ErrServerClosed }

// FuzzRequests posts the same bytes to every route that reads a body.
func FuzzRequests(f *testing.F) {
	c := clock.NewFixed(noon)
	post := courier.New(courier.Config{Client: &http.Client{Transport: nowhere{}}, Backoff: time.Hour})
	f.Cleanup(post.Stop)
	s, err := daraja.New(daraja.Config{
		Clock: c, Real: c, Courier: post, Journal: journal.New(c, 0),
		Shortcodes: []daraja.Shortcode{{Shortcode: shortcode, Passkey: passkey, ConsumerKey: "k", ConsumerSecret: "s"}},
	})
	if err != nil {
		f.Fatal(err)
	}
	mux := http.NewServeMux()
	s.Routes(mux)
	r := httptest.NewRequest(http.MethodGet, "/daraja/oauth/v1/generate?grant_type=client_credentials", nil)
	r.SetBasicAuth("k", "s")
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	var token map[string]string
	if err := json.Unmarshal(w.Body.Bytes(), &token); err != nil {
		f.Fatal(err)
	}
	ts := "20260425120000"
	good, _ := json.Marshal(object{
		"BusinessShortCode": shortcode, "Password": password(ts), "Timestamp": ts, "TransactionType": "CustomerPayBillOnline",
		"Amount": "1", "PartyA": phone, "PartyB": shortcode, "PhoneNumber": phone, "CallBackURL": "http://product.invalid/x",
		"AccountReference": "A", "TransactionDesc": "B", "CheckoutRequestID": "x",
	})
	for _, seed := range []string{``, `{}`, `[]`, `null`, string(good), `{"phone":"1","pin":"1234"}`, `{"outcome":"success","times":2}`, `{"Amount":1e400}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, path := range []string{
			"/daraja/mpesa/stkpush/v1/processrequest", "/daraja/mpesa/stkpushquery/v1/query",
			"/sim/daraja/next", "/sim/daraja/pin", "/sim/daraja/settings",
		} {
			if low := bytes.ToLower(raw); bytes.Contains(low, []byte("_response")) {
				t.Skip("a recorder has no connection to lose, and a product that is nowhere is slow to answer")
			}
			r := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(raw))
			r.Header.Set("Authorization", "Bearer "+token["access_token"])
			w := httptest.NewRecorder()
			mux.ServeHTTP(w, r)
			if w.Code == http.StatusInternalServerError && bytes.Contains(w.Body.Bytes(), []byte(`"internal"`)) || !json.Valid(w.Body.Bytes()) {
				t.Errorf("%s %q answered %d %s", path, raw, w.Code, w.Body)
			}
		}
	})
}
