package whatsapp_test

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
	"github.com/ratiba/ratiba/internal/sim/journal"
	"github.com/ratiba/ratiba/internal/sim/whatsapp"
)

// Whatever is written and sent when: a free-form message is taken exactly when
// the user wrote within 24 hours, and the pair rate never lets more through
// than its burst and one in six seconds.
func TestWindowAndPairRateHoldForEverySchedule(t *testing.T) {
	t.Parallel()
	const burst = 3
	rapid.Check(t, func(t *rapid.T) {
		product, real := clock.NewFixed(noon), clock.NewFixed(noon)
		post := courier.New(courier.Config{Client: &http.Client{Transport: nowhere{}}, Backoff: time.Hour})
		defer post.Stop()
		s, err := whatsapp.New(whatsapp.Config{
			Clock: product, Real: real, Courier: post, Journal: journal.New(product, 0), PairBurst: burst,
			Numbers: []whatsapp.Number{{PhoneNumberID: spaID, DisplayPhone: spaPhone, AccessToken: spaToken, WebhookURL: "http://product.invalid"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		mux := http.NewServeMux()
		s.Routes(mux)
		call := func(path string, body object) sendAnswer {
			raw, _ := json.Marshal(body)
			r := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(raw))
			r.Header.Set("Authorization", "Bearer "+spaToken)
			w := httptest.NewRecorder()
			mux.ServeHTTP(w, r)
			var out sendAnswer
			if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
				t.Fatalf("%s answered %d %s", path, w.Code, w.Body)
			}
			return out
		}
		var wrote time.Time
		passed, spent := 0.0, 0
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				product.Add(time.Duration(rapid.IntRange(0, 30*3600).Draw(t, "product seconds")) * time.Second)
			case 1:
				seconds := rapid.IntRange(0, 20).Draw(t, "real seconds")
				real.Add(time.Duration(seconds) * time.Second)
				passed += float64(seconds)
			case 2:
				call("/sim/whatsapp/inbound", object{"from": jane, "text": "x", "delay_ms": 600_000})
				wrote = product.Now()
			case 3:
				code := call("/graph/v23.0/"+spaID+"/messages", textTo(jane, "x")).Error.Code
				if code != 131056 {
					spent++
				}
				open := !wrote.IsZero() && product.Now().Sub(wrote) < 24*time.Hour
				if code != 131056 && open != (code == 0) {
					t.Fatalf("window open: %v, answered code %d", open, code)
				}
				if float64(spent) > burst+passed/6 {
					t.Fatalf("%d messages passed in %v seconds", spent, passed)
				}
			}
		}
	})
}
