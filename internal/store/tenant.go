package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/outbox"
)

// Tenant is one tenant's database. It is safe for concurrent use.
type Tenant struct {
	store *Store
	id    ids.TenantID
	app   string
	part  AppPart

	mu        sync.Mutex
	db        *db.DB // nil while nobody uses it
	refs      int
	used      time.Time // when it was last used, on the machine's clock
	awake     bool      // used since it last rested
	announced bool      // the control data say that this node works on it
	recovered bool
	gone      bool
}

// ID returns whose database it is.
func (t *Tenant) ID() ids.TenantID { return t.id }

// Read runs fn over a snapshot.
func (t *Tenant) Read(ctx context.Context, fn func(q db.Q) error) error {
	d, release, err := t.use(ctx, false)
	if err != nil {
		return err
	}
	defer release()
	return d.Read(ctx, fn)
}

// Ask asks queries over one snapshot; see db.DB.Ask.
func (t *Tenant) Ask(ctx context.Context, asks ...db.Ask) error {
	d, release, err := t.use(ctx, false)
	if err != nil {
		return err
	}
	defer release()
	return d.Ask(ctx, asks...)
}

// Write runs fn in a transaction; see db.DB.Write.
func (t *Tenant) Write(ctx context.Context, fn func(tx db.Tx) error) error {
	d, release, err := t.use(ctx, true)
	if err != nil {
		return err
	}
	defer release()
	return d.Write(ctx, fn)
}

// look runs fn, which takes work that is announced already or finds none.
// Finding none is no use: else the sweeps, which look wherever work may be, would
// keep every tenant from resting.
func (t *Tenant) look(ctx context.Context, fn func(d *db.DB) (found bool, err error)) error {
	d, release, err := t.use(ctx, false)
	if err != nil {
		return err
	}
	found, err := fn(d)
	if found {
		release()
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refs--
	return err
}

// use opens the database if need be and keeps it open until released. Before a
// first write the control data say that the tenant has work: a process that
// dies from then on leaves a trace that others find.
func (t *Tenant) use(ctx context.Context, writes bool) (*db.DB, func(), error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.gone {
		return nil, nil, fault.E(fault.NotFound, "No such tenant.")
	}
	if t.store.closed.Load() {
		return nil, nil, fault.E(fault.Unavailable, "The service is stopping.")
	}
	if t.db == nil {
		if err := t.open(ctx); err != nil {
			return nil, nil, fmt.Errorf("open tenant %s: %w", t.id, err)
		}
	}
	t.awake = true
	if writes && !t.announced {
		if err := t.store.announce(ctx, t.id); err != nil {
			return nil, nil, err
		}
		t.announced = true
	}
	t.refs++
	return t.db, t.release, nil
}

func (t *Tenant) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refs--
	t.used = t.store.cfg.Real.Now()
}

func (t *Tenant) open(ctx context.Context) error {
	d, err := t.store.home.open(ctx, t.id)
	if err != nil {
		return err
	}
	err = t.migrate(ctx, d)
	if err == nil && t.store.home.owned() && !t.recovered {
		err = restart(ctx, d, t.store.clock.Now())
		t.recovered = err == nil
	}
	if err != nil {
		return errors.Join(err, d.Close())
	}
	t.db = d
	return nil
}

// set is a tenant's tables of one kind, with their own migrations.
type set struct {
	name  string
	files fs.FS
}

func (t *Tenant) sets() []set {
	out := []set{{"engine", sub("migrations/tenant")}}
	if t.part.Migrations != nil {
		out = append(out, set{t.app, t.part.Migrations})
	}
	return out
}

// migrate brings the tables to this build's version. What a newer build has
// added stays.
func (t *Tenant) migrate(ctx context.Context, d *db.DB) error {
	for _, s := range t.sets() {
		at, err := d.Version(ctx, s.name)
		if err != nil {
			return err
		}
		newest, err := db.Newest(s.files)
		if err != nil {
			return err
		}
		if at >= newest {
			continue
		}
		if err := d.Migrate(ctx, s.name, s.files); err != nil {
			return err
		}
	}
	return nil
}

// versions tells what each set of tables is at.
func (t *Tenant) versions(ctx context.Context, d *db.DB) (map[string]int64, error) {
	out := map[string]int64{}
	for _, s := range t.sets() {
		at, err := d.Version(ctx, s.name)
		if err != nil {
			return nil, err
		}
		out[s.name] = at
	}
	return out, nil
}

// rest writes down when the tenant's next work is due and, embedded, closes its
// file, once nobody has used it for a while; at once when now is set.
func (t *Tenant) rest(ctx context.Context, now bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	idle := t.refs == 0 && t.store.cfg.Real.Now().Sub(t.used) >= restAfter
	if t.db == nil || !now && !idle {
		return nil
	}
	var err error
	if t.awake && !t.gone {
		var mail, out time.Time
		if mail, out, err = nextWork(ctx, t.db); err == nil {
			next := earlier(mail, out)
			if t.refs > 0 {
				next = t.store.clock.Now() // what is under way may still be written
			}
			err = t.store.conclude(ctx, t.id, next)
		}
		if err != nil {
			err = fmt.Errorf("rest tenant %s: %w", t.id, err)
		}
	}
	if err == nil {
		t.awake, t.announced = false, false
	}
	if now || err == nil && !t.store.shared() {
		err = errors.Join(err, t.db.Close())
		t.db = nil
	}
	return err
}

// earlier is the earlier of two times, of which zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// restart makes work claimable that a crashed process had under way, where one
// process owns the store: every lease found at the first opening is dead; it
// stays counted in crashes. A send that was under way may have
// arrived: it waits for its receipt from now on, because none could come in
// while nobody listened.
func restart(ctx context.Context, d *db.DB, real time.Time) error {
	return d.Write(ctx, func(tx db.Tx) error {
		if err := db.Exec(ctx, tx, "drop dead leases",
			"UPDATE mailboxes SET lease_token = '', lease_until = NULL WHERE lease_token <> ''"); err != nil {
			return err
		}
		return db.Exec(ctx, tx, "doubt interrupted sends", "UPDATE outbox SET state = 'doubt', due_at = $1 WHERE state = 'sending'",
			db.At(real.Add(outbox.DoubtWait)))
	})
}

// NextWork returns when the next mailbox and the next outbox row are due, zero
// for never.
func (t *Tenant) NextWork(ctx context.Context) (mail, out time.Time, err error) {
	d, release, err := t.use(ctx, false)
	if err != nil {
		return mail, out, err
	}
	defer release()
	return nextWork(ctx, d)
}

func nextWork(ctx context.Context, d *db.DB) (mail, out time.Time, err error) {
	var m, o db.Time
	err = d.Read(ctx, func(q db.Q) error {
		if err := q.QueryRowContext(ctx, "SELECT MIN(due_at) FROM mailboxes").Scan(&m); err != nil {
			return fmt.Errorf("find next mailbox: %w", err)
		}
		if err := q.QueryRowContext(ctx, "SELECT MIN(due_at) FROM outbox WHERE state IN ('queued', 'sending', 'doubt')").Scan(&o); err != nil {
			return fmt.Errorf("find next effect: %w", err)
		}
		return nil
	})
	return m.Time, o.Time, err
}
