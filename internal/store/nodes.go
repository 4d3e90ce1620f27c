package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/ids"
)

// Bounds of what nodes tell each other; real time.
const (
	// nodeLife is how long after its last beat a node counts as alive.
	nodeLife = 30 * time.Second
	// restAfter is how long nobody used a tenant's database before it rests.
	restAfter = 30 * time.Second
	// closeTime bounds what a closing store writes down.
	closeTime = 5 * time.Second
)

// Tend does what recurs: it says that this node lives, agrees on the time with
// the others and lets unused tenants rest. A server calls it every few seconds.
func (s *Store) Tend(ctx context.Context) error {
	if s.clock.agree {
		before := s.cfg.Real.Now()
		at, err := s.home.now(ctx, s.cfg.Real)
		if err != nil {
			return err
		}
		s.clock.set(at, before, s.cfg.Real.Now())
	}
	errs := []error{s.home.held(ctx)}
	if s.shared() && !s.cfg.Visitor {
		errs = append(errs, s.beat(ctx))
	}
	return errors.Join(append(errs, s.restIdle(ctx))...)
}

// beat says that this node lives, and what it can read.
func (s *Store) beat(ctx context.Context) error {
	now := s.clock.Now()
	own := map[string]int{}
	for name, part := range s.cfg.Apps {
		own[name] = part.Version
	}
	err := s.control.Write(ctx, func(tx db.Tx) error {
		return db.Exec(ctx, tx, "beat", `
			INSERT INTO nodes (id, beat_at, reads) VALUES ($1, $2, $3)
			ON CONFLICT (id) DO UPDATE SET beat_at = excluded.beat_at, reads = excluded.reads`,
			s.cfg.Node, db.At(now), db.JSON{V: own})
	})
	if err != nil {
		return fmt.Errorf("beat: %w", err)
	}
	s.mu.Lock()
	late := !s.beaten.IsZero() && now.Sub(s.beaten) > nodeLife/2
	s.beaten = now
	s.mu.Unlock()
	if late {
		s.announceAgain()
	}
	return s.learn(ctx)
}

// announceAgain has every tenant announced anew by its next write: others may
// have taken this node for dead, and forgotten what it had announced.
func (s *Store) announceAgain() {
	for _, t := range s.handles() {
		t.mu.Lock()
		t.announced = false
		t.mu.Unlock()
	}
}

func (s *Store) handles() []*Tenant {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.tenants))
}

// learn reads what the nodes that live can read.
func (s *Store) learn(ctx context.Context) error {
	newest := map[string]int{}
	err := s.control.Ask(ctx, db.Each("list nodes", func(row db.Scanner) error {
		var reads map[string]int
		err := row.Scan(db.JSON{V: &reads})
		for name, version := range reads {
			newest[name] = max(newest[name], version)
		}
		return err
	}, "SELECT reads FROM nodes WHERE beat_at > $1", db.At(s.clock.Now().Add(-nodeLife))))
	if err != nil {
		return fmt.Errorf("learn who lives: %w", err)
	}
	s.reads.Store(&newest)
	return nil
}

// leave takes this node off the list.
func (s *Store) leave(ctx context.Context) error {
	return s.control.Write(ctx, func(tx db.Tx) error {
		return db.Exec(ctx, tx, "leave", "DELETE FROM nodes WHERE id = $1", s.cfg.Node)
	})
}

// Node returns the name of this process.
func (s *Store) Node() string { return s.cfg.Node }

// Nodes counts the nodes that live, this one included.
func (s *Store) Nodes(ctx context.Context) (n int, err error) {
	err = s.control.Read(ctx, func(q db.Q) error {
		return q.QueryRowContext(ctx, "SELECT COUNT(*) FROM nodes WHERE beat_at > $1", db.At(s.clock.Now().Add(-nodeLife))).Scan(&n)
	})
	return n, err
}

func (s *Store) restIdle(ctx context.Context) error {
	var errs []error
	for _, t := range s.handles() {
		errs = append(errs, t.rest(ctx, false))
	}
	return errors.Join(errs...)
}

// Wake says when a tenant may have work.
type Wake struct {
	Tenant ids.TenantID
	At     time.Time
}

// Wakes lists the tenants that may have work due until then, without opening
// their databases. The zero time lists all that will ever have.
func (s *Store) Wakes(ctx context.Context, until time.Time) (wakes []Wake, err error) {
	err = s.control.Read(ctx, func(q db.Q) (err error) {
		query, args := "SELECT tenant_id, MIN(due_at) FROM wakes GROUP BY tenant_id", []any{}
		if !until.IsZero() {
			query, args = "SELECT tenant_id, MIN(due_at) FROM wakes WHERE due_at <= $1 GROUP BY tenant_id", []any{db.At(until)}
		}
		wakes, err = db.Collect(ctx, q, "list tenants with work", func(row db.Scanner) (w Wake, err error) {
			var at db.Time
			err = row.Scan(&w.Tenant, &at)
			w.At = at.Time
			return w, err
		}, query, args...)
		return err
	})
	return wakes, err
}

// announce says that this node works on a tenant from now on.
func (s *Store) announce(ctx context.Context, id ids.TenantID) error {
	return s.writeWake(ctx, id, s.clock.Now())
}

func (s *Store) writeWake(ctx context.Context, id ids.TenantID, at time.Time) error {
	return s.control.Write(ctx, func(tx db.Tx) error {
		return db.Exec(ctx, tx, "announce work", `
			INSERT INTO wakes (tenant_id, node_id, due_at) VALUES ($1, $2, $3)
			ON CONFLICT (tenant_id, node_id) DO UPDATE SET due_at = excluded.due_at`, string(id), s.cfg.Node, db.At(at))
	})
}

// conclude says when a tenant's next work is due, never when zero, in place of
// what this node and those that died had announced.
func (s *Store) conclude(ctx context.Context, id ids.TenantID, next time.Time) error {
	return s.control.Write(ctx, func(tx db.Tx) error {
		if err := db.Exec(ctx, tx, "forget announcements", `DELETE FROM wakes WHERE tenant_id = $1 AND (node_id = $2 OR NOT EXISTS (
			SELECT 1 FROM nodes WHERE nodes.id = wakes.node_id AND nodes.beat_at > $3))`,
			string(id), s.cfg.Node, db.At(s.clock.Now().Add(-nodeLife))); err != nil || next.IsZero() {
			return err
		}
		return db.Exec(ctx, tx, "announce next work", "INSERT INTO wakes (tenant_id, node_id, due_at) VALUES ($1, $2, $3)",
			string(id), s.cfg.Node, db.At(next))
	})
}

// Awake lists the tenants this process used since they last rested.
func (s *Store) Awake() []ids.TenantID {
	var out []ids.TenantID
	for _, t := range s.handles() {
		t.mu.Lock()
		if t.awake {
			out = append(out, t.id)
		}
		t.mu.Unlock()
	}
	return out
}
