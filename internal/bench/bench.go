// Package bench measures the product: how many turns a second the engine
// commits and how long each takes, how fast webhooks are acknowledged, what
// open threads weigh and how long a start takes.
//
// The engine is composed as in production, every promise on: commits are
// flushed to disk before they count, model calls are recorded, events encoded.
// What is replaced is outside of it: the model answers at once, and customers,
// WhatsApp and M-Pesa are this package. A run whose conversations do not all
// end as confirmed paid bookings is an error and reports no figures. The
// package belongs to the laboratory. Its SQL, which only counts, is in audit.go.
package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/store"
)

// Databases the engine can run on.
const (
	SQLite   = "sqlite"
	Postgres = "postgres"
)

// connections is what a run may open to PostgreSQL: the product's default, and
// the peer's bound.
const connections = 10

// Options say what is measured.
type Options struct {
	Store    string        // SQLite or Postgres
	DSN      string        // of the PostgreSQL database
	Dir      string        // where the data goes; a temporary directory when empty
	Tenants  int           // businesses
	Contacts int           // customers who write at the same time
	Span     time.Duration // of each measured phase
	Rate     int           // arrivals a second of phases whose pace is not found by measuring
	Profile  string        // where profiles of the first phase go; none when empty
	Peer     *Peer         // measured beside the product; nil for none
	Progress func(format string, args ...any)
}

func (o Options) check() error {
	var errs []error
	switch {
	case o.Store == Postgres && o.DSN == "":
		errs = append(errs, errors.New("the address of a PostgreSQL database is missing (--dsn)"))
	case o.Store != SQLite && o.Store != Postgres:
		errs = append(errs, fmt.Errorf("store %q: want %s or %s", o.Store, SQLite, Postgres))
	}
	if o.Tenants < 1 || o.Tenants > 9999 || o.Contacts < 1 || o.Rate < 1 || o.Span < time.Second {
		errs = append(errs, errors.New("want 1 to 9999 tenants, and a contact, a second and a rate of 1 at least"))
	}
	return errors.Join(errs...)
}

// Figure is one measured number. Its name ends in its unit.
type Figure struct {
	Name  string
	Value float64
	Note  string // what it means
}

// Report is what a run found, in the order it is read.
type Report struct{ Figures []Figure }

func (r *Report) add(name string, value float64, note string) {
	r.Figures = append(r.Figures, Figure{name, value, note})
}

// Value returns a figure by name, 0 when there is none.
func (r *Report) Value(name string) float64 {
	i := slices.IndexFunc(r.Figures, func(f Figure) bool { return f.Name == name })
	if i < 0 {
		return 0
	}
	return r.Figures[i].Value
}

// Map returns the figures by name.
func (r *Report) Map() map[string]float64 {
	m := make(map[string]float64, len(r.Figures))
	for _, f := range r.Figures {
		m[f.Name] = f.Value
	}
	return m
}

// Table is the report for people.
func (r *Report) Table() string {
	var b strings.Builder
	for _, f := range r.Figures {
		fmt.Fprintf(&b, "%-32s %12s  %s\n", f.Name, strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.3f", f.Value), "0"), "."), f.Note)
	}
	return b.String()
}

// place prepares where the data goes. remove deletes what was made for the run.
func (o Options) place() (cfg store.Config, remove func() error, err error) {
	cfg = store.Config{Dir: o.Dir, Conns: connections}
	if o.Store == Postgres {
		cfg.URL = o.DSN
	}
	if o.Dir != "" {
		return cfg, func() error { return nil }, nil
	}
	if cfg.Dir, err = os.MkdirTemp("", "ratiba-bench-"); err != nil {
		return cfg, nil, fmt.Errorf("make data directory: %w", err)
	}
	return cfg, func() error { return os.RemoveAll(cfg.Dir) }, nil
}

// flushes is how many flushes to disk the disk's own figure is taken from.
const flushes = 200

// flushTime measures what one flush of 4 KiB costs where the data goes, in
// milliseconds: a figure far below a tenth belongs to no disk.
func flushTime(dir string) (median float64, err error) {
	name := filepath.Join(dir, "flush")
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // the data directory.
	if err != nil {
		return 0, fmt.Errorf("measure the disk: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(name)) }()
	page, watch := make([]byte, 4096), clock.Real{}
	var took []time.Duration
	for range flushes {
		start := watch.Now()
		_, err := f.Write(page)
		if err == nil {
			err = f.Sync()
		}
		if err != nil {
			return 0, fmt.Errorf("measure the disk: %w", err)
		}
		took = append(took, watch.Now().Sub(start))
	}
	slices.Sort(took)
	return quantile(took, 0.5), nil
}
