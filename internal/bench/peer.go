package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ratiba/ratiba/internal/fault"
)

// Peer says where the same conversation on LangGraph.js is, and where its
// dependencies may be installed.
type Peer struct {
	Source string // the folder with package.json, its lock file and the program
	Build  string // a folder for the installed copy
}

// peerContacts is how many customers write to one process of the peer at the
// same time: enough that it never waits for them.
const peerContacts = 32

// peerTime bounds what the peer may take beside the measured span: to start, to
// warm up and to end its conversations.
const peerTime = 3 * time.Minute

// peerRun is how the peer is run: with which durability, in how many processes.
type peerRun struct {
	durability string
	processes  int
}

// peerResult is what one process of the peer prints.
type peerResult struct {
	TurnsPerS      float64 `json:"turns_per_s"`
	P50            float64 `json:"p50_ms"`
	P99            float64 `json:"p99_ms"`
	Turns          int     `json:"turns"`
	Conversations  int     `json:"conversations"`
	CheckpointRows int     `json:"checkpoint_rows"`
}

// measure installs the peer if need be and adds its figures, and the ratio of
// ours to the best of its processes.
func (p Peer) measure(ctx context.Context, opt Options, r *Report) error {
	if opt.DSN == "" {
		return fault.E(fault.Invalid, "The peer keeps its checkpoints in PostgreSQL: give --dsn.")
	}
	if err := p.install(ctx, opt); err != nil {
		return err
	}
	ours := r.Value("turns_per_s")
	for _, durability := range []string{"default", "exit"} {
		best := 0.0
		for _, processes := range []int{1, 2} {
			opt.Progress("the peer, durability %s, in %d processes for %s", durability, processes, opt.Span)
			res, err := p.run(ctx, opt, peerRun{durability, processes})
			if err != nil {
				return err
			}
			name := fmt.Sprintf("peer_%s_%d", durability, processes)
			r.add(name+"_turns_per_s", round(res.TurnsPerS), fmt.Sprintf("LangGraph.js, durability %s, processes: %d", durability, processes))
			r.add(name+"_turn_p50_ms", round(res.P50), "at full speed")
			r.add(name+"_turn_p99_ms", round(res.P99), "")
			r.add(name+"_checkpoint_rows_per_turn", round(float64(res.CheckpointRows)/float64(res.Turns)), "")
			best = max(best, res.TurnsPerS)
		}
		r.add("ratio_to_peer_"+durability, round(ours/best), "ours at full speed to the better of the peer's two")
	}
	_, err := p.node(ctx, opt, peerTime, "--drop")
	return err
}

// install copies the peer to its build folder and has npm install exactly what
// the lock file names, unless that is there already.
func (p Peer) install(ctx context.Context, opt Options) error {
	lock, err := os.ReadFile(filepath.Join(p.Source, "package-lock.json"))
	if err != nil {
		return fault.Wrap(err, fault.NotFound, "The peer is not there: run this in the project's folder, or name the peer's with --peer-dir.")
	}
	if err := os.MkdirAll(p.Build, 0o755); err != nil { //nolint:gosec // a build folder holds no secret.
		return fmt.Errorf("install the peer: %w", err)
	}
	installed, _ := os.ReadFile(filepath.Join(p.Build, "installed-lock.json"))
	for _, name := range []string{"package.json", "package-lock.json", "graph.mjs", "peer.mjs"} {
		raw, err := os.ReadFile(filepath.Join(p.Source, name)) //nolint:gosec // who runs the bench names the folder.
		if err == nil {
			err = os.WriteFile(filepath.Join(p.Build, name), raw, 0o644) //nolint:gosec // as above.
		}
		if err != nil {
			return fmt.Errorf("install the peer: %w", err)
		}
	}
	if bytes.Equal(installed, lock) {
		return nil
	}
	opt.Progress("installing the peer into %s: npm ci downloads what %s/package-lock.json names", p.Build, p.Source)
	npm := exec.CommandContext(ctx, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	npm.Dir = p.Build
	if out, err := npm.CombinedOutput(); err != nil {
		return fault.Wrap(err, fault.Unavailable, "npm ci in "+p.Build+" failed: "+strings.TrimSpace(string(out)))
	}
	return os.WriteFile(filepath.Join(p.Build, "installed-lock.json"), lock, 0o644) //nolint:gosec // as above.
}

// run measures the peer in an emptied schema and adds its processes up: their
// turns, and the worst of their durations.
func (p Peer) run(ctx context.Context, opt Options, run peerRun) (sum peerResult, err error) {
	if _, err := p.node(ctx, opt, peerTime, "--setup"); err != nil {
		return sum, err
	}
	results, errs := make([]peerResult, run.processes), make([]error, run.processes)
	var processes sync.WaitGroup
	for i := range results {
		processes.Go(func() {
			results[i], errs[i] = p.node(ctx, opt, peerTime+opt.Span, "--durability", run.durability, "--seconds", strconv.Itoa(int(opt.Span.Seconds())),
				"--contacts", strconv.Itoa(peerContacts), "--tenants", strconv.Itoa(opt.Tenants), "--process", strconv.Itoa(i),
				"--connections", strconv.Itoa(connections/run.processes))
		})
	}
	processes.Wait()
	if err := errors.Join(errs...); err != nil {
		return sum, err
	}
	for _, res := range results {
		sum.TurnsPerS += res.TurnsPerS
		sum.P50, sum.P99 = max(sum.P50, res.P50), max(sum.P99, res.P99)
		sum.Turns += res.Turns
		sum.Conversations += res.Conversations
		sum.CheckpointRows += res.CheckpointRows
	}
	if sum.TurnsPerS == 0 || sum.Turns != sum.Conversations*turnsPer {
		return sum, fmt.Errorf("the peer answered %d turns in %d conversations, want %d each, and some of them within the span", sum.Turns, sum.Conversations, turnsPer)
	}
	return sum, nil
}

// node runs the peer's program and reads the one line it prints.
func (p Peer) node(ctx context.Context, opt Options, limit time.Duration, args ...string) (res peerResult, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", append([]string{"peer.mjs"}, args...)...) //nolint:gosec // our own program with numbers.
	cmd.Dir = p.Build
	cmd.Env = append(cmd.Environ(), "PEER_DSN="+opt.DSN, "LANGSMITH_TRACING=false", "LANGCHAIN_TRACING_V2=false", "NODE_ENV=production")
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &res)
	}
	if err != nil {
		return res, errors.Join(fmt.Errorf("the peer: %w", err), errors.New(strings.TrimSpace(complaint.String())))
	}
	return res, nil
}
