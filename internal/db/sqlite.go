package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"

	_ "modernc.org/sqlite" // the driver named "sqlite"
)

// readers is how many snapshots of one file may be open at once. cacheSize bounds
// the pages each of its connections keeps, as SQLite writes kibibytes: memory
// grows with the businesses that are awake, and what is read again and again is
// in the system's cache as well.
const (
	readers   = 2
	cacheSize = "-512"
)

// OpenSQLite opens (and creates) one SQLite file. Every commit is flushed
// before it is acknowledged.
func OpenSQLite(ctx context.Context, path string) (*DB, error) {
	open := func(extra string, conns int) (*sql.DB, error) {
		dsn := "file:" + (&url.URL{Path: path}).EscapedPath() +
			"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)&_pragma=cache_size(" + cacheSize + ")" + extra
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
	f := &file{readers: make(chan *session, readers), closed: pool.Close, open: func() (*sql.DB, error) { return open("", 1) }}
	for range readers {
		r, err := newSession(ctx, pool)
		if err == nil {
			_, err = r.ExecContext(ctx, "PRAGMA query_only = 1")
		}
		if err != nil {
			return nil, errors.Join(err, pool.Close())
		}
		f.readers <- r
	}
	w, err := newSession(ctx, pool)
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	f.writer = newWriter(w)
	return &DB{engine: f}, nil
}

// file is the engine of one SQLite file.
type file struct {
	readers chan *session
	writer  *writer
	open    func() (*sql.DB, error)
	closed  func() error
}

func (f *file) dialect() Dialect { return SQLite() }

func (f *file) read(ctx context.Context, fn func(q Q) error) error {
	var s *session
	select {
	case s = <-f.readers:
	case <-ctx.Done():
		return fmt.Errorf("wait for reader: %w", ctx.Err())
	case <-f.writer.quit:
		return fmt.Errorf("wait for reader: %w", sql.ErrConnDone)
	}
	defer func() { f.readers <- s }()
	// Begun whole or not at all: a snapshot left open would spoil the session.
	if _, err := s.ExecContext(context.WithoutCancel(ctx), "BEGIN"); err != nil {
		return fmt.Errorf("begin read: %w", err)
	}
	// A read has nothing to commit; it must end even when the caller gave up.
	defer func() { _, _ = s.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") }()
	return fn(unbroken{s})
}

func (f *file) write(ctx context.Context, fn func(tx Tx) error) error { return f.writer.do(ctx, fn) }

func (f *file) migrate(_ context.Context, fn func(conn *sql.DB) error) error {
	conn, err := f.open()
	if err != nil {
		return err
	}
	return errors.Join(fn(conn), conn.Close())
}

func (f *file) close() error {
	f.writer.stop()
	for range cap(f.readers) {
		_ = (<-f.readers).close()
	}
	return errors.Join(f.writer.conn.close(), f.closed())
}
