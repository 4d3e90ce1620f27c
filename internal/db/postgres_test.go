package db_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/db/dbtest"
)

var noon = time.Date(2026, 4, 25, 9, 0, 0, 0, time.UTC)

// patience bounds what a test waits for.
const patience = 20 * time.Second

// server opens a PostgreSQL database with a pool of that many connections.
func server(t *testing.T, url string, conns int) *db.Server {
	t.Helper()
	s, err := db.OpenServer(t.Context(), url, conns)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// pair is a schema with notes behind a pool of so many connections, and another
// way to the same database.
func pair(t *testing.T, conns int) (d, beside *db.DB) {
	t.Helper()
	url := dbtest.Postgres(t)
	d = server(t, url, conns).Schema("tenant")
	noted(t, d)
	return d, server(t, url, 2).Schema("tenant")
}

// ask reads one number.
func ask(t *testing.T, d *db.DB, query string, args ...any) (n int) {
	t.Helper()
	err := d.Read(t.Context(), func(q db.Q) error { return q.QueryRowContext(t.Context(), query, args...).Scan(&n) })
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// until asks until the answer is what it must become.
func until(t *testing.T, d *db.DB, want int, query string, args ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for ask(t, d, query, args...) != want {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s: never became %d", query, want)
		}
	}
}

const (
	// kill ends all connections but one's own.
	kill = "SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
	// others counts the connections that are left.
	others = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
)

// cut ends all other connections and waits until they are gone.
func cut(t *testing.T, beside *db.DB) {
	t.Helper()
	ask(t, beside, kill)
	until(t, beside, 0, others)
}

func TestASchemaReachesItsOwnRowsOnly(t *testing.T) {
	t.Parallel()
	const schemas, workers, rounds = 20, 16, 200
	s := server(t, dbtest.Postgres(t), 4)
	var tenants []*db.DB
	for i := range schemas {
		d := s.Schema(fmt.Sprintf(`Tenant "%d"`, i))
		noted(t, d)
		if err := d.Write(t.Context(), note(i)); err != nil {
			t.Fatal(err)
		}
		tenants = append(tenants, d)
	}
	// The control data hold a table of the same name, and so do extensions.
	public, bare := s.Schema("public"), s.Schema("bare")
	noted(t, public)
	if err := errors.Join(public.Write(t.Context(), note(-1)), bare.Migrate(t.Context(), "empty", files("SELECT 1"))); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for r := range rounds {
				own := (w*rounds + r*7) % schemas
				var n, m int
				err := tenants[own].Write(t.Context(), func(tx db.Tx) error {
					if err := db.Exec(t.Context(), tx, "touch", "UPDATE notes SET at = $1", db.At(noon)); err != nil {
						return err
					}
					return tx.QueryRowContext(t.Context(), "SELECT SUM(n) FROM notes").Scan(&n)
				})
				err = errors.Join(err, tenants[own].Read(t.Context(), func(q db.Q) error {
					return q.QueryRowContext(t.Context(), "SELECT SUM(n) FROM notes").Scan(&m)
				}))
				if err != nil || n != own || m != own {
					t.Errorf("schema %d read %d and %d, %v", own, n, m, err)
				}
				err = bare.Read(t.Context(), func(q db.Q) error { return q.QueryRowContext(t.Context(), "SELECT SUM(n) FROM notes").Scan(&n) })
				if err == nil {
					t.Errorf("a schema without the table read %d", n)
				}
			}
		})
	}
	wg.Wait()
}

func TestTheConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	const conns = 5
	s := server(t, dbtest.Postgres(t), conns)
	var most atomic.Int64
	var wg sync.WaitGroup
	for w := range 64 {
		wg.Go(func() {
			for i := range 200 {
				d := s.Schema("tenant" + strconv.Itoa((w+i)%200))
				var n int64
				count := func(q db.Q) error {
					return q.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database()").Scan(&n)
				}
				err := d.Read(t.Context(), count)
				if i%10 == 0 {
					err = errors.Join(err, d.Write(t.Context(), func(tx db.Tx) error { return count(tx) }))
				}
				if err != nil {
					t.Error(err)
				}
				for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
				}
			}
		})
	}
	wg.Wait()
	if n := most.Load(); n > conns || n < 2 {
		t.Errorf("%d connections were open at once, want several and at most %d", n, conns)
	}
}

func TestWhoWaitsForAConnectionMayGiveUp(t *testing.T) {
	t.Parallel()
	d, _ := pair(t, 1)
	err := d.Read(t.Context(), func(db.Q) error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		return d.Read(ctx, func(db.Q) error { return nil })
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want context.DeadlineExceeded", err)
	}
	wantNotes(t, d)
}

// crossed writes two rows in an order, after the other has written its first.
func crossed(t *testing.T, write func(context.Context, func(tx db.Tx) error) error) (errs [2]error, runs int) {
	t.Helper()
	var met, wg sync.WaitGroup
	var ran atomic.Int64
	met.Add(2)
	for i := range 2 {
		wg.Go(func() {
			first := true
			errs[i] = write(t.Context(), func(tx db.Tx) error {
				ran.Add(1)
				touch := func(n int) error {
					_, err := db.Changed(t.Context(), tx, "touch", "UPDATE notes SET at = $2 WHERE n = $1", n, db.At(noon))
					return err
				}
				err := touch(1 + i)
				if first {
					first = false
					met.Done()
					met.Wait()
				}
				return errors.Join(err, touch(2-i))
			})
		})
	}
	wg.Wait()
	return errs, int(ran.Load())
}

func TestADeadlockIsRunAgain(t *testing.T) {
	t.Parallel()
	d, _ := pair(t, 4)
	if err := d.Write(t.Context(), func(tx db.Tx) error { return errors.Join(note(1)(tx), note(2)(tx)) }); err != nil {
		t.Fatal(err)
	}
	if errs, runs := crossed(t, d.Write); errors.Join(errs[:]...) != nil || runs < 3 {
		t.Errorf("two writers: %v after %d runs; want success after 3 or more", errs, runs)
	}
	errs, runs := crossed(t, d.Once)
	if (errs[0] == nil) == (errs[1] == nil) || !errors.Is(errors.Join(errs[:]...), db.ErrAgain) || runs != 2 {
		t.Errorf("two writers that run once: %v after %d runs; want ErrAgain for one", errs, runs)
	}
}

func TestACallerWhoGivesUpInsideLeavesNothing(t *testing.T) {
	t.Parallel()
	d, beside := pair(t, 1)
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		done, runs := make(chan error), 0
		go func() {
			done <- d.Write(ctx, func(tx db.Tx) error {
				runs++
				if err := add(ctx, tx, 1); err != nil {
					return err
				}
				_, err := db.Changed(ctx, tx, "sleep", "SELECT pg_sleep(60)")
				return err
			})
		}()
		until(t, beside, 1, "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'")
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) || errors.Is(err, db.ErrAgain) || runs != 1 {
			t.Errorf("Write = %v after %d runs, want context.Canceled after one", err, runs)
		}
		wantNotes(t, d)
		ask(t, beside, "SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()")
	}
}

// A server that restarts ends every connection; those that waited in the pool
// are found dead by whoever uses them next.
func TestConnectionsThatDiedAreExchanged(t *testing.T) {
	t.Parallel()
	d, beside := pair(t, 4)
	n := 0
	next := func() int { n++; return n }
	for name, use := range map[string]func(fn func(tx db.Tx) error) error{
		"read": func(fn func(tx db.Tx) error) error {
			return d.Read(t.Context(), func(q db.Q) error {
				return q.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM notes").Scan(new(int))
			})
		},
		"write that only waits": func(fn func(tx db.Tx) error) error { return d.Write(t.Context(), note(next())) },
		"write":                 func(fn func(tx db.Tx) error) error { return d.Write(t.Context(), fn) },
		"write once":            func(fn func(tx db.Tx) error) error { return d.Once(t.Context(), fn) },
		"gathered": func(fn func(tx db.Tx) error) error {
			return d.Read(t.Context(), func(q db.Q) error {
				return db.Gather(t.Context(), q, db.Into("count", []any{new(int)}, "SELECT COUNT(*) FROM notes"))
			})
		},
	} {
		for range 3 {
			busy(t, d)
			cut(t, beside)
			runs := 0
			err := use(func(tx db.Tx) error { runs++; return add(t.Context(), tx, next()) })
			if err != nil || runs > 1 {
				t.Errorf("%s after a restart: %v after %d runs", name, err, runs)
			}
		}
	}
	if got := len(notes(t, d)); got != n {
		t.Errorf("%d notes, want %d", got, n)
	}
}

// busy fills the pool with connections that were just used.
func busy(t *testing.T, d *db.DB) {
	t.Helper()
	var wg, all sync.WaitGroup
	all.Add(4)
	for range 4 {
		wg.Go(func() {
			err := d.Write(t.Context(), func(tx db.Tx) error {
				_, err := db.Changed(t.Context(), tx, "count", "SELECT COUNT(*) FROM notes")
				all.Done()
				all.Wait()
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestAWriteThatLostItsConnectionRunsAgain(t *testing.T) {
	t.Parallel()
	d, beside := pair(t, 2)
	runs := 0
	fn := func(tx db.Tx) error {
		runs++
		if err := add(t.Context(), tx, runs); err != nil {
			return err
		}
		if runs == 1 {
			cut(t, beside)
		}
		return add(t.Context(), tx, 10+runs)
	}
	if err := d.Write(t.Context(), fn); err != nil || runs != 2 {
		t.Errorf("Write = %v after %d runs, want success after 2", err, runs)
	}
	wantNotes(t, d, 2, 12)
	runs = 0
	if err := d.Once(t.Context(), fn); !errors.Is(err, db.ErrAgain) || runs != 1 {
		t.Errorf("Once = %v after %d runs, want ErrAgain after 1", err, runs)
	}
	// Whether a commit was heard nobody knows: it is not run again.
	runs = 0
	err := d.Write(t.Context(), func(tx db.Tx) error {
		runs++
		err := add(t.Context(), tx, 100)
		cut(t, beside)
		return err
	})
	if err == nil || errors.Is(err, db.ErrAgain) || runs != 1 {
		t.Errorf("a commit on a dead connection: %v after %d runs, want its error", err, runs)
	}
	wantNotes(t, d, 2, 12)
}

func TestOldStatementsWorkOnExpandedTables(t *testing.T) {
	t.Parallel()
	d, beside := pair(t, 1) // one connection: its statements are prepared
	use := func(n int) {
		t.Helper()
		err := d.Write(t.Context(), func(tx db.Tx) error {
			if err := add(t.Context(), tx, n); err != nil {
				return err
			}
			var got int
			return db.Gather(t.Context(), tx,
				db.Into("select", []any{&got}, "SELECT n FROM notes WHERE n = $1", n),
				db.Into("return", []any{&got}, "UPDATE notes SET at = $2 WHERE n = $1 RETURNING n", n, db.At(noon)))
		})
		if err != nil {
			t.Error(err)
		}
	}
	use(1)
	steps := []string{"SELECT 1", "ALTER TABLE notes ADD COLUMN more TEXT NOT NULL DEFAULT ''", "CREATE INDEX notes_more ON notes (more)"}
	if err := beside.Migrate(t.Context(), "more", files(steps...)); err != nil {
		t.Fatal(err)
	}
	use(2)
	wantNotes(t, d, 1, 2)
}

func TestPreparedStatementsAreBounded(t *testing.T) {
	t.Parallel()
	d, _ := pair(t, 1)
	for range 3 {
		err := d.Write(t.Context(), func(tx db.Tx) error {
			for i := range 700 { // more than the bound, sent together
				query := fmt.Sprintf("INSERT INTO notes (n, at) SELECT $1::bigint + %d, $2 WHERE $1 < 0", i)
				if err := db.Exec(t.Context(), tx, "note", query, 1, db.At(noon)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		wantNotes(t, d)
		if n := ask(t, d, "SELECT COUNT(*) FROM pg_prepared_statements"); n > 512 {
			t.Errorf("%d statements are prepared, want at most 512", n)
		}
	}
}

func TestNodesMigrateOneSchemaTogether(t *testing.T) {
	t.Parallel()
	url := dbtest.Postgres(t)
	var steps []string
	for i := range 10 {
		steps = append(steps, fmt.Sprintf("CREATE TABLE t%d (n {{.bigint}})", i))
	}
	var wg sync.WaitGroup
	for range 4 {
		s := server(t, url, 2)
		for range 2 {
			wg.Go(func() {
				if err := errors.Join(s.Extensions(t.Context()), s.Schema("tenant").Migrate(t.Context(), "steps", files(steps...))); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	d := server(t, url, 2).Schema("tenant")
	if v, err := d.Version(t.Context(), "steps"); v != 10 || err != nil {
		t.Errorf("Version = %d, %v; want 10", v, err)
	}
	if n := ask(t, d, "SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'tenant' AND tablename LIKE 't_'"); n != 10 {
		t.Errorf("%d tables, want 10", n)
	}
}

func TestADroppedSchemaIsEmptyWhenItComesBack(t *testing.T) {
	t.Parallel()
	url := dbtest.Postgres(t)
	s := server(t, url, 1)
	d := s.Schema("tenant")
	noted(t, d)
	if err := d.Write(t.Context(), note(1)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.DropSchema(t.Context(), "tenant"), s.DropSchema(t.Context(), "tenant")); err != nil {
		t.Fatal(err)
	}
	if v, err := d.Version(t.Context(), "notes"); v != 0 || err != nil {
		t.Errorf("Version = %d, %v; want 0", v, err)
	}
	if err := d.Write(t.Context(), note(2)); err == nil {
		t.Error("a dropped schema took a note")
	}
	noted(t, d)
	if err := d.Write(t.Context(), note(3)); err != nil {
		t.Error(err)
	}
	wantNotes(t, d, 3)
}

func TestSeats(t *testing.T) {
	t.Parallel()
	url := dbtest.Postgres(t)
	s, other := server(t, url, 1), server(t, url, 1)
	sit := func(on *db.Server, alone, want bool) *db.Seat {
		t.Helper()
		seat, err := on.Sit(t.Context(), "store", alone)
		if err != nil || (seat != nil) != want {
			t.Fatalf("Sit(alone %v) = %v, %v; want a seat: %v", alone, seat, err, want)
		}
		return seat
	}
	one, two := sit(s, false, true), sit(other, false, true)
	sit(s, true, false)
	one.Leave()
	sit(other, true, false)
	two.Leave()
	alone := sit(s, true, true)
	sit(other, false, false)
	sit(other, true, false)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := errors.Join(alone.Check(t.Context()), alone.Check(gone), alone.Check(t.Context())); err != nil {
		t.Errorf("Check = %v; the seat is held, however patient the caller is", err)
	}
	cut(t, server(t, url, 2).Schema("public"))
	if err := alone.Check(t.Context()); err == nil {
		t.Error("a seat without its connection counts as held")
	}
	sit(other, true, true).Leave()
}

func TestAServerThatCannotBeUsedIsToldWithoutItsPassword(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"postgres://u:geheim@127.0.0.1:1/x", "postgres://u:geheim@[", "nonsense:geheim"} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		_, err := db.OpenServer(ctx, url, 2)
		cancel()
		if err == nil {
			t.Errorf("%s was opened", url)
		} else if strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v tells the password", url, err)
		}
	}
}

// A connection's backend grows with every schema it was used for, so that none
// is kept for good.
func TestAConnectionGrowsNoOlderThanHalfAnHour(t *testing.T) {
	t.Parallel()
	s, err := db.OpenServer(t.Context(), dbtest.Postgres(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	now := clock.NewFixed(time.Date(2026, 4, 25, 9, 0, 0, 0, time.UTC))
	s.Follow(now.Now)
	backend := func() (pid int) {
		if err := s.Schema("public").Ask(t.Context(), db.Into("ask", []any{&pid}, "SELECT pg_backend_pid()")); err != nil {
			t.Fatal(err)
		}
		return pid
	}
	first, seen := backend(), 0
	for range 100 { // never at rest for long
		now.Add(20 * time.Second)
		if backend() == first {
			seen++
		}
	}
	if seen < 85 || seen > 95 {
		t.Errorf("the first connection was used %d times in 33 minutes, want until it was half an hour old", seen)
	}
}
