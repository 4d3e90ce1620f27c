// Package courier carries the simulated providers' webhooks to the product.
//
// It owns every goroutine that posts or waits; Stop ends them all and returns
// when they have ended. It follows no redirect, gives up an attempt after ten
// seconds, and repeats with exponential backoff in real time where asked to.
// The package imports only leaves.
package courier

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"sync"
	"time"
)

const (
	attemptTimeout = 10 * time.Second
	maxBackoff     = 30 * time.Second
	defaultBackoff = 250 * time.Millisecond
)

// Letter is one HTTP POST to the product.
type Letter struct {
	URL    string
	Header http.Header
	Body   []byte
}

// Answer is what an attempt brought: the product's HTTP status, or the reason
// why there was none.
type Answer struct {
	Attempt int
	Status  int
	Err     error
}

// Reason returns the text of Err, empty when there was an answer.
func (a Answer) Reason() string {
	if a.Err == nil {
		return ""
	}
	return a.Err.Error()
}

// Config is what a Courier is made of. Zero values mean the defaults named.
type Config struct {
	Client  *http.Client  // an own one, made for loopback traffic
	Backoff time.Duration // the first pause between attempts; 250 ms
	Logger  *slog.Logger  // nobody is told
}

// Courier posts letters. It is safe for concurrent use.
type Courier struct {
	client  *http.Client
	log     *slog.Logger
	backoff time.Duration
	own     bool

	running sync.WaitGroup
	mu      sync.Mutex
	stopped bool
	next    int
	cancels map[int]context.CancelFunc
}

// New returns a courier.
func New(cfg Config) *Courier {
	c := &Courier{
		client: cfg.Client, log: cfg.Logger, backoff: cmp.Or(cfg.Backoff, defaultBackoff),
		own: cfg.Client == nil, cancels: map[int]context.CancelFunc{},
	}
	if c.own {
		c.client = &http.Client{
			Transport:     &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	return c
}

// Go runs work in a goroutine whose context ends with Stop. After Stop it
// does nothing and returns false.
func (c *Courier) Go(work func(ctx context.Context)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return false
	}
	ctx, cancel := context.WithCancel(context.Background())
	id := c.next
	c.next++
	c.cancels[id] = cancel
	c.running.Go(func() {
		defer func() {
			c.mu.Lock()
			delete(c.cancels, id)
			c.mu.Unlock()
			cancel()
		}()
		work(ctx)
	})
	return true
}

// Pause waits for d of real time. It returns false when ctx ended first.
func Pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Post makes one attempt.
func (c *Courier) Post(ctx context.Context, l Letter) Answer {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.URL, bytes.NewReader(l.Body))
	if err != nil {
		return Answer{Attempt: 1, Err: fmt.Errorf("post webhook: %w", withoutAddress(err))}
	}
	req.Header.Set("Content-Type", "application/json")
	maps.Copy(req.Header, l.Header)
	resp, err := c.client.Do(req)
	if err != nil {
		return Answer{Attempt: 1, Err: fmt.Errorf("post webhook: %w", withoutAddress(err))}
	}
	defer func() { _ = resp.Body.Close() }()
	// Draining lets the connection be used again; an answer longer than this is not worth it.
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	return Answer{Attempt: 1, Status: resp.StatusCode}
}

// PostUntilOK repeats the letter until the product answers 200 or ctx ends,
// telling each attempt's answer. It reports whether a 200 came.
func (c *Courier) PostUntilOK(ctx context.Context, l Letter, tell func(Answer)) bool {
	pause := c.backoff
	for attempt := 1; ; attempt++ {
		a := c.Post(ctx, l)
		a.Attempt = attempt
		if ctx.Err() != nil {
			return false
		}
		tell(a)
		if a.Status == http.StatusOK {
			return true
		}
		c.log.LogAttrs(ctx, slog.LevelWarn, "sim.webhook.unacknowledged", slog.Int("attempt", attempt),
			slog.Int("status", a.Status), slog.String("error", a.Reason()))
		if !Pause(ctx, pause) {
			return false
		}
		pause = min(2*pause, maxBackoff)
	}
}

// Get fetches address and returns the status and at most limit bytes of the body.
func (c *Courier) Get(ctx context.Context, address string, limit int64) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, nil, fmt.Errorf("get: %w", withoutAddress(err))
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return 0, nil, fmt.Errorf("get: %w", withoutAddress(err))
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit))
	if err != nil {
		return 0, nil, fmt.Errorf("read answer: %w", err)
	}
	return resp.StatusCode, body, nil
}

// withoutAddress drops the address from an HTTP client's error: a webhook's
// address may hold a secret.
func withoutAddress(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// Stop ends all work and waits for it. It may be called more than once.
func (c *Courier) Stop() {
	c.mu.Lock()
	c.stopped = true
	for _, cancel := range c.cancels {
		cancel()
	}
	c.mu.Unlock()
	c.running.Wait()
	if c.own {
		c.client.CloseIdleConnections()
	}
}
