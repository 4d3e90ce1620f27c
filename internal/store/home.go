package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/ids"
)

// home is where databases live.
type home interface {
	control(ctx context.Context) (*db.DB, error)
	open(ctx context.Context, id ids.TenantID) (*db.DB, error)
	drop(ctx context.Context, id ids.TenantID) error
	// claim keeps others from making or removing a tenant's database until it is
	// given back, and tells whether there is one. It answers fault.Conflict when
	// somebody does.
	claim(ctx context.Context, id ids.TenantID) (release func(), there bool, err error)
	// now is the time that all who share the home agree on.
	now(ctx context.Context, base clock.Clock) (time.Time, error)
	// owned reports whether no other process works here: every lease that is found
	// at the first opening is then a dead process's.
	owned() bool
	// held reports whether this process may still use the home.
	held(ctx context.Context) error
	close() error
}

// folder is the embedded home: a directory that one process holds.
type folder struct {
	dir  string
	lock *os.File
}

func openFolder(dir string) (*folder, error) {
	if err := os.MkdirAll(filepath.Join(dir, "tenants"), 0o700); err != nil {
		return nil, fmt.Errorf("make data directory: %w", err)
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	return &folder{dir: dir, lock: lock}, nil
}

func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the operator names the directory.
	if err != nil {
		return nil, fmt.Errorf("open data directory lock: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fault.Wrap(err, fault.Conflict,
			"Another Ratiba process is using the data directory "+dir+". Stop it, or use another directory."), f.Close())
	}
	return f, nil
}

func (f *folder) control(ctx context.Context) (*db.DB, error) {
	return db.OpenSQLite(ctx, filepath.Join(f.dir, "control.db"))
}

func (f *folder) path(id ids.TenantID) string {
	return filepath.Join(f.dir, "tenants", string(id)+".db")
}

func (f *folder) open(ctx context.Context, id ids.TenantID) (*db.DB, error) {
	return db.OpenSQLite(ctx, f.path(id))
}

func (f *folder) drop(_ context.Context, id ids.TenantID) error {
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(f.path(id) + end); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove tenant's file: %w", err)
		}
	}
	return nil
}

func (*folder) now(_ context.Context, base clock.Clock) (time.Time, error) { return base.Now(), nil }

func (*folder) owned() bool { return true }

func (*folder) held(context.Context) error { return nil }

func (f *folder) close() error { return f.lock.Close() }

// cluster is the shared home: a database of PostgreSQL.
type cluster struct {
	server         *db.Server
	alone, visitor bool

	mu   sync.Mutex
	seat *db.Seat
}

// seatName is what processes that use one database sit at: one alone, or any
// number that coordinate.
const seatName = "ratiba:store"

func openServer(ctx context.Context, cfg Config) (*cluster, error) {
	server, err := db.OpenServer(ctx, cfg.URL, cfg.Conns)
	if err != nil {
		return nil, fault.Wrap(err, fault.Unavailable, "The database cannot be used.")
	}
	c := &cluster{server: server, alone: cfg.Alone, visitor: cfg.Visitor}
	if err = c.held(ctx); err == nil {
		err = server.Extensions(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *cluster) sit(ctx context.Context) (*db.Seat, error) {
	seat, err := c.server.Sit(ctx, seatName, c.alone)
	if err != nil {
		return nil, fmt.Errorf("look who uses the database: %w", err)
	}
	if seat == nil && c.alone {
		return nil, fault.E(fault.Conflict, "Another Ratiba process uses this database, and this one has no Redis to coordinate with it. "+
			"Give every node the same Redis (redis.url_env), or stop the other.")
	}
	if seat == nil {
		return nil, fault.E(fault.Conflict, "A Ratiba process without Redis uses this database. Give every node the same Redis (redis.url_env), or stop that one.")
	}
	return seat, nil
}

func (c *cluster) control(context.Context) (*db.DB, error) { return c.server.Schema("public"), nil }

// Schema names: ids are upper case, and PostgreSQL's habit is lower.
func schemaOf(id ids.TenantID) string { return "t_" + strings.ToLower(string(id)) }

func (c *cluster) open(_ context.Context, id ids.TenantID) (*db.DB, error) {
	return c.server.Schema(schemaOf(id)), nil
}

func (c *cluster) drop(ctx context.Context, id ids.TenantID) error {
	return c.server.DropSchema(ctx, schemaOf(id))
}

func (c *cluster) now(ctx context.Context, _ clock.Clock) (time.Time, error) {
	return c.server.Now(ctx)
}

func (c *cluster) owned() bool { return c.alone && !c.visitor }

// held looks whether the seat is still this process's. A seat that was lost with
// its connection is taken again, unless somebody else has it now.
func (c *cluster) held(ctx context.Context) error {
	if c.visitor {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seat != nil {
		if err := c.seat.Check(ctx); err == nil {
			return nil
		}
		c.seat.Leave()
		c.seat = nil
	}
	seat, err := c.sit(ctx)
	c.seat = seat
	return err
}

func (c *cluster) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seat != nil {
		c.seat.Leave()
		c.seat = nil
	}
	c.server.Close()
	return nil
}

// serverClock tells the time that all nodes agree on.
type serverClock struct {
	base   clock.Clock
	agree  bool         // with the server
	offset atomic.Int64 // nanoseconds
}

// Now implements clock.Clock.
func (c *serverClock) Now() time.Time {
	return c.base.Now().Add(time.Duration(c.offset.Load()))
}

// set makes the clock agree with a time that was read between two looks at the
// machine's clock.
func (c *serverClock) set(at, before, after time.Time) {
	c.offset.Store(int64(at.Sub(before.Add(after.Sub(before) / 2))))
}
