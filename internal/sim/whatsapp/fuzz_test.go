package whatsapp_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/sim/courier"
	"github.com/ratiba/ratiba/internal/sim/journal"
	"github.com/ratiba/ratiba/internal/sim/whatsapp"
)

// offline answers requests to a simulator whose product cannot be reached.
func offline(f *testing.F) http.Handler {
	f.Helper()
	c := clock.NewFixed(noon)
	post := courier.New(courier.Config{Client: &http.Client{Transport: nowhere{}}, Backoff: time.Hour})
	f.Cleanup(post.Stop)
	s, err := whatsapp.New(whatsapp.Config{
		Clock: c, Real: c, Courier: post, Journal: journal.New(c, 0), Throughput: 1 << 30, PairBurst: 1 << 30,
		Numbers:   []whatsapp.Number{{PhoneNumberID: spaID, DisplayPhone: spaPhone, AccessToken: spaToken, WebhookURL: "http://product.invalid"}},
		Templates: []whatsapp.Template{{Name: "t", Language: "en", Params: 1, Buttons: 2}},
	})
	if err != nil {
		f.Fatal(err)
	}
	mux := http.NewServeMux()
	s.Routes(mux)
	return mux
}

type nowhere struct{}

func (nowhere) RoundTrip(*http.Request) (*http.Response, error) { return nil, http.ErrServerClosed }

// ask posts raw and wants JSON with a status that is not the server's fault.
func ask(t *testing.T, h http.Handler, path string, raw []byte) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(raw))
	r.Header.Set("Authorization", "Bearer "+spaToken)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code >= 500 || !json.Valid(w.Body.Bytes()) {
		t.Errorf("%q answered %d %s", raw, w.Code, w.Body)
	}
}

func FuzzSend(f *testing.F) {
	h := offline(f)
	for _, seed := range []string{
		``, `{}`, `[]`, `null`, `{"messaging_product":"whatsapp","to":"254700000101","text":{"body":"x"}}`,
		`{"messaging_product":"whatsapp","recipient":"KE.1","type":"reaction","reaction":{"message_id":"a"}}`,
		`{"messaging_product":"whatsapp","to":"254700000101","type":"template","template":{"name":"t","language":{"code":"en"},"components":[{"type":"body","parameters":[{"type":"text","text":"a"}]},{"type":"button","index":"-1","parameters":[{}]}]}}`,
		`{"messaging_product":"whatsapp","to":"254700000101","type":"interactive","interactive":{"type":"list","body":{"text":"b"},"action":{"button":"c","sections":[{"rows":[{"id":"1","title":"t"}]}]}}}`,
		`{"messaging_product":"whatsapp","status":"read","message_id":"x","typing_indicator":null}`,
		`{"messaging_product":"whatsapp","to":"254700000101","type":"image"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) { ask(t, h, "/graph/v23.0/"+spaID+"/messages", raw) })
}

func FuzzInbound(f *testing.F) {
	h := offline(f)
	for _, seed := range []string{
		``, `{}`, `{"from":"1","text":""}`, `{"bsuid":"KE.1","button":{"id":"a"}}`, `{"from":"1","raw":{"id":1,"type":null}}`,
		`{"from":"1","media":{"kind":"document","base64":"eA=="}}`, `{"from":"1","contact":{}}`, `{"from":"1","location":{}}`,
		`{"from":"1","text":"x","deliveries":-1}`, `{"id":"x"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if bytes.Contains(raw, []byte("path")) {
			t.Skip("a path names a file of the machine the fuzzer runs on")
		}
		ask(t, h, "/sim/whatsapp/inbound", raw)
	})
}
