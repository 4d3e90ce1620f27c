package main

import (
	"strings"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/store"
)

// post puts an escalation into the queue of a business.
func post(t *testing.T, dir, slug string, e llm.Escalation) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	reg, err := s.Find(t.Context(), slug)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := s.Tenant(reg.Tenant.ID, "booking")
	if err == nil {
		_, err = rows.PostEscalation(t.Context(), e, false, e.At)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestEscalationsAreDecidedByCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := shell(t, append(secrets(), "RATIBA_DATA="+dir, "USER=rehema")...)
	c.ok("tenant", "apply", "-f", write(t, "kinyozi.yaml", barber))
	if out := c.ok("escalations", "list", "kinyozi"); out != "None.\n" {
		t.Errorf("nothing was asked: %q", out)
	}
	post(t, dir, "kinyozi", llm.Escalation{
		ID: "e1", Role: llm.ProcedureStep, Cause: llm.CauseUnsure, At: time.Date(2036, 4, 25, 9, 0, 0, 0, time.UTC),
		Card:     llm.Card{Title: "Refund?", Question: "odd\x1b[2J\u202etext", Choices: []llm.Choice{{ID: "yes", Label: "Refund her"}}},
		Messages: []llm.Message{{Role: llm.User, Content: "money back"}},
	})
	for _, out := range []string{c.ok("escalations", "list", "kinyozi"), c.ok("escalations", "show", "kinyozi", "e1")} {
		if !strings.Contains(out, "Refund?") || !strings.Contains(out, "below_threshold") || strings.ContainsAny(out, "\x1b\u202e") {
			t.Errorf("it is told as %q", out)
		}
	}
	c.refused("Decide for one of: yes", "escalations", "decide", "kinyozi", "e1", "--choice", "no")
	c.refused("No such escalation", "escalations", "decide", "kinyozi", "e2", "--choice", "yes")
	c.refused("no business", "escalations", "list", "nobody")
	if out := c.ok("escalations", "decide", "kinyozi", "e1", "--choice", "yes"); !strings.HasSuffix(out, "Decided: Refund her\n") {
		t.Errorf("deciding said %q", out)
	}
	c.refused("rehema has decided already: Refund her", "escalations", "decide", "kinyozi", "e1", "--choice", "yes", "--by", "juma")
	if out := c.ok("escalations", "show", "kinyozi", "e1"); !strings.Contains(out, "Refund her, by rehema") {
		t.Errorf("then it reads %q", out)
	}
	if out := c.ok("escalations", "list", "kinyozi", "--state", "all", "--json"); !strings.Contains(out, `"state":"decided"`) {
		t.Errorf("as JSON it reads %q", out)
	}
}
