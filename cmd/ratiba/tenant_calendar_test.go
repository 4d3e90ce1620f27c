package main

import (
	"strings"
	"testing"
)

// The office works without a serving process as well.
func TestTheOfficesCommands(t *testing.T) {
	t.Parallel()
	c := shell(t)
	c.ok("tenant", "apply", "-f", write(t, "kinyozi.yaml", barber))
	out := c.ok("tenant", "calendar", "block", "kinyozi", "--from", "2030-12-24 13:00", "--to", "2030-12-26", "--note", "Christmas")
	_, id, _ := strings.Cut(out, `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	if !strings.Contains(out, `"from":"2030-12-24 13:00","to":"2030-12-27 00:00"`) || !strings.Contains(out, "audit.config.changed") {
		t.Errorf("blocking said %q", out)
	}
	if out := c.ok("tenant", "calendar", "blocks", "kinyozi"); !strings.Contains(out, id) || !strings.Contains(out, "Christmas") {
		t.Errorf("blocked: %q", out)
	}
	c.ok("tenant", "calendar", "unblock", "kinyozi", id)
	c.refused("no such blocked time", "tenant", "calendar", "unblock", "kinyozi", id)
	c.refused("no such booking", "tenant", "calendar", "no-show", "kinyozi", "ABC234")
	c.refused("There is no business", "tenant", "calendar", "blocks", "nowhere")
	if out := c.ok("tenant", "calendar", "link", "kinyozi", "juma"); !strings.Contains(out, `"url":"https://bookings.example/ics/`) {
		t.Errorf("the link is %q", out)
	}
}
