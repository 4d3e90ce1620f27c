package page_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/sim/courier"
	"github.com/ratiba/ratiba/internal/sim/journal"
	"github.com/ratiba/ratiba/internal/sim/page"
	"github.com/ratiba/ratiba/internal/sim/page/pagetest"
	"github.com/ratiba/ratiba/internal/sim/slack"
)

// A card is read and its button tapped; what it becomes is shown, and nothing
// in it is executed.
func TestACardIsTappedOnTheSlackPage(t *testing.T) {
	t.Parallel()
	taps := make(chan string, 1)
	product := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		taps <- string(body)
	}))
	t.Cleanup(product.Close)
	carry := courier.New(courier.Config{})
	t.Cleanup(carry.Stop)
	s, err := slack.New(slack.Config{
		Clock: clock.Real{}, Courier: carry, Journal: journal.New(clock.Real{}, 0), App: slack.App{Token: "t", SigningSecret: "s", URL: product.URL},
	})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	s.Routes(mux)
	mux.Handle("GET /sim/", http.StripPrefix("/sim", page.Handler()))
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close) // once the browser has gone
	call := func(method, body string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL+"/slack/api/"+method, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer t")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := io.ReadAll(res.Body)
		if _ = res.Body.Close(); !strings.Contains(string(raw), `"ok":true`) {
			t.Fatalf("%s: %s", method, raw)
		}
	}
	b := pagetest.Open(t, web.URL+"/sim/slack/", 800, 900)
	call("chat.postMessage", `{"channel":"escalations","text":"Refund?","blocks":[{"type":"header","text":{"type":"plain_text","text":"Refund?"}},
		{"type":"section","text":{"type":"mrkdwn","text":"a &lt;img src=x onerror=alert(1)&gt; b"}},
		{"type":"actions","elements":[{"type":"button","action_id":"decide:0","text":{"type":"plain_text","text":"Refund her"},"value":"v0"}]}]}`)
	b.Shows(t, "slack-messages", "a <img src=x onerror=alert(1)> b")
	b.Click(t, "#messages button")
	if got := <-taps; !strings.Contains(got, "kamau") || !strings.Contains(got, "v0") {
		t.Errorf("the product gets %s", got)
	}
	ts := pagetest.Eval[string](t, b, `document.querySelector("#messages li").dataset.ts`)
	call("chat.update", `{"channel":"escalations","ts":"`+ts+`","text":"x","blocks":[{"type":"section","text":{"type":"mrkdwn","text":"kamau decided"}}]}`)
	b.Shows(t, "slack-messages", "kamau decided")
	b.Until(t, `document.querySelectorAll("#messages li").length === 1 && !document.querySelector("#messages button")`)
	b.Quiet(t)
}
