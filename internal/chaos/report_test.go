package chaos_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/chaos"
)

func TestTheTableTellsEveryColumn(t *testing.T) {
	t.Parallel()
	sound := chaos.Report{
		Options: chaos.Options{Store: chaos.Embedded, Nodes: 1, Seed: 7, For: time.Minute, Rate: 2.5, Tenants: 16}, Kills: 24, Settled: true,
		Findings: []chaos.Finding{{Column: chaos.Unavoidable, Business: "spa", What: "send o1"}},
	}
	faulty := chaos.Report{
		Options: chaos.Options{Store: chaos.PostgreSQL, Nodes: 2, Kills: 9, Seed: 8, Outages: chaos.Outages{Redis: true}}, Settled: true,
		Load:     chaos.Load{Stalled: []string{"customer 3"}},
		Findings: []chaos.Finding{{Column: chaos.MoneyLost, Business: "spa", What: "a | b"}},
	}
	text := chaos.Markdown("Kills under load", []chaos.Report{sound, faulty})
	for _, want := range []string{
		"# Kills under load\n", "| counted | SQLite, 1 process | PostgreSQL, 2 processes |", "| payments lost | 0 | 1 |", "| unavoidable | 1 | 0 |",
		"| kills | 24 | 0 |", `make chaos CHAOS="-store sqlite -nodes 1 -for 1m0s -kills -1 -rate 2.5 -tenants 16 -seed 7"`, "-redis-outage",
		"| payments lost | spa | a / b |", "no answer: customer 3",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
	for _, c := range chaos.Columns() {
		if strings.Count(text, "| "+string(c)+" | ") < 1 {
			t.Errorf("the table lacks %s", c)
		}
	}
	unsettled := sound
	unsettled.Settled = false
	for _, tt := range []struct {
		name string
		r    chaos.Report
		want bool
	}{{"only what is unavoidable", sound, true}, {"a finding", faulty, false}, {"not settled", unsettled, false}} {
		if tt.r.Sound() != tt.want {
			t.Errorf("%s: sound is %v", tt.name, tt.r.Sound())
		}
	}
}
