// Package db opens databases and runs transactions; nothing else does.
//
// A DB is one database: the control data or one tenant's. On SQLite it is a
// file, on PostgreSQL a schema. Its tables are named without a schema, so that
// the handle alone decides whose rows a statement can reach. SQL is portable,
// with $n placeholders; what differs between backends is behind Dialect. A
// committed write is durable: it survives the loss of the process and of power
// (synchronous=FULL on SQLite, synchronous_commit on PostgreSQL). The package
// imports only leaves and drivers.
package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// Q reads. It is a transaction's or a snapshot's, never a bare connection.
type Q interface {
	QueryContext(ctx context.Context, query string, args ...any) (Rows, error)
	// QueryRowContext reads one row; Scan answers sql.ErrNoRows when there is none.
	QueryRowContext(ctx context.Context, query string, args ...any) Scanner
	// Dialect tells what differs on this backend.
	Dialect() Dialect
}

// Rows are what a query found. They must be closed before the next statement.
type Rows interface {
	Scanner
	Next() bool
	Err() error
	Close() error
}

// Tx reads and writes inside one transaction.
type Tx interface {
	Q
	// ExecContext runs a statement and returns how many rows it touched.
	ExecContext(ctx context.Context, query string, args ...any) (int64, error)
	// Queue runs a statement of which nobody asks how many rows it touched. It
	// may be sent together with the next one, whose call then returns its error;
	// the transaction fails in any case. doing begins the error.
	Queue(ctx context.Context, doing, query string, args ...any) error
	// Last asks what is asked last: it may be sent together with the commit, and
	// answered after fn has returned. What the rows say decides nothing any more.
	Last(ctx context.Context, asks ...Ask) error
}

// ErrAgain is returned by a Write's fn that met another transaction's row: it
// is rolled back and run again, because it would now read that row.
var ErrAgain = errors.New("db: another transaction was faster")

// maxRuns bounds how often a Write is run for deadlocks and ErrAgain.
const maxRuns = 8

// apart is by how much runs are spread, more the more there were; real time.
const apart = 2 * time.Millisecond

// DB is one database. It is safe for concurrent use.
type DB struct {
	engine engine

	closing  sync.Once
	closeErr error
}

// engine is a backend's way to one database.
type engine interface {
	dialect() Dialect
	read(ctx context.Context, fn func(q Q) error) error
	// write runs fn once; a deadlock is answered with ErrAgain in its chain.
	write(ctx context.Context, fn func(tx Tx) error) error
	// migrate gives fn a pool of one connection that nobody else migrates with.
	migrate(ctx context.Context, fn func(conn *sql.DB) error) error
	close() error
}

// Dialect tells what differs on this database's backend.
func (d *DB) Dialect() Dialect { return d.engine.dialect() }

// Read runs fn over one consistent snapshot.
func (d *DB) Read(ctx context.Context, fn func(q Q) error) error { return d.engine.read(ctx, fn) }

// Ask asks queries that do not depend on each other's answers, over one
// consistent snapshot. It costs one way to a server, where there is one.
func (d *DB) Ask(ctx context.Context, asks ...Ask) error {
	return d.engine.read(ctx, func(q Q) error {
		if g, ok := q.(gatherer); ok {
			return g.gather(ctx, asks, true)
		}
		return Gather(ctx, q, asks...)
	})
}

// Write runs fn in a transaction and returns once it is durable. When fn
// returns an error nothing of it stays, and Write returns that error. fn runs
// again when it lost a deadlock or returned ErrAgain, so it must set what it
// hands out anew each time. fn may share its disk flush with other writes; it
// must not block on the network or on another Write, and it must not keep the
// Tx.
func (d *DB) Write(ctx context.Context, fn func(tx Tx) error) error {
	for runs := 1; ; runs++ {
		err := d.engine.write(ctx, fn)
		if !errors.Is(err, ErrAgain) || runs == maxRuns {
			return err
		}
		// Two that met would meet again if both came back at once.
		select {
		case <-time.After(rand.N(time.Duration(runs) * apart)): //nolint:gosec // no secret.
		case <-ctx.Done():
			return err
		}
	}
}

// Once is Write for an fn that must not run twice: what Write would run again
// is answered with ErrAgain in the error's chain.
func (d *DB) Once(ctx context.Context, fn func(tx Tx) error) error { return d.engine.write(ctx, fn) }

// Close lets what is under way finish and releases the database's files.
// Closing again changes nothing.
func (d *DB) Close() error {
	d.closing.Do(func() { d.closeErr = d.engine.close() })
	return d.closeErr
}

// Guarded runs one statement that may be refused, so that the transaction goes
// on after the refusal.
func Guarded(ctx context.Context, tx Tx, doing, query string, args ...any) error {
	if err := tx.Queue(ctx, doing, "SAVEPOINT guarded"); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, query, args...)
	if err != nil {
		err = fmt.Errorf("%s: %w", doing, err)
		if _, e := tx.ExecContext(ctx, "ROLLBACK TO SAVEPOINT guarded"); e != nil {
			return errors.Join(err, fmt.Errorf("%s: undo: %w", doing, e))
		}
	}
	return errors.Join(err, tx.Queue(ctx, doing, "RELEASE SAVEPOINT guarded"))
}

// Exec runs one statement of which nobody asks how many rows it touched, and
// wraps its error with what was being done. See Tx.Queue: where the error
// itself is a decision, Changed or Guarded tell it at once.
func Exec(ctx context.Context, tx Tx, doing, query string, args ...any) error {
	return tx.Queue(ctx, doing, query, args...)
}

// Changed runs one statement and reports how many rows it touched.
func Changed(ctx context.Context, tx Tx, doing, query string, args ...any) (int64, error) {
	n, err := tx.ExecContext(ctx, query, args...)
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

// Ask is one of several queries that are asked together.
type Ask struct {
	doing, query string
	args         []any
	row          func(row Scanner) error
}

// Each is a query of which row is called for every row found.
func Each(doing string, row func(row Scanner) error, query string, args ...any) Ask {
	return Ask{doing, query, args, row}
}

// Into is a query whose rows are scanned into dest in turn; the last stands.
func Into(doing string, dest []any, query string, args ...any) Ask {
	return Ask{doing, query, args, func(row Scanner) error { return row.Scan(dest...) }}
}

// gatherer sends several queries to its server at once.
type gatherer interface {
	// gather asks; with end it also ends the transaction.
	gather(ctx context.Context, asks []Ask, end bool) error
}

// Gather asks queries that do not depend on each other's answers, in order. It
// costs one way to a server, where there is one.
func Gather(ctx context.Context, q Q, asks ...Ask) error {
	if g, ok := q.(gatherer); ok {
		return g.gather(ctx, asks, false)
	}
	for _, a := range asks {
		rows, err := q.QueryContext(ctx, a.query, a.args...)
		if err != nil {
			return fmt.Errorf("%s: %w", a.doing, err)
		}
		if err := each(rows, a); err != nil {
			return err
		}
	}
	return nil
}

func each(rows Rows, a Ask) error {
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := a.row(rows); err != nil {
			return fmt.Errorf("%s: %w", a.doing, err)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("%s: %w", a.doing, err)
	}
	return nil
}

// Scanner is a row to read columns from.
type Scanner interface{ Scan(dest ...any) error }
