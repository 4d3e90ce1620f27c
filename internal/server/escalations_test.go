package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/ratiba/ratiba/internal/app"
	"github.com/ratiba/ratiba/internal/config"
	"github.com/ratiba/ratiba/internal/db/dbtest"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/server"
	"github.com/ratiba/ratiba/internal/tenant"
)

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
