package slack_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/sim/courier"
	"github.com/ratiba/ratiba/internal/sim/journal"
	"github.com/ratiba/ratiba/internal/sim/slack"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type object = map[string]any

// bundle is a workspace and a product that notes what is posted to it.
type bundle struct {
	t   *testing.T
	url string

	mu     sync.Mutex
	got    []*http.Request
	bodies []string
	status []int // of the next answers; 200 when there are none
}

var noon = time.Date(2026, 4, 25, 9, 0, 0, 0, time.UTC)

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{t: t}
	product := httptest.NewServer(http.HandlerFunc(b.take))
	now := clock.NewFixed(noon)
	carry := courier.New(courier.Config{})
	s, err := slack.New(slack.Config{
		Clock: now, Courier: carry, Journal: journal.New(now, 0), Backoff: time.Microsecond,
		App: slack.App{Token: "xoxb-1", SigningSecret: "s", URL: product.URL},
	})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	s.Routes(mux)
	server := httptest.NewServer(mux)
	b.url = server.URL
	t.Cleanup(func() { carry.Stop(); server.Close(); product.Close(); http.DefaultClient.CloseIdleConnections() })
	return b
}

func (b *bundle) take(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.got, b.bodies = append(b.got, r), append(b.bodies, string(body))
	if len(b.status) > 0 {
		w.WriteHeader(b.status[0])
		b.status = b.status[1:]
	}
}

// call calls a path and returns the status, the header and what was answered.
func (b *bundle) call(path, token, body string) (int, http.Header, object) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.url+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, nil
	}
	defer func() { _ = res.Body.Close() }()
	out := object{}
	_ = json.NewDecoder(res.Body).Decode(&out)
	return res.StatusCode, res.Header, out
}

const card = `{"channel":"#escalations","text":"Refund?","blocks":[{"type":"header","text":{"type":"plain_text","text":"Refund?"}},
	{"type":"actions","elements":[{"type":"button","action_id":"decide:0","text":{"type":"plain_text","text":"Yes"},"value":"v0"},
	{"type":"button","action_id":"decide:1","text":{"type":"plain_text","text":"No"},"value":"v1"}]}]}`

func TestWhatSlackRefuses(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return strings.Repeat("a", n) }
	block := func(b string) string { return `{"channel":"escalations","text":"x","blocks":[` + b + `]}` }
	button := func(id, text, value string) string {
		return `{"type":"button","action_id":"` + id + `","text":{"type":"plain_text","text":"` + text + `"},"value":"` + value + `"}`
	}
	tests := map[string]struct{ method, token, body, want string }{
		"taken":                  {"chat.postMessage", "xoxb-1", card, ""},
		"no token":               {"chat.postMessage", "", card, "not_authed"},
		"a wrong token":          {"chat.postMessage", "xoxb-2", card, "invalid_auth"},
		"no JSON":                {"chat.postMessage", "xoxb-1", "{", "invalid_json"},
		"no such channel":        {"chat.postMessage", "xoxb-1", `{"channel":"#general","text":"x"}`, "channel_not_found"},
		"nothing":                {"chat.postMessage", "xoxb-1", `{"channel":"#escalations"}`, "no_text"},
		"a long text":            {"chat.postMessage", "xoxb-1", `{"channel":"#escalations","text":"` + long(40001) + `"}`, "msg_too_long"},
		"a header":               {"chat.postMessage", "xoxb-1", block(`{"type":"header","text":{"type":"plain_text","text":"` + long(150) + `"}}`), ""},
		"a long header":          {"chat.postMessage", "xoxb-1", block(`{"type":"header","text":{"type":"plain_text","text":"` + long(151) + `"}}`), "invalid_blocks"},
		"a long section":         {"chat.postMessage", "xoxb-1", block(`{"type":"section","text":{"type":"mrkdwn","text":"` + long(3001) + `"}}`), "invalid_blocks"},
		"an empty section":       {"chat.postMessage", "xoxb-1", block(`{"type":"section","text":{"type":"mrkdwn","text":""}}`), "invalid_blocks"},
		"a long button":          {"chat.postMessage", "xoxb-1", block(`{"type":"actions","elements":[` + button("a", long(76), "v") + `]}`), "invalid_blocks"},
		"a long value":           {"chat.postMessage", "xoxb-1", block(`{"type":"actions","elements":[` + button("a", "b", long(2001)) + `]}`), "invalid_blocks"},
		"two buttons of a name":  {"chat.postMessage", "xoxb-1", block(`{"type":"actions","elements":[` + button("a", "b", "v") + "," + button("a", "c", "v") + `]}`), "invalid_blocks"},
		"no buttons":             {"chat.postMessage", "xoxb-1", block(`{"type":"actions","elements":[]}`), "invalid_blocks"},
		"an unknown block":       {"chat.postMessage", "xoxb-1", block(`{"type":"carousel"}`), "invalid_blocks"},
		"another's message":      {"chat.update", "xoxb-1", `{"channel":"C0RATIBA001","ts":"1.1","text":"x"}`, "message_not_found"},
		"a whisper to nobody":    {"chat.postEphemeral", "xoxb-1", `{"channel":"C0RATIBA001","text":"x"}`, "user_not_in_channel"},
		"who is it":              {"auth.test", "xoxb-1", "", ""},
		"a method of another":    {"chat.delete", "xoxb-1", "{}", "unknown_method"},
		"a whisper that is long": {"chat.postEphemeral", "xoxb-1", `{"channel":"C0RATIBA001","user":"U1","text":"` + long(40001) + `"}`, "msg_too_long"},
	}
	b := setup(t)
	for name, tt := range tests {
		status, _, out := b.call("/slack/api/"+tt.method, tt.token, tt.body)
		if code, _ := out["error"].(string); status != 200 || code != tt.want || out["ok"] != (tt.want == "") {
			t.Errorf("%s: %d %v, want %q", name, status, out, tt.want)
		}
	}
}

func TestFaultsAreProgrammed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.call("/sim/slack/next", "", `{"fault":"429","retry_after":7}`)
	if status, h, _ := b.call("/slack/api/chat.postMessage", "xoxb-1", card); status != 429 || h.Get("Retry-After") != "7" {
		t.Errorf("429: got %d, Retry-After %q", status, h.Get("Retry-After"))
	}
	b.call("/sim/slack/next", "", `{"fault":"500","method":"chat.update"}`)
	if status, _, out := b.call("/slack/api/chat.postMessage", "xoxb-1", card); status != 200 || out["ok"] != true {
		t.Errorf("another method fails: %d %v", status, out)
	}
	if status, _, _ := b.call("/slack/api/chat.update", "xoxb-1", "{}"); status != 500 {
		t.Errorf("500: got %d", status)
	}
	b.call("/sim/slack/next", "", `{"fault":"invalid_auth"}`)
	if _, _, out := b.call("/slack/api/chat.postMessage", "xoxb-1", card); out["error"] != "invalid_auth" {
		t.Errorf("invalid_auth: got %v", out)
	}
	b.call("/sim/slack/next", "", `{"fault":"lost"}`)
	if status, _, _ := b.call("/slack/api/chat.postMessage", "xoxb-1", card); status != 0 {
		t.Errorf("lost: got %d, want no answer", status)
	}
	if n := len(b.messages("")); n != 2 {
		t.Errorf("%d messages, want the one that was answered and the one that was not", n)
	}
	for _, bad := range []string{`{}`, `{"fault":"429","times":-1}`, `{"fault":"429","retry_after":99999}`} {
		if status, _, _ := b.call("/sim/slack/next", "", bad); status != 400 {
			t.Errorf("%s: got %d", bad, status)
		}
	}
}

func (b *bundle) messages(query string) (out []object) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.url+"/sim/slack/messages?"+query, http.NoBody)
	if err != nil {
		b.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if err := json.NewDecoder(res.Body).Decode(&out); err != nil {
		b.t.Fatal(err)
	}
	return out
}

func TestATapIsASignedForm(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, _, out := b.call("/slack/api/chat.postMessage", "xoxb-1", card)
	ts, _ := out["ts"].(string)
	b.status = []int{503, 500}
	if _, _, out := b.call("/sim/slack/tap", "", `{"button":"No","user":"U1","name":"kamau"}`); out["status"] != 200.0 {
		t.Errorf("the tap is answered %v", out)
	}
	if len(b.got) != 3 || b.bodies[0] != b.bodies[2] {
		t.Fatalf("%d deliveries, want the same three times", len(b.got))
	}
	r, body := b.got[0], b.bodies[0]
	stamp := r.Header.Get("X-Slack-Request-Timestamp")
	mac := hmac.New(sha256.New, []byte("s"))
	mac.Write([]byte("v0:" + stamp + ":" + body))
	if want := "v0=" + hex.EncodeToString(mac.Sum(nil)); r.Header.Get("X-Slack-Signature") != want || stamp != strconv.FormatInt(noon.Unix(), 10) {
		t.Errorf("signed %q at %s", r.Header.Get("X-Slack-Signature"), stamp)
	}
	if got := r.Header.Get("Content-Type"); got != "application/x-www-form-urlencoded" {
		t.Errorf("it comes as %s", got)
	}
	form, err := url.ParseQuery(body)
	if err != nil {
		t.Fatal(err)
	}
	var p struct {
		Type      string
		User      struct{ ID, Name string }
		Container struct {
			TS string `json:"message_ts"`
		}
		Actions []struct {
			ID    string `json:"action_id"`
			Value string
		}
	}
	if err := json.Unmarshal([]byte(form.Get("payload")), &p); err != nil || p.Type != "block_actions" || p.User.ID != "U1" || p.Container.TS != ts ||
		len(p.Actions) != 1 || p.Actions[0].ID != "decide:1" || p.Actions[0].Value != "v1" {
		t.Errorf("the payload is %+v, %v", p, err)
	}
	b.status = []int{401}
	if _, _, out := b.call("/sim/slack/tap", "", `{"signature":"bad"}`); out["status"] != 401.0 {
		t.Errorf("a forged tap is answered %v and not repeated", out)
	}
	if status, _, _ := b.call("/sim/slack/tap", "", `{"button":"Perhaps"}`); status != 404 {
		t.Errorf("no such button: %d", status)
	}
	b.call("/slack/api/chat.update", "xoxb-1", `{"channel":"C0RATIBA001","ts":"`+ts+`","text":"done"}`)
	if status, _, _ := b.call("/sim/slack/tap", "", `{"ts":"`+ts+`"}`); status != 404 {
		t.Errorf("a button that is gone: %d", status)
	}
	if m := b.messages("channel=%23escalations&after=1"); len(m) != 1 || m[0]["text"] != "done" || m[0]["edited"] != true {
		t.Errorf("the channel shows %v", m)
	}
}

func TestWhatCannotBeSimulated(t *testing.T) {
	t.Parallel()
	if _, err := slack.New(slack.Config{Channels: []string{"#a"}}); err == nil || !strings.Contains(err.Error(), "Clock") || !strings.Contains(err.Error(), "#a") {
		t.Errorf("got %v, want every fault", err)
	}
}
