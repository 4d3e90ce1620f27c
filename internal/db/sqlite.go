package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"

	_ "modernc.org/sqlite" // the driver named "sqlite"
)

// readers is how many snapshots of one file may be open at once.
const readers = 4

// OpenSQLite opens (and creates) one SQLite file. Every commit is flushed
// before it is acknowledged.
func OpenSQLite(ctx context.Context, path string) (*DB, error) {
	open := func(extra string, conns int) (*sql.DB, error) {
		dsn := "file:" + (&url.URL{Path: path}).EscapedPath() +
			"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)" + extra
		conn, err := sql.Open("sqlite", dsn)
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", path, err)
		}
		conn.SetMaxOpenConns(conns)
		conn.SetMaxIdleConns(conns)
		if err := conn.PingContext(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), conn.Close())
		}
		return conn, nil
	}
	pool, err := open("", readers+1)
	if err != nil {
		return nil, err
	}
	d := &DB{
		Dialect: SQLite(), readers: make(chan *session, readers), closed: pool.Close,
		open: func() (*sql.DB, error) { return open("", 1) },
	}
	for range readers {
		r, err := newSession(ctx, pool)
		if err == nil {
			_, err = r.ExecContext(ctx, "PRAGMA query_only = 1")
		}
		if err != nil {
			return nil, errors.Join(err, pool.Close())
		}
		d.readers <- r
	}
	w, err := newSession(ctx, pool)
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	d.writer = newWriter(w)
	return d, nil
}
