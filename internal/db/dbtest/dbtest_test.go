package dbtest_test

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/ratiba/ratiba/internal/db/dbtest"
)

// another is a test inside this one: it notes how it was ended, and cleans up
// then.
type another struct {
	testing.TB

	how      string
	cleanups []func()
}

func (a *another) Cleanup(f func())          { a.cleanups = append(a.cleanups, f) }
func (a *another) Fatalf(s string, _ ...any) { a.how = "failed: " + s; runtime.Goexit() }
func (a *another) Skipf(s string, _ ...any)  { a.how = "skipped: " + s; runtime.Goexit() }

// run runs another test to its end and tells what ended it, "" when nothing
// did but its last line.
func run(t *testing.T, test func(tb testing.TB)) string {
	t.Helper()
	a := &another{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(a)
	}()
	<-done
	for _, f := range slices.Backward(a.cleanups) {
		f()
	}
	return a.how
}

// connect connects for as long as the test runs.
func connect(tb testing.TB, url string) *pgx.Conn {
	tb.Helper()
	conn, err := pgx.Connect(tb.Context(), url)
	if err != nil {
		tb.Fatalf("connect: %v", err)
	}
	tb.Cleanup(func() { _ = conn.Close(tb.Context()) })
	return conn
}

// keys connects to a Redis database of the test's own.
func keys(tb testing.TB) *redis.Client {
	tb.Helper()
	options, err := redis.ParseURL(dbtest.Redis(tb))
	if err != nil {
		tb.Fatalf("%v", err)
	}
	c := redis.NewClient(options)
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

func TestEveryTestHasADatabaseOfItsOwn(t *testing.T) {
	t.Parallel()
	mine := connect(t, dbtest.Postgres(t))
	var name string
	how := run(t, func(tb testing.TB) {
		tb.Helper()
		theirs := connect(tb, dbtest.Postgres(tb))
		if _, err := theirs.Exec(tb.Context(), "CREATE TABLE notes (n int)"); err != nil {
			tb.Errorf("create a table: %v", err)
		}
		if err := theirs.QueryRow(tb.Context(), "SELECT current_database()").Scan(&name); err != nil {
			tb.Errorf("ask the database's name: %v", err)
		}
	})
	if how != "" {
		t.Fatal(how)
	}
	var table string
	if err := mine.QueryRow(t.Context(), "SELECT coalesce(to_regclass('notes')::text, 'none')").Scan(&table); err != nil || table != "none" {
		t.Errorf("the other test's table is seen as %q (%v), want none", table, err)
	}
	var left int
	if err := mine.QueryRow(t.Context(), "SELECT count(*) FROM pg_database WHERE datname = $1", name).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d databases %q are left (%v), want none", left, name, err)
	}
}

func TestTheServerIsWhatTheProductNeeds(t *testing.T) {
	t.Parallel()
	conn := connect(t, dbtest.Postgres(t))
	var version int
	var encoding, collation string
	err := conn.QueryRow(t.Context(), `SELECT current_setting('server_version_num')::int, pg_encoding_to_char(encoding), datcollate
		FROM pg_database WHERE datname = current_database()`).Scan(&version, &encoding, &collation)
	if err != nil || version < 150000 || encoding != "UTF8" || collation != "C" {
		t.Errorf("version %d, encoding %s, collation %s (%v), want at least 150000, UTF8, C", version, encoding, collation, err)
	}
	for _, extension := range []string{"pg_trgm", "btree_gist"} {
		if _, err := conn.Exec(t.Context(), "CREATE EXTENSION "+extension); err != nil {
			t.Errorf("extension %s: %v", extension, err)
		}
	}
}

func TestEveryTestHasKeysOfItsOwn(t *testing.T) {
	t.Parallel()
	mine := keys(t)
	for range 3 { // a number is given out again
		how := run(t, func(tb testing.TB) {
			tb.Helper()
			theirs := keys(tb)
			if n := theirs.Exists(tb.Context(), "k").Val(); n != 0 {
				tb.Errorf("a key of another test is there")
			}
			if err := theirs.Set(tb.Context(), "k", "v", 0).Err(); err != nil {
				tb.Errorf("set a key: %v", err)
			}
		})
		if how != "" {
			t.Fatal(how)
		}
	}
	if n, err := mine.DBSize(t.Context()).Result(); err != nil || n != 0 {
		t.Errorf("%d keys of other tests are there (%v)", n, err)
	}
}

func TestAMissingServerIsSkippedOnlyByName(t *testing.T) {
	t.Setenv("RATIBA_TEST_POSTGRES", "")
	t.Setenv("RATIBA_TEST_REDIS", "")
	postgres := func(tb testing.TB) { tb.Helper(); dbtest.Postgres(tb) }
	redis := func(tb testing.TB) { tb.Helper(); dbtest.Redis(tb) }
	for _, tt := range []struct {
		name, without, want string
		test                func(tb testing.TB)
	}{
		{"nothing is done without", "", "failed: ", postgres},
		{"the other is done without", "redis", "failed: ", postgres},
		{"both are done without", "postgres,redis", "skipped: ", postgres},
		{"Redis is done without", "redis", "skipped: ", redis},
		{"a name that only begins alike", "redis7", "failed: ", redis},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("RATIBA_WITHOUT", tt.without)
			if how := run(t, tt.test); !strings.HasPrefix(how, tt.want) {
				t.Errorf("it ended as %q, want %q", how, tt.want)
			}
		})
	}
}

func TestTheBackendIsNamedByTheEnvironment(t *testing.T) {
	for _, tt := range []struct{ name, value, want string }{
		{"nothing is SQLite", "", "sqlite"},
		{"SQLite by name", "sqlite", "sqlite"},
		{"PostgreSQL by name", "postgres", "postgres"},
		{"nobody knows the name", "oracle", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("RATIBA_TEST_BACKEND", tt.value)
			var got string
			how := run(t, func(tb testing.TB) { tb.Helper(); got = dbtest.Backend(tb) })
			if got != tt.want || (tt.want == "") != strings.HasPrefix(how, "failed: ") {
				t.Errorf("backend %q, ended as %q, want %q", got, how, tt.want)
			}
		})
	}
}
