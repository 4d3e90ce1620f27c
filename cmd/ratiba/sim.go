package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/config"
	"github.com/ratiba/ratiba/internal/demo"
	"github.com/ratiba/ratiba/internal/sim"
	"github.com/ratiba/ratiba/internal/sim/model"
	"github.com/ratiba/ratiba/internal/sim/page"
	"github.com/ratiba/ratiba/internal/tenant"
)

type simCmd struct {
	Addr        string   `help:"Address to listen on; loopback only." default:"127.0.0.1:8090"`
	Product     string   `help:"Address of the product." default:"http://127.0.0.1:8080"`
	Tenant      []string `short:"f" help:"YAML definitions of the businesses to simulate numbers and M-Pesa for." type:"existingfile"`
	AllowRemote bool     `help:"Listen on an address that is not loopback. The simulators have no passwords."`
}

// Run implements the command. Secrets are read from the same environment
// variables as the product's.
func (c *simCmd) Run(ctx context.Context, w *world) error {
	if err := demo.CheckAddr(c.Addr, c.AllowRemote); err != nil {
		return err
	}
	s, err := c.simulators(w)
	if err != nil {
		return err
	}
	defer s.Stop()
	l, err := listen(ctx, c.Addr)
	if err != nil {
		return err
	}
	if err := s.Start(ctx); err != nil {
		return errors.Join(err, l.Close())
	}
	at := "http://" + l.Addr().String()
	_, _ = fmt.Fprintf(w.out, "Simulators: %s/sim/\nPoint the product at them:\n  whatsapp.meta_url: %s/graph\n"+
		"  whatsapp.dialog360_url: %s/d360\n  daraja.url: %s/daraja\n  pesapal.url: %s/pesapal\n  slack.url: %s/slack/api\n  models.openai.url: %s\n  models.anthropic.url: %s\n",
		at, at, at, at, at, at, at+model.OpenAIBase, at+model.AnthropicBase)
	return serve(ctx, l, demo.OwnHost(s.Handler(), c.AllowRemote), func() {})
}

func (c *simCmd) simulators(w *world) (*sim.Sim, error) {
	var tenants []tenant.Tenant
	for _, file := range c.Tenant {
		t, err := define(file)
		if err != nil {
			return nil, err
		}
		tenants = append(tenants, t)
	}
	models, err := model.New(model.Config{Clock: clock.Real{}})
	if err != nil {
		return nil, err
	}
	cfg := demo.World(tenants, config.Environment(w.environ), c.Product)
	cfg.Clock, cfg.Model, cfg.Page = clock.Real{}, models, page.Handler()
	return sim.New(cfg)
}
