package redis_test

import (
	"context"
	"log/slog"
	"net"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/coord"
	"github.com/ratiba/ratiba/internal/coord/coordtest"
	"github.com/ratiba/ratiba/internal/coord/redis"
	"github.com/ratiba/ratiba/internal/db/dbtest"
)

// server is a Redis of the test's own, which it stops and starts.
type server struct {
	t    *testing.T
	path string
	port string
	args []string
	cmd  *exec.Cmd
}

// startServer starts a Redis without persistence. Where Redis is not
// installed, the tests' common one decides whether that is a fault.
func startServer(t *testing.T, args ...string) *server {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		dbtest.Redis(t)
		t.Fatalf("this test stops and starts a Redis of its own: %v", err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(free.Addr().String())
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, path: path, port: port, args: args}
	t.Cleanup(s.stop)
	s.start()
	return s
}

func (s *server) url() string { return "redis://127.0.0.1:" + s.port }

func (s *server) start() {
	s.t.Helper()
	s.cmd = exec.Command(s.path, append([]string{
		"--port", s.port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", s.t.TempDir(),
	}, s.args...)...)
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	coordtest.Eventually(s.t, "Redis does not listen", func() bool {
		conn, err := net.Dial("tcp", "127.0.0.1:"+s.port)
		if err != nil {
			return false
		}
		_ = conn.Close()
		return true
	})
}

// stop kills the server and waits for its end.
func (s *server) stop() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	s.cmd = nil
}

// wire is a way to a server that can fall silent: connections stay open, new
// ones are accepted, and nothing comes through.
type wire struct {
	listener net.Listener
	to       string
	tasks    sync.WaitGroup

	mu     sync.Mutex
	conns  []net.Conn
	silent *atomic.Bool // of the connections made since heal
}

func startWire(t *testing.T, to string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{listener: l, to: to, silent: &atomic.Bool{}}
	w.tasks.Go(w.accept)
	t.Cleanup(func() {
		_ = l.Close()
		w.mu.Lock()
		for _, c := range w.conns {
			_ = c.Close()
		}
		w.mu.Unlock()
		w.tasks.Wait()
	})
	return w
}

func (w *wire) hush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.silent.Store(true)
}

// heal lets new connections through. Those that fell silent stay so.
func (w *wire) heal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.silent = &atomic.Bool{}
}

func (w *wire) accept() {
	for {
		near, err := w.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", w.to)
		if err != nil {
			_ = near.Close()
			continue
		}
		w.mu.Lock()
		w.conns = append(w.conns, near, far)
		silent := w.silent
		w.mu.Unlock()
		w.tasks.Go(func() { carry(near, far, silent) })
		w.tasks.Go(func() { carry(far, near, silent) })
	}
}

func carry(from, to net.Conn, silent *atomic.Bool) {
	defer func() { _ = to.Close() }()
	buffer := make([]byte, 4096)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if silent.Load() {
			continue
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// events collects the types of what is logged.
type events struct {
	mu  sync.Mutex
	log []string
}

func (e *events) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(e, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.LevelKey || a.Key == slog.MessageKey {
			return a
		}
		return slog.Attr{}
	}}))
}

func (e *events) Write(line []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.log = append(e.log, strings.TrimSpace(string(line)))
	return len(line), nil
}

func (e *events) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.Join(e.log, "; ")
}

const (
	lost = "level=WARN msg=hot.lost"
	back = "level=INFO msg=hot.back"
)

func quick(s *server, log *events) redis.Config {
	return redis.Config{URL: s.url(), Logger: log.logger(), Timeout: 250 * time.Millisecond, Retry: 100 * time.Millisecond}
}

// A Redis that goes and comes back is not used meanwhile, and used again
// afterwards by the same client; each of both is one event.
func TestAnOutageCostsSpeedOnly(t *testing.T) {
	t.Parallel()
	s, log := startServer(t), &events{}
	c := client(t, quick(s, log))
	ctx, now := t.Context(), time.Now()
	before, ok, err := c.Lock(ctx, "x", time.Hour)
	if err != nil || !ok {
		t.Fatalf("Lock = %v, %v", ok, err)
	}
	c.Remember(ctx, "k", time.Hour)
	c.Set(ctx, "k", []byte("v"), time.Hour)
	taker := c.Bucket("b", coord.Rate{Every: time.Hour, Burst: 2})
	if taker.Take(ctx, "k", now) != 0 {
		t.Fatal("a full bucket gives nothing")
	}
	s.stop()
	for range 100 {
		if _, _, err := c.Lock(ctx, "y", time.Hour); err == nil {
			t.Fatal("a lock without Redis")
		}
		if _, err := c.Extend(ctx, before, time.Hour); err == nil {
			t.Fatal("an extension without Redis")
		}
		if c.Publish(ctx, "x", nil) == nil || c.Unlock(ctx, before) == nil || c.Delete(ctx, "k") == nil {
			t.Fatal("an operation that was not done reported success")
		}
		c.Remember(ctx, "k", time.Hour)
		c.Set(ctx, "k", []byte("v"), time.Hour)
		if _, ok := c.Get(ctx, "k"); ok || c.Seen(ctx, "k") {
			t.Fatal("something is known without Redis")
		}
	}
	if c.Ping(ctx) == nil {
		t.Error("Ping found a Redis")
	}
	// The bucket counts on: one of its two tokens was taken before.
	if taker.Take(ctx, "k", now) != 0 || taker.Take(ctx, "k", now) == 0 {
		t.Error("without Redis the bucket does not count on in this process")
	}
	if log.String() != lost {
		t.Errorf("logged %s, want one loss", log)
	}
	s.start()
	coordtest.Eventually(t, "Redis is not used again", func() bool {
		c.Remember(ctx, "new", time.Hour)
		return c.Seen(ctx, "new")
	})
	after, ok, err := c.Lock(ctx, "x", time.Hour)
	if err != nil || !ok || after.Fence <= before.Fence {
		t.Errorf("after a loss of memory: fence %d after %d, %v, %v", after.Fence, before.Fence, ok, err)
	}
	if err := c.Ping(ctx); err != nil {
		t.Error(err)
	}
	if want := lost + "; " + back; log.String() != want {
		t.Errorf("logged %s, want %s", log, want)
	}
}

// A Redis that is lost is not asked again by every operation.
func TestALostRedisIsLeftAlone(t *testing.T) {
	t.Parallel()
	s, log := startServer(t), &events{}
	cfg := quick(s, log)
	cfg.Retry = time.Hour
	c := client(t, cfg)
	s.stop()
	if _, _, err := c.Lock(t.Context(), "x", time.Hour); err == nil {
		t.Fatal("a lock without Redis")
	}
	s.start()
	if _, _, err := c.Lock(t.Context(), "x", time.Hour); err == nil {
		t.Error("Redis was asked before it was tried again")
	}
	if err := c.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := c.Lock(t.Context(), "x", time.Hour); err != nil || !ok {
		t.Errorf("Lock = %v, %v once Redis has answered", ok, err)
	}
}

// A Redis that accepts connections and never answers is lost too; so is a
// subscription whose connection is open and dead.
func TestASilentRedisIsLost(t *testing.T) {
	t.Parallel()
	s, log := startServer(t), &events{}
	w := startWire(t, "127.0.0.1:"+s.port)
	c := client(t, redis.Config{URL: "redis://" + w.listener.Addr().String(), Logger: log.logger(), Retry: 100 * time.Millisecond})
	ctx := t.Context()
	var ear coordtest.Ear
	coordtest.Subscribe(t, c, "x", &ear)
	coordtest.Eventually(t, "not subscribed", func() bool { return strings.HasPrefix(ear.Heard(), "-") })
	w.hush()
	coordtest.Eventually(t, "silence goes unnoticed", func() bool { return !c.Seen(ctx, "k") && log.String() == lost })
	before := ear.Heard()
	w.heal()
	coordtest.Eventually(t, "Redis is not used again", func() bool { return log.String() == lost+"; "+back })
	coordtest.Eventually(t, "no gap after the silence", func() bool { return strings.HasPrefix(ear.Heard(), before+" -") })
	coordtest.Eventually(t, "not told after the silence", func() bool {
		return c.Publish(ctx, "x", []byte("n")) == nil && strings.HasSuffix(ear.Heard(), " n")
	})
}

// A caller that gives up says nothing about Redis.
func TestACallersEndIsNoOutage(t *testing.T) {
	t.Parallel()
	s, log := startServer(t), &events{}
	c := client(t, quick(s, log))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := c.Lock(ctx, "x", time.Hour); err == nil {
		t.Error("a lock for a caller that has ended")
	}
	if c.Remember(t.Context(), "k", time.Hour); !c.Seen(t.Context(), "k") || log.String() != "" {
		t.Errorf("Redis counts as lost: %s", log)
	}
}

// A Redis that can be reached and takes no writes is of no use.
func TestAFullRedisIsLost(t *testing.T) {
	t.Parallel()
	s, log := startServer(t, "--maxmemory", "1", "--maxmemory-policy", "noeviction"), &events{}
	c := client(t, quick(s, log))
	if _, _, err := c.Lock(t.Context(), "x", time.Hour); err == nil {
		t.Fatal("a full Redis took a lock")
	}
	for range 3 {
		if c.Ping(t.Context()) == nil {
			t.Error("a full Redis is ready")
		}
	}
	if log.String() != lost {
		t.Errorf("logged %s, want one loss", log)
	}
}

// Subscribers outlive an outage and are told that notes may be missing; also
// those that subscribed during it.
func TestSubscriptionsComeBack(t *testing.T) {
	t.Parallel()
	s, log := startServer(t), &events{}
	c := client(t, quick(s, log))
	ctx := t.Context()
	var early, late coordtest.Ear
	coordtest.Subscribe(t, c, "x", &early)
	coordtest.Eventually(t, "not subscribed", func() bool { return strings.HasPrefix(early.Heard(), "-") })
	for range 2 {
		s.stop()
		coordtest.Eventually(t, "the loss goes unnoticed by a process that only listens", func() bool { return strings.HasSuffix(log.String(), lost) })
		leave := coordtest.Subscribe(t, c, "y", &late)
		gaps := early.Heard()
		s.start()
		coordtest.Eventually(t, "no gap after an outage", func() bool {
			return strings.HasPrefix(early.Heard(), gaps+" -") && strings.HasSuffix(late.Heard(), "-")
		})
		for topic, e := range map[string]*coordtest.Ear{"x": &early, "y": &late} {
			coordtest.Eventually(t, "not told after an outage", func() bool {
				return c.Publish(ctx, topic, []byte("n")) == nil && strings.HasSuffix(e.Heard(), " n")
			})
		}
		leave()
	}
}
