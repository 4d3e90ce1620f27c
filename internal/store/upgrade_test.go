package store_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/db/dbtest"
)

// A thread that spent money before there were purses has one from the upgrade
// on, with what it spent: an upgrade is no new allowance.
func TestAnUpgradeFillsThePursesWithWhatThreadsSpent(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	var d *db.DB
	if dbtest.Backend(t) == "postgres" {
		server, err := db.OpenServer(ctx, dbtest.Postgres(t), 4)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Close)
		if err := server.Extensions(ctx); err != nil {
			t.Fatal(err)
		}
		d = server.Schema("t_upgraded")
	} else {
		var err error
		if d, err = db.OpenSQLite(ctx, filepath.Join(t.TempDir(), "upgraded.db")); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = d.Close() })
	files := os.DirFS("migrations/tenant")
	if err := d.MigrateTo(ctx, "engine", files, 2); err != nil {
		t.Fatal(err)
	}
	err := d.Write(ctx, func(tx db.Tx) error {
		for _, c := range []struct {
			id, thread, account string
			cost                int64
		}{
			{"a", "one", "thread", 60_000_000},
			{"b", "one", "thread", 1 << 40},
			{"c", "two", "thread", 7},
			{"d", "", "thread", 100},
			{"e", "one", "operations", 1000},
			{"f", "three", "eval", 1000},
		} {
			if err := db.Exec(ctx, tx, "store call", `INSERT INTO llm_calls (id, role, thread_id, turn_id, tier, provider, model, prompt_version,
				tokens_in, tokens_cached, tokens_written, tokens_out, estimated, cost_pico, latency_us, outcome, canary_arm, account, answer,
				request_hash, failure_signal, at) VALUES ($1, 'r', $2, 'u', 1, 'p', 'm', 'v', 0, 0, 0, 0, FALSE, $3, 0, 'ok', 'stable', $4, '', 'h', '', $5)`,
				c.id, c.thread, c.cost, c.account, db.At(noon)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // what is migrated already is not filled twice
		if err := d.Migrate(ctx, "engine", files); err != nil {
			t.Fatal(err)
		}
	}
	type purse struct {
		Ceiling, Holder string
		Day, Cost       int64
		Told            bool
	}
	var got []purse
	err = d.Read(ctx, func(q db.Q) (err error) {
		got, err = db.Collect(ctx, q, "list purses", func(row db.Scanner) (p purse, err error) {
			err = row.Scan(&p.Ceiling, &p.Holder, &p.Day, &p.Cost, &p.Told)
			return p, err
		}, "SELECT ceiling, holder, day, cost_pico, told FROM llm_purses ORDER BY holder")
		return err
	})
	want := []purse{{"thread", "one", 0, 1<<40 + 60_000_000, false}, {"thread", "two", 0, 7, false}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
