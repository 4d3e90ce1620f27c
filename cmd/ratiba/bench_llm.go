package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/bench"
)

type benchLLMCmd struct {
	JSON      bool   `name:"json" help:"Print one JSON object, the figures by name."`
	Calls     int    `help:"Calls of each client in a round." default:"500"`
	Crowd     int    `help:"Calls of each of the 64 that call at once, in a round." default:"30"`
	Rounds    int    `help:"Rounds; figures are medians over them." default:"11"`
	Peers     bool   `help:"Measure Bifrost core and the vendors' libraries as well. Builds them, which downloads them."`
	PeersDir  string `help:"Folder of the peers' program." default:"bench/llmpeers" type:"path"`
	PeersInto string `help:"Folder to build it into." default:"build" type:"path"`
}

// Run implements the command.
func (c *benchLLMCmd) Run(ctx context.Context, w *world) (err error) {
	opt := bench.LLMOptions{Calls: c.Calls, CrowdCalls: c.Crowd, Rounds: c.Rounds, Progress: func(format string, args ...any) {
		if !c.JSON {
			_, _ = fmt.Fprintf(w.out, format+"\n", args...)
		}
	}}
	for _, u := range []struct {
		delay time.Duration
		url   *string
	}{{0, &opt.Fast}, {bench.SlowUpstream, &opt.Slow}} {
		stop, err := upstream(ctx, u.delay, u.url)
		if err != nil {
			return err
		}
		defer stop()
	}
	if c.Peers {
		opt.Peers = &bench.LLMPeers{Source: c.PeersDir, Build: c.PeersInto}
	}
	r, err := bench.LLM(ctx, opt)
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(w.out).Encode(r.Map())
	}
	_, err = fmt.Fprint(w.out, "\n"+r.Table())
	return err
}

// upstream runs benchUpstreamCmd in a process of its own.
func upstream(ctx context.Context, delay time.Duration, url *string) (stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, "bench", "llm-upstream", "--delay", delay.String()) //nolint:gosec // this program.
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("run the upstream: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("run the upstream: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("run the upstream: %w", err)
	}
	stop = func() { _ = errors.Join(in.Close(), cmd.Wait()) } // it has served its purpose
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		return nil, fmt.Errorf("run the upstream: %w", err)
	}
	*url = strings.TrimSpace(line)
	return stop, nil
}

type benchUpstreamCmd struct {
	Delay time.Duration `help:"How long each answer takes."`
}

// Run serves until standard input ends. Its first line is the address.
func (c *benchUpstreamCmd) Run(ctx context.Context, w *world) error {
	l, err := listen(ctx, "127.0.0.1:0")
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: bench.Upstream(c.Delay), ReadHeaderTimeout: time.Minute}
	if _, err := fmt.Fprintf(w.out, "http://%s\n", l.Addr()); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = srv.Close()
	}()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}
