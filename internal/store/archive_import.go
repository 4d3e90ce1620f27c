package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/tenant"
)

// The bounds of one transaction of an import.
const (
	batchRows  = 400
	batchBytes = 4 << 20
)

// Import makes a tenant of an archive, on whichever backend this store is. The
// tenant is registered last, so that nobody serves it before all of it is there
// and has been compared with the archive; when anything fails nothing stays. A
// slug, an id or a number that is taken is refused with fault.Conflict. slug ""
// is the archive's. What an import that was interrupted left is removed first.
func (s *Store) Import(ctx context.Context, a *Archive, slug string, now time.Time) (Registered, error) {
	reg := Registered{Tenant: a.Manifest.Tenant, Route: a.Manifest.Route}
	if slug != "" {
		reg.Tenant.Slug = slug
	}
	if !tenant.IsSlug(reg.Tenant.Slug) {
		return reg, faulty("%q is no slug: want 2 to 31 lower-case letters and digits, a letter first", reg.Tenant.Slug)
	}
	tables, err := s.check(ctx, a)
	if err != nil {
		return reg, err
	}
	if err := s.control.Read(ctx, func(q db.Q) error { return vacant(ctx, q, reg.Tenant) }); err != nil {
		return reg, err
	}
	release, _, err := s.home.claim(ctx, reg.Tenant.ID)
	if err != nil {
		return reg, err
	}
	defer release()
	if err := s.load(ctx, a, tables); err != nil {
		return reg, errors.Join(err, s.home.drop(context.WithoutCancel(ctx), reg.Tenant.ID))
	}
	if reg, err = s.admit(ctx, reg, now); err != nil {
		return reg, errors.Join(err, s.home.drop(context.WithoutCancel(ctx), reg.Tenant.ID))
	}
	return reg, nil
}

// vacant refuses a tenant whose slug, id or numbers are taken.
func vacant(ctx context.Context, q db.Q, t tenant.Tenant) error {
	taken, err := db.Collect(ctx, q, "look for tenant", func(row db.Scanner) (slug string, err error) { return slug, row.Scan(&slug) },
		"SELECT slug FROM tenants WHERE slug = $1 OR id = $2", t.Slug, string(t.ID))
	if err != nil {
		return err
	}
	if len(taken) > 0 && taken[0] == t.Slug {
		return fault.E(fault.Conflict, fmt.Sprintf("There is a business %q here already. Delete it, or import under another name with --slug.", t.Slug))
	}
	if len(taken) > 0 {
		return fault.E(fault.Conflict, fmt.Sprintf("This business is here already, as %q. Delete it first: two copies of one business would answer its customers twice.", taken[0]))
	}
	for _, n := range t.Numbers {
		var owners int
		if err := q.QueryRowContext(ctx, "SELECT COUNT(*) FROM numbers WHERE provider = $1 AND id = $2", n.Provider, n.ID).Scan(&owners); err != nil {
			return fmt.Errorf("find number: %w", err)
		}
		if owners > 0 {
			return fault.E(fault.Conflict, fmt.Sprintf("The number %s (%s) belongs to another tenant.", n.ID, n.Provider))
		}
	}
	return nil
}

// admit registers an imported tenant as the archive has it: same id, same
// version, and the same route unless that is taken.
func (s *Store) admit(ctx context.Context, r Registered, now time.Time) (Registered, error) {
	err := s.control.Write(ctx, func(tx db.Tx) error {
		if err := vacant(ctx, tx, r.Tenant); err != nil {
			return err
		}
		var taken int
		if err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM tenants WHERE route = $1", r.Route).Scan(&taken); err != nil {
			return fmt.Errorf("look for route: %w", err)
		}
		if taken > 0 || r.Route == "" {
			r.Route = newRoute()
		}
		if err := db.Exec(ctx, tx, "write tenant",
			"INSERT INTO tenants (id, slug, route, definition, version, updated_at) VALUES ($1, $2, $3, $4, $5, $6)",
			string(r.Tenant.ID), r.Tenant.Slug, r.Route, db.JSON{V: r.Tenant}, r.Tenant.Version, db.At(now)); err != nil {
			return err
		}
		if err := writeNumbers(ctx, tx, r.Tenant); err != nil {
			return err
		}
		return db.Exec(ctx, tx, "announce work", "INSERT INTO wakes (tenant_id, node_id, due_at) VALUES ($1, '', $2)",
			string(r.Tenant.ID), db.At(s.clock.Now()))
	})
	if db.IsUnique(err) {
		err = fault.Wrap(err, fault.Conflict, "Somebody registered the same business meanwhile.")
	}
	return r, err
}

// load makes a tenant's database of an archive's rows.
func (s *Store) load(ctx context.Context, a *Archive, tables []db.Table) (err error) {
	m := a.Manifest
	if err := s.home.drop(ctx, m.Tenant.ID); err != nil {
		return err
	}
	d, err := s.home.open(ctx, m.Tenant.ID)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	for _, set := range s.setsAt(m.Tenant.App, m.Migrations) {
		if err := d.MigrateTo(ctx, set.Name, set.Files, set.Version); err != nil {
			return err
		}
	}
	for i, table := range tables {
		if err := a.insert(ctx, d, m.Tables[i]); err != nil {
			return fmt.Errorf("import %s: %w", table.Name, err)
		}
	}
	if err := compare(ctx, d, m); err != nil {
		return err
	}
	// Whoever held a lease or was sending works on another database.
	if err := restart(ctx, d, s.clock.Now()); err != nil {
		return err
	}
	for _, set := range s.setsAt(m.Tenant.App, nil) {
		if err := d.Migrate(ctx, set.Name, set.Files); err != nil {
			return err
		}
	}
	return nil
}

// insert writes a table's rows in bounded transactions.
func (a *Archive) insert(ctx context.Context, d *db.DB, t ArchivedTable) error {
	var batch [][]byte
	size := 0
	flush := func() error {
		lines := batch
		batch, size = nil, 0
		return d.Write(ctx, func(tx db.Tx) error { return db.Insert(ctx, tx, t.Table, lines) })
	}
	err := a.lines(t.Name, func(line []byte) error {
		batch, size = append(batch, line), size+len(line)
		if len(batch) < batchRows && size < batchBytes {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		return err
	}
	for _, c := range t.Columns {
		if c.Identity {
			return d.Write(ctx, func(tx db.Tx) error { return db.SetLastNumber(ctx, tx, t.Name, c.Name, t.Last) })
		}
	}
	return nil
}

// compare reads everything that was written and holds it against the manifest.
func compare(ctx context.Context, d *db.DB, m Manifest) error {
	return d.Read(ctx, func(q db.Q) error {
		for _, want := range m.Tables {
			got, err := tallied(ctx, q, want.Table, func([]byte) error { return nil })
			if err != nil {
				return err
			}
			if got.Rows != want.Rows || got.Digest != want.Digest {
				return fmt.Errorf("compare %s with the archive: %d rows (%s), want %d (%s)", want.Name, got.Rows, got.Digest, want.Rows, want.Digest)
			}
		}
		return nil
	})
}
