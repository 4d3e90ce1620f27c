package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/ratiba/ratiba/internal/clock"
)

// extensions is the schema of PostgreSQL's extensions. It stands beside a
// tenant's schema in the search path; public, where the control data is, never
// does, so that a half-made tenant reads nothing of it.
const extensions = "ratiba_ext"

// How transactions begin. A snapshot is one for all of its statements; a write
// sees what was committed before each statement, as after a wait for a lock.
const (
	beginRead  = "BEGIN READ ONLY ISOLATION LEVEL REPEATABLE READ"
	beginWrite = "BEGIN ISOLATION LEVEL READ COMMITTED"
	commit     = "COMMIT"
)

// migrators is how many connections outside the pool may migrate at once.
const migrators = 4

// endTime bounds how long a commit may take once the caller gave up, real time.
const endTime = 10 * time.Second

// Server is one PostgreSQL server's database: the schemas of many tenants over
// one bounded pool of connections. It is safe for concurrent use.
type Server struct {
	pool  *pgxpool.Pool
	conns *affine
	cfg   *pgx.ConnConfig
	// migrations bounds connections outside the pool.
	migrations chan struct{}
}

// OpenServer connects to PostgreSQL. The pool has at most conns connections,
// however many schemas are used; migrations use up to four more, and a seat one.
func OpenServer(ctx context.Context, url string, conns int) (*Server, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		// The cause quotes the URL, which holds a password.
		return nil, errors.New("database: want a postgres:// URL")
	}
	cfg.MaxConns = int32(min(conns, 1000)) //nolint:gosec // bounded just here.
	cfg.MaxConnIdleTime = 5 * time.Minute
	cfg.ConnConfig.ConnectTimeout = 5 * time.Second
	cfg.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec // ours are prepared by tx
	cfg.ConnConfig.RuntimeParams["application_name"] = "ratiba"
	cfg.ConnConfig.RuntimeParams["timezone"] = "UTC"
	patient := cfg.ConnConfig.Copy() // migrations take their time
	// A node that hangs must not keep the rows it holds from the others.
	cfg.ConnConfig.RuntimeParams["statement_timeout"] = "30s"
	cfg.ConnConfig.RuntimeParams["idle_in_transaction_session_timeout"] = "30s"
	// Every statement is prepared, with values that say little about its plan.
	cfg.ConnConfig.RuntimeParams["plan_cache_mode"] = "force_generic_plan"
	cfg.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		for _, query := range []string{beginRead, beginWrite, choose, commit} {
			if _, err := conn.Prepare(ctx, query, query); err != nil {
				return fmt.Errorf("prepare connection: %w", err)
			}
		}
		return nil
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	var mode string
	if err := pool.QueryRow(ctx, "SHOW synchronous_commit").Scan(&mode); err != nil {
		pool.Close()
		return nil, fmt.Errorf("reach database: %w", err)
	}
	if mode == "off" {
		pool.Close()
		return nil, errors.New("database: synchronous_commit is off, so that what is acknowledged could be lost; want on")
	}
	return &Server{pool: pool, conns: newAffine(pool, conns, clock.Real{}.Now), cfg: patient, migrations: make(chan struct{}, migrators)}, nil
}

// Extensions makes the extensions that tables need, once per server. It needs
// the right to create them the first time.
func (s *Server) Extensions(ctx context.Context) error {
	return s.locked(ctx, extensions, func(conn *sql.DB) error {
		for _, query := range []string{
			"CREATE SCHEMA IF NOT EXISTS " + extensions,
			"CREATE EXTENSION IF NOT EXISTS btree_gist SCHEMA " + extensions,
			"CREATE EXTENSION IF NOT EXISTS pg_trgm SCHEMA " + extensions,
		} {
			if _, err := conn.ExecContext(ctx, query); err != nil {
				return fmt.Errorf("make extensions: %w", err)
			}
		}
		return nil
	})
}

// Schema is the database of one schema, made when missing by its first Migrate.
// It costs nothing until it is used, and its Close releases nothing.
func (s *Server) Schema(name string) *DB {
	path := pgx.Identifier{name}.Sanitize() + ", " + extensions
	if name == "public" {
		path = name
	}
	return &DB{engine: &schema{server: s, name: name, path: path}}
}

// DropSchema removes a schema with everything in it.
func (s *Server) DropSchema(ctx context.Context, name string) error {
	return s.Schema("public").Write(ctx, func(tx Tx) error {
		return Exec(ctx, tx, "drop schema", "DROP SCHEMA IF EXISTS "+pgx.Identifier{name}.Sanitize()+" CASCADE")
	})
}

// Now is the server's time. Leases that several nodes compare follow it.
func (s *Server) Now(ctx context.Context) (time.Time, error) {
	var now time.Time
	err := s.Schema("public").Read(ctx, func(q Q) error {
		return q.QueryRowContext(ctx, "SELECT clock_timestamp()").Scan(&now)
	})
	if err != nil {
		return now, fmt.Errorf("read the database's time: %w", err)
	}
	return now, nil
}

// Close closes the pool; what runs finishes first.
func (s *Server) Close() {
	s.conns.close()
	s.pool.Close()
}

// locked runs fn on a connection of its own under an advisory lock that other
// nodes' fn of the same name waits for.
func (s *Server) locked(ctx context.Context, name string, fn func(conn *sql.DB) error) error {
	conn, err := s.connect(ctx, name)
	if err != nil {
		return err
	}
	defer s.disconnect(conn)
	// The lock ends with the connection.
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock(hashtextextended($1, 0))", "ratiba:migrate:"+name); err != nil {
		return fmt.Errorf("lock %s: %w", name, err)
	}
	return fn(conn)
}

func (s *Server) connect(ctx context.Context, path string) (*sql.DB, error) {
	select {
	case s.migrations <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait to migrate: %w", ctx.Err())
	}
	cfg := s.cfg.Copy()
	cfg.RuntimeParams["search_path"] = path
	conn := stdlib.OpenDB(*cfg)
	conn.SetMaxOpenConns(1)
	return conn, nil
}

func (s *Server) disconnect(conn *sql.DB) {
	_ = conn.Close()
	<-s.migrations
}

// schema is the engine of one schema.
type schema struct {
	server *Server
	name   string
	path   string // the search path, quoted
}

func (*schema) dialect() Dialect { return PostgreSQL() }

func (*schema) close() error { return nil }

// migrate implements engine. Nodes that migrate the same schema wait for each
// other.
func (s *schema) migrate(ctx context.Context, fn func(conn *sql.DB) error) error {
	return s.server.locked(ctx, s.path, func(conn *sql.DB) error {
		if _, err := conn.ExecContext(ctx, "CREATE SCHEMA IF NOT EXISTS "+pgx.Identifier{s.name}.Sanitize()); err != nil {
			return fmt.Errorf("make schema: %w", err)
		}
		return fn(conn)
	})
}

func (s *schema) read(ctx context.Context, fn func(q Q) error) error {
	return s.run(ctx, beginRead, func(tx *pgTx) error {
		defer tx.rollback(ctx)
		return tx.outcome(fn(tx))
	})
}

func (s *schema) write(ctx context.Context, fn func(tx Tx) error) error {
	var lost bool
	err := s.run(ctx, beginWrite, func(tx *pgTx) (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("write panicked: %v", p)
			}
			// What never came to its commit is gone with its connection.
			lost = tx.conn.IsClosed() && !tx.ending
			tx.rollback(ctx)
		}()
		if err := fn(tx); err != nil {
			return tx.outcome(err)
		}
		return tx.commit(ctx)
	})
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if code := state(err); lost || code == stateDeadlock || code == stateSerialization || pgconn.SafeToRetry(err) {
		return fmt.Errorf("%w: %w", ErrAgain, err)
	}
	return err
}

// run gives fn a transaction that begins with its first statement.
func (s *schema) run(ctx context.Context, begin string, fn func(tx *pgTx) error) error {
	tx := &pgTx{server: s.server, begin: begin, schema: s.name, path: s.path}
	if err := tx.hold(ctx); err != nil {
		return err
	}
	defer tx.letGo()
	return fn(tx)
}

// Seat is a place among the processes that use one database. It is held by a
// connection, so that it is free as soon as the process is gone.
type Seat struct{ conn *pgx.Conn }

// Sit takes a seat: alone, which nobody else may have one beside, or one of
// many. It answers nil when those who sit there leave no such seat.
func (s *Server) Sit(ctx context.Context, name string, alone bool) (*Seat, error) {
	conn, err := pgx.ConnectConfig(ctx, s.cfg)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	lock := "SELECT pg_try_advisory_lock_shared(hashtextextended($1, 0))"
	if alone {
		lock = "SELECT pg_try_advisory_lock(hashtextextended($1, 0))"
	}
	var got bool
	if err := conn.QueryRow(ctx, lock, name).Scan(&got); err != nil {
		return nil, errors.Join(fmt.Errorf("lock: %w", err), conn.Close(ctx))
	}
	if !got {
		return nil, conn.Close(ctx)
	}
	return &Seat{conn}, nil
}

// Check reports whether the seat is still held. It asks the server, however
// short the caller's patience is: a question that is broken off loses the seat.
func (s *Seat) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	return s.conn.Ping(ctx)
}

// Leave gives the seat up.
func (s *Seat) Leave() {
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	_ = s.conn.Close(ctx)
}
