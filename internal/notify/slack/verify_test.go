package slack_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/notify/slack"
)

var noon = time.Date(2026, 4, 25, 9, 0, 0, 0, time.UTC)

func sign(secret, timestamp, body string) string {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte("v0:" + timestamp + ":" + body))
	return "v0=" + hex.EncodeToString(m.Sum(nil))
}

func TestWhoMayDecide(t *testing.T) {
	t.Parallel()
	at := func(d time.Duration) string { return strconv.FormatInt(noon.Add(d).Unix(), 10) }
	const body = "payload=%7B%7D"
	good := sign("s", at(0), body)
	tests := map[string]struct {
		secret, timestamp, signature, body string
		ok                                 bool
	}{
		"Slack":                 {"s", at(0), good, body, true},
		"five minutes ago":      {"s", at(-5 * time.Minute), sign("s", at(-5*time.Minute), body), body, true},
		"longer ago":            {"s", at(-301 * time.Second), sign("s", at(-301*time.Second), body), body, false},
		"from tomorrow":         {"s", at(301 * time.Second), sign("s", at(301*time.Second), body), body, false},
		"another secret":        {"s", at(0), sign("z", at(0), body), body, false},
		"another body":          {"s", at(0), good, body + " ", false},
		"another time":          {"s", at(time.Second), good, body, false},
		"no signature":          {"s", at(0), "", body, false},
		"no version":            {"s", at(0), strings.TrimPrefix(good, "v0="), body, false},
		"half of it":            {"s", at(0), good[:20], body, false},
		"no hexadecimal":        {"s", at(0), "v0=zz", body, false},
		"no timestamp":          {"s", "", sign("s", "", body), body, false},
		"no number":             {"s", "now", sign("s", "now", body), body, false},
		"a number without end":  {"s", strings.Repeat("9", 30), sign("s", strings.Repeat("9", 30), body), body, false},
		"a year far away":       {"s", "9223372036854775807", sign("s", "9223372036854775807", body), body, false},
		"an empty secret signs": {"", at(0), sign("", at(0), body), body, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := slack.Verify(tt.secret, tt.timestamp, tt.signature, []byte(tt.body), noon)
			if (err == nil) != tt.ok || err != nil && fault.CodeOf(err) != fault.Unauthorized {
				t.Errorf("got %v, want ok %t", err, tt.ok)
			}
		})
	}
}

// payload is a tap as Slack posts it.
const payload = `{"type":"block_actions","user":{"id":"U1","username":"kamau","name":"kamau","team_id":"T1"},"api_app_id":"A1","trigger_id":"1.2.x",
	"container":{"type":"message","message_ts":"17.5","channel_id":"C1"},"team":{"id":"T1","domain":"d"},"channel":{"id":"C1","name":"ops"},
	"message":{"type":"message","ts":"17.5","text":"x"},"response_url":"https://hooks.slack.com/x",
	"actions":[{"type":"button","action_id":"decide:1","block_id":"decide_0","value":"{\"t\":\"01T\",\"e\":\"e1\",\"c\":1}","action_ts":"18.0"}]}`

func form(payload string) []byte { return []byte(url.Values{"payload": {payload}}.Encode()) }

func TestATapIsRead(t *testing.T) {
	t.Parallel()
	got, ours, err := slack.ParseTap(form(payload))
	want := slack.Tap{
		Tenant: "01T", Escalation: "e1", Choice: 1, Place: llm.Place{Channel: "C1", Message: "17.5"}, User: "U1", Name: "kamau (U1)", Key: "U1:18.0",
	}
	if err != nil || !ours || got != want {
		t.Errorf("got %+v, ours %t, %v; want %+v", got, ours, err, want)
	}
	change := func(old, by string) []byte { return form(strings.Replace(payload, old, by, 1)) }
	for name, tt := range map[string]struct {
		body []byte
		ours bool
		code fault.Code
	}{
		"a view":                  {change("block_actions", "view_submission"), false, ""},
		"another app's button":    {change("decide:1", "open"), false, ""},
		"no actions":              {form(`{"type":"block_actions","actions":[]}`), false, ""},
		"no JSON":                 {form("hello"), false, fault.Invalid},
		"no form":                 {[]byte(payload), false, fault.Invalid},
		"a broken form":           {[]byte("payload=%zz"), false, fault.Invalid},
		"two payloads":            {append(form(payload), "&payload=%7B%7D"...), false, fault.Invalid},
		"nothing":                 {nil, false, fault.Invalid},
		"a value of nobody":       {change(`{\"t\":\"01T\",\"e\":\"e1\",\"c\":1}`, "yes"), false, fault.Invalid},
		"no escalation":           {change(`\"e\":\"e1\"`, `\"e\":\"\"`), false, fault.Invalid},
		"an endless escalation":   {change(`\"e\":\"e1\"`, `\"e\":\"`+strings.Repeat("e", 200)+`\"`), false, fault.Invalid},
		"nobody":                  {change(`"id":"U1"`, `"id":""`), false, fault.Invalid},
		"a choice that is a word": {change(`\"c\":1`, `\"c\":\"one\"`), false, fault.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, ours, err := slack.ParseTap(tt.body); ours != tt.ours || fault.CodeOf(err) != tt.code {
				t.Errorf("ours %t, %v; want %t, %s", ours, err, tt.ours, tt.code)
			}
		})
	}
}

func FuzzParseTap(f *testing.F) {
	f.Add(form(payload))
	f.Add([]byte("payload=%7B"))
	f.Fuzz(func(t *testing.T, body []byte) {
		tap, ours, err := slack.ParseTap(body)
		if ours && (err != nil || tap.Escalation == "" || tap.User == "" || tap.Name == "" || strings.ContainsAny(tap.Name, "\n\r") || len(tap.Name) > 600) {
			t.Errorf("%+v, %v", tap, err)
		}
	})
}
