package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/ratiba/ratiba/internal/channel/whatsapp"
	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/store"
	"github.com/ratiba/ratiba/internal/turn"
)

const whatsappName = whatsapp.Name

// ready is what a node prints once it fires timers.
const ready = "ready\n"

// node is a process that fires timers.
type node struct {
	argv []string
	log  string // the file it writes each fired timer into
	// last is when looking ends: what is due from then on may fire or not.
	last time.Time

	cmd *exec.Cmd
	in  io.Closer
	bad bytes.Buffer
}

// start runs the process until it is ready.
func (n *node) start(ctx context.Context) error {
	n.cmd = exec.CommandContext(ctx, n.argv[0], append(n.argv[1:], "--log", n.log)...) //nolint:gosec // our own program.
	n.cmd.Stderr = &n.bad
	in, err := n.cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("start a node: %w", err)
	}
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("start a node: %w", err)
	}
	if err := n.cmd.Start(); err != nil {
		return fmt.Errorf("start a node: %w", err)
	}
	n.in = in
	if line, err := bufio.NewReader(out).ReadString('\n'); line != ready {
		return errors.Join(fmt.Errorf("start a node: it said %q: %s", line, n.bad.String()), err, n.stop(true))
	}
	return nil
}

// stop ends the process: it is killed, or has its input closed and may finish.
func (n *node) stop(kill bool) error {
	if n.cmd == nil || n.cmd.Process == nil {
		return nil
	}
	var err error
	if kill {
		err = n.cmd.Process.Kill()
	} else {
		err = n.in.Close()
	}
	if w := n.cmd.Wait(); !kill {
		err = errors.Join(err, w)
	}
	n.cmd = nil
	if err != nil {
		return fmt.Errorf("stop a node: %w: %s", err, n.bad.String())
	}
	return nil
}

// gap is when there was no process.
type gap struct{ from, until time.Time }

// run has the process fire everything, with a restart halfway, and returns when
// there was none.
func (n *node) run(ctx context.Context, opt Options, o TimersOptions, first time.Time, due int) (g gap, err error) {
	if err := n.start(ctx); err != nil {
		return g, err
	}
	defer func() { err = errors.Join(err, n.stop(false)) }()
	opt.Progress("firing %d timers within %s, with a restart halfway", due, o.Run)
	if err := sleepUntil(ctx, first.Add(o.Run/2)); err != nil {
		return g, err
	}
	watch := clock.Real{}
	g.from = watch.Now()
	if err := n.stop(o.Kill); err != nil {
		return g, err
	}
	if err := n.start(ctx); err != nil {
		return g, err
	}
	g.until = watch.Now()
	last := first.Add(o.Run)
	if o.Run < opt.Span {
		n.last = last.Truncate(time.Microsecond)
	}
	if err := sleepUntil(ctx, last); err != nil {
		return g, err
	}
	for {
		if all, err := n.fired(); err != nil || len(all) >= due || watch.Now().After(last.Add(timersTail)) {
			return g, err
		}
		if err := sleepUntil(ctx, watch.Now().Add(inTime)); err != nil {
			return g, err
		}
	}
}

// shot is a timer that fired.
type shot struct {
	due  time.Time
	late time.Duration
}

// fired reads what was written down to have fired. A timer that fired twice is an
// error.
func (n *node) fired() ([]shot, error) {
	f, err := os.Open(n.log)
	if err != nil {
		return nil, fmt.Errorf("read what fired: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read.
	var all []shot
	seen := map[string]bool{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var thread string
		var due, done int64
		if _, err := fmt.Sscanf(lines.Text(), "%s %d %d", &thread, &due, &done); err != nil {
			return nil, fmt.Errorf("read what fired: %w", err)
		}
		if at := time.UnixMicro(due); !n.last.IsZero() && !at.Before(n.last) {
			continue
		}
		if seen[thread] {
			return nil, fmt.Errorf("the run produced wrong results: the timer of %s fired twice", thread)
		}
		seen[thread] = true
		all = append(all, shot{time.UnixMicro(due), time.Duration(done-due) * time.Microsecond})
	}
	return all, nil
}

// ServeTimers runs the engine over the businesses of a run until in ends, and
// writes each timer it fires into the file log.
func ServeTimers(ctx context.Context, opt Options, log string, in io.Reader, out io.Writer) (err error) {
	cfg := store.Config{Dir: opt.Dir, Conns: connections}
	if opt.Store == Postgres {
		cfg.URL = opt.DSN
	}
	f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) //nolint:gosec // the run names its own file.
	if err != nil {
		return fmt.Errorf("open the log of timers: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w, err := openWorld(ctx, cfg)
	if err != nil {
		return err
	}
	known, err := w.store.Tenants(ctx)
	for _, k := range known {
		if err == nil {
			err = w.serve(&k.Tenant, func(s turn.Store) turn.Store { return firing{s, w.clock, f} })
		}
	}
	if err == nil {
		w.pump.Start(ctx)
		for _, id := range w.tenants() {
			w.pump.Wake(id, w.clock.Now())
		}
		_, err = io.WriteString(out, ready)
	}
	if err == nil {
		_, err = io.Copy(io.Discard, in)
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	w.pump.Stop(end)
	return errors.Join(err, w.store.Close())
}

// firing writes down when a timer's turn was committed.
type firing struct {
	turn.Store

	clock clock.Clock
	log   io.Writer
}

// Commit implements turn.Store.
func (f firing) Commit(ctx context.Context, c *turn.Commit, inside func(ctx context.Context, tx db.Tx) error) error {
	if err := f.Store.Commit(ctx, c, inside); err != nil {
		return err
	}
	e := c.Batch.Event()
	if e == nil || e.Kind != mailbox.Timer || e.Name != clockTimer {
		return nil
	}
	// One write for a line: it is whole even when the process is killed.
	_, err := fmt.Fprintf(f.log, "%s %d %d\n", e.Scope, c.Batch.Items[0].ReceivedAt.UnixMicro(), f.clock.Now().UnixMicro())
	return err
}
