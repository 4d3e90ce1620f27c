package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/ratiba/ratiba/internal/config"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/redact"
	"github.com/ratiba/ratiba/internal/server"
	"github.com/ratiba/ratiba/internal/telemetry"
)

// A stopping process first says so for leaveTime, where others may take over its
// requests, and then gives those under way stopTime. With what the server's own
// Stop takes it is gone within ten seconds.
const (
	leaveTime = time.Second
	stopTime  = 3 * time.Second
)

// installation is what serve and the commands that prepare it begin with.
type installation struct {
	Config string `help:"Configuration file." type:"path"`
}

func (i installation) settings(w *world) (config.Config, *slog.Logger, error) {
	cfg, err := config.Load(i.Config, w.environ)
	if err != nil {
		return cfg, nil, err
	}
	level, err := cfg.Level()
	if err != nil {
		return cfg, nil, err
	}
	return cfg, telemetry.New(w.out, level, redact.New()).Logger(), nil
}

// prepare opens the installation without serving it.
func (i installation) prepare(ctx context.Context, w *world) (*server.Server, error) {
	cfg, log, err := i.settings(w)
	if err != nil {
		return nil, err
	}
	return server.New(ctx, server.Config{Settings: cfg, Secrets: config.Environment(w.environ), Logger: log, Offline: true})
}

type serveCmd struct{ installation }

// Run implements the command.
func (c *serveCmd) Run(ctx context.Context, w *world) error {
	cfg, log, err := c.settings(w)
	if err != nil {
		return err
	}
	s, err := server.New(ctx, server.Config{Settings: cfg, Secrets: config.Environment(w.environ), Logger: log})
	if err != nil {
		return err
	}
	l, err := listen(ctx, cfg.Listen)
	if err != nil {
		return errors.Join(err, s.Stop())
	}
	stopMCP, err := c.mcp(ctx, cfg, s)
	if err != nil {
		return errors.Join(err, l.Close(), s.Stop())
	}
	s.Start(ctx)
	stopControl, err := s.ServeControl(ctx)
	if err != nil {
		// Customers are served all the same; commands must wait for a stop.
		log.LogAttrs(ctx, slog.LevelWarn, "control.unavailable", slog.String("error", err.Error()))
		stopControl = func() error { return nil }
	}
	log.LogAttrs(ctx, slog.LevelInfo, "server.started", slog.String("addr", l.Addr().String()), slog.Int("tenants", len(s.Tenants())))
	err = serve(ctx, l, s.Handler(), func() {
		s.Drain()
		if s.Shared() {
			<-time.After(leaveTime)
		}
	})
	log.LogAttrs(context.WithoutCancel(ctx), slog.LevelInfo, "server.stopping")
	return errors.Join(err, stopMCP(), stopControl(), s.Stop())
}

// mcp serves MCP clients beside the product, where the configuration says so,
// until ctx ends. The returned function waits for that.
func (*serveCmd) mcp(ctx context.Context, cfg config.Config, s *server.Server) (stop func() error, err error) {
	if cfg.MCPListen == "" {
		return func() error { return nil }, nil
	}
	l, err := listen(ctx, cfg.MCPListen)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- serveMCP(ctx, l, s) }()
	return func() error { cancel(); return <-ended }, nil
}

func listen(ctx context.Context, addr string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fault.Wrap(err, fault.Unavailable, "The address "+addr+" cannot be used ("+err.Error()+"). Is another process listening there?")
	}
	return l, nil
}

// serve answers at l until ctx ends, announces that it leaves, then lets
// requests under way finish.
func serve(ctx context.Context, l net.Listener, h http.Handler, leave func()) error {
	srv := &http.Server{
		Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: 90 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	leave()
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	if err := srv.Shutdown(end); err != nil {
		return errors.Join(fmt.Errorf("shut down: %w", err), srv.Close())
	}
	return nil
}

type versionCmd struct{}

// Run implements the command.
func (versionCmd) Run(w *world) error {
	version := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version + " " + info.GoVersion
	}
	_, err := fmt.Fprintln(w.out, "ratiba", version)
	return err
}
