package daraja_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/sim/courier"
	"github.com/ratiba/ratiba/internal/sim/daraja"
	"github.com/ratiba/ratiba/internal/sim/journal"
)

// Whatever payers and clock do: a phone shows one prompt at most, a prompt ends
// exactly once, and a receipt belongs to one paid prompt.
func TestEveryPromptEndsExactlyOnce(t *testing.T) {
	t.Parallel()
	phones := []string{"254700000101", "254700000102", "254110000103"}
	rapid.Check(t, func(t *rapid.T) {
		c := clock.NewFixed(noon)
		log := journal.New(c, 0)
		post := courier.New(courier.Config{Client: &http.Client{Transport: nowhere{}}})
		defer post.Stop()
		s, err := daraja.New(daraja.Config{
			Clock: c, Real: c, Courier: post, Journal: log,
			Shortcodes: []daraja.Shortcode{{Shortcode: shortcode, Passkey: passkey, ConsumerKey: "k", ConsumerSecret: "s"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		mux := http.NewServeMux()
		s.Routes(mux)
		token := ""
		call := func(method, path string, body object) (int, object) {
			raw, _ := json.Marshal(body)
			r := httptest.NewRequest(method, path, bytes.NewReader(raw))
			r.Header.Set("Authorization", "Bearer "+token)
			if token == "" {
				r.SetBasicAuth("k", "s")
			}
			w := httptest.NewRecorder()
			mux.ServeHTTP(w, r)
			var out object
			if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
				t.Fatalf("%s answered %d %s", path, w.Code, w.Body)
			}
			return w.Code, out
		}
		_, login := call(http.MethodGet, "/daraja/oauth/v1/generate?grant_type=client_credentials", nil)
		token, _ = login["access_token"].(string)

		live := map[string]time.Time{} // by phone, when its prompt is over
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			phone := rapid.SampledFrom(phones).Draw(t, "phone")
			until, shows := live[phone]
			shows = shows && c.Now().Before(until)
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				c.Add(time.Duration(rapid.IntRange(0, 90).Draw(t, "seconds")) * time.Second)
			case 1:
				ts := c.Now().In(time.FixedZone("EAT", 3*3600)).Format("20060102150405")
				code, _ := call(http.MethodPost, "/daraja/mpesa/stkpush/v1/processrequest", object{
					"BusinessShortCode": shortcode, "Password": password(ts), "Timestamp": ts, "TransactionType": "CustomerPayBillOnline",
					"Amount": 1, "PartyA": phone, "PartyB": shortcode, "PhoneNumber": phone, "CallBackURL": "http://product.invalid/x",
					"AccountReference": "A", "TransactionDesc": "B",
				})
				if (code == http.StatusOK) == shows {
					t.Fatalf("the phone shows a prompt: %v; a push answered %d", shows, code)
				}
				if code == http.StatusOK {
					live[phone] = c.Now().Add(time.Minute)
				}
			case 2:
				code, _ := call(http.MethodPost, "/sim/daraja/pin", object{
					"phone": phone, "pin": rapid.SampledFrom([]string{"0000", "1234"}).Draw(t, "pin"), "cancel": rapid.Bool().Draw(t, "cancel"),
				})
				if (code == http.StatusOK) != shows {
					t.Fatalf("the phone shows a prompt: %v; the PIN answered %d", shows, code)
				}
				delete(live, phone)
			}
		}
		c.Add(time.Minute)
		s.ExpireDue()
		ended, receipts := map[string]int{}, map[string]bool{}
		for _, e := range log.Since(0, "p") {
			switch {
			case e.Kind == journal.PushAccepted:
				ended[e.ID] += 0
			case e.Kind == journal.PromptEnded:
				ended[e.ID]++
				if (e.Receipt != "") != (e.Code == "0") || e.Receipt != "" && receipts[e.Receipt] {
					t.Fatalf("receipt %q with code %s", e.Receipt, e.Code)
				}
				receipts[e.Receipt] = true
			}
		}
		for id, n := range ended {
			if n != 1 {
				t.Fatalf("prompt %s ended %d times", id, n)
			}
		}
	})
}
