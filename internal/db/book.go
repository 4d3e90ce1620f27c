package db

import (
	"context"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

// A prepared statement has one plan, made under one search path; used under
// another it is analysed and planned anew each time, which costs more than
// running it. So a connection keeps statements for the few schemas it is mostly
// used for, and others for all the rest.

const (
	// homes is how many schemas have statements of their own on a connection: each
	// has about a hundred, of some ten kilobytes at the server.
	homes = 16
	// homeTime is how long a schema keeps its place while nobody uses it there;
	// the machine's time.
	homeTime = 10 * time.Second
)

// book is what a connection knows of its prepared statements.
type book struct {
	numbered int
	rest     map[string]string
	homes    map[string]*home
}

type home struct {
	names map[string]string // by text
	used  time.Time
}

// bookKey is where a connection keeps its book.
const bookKey = "ratiba.book"

func bookOf(conn *pgx.Conn) *book {
	data := conn.PgConn().CustomData()
	b, ok := data[bookKey].(*book)
	if !ok {
		b = &book{rest: map[string]string{}, homes: map[string]*home{}}
		data[bookKey] = b
	}
	return b
}

// name draws a name for a statement.
func (b *book) name() string {
	b.numbered++
	return "r" + strconv.Itoa(b.numbered)
}

// namesFor returns the statements to use for a schema.
func (b *book) namesFor(ctx context.Context, conn *pgx.Conn, schema string, now time.Time) map[string]string {
	h := b.homes[schema]
	if h == nil && len(b.homes) >= homes {
		b.evict(ctx, conn, now)
	}
	if h == nil && len(b.homes) < homes {
		h = &home{names: map[string]string{}}
		b.homes[schema] = h
	}
	names := b.rest
	if h != nil {
		h.used, names = now, h.names
	}
	if len(names) > maxStatements {
		b.forget(ctx, conn, names)
	}
	return names
}

// evict takes the place of the schema that was not used for longest, if that is
// long enough.
func (b *book) evict(ctx context.Context, conn *pgx.Conn, now time.Time) {
	var oldest string
	for schema, h := range b.homes {
		if oldest == "" || h.used.Before(b.homes[oldest].used) {
			oldest = schema
		}
	}
	if now.Sub(b.homes[oldest].used) < homeTime {
		return
	}
	b.forget(ctx, conn, b.homes[oldest].names)
	delete(b.homes, oldest)
}

// forget deallocates statements. Where that fails the connection is broken, and
// its next use shows it.
func (b *book) forget(ctx context.Context, conn *pgx.Conn, names map[string]string) {
	for query, name := range names {
		_ = conn.Deallocate(ctx, name)
		delete(names, query)
	}
}
