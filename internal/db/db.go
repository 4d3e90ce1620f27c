// Package db opens databases and runs transactions; nothing else does.
//
// A DB is one database: the control data or one tenant's. Its tables are named
// without a schema, so that the handle alone decides whose rows a statement
// can reach. SQL is portable, with $n placeholders; what differs between
// backends is behind Dialect. A committed write is durable: it survives the
// loss of the process and, on SQLite, of power (synchronous=FULL). The package
// imports only leaves and drivers.
package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
)

// Q reads. It is a transaction's or a snapshot's, never a bare connection.
type Q interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Tx reads and writes inside one transaction.
type Tx interface {
	Q
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// DB is one database. It is safe for concurrent use.
type DB struct {
	Dialect Dialect
	readers chan *session
	writer  *writer
	open    func() (*sql.DB, error) // a connection of its own, for migrations
	closed  func() error

	closing  sync.Once
	closeErr error
}

// Read runs fn over one consistent snapshot.
func (d *DB) Read(ctx context.Context, fn func(q Q) error) error {
	var s *session
	select {
	case s = <-d.readers:
	case <-ctx.Done():
		return fmt.Errorf("wait for reader: %w", ctx.Err())
	case <-d.writer.quit:
		return fmt.Errorf("wait for reader: %w", sql.ErrConnDone)
	}
	defer func() { d.readers <- s }()
	// Begun whole or not at all: a snapshot left open would spoil the session.
	if _, err := s.ExecContext(context.WithoutCancel(ctx), "BEGIN"); err != nil {
		return fmt.Errorf("begin read: %w", err)
	}
	// A read has nothing to commit; it must end even when the caller gave up.
	defer func() { _, _ = s.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") }()
	return fn(s)
}

// Write runs fn in a transaction and returns once it is durable. When fn
// returns an error nothing of it stays, and Write returns that error. fn may
// share its disk flush with other writes; it must not block on the network or
// on another Write, and it must not keep the Tx.
func (d *DB) Write(ctx context.Context, fn func(tx Tx) error) error {
	return d.writer.do(ctx, fn)
}

// Close lets what is under way finish and releases the database's files or
// connections. Closing again changes nothing.
func (d *DB) Close() error {
	d.closing.Do(func() {
		d.writer.stop()
		for range cap(d.readers) {
			_ = (<-d.readers).conn.Close()
		}
		d.closeErr = errors.Join(d.writer.conn.conn.Close(), d.closed())
	})
	return d.closeErr
}

// Exec runs one statement and wraps its error with what was being done.
func Exec(ctx context.Context, tx Tx, doing, query string, args ...any) error {
	if _, err := tx.ExecContext(ctx, query, args...); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// Changed runs one statement and reports how many rows it touched.
func Changed(ctx context.Context, tx Tx, doing, query string, args ...any) (int64, error) {
	res, err := tx.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", doing, err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", doing, err)
	}
	return n, nil
}

// Collect runs a query to its end, so that no rows stay open while another
// statement runs, and scans each row.
func Collect[T any](ctx context.Context, q Q, doing string, scan func(row Scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	defer func() { _ = rows.Close() }()
	var out []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", doing, err)
		}
		out = append(out, v)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	return out, nil
}

// Scanner is a row to read columns from.
type Scanner interface{ Scan(dest ...any) error }
