package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratiba/ratiba/internal/doctor"
)

func sound(t *testing.T) []string {
	t.Helper()
	return []string{
		"RATIBA_PUBLIC_URL=https://ratiba.example", "RATIBA_VERIFY_TOKEN=v", "OPENAI_API_KEY=k", "ANTHROPIC_API_KEY=k",
		"RATIBA_DATA=" + filepath.Join(t.TempDir(), "data"),
	}
}

func TestDoctorSaysByItsExitStatusWhetherAnythingFails(t *testing.T) {
	t.Parallel()
	status, out, errOut := finish(t, sound(t), "doctor")
	if status != 0 || errOut != "" || !strings.Contains(out, "ok    configuration: https://ratiba.example\n") {
		t.Errorf("sound: %d\n%s%s", status, out, errOut)
	}
	status, out, _ = finish(t, append(sound(t), "OPENAI_API_KEY="), "doctor", "--json")
	var r doctor.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	if status != 1 || !r.Failed() {
		t.Errorf("without a key: %d, %+v", status, r)
	}
}

func TestModelsAreListed(t *testing.T) {
	t.Parallel()
	status, out, errOut := finish(t, sound(t), "models")
	if status != 0 || !strings.Contains(out, "openai gpt-6-luna") || !strings.Contains(out, "a person") || !strings.Contains(out, "no business is defined yet") {
		t.Errorf("%d\n%s%s", status, out, errOut)
	}
	status, out, _ = finish(t, sound(t), "models", "--json")
	var l doctor.Listing
	if err := json.Unmarshal([]byte(out), &l); err != nil || status != 0 || len(l.Roles) == 0 {
		t.Errorf("%d, %v: %s", status, err, out)
	}
}
