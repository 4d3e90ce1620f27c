package store

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/ratiba/ratiba/internal/ids"
)

// migrators is how many tenants' databases are migrated at once.
const migrators = 4

// Migrated is what became of one tenant's database.
type Migrated struct {
	ID   ids.TenantID
	Slug string
	// From and To are versions by set of tables; To is what was reached.
	From, To map[string]int64
	Err      error
}

// Migrate brings every tenant's database to this build's version and reports
// each as it is done, one at a time. What fails keeps the others from nothing,
// and a run that was interrupted goes on where it was. Nodes one version older
// may go on serving: migrations only add.
func (s *Store) Migrate(ctx context.Context, report func(Migrated)) error {
	known, err := s.Tenants(ctx)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var workers sync.WaitGroup
	failed := 0
	next := make(chan Registered)
	for range migrators {
		workers.Go(func() {
			for k := range next {
				m := s.migrateOne(ctx, k)
				mu.Lock()
				if m.Err != nil {
					failed++
				}
				report(m)
				mu.Unlock()
			}
		})
	}
	for _, k := range known {
		next <- k
	}
	close(next)
	workers.Wait()
	if failed > 0 {
		return fmt.Errorf("%d of %d tenants could not be migrated", failed, len(known))
	}
	return ctx.Err()
}

func (s *Store) migrateOne(ctx context.Context, k Registered) Migrated {
	m := Migrated{ID: k.Tenant.ID, Slug: k.Tenant.Slug}
	if m.Err = ctx.Err(); m.Err != nil {
		return m
	}
	t, err := s.Tenant(k.Tenant.ID, k.Tenant.App)
	if err != nil {
		m.Err = err
		return m
	}
	d, err := s.home.open(ctx, k.Tenant.ID)
	if err != nil {
		m.Err = err
		return m
	}
	m.From, err = t.versions(ctx, d)
	if err == nil {
		err = t.migrate(ctx, d)
	}
	var told error
	m.To, told = t.versions(ctx, d)
	m.Err = errors.Join(err, told, d.Close())
	return m
}
