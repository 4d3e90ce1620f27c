package db

import (
	"context"
	"database/sql"
	"fmt"
)

// maxStatements bounds a session's prepared statements. The product's SQL is
// fixed text, so the bound is never met by it.
const maxStatements = 512

// session is one connection with its prepared statements: preparing SQL costs
// SQLite more than running it. It is used by one goroutine at a time.
type session struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

func newSession(ctx context.Context, pool *sql.DB) (*session, error) {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return &session{conn: conn, stmts: map[string]*sql.Stmt{}}, nil
}

// close ends the session. Its statements are closed first: nobody else does
// that for a connection's own, and one that is left keeps the file open.
func (s *session) close() error {
	s.forget()
	return s.conn.Close()
}

func (s *session) forget() {
	for q, stmt := range s.stmts {
		_ = stmt.Close()
		delete(s.stmts, q)
	}
}

func (s *session) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	if stmt, ok := s.stmts[query]; ok {
		return stmt, nil
	}
	if len(s.stmts) >= maxStatements {
		s.forget()
	}
	stmt, err := s.conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s.stmts[query] = stmt
	return stmt, nil
}

// QueryContext implements Q.
func (s *session) QueryContext(ctx context.Context, query string, args ...any) (Rows, error) {
	stmt, err := s.prepare(ctx, query) //nolint:sqlclosecheck // prepare keeps it for the life of the connection.
	if err != nil {
		return nil, err
	}
	rows, err := stmt.QueryContext(ctx, args...) //nolint:rowserrcheck // the caller's to ask.
	if err != nil {
		return nil, err // a nil *sql.Rows would be no nil Rows
	}
	return rows, nil
}

// QueryRowContext implements Q.
func (s *session) QueryRowContext(ctx context.Context, query string, args ...any) Scanner {
	stmt, err := s.prepare(ctx, query) //nolint:sqlclosecheck // prepare keeps it for the life of the connection.
	if err != nil {
		// The same statement fails again here, and its Row carries the error.
		return s.conn.QueryRowContext(ctx, query, args...)
	}
	return stmt.QueryRowContext(ctx, args...)
}

// Dialect implements Q.
func (s *session) Dialect() Dialect { return SQLite() }

// ExecContext implements Tx.
func (s *session) ExecContext(ctx context.Context, query string, args ...any) (int64, error) {
	stmt, err := s.prepare(ctx, query) //nolint:sqlclosecheck // prepare keeps it for the life of the connection.
	if err != nil {
		return 0, err
	}
	res, err := stmt.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}
