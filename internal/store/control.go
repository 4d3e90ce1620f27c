package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base32"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/tenant"
)

// maxQuarantine bounds how many unreadable payloads are kept; the oldest go first.
const maxQuarantine = 1000

// maxQuarantined bounds what is kept of one payload, in bytes.
const maxQuarantined = 128 << 10

// Registered is a tenant with its route, the part of callback addresses that
// names it.
type Registered struct {
	Tenant tenant.Tenant
	Route  string
}

// Tenants returns every registered tenant, by slug.
func (s *Store) Tenants(ctx context.Context) ([]Registered, error) {
	var out []Registered
	err := s.control.Read(ctx, func(q db.Q) (err error) {
		out, err = db.Collect(ctx, q, "list tenants", scanRegistered,
			"SELECT id, route, version, definition FROM tenants ORDER BY slug")
		return err
	})
	return out, err
}

// Versions returns the version of every registered tenant's definition.
func (s *Store) Versions(ctx context.Context) (map[ids.TenantID]int64, error) {
	out := map[ids.TenantID]int64{}
	err := s.control.Read(ctx, func(q db.Q) error {
		clear(out)
		_, err := db.Collect(ctx, q, "list versions", func(row db.Scanner) (struct{}, error) {
			var id ids.TenantID
			var version int64
			err := row.Scan(&id, &version)
			out[id] = version
			return struct{}{}, err
		}, "SELECT id, version FROM tenants")
		return err
	})
	return out, err
}

func scanRegistered(row db.Scanner) (Registered, error) {
	var r Registered
	var id string
	var version int64
	if err := row.Scan(&id, &r.Route, &version, db.JSON{V: &r.Tenant}); err != nil {
		return r, err
	}
	r.Tenant.ID, r.Tenant.Version = ids.TenantID(id), version
	return r, nil
}

// Register writes a tenant's definition: a new tenant, or a new version of the
// one with that slug. A number that belongs to another tenant is refused with
// fault.Conflict.
func (s *Store) Register(ctx context.Context, t tenant.Tenant, now time.Time) (Registered, error) {
	var out Registered
	err := s.control.Write(ctx, func(tx db.Tx) error {
		known, err := bySlug(ctx, tx, t.Slug)
		if err != nil {
			return err
		}
		out = known
		if known.Route == "" {
			out.Tenant.ID, out.Route = ids.TenantID(ids.New(now)), newRoute()
		}
		t.ID, t.Version = out.Tenant.ID, out.Tenant.Version+1
		out.Tenant = t
		if err := db.Exec(ctx, tx, "write tenant", `
			INSERT INTO tenants (id, slug, route, definition, version, updated_at) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (id) DO UPDATE SET definition = excluded.definition, version = excluded.version, updated_at = excluded.updated_at`,
			string(t.ID), t.Slug, out.Route, db.JSON{V: t}, t.Version, db.At(now)); err != nil {
			return err
		}
		return writeNumbers(ctx, tx, t)
	})
	return out, err
}

func bySlug(ctx context.Context, tx db.Tx, slug string) (Registered, error) {
	found, err := db.Collect(ctx, tx, "find tenant", scanRegistered,
		"SELECT id, route, version, definition FROM tenants WHERE slug = $1", slug)
	if err != nil || len(found) == 0 {
		return Registered{}, err
	}
	return found[0], nil
}

func writeNumbers(ctx context.Context, tx db.Tx, t tenant.Tenant) error {
	if err := db.Exec(ctx, tx, "clear numbers", "DELETE FROM numbers WHERE tenant_id = $1", string(t.ID)); err != nil {
		return err
	}
	for _, n := range t.Numbers {
		var owner string
		err := tx.QueryRowContext(ctx, "SELECT tenant_id FROM numbers WHERE provider = $1 AND id = $2", n.Provider, n.ID).Scan(&owner)
		if err == nil {
			return fault.E(fault.Conflict, fmt.Sprintf("The number %s (%s) belongs to another tenant.", n.ID, n.Provider))
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("find number: %w", err)
		}
		if err := db.Exec(ctx, tx, "write number", "INSERT INTO numbers (provider, id, tenant_id) VALUES ($1, $2, $3)",
			n.Provider, n.ID, string(t.ID)); err != nil {
			return err
		}
	}
	return nil
}

// newRoute draws a tenant's route: short, lower case, not guessable from the slug.
func newRoute() string {
	b := make([]byte, 5)
	_, _ = rand.Read(b) // never fails
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b))
}

// Quarantine keeps a payload nobody could place, bounded in number.
func (s *Store) Quarantine(ctx context.Context, source, reason string, body []byte, now time.Time) error {
	body = body[:min(len(body), maxQuarantined)]
	return s.control.Write(ctx, func(tx db.Tx) error {
		if err := db.Exec(ctx, tx, "quarantine", "INSERT INTO quarantine (source, reason, body, at) VALUES ($1, $2, $3, $4)",
			source, reason, body, db.At(now)); err != nil {
			return err
		}
		return db.Exec(ctx, tx, "trim quarantine",
			"DELETE FROM quarantine WHERE seq <= (SELECT MAX(seq) FROM quarantine) - $1", maxQuarantine)
	})
}

// Quarantined counts what is kept in quarantine.
func (s *Store) Quarantined(ctx context.Context) (int, error) {
	var n int
	err := s.control.Read(ctx, func(q db.Q) error {
		return q.QueryRowContext(ctx, "SELECT COUNT(*) FROM quarantine").Scan(&n)
	})
	return n, err
}
