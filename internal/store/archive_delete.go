package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/ids"
)

// Count is a table and how many of its rows are meant.
type Count struct {
	Table string `json:"table"`
	Rows  int64  `json:"rows"`
}

// Counts are what a deletion or an erasure is about, without empty tables.
type Counts []Count

// Rows is their sum.
func (c Counts) Rows() (n int64) {
	for _, t := range c {
		n += t.Rows
	}
	return n
}

// String lists them: "3 bookings, 12 contacts".
func (c Counts) String() string {
	parts := make([]string, len(c))
	for i, t := range c {
		parts[i] = fmt.Sprintf("%d %s", t.Rows, strings.ReplaceAll(t.Table, "_", " "))
	}
	if len(parts) == 0 {
		return "no rows"
	}
	return strings.Join(parts, ", ")
}

// Holdings counts the rows of a tenant.
func (s *Store) Holdings(ctx context.Context, slug string) (Registered, Counts, error) {
	reg, err := s.Find(ctx, slug)
	if err != nil {
		return reg, nil, err
	}
	t, err := s.Tenant(reg.Tenant.ID, reg.Tenant.App)
	if err != nil {
		return reg, nil, err
	}
	tables, err := db.Catalogue(ctx, s.setsAt(reg.Tenant.App, nil)...)
	if err != nil {
		return reg, nil, err
	}
	var counts Counts
	err = t.Read(ctx, func(q db.Q) error {
		counts = nil
		for _, table := range tables {
			c := Count{Table: table.Name}
			if err := q.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+table.Name).Scan(&c.Rows); err != nil {
				return fmt.Errorf("count %s: %w", table.Name, err)
			}
			if c.Rows > 0 {
				counts = append(counts, c)
			}
		}
		return nil
	})
	return reg, counts, err
}

// Delete removes a tenant: first from the control data, so that nobody serves
// it, then its database. A tenant whose control data are gone, because a
// deletion was interrupted, is named by its id.
func (s *Store) Delete(ctx context.Context, slug string) (ids.TenantID, error) {
	reg, err := s.Find(ctx, slug)
	id := reg.Tenant.ID
	orphan := fault.CodeOf(err) == fault.NotFound && tenantForm.MatchString(slug)
	if orphan {
		id, err = ids.TenantID(slug), s.unregistered(ctx, slug)
	}
	if err != nil {
		return id, err
	}
	release, there, err := s.home.claim(ctx, id)
	if err != nil {
		return id, err
	}
	defer release()
	if orphan && !there {
		return id, unknownBusiness(slug)
	}
	err = s.control.Write(ctx, func(tx db.Tx) error {
		for _, table := range []string{"wakes", "numbers"} {
			if err := db.Exec(ctx, tx, "remove "+table, "DELETE FROM "+table+" WHERE tenant_id = $1", string(id)); err != nil {
				return err
			}
		}
		return db.Exec(ctx, tx, "remove tenant", "DELETE FROM tenants WHERE id = $1", string(id))
	})
	if err != nil {
		return id, fmt.Errorf("delete %s: %w", slug, err)
	}
	// From here on it is gone for everybody, and must go whole.
	ctx = context.WithoutCancel(ctx)
	if err := errors.Join(s.Forget(ctx, id), s.home.drop(ctx, id)); err != nil {
		return id, fmt.Errorf("%s is served no more, but its database is still there; delete it with its id, %s: %w", slug, id, err)
	}
	return id, nil
}

// unregistered refuses an id that the control data know: its business is named
// by its slug.
func (s *Store) unregistered(ctx context.Context, id string) error {
	known := 0
	err := s.control.Read(ctx, func(q db.Q) error {
		return q.QueryRowContext(ctx, "SELECT COUNT(*) FROM tenants WHERE id = $1", id).Scan(&known)
	})
	if err != nil {
		return fmt.Errorf("look for tenant: %w", err)
	}
	if known > 0 {
		return unknownBusiness(id)
	}
	return nil
}

// Forget ends this process's use of a tenant. What of it is under way fails.
func (s *Store) Forget(ctx context.Context, id ids.TenantID) error {
	s.mu.Lock()
	t := s.tenants[id]
	delete(s.tenants, id)
	s.mu.Unlock()
	if t == nil {
		return nil
	}
	t.mu.Lock()
	t.gone = true
	t.mu.Unlock()
	return t.rest(ctx, true)
}

// claimed is the refusal of a claim that somebody else has.
const claimed = "This business is being imported or deleted at this moment."

// claim implements home. The lock goes with the process.
func (f *folder) claim(_ context.Context, id ids.TenantID) (func(), bool, error) {
	name := filepath.Join(f.dir, "tenants", string(id)+".claim")
	lock, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the id is checked.
	if err != nil {
		return nil, false, fmt.Errorf("claim tenant's file: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, false, errors.Join(fault.Wrap(err, fault.Conflict, claimed), lock.Close())
	}
	release := func() { _ = errors.Join(os.Remove(name), lock.Close()) }
	_, err = os.Stat(f.path(id))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		release()
		return nil, false, fmt.Errorf("look for tenant's file: %w", err)
	}
	return release, err == nil, nil
}

// claim implements home. The lock goes with the connection.
func (c *cluster) claim(ctx context.Context, id ids.TenantID) (func(), bool, error) {
	seat, err := c.server.Sit(ctx, "ratiba:claim:"+string(id), true)
	if err != nil {
		return nil, false, fmt.Errorf("claim tenant's schema: %w", err)
	}
	if seat == nil {
		return nil, false, fault.E(fault.Conflict, claimed)
	}
	there := false
	err = c.server.Schema("public").Read(ctx, func(q db.Q) error {
		return q.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1)", schemaOf(id)).Scan(&there)
	})
	if err != nil {
		seat.Leave()
		return nil, false, fmt.Errorf("look for tenant's schema: %w", err)
	}
	return seat.Leave, there, nil
}
