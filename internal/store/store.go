// Package store keeps everything durable: control data and, for each tenant, a
// database of its own.
//
// Embedded, the control data is one SQLite file and each tenant another; shared,
// they are schemas of one PostgreSQL database that many nodes use. A Tenant
// handle opens one tenant's database; no code can name another's rows through
// it. Databases are opened and migrated when they are first used; what may have
// work is announced in the control data before the work is written, so that a
// start and a sweep read the control data alone. Public methods open the
// transaction, private functions take it, and no network call happens inside
// one. The package adapts internal/db to the small interfaces of the engines.
package store

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/ids"
)

//go:embed migrations/tenant/*.sql migrations/control/*.sql
var migrations embed.FS

// Config says where the databases live.
type Config struct {
	Dir string // the embedded store's data directory, made when missing
	// URL is the PostgreSQL database of the shared store; "" is the embedded one.
	URL string
	// Conns bounds the connections to PostgreSQL, 10 when zero.
	Conns int
	// Node names this process among the nodes of a shared store.
	Node string
	// Alone refuses a shared store that another process uses, and keeps others
	// out: this process has nothing to coordinate with them.
	Alone bool
	// Visitor is a process that serves nobody: it may use a shared store beside
	// whoever does, and is no node.
	Visitor bool
	// Apps are the apps' parts of a tenant's database, by app name. Every tenant
	// has the tables of its own app only.
	Apps map[string]AppPart
	// Real is the time that leases follow; when nil the machine's, which on a
	// shared store is put right by the server's.
	Real clock.Clock
}

// AppPart is an app's part of a tenant's database.
type AppPart struct {
	Migrations fs.FS
	// Version is the newest checkpoint version this build reads.
	Version int
	// Merge moves the app's rows of one contact to another, who turned out to be
	// the same person. Nil: the app has none.
	Merge func(ctx context.Context, tx db.Tx, from, to ids.ContactID) error
	// Person are the app's rows about one contact, $1, for those who ask what is
	// kept of them.
	Person []db.Selection
	// Erase takes from the app's rows of a contact what tells who that is. Nil:
	// the app has none.
	Erase func(ctx context.Context, tx db.Tx, c ids.ContactID, now time.Time) error
}

// Store opens the control data and tenants' databases. It is safe for
// concurrent use.
type Store struct {
	cfg     Config
	home    home
	control *db.DB
	clock   *serverClock
	// reads is the newest checkpoint version any live node reads, by app.
	reads atomic.Pointer[map[string]int]

	closed  atomic.Bool
	mu      sync.Mutex
	tenants map[ids.TenantID]*Tenant
	beaten  time.Time // when this node last said that it lives
}

// Open opens the store. A second process on the same data directory, or beside
// one that is alone on a PostgreSQL database, is refused with fault.Conflict.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	agree := cfg.Real == nil
	if agree {
		cfg.Real = clock.Real{}
	}
	if cfg.Conns == 0 {
		cfg.Conns = 10
	}
	if cfg.Node == "" {
		cfg.Node = "embedded"
	}
	s := &Store{cfg: cfg, clock: &serverClock{base: cfg.Real, agree: agree}, tenants: map[ids.TenantID]*Tenant{}}
	s.reads.Store(&map[string]int{})
	var err error
	if cfg.URL == "" {
		s.home, err = openFolder(cfg.Dir)
	} else {
		s.home, err = openServer(ctx, cfg)
	}
	if err != nil {
		return nil, err
	}
	if s.control, err = s.home.control(ctx); err == nil {
		err = s.control.Migrate(ctx, "control", sub("migrations/control"))
	}
	if err == nil {
		err = s.Tend(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// shared reports whether the databases are PostgreSQL's.
func (s *Store) shared() bool { return s.cfg.URL != "" }

func sub(dir string) fs.FS {
	files, err := fs.Sub(migrations, dir)
	if err != nil {
		panic(err) // the path is a constant of this package
	}
	return files
}

// Tenant returns a tenant's handle. It reads and writes nothing; the database
// is opened, and migrated, by the first use.
func (s *Store) Tenant(id ids.TenantID, app string) (*Tenant, error) {
	if id == "" || filepath.Base(string(id)) != string(id) || id == "." || id == ".." {
		return nil, fmt.Errorf("open tenant: %q is no tenant's id", id) // never a path to another file
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.tenants[id]
	if !ok {
		t = &Tenant{store: s, id: id, app: app, part: s.cfg.Apps[app]}
		s.tenants[id] = t
	}
	return t, nil
}

// Real is the time that leases and rates follow: the machine's, or that of the
// PostgreSQL server, which all nodes share.
func (s *Store) Real() clock.Clock { return s.clock }

// Ready reports whether the control data can be read, and on a shared store
// whether this process may still use it.
func (s *Store) Ready(ctx context.Context) error {
	if err := s.home.held(ctx); err != nil {
		return err
	}
	return s.control.Read(ctx, func(q db.Q) error {
		var n int
		return q.QueryRowContext(ctx, "SELECT COUNT(*) FROM numbers").Scan(&n)
	})
}

// Close says when the tenants' next work is due, closes every database and
// gives the data directory back. What is under way finishes first; later uses
// fail with fault.Unavailable. Closing again changes nothing.
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	var errs []error
	for _, t := range s.tenants {
		errs = append(errs, t.rest(ctx, true))
	}
	if s.control != nil {
		errs = append(errs, s.leave(ctx), s.control.Close())
	}
	return errors.Join(append(errs, s.home.close())...)
}
