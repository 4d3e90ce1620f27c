package chaos

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTheNextVersionIsOneMore keeps the overlay true to the source it lies over.
func TestTheNextVersionIsOneMore(t *testing.T) {
	t.Parallel()
	source, err := filepath.Abs("../app/booking")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, err := overlayNext(source, dir)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var overlay struct {
		Replace map[string]string `json:"Replace"` //nolint:tagliatelle // as go build reads it.
	}
	if err := json.Unmarshal(raw, &overlay); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"flow/flow.go": "const Version = ", "flow/state.go": `json:"question,omitempty"`, "booking.go": "map[int]app.UpgradeStep{",
		"next_version.go": "func renameAsked",
	} {
		file := filepath.Join(source, name)
		next, err := os.ReadFile(overlay.Replace[file])
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(next), want) {
			t.Errorf("the next version of %s lacks %q", name, want)
		}
		if now, err := os.ReadFile(file); err == nil && string(now) == string(next) {
			t.Errorf("the next version of %s is this one", name)
		}
	}
	if _, err := overlayNext(dir, t.TempDir()); err == nil {
		t.Error("a folder without the app has a next version")
	}
}

func TestEveryNodeIsRenewedWhileOthersAreKilled(t *testing.T) {
	t.Parallel()
	o := Options{For: time.Minute, Kills: 40, Nodes: 2, Seed: 7, Upgrade: true}
	renewed, between := map[int]int{}, 0
	for _, d := range deaths(o) {
		switch {
		case d.renews:
			renewed[d.node]++
		case len(renewed) == 1:
			between++
		}
	}
	if renewed[0] != 1 || renewed[1] != 1 || between == 0 {
		t.Errorf("renewed %v, %d kills between", renewed, between)
	}
}

func TestHandOversAreFoundInTheLog(t *testing.T) {
	t.Parallel()
	o := Options{Dir: t.TempDir(), Nodes: 2}
	for node, text := range []string{
		`{"detail":"the customer asked for a person","event_type":"handoff.triggered"}` + "\n",
		`{"detail":"` + unreadableMark + `: newer","event_type":"handoff.triggered"}` + "\n" + `{"detail":"` + unreadableMark,
	} {
		if err := os.WriteFile(logFile(o.Dir, node), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, err := handovers(o)
	if err != nil || len(found) != 1 || found[0].Node != 1 {
		t.Errorf("found %v, %v, want one of the second node", found, err)
	}
}
