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

func (s *session) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	if stmt, ok := s.stmts[query]; ok {
		return stmt, nil
	}
	if len(s.stmts) >= maxStatements {
		for q, stmt := range s.stmts {
			_ = stmt.Close()
			delete(s.stmts, q)
		}
	}
	stmt, err := s.conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s.stmts[query] = stmt
	return stmt, nil
}

// QueryContext implements Q.
func (s *session) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	stmt, err := s.prepare(ctx, query) //nolint:sqlclosecheck // prepare keeps it for the life of the connection.
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, args...)
}

// QueryRowContext implements Q.
func (s *session) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	stmt, err := s.prepare(ctx, query) //nolint:sqlclosecheck // prepare keeps it for the life of the connection.
	if err != nil {
		// The same statement fails again here, and its Row carries the error.
		return s.conn.QueryRowContext(ctx, query, args...)
	}
	return stmt.QueryRowContext(ctx, args...)
}

// ExecContext implements Tx.
func (s *session) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	stmt, err := s.prepare(ctx, query) //nolint:sqlclosecheck // prepare keeps it for the life of the connection.
	if err != nil {
		return nil, err
	}
	return stmt.ExecContext(ctx, args...)
}
