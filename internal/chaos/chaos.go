// Package chaos runs the product as it is deployed, under load and through
// kills, and counts afterwards what was lost or done twice.
//
// The binary under test runs as processes of its own. Customers and admins are
// scripts that act on what their phones receive; the providers are the
// simulators, behind a network that drops, repeats, delays and reorders in both
// directions. Processes are killed at instants drawn from a seed. When all has
// settled an auditor reads the databases and the providers' journal: whatever
// is not in order is a finding in one of its columns, and every column but
// Unavoidable must be empty. The auditor may contain SQL, in files named
// audit*.go. The package belongs to the laboratory and knows the product only
// by its command, its webhooks and its tables.
package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
)

// Options say how a run goes. The zero value of a field means the default its
// comment names.
type Options struct {
	For     time.Duration // how long customers start and processes die; 25 s
	Kills   int           // within For; one in 2.5 s, at least 1; below 0: none
	Nodes   int           // processes at once; 1
	Store   string        // Embedded or PostgreSQL; Embedded
	Seed    uint64        // of customers, faults and kills; 0 draws one
	Rate    float64       // customers that start in a second; 2.5
	Tenants int           // businesses; 16
	Settle  time.Duration // how long a run may take to settle; 4 min
	Binary  string        // of the command under test; built when empty
	Dir     string        // for data and logs; required
	Say     func(format string, args ...any)
	// Database is the URL of an empty PostgreSQL database, for a superuser.
	Database string
	Outages  Outages
	Upgrade  bool // the nodes are replaced by the command's next version, one after another
}

// Outages are services that go away and come back while the run goes on.
type Outages struct {
	Redis    bool                            // the run's own is stopped and started once
	Postgres func(ctx context.Context) error // restarts the server, once; nil leaves it alone
}

// The stores a run can use.
const (
	Embedded   = "sqlite"
	PostgreSQL = "postgres"
)

func (o Options) withDefaults() (Options, error) {
	o.For = cmp.Or(o.For, 25*time.Second)
	o.Kills = cmp.Or(o.Kills, max(1, int(o.For/(2500*time.Millisecond))))
	o.Kills = max(o.Kills, 0)
	o.Nodes = cmp.Or(o.Nodes, 1)
	o.Store = cmp.Or(o.Store, Embedded)
	o.Seed = cmp.Or(o.Seed, rand.Uint64()>>16) //nolint:gosec // a schedule, not a secret.
	o.Rate = cmp.Or(o.Rate, 2.5)
	o.Tenants = cmp.Or(o.Tenants, 16)
	o.Settle = cmp.Or(o.Settle, 4*time.Minute)
	if o.Say == nil {
		o.Say = func(string, ...any) {}
	}
	switch {
	case o.Dir == "":
		return o, errors.New("chaos: Dir is missing")
	case o.Store != Embedded && o.Store != PostgreSQL:
		return o, fmt.Errorf("chaos: the store is %s or %s, not %q", Embedded, PostgreSQL, o.Store)
	case o.Store == Embedded && (o.Nodes != 1 || o.Outages.Redis || o.Outages.Postgres != nil):
		return o, errors.New("chaos: the embedded store has one process and no other service")
	case o.Store == PostgreSQL && o.Database == "":
		return o, errors.New("chaos: Database is missing")
	case o.Nodes < 1 || o.Nodes > 3:
		return o, errors.New("chaos: from 1 to 3 nodes")
	case o.Tenants < 1 || o.Tenants > 90:
		return o, errors.New("chaos: from 1 to 90 tenants")
	}
	return o, nil
}

// The seed's streams, so that drawing more of one does not change another.
const (
	streamKills uint64 = iota + 1
	streamInbound
	streamOutbound
	streamPeople
)

func stream(seed, of uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, of)) } //nolint:gosec // a schedule, not a secret.

// Run carries a run out and audits it. The error is of the laboratory itself;
// what the product did wrong is in the report.
func Run(ctx context.Context, o Options) (report Report, err error) {
	o, err = o.withDefaults()
	if err != nil {
		return Report{}, err
	}
	real := clock.Real{}
	report = Report{Options: o, Began: real.Now(), Machine: machine()}
	o.Say("seed %d, %s, %d node(s), %d kills in %v", o.Seed, o.Store, o.Nodes, o.Kills, o.For)
	life, end := context.WithCancel(ctx)
	r := &run{o: o, real: real, end: end}
	defer func() { err = errors.Join(err, r.stop()) }()
	if err := r.prepare(life); err != nil {
		return report, err
	}
	if err := r.storm(life); err != nil {
		return report, err
	}
	if report.Settled, err = r.settle(life); err != nil {
		return report, err
	}
	evidence, err := r.evidence(ctx)
	if err != nil {
		return report, err
	}
	report.Kills, report.Binary = len(evidence.Kills), r.version
	report.Load, report.Took = r.people.tally(), real.Now().Sub(report.Began)
	report.Findings, report.Totals, err = Audit(ctx, evidence)
	return report, errors.Join(err, evidence.close())
}

// run is one run under way.
type run struct {
	o       Options
	real    clock.Clock
	world   *world
	store   storage
	cluster *cluster
	people  *people
	version string
	end     context.CancelFunc // of customers and admins
}

// prepare starts everything but the load.
func (r *run) prepare(ctx context.Context) (err error) {
	if err := os.MkdirAll(r.o.Dir, 0o750); err != nil {
		return fmt.Errorf("chaos: %w", err)
	}
	binary, err := build(ctx, r.o)
	if err != nil {
		return err
	}
	if r.version, err = versionOf(ctx, binary); err != nil {
		return err
	}
	next := ""
	if r.o.Upgrade {
		if next, err = buildNext(ctx, r.o); err != nil {
			return err
		}
	}
	if r.store, err = openStorage(ctx, r.o); err != nil {
		return err
	}
	town, err := settleTown(r.o.Tenants)
	if err != nil {
		return err
	}
	if r.world, err = newWorld(ctx, r.o, town); err != nil {
		return err
	}
	if r.cluster, err = newCluster(ctx, r.o, binary, next, r.world, r.store); err != nil {
		return err
	}
	if err := r.cluster.define(ctx, town); err != nil {
		return err
	}
	for i := range r.o.Nodes {
		if err := r.cluster.start(ctx, i); err != nil {
			return err
		}
	}
	r.world.gate.open(r.cluster.addresses())
	r.people = newPeople(r.o, town, r.world)
	return r.people.wakeAdmins(ctx)
}

// storm starts customers and kills processes until the time is over.
func (r *run) storm(ctx context.Context) error {
	started := r.real.Now()
	end := started.Add(r.o.For)
	load, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	go r.people.arrive(load, ctx)
	out, done := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(done)
		out <- r.store.trouble(load, r.o)
	}()
	kills := 0
	for _, d := range deaths(r.o) {
		if !pause(ctx, started.Add(d.after).Sub(r.real.Now())) {
			return ctx.Err()
		}
		var err error
		if d.renews {
			err = r.cluster.renew(ctx, d.node)
		} else {
			kills++
			err = r.cluster.kill(ctx, kills, d)
		}
		if err != nil {
			return err
		}
	}
	if !pause(ctx, end.Sub(r.real.Now())) {
		return ctx.Err()
	}
	<-done
	return <-out
}

// death is one planned end of a process: when after the start, of which node,
// and how long it stays away. One that renews is asked for, and the next version
// comes after it; the others are kills.
type death struct {
	after, away time.Duration
	node        int
	renews      bool
}

// deaths draws the schedule: one kill in each equal part of the time, anywhere
// in it, and the replacements.
func deaths(o Options) []death {
	draw, part := stream(o.Seed, streamKills), float64(o.For)/float64(max(o.Kills, 1))
	out := make([]death, o.Kills)
	for i := range out {
		out[i] = death{
			after: time.Duration((float64(i) + draw.Float64()) * part),
			away:  time.Duration(draw.Float64() * min(part/2, float64(1500*time.Millisecond))),
			node:  draw.IntN(o.Nodes),
		}
	}
	out = slices.Concat(out, renewals(o))
	slices.SortStableFunc(out, func(a, b death) int { return cmp.Compare(a.after, b.after) })
	return out
}

// pause waits; false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (r *run) stop() error {
	var errs []error
	r.end()
	if r.people != nil {
		r.people.wait()
	}
	if r.cluster != nil {
		errs = append(errs, r.cluster.end())
	}
	if r.world != nil {
		r.world.stop()
	}
	if r.store != nil {
		errs = append(errs, r.store.close())
	}
	return errors.Join(errs...)
}

// logFile is where a node writes its events.
func logFile(dir string, node int) string {
	return filepath.Join(dir, fmt.Sprintf("node-%d.log", node+1))
}
