// Package store keeps everything durable: control data and, for each tenant, a
// database of its own.
//
// A Tenant handle opens one tenant's database; no code can name another's rows
// through it. Public methods open the transaction, private functions take it,
// and no network call happens inside one. The package adapts internal/db to
// the small interfaces of the engines.
package store

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/ids"
)

//go:embed migrations/tenant/*.sql migrations/control/*.sql
var migrations embed.FS

// Config says where the embedded databases live.
type Config struct {
	Dir string // the data directory, made when missing
	// Apps are the apps' parts of a tenant's database, by app name. Every tenant
	// has the tables of its own app only.
	Apps map[string]AppPart
	Real clock.Clock // real time; clock.Real when nil
}

// AppPart is an app's part of a tenant's database.
type AppPart struct {
	Migrations fs.FS
	// Merge moves the app's rows of one contact to another, who turned out to be
	// the same person. Nil: the app has none.
	Merge func(ctx context.Context, tx db.Tx, from, to ids.ContactID) error
}

// Store opens the control data and tenants' databases. It is safe for
// concurrent use.
type Store struct {
	cfg     Config
	control *db.DB
	lock    *os.File

	mu      sync.Mutex
	tenants map[ids.TenantID]*Tenant
}

// Open opens the embedded store. A second process on the same directory is
// refused with fault.Conflict.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if cfg.Real == nil {
		cfg.Real = clock.Real{}
	}
	if err := os.MkdirAll(filepath.Join(cfg.Dir, "tenants"), 0o700); err != nil {
		return nil, fmt.Errorf("make data directory: %w", err)
	}
	lock, err := lockDir(cfg.Dir)
	if err != nil {
		return nil, err
	}
	control, err := db.OpenSQLite(ctx, filepath.Join(cfg.Dir, "control.db"))
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	s := &Store{cfg: cfg, control: control, lock: lock, tenants: map[ids.TenantID]*Tenant{}}
	if err := control.Migrate(ctx, "control", sub("migrations/control")); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
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

func sub(dir string) fs.FS {
	files, err := fs.Sub(migrations, dir)
	if err != nil {
		panic(err) // the path is a constant of this package
	}
	return files
}

// Tenant opens a tenant's database, migrating it on first use. Work that a
// crashed process had under way becomes claimable again.
func (s *Store) Tenant(ctx context.Context, id ids.TenantID, app string) (*Tenant, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, ok := s.tenants[id]; ok {
		return t, nil
	}
	if id == "" || filepath.Base(string(id)) != string(id) || id == "." || id == ".." {
		return nil, fmt.Errorf("open tenant: %q is no tenant's id", id) // never a path to another file
	}
	d, err := db.OpenSQLite(ctx, filepath.Join(s.cfg.Dir, "tenants", string(id)+".db"))
	if err != nil {
		return nil, err
	}
	part := s.cfg.Apps[app]
	t := &Tenant{id: id, db: d, merged: part.Merge}
	err = d.Migrate(ctx, "engine", sub("migrations/tenant"))
	if part.Migrations != nil && err == nil {
		err = d.Migrate(ctx, app, part.Migrations)
	}
	if err == nil {
		err = t.recover(ctx, s.cfg.Real.Now())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open tenant %s: %w", id, err), d.Close())
	}
	s.tenants[id] = t
	return t, nil
}

// Ready reports whether the control data can be read.
func (s *Store) Ready(ctx context.Context) error {
	return s.control.Read(ctx, func(q db.Q) error {
		var n int
		return q.QueryRowContext(ctx, "SELECT COUNT(*) FROM tenants").Scan(&n)
	})
}

// Close closes every database and gives the data directory back.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, t := range s.tenants {
		errs = append(errs, t.db.Close())
	}
	errs = append(errs, s.control.Close(), s.lock.Close())
	return errors.Join(errs...)
}
