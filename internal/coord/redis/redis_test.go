package redis_test

import (
	"log/slog"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/ratiba/ratiba/internal/coord"
	"github.com/ratiba/ratiba/internal/coord/coordtest"
	"github.com/ratiba/ratiba/internal/coord/redis"
	"github.com/ratiba/ratiba/internal/db/dbtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func client(t *testing.T, cfg redis.Config) *redis.Client {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	c, err := redis.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestConformance(t *testing.T) {
	t.Parallel()
	coordtest.Conform(t, func(t *testing.T) (a, b coord.Hot) {
		t.Helper()
		url := dbtest.Redis(t)
		return client(t, redis.Config{URL: url}), client(t, redis.Config{URL: url})
	})
}

func TestURLs(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{
		"another scheme": "http://user:hunter2@example.org",
		"no number":      "redis://:hunter2@example.org:6379/hunter2",
		"no URL":         "://hunter2",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := redis.New(redis.Config{URL: url, Logger: slog.New(slog.DiscardHandler)})
			if err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("New = %v; want an error without the password", err)
			}
		})
	}
}
