package server_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/ratiba/ratiba/internal/app"
	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/config"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/db/dbtest"
	"github.com/ratiba/ratiba/internal/demo"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/server"
	"github.com/ratiba/ratiba/internal/sim"
	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/understand"
	"github.com/ratiba/ratiba/internal/wording"
)

// asking is an app whose work waits for people: it says what they decide.
func asking(t *testing.T) app.App {
	t.Helper()
	g, err := graph.New(graph.Def[struct{}]{
		Name: "asking", Version: 1, Start: "waits",
		Nodes: []graph.Node[struct{}]{{Name: "waits", Edges: []graph.Name{"waits", "end"}, Step: func(in graph.In[struct{}]) graph.Out[struct{}] {
			text := "we are asking"
			if e := in.Input.Event; e != nil {
				text = e.Kind + " " + e.Name + " " + string(e.Data)
			}
			return graph.Out[struct{}]{Rest: "waits", Say: []graph.Say{{Text: "echo", Facts: map[string]any{"text": text}}}}
		}}, {Name: "end", End: true}},
		Route: func(in graph.In[struct{}]) graph.Name { return in.Node },
	})
	if err != nil {
		t.Fatal(err)
	}
	texts, err := wording.Load(fstest.MapFS{"en.yaml": {Data: []byte(`echo: "{{.text}}"`)}, "sw.yaml": {Data: []byte(`echo: "{{.text}}"`)}})
	if err != nil {
		t.Fatal(err)
	}
	return app.App{
		Name: "asking", Flow: app.Erase(g, nil), Texts: texts,
		Section: func(*tenant.Tenant) (app.Section, error) { return app.Section{}, nil },
		Expect:  func(string, json.RawMessage) understand.Expect { return understand.Expect{} },
		Owns:    func(json.RawMessage, string) bool { return false },
		Close:   func(json.RawMessage) []graph.Call { return nil },
		Apply:   func(context.Context, db.Tx, *tenant.Tenant, time.Time) error { return nil },
		Check:   func(*tenant.Tenant) error { return nil },
	}
}

const (
	amina    = "+254700000001"
	operator = "operators-token"
)

// town is a product with two businesses and the simulated world.
type town struct {
	*testing.T
	url  string
	dir  string
	srv  *server.Server
	shop tenant.Tenant
	log  *lines
}

// lines is an event log that many may write.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newTown(t *testing.T, change ...func(*config.Config)) *town {
	t.Helper()
	w := &town{T: t, dir: t.TempDir(), log: &lines{}}
	mux := http.NewServeMux()
	web := httptest.NewServer(mux)
	w.url = web.URL
	have := map[string]string{"RATIBA_OPERATOR_TOKEN": operator, "SLACK_BOT_TOKEN": "xoxb-1", "SLACK_SIGNING_SECRET": "signing"}
	for _, slug := range []string{"DUKA", "SOKO"} {
		have[slug+"_TOKEN"], have[slug+"_SECRET"] = slug+"t", slug+"s"
	}
	set := config.Config{PublicURL: w.url, Data: w.dir}
	set.WhatsApp.MetaURL, set.Models.OpenAI.URL, set.Models.Anthropic.URL = w.url+"/graph", "http://127.0.0.1:1", "http://127.0.0.1:1"
	set.Slack = config.Slack{URL: w.url + "/slack/api", TokenEnv: "SLACK_BOT_TOKEN", SigningSecretEnv: "SLACK_SIGNING_SECRET", Channel: "#escalations"}
	set.Operator.TokenEnv = "RATIBA_OPERATOR_TOKEN"
	if dbtest.Backend(t) == "postgres" {
		set.Database.URLEnv, have["PG"] = "PG", dbtest.Postgres(t)
	}
	for _, c := range change {
		c(&set)
	}
	get := func(name string) string { return have[name] }
	var err error
	w.srv, err = server.New(t.Context(), server.Config{
		Settings: set, Logger: slog.New(slog.NewJSONHandler(w.log, nil)), Apps: []app.App{asking(t)}, Secrets: get,
	})
	if err != nil {
		t.Fatal(err)
	}
	var all []tenant.Tenant
	for _, slug := range []string{"duka", "soko"} {
		def := strings.NewReplacer("duka", slug, "DUKA", strings.ToUpper(slug), `id: "1"`, `id: "1`+strconv.Itoa(len(all))+`"`, "711000009", "71100000"+strconv.Itoa(len(all)),
			"app: booking", "app: asking\nquiet_time_ms: 0").Replace(strings.Split(shop, "booking:\n")[0])
		parsed, err := tenant.Parse([]byte(def))
		if err != nil {
			t.Fatal(err)
		}
		if parsed, err = w.srv.Apply(t.Context(), parsed); err != nil {
			t.Fatal(err)
		}
		all = append(all, parsed)
	}
	w.shop = all[0]
	cfg := demo.World(all, get, w.url)
	cfg.Clock, cfg.Backoff = clock.Real{}, time.Millisecond
	world, err := sim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	mux.Handle("/webhooks/", w.srv.Handler())
	mux.Handle("/api/", w.srv.Handler())
	mux.Handle("/", world.Handler())
	w.srv.Start(t.Context())
	t.Cleanup(func() {
		world.Stop()
		web.Close()
		if err := w.srv.Stop(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// do calls an address of the town and reads its JSON.
func (w *town) do(method, path, body string, into any, header ...string) int {
	w.Helper()
	req, err := http.NewRequestWithContext(w.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err == nil && into != nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		w.Fatalf("%s %s: %v: %s", method, path, err, raw)
	}
	return res.StatusCode
}

// heard waits until Amina has n messages and returns the last.
func (w *town) heard(n int) string {
	w.Helper()
	type message struct {
		Seq  int64
		Text string
	}
	var all []message
	for after := int64(0); len(all) < n; after = all[len(all)-1].Seq {
		var more []message
		w.do(http.MethodGet, fmt.Sprintf("/sim/whatsapp/messages?phone=254700000001&after=%d&wait=20", after), "", &more)
		if len(more) == 0 {
			w.Fatalf("she has %v, want %d messages", all, n)
		}
		all = append(all, more...)
	}
	if len(all) != n {
		w.Fatalf("she has %v, want %d messages", all, n)
	}
	return all[n-1].Text
}

// slackMessage is a message in Slack.
type slackMessage struct {
	Seq    int64
	TS     string
	To     string
	Text   string
	Blocks json.RawMessage
}

// slack waits for a message that was new or changed after seq.
func (w *town) slack(seq int64) slackMessage {
	w.Helper()
	var all []slackMessage
	w.do(http.MethodGet, fmt.Sprintf("/sim/slack/messages?after=%d&wait=20", seq), "", &all)
	if len(all) == 0 {
		w.Fatalf("nothing comes to Slack; the log is %s", w.log)
	}
	return all[len(all)-1]
}

// text reads one value of the shop's database.
func (w *town) text(query string) string {
	w.Helper()
	st, err := w.srv.Store(w.shop.ID)
	var v any
	if err == nil {
		err = st.Read(w.Context(), func(q db.Q) error { return q.QueryRowContext(w.Context(), query).Scan(&v) })
	}
	if err != nil {
		w.Fatal(err)
	}
	return fmt.Sprint(v)
}

// ask opens a conversation of Amina and asks people about it.
func (w *town) ask(choices ...llm.Choice) llm.Escalation {
	w.Helper()
	w.do(http.MethodPost, "/sim/whatsapp/inbound", `{"from":"`+amina+`","to":"+254711000000","text":"I want my money back"}`, &struct{}{})
	w.heard(1)
	if err := w.srv.Idle(w.Context()); err != nil {
		w.Fatal(err)
	}
	res, err := w.srv.Router().Call(w.Context(), llm.Request{
		Role: llm.ProcedureStep, Tenant: w.shop.ID, Thread: ids.ThreadID(w.text("SELECT id FROM conversation_threads")),
		Contact: ids.ContactID(w.text("SELECT contact_id FROM conversation_threads")), MaxTier: llm.NoTier,
		Messages: []llm.Message{{Role: llm.User, Content: "I want my <money> back"}},
		Card:     llm.Card{Title: "Refund?", Question: "What shall we do?", Choices: choices},
	})
	if err != nil || res.Ending != llm.Human {
		w.Fatalf("Call = %s, %v; want a person", res.Ending, err)
	}
	return *res.Escalation
}

var yesNo = []llm.Choice{{ID: "refund", Label: "Refund her"}, {ID: "refuse", Label: "Refuse"}}

type tapped struct {
	Status   int
	ActionTS string `json:"action_ts"`
}

func (w *town) tap(body string) (out tapped) {
	w.Helper()
	w.do(http.MethodPost, "/sim/slack/tap", body, &out)
	return out
}

// post posts a payload as Slack would, signed with a secret, and returns the
// product's answer.
func (w *town) post(payload, secret string) int {
	w.Helper()
	body := url.Values{"payload": {payload}}.Encode()
	stamp := strconv.FormatInt(clock.Real{}.Now().Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("v0:" + stamp + ":" + body))
	return w.do(http.MethodPost, "/webhooks/slack", body, nil, "Content-Type", "application/x-www-form-urlencoded",
		"X-Slack-Request-Timestamp", stamp, "X-Slack-Signature", "v0="+hex.EncodeToString(mac.Sum(nil)))
}
