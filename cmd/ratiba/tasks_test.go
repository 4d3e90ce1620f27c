package main

import "testing"

// With nobody serving, the command opens the data itself.
func TestTasksByCommand(t *testing.T) {
	t.Parallel()
	c := shell(t)
	c.ok("tenant", "apply", "-f", write(t, "kinyozi.yaml", barber))
	if out := c.ok("tasks", "list", "kinyozi", "--json"); out != "{\"next\":\"\",\"tasks\":[]}\n" {
		t.Errorf("an empty list is %q", out)
	}
	c.refused("no business", "tasks", "list", "nowhere")
	c.refused("no such task", "tasks", "take", "kinyozi", "t1", "--by", "Juma")
	c.refused("no such task", "tasks", "done", "kinyozi", "t1", "--by", "Juma")
	c.refused("open, taken or done", "tasks", "list", "kinyozi", "--state", "lost")
}
