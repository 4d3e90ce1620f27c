package chaos

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"syscall"
	"time"
)

// redisServer is a Redis that keeps nothing, so that it can be stopped and
// started as the run wants.
type redisServer struct {
	addr, dir string
	cmd       *exec.Cmd
}

func startRedis(ctx context.Context, dir string) (*redisServer, error) {
	addr, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	r := &redisServer{addr: addr, dir: dir}
	return r, r.start(ctx)
}

func (r *redisServer) start(ctx context.Context) error {
	_, port, err := net.SplitHostPort(r.addr)
	if err != nil {
		return fmt.Errorf("start Redis: %w", err)
	}
	r.cmd = exec.Command("redis-server", "--bind", "127.0.0.1", "--port", port, "--dir", r.dir, "--save", "", "--appendonly", "no") //nolint:gosec,noctx // stopped by stop.
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := r.cmd.Start(); err != nil {
		return fmt.Errorf("start Redis: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", r.addr)
		if err == nil {
			return conn.Close()
		}
		if !pause(ctx, 10*time.Millisecond) {
			return fmt.Errorf("start Redis: %w", err)
		}
	}
}

func (r *redisServer) stop() {
	_ = r.cmd.Process.Kill() // it may be gone
	_ = r.cmd.Wait()         // it was killed
}

// freeAddress is one that nothing listens on.
func freeAddress(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a port: %w", err)
	}
	return l.Addr().String(), l.Close()
}
