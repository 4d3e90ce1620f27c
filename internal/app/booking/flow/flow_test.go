package flow_test

import (
	"flag"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/app/booking/flow"
	"github.com/ratiba/ratiba/internal/wording"
)

var update = flag.Bool("update", false, "write the golden files")

// script is a conversation as it must go, whatever the language.
type script struct {
	name string
	run  func(*talk)
}

// TestConversations runs every script in both languages. Together they take
// every edge of the graph and say every text: what nobody can take or hear does
// not belong there.
func TestConversations(t *testing.T) { //nolint:tparallel // the edges are counted when the group of scripts is done
	t.Parallel()
	edges := &travelled{edges: map[string]bool{}, keys: map[string]bool{}}
	var all []script
	for _, group := range [][]script{bookingScripts, payingScripts, cardScripts, changingScripts, talkingScripts, againScripts, waitlistScripts} {
		all = append(all, group...)
	}
	t.Run("scripts", func(t *testing.T) {
		for _, s := range all {
			for _, lang := range []string{wording.English, wording.Swahili} {
				t.Run(s.name+" ("+lang+")", func(t *testing.T) {
					t.Parallel()
					s.run(newTalk(t, lang, edges))
				})
			}
		}
	})
	if f := flag.Lookup("test.run"); f != nil && strings.Contains(f.Value.String(), "/") {
		return // only some scripts ran
	}
	g, err := flow.New()
	if err != nil {
		t.Fatal(err)
	}
	var missing []string
	for line := range strings.SplitSeq(g.Diagram(), "\n") {
		if line = strings.TrimSpace(line); strings.Contains(line, "-->") && !strings.Contains(line, "[*]") && !edges.edges[line] {
			missing = append(missing, line)
		}
	}
	texts, err := wording.Load(flow.Texts())
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range texts.Keys() {
		if !edges.keys[key] && !strings.HasPrefix(key, "fill.") { // those are said to admins, by no step
			t.Errorf("no conversation says %s", key)
		}
	}
	sort.Strings(missing)
	if len(missing) > 0 {
		t.Errorf("no conversation takes these edges:\n%s", strings.Join(missing, "\n"))
	}
}

func TestDiagramIsTheGoldenOne(t *testing.T) {
	t.Parallel()
	g, err := flow.New()
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "graph.mmd")
	if *update {
		if err := os.WriteFile(golden, []byte(g.Diagram()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), g.Diagram()); diff != "" {
		t.Errorf("the graph is not the drawn one (-update draws it anew):\n%s", diff)
	}
}
