package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/ratiba/ratiba/internal/bench/lap"
)

// LLMPeers says where the peers' program is, a Go module of its own, and where
// it may be built. Building it downloads the peers.
type LLMPeers struct {
	Source string
	Build  string // a folder
}

// llmPeerNotes are the peers by the names of their clients.
func llmPeerNotes() map[string]string {
	return map[string]string{
		"bifrost":       "Bifrost core, no plugin",
		"openai_sdk":    "OpenAI's library, retries off",
		"anthropic_sdk": "Anthropic's library, retries off, on its own wire",
	}
}

// start builds the peers and runs them until stop.
func (p LLMPeers) start(ctx context.Context, s lap.Setup, say func(string, ...any)) (_ *lap.Remote, stop func() error, err error) {
	binary, err := filepath.Abs(filepath.Join(p.Build, "llmpeers"))
	if err != nil {
		return nil, nil, fmt.Errorf("build the peers: %w", err)
	}
	say("building the peers in %s", p.Source)
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, ".") //nolint:gosec // the operator names the folder.
	build.Dir = p.Source
	if said, err := build.CombinedOutput(); err != nil {
		return nil, nil, fmt.Errorf("build the peers in %s: %w\n%s", p.Source, err, bytes.TrimSpace(said))
	}
	cmd := exec.CommandContext(ctx, binary) //nolint:gosec // what was built.
	var said bytes.Buffer
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, fmt.Errorf("run the peers: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, fmt.Errorf("run the peers: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, fmt.Errorf("run the peers: %w", err)
	}
	stop = func() error {
		if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
			return fmt.Errorf("the peers: %w\n%s", err, bytes.TrimSpace(said.Bytes()))
		}
		return nil
	}
	remote, err := lap.Dial(in, out, s)
	if err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	return remote, stop, nil
}
