package db

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// A connection whose transactions change from schema to schema plans every
// statement anew each time: PostgreSQL's plans hold for one search path. So a
// connection is given to the schema it was used for last, as long as that does
// not make another wait.

// How long a connection may rest before it is looked at again, and before it is
// given back to the pool, which closes what nobody needs; the machine's time.
const (
	trustIdle = time.Second
	keepIdle  = 30 * time.Second
	// maxAge is when a connection is given up though it works: its backend at the
	// server grows with every schema it was used for.
	maxAge = 30 * time.Minute
)

// affine hands out the connections of a pool. It is safe for concurrent use.
type affine struct {
	pool *pgxpool.Pool
	now  func() time.Time

	mu      sync.Mutex
	closed  bool                     // what comes back goes to the pool, which waits for it
	free    int                      // connections that may still be taken from the pool
	resting *list.List               // of *lent, the longest resting first
	of      map[string]*list.Element // the last to rest, by schema
	waiting *list.List               // of *waiter, the longest waiting first
}

// waiter waits for a connection, or with nil for the right to a fresh one.
type waiter struct {
	schema string
	passed int // how often another was preferred
	turn   chan *lent
}

// maxPassed bounds how often one who waits is passed by others.
const maxPassed = 4

// lent is a connection and what it was used for.
type lent struct {
	*pgxpool.Conn
	schema string
	born   time.Time // when it was taken from the pool
	since  time.Time // when it began to rest
}

func newAffine(pool *pgxpool.Pool, conns int, now func() time.Time) *affine {
	return &affine{pool: pool, now: now, free: conns, resting: list.New(), of: map[string]*list.Element{}, waiting: list.New()}
}

// acquire returns a connection: the schema's own, a new one, the one that has
// rested longest, or the next that somebody gives back.
func (a *affine) acquire(ctx context.Context, schema string) (*lent, error) {
	for {
		l, err := a.next(ctx, schema)
		if err != nil {
			return nil, err
		}
		if l == nil {
			return a.fresh(ctx, schema)
		}
		// A server that went away takes the resting connections with it.
		if a.now().Sub(l.since) < trustIdle || l.Ping(ctx) == nil {
			l.schema = schema
			return l, nil
		}
		a.drop(l)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// next returns a resting connection, or nil and the right to a fresh one.
func (a *affine) next(ctx context.Context, schema string) (*lent, error) {
	a.mu.Lock()
	a.giveBack()
	e := a.of[schema]
	if e == nil && a.free > 0 {
		a.free--
		a.mu.Unlock()
		return nil, nil //nolint:nilnil // the right to a fresh one.
	}
	if e == nil {
		e = a.resting.Front()
	}
	if e != nil {
		l := a.take(e)
		a.mu.Unlock()
		return l, nil
	}
	w := &waiter{schema: schema, turn: make(chan *lent, 1)}
	place := a.waiting.PushBack(w)
	a.mu.Unlock()
	select {
	case l := <-w.turn:
		return l, nil
	case <-ctx.Done():
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiting.Remove(place)
	select {
	case l := <-w.turn: // it came at the last moment
		if l == nil {
			a.restore()
		} else {
			a.rest(l)
		}
	default:
	}
	return nil, ctx.Err()
}

func (a *affine) fresh(ctx context.Context, schema string) (*lent, error) {
	conn, err := a.pool.Acquire(ctx)
	if err != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.restore()
		return nil, err
	}
	return &lent{Conn: conn, schema: schema, born: a.now()}, nil
}

// release takes a connection back. One that is broken, in a transaction, or old is
// thrown away by the pool.
func (a *affine) release(l *lent) {
	if conn := l.Conn.Conn(); a.now().Sub(l.born) > maxAge || conn.IsClosed() || conn.PgConn().IsBusy() || conn.PgConn().TxStatus() != 'I' {
		a.drop(l)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.rest(l)
}

// rest gives a connection to who waits longest, or lets it rest.
func (a *affine) rest(l *lent) {
	l.since = a.now()
	if e := a.following(l.schema); e != nil {
		a.waiting.Remove(e)
		waits(e).turn <- l
		return
	}
	if a.closed {
		l.Release()
		a.free++
		return
	}
	a.of[l.schema] = a.resting.PushBack(l)
}

// following is who gets a schema's connection next: who waits longest, or one of
// the same schema who waits near the front. Nil when nobody waits.
func (a *affine) following(schema string) *list.Element {
	front := a.waiting.Front()
	if front == nil || waits(front).passed >= maxPassed {
		return front
	}
	for e, far := front, 0; e != nil && far < 4*maxPassed; e, far = e.Next(), far+1 {
		if waits(e).schema == schema {
			if e != front {
				waits(front).passed++
			}
			return e
		}
	}
	return front
}

func waits(e *list.Element) *waiter {
	w, _ := e.Value.(*waiter)
	return w
}

func rests(e *list.Element) *lent {
	l, _ := e.Value.(*lent)
	return l
}

func (a *affine) take(e *list.Element) *lent {
	l := rests(e)
	a.resting.Remove(e)
	if a.of[l.schema] == e {
		delete(a.of, l.schema)
	}
	return l
}

// drop gives a connection up for good.
func (a *affine) drop(l *lent) {
	_ = l.Conn.Conn().Close(context.Background()) // whatever it says, the pool throws it away
	l.Release()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.restore()
}

// restore gives a right to a fresh connection back, to who waits longest.
func (a *affine) restore() {
	if first := a.waiting.Front(); first != nil {
		a.waiting.Remove(first)
		waits(first).turn <- nil
		return
	}
	a.free++
}

// giveBack returns to the pool what has rested long.
func (a *affine) giveBack() {
	for e := a.resting.Front(); e != nil && a.now().Sub(rests(e).since) > keepIdle; e = a.resting.Front() {
		a.take(e).Release()
		a.free++
	}
}

// close gives back all that rests, and from then on whatever would rest: the
// pool waits for what is still used.
func (a *affine) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	for e := a.resting.Front(); e != nil; e = a.resting.Front() {
		a.take(e).Release()
		a.free++
	}
}
