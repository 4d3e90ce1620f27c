package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/ratiba/ratiba/internal/bench"
)

type benchTimersCmd struct {
	measured

	Tenants int           `help:"Businesses." default:"20"`
	Count   int           `help:"Open handoffs, each with a timer." default:"10000"`
	Window  time.Duration `help:"Within which all of them are due; 1h is what is asked for." default:"60s"`
	Look    time.Duration `name:"run" help:"How much of the window is looked at. Default: all of it."`
	Kill    bool          `help:"Kill the process halfway, in place of stopping it."`
}

// Run implements the command.
func (c *benchTimersCmd) Run(ctx context.Context, w *world) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	opt := c.options(w, c.Tenants)
	opt.Span = c.Window
	r, err := bench.Timers(ctx, opt, bench.TimersOptions{Count: c.Count, Run: c.Look, Node: []string{self, "bench", "timers-node"}, Kill: c.Kill})
	return c.print(w, r, err)
}

type benchTimersNodeCmd struct {
	measured

	Log string `help:"File for what fired." type:"path" required:""`
}

// Run implements the command.
func (c *benchTimersNodeCmd) Run(ctx context.Context, w *world) error {
	return bench.ServeTimers(ctx, c.options(w, 1), c.Log, os.Stdin, w.out)
}
