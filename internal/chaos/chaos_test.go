package chaos_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/chaos"
	"github.com/ratiba/ratiba/internal/db/dbtest"
)

// The run's flags; see `make chaos`.
var (
	runChaos   = flag.Bool("chaos", false, "run TestChaos")
	runStores  = flag.String("store", "sqlite,postgres", "where the product keeps its data, a comma between: sqlite, postgres")
	runFor     = flag.Duration("for", 25*time.Second, "how long customers arrive and processes die")
	runKills   = flag.Int("kills", 0, "how many processes die; one in 2.5 s when 0, none below")
	runNodes   = flag.Int("nodes", 1, "processes at once, on postgres")
	runSeed    = flag.Uint64("seed", 0, "of customers, faults and kills; drawn when 0")
	runRate    = flag.Float64("rate", 2.5, "customers that start in a second")
	runTenants = flag.Int("tenants", 16, "businesses")
	runSettle  = flag.Duration("settle", 4*time.Minute, "how long the run may take to settle")
	runRedis   = flag.Bool("redis-outage", false, "stop and start Redis once")
	runRestart = flag.Bool("postgres-restart", false, "restart PostgreSQL once")
	runUpgrade = flag.Bool("upgrade", false, "replace the nodes one after another by the command's next version, whose checkpoints are others")
	runPG      = flag.String("pg", "", "PostgreSQL's programs and its data directory, a colon between, to restart it")
	runBinary  = flag.String("binary", "", "command to test; built when empty")
	runDir     = flag.String("dir", "", "where data and logs stay; a temporary directory when empty")
	runTable   = flag.String("table", "", "write the table to this file of the project")
	runTitle   = flag.String("title", "Kills under load", "title of the table")
)

// TestChaos is `make chaos`. It takes minutes and says nothing about speed, so
// it runs only when a store is named.
func TestChaos(t *testing.T) {
	t.Parallel()
	if !*runChaos {
		t.Skip("run it with make chaos")
	}
	stores := strings.Split(*runStores, ",")
	reports, errs := make([]chaos.Report, len(stores)), make([]error, len(stores))
	var all sync.WaitGroup
	for i, store := range stores {
		o := options(t, store)
		all.Go(func() { reports[i], errs[i] = chaos.Run(t.Context(), o) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for _, r := range reports {
		if !r.Sound() {
			t.Errorf("%s: the run is not sound", r.Options.Store)
		}
	}
	text := chaos.Markdown(*runTitle, reports)
	t.Log("\n" + text)
	if file := *runTable; file != "" {
		if !filepath.IsAbs(file) {
			file = filepath.Join("..", "..", file) // tests run in their package
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}
}

// options are what the flags say for one store.
func options(t *testing.T, store string) chaos.Options {
	t.Helper()
	o := chaos.Options{
		For: *runFor, Kills: *runKills, Nodes: *runNodes, Store: store, Seed: *runSeed, Rate: *runRate, Tenants: *runTenants,
		Settle: *runSettle, Upgrade: *runUpgrade, Binary: *runBinary, Dir: t.TempDir(),
		Say: func(format string, args ...any) { t.Logf(store+": "+format, args...) },
	}
	if *runDir != "" {
		o.Dir = filepath.Join(*runDir, store)
	}
	switch store {
	case chaos.Embedded:
		o.Nodes = 1
	case chaos.PostgreSQL:
		o.Database, o.Outages.Redis = dbtest.Postgres(t), *runRedis
		if *runRestart {
			o.Outages.Postgres = restart(t, *runPG)
		}
	}
	return o
}

// restart returns what stops a PostgreSQL server as a crash would and starts it
// again, as the user who owns its data.
func restart(t *testing.T, where string) func(ctx context.Context) error {
	t.Helper()
	bin, data, ok := strings.Cut(where, ":")
	if !ok {
		t.Fatalf("-postgres-restart wants -pg PROGRAMS:DATA, not %q", where)
	}
	return func(ctx context.Context) error {
		args := []string{bin + "/pg_ctl", "restart", "--wait", "--silent", "--mode", "immediate", "--pgdata", data, "--log", data + "/restarted.log"}
		if os.Geteuid() == 0 {
			args = append([]string{"setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--"}, args...)
		}
		said, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, said)
		}
		return nil
	}
}
