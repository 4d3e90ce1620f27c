// Package redis is the hot tier of several processes, on one Redis 7.
//
// While Redis cannot be reached every operation answers at once as if nothing
// were shared: locks and publishing fail, nothing was seen, the cache misses,
// buckets are this process's own. Redis is tried again in the background and
// used again when it takes writes. The loss and the return are an event each.
//
// Every key begins with "ratiba:", every script names the one key it touches,
// and the server's clock is the only one that counts. Keys go when their time
// is over; a server that is short of memory may drop any of them. The package
// imports leaves and coord.
package redis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/ratiba/ratiba/internal/coord"
)

// prefix begins every key and channel.
const prefix = "ratiba:"

// Config configures a Client.
type Config struct {
	// URL is redis://[user:password@]host:port[/database], or rediss:// for TLS.
	URL    string
	Logger *slog.Logger
	// Timeout bounds an operation, dialling included; default 250 ms.
	Timeout time.Duration
	// Retry is how often a lost Redis is tried, and how long a silent
	// subscription is trusted before it is tested; default 1 s.
	Retry time.Duration
}

// Client is a coord.Hot on Redis.
type Client struct {
	cfg     Config
	redis   *goredis.Client
	scripts scripts
	hub     *coord.Hub
	ears    *listener
	end     context.CancelFunc
	tasks   sync.WaitGroup
	lost    atomic.Bool   // changed under mu, so that events come in order
	noticed chan struct{} // has a value when a loss was noticed

	mu      sync.Mutex
	buckets map[string]*bucket
}

// errLost is what an operation answers while Redis is known to be away.
var errLost = errors.New("redis: cannot be reached")

// New returns a client. It does not wait for Redis: whether there is one, Ping
// tells. The error says what is wrong with the URL, without its password.
func New(cfg Config) (*Client, error) {
	if cfg.Timeout == 0 {
		cfg.Timeout = 250 * time.Millisecond
	}
	if cfg.Retry == 0 {
		cfg.Retry = time.Second
	}
	o, err := goredis.ParseURL(cfg.URL)
	if err != nil {
		return nil, errors.New("redis: the URL is not redis://[user:password@]host:port[/database], or rediss:// for TLS")
	}
	o.Protocol, o.DisableIdentity = 2, true
	o.ContextTimeoutEnabled = true
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = cfg.Timeout, cfg.Timeout, cfg.Timeout
	o.PoolTimeout = cfg.Timeout / 2      // sooner than the operation's end, so that a crowd here is not taken for an outage
	o.DialerRetries, o.MaxRetries = 1, 1 // once more for a connection that broke while nobody used it
	// The library prints to standard error; what it would say of an outage is in our events.
	logging.Disable()
	c := &Client{
		cfg: cfg, redis: goredis.NewClient(o), scripts: newScripts(), hub: coord.NewHub(),
		noticed: make(chan struct{}, 1), buckets: map[string]*bucket{},
	}
	ctx, end := context.WithCancel(context.Background())
	c.end = end
	// Databases of one server share its channels; installations need not.
	c.ears = newListener(c, fmt.Sprintf("%s%d:topic:", prefix, o.DB))
	c.tasks.Go(func() { c.ears.run(ctx) })
	c.tasks.Go(func() { c.watch(ctx) })
	return c, nil
}

// Lock implements coord.Locks.
func (c *Client) Lock(ctx context.Context, name string, ttl time.Duration) (coord.Lock, bool, error) {
	fence, err := c.script(ctx, c.scripts.lock, key("lock", name), micros(ttl))
	if err != nil {
		return coord.Lock{}, false, fmt.Errorf("lock %s: %w", name, err)
	}
	return coord.Lock{Name: name, Fence: fence}, fence > 0, nil
}

// Extend implements coord.Locks.
func (c *Client) Extend(ctx context.Context, l coord.Lock, ttl time.Duration) (bool, error) {
	extended, err := c.script(ctx, c.scripts.extend, key("lock", l.Name), l.Fence, micros(ttl))
	if err != nil {
		return false, fmt.Errorf("extend lock %s: %w", l.Name, err)
	}
	return extended == 1, nil
}

// Unlock implements coord.Locks.
func (c *Client) Unlock(ctx context.Context, l coord.Lock) error {
	if _, err := c.script(ctx, c.scripts.unlock, key("lock", l.Name), l.Fence); err != nil {
		return fmt.Errorf("unlock %s: %w", l.Name, err)
	}
	return nil
}

// Remember implements coord.Dedupe.
func (c *Client) Remember(ctx context.Context, k string, ttl time.Duration) {
	_ = c.do(ctx, func(ctx context.Context) error { return c.redis.Set(ctx, key("seen", k), "", atLeast(ttl)).Err() })
}

// Seen implements coord.Dedupe.
func (c *Client) Seen(ctx context.Context, k string) bool {
	var n int64
	err := c.do(ctx, func(ctx context.Context) (err error) {
		n, err = c.redis.Exists(ctx, key("seen", k)).Result()
		return err
	})
	return err == nil && n == 1
}

// Get implements coord.Cache.
func (c *Client) Get(ctx context.Context, k string) ([]byte, bool) {
	var value []byte
	err := c.do(ctx, func(ctx context.Context) (err error) {
		value, err = c.redis.Get(ctx, key("cache", k)).Bytes()
		return err
	})
	return value, err == nil
}

// Set implements coord.Cache.
func (c *Client) Set(ctx context.Context, k string, value []byte, ttl time.Duration) {
	if len(value) > coord.MaxValue {
		_ = c.Delete(ctx, k)
		return
	}
	_ = c.do(ctx, func(ctx context.Context) error { return c.redis.Set(ctx, key("cache", k), value, atLeast(ttl)).Err() })
}

// Delete implements coord.Cache.
func (c *Client) Delete(ctx context.Context, k string) error {
	err := c.do(ctx, func(ctx context.Context) error { return c.redis.Del(ctx, key("cache", k)).Err() })
	if err != nil {
		return fmt.Errorf("delete from cache: %w", err)
	}
	return nil
}

// Publish implements coord.Fanout.
func (c *Client) Publish(ctx context.Context, topic string, payload []byte) error {
	err := c.do(ctx, func(ctx context.Context) error { return c.redis.Publish(ctx, c.ears.prefix+topic, payload).Err() })
	if err != nil {
		return fmt.Errorf("publish %s: %w", topic, err)
	}
	return nil
}

// Subscribe implements coord.Fanout. The first gap comes once Redis has
// confirmed the subscription.
func (c *Client) Subscribe(ctx context.Context, topic string, f func(coord.Note)) {
	defer c.ears.leave(topic)
	c.hub.Listen(ctx, topic, func() bool { return c.ears.join(topic) }, f)
}

// Bucket implements coord.Buckets.
func (c *Client) Bucket(name string, rate coord.Rate) coord.Taker {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.buckets[name] == nil {
		c.buckets[name] = &bucket{c, name, rate, coord.NewLimiter(rate)}
	}
	return c.buckets[name]
}

// bucket is the buckets of one name.
type bucket struct {
	c    *Client
	name string
	rate coord.Rate
	own  *coord.Limiter // what this process took, for when it must count alone
}

// Take implements coord.Taker.
func (b *bucket) Take(ctx context.Context, k string, now time.Time) time.Duration {
	wait, err := b.c.script(ctx, b.c.scripts.take, key("bucket", b.name+":"+k), micros(b.rate.Every), b.rate.Burst)
	if err != nil {
		return b.own.Take(ctx, k, now)
	}
	if wait == 0 {
		b.own.Take(ctx, k, now)
	}
	return time.Duration(wait) * time.Microsecond
}

// Ping implements coord.Hot. It asks Redis even when it is known to be away.
func (c *Client) Ping(ctx context.Context) error {
	if err := c.try(ctx, c.probe); err != nil {
		return fmt.Errorf("ping redis: %w", err)
	}
	c.returned(ctx)
	return nil
}

// Close implements coord.Hot.
func (c *Client) Close() error {
	c.end()
	c.hub.Close()
	c.tasks.Wait()
	if err := c.redis.Close(); err != nil {
		return fmt.Errorf("close redis: %w", err)
	}
	return nil
}

// script runs a script on one key and returns its number.
func (c *Client) script(ctx context.Context, s *goredis.Script, k string, args ...any) (n int64, err error) {
	err = c.do(ctx, func(ctx context.Context) error {
		n, err = s.Run(ctx, c.redis, []string{k}, args...).Int64()
		return err
	})
	return n, err
}

func key(kind, name string) string { return prefix + kind + ":" + name }

// micros is a time to live for a script, in microseconds and never nothing.
func micros(d time.Duration) string {
	return strconv.FormatInt(max(1, int64((d+time.Microsecond-1)/time.Microsecond)), 10)
}

// atLeast is a time to live as Redis takes it: without one, SET keeps a key for
// ever.
func atLeast(ttl time.Duration) time.Duration { return max(ttl, time.Millisecond) }
