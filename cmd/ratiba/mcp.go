package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/mcp"
	"github.com/ratiba/ratiba/internal/server"
)

type mcpCmd struct {
	Serve mcpServeCmd `cmd:"" default:"withargs" help:"Serve a business's tools to an MCP client: over standard input and output as one admin, or with --listen over HTTP as whoever has a token."`
	Token mcpTokenCmd `cmd:"" help:"Tokens by which MCP clients act as an admin over HTTP."`
}

type mcpServeCmd struct {
	installation

	Tenant string `arg:"" help:"The business's slug."`
	Admin  string `help:"Phone of the admin in whose name calls are made, as the definition has it."`
	Listen string `help:"Address to serve streamable HTTP at, under /mcp/TENANT, in place of standard input and output."`
}

// Run implements the command. Standard output is the protocol's; logs go to
// standard error.
func (c *mcpServeCmd) Run(ctx context.Context, w *world) error {
	if (c.Admin == "") == (c.Listen == "") {
		return fault.E(fault.Invalid, "Want either --admin PHONE, to speak over standard input and output, or --listen ADDRESS, to serve those who have a token.")
	}
	logs := *w
	logs.out = w.errOut
	s, err := c.prepare(ctx, &logs)
	if fault.CodeOf(err) == fault.Conflict && c.Listen == "" {
		cfg, _, err := c.settings(&logs)
		if err != nil {
			return err
		}
		return server.BridgeMCP(ctx, cfg.Data, c.Tenant, c.Admin, w.in, w.out)
	}
	if fault.CodeOf(err) == fault.Conflict {
		return fault.Wrap(err, fault.Conflict, "Another process serves this data directory. Let it serve MCP clients as well: mcp_listen in its configuration.")
	}
	if err != nil {
		return err
	}
	return errors.Join(c.serve(ctx, w, s), s.Stop())
}

func (c *mcpServeCmd) serve(ctx context.Context, w *world, s *server.Server) error {
	counter, err := s.Counter(c.Tenant)
	if err != nil {
		return err
	}
	if c.Listen == "" {
		return mcp.Stdio(ctx, counter, c.Admin, io.NopCloser(w.in), unclosed{w.out})
	}
	l, err := listen(ctx, c.Listen)
	if err != nil {
		return err
	}
	return serveMCP(ctx, l, s)
}

// serveMCP answers MCP clients at l until ctx ends.
func serveMCP(ctx context.Context, l net.Listener, s *server.Server) error {
	return serve(ctx, l, s.MCP(), func() {})
}

// unclosed is an output that outlives who writes to it.
type unclosed struct{ io.Writer }

// Close implements io.Closer.
func (unclosed) Close() error { return nil }

type mcpTokenCmd struct {
	New    mcpTokenNewCmd    `cmd:"" help:"Make a token. It is shown once."`
	List   mcpTokenListCmd   `cmd:"" help:"List a business's tokens."`
	Revoke mcpTokenRevokeCmd `cmd:"" help:"End a token, and every session that has it."`
}

type mcpTokenNewCmd struct {
	installation

	Tenant string `arg:"" help:"The business's slug."`
	Admin  string `help:"Phone of the admin, as the definition has it." required:""`
	Label  string `help:"What it is for, to tell tokens apart." default:""`
}

// Run implements the command.
func (c *mcpTokenNewCmd) Run(ctx context.Context, w *world) error {
	return c.with(ctx, w, func(k keeper) error {
		made, token, err := k.NewMCPToken(ctx, c.Tenant, c.Admin, c.Label)
		if err == nil {
			_, _ = fmt.Fprintf(w.out, "%s\nThis token, %s, acts as %s. It is shown this once; keep it as you keep a password.\n", token, made.ID, made.Admin)
		}
		return err
	})
}

type mcpTokenListCmd struct {
	installation

	Tenant string `arg:"" help:"The business's slug."`
}

// Run implements the command.
func (c *mcpTokenListCmd) Run(ctx context.Context, w *world) error {
	return c.with(ctx, w, func(k keeper) error {
		all, err := k.MCPTokens(ctx, c.Tenant)
		for _, t := range all {
			state := "never used"
			if !t.UsedAt.IsZero() {
				state = "used " + t.UsedAt.Format(time.DateOnly)
			}
			if !t.Revoked.IsZero() {
				state = "revoked " + t.Revoked.Format(time.DateOnly)
			}
			_, _ = fmt.Fprintf(w.out, "%s %s made %s, %s %s\n", t.ID, t.Admin, t.CreatedAt.Format(time.DateOnly), state, t.Label)
		}
		return err
	})
}

type mcpTokenRevokeCmd struct {
	installation

	Tenant string `arg:"" help:"The business's slug."`
	ID     string `arg:"" help:"The token's id, as list shows it."`
}

// Run implements the command.
func (c *mcpTokenRevokeCmd) Run(ctx context.Context, w *world) error {
	return c.with(ctx, w, func(k keeper) error {
		err := k.RevokeMCPToken(ctx, c.Tenant, c.ID)
		if err == nil {
			_, _ = fmt.Fprintf(w.out, "%s is revoked\n", c.ID)
		}
		return err
	})
}
