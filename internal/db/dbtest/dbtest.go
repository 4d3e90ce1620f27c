// Package dbtest gives tests the real servers that scripts/services.sh starts.
//
// It is the one place that reads the variables RATIBA_TEST_POSTGRES,
// RATIBA_TEST_REDIS, RATIBA_TEST_BACKEND and RATIBA_WITHOUT. A test that needs a
// server and finds none fails, saying how to run it; it is skipped only when
// RATIBA_WITHOUT names that server. Only tests import this package; it imports
// drivers and db.
package dbtest

import (
	"context"
	"crypto/rand"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/ratiba/ratiba/internal/db"
)

// Backend tells a suite that is run once on every backend which one it is
// now: "sqlite", unless RATIBA_TEST_BACKEND says "postgres".
func Backend(tb testing.TB) string {
	tb.Helper()
	switch b := os.Getenv("RATIBA_TEST_BACKEND"); b {
	case "", "sqlite":
		return "sqlite"
	case "postgres":
		return b
	default:
		tb.Fatalf("RATIBA_TEST_BACKEND is sqlite or postgres, not %q", b)
		return ""
	}
}

// Open opens an empty database on the backend the suite runs on.
func Open(tb testing.TB) *db.DB {
	tb.Helper()
	var d *db.DB
	var err error
	if Backend(tb) == "sqlite" {
		d, err = db.OpenSQLite(tb.Context(), filepath.Join(tb.TempDir(), "tenant.db"))
	} else {
		d, err = Server(tb).Schema("tenant"), nil
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = d.Close() })
	return d
}

// Server opens an empty PostgreSQL database with the extensions that tables need.
func Server(tb testing.TB) *db.Server {
	tb.Helper()
	server, err := db.OpenServer(tb.Context(), Postgres(tb), 16)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(server.Close)
	if err := server.Extensions(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return server
}

// Postgres makes an empty database (UTF-8, C collation, no extension) and
// returns its URL, for a superuser. The database goes when the test ends, with
// whoever is still connected.
func Postgres(tb testing.TB) string {
	tb.Helper()
	server := service(tb, "postgres", "RATIBA_TEST_POSTGRES")
	own, err := url.Parse(server)
	if err != nil {
		tb.Fatalf("RATIBA_TEST_POSTGRES: %v", err)
	}
	name := "test_" + strings.ToLower(rand.Text())
	own.Path = "/" + name
	// From template0, to which nobody is ever connected: databases can then be
	// made side by side.
	execute(tb.Context(), tb, server, "CREATE DATABASE "+name+" TEMPLATE template0")
	tb.Cleanup(func() {
		execute(context.WithoutCancel(tb.Context()), tb, server, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
	})
	return own.String()
}

// execute runs one statement on a connection of its own: a test's database
// must not stay waiting for a pool.
func execute(ctx context.Context, tb testing.TB, server, statement string) {
	tb.Helper()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		tb.Fatalf("connect to the tests' PostgreSQL: %v", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, statement); err != nil {
		tb.Fatalf("%s: %v", statement, err)
	}
}

// Where Redis' database 0 keeps which of the others are in use.
const (
	redisNext = "dbtest:next" // the highest number given out
	redisFree = "dbtest:free" // numbers whose test has ended
)

// Redis returns the URL of an empty Redis database, emptied again when the test
// ends. Keys are the test's own; channels of publish and subscribe are the
// server's, and two tests that use one name hear each other.
func Redis(tb testing.TB) string {
	tb.Helper()
	server := service(tb, "redis", "RATIBA_TEST_REDIS")
	address, err := url.Parse(server)
	if err != nil {
		tb.Fatalf("RATIBA_TEST_REDIS: %v", err)
	}
	options, err := redis.ParseURL(server)
	if err != nil {
		tb.Fatalf("RATIBA_TEST_REDIS: %v", err)
	}
	book := redis.NewClient(options)
	tb.Cleanup(func() { _ = book.Close() })
	number, err := book.SPop(tb.Context(), redisFree).Int()
	if errors.Is(err, redis.Nil) {
		var next int64
		next, err = book.Incr(tb.Context(), redisNext).Result()
		number = int(next)
	}
	if err != nil {
		tb.Fatalf("take a number of the tests' Redis: %v", err)
	}
	options.DB = number
	own := redis.NewClient(options)
	if err := own.FlushDB(tb.Context()).Err(); err != nil {
		tb.Fatalf("empty Redis database %d: %v", number, err)
	}
	tb.Cleanup(func() {
		ctx := context.WithoutCancel(tb.Context())
		defer func() { _ = own.Close() }()
		if err := own.FlushDB(ctx).Err(); err != nil {
			tb.Errorf("empty Redis database %d: %v", number, err)
			return
		}
		if err := book.SAdd(ctx, redisFree, number).Err(); err != nil {
			tb.Errorf("give Redis database %d back: %v", number, err)
		}
	})
	address.Path = "/" + strconv.Itoa(number)
	return address.String()
}

// service returns the URL of a server of that name, or ends the test.
func service(tb testing.TB, name, variable string) string {
	tb.Helper()
	if at := os.Getenv(variable); at != "" {
		return at
	}
	if slices.Contains(strings.Split(os.Getenv("RATIBA_WITHOUT"), ","), name) {
		tb.Skipf("RATIBA_WITHOUT names %s", name)
	}
	tb.Fatalf("this test needs %s, and %s is not set: run make test, or scripts/services.sh go test ./...", name, variable)
	return ""
}
