package redis

import (
	"context"
	"errors"
	"log/slog"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// do runs an operation, unless Redis is lost.
func (c *Client) do(ctx context.Context, op func(context.Context) error) error {
	if c.lost.Load() {
		return errLost
	}
	return c.try(ctx, op)
}

// try runs an operation within its time and notices a loss.
func (c *Client) try(ctx context.Context, op func(context.Context) error) error {
	short, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	err := op(short)
	switch {
	case err == nil, errors.Is(err, goredis.Nil):
	case ctx.Err() != nil, errors.Is(err, goredis.ErrClosed), errors.Is(err, goredis.ErrPoolTimeout):
		// The caller's end, ours, or a crowd: it says nothing about Redis.
	default:
		c.gone(ctx, err)
	}
	return err
}

func (c *Client) gone(ctx context.Context, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost.Load() {
		return
	}
	c.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "hot.lost", slog.String("error", err.Error()))
	c.lost.Store(true)
	select {
	case c.noticed <- struct{}{}:
	default:
	}
}

func (c *Client) returned(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost.Load() {
		c.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "hot.back")
		c.lost.Store(false)
	}
}

// probe asks whether Redis can be used: that it runs scripts and takes writes.
func (c *Client) probe(ctx context.Context) error {
	return c.scripts.probe.Run(ctx, c.redis, []string{prefix + "probe"}).Err()
}

// watch tries a lost Redis until it is back, so that no operation pays for it.
func (c *Client) watch(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.noticed:
		}
		retry := time.NewTicker(c.cfg.Retry)
		for c.lost.Load() && ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-retry.C:
				if c.try(ctx, c.probe) == nil {
					c.returned(ctx)
				}
			}
		}
		retry.Stop()
	}
}
