package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/db/dbtest"
	"github.com/ratiba/ratiba/internal/store"
)

// trialRoles have another model on trial for the classifier.
const trialRoles = `
roles:
  intent_classifier:
    ladder: [{provider: openai, model: gpt-6-luna}]
    canary: {ladder: [{provider: openai, model: gpt-4.1-mini}]}
  slot_extractor: {ladder: [{provider: openai, model: gpt-6-luna}]}
  clarification_rephraser: {ladder: [{provider: openai, model: gpt-6-luna}]}
  answer_shaper: {ladder: [{provider: openai, model: gpt-6-luna}]}
`

// TestAnOperatorTriesAModelAndReplaysWhatItDid runs the commands beside a
// product that serves, on each kind of database.
func TestAnOperatorTriesAModelAndReplaysWhatItDid(t *testing.T) {
	t.Parallel()
	for _, backend := range []string{"embedded", "postgres"} {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			url := ""
			if backend == "postgres" {
				url = dbtest.Postgres(t)
			}
			tryAModel(t, url)
		})
	}
}

func tryAModel(t *testing.T, database string) {
	t.Helper()
	file, data, product := write(t, "kinyozi.yaml", barber), t.TempDir(), freeAddress(t)
	tape := filepath.Join(t.TempDir(), "calls.jsonl")
	world := start(t, secrets(), "sim", "--addr", "127.0.0.1:0", "--product", "http://"+product, "-f", file)
	sim := world.says(`^Simulators: (http://127\.0\.0\.1:[1-9]\d*)/sim/$`)
	c := command{t, append(secrets(), "RATIBA_DATA="+data, "RATIBA_DATABASE_URL="+database, "RATIBA_PUBLIC_URL=http://"+product,
		"RATIBA_LISTEN="+product, "RATIBA_META_URL="+sim+"/graph", "RATIBA_DARAJA_URL="+sim+"/daraja", "RATIBA_OPENAI_URL="+sim+"/openai/v1",
		"RATIBA_ROLES="+write(t, "roles.yaml", trialRoles), "RATIBA_TAPE="+tape, "RATIBA_VERIFY_TOKEN=v", "OPENAI_API_KEY=no-real-key")}
	c.ok("tenant", "apply", "-f", file)
	serving := start(t, c.environ, "serve")
	serving.says(`"event_type":"(server\.started)"`)

	if out := c.ok("rollout", "list"); out != "Nothing was ever on trial.\n" {
		t.Errorf("listed %q", out)
	}
	c.refused(`role "poet" is unknown`, "rollout", "set", "poet", "10")
	c.refused("want 0 to 100", "rollout", "set", "intent_classifier", "101")
	c.refused("experiment", "rollout", "set", "intent_classifier", "10", "--experiment", "a b")
	c.refused("nothing on trial", "rollout", "set", "slot_extractor", "10")
	c.ok("rollout", "set", "intent_classifier", "100", "--experiment", "mini")
	if out := c.ok("rollout", "list"); !regexp.MustCompile(`intent_classifier +100 +mini +20`).MatchString(out) {
		t.Errorf("listed %q", out)
	}
	// Nodes look every five seconds; a conversation keeps the arm it began with.
	first := asksUntil(t, serving, sim, "canary:mini", func(i int) string { return fmt.Sprintf("+2547000001%02d", i) })
	turn := serving.says(`"event_type":"turn\.committed".*"turn_id":"([0-9A-Z]{26})"`)
	c.ok("rollout", "stop", "intent_classifier")
	asksUntil(t, serving, sim, "stable", func(int) string { return first })
	serving.says(`"event_type":"(turn\.committed)"`)

	replayed := func() {
		t.Helper()
		out := c.ok("replay", "kinyozi", turn)
		if !strings.Contains(out, "It is what was committed.") || strings.Contains(out, unclear) || strings.Contains(out, "2547000001") || !strings.Contains(out, "\\u003c42 characters\\u003e") {
			t.Errorf("masked: %s", out)
		}
		if out := c.ok("replay", "kinyozi", turn, "--clear"); !strings.Contains(out, unclear) || !strings.Contains(out, "2547000001") || !strings.Contains(out, `"intent_classifier": "canary:mini"`) {
			t.Errorf("clear: %s", out)
		}
		c.refused("There is no stored turn", "replay", "kinyozi", "01ARZ3NDEKTSV4RRFFQ69G5FAV")
	}
	replayed()
	if out := c.ok("models"); !strings.Contains(out, "intent_classifier (trial)") || !regexp.MustCompile(`(?m)^kinyozi +intent_classifier +(?:[2-9]|[1-3]\d) `).MatchString(out) {
		t.Errorf("models beside a product that serves: %s", out)
	}
	_, out, _ := finish(t, c.environ, "doctor") // it misses a key
	if !strings.Contains(out, "kinyozi, version 1") || strings.Contains(out, "not looked at") {
		t.Errorf("doctor beside a product that serves: %s", out)
	}
	world.stop() // with the connections it keeps
	if status := serving.stop(); status != 0 {
		t.Errorf("stopped with status %d: %s", status, serving.complaints())
	}
	replayed()

	played := c.ok("replay", "--tape", tape)
	if !strings.Contains(played, "gpt-4.1-mini") || !strings.Contains(played, "intent_classifier  ok") || strings.Contains(played, "CHANGED") {
		t.Errorf("tape: %s", played)
	}
	raw, err := os.ReadFile(tape)
	if err != nil {
		t.Fatal(err)
	}
	other := write(t, "other.jsonl", strings.Replace(string(raw), `"max_tokens":`, `"max_tokens":1`, 1))
	c.refused("would ask something else now", "replay", "--tape", other)
	c.refused("Name a business and one of its turns", "replay", "kinyozi")

	spoilt(t, data, database, turn)
	c.refused("replays to another commit", "replay", "kinyozi", turn)
	_, out, _ = finish(t, c.environ, "replay", "kinyozi", turn)
	if !strings.Contains(out, "DIFFERS: the digest") || !strings.Contains(out, "DIFFERS: message.send") {
		t.Errorf("a diff: %s", out)
	}
}

// asksUntil has customers ask what code does not understand until the classifier
// is asked in that arm, and returns who asked last.
func asksUntil(t *testing.T, serving *process, sim, arm string, from func(i int) string) string {
	t.Helper()
	for i := range 20 {
		body := `{"from":"` + from(i) + `","to":"+254711555001","text":"` + unclear + `"}`
		if status, answer := call(t, http.MethodPost, sim+"/sim/whatsapp/inbound", body); status != http.StatusOK {
			t.Fatalf("writing: %d %s", status, answer)
		}
		if serving.says(`"canary_arm":"([^"]+)".*"event_type":"llm\.call".*"role":"intent_classifier"`) == arm {
			return from(i)
		}
		serving.says(`"event_type":"(turn\.committed)"`)
		<-time.After(500 * time.Millisecond)
	}
	t.Fatalf("nobody is asked in the arm %s", arm)
	return ""
}

// spoilt changes what is stored of a turn's commit.
func spoilt(t *testing.T, data, database, turn string) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{Dir: data, URL: database, Node: "test", Alone: true})
	if err != nil {
		t.Fatal(err)
	}
	known, err := s.Tenants(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tenant, err := s.Tenant(known[0].Tenant.ID, "booking")
	if err == nil {
		err = tenant.Write(t.Context(), func(tx db.Tx) error {
			if err := db.Exec(t.Context(), tx, "spoil", "UPDATE outbox SET payload = $2 WHERE turn_id = $1", turn, db.JSON{V: map[string]string{"a": "b"}}); err != nil {
				return err
			}
			return db.Exec(t.Context(), tx, "spoil", "UPDATE turns SET digest = 'another' WHERE id = $1", turn)
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
