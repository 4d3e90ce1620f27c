package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/ratiba/ratiba/internal/db/dbtest"
)

// Every timer of every open handoff fires once, though the process that fires
// them ends halfway, by itself or by a kill.
func TestBenchTimersFireOnceAcrossARestart(t *testing.T) { //nolint:tparallel // each row is a process that keeps time
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{ //nolint:paralleltest // as above
		"stopped":                        {"--window", "1s"},
		"killed":                         {"--window", "1s", "--kill"},
		"a part of a longer window":      {"--window", "60s", "--run", "1s"},
		"stopped, over one on a network": {"--window", "1s", "--store", "postgres", "--dsn", "?"},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"bench", "timers", "--count", "60", "--tenants", "2", "--json", "--data", t.TempDir()}, args...)
			if args[len(args)-1] == "?" {
				args[len(args)-1] = dbtest.Postgres(t)
			}
			cmd := exec.CommandContext(t.Context(), self, args...)
			cmd.Env = append(os.Environ(), asCommand+"=1")
			var said bytes.Buffer
			cmd.Stderr = &said
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v: %s %s", err, out, said.String())
			}
			var figures map[string]float64
			if err := json.Unmarshal(out, &figures); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			want := 60.0
			if name == "a part of a longer window" {
				want = 1
			}
			if figures["timers"] != want || figures["handoffs"] != 60 || figures["restart_s"] <= 0 {
				t.Errorf("got %v, want %v timers", figures, want)
			}
		})
	}
}
