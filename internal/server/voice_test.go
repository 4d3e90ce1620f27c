package server_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ratiba/ratiba/internal/channel/voice"
)

func TestACallNeedsASecretANumberAndAForm(t *testing.T) {
	t.Parallel()
	const to = `"to":"+254711000009","from":"+254700000001"`
	rows := []struct {
		name, secret, key, id, body string
		status                      int
	}{
		{"nobody can call without a secret", "", "s", "c1", `{"seq":1,"event":"start",` + to + `}`, 404},
		{"a wrong signature", "s", "other", "c1", `{"seq":1,"event":"start",` + to + `}`, 401},
		{"another number", "s", "s", "c1", `{"seq":1,"event":"start","to":"+254711000001"}`, 404},
		{"a call nobody began", "s", "s", "c1", `{"seq":2,"event":"heard",` + to + `,"text":"x"}`, 404},
		{"no event", "s", "s", "c1", `{`, 400},
		{"a megabyte", "s", "s", "c1", `{"text":"` + strings.Repeat("x", 1<<20) + `"}`, 413},
		{"a start", "s", "s", "c1", `{"seq":1,"event":"start",` + to + `}`, 200},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			s := duka(t, map[string]string{"VOICE": r.secret})
			web := httptest.NewServer(s.Handler())
			defer web.Close()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL+"/voice/calls/"+r.id+"/events", strings.NewReader(r.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set(voice.Header, voice.Sign(r.key, r.id, []byte(r.body)))
			res, err := web.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			raw, _ := io.ReadAll(res.Body)
			if res.StatusCode != r.status {
				t.Errorf("%d %s, want %d", res.StatusCode, raw, r.status)
			}
			if r.status == 200 && !strings.Contains(string(raw), "msaidizi wa AI wa Duka") {
				t.Errorf("the call begins %s", raw)
			}
		})
	}
}
