package chaos

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// bookingPackage is the app whose next version is built.
const bookingPackage = "github.com/ratiba/ratiba/internal/app/booking"

// Where in the app's source its version, its checkpoint and its upgrades are.
const (
	versionPattern  = `(?m)^const Version = (\d+)$`
	fieldPattern    = `json:"asked,omitempty"`
	upgradesPattern = `app\.Erase\(g, nil\)`
)

// upgradeSource is what the next version adds: a checkpoint of this version
// calls a field of its state by another name.
const upgradeSource = `package booking

import (
	"encoding/json"
	"fmt"

	"github.com/ratiba/ratiba/internal/graph"
)

func renameAsked(node graph.Name, state json.RawMessage) (graph.Name, json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(state, &fields); err != nil {
		return "", nil, fmt.Errorf("rename: %w", err)
	}
	if asked, ok := fields["asked"]; ok {
		fields["question"] = asked
		delete(fields, "asked")
	}
	out, err := json.Marshal(fields)
	return node, out, err
}
`

// buildNext makes the command as its next version would be: checkpoints have a
// number more and a field of another name, and there is a step that brings the
// old ones forward. The changes lie over the source while it is compiled and
// are nowhere else.
func buildNext(ctx context.Context, o Options) (string, error) {
	dir, err := filepath.Abs(filepath.Join(o.Dir, "next"))
	if err != nil {
		return "", fmt.Errorf("build next version: %w", err)
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", fmt.Errorf("build next version: %w", err)
	}
	found, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", bookingPackage).Output()
	if err != nil {
		return "", fmt.Errorf("find the app's source: %w", err)
	}
	overlay, err := overlayNext(strings.TrimSpace(string(found)), dir)
	if err != nil {
		return "", err
	}
	return compile(ctx, filepath.Join(dir, "ratiba"), "-overlay", overlay)
}

// overlayNext writes the next version's files to dir, and the overlay that
// names them; source is the app's folder.
func overlayNext(source, dir string) (overlay string, err error) {
	n := 0
	raise := func(m string) string {
		old, _ := strings.CutPrefix(m, "const Version = ")
		n, _ = strconv.Atoi(old) // digits, by the pattern
		return fmt.Sprintf("const Version = %d", n+1)
	}
	replace := map[string]string{}
	for _, edit := range []struct {
		file, pattern string
		into          func(string) string
	}{
		{"flow/flow.go", versionPattern, raise},
		{"flow/state.go", fieldPattern, func(string) string { return `json:"question,omitempty"` }},
		{"booking.go", upgradesPattern, func(string) string { return fmt.Sprintf("app.Erase(g, map[int]app.UpgradeStep{%d: renameAsked})", n) }},
	} {
		file := filepath.Join(source, edit.file)
		text, err := os.ReadFile(file) //nolint:gosec // our own source.
		if err != nil {
			return "", fmt.Errorf("build next version: %w", err)
		}
		found := regexp.MustCompile(edit.pattern)
		if hits := len(found.FindAllIndex(text, -1)); hits != 1 {
			return "", fmt.Errorf("build next version: %s has %q %d times, want once", file, edit.pattern, hits)
		}
		out := filepath.Join(dir, filepath.Base(edit.file)+".next")
		if err := os.WriteFile(out, []byte(found.ReplaceAllStringFunc(string(text), edit.into)), 0o600); err != nil { //nolint:gosec // a name of ours in a folder of ours.
			return "", fmt.Errorf("build next version: %w", err)
		}
		replace[file] = out
	}
	added := filepath.Join(dir, "upgrade.go.next")
	replace[filepath.Join(source, "next_version.go")] = added
	raw, err := json.Marshal(map[string]any{"Replace": replace})
	overlay = filepath.Join(dir, "overlay.json")
	err = errors.Join(err, os.WriteFile(added, []byte(upgradeSource), 0o600), os.WriteFile(overlay, raw, 0o600))
	return overlay, err
}

// Where in a run the nodes are replaced: the first when this part of the time is
// over, the last when that is, so that both versions serve together in between.
const firstRenewal, lastRenewal = 0.4, 0.6

// renewals are the planned replacements of a run.
func renewals(o Options) []death {
	if !o.Upgrade {
		return nil
	}
	out := make([]death, o.Nodes)
	for i := range out {
		at := (firstRenewal + lastRenewal) / 2
		if o.Nodes > 1 {
			at = firstRenewal + (lastRenewal-firstRenewal)*float64(i)/float64(o.Nodes-1)
		}
		out[i] = death{after: time.Duration(at * float64(o.For)), node: i, renews: true}
	}
	return out
}

// renew asks a node to stop and starts the next version in its place.
func (c *cluster) renew(ctx context.Context, node int) error {
	c.mu.Lock()
	p := c.running[node]
	c.mu.Unlock()
	s := c.stopNode(node, p)
	c.mu.Lock()
	c.binaries[node] = c.next
	c.mu.Unlock()
	if err := c.start(ctx, node); err != nil {
		return err
	}
	c.o.Say("node %d was asked to stop, gone after %v, and is of the next version after %v", node+1,
		s.Took.Round(time.Millisecond), c.real.Now().Sub(s.At).Round(time.Millisecond))
	return nil
}

// Stop is a process that was asked to stop.
type Stop struct {
	Node int // from 0
	At   time.Time
	Took time.Duration
	Err  string // how it ended when not well
}

// stopLimit is how long a process may take to be gone.
const stopLimit = 10 * time.Second

// Handover is a chat that a node gave to a person because the state was of a
// version it does not read.
type Handover struct {
	Node int // from 0
	What string
}

// unreadableMark is in the event of such a hand-over.
const unreadableMark = "the conversation is of another version"

// handovers finds them in what the nodes logged.
func handovers(o Options) (found []Handover, err error) {
	for node := range o.Nodes {
		f, err := os.Open(logFile(o.Dir, node))
		if err != nil {
			return nil, fmt.Errorf("read log: %w", err)
		}
		lines := bufio.NewReader(f)
		for err == nil {
			var line []byte
			line, err = lines.ReadBytes('\n')
			if bytes.Contains(line, []byte(unreadableMark)) && bytes.Contains(line, []byte("handoff.triggered")) {
				found = append(found, Handover{Node: node, What: string(bytes.TrimSpace(line))})
			}
		}
		if err = errors.Join(f.Close(), notEnd(err)); err != nil {
			return nil, fmt.Errorf("read log: %w", err)
		}
	}
	return found, nil
}

func notEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// versions checks that no chat came to a node that cannot read it, and that who
// was asked to stop did. From the first replacement on a node of the next
// version lives or is back in seconds, and only such nodes write what the
// others cannot read: no such hand-over has an excuse.
func (a *audit) versions() {
	for _, h := range a.e.Handovers {
		a.find(Unread, "", "node %d gave a chat to a person that another node could read: %s", h.Node+1, h.What)
	}
	for _, s := range a.e.Stops {
		switch {
		case s.Took > stopLimit:
			a.find(Lingering, "", "node %d was asked to stop at %s and was gone after %v", s.Node+1, stamp(s.At), s.Took.Round(time.Millisecond))
		case s.Err != "":
			a.find(Lingering, "", "node %d was asked to stop at %s and did not end well: %s", s.Node+1, stamp(s.At), s.Err)
		}
	}
}
