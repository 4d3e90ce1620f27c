package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestBenchPrintsFigures(t *testing.T) {
	t.Parallel()
	status, out, errOut := finish(t, nil, "bench", "turn", "--json", "--seconds", "1", "--tenants", "1", "--contacts", "2", "--data", t.TempDir())
	if status != 0 {
		t.Fatalf("status %d: %s", status, errOut)
	}
	var figures map[string]float64
	if err := json.Unmarshal([]byte(out), &figures); err != nil {
		t.Fatalf("not one JSON object: %v\n%s", err, out)
	}
	for _, name := range []string{"turns_per_s", "half_turn_p99_ms", "ack_p99_ms", "conversations"} {
		if _, ok := figures[name]; !ok {
			t.Errorf("%s is missing: %s", name, out)
		}
	}
	status, out, errOut = finish(t, nil, "bench", "start", "--tenants", "2", "--data", t.TempDir())
	if status != 0 || !strings.Contains(out, "start_ms") {
		t.Errorf("status %d: %s%s", status, out, errOut)
	}
	if status, _, errOut = finish(t, nil, "bench", "turn", "--store", "postgres"); status != 1 || !strings.Contains(errOut, "--dsn") {
		t.Errorf("PostgreSQL without its URL: status %d: %s", status, errOut)
	}
}
