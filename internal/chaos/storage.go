package chaos

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/db"
)

// storage is where the product keeps its data.
type storage interface {
	// data is a node's data directory.
	data(node int) string
	// environ are a node's environment variables, NAME=value.
	environ() []string
	// open opens every business's database, by slug, beside the product.
	open(ctx context.Context) (map[string]*db.DB, func() error, error)
	// trouble stops and starts services while ctx lasts, as the options say.
	trouble(ctx context.Context, o Options) error
	close() error
}

func openStorage(ctx context.Context, o Options) (storage, error) {
	dir, err := filepath.Abs(filepath.Join(o.Dir, "data"))
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if o.Store == Embedded {
		return embedded{dir: dir}, nil
	}
	redis, err := startRedis(ctx, o.Dir)
	if err != nil {
		return nil, err
	}
	return &shared{dir: dir, url: o.Database, redis: redis}, nil
}

// embedded is a directory of SQLite files. Readers of other processes see what
// is committed.
type embedded struct{ dir string }

func (e embedded) data(int) string { return e.dir }

func (e embedded) environ() []string { return nil }

func (e embedded) open(ctx context.Context) (map[string]*db.DB, func() error, error) {
	control, err := db.OpenSQLite(ctx, filepath.Join(e.dir, "control.db"))
	if err != nil {
		return nil, nil, err
	}
	ids, err := tenantIDs(ctx, control)
	if err = errors.Join(err, control.Close()); err != nil {
		return nil, nil, err
	}
	out := map[string]*db.DB{}
	end := func() error { return closeAll(out) }
	for slug, id := range ids {
		d, err := db.OpenSQLite(ctx, filepath.Join(e.dir, "tenants", id+".db"))
		if err != nil {
			return nil, nil, errors.Join(err, end())
		}
		out[slug] = d
	}
	return out, end, nil
}

func closeAll(all map[string]*db.DB) error {
	var errs []error
	for _, d := range all {
		errs = append(errs, d.Close())
	}
	return errors.Join(errs...)
}

func (e embedded) trouble(context.Context, Options) error { return nil }

func (e embedded) close() error { return nil }

// shared is a PostgreSQL database and a Redis of the run's own.
type shared struct {
	dir, url string
	redis    *redisServer
}

func (s *shared) data(node int) string { return fmt.Sprintf("%s-%d", s.dir, node+1) }

func (s *shared) environ() []string {
	return []string{"RATIBA_DATABASE_URL=" + s.url, "RATIBA_REDIS_URL=redis://" + s.redis.addr}
}

func (s *shared) open(ctx context.Context) (map[string]*db.DB, func() error, error) {
	server, err := db.OpenServer(ctx, s.url, readers)
	if err != nil {
		return nil, nil, err
	}
	end := func() error { server.Close(); return nil }
	ids, err := tenantIDs(ctx, server.Schema("public"))
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	out := map[string]*db.DB{}
	for slug, id := range ids {
		out[slug] = server.Schema("t_" + strings.ToLower(id))
	}
	return out, end, nil
}

// readers is how many connections the laboratory uses beside the product.
const readers = 4

// outage is how long Redis stays away.
const outage = 4 * time.Second

// trouble restarts PostgreSQL after a third of the time, as a crash would, and
// takes Redis away after another.
func (s *shared) trouble(ctx context.Context, o Options) error {
	if !pause(ctx, o.For/3) {
		return nil
	}
	if o.Outages.Postgres != nil {
		o.Say("PostgreSQL is restarted")
		if err := o.Outages.Postgres(context.WithoutCancel(ctx)); err != nil {
			return fmt.Errorf("restart PostgreSQL: %w", err)
		}
	}
	if !pause(ctx, o.For/3) || !o.Outages.Redis {
		return nil
	}
	o.Say("Redis stops for %v", outage)
	s.redis.stop()
	pause(ctx, outage)
	return s.redis.start(context.WithoutCancel(ctx))
}

func (s *shared) close() error {
	s.redis.stop()
	return nil
}
