package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
)

// startTime bounds how long a process may take to get ready, stopTime how long
// it may take to stop when asked.
const (
	startTime = 60 * time.Second
	stopTime  = 40 * time.Second
)

// build makes the command under test, without the race detector.
func build(ctx context.Context, o Options) (string, error) {
	if o.Binary != "" {
		return filepath.Abs(o.Binary)
	}
	out, err := filepath.Abs(filepath.Join(o.Dir, "ratiba"))
	if err != nil {
		return "", fmt.Errorf("build: %w", err)
	}
	return compile(ctx, out)
}

// compile builds the command with more flags.
func compile(ctx context.Context, out string, flags ...string) (string, error) {
	args := append([]string{"build", "-o", out}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, "github.com/ratiba/ratiba/cmd/ratiba")...) //nolint:gosec // our own command.
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w: %s", err, said)
	}
	return out, nil
}

func versionOf(ctx context.Context, binary string) (string, error) {
	said, err := exec.CommandContext(ctx, binary, "version").Output()
	if err != nil {
		return "", fmt.Errorf("ask for the version: %w", err)
	}
	return strings.TrimSpace(string(said)), nil
}

// Kill is a process that was killed.
type Kill struct {
	N    int // from 1
	Node int // from 0
	At   time.Time
	Back time.Time // when the node was ready again
}

// process is one run of the command under test.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	err  error         // how, once done is closed
}

// cluster is the processes of the product, and who starts them again.
type cluster struct {
	o       Options
	next    string // the command's next version, "" without an upgrade
	environ []string
	config  []string // one file per node
	listen  []string
	client  *http.Client
	real    clock.Clock

	mu       sync.Mutex
	binaries []string // one per node
	running  []*process
	kills    []Kill
	stops    []Stop
}

func newCluster(ctx context.Context, o Options, binary, next string, w *world, st storage) (*cluster, error) {
	c := &cluster{
		o: o, next: next, binaries: slices.Repeat([]string{binary}, o.Nodes), running: make([]*process, o.Nodes), real: clock.Real{},
		client: &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}},
	}
	for _, name := range slices.Sorted(maps.Keys(w.secrets)) {
		c.environ = append(c.environ, name+"="+w.secrets[name])
	}
	c.environ = append(c.environ, "HOME="+o.Dir, "OPENAI_API_KEY=laboratory")
	c.environ = append(c.environ, st.environ()...)
	for i := range o.Nodes {
		addr, err := freeAddress(ctx)
		if err != nil {
			return nil, err
		}
		text := strings.NewReplacer("GATE", w.gate.url, "LISTEN", addr, "WORLD", w.url, "DATA", st.data(i)).Replace(configuration)
		file := filepath.Join(o.Dir, fmt.Sprintf("node-%d.yaml", i+1))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return nil, fmt.Errorf("write configuration: %w", err)
		}
		c.listen, c.config = append(c.listen, addr), append(c.config, file)
	}
	return c, nil
}

// configuration is a node's.
const configuration = `
public_url: GATE
listen: LISTEN
data: DATA
whatsapp: {meta_url: WORLD/graph, dialog360_url: WORLD/d360}
daraja: {url: WORLD/daraja}
models: {openai: {url: WORLD/openai/v1}}
`

func (c *cluster) addresses() []string { return c.listen }

// define registers the businesses.
func (c *cluster) define(ctx context.Context, town []business) error {
	for _, b := range town {
		file := filepath.Join(c.o.Dir, b.def.Slug+".yaml")
		if err := os.WriteFile(file, b.yaml, 0o600); err != nil {
			return fmt.Errorf("define: %w", err)
		}
		cmd := exec.CommandContext(ctx, c.binaries[0], "tenant", "apply", "--config", c.config[0], "-f", file) //nolint:gosec // what build made.
		cmd.Env = c.environ
		if said, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("define %s: %w: %s", b.def.Slug, err, said)
		}
	}
	return nil
}

// start runs a node and waits until it is ready. One that ends before that is
// started again, as whoever runs it would: a service it needs may be away.
func (c *cluster) start(ctx context.Context, node int) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	p, err := c.spawn(node)
	for err == nil && !c.ready(ctx, node) {
		select {
		case <-p.done:
			c.o.Say("node %d ended at its start: %v: %s", node+1, p.err, c.lastWords(node, 200))
			if pause(ctx, 300*time.Millisecond) {
				p, err = c.spawn(node)
			}
		default:
		}
		if !pause(ctx, 20*time.Millisecond) {
			return fmt.Errorf("node %d did not get ready: %s", node+1, c.lastWords(node, 1000))
		}
	}
	return err
}

func (c *cluster) spawn(node int) (*process, error) {
	log, err := os.OpenFile(logFile(c.o.Dir, node), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start node: %w", err)
	}
	c.mu.Lock()
	binary := c.binaries[node]
	c.mu.Unlock()
	cmd := exec.Command(binary, "serve", "--config", c.config[node]) //nolint:gosec,noctx // killed on purpose, not by a context.
	cmd.Env, cmd.Stdout, cmd.Stderr = c.environ, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // never outlives the run
	p := &process{cmd: cmd, done: make(chan struct{})}
	if err := errors.Join(cmd.Start(), log.Close()); err != nil {
		return nil, fmt.Errorf("start node: %w", err)
	}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	c.mu.Lock()
	c.running[node] = p
	c.mu.Unlock()
	return p, nil
}

func (c *cluster) ready(ctx context.Context, node int) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.listen[node]+"/readyz", nil)
	if err != nil {
		return false
	}
	res, err := c.client.Do(req)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// kill ends a node as a power cut would and starts it again after a while.
func (c *cluster) kill(ctx context.Context, n int, k death) error {
	c.mu.Lock()
	p := c.running[k.node]
	c.mu.Unlock()
	at := c.real.Now()
	if err := p.cmd.Process.Kill(); err != nil {
		<-p.done
		return fmt.Errorf("kill node %d: it had ended by itself, %w: %s", k.node+1, p.err, c.lastWords(k.node, 1000))
	}
	<-p.done
	if !pause(ctx, k.away) {
		return ctx.Err()
	}
	if err := c.start(ctx, k.node); err != nil {
		return err
	}
	c.mu.Lock()
	c.kills = append(c.kills, Kill{N: n, Node: k.node, At: at, Back: c.real.Now()})
	c.mu.Unlock()
	c.o.Say("kill %d: node %d after %v, back after %v", n, k.node+1, k.after.Round(time.Millisecond), c.real.Now().Sub(at).Round(time.Millisecond))
	return nil
}

func (c *cluster) killed() []Kill {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.kills)
}

// end asks every node to stop and waits for it. A node that does not stop well,
// or has ended by itself, is an error.
func (c *cluster) end() error {
	c.mu.Lock()
	running := slices.Clone(c.running)
	clear(c.running)
	c.mu.Unlock()
	var errs []error
	for i, p := range running {
		if p == nil {
			continue
		}
		if s := c.stopNode(i, p); s.Err != "" {
			errs = append(errs, fmt.Errorf("node %d did not stop well: %s", i+1, s.Err))
		}
	}
	return errors.Join(errs...)
}

// stopNode asks a process to stop and waits until it has gone.
func (c *cluster) stopNode(node int, p *process) Stop {
	s := Stop{Node: node, At: c.real.Now()}
	gone := p.cmd.Process.Signal(syscall.SIGTERM)
	late := time.AfterFunc(stopTime, func() { _ = p.cmd.Process.Kill() })
	<-p.done
	late.Stop()
	s.Took = c.real.Now().Sub(s.At)
	if err := errors.Join(gone, p.err); err != nil {
		s.Err = fmt.Sprintf("%v: %s", err, c.lastWords(node, 1000))
	}
	c.mu.Lock()
	c.stops = append(c.stops, s)
	c.mu.Unlock()
	return s
}

func (c *cluster) stopped() []Stop {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.stops)
}

// lastWords is the end of what a node said, at most n bytes.
func (c *cluster) lastWords(node, n int) string {
	raw, err := os.ReadFile(logFile(c.o.Dir, node))
	if err != nil {
		return err.Error()
	}
	return string(bytes.TrimSpace(raw[max(0, len(raw)-n):]))
}
