package tool_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/tool"
)

// A new tool compiles, passes every check of the registry, and its own test
// fails for the one reason that it does nothing yet. It is laid over the tree,
// which stays as it is.
func TestANewToolPassesTheChecksAndFailsItsTest(t *testing.T) {
	t.Parallel()
	files, err := tool.Scaffold("water_plants", "booking")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.Abs("../app/booking/tools/water_plants")
	if err != nil {
		t.Fatal(err)
	}
	drafts := t.TempDir()
	overlay := map[string]map[string]string{"Replace": {}}
	for name, text := range files {
		at := filepath.Join(drafts, name)
		if err := os.WriteFile(at, text, 0o600); err != nil {
			t.Fatal(err)
		}
		overlay["Replace"][filepath.Join(dir, name)] = at
	}
	raw, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(drafts, "overlay.json")
	if err := os.WriteFile(list, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(drafts, "water_plants.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-overlay", list, "-o", program, "github.com/ratiba/ratiba/internal/app/booking/tools/water_plants")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("it does not compile: %v\n%s", err, said)
	}
	run := exec.CommandContext(t.Context(), program)
	run.Dir = drafts
	said, err := run.CombinedOutput()
	if err == nil || !strings.Contains(string(said), "not_written") || !strings.Contains(string(said), "want what the tool is for") {
		t.Errorf("its test said: %v\n%s", err, said)
	}
}

func TestANewToolIsOneTheRegistryTakes(t *testing.T) {
	t.Parallel()
	type args struct {
		Subject string `json:"subject"`
	}
	files, err := tool.Scaffold("water_plants", "booking")
	if err != nil {
		t.Fatal(err)
	}
	r, err := tool.NewRegistry(tool.Tool{
		Definition: files["definition.json"], Metadata: files["metadata.yaml"], Args: args{},
		Handler: tool.Typed(func(context.Context, tool.Env, args) (graph.Result, error) { return tool.OK(nil) }),
	})
	if err != nil || strings.Join(r.Names(), " ") != "water_plants" {
		t.Error(err)
	}
	for _, bad := range []string{"", "Water", "water plants", "../x", "water__plants", strings.Repeat("x", 65)} {
		if _, err := tool.Scaffold(bad, "booking"); err == nil {
			t.Errorf("%q became a tool", bad)
		}
	}
}
