package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/ratiba/ratiba/internal/demo"
)

type demoCmd struct {
	Addr        string  `help:"Address to listen on; loopback only." default:"127.0.0.1:8080"`
	Data        string  `help:"Data directory; what happens is kept there. Default: a temporary one." type:"path"`
	Reset       bool    `help:"Start with an empty data directory."`
	Pace        float64 `help:"How many times faster the product's clock runs." default:"1"`
	AllowRemote bool    `help:"Listen on an address that is not loopback. The demo has no passwords."`
	RealModels  bool    `help:"Call real models in place of the simulated one, which costs money. Needs OPENAI_API_KEY."`
	Events      string  `help:"File that gets the event log, one JSON line per event; - is standard output." type:"path"`
}

// Run implements the command.
func (c *demoCmd) Run(ctx context.Context, w *world) (err error) {
	events, end, err := c.events(w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	d, err := demo.Start(ctx, demo.Options{
		Addr: c.Addr, Data: c.Data, Reset: c.Reset, Pace: c.Pace, AllowRemote: c.AllowRemote, RealModels: c.RealModels,
		Environ: w.environ, Events: events,
	})
	if err != nil {
		return err
	}
	c.greet(w, d)
	<-ctx.Done()
	_, _ = fmt.Fprintln(w.out, "Stopping.")
	return d.Stop()
}

// events opens the event log and says how to close it.
func (c *demoCmd) events(w *world) (io.Writer, func() error, error) {
	keep := func() error { return nil }
	switch c.Events {
	case "":
		return io.Discard, keep, nil
	case "-":
		return w.out, keep, nil
	}
	f, err := os.OpenFile(c.Events, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("open event log: %w", err)
	}
	return f, f.Close, nil
}

func (c *demoCmd) greet(w *world, d *demo.Demo) {
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(w.out, format+"\n", args...) }
	say("Ratiba demo is ready: %s/sim/", d.URL)
	say("")
	for _, t := range d.Server.Tenants() {
		say("  %-18s WhatsApp %s", t.Name, t.Numbers[0].Display)
	}
	say("")
	if c.RealModels {
		say("Language models are real: calls are made with your keys and cost money.")
	} else {
		say("The language model is simulated, and so are WhatsApp and M-Pesa: nothing leaves this machine.")
		say("With a real model: OPENAI_API_KEY=... ratiba demo --real-models")
	}
	say("What models leave to a person is decided in a simulated Slack: %s/sim/slack/", d.URL)
	say("Write to it from a shell:")
	say(`  curl -s %s/sim/whatsapp/inbound -d '{"from":"+254700000001","to":"+254711000001","text":"Habari, nataka massage kesho saa tisa"}'`, d.URL)
	say(`  curl -s '%s/sim/whatsapp/messages?phone=%%2B254700000001&wait=5'`, d.URL)
	say("Stop with Ctrl-C.")
}
