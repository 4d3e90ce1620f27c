package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
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
	"github.com/ratiba/ratiba/internal/fault"
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

// A ladder ends in a person; the person taps; the customer is answered.
func TestAPersonDecidesInSlackAndTheCustomerIsAnswered(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	e := w.ask(yesNo...)
	card := w.slack(0)
	if !bytes.Contains(card.Blocks, []byte("I want my &lt;money&gt; back")) && !bytes.Contains(card.Blocks, []byte(`\u0026lt;money`)) || !bytes.Contains(card.Blocks, []byte("Refund her")) {
		t.Errorf("the card is %s", card.Blocks)
	}
	first := w.tap(`{"button":"Refund her","user":"U1","name":"kamau","deliveries":3}`)
	if first.Status != http.StatusOK {
		t.Errorf("the tap is answered %d", first.Status)
	}
	if got := w.heard(2); !strings.Contains(got, "decided "+e.ID) || !strings.Contains(strings.ReplaceAll(got, " ", ""), `"choice":"refund"`) {
		t.Errorf("she hears %q", got)
	}
	updated := w.slack(card.Seq)
	if updated.TS != card.TS || !bytes.Contains(updated.Blocks, []byte("kamau (U1)")) || bytes.Contains(updated.Blocks, []byte("button")) {
		t.Errorf("the card becomes %s", updated.Blocks)
	}
	// Somebody had the card open all the while.
	late := fmt.Sprintf(`{"type":"block_actions","user":{"id":"U2","name":"wangu"},"channel":{"id":"C0RATIBA001"},"container":{"message_ts":%q},
		"actions":[{"action_id":"decide:1","value":"{\"t\":%q,\"e\":%q,\"c\":1}","action_ts":"9.9"}]}`, card.TS, string(w.shop.ID), e.ID)
	late = strings.NewReplacer(`{\"t\":"`, `{\"t\":\"`, `",\"e\":"`, `\",\"e\":\"`, `",\"c\"`, `\",\"c\"`).Replace(late)
	for range 2 {
		if status := w.post(late, "signing"); status != http.StatusOK {
			t.Errorf("the late tap is answered %d", status)
		}
	}
	if whisper := w.slack(updated.Seq); whisper.To != "U2" || whisper.Text != "kamau (U1) ameshaamua: Refund her" {
		t.Errorf("who came later reads %+v", whisper)
	}
	if err := w.srv.Idle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.text("SELECT COUNT(*) || '/' || MIN(decided_by) FROM escalations") + w.text("SELECT COUNT(*) FROM inbox WHERE kind = 'event'") +
		w.text("SELECT COUNT(*) FROM outbox WHERE kind = 'escalation.notice'"); got != "1/kamau (U1)11" {
		t.Errorf("stored %s, want one decision, one event and one notice", got)
	}
	w.heard(2)
	for _, event := range []string{"llm.escalated.human", "escalation.decided", "escalation.resumed"} {
		if !strings.Contains(w.log.String(), `"msg":"`+event+`"`) {
			t.Errorf("%s is not logged", event)
		}
	}
	if log := w.log.String(); strings.Contains(log, "money") || strings.Contains(log, "xoxb") || strings.Contains(log, "kamau") {
		t.Error("words, names or secrets are in the event log")
	}
}

func TestTapsThatDecideNothing(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	e := w.ask(yesNo...)
	card := w.slack(0)
	payload := func(tenantID, escalation, channel string, choice int) string {
		v, _ := json.Marshal(fmt.Sprintf(`{"t":%q,"e":%q,"c":%d}`, tenantID, escalation, choice))
		return fmt.Sprintf(`{"type":"block_actions","user":{"id":"U2","name":"wangu"},"channel":{"id":%q},"container":{"message_ts":%q},
			"actions":[{"action_id":"decide:1","value":%s,"action_ts":"9.9"}]}`, channel, card.TS, v)
	}
	var other tenant.Tenant
	for _, each := range w.srv.Tenants() {
		if each.ID != w.shop.ID {
			other = each
		}
	}
	for how, want := range map[string]int{"bad": 401, "none": 401, "old": 401} {
		if got := w.tap(`{"signature":"` + how + `"}`); got.Status != want {
			t.Errorf("signature %s: answered %d, want %d", how, got.Status, want)
		}
	}
	const here = "C0RATIBA001"
	for name, tt := range map[string]struct {
		payload, secret string
		want            int
	}{
		"another secret":              {payload(string(w.shop.ID), e.ID, here, 1), "guessed", 401},
		"an unknown escalation":       {payload(string(w.shop.ID), "nothing", here, 1), "signing", 200},
		"another business's":          {payload(string(other.ID), e.ID, here, 1), "signing", 200},
		"an unknown business":         {payload("01NOBODY", e.ID, here, 1), "signing", 200},
		"another channel":             {payload(string(w.shop.ID), e.ID, "C0ELSEWHERE", 1), "signing", 200},
		"not among the choices":       {payload(string(w.shop.ID), e.ID, here, 2), "signing", 200},
		"before the first choice":     {payload(string(w.shop.ID), e.ID, here, -1), "signing", 200},
		"a payload that is no JSON":   {"hello", "signing", 200},
		"a view":                      {`{"type":"view_submission"}`, "signing", 200},
		"a payload larger than cards": {strings.Repeat("a", 1<<20), "signing", 413},
	} {
		if got := w.post(tt.payload, tt.secret); got != tt.want {
			t.Errorf("%s: answered %d, want %d", name, got, tt.want)
		}
	}
	if got := w.text("SELECT state FROM escalations"); got != "open" {
		t.Errorf("it is %s", got)
	}
	w.heard(1)
}

func TestOperatorsDecideInTheQueue(t *testing.T) {
	t.Parallel()
	w := newTown(t, func(c *config.Config) { c.Slack.Channel = "" })
	e := w.ask()
	if n := w.text("SELECT COUNT(*) FROM outbox WHERE kind LIKE 'escalation.%'"); n != "0" {
		t.Errorf("%s effects without a chat, want none", n)
	}
	at := "/api/tenants/duka/escalations"
	auth := []string{"Authorization", "Bearer " + operator}
	type told struct {
		Escalations []llm.Case
		Escalation  *llm.Case
		Error       struct{ Code fault.Code }
	}
	var out told
	for _, header := range [][]string{nil, {"Authorization", "Bearer "}, {"Authorization", "Bearer " + operator + "x"}, {"Authorization", operator[1:]}} {
		if status := w.do(http.MethodGet, at, "", &out, header...); status != http.StatusUnauthorized || len(out.Escalations) > 0 {
			t.Errorf("with %q: %d", header, status)
		}
	}
	out = told{}
	if status := w.do(http.MethodGet, at+"?state=open", "", &out, auth...); status != 200 || len(out.Escalations) != 1 || out.Escalations[0].ID != e.ID || out.Escalations[0].Cause != llm.CauseCapped {
		t.Errorf("the list is %d %+v", status, out)
	}
	for path, want := range map[string]int{
		at + "?state=lost": 400, "/api/tenants/nobody/escalations": 404, at + "/nothing": 404, "/api/tenants/soko/escalations/" + e.ID: 404,
	} {
		if status := w.do(http.MethodGet, path, "", &out, auth...); status != want {
			t.Errorf("%s: %d, want %d", path, status, want)
		}
	}
	for body, want := range map[string]int{
		`{"choice":"refund","by":"Rehema"}`: 400, `{"text":"","by":"Rehema"}`: 400, `{"text":"pay"}`: 400, `hello`: 400, `{"text":"` + strings.Repeat("a", 1<<20) + `"}`: 400,
	} {
		if status := w.do(http.MethodPost, at+"/"+e.ID+"/decision", body, &out, auth...); status != want {
			t.Errorf("%.40s: %d, want %d", body, status, want)
		}
	}
	out = told{}
	decide := `{"text":"pay her back","by":"Rehema"}`
	if status := w.do(http.MethodPost, at+"/"+e.ID+"/decision", decide, &out, auth...); status != 200 || out.Escalation.State != llm.CaseDecided {
		t.Errorf("decided: %d %+v", status, out)
	}
	if got := w.heard(2); !strings.Contains(got, "pay her back") {
		t.Errorf("she hears %q", got)
	}
	out = told{}
	if status := w.do(http.MethodPost, at+"/"+e.ID+"/decision", `{"text":"do not","by":"Juma"}`, &out, auth...); status != http.StatusConflict ||
		out.Error.Code != fault.Conflict || out.Escalation == nil || out.Escalation.Decision.By != "Rehema" {
		t.Errorf("decided again: %d %+v, want the first decision and conflict", status, out)
	}
	if err := w.srv.Idle(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.heard(2)
}

// What commands see of a process that serves is what it says itself.
func TestTheQueueIsReachedByTheSocket(t *testing.T) {
	t.Parallel()
	if dbtest.Backend(t) == "postgres" {
		return // commands use the database beside the nodes
	}
	w := newTown(t)
	e := w.ask(yesNo...)
	stop, err := w.srv.ServeControl(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stop() }()
	r := server.Reach(w.dir)
	defer func() { _ = r.Stop() }()
	all, err := r.Escalations(t.Context(), "duka", llm.CaseOpen)
	if err != nil || len(all) != 1 || all[0].ID != e.ID {
		t.Errorf("list: %+v, %v", all, err)
	}
	if _, err := r.Escalation(t.Context(), "duka", "../x?"); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("an odd id: %v", err)
	}
	k, err := r.Decide(t.Context(), "duka", e.ID, llm.Decision{Choice: "refuse", By: "Rehema"})
	if err != nil || k.Label() != "Refuse" {
		t.Errorf("decide: %+v, %v", k, err)
	}
	k, err = r.Decide(t.Context(), "duka", e.ID, llm.Decision{Choice: "refund", By: "Juma"})
	if fault.CodeOf(err) != fault.Conflict || k.Label() != "Refuse" {
		t.Errorf("decide again: %+v, %v", k, err)
	}
	if k, err = r.Escalation(t.Context(), "duka", e.ID); err != nil || k.Decision == nil || k.Decision.By != "Rehema" {
		t.Errorf("show: %+v, %v", k, err)
	}
}

func TestWhatSlackDoesToACard(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fault, state string
		cards        int
	}{
		"too much: it is posted later":               {`{"fault":"429","retry_after":1}`, "sent", 1},
		"in trouble: nobody knows whether it stands": {`{"fault":"500"}`, "doubt", 0},
		"the answer is lost: it stands":              {`{"fault":"lost"}`, "doubt", 1},
		"a wrong token: the queue holds it":          {`{"fault":"invalid_auth","times":9}`, "failed", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTown(t)
			w.do(http.MethodPost, "/sim/slack/next", tt.fault, &struct{}{})
			e := w.ask(yesNo...)
			if tt.state == "sent" {
				w.slack(0)
			}
			if err := w.srv.Idle(t.Context()); err != nil {
				t.Fatal(err)
			}
			var cards []slackMessage
			w.do(http.MethodGet, "/sim/slack/messages", "", &cards)
			if state := w.text("SELECT state FROM outbox WHERE kind = 'escalation.post'"); state != tt.state || len(cards) != tt.cards {
				t.Errorf("the card is %s and stands %d times, want %s and %d", state, len(cards), tt.state, tt.cards)
			}
			if k, err := w.srv.Escalation(t.Context(), "duka", e.ID); err != nil || k.State != llm.CaseOpen {
				t.Errorf("the queue has %+v, %v", k, err)
			}
			if tt.cards > 0 { // wherever it stands, it can be decided
				w.tap(`{}`)
				w.heard(2)
			}
		})
	}
}

func TestACardNeedsSlacksSecrets(t *testing.T) {
	t.Parallel()
	set := config.Config{PublicURL: "http://127.0.0.1", Data: t.TempDir()}
	set.Slack = config.Slack{TokenEnv: "SLACK_BOT_TOKEN", SigningSecretEnv: "SLACK_SIGNING_SECRET"}
	s, err := server.New(t.Context(), server.Config{Settings: set, Logger: slog.New(slog.DiscardHandler), Apps: []app.App{asking(t)}, Secrets: func(name string) string {
		return map[string]string{"DUKA_TOKEN": "a", "DUKA_SECRET": "b"}[name]
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Stop() }()
	def, err := tenant.Parse([]byte(shop + "slack_channel: \"#duka\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Apply(t.Context(), def)
	if fault.CodeOf(err) != fault.Invalid || !strings.Contains(err.Error(), "SLACK_BOT_TOKEN") || !strings.Contains(err.Error(), "SLACK_SIGNING_SECRET") {
		t.Errorf("got %v, want both secrets named", err)
	}
}
