package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ratiba/ratiba/internal/bench"
)

type benchCmd struct {
	Turn    benchTurnCmd    `cmd:"" help:"Booking conversations: turns a second, and how long a turn takes."`
	Webhook benchWebhookCmd `cmd:"" help:"Signed webhooks over HTTP: how long an acknowledgement takes, and how many there are a second."`
	Memory  benchMemoryCmd  `cmd:"" help:"Resident memory with many open threads."`
	Start   benchStartCmd   `cmd:"" help:"How long a start takes with many businesses."`
	Timers  benchTimersCmd  `cmd:"" help:"Open handoffs with their clocks: how late each timer fires, across a restart."`

	TimersNode benchTimersNodeCmd `cmd:"" name:"timers-node" hidden:"" help:"The process that fires the measured timers."`

	LLM         benchLLMCmd      `cmd:"" name:"llm" help:"Model calls: what the router adds to bare HTTP, beside its peers."`
	LLMUpstream benchUpstreamCmd `cmd:"" name:"llm-upstream" hidden:"" help:"The model that the measured clients call."`
}

// measured is what every measurement takes.
type measured struct {
	Store   string `help:"Database: sqlite or postgres." enum:"sqlite,postgres" default:"sqlite"`
	DSN     string `help:"URL of a PostgreSQL database that may be used up." placeholder:"URL"`
	Data    string `help:"Directory for the data, which must be empty. Default: a temporary one." type:"path"`
	Seconds int    `help:"Length of each measured phase." default:"20"`
	JSON    bool   `name:"json" help:"Print one JSON object, the figures by name."`
}

func (m measured) options(w *world, tenants int) bench.Options {
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(w.out, format+"\n", args...) }
	if m.JSON {
		say = func(string, ...any) {}
	}
	return bench.Options{
		Store: m.Store, DSN: m.DSN, Dir: m.Data, Tenants: tenants, Contacts: 1, Rate: 1,
		Span: time.Duration(m.Seconds) * time.Second, Progress: say,
	}
}

// print shows what was measured, unless measuring failed.
func (m measured) print(w *world, r bench.Report, err error) error {
	switch {
	case err != nil:
		return err
	case m.JSON:
		return json.NewEncoder(w.out).Encode(r.Map())
	}
	_, err = fmt.Fprint(w.out, "\n"+r.Table())
	return err
}

type benchTurnCmd struct {
	measured

	Tenants  int    `help:"Businesses." default:"20"`
	Contacts int    `help:"Customers who write at the same time." default:"160"`
	Profile  string `help:"Directory for CPU and allocation profiles." type:"existingdir"`
	Peer     bool   `help:"Measure the same conversation on LangGraph.js as well, on the database of --dsn. npm installs it, which downloads it."`
	PeerDir  string `help:"Folder of the peer." default:"bench/langgraph" type:"path"`
	PeerInto string `help:"Folder to install the peer into." default:"build/langgraph" type:"path"`
}

// Run implements the command.
func (c *benchTurnCmd) Run(ctx context.Context, w *world) error {
	opt := c.options(w, c.Tenants)
	opt.Contacts, opt.Profile = c.Contacts, c.Profile
	if c.Peer {
		opt.Peer = &bench.Peer{Source: c.PeerDir, Build: c.PeerInto}
	}
	r, err := bench.Turn(ctx, opt)
	return c.print(w, r, err)
}

type benchWebhookCmd struct {
	measured

	Tenants int `help:"Businesses." default:"20"`
	Rate    int `help:"Webhooks a second in the first phase." default:"200"`
}

// Run implements the command.
func (c *benchWebhookCmd) Run(ctx context.Context, w *world) error {
	opt := c.options(w, c.Tenants)
	opt.Rate = c.Rate
	r, err := bench.Webhook(ctx, opt)
	return c.print(w, r, err)
}

type benchMemoryCmd struct {
	measured

	Tenants  int `help:"Businesses." default:"20"`
	Contacts int `help:"Customers who write at the same time." default:"160"`
	Threads  int `help:"Open threads." default:"100000"`
	Rate     int `help:"Turns a second while memory is looked at." default:"100"`
}

// Run implements the command.
func (c *benchMemoryCmd) Run(ctx context.Context, w *world) error {
	opt := c.options(w, c.Tenants)
	opt.Contacts, opt.Rate = c.Contacts, c.Rate
	r, err := bench.Memory(ctx, opt, c.Threads)
	return c.print(w, r, err)
}

type benchStartCmd struct {
	measured

	Tenants int `help:"Businesses." default:"2000"`
}

// Run implements the command.
func (c *benchStartCmd) Run(ctx context.Context, w *world) error {
	r, err := bench.Start(ctx, c.options(w, c.Tenants))
	return c.print(w, r, err)
}
