package chaos

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/sim/journal"
)

// calm is how long nothing may wait before a run counts as settled, look how
// often that is asked.
const (
	calm = 3 * time.Second
	look = time.Second
)

// settle waits until nobody waits for anything: customers are done or left
// alone, every webhook is acknowledged, and nothing is due in the databases. It
// reports false when that took longer than it may.
func (r *run) settle(ctx context.Context) (settled bool, err error) {
	businesses, end, err := r.store.open(ctx)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, end()) }()
	latest := r.real.Now().Add(r.o.Settle)
	var quietSince, told time.Time
	for now := r.real.Now(); now.Before(latest); now = r.real.Now() {
		waits, err := r.waits(ctx, businesses)
		if err != nil {
			return false, err
		}
		switch {
		case waits != "" && now.Sub(told) > 10*time.Second:
			r.o.Say("settling: %s", waits)
			told = now
			quietSince = time.Time{}
		case waits != "":
			quietSince = time.Time{}
		case quietSince.IsZero():
			quietSince = now
		case now.Sub(quietSince) >= calm:
			return true, nil
		}
		if !pause(ctx, look) {
			return false, ctx.Err()
		}
	}
	return false, nil
}

// waits says what is still under way, "" when nothing is.
func (r *run) waits(ctx context.Context, businesses map[string]*db.DB) (string, error) {
	if n := r.people.busy(); n > 0 {
		return fmt.Sprintf("%d customers are not done", n), nil
	}
	open := len(unacknowledged(r.world.sim.Journal(0), r.real.Now()))
	if open > 0 {
		return fmt.Sprintf("%d webhooks are not acknowledged", open), nil
	}
	for slug, d := range businesses {
		what, err := underWay(ctx, d, r.real.Now())
		if err != nil || what != "" {
			return slug + ": " + what, err
		}
	}
	return "", nil
}

// evidence stops the providers, then the product, and gathers what the auditor
// reads.
func (r *run) evidence(ctx context.Context) (Evidence, error) {
	stopped := r.real.Now()
	r.end()
	r.world.sim.Stop()
	r.people.wait()
	if err := r.cluster.end(); err != nil {
		return Evidence{}, err
	}
	if err := r.people.keep(filepath.Join(r.o.Dir, "people.txt")); err != nil {
		return Evidence{}, err
	}
	entries := r.world.sim.Journal(0)
	if err := keep(filepath.Join(r.o.Dir, "journal.jsonl"), entries); err != nil {
		return Evidence{}, err
	}
	handed, err := handovers(r.o)
	if err != nil {
		return Evidence{}, err
	}
	businesses, end, err := r.store.open(ctx)
	if err != nil {
		return Evidence{}, err
	}
	return Evidence{
		Businesses: businesses, Journal: entries, Faults: r.world.calls.faults(), Webhooks: r.world.gate.ledger.faults(),
		Kills: r.cluster.killed(), Stops: r.cluster.stopped(), Handovers: handed, Stopped: stopped, end: end,
	}, nil
}

// keep writes the journal down, for who looks into a finding.
func keep(file string, entries []journal.Entry) (err error) {
	f, err := os.Create(file) //nolint:gosec // the run's own directory.
	if err != nil {
		return fmt.Errorf("keep journal: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	buffered := bufio.NewWriter(f)
	enc := json.NewEncoder(buffered)
	for _, e := range entries {
		if err := enc.Encode(e); err != nil {
			return fmt.Errorf("keep journal: %w", err)
		}
	}
	return buffered.Flush()
}

// Evidence is what an audit goes by.
type Evidence struct {
	Businesses map[string]*db.DB // by slug
	Journal    []journal.Entry   // of the providers, whole
	Faults     []Fault           // what the network did to the product's calls
	Webhooks   []Fault           // what it did to webhooks
	Kills      []Kill
	Stops      []Stop
	Handovers  []Handover // of chats that a node could not read
	Stopped    time.Time  // when the product was asked to stop: nothing is due after it

	end func() error // closes the databases
}

func (e Evidence) close() error { return e.end() }
