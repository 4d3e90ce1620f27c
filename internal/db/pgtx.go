package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// choose sets the search path until the transaction ends.
const choose = "SELECT set_config('search_path', $1, true)"

// pgTx is one transaction on PostgreSQL. Statements whose result nobody reads
// wait and travel with the next one that is read, or with the commit, and so
// does the beginning: what costs here is the way to the server and back. It is
// used by one goroutine.
type pgTx struct {
	server *Server
	held   *lent
	conn   *pgx.Conn // held's
	book   *book
	names  map[string]string // of prepared statements, by their text
	begin  string
	schema string
	path   string
	began  bool // the beginning was sent
	opened bool // and the server answered it
	ending bool // a commit was sent, whose outcome may be unknown
	queue  []statement
	last   []Ask // answered with the commit
	failed error // the first that failed; nothing succeeds after it
	whole  bool  // that failure cannot be undone to a savepoint
}

type statement struct {
	doing, query string
	args         []any
}

// Dialect implements Q.
func (*pgTx) Dialect() Dialect { return PostgreSQL() }

// Queue implements Tx.
func (t *pgTx) Queue(_ context.Context, doing, query string, args ...any) error {
	if t.failed != nil {
		return t.failed
	}
	args, err := plain(args)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	t.queue = append(t.queue, statement{doing, query, args})
	return nil
}

// ExecContext implements Tx.
func (t *pgTx) ExecContext(ctx context.Context, query string, args ...any) (int64, error) {
	batch, err := t.send(ctx, query, args)
	if err != nil {
		return 0, err
	}
	tag, err := batch.Exec()
	if err = errors.Join(err, batch.Close()); err != nil {
		t.failed = err
	}
	return tag.RowsAffected(), err
}

// QueryContext implements Q.
func (t *pgTx) QueryContext(ctx context.Context, query string, args ...any) (Rows, error) {
	batch, err := t.send(ctx, query, args)
	if err != nil {
		return nil, err
	}
	rows, err := batch.Query()
	if err != nil {
		t.failed = errors.Join(err, batch.Close())
		return nil, t.failed
	}
	return &pgRows{Rows: rows, batch: batch, tx: t}, nil
}

// QueryRowContext implements Q.
func (t *pgTx) QueryRowContext(ctx context.Context, query string, args ...any) Scanner {
	rows, err := t.QueryContext(ctx, query, args...)
	return firstRow{rows, err}
}

// late is a failure of an earlier statement, told at a later one's call. What
// it was is hidden from those who decide by an error of their own statement.
type late struct{ err error }

func (l late) Error() string { return l.err.Error() }

// outcome is what a transaction failed with, given what its fn returned.
func (t *pgTx) outcome(err error) error {
	if err == nil || t.failed == nil || errors.Is(err, t.failed) {
		return err
	}
	if _, ok := errors.AsType[late](err); ok {
		return t.failed
	}
	return errors.Join(err, t.failed)
}

// send sends what waits and, after it, the statement whose result the caller
// reads.
func (t *pgTx) send(ctx context.Context, query string, args []any) (pgx.BatchResults, error) {
	if strings.HasPrefix(query, "ROLLBACK TO") {
		t.undo()
	}
	args, err := plain(args)
	if err != nil {
		return nil, err
	}
	return t.sendAll(ctx, []statement{{"", query, args}})
}

// undo drops what waits after the savepoint, and with it what failed since.
func (t *pgTx) undo() {
	for len(t.queue) > 0 && !isSavepoint(t.queue[len(t.queue)-1]) {
		t.queue = t.queue[:len(t.queue)-1]
	}
	if !t.whole {
		t.failed = nil
	}
}

func isSavepoint(s statement) bool { return strings.HasPrefix(s.query, "SAVEPOINT") }

// sendAll sends what waits and reads its results; those of last are the
// caller's to read.
func (t *pgTx) sendAll(ctx context.Context, last []statement) (pgx.BatchResults, error) {
	if t.failed != nil {
		return nil, late{t.failed}
	}
	first := t.queue
	t.queue = nil
	// A connection that died while it waited in the pool is exchanged for
	// another, as long as the server did nothing on it.
	for exchanges := int32(0); ; exchanges++ {
		results, err := t.attempt(ctx, first, last)
		if err == nil || !t.untouched(ctx) || exchanges > t.server.pool.Stat().MaxConns() {
			return results, err
		}
		if err := t.exchange(ctx); err != nil {
			t.failed = errors.Join(t.failed, err)
			return nil, late{t.failed}
		}
	}
}

// attempt is sendAll on the connection as it is.
func (t *pgTx) attempt(ctx context.Context, first, last []statement) (pgx.BatchResults, error) {
	// A failure before a savepoint is one that nothing can be undone to.
	t.whole = slices.ContainsFunc(first, isSavepoint)
	if err := t.prepare(ctx, first); err != nil {
		t.failed = err
		return nil, late{err}
	}
	if err := t.prepare(ctx, last); err != nil {
		t.failed = err
		return nil, err
	}
	header := t.header()
	results, failed, err := t.ship(ctx, append(header, first...), last)
	if err != nil {
		t.whole = failed < len(header) || slices.ContainsFunc(first[failed-len(header):], isSavepoint)
		t.failed = err
		return nil, late{err}
	}
	t.whole = false
	return results, nil
}

// untouched reports whether a failure left nothing done or unknown: the
// connection was lost before the transaction was opened. Where a commit was
// sent as well, only the server's own word that it refused to begin counts.
func (t *pgTx) untouched(ctx context.Context) bool {
	if t.opened || !t.conn.IsClosed() || ctx.Err() != nil {
		return false
	}
	return !t.ending || state(t.failed) != "" || pgconn.SafeToRetry(t.failed)
}

// hold takes a connection.
func (t *pgTx) hold(ctx context.Context) error {
	held, err := t.server.conns.acquire(ctx, t.schema)
	if err != nil {
		return fmt.Errorf("wait for connection: %w", err)
	}
	t.held, t.conn = held, held.Conn.Conn()
	t.book = bookOf(t.conn)
	t.names = t.book.namesFor(ctx, t.conn, t.schema, t.server.conns.now())
	return nil
}

// exchange takes another connection.
func (t *pgTx) exchange(ctx context.Context) error {
	t.letGo()
	t.began, t.failed = false, nil
	return t.hold(ctx)
}

// letGo gives the connection back, if there is one.
func (t *pgTx) letGo() {
	if t.held != nil {
		t.server.conns.release(t.held)
		t.held = nil
	}
}

// gather implements gatherer.
func (t *pgTx) gather(ctx context.Context, asks []Ask, end bool) error {
	last := make([]statement, len(asks), len(asks)+1)
	for i, a := range asks {
		args, err := plain(a.args)
		if err != nil {
			return fmt.Errorf("%s: %w", a.doing, err)
		}
		last[i] = statement{a.doing, a.query, args}
	}
	if end {
		last = append(last, statement{"end", commit, nil})
	}
	batch, err := t.sendAll(ctx, last)
	if err != nil {
		return err
	}
	err = answers(batch, asks)
	if err == nil && end {
		err = committed(batch)
	}
	if err = errors.Join(err, batch.Close()); err != nil {
		t.failed = err
	}
	return err
}

// answers reads what was asked.
func answers(batch pgx.BatchResults, asks []Ask) error {
	for _, a := range asks {
		rows, err := batch.Query()
		if err != nil {
			return fmt.Errorf("%s: %w", a.doing, err)
		}
		if err := each(unowned{rows}, a); err != nil {
			return err
		}
	}
	return nil
}

// committed reads the answer to a commit.
func committed(batch pgx.BatchResults) error {
	tag, err := batch.Exec()
	if err == nil && tag.String() != commit {
		err = fmt.Errorf("the server answered %s", tag)
	}
	return err
}

// Last implements Tx.
func (t *pgTx) Last(_ context.Context, asks ...Ask) error {
	if t.failed != nil {
		return late{t.failed}
	}
	t.last = append(t.last, asks...)
	return nil
}

// unowned are rows of a batch that goes on after them.
type unowned struct{ pgx.Rows }

// Close implements Rows.
func (u unowned) Close() error {
	u.Rows.Close()
	return u.Err()
}

// header is how the transaction begins, nothing once it did.
func (t *pgTx) header() []statement {
	if t.began {
		return nil
	}
	t.began = true
	return []statement{{"begin", t.begin, nil}, {"choose schema", choose, []any{t.path}}}
}

// prepare prepares what the connection does not know yet. A statement is parsed
// under the transaction's search path, so the transaction must have begun.
func (t *pgTx) prepare(ctx context.Context, statements []statement) error {
	for _, s := range statements {
		if t.names[s.query] != "" || s.query == commit {
			continue
		}
		if header := t.header(); header != nil {
			results, _, err := t.ship(ctx, header, nil)
			if err == nil {
				err = results.Close()
			}
			if err != nil {
				return fmt.Errorf("begin: %w", err)
			}
		}
		name := t.book.name()
		if _, err := t.conn.Prepare(ctx, name, s.query); err != nil {
			if s.doing == "" {
				return err
			}
			return fmt.Errorf("%s: %w", s.doing, err)
		}
		t.names[s.query] = name
	}
	return nil
}

// ship sends statements at once and reads the results of the first. Its number
// is that of the one that failed.
func (t *pgTx) ship(ctx context.Context, first, last []statement) (pgx.BatchResults, int, error) {
	var batch pgx.Batch
	for _, part := range [][]statement{first, last} {
		for _, s := range part {
			name := t.names[s.query]
			if name == "" {
				name = s.query // prepared under its text for every schema
			}
			batch.Queue(name, s.args...)
		}
	}
	results := t.conn.SendBatch(ctx, &batch)
	for i, s := range first {
		if _, err := results.Exec(); err != nil {
			return nil, i, errors.Join(fmt.Errorf("%s: %w", s.doing, err), results.Close())
		}
		t.opened = true
	}
	return results, 0, nil
}

// commit makes the transaction durable. It is sent even when the caller has
// given up, so that its outcome is known.
func (t *pgTx) commit(ctx context.Context) error {
	if t.failed != nil {
		return t.failed
	}
	if !t.began && len(t.queue) == 0 && len(t.last) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	t.ending = true
	if err := t.gather(ctx, t.last, true); err != nil {
		return fmt.Errorf("commit: %w", t.failed)
	}
	return nil
}

// rollback gives the transaction up. A connection on which that fails is
// thrown away by its pool.
func (t *pgTx) rollback(ctx context.Context) {
	if t.conn.IsClosed() || t.conn.PgConn().TxStatus() == idle {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	_, _ = t.conn.Exec(ctx, "ROLLBACK")
}

// idle is a connection's state outside any transaction.
const idle = 'I'

// plain makes driver values of arguments, and text of them that PostgreSQL
// takes: it stores no NUL and nothing that is not UTF-8.
func plain(args []any) ([]any, error) {
	out := make([]any, len(args))
	for i, a := range args {
		_, isJSON := a.(JSON)
		if v, ok := a.(driver.Valuer); ok {
			value, err := v.Value()
			if err != nil {
				return nil, err
			}
			a = value
		}
		if s, ok := a.(string); ok {
			s = strings.ToValidUTF8(s, "\uFFFD")
			if isJSON {
				s = storable(s)
			} else if strings.IndexByte(s, 0) >= 0 {
				s = strings.ReplaceAll(s, "\x00", "\uFFFD")
			}
			a = s
		}
		out[i] = a
	}
	return out, nil
}

// pgRows are the rows of a batch's last statement.
type pgRows struct {
	pgx.Rows
	batch pgx.BatchResults
	tx    *pgTx
}

// Close implements Rows.
func (r *pgRows) Close() error {
	r.Rows.Close()
	err := errors.Join(r.Err(), r.batch.Close())
	if err != nil && r.tx.failed == nil {
		r.tx.failed = err
	}
	return err
}

// firstRow reads one row and no more.
type firstRow struct {
	rows Rows
	err  error
}

// Scan implements Scanner.
func (f firstRow) Scan(dest ...any) error {
	if f.err != nil {
		return f.err
	}
	if !f.rows.Next() {
		if err := errors.Join(f.rows.Err(), f.rows.Close()); err != nil {
			return err
		}
		return sql.ErrNoRows
	}
	if err := f.rows.Scan(dest...); err != nil {
		return errors.Join(err, f.rows.Close())
	}
	return f.rows.Close()
}
