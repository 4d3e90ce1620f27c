package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
)

// maxGroup bounds how many writes share one disk flush, and so how long the
// first of them waits.
const maxGroup = 64

// writer is the single writer of an SQLite file. Writes that wait together are
// committed together: each in a savepoint of its own, all acknowledged after
// the one commit. Without it every write pays its own flush.
type writer struct {
	conn *session
	jobs chan *job
	quit chan struct{}
	done chan struct{}
	once sync.Once
}

type job struct {
	ctx context.Context //nolint:containedctx // carried across the queue to the writer, for the length of one write.
	fn  func(Tx) error
	err error
	end chan struct{}
}

func newWriter(conn *session) *writer {
	w := &writer{conn: conn, jobs: make(chan *job, maxGroup), quit: make(chan struct{}), done: make(chan struct{})}
	go w.loop()
	return w
}

func (w *writer) do(ctx context.Context, fn func(Tx) error) error {
	j := &job{ctx: ctx, fn: fn, end: make(chan struct{})}
	select {
	case w.jobs <- j:
	case <-ctx.Done():
		return fmt.Errorf("queue write: %w", ctx.Err())
	case <-w.quit:
		return fmt.Errorf("queue write: %w", sql.ErrConnDone)
	}
	select {
	case <-j.end:
		return j.err
	case <-w.done:
		select {
		case <-j.end:
			return j.err
		default:
			return fmt.Errorf("write: %w", sql.ErrConnDone)
		}
	}
}

func (w *writer) stop() {
	w.once.Do(func() { close(w.quit) })
	<-w.done
}

func (w *writer) loop() {
	defer close(w.done)
	for {
		select {
		case <-w.quit:
			return
		case first := <-w.jobs:
			group := []*job{first}
			for len(group) < maxGroup {
				select {
				case next := <-w.jobs:
					group = append(group, next)
					continue
				default:
				}
				break
			}
			w.commit(group)
			for _, j := range group {
				close(j.end)
			}
		}
	}
}

// commit runs a group. The group's own transaction is not bound to any one
// caller's context: a caller that gives up must not undo its neighbours.
func (w *writer) commit(group []*job) {
	ctx := context.Background()
	if _, err := w.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		fail(group, fmt.Errorf("begin write: %w", err))
		return
	}
	if len(group) == 1 {
		// Its own transaction is all the guard it needs.
		if j := group[0]; run(w.conn, j) != nil {
			_, _ = w.conn.ExecContext(ctx, "ROLLBACK")
			return
		}
	} else {
		for _, j := range group {
			j.err = savepoint(w.conn, j)
		}
	}
	if _, err := w.conn.ExecContext(ctx, "COMMIT"); err != nil {
		_, _ = w.conn.ExecContext(ctx, "ROLLBACK")
		fail(group, fmt.Errorf("commit: %w", err))
	}
}

func fail(group []*job, err error) {
	for _, j := range group {
		if j.err == nil {
			j.err = err
		}
	}
}

// run runs one write and notes its error. A panic in fn fails that write alone,
// because the goroutine belongs to all writers.
func run(conn *session, j *job) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("write panicked: %v", p)
		}
		j.err = err
	}()
	if err := j.ctx.Err(); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return j.fn(unbroken{conn})
}

// savepoint runs one write of several, so that it can fail alone.
func savepoint(conn *session, j *job) (err error) {
	// What ends the savepoint must run even when the caller has given up.
	ctx := context.WithoutCancel(j.ctx)
	if _, err := conn.ExecContext(ctx, "SAVEPOINT w"); err != nil {
		return fmt.Errorf("savepoint: %w", err)
	}
	if err = run(conn, j); err != nil {
		if _, e := conn.ExecContext(ctx, "ROLLBACK TO w"); e != nil {
			err = errors.Join(err, fmt.Errorf("roll back: %w", e))
		}
	}
	if _, e := conn.ExecContext(ctx, "RELEASE w"); e != nil && err == nil {
		err = fmt.Errorf("release savepoint: %w", e)
	}
	return err
}

// unbroken is a Tx whose statements run to their end once begun: SQLite rolls
// the whole transaction back when one is interrupted, and with it what the
// neighbours of the group wrote; and the driver watches a context that can end
// with a goroutine for each statement. A caller that gives up is heard between
// statements.
type unbroken struct{ *session }

// QueryContext implements Q.
func (u unbroken) QueryContext(ctx context.Context, query string, args ...any) (Rows, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return u.session.QueryContext(context.WithoutCancel(ctx), query, args...)
}

// QueryRowContext implements Q.
func (u unbroken) QueryRowContext(ctx context.Context, query string, args ...any) Scanner {
	return u.session.QueryRowContext(context.WithoutCancel(ctx), query, args...)
}

// ExecContext implements Tx.
func (u unbroken) ExecContext(ctx context.Context, query string, args ...any) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return u.session.ExecContext(context.WithoutCancel(ctx), query, args...)
}

// Queue implements Tx: in this process nothing is gained by waiting.
func (u unbroken) Queue(ctx context.Context, doing, query string, args ...any) error {
	if _, err := u.ExecContext(ctx, query, args...); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// Last implements Tx.
func (u unbroken) Last(ctx context.Context, asks ...Ask) error { return Gather(ctx, u, asks...) }
