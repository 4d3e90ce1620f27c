package db

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"testing/fstest"
	"text/template"

	"github.com/pressly/goose/v3"
)

// Migrate brings one set of tables to its newest version. Each set (control,
// tenant, an app's own) has its own numbered files and its own version table.
// The files are SQL with the dialect's type names as template tokens, such as
// {{.timestamp}}. A file whose name ends in a dialect's name, such as
// 00002_overlap_postgres.sql, is for that backend alone. Each file is a
// transaction, so that a migration that was interrupted goes on where it was.
func (d *DB) Migrate(ctx context.Context, set string, files fs.FS) error {
	return d.MigrateTo(ctx, set, files, 0)
}

// MigrateTo is Migrate up to a version; 0 is the newest.
func (d *DB) MigrateTo(ctx context.Context, set string, files fs.FS, version int64) error {
	rendered, err := render(files, d.Dialect())
	if err != nil {
		return fmt.Errorf("render migrations of %s: %w", set, err)
	}
	grammar := goose.DialectSQLite3
	if d.Dialect().Name == PostgreSQL().Name {
		grammar = goose.DialectPostgres
	}
	err = d.engine.migrate(ctx, func(conn *sql.DB) error {
		p, err := goose.NewProvider(grammar, conn, rendered,
			goose.WithTableName(versions(set)), goose.WithDisableGlobalRegistry(true))
		if err != nil {
			return fmt.Errorf("read files: %w", err)
		}
		if version == 0 {
			_, err = p.Up(ctx)
		} else {
			_, err = p.UpTo(ctx, version)
		}
		if errors.Is(err, goose.ErrNoMigrations) {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("migrate %s: %w", set, err)
	}
	return nil
}

func versions(set string) string { return "migrations_" + set }

// Version is the version a set of tables is at, 0 when it has none yet.
func (d *DB) Version(ctx context.Context, set string) (version int64, err error) {
	exists := "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = $1"
	if d.Dialect().Name == PostgreSQL().Name {
		exists = "SELECT COUNT(*) FROM pg_catalog.pg_tables WHERE schemaname = current_schema() AND tablename = $1"
	}
	err = d.Read(ctx, func(q Q) error {
		var n int
		if err = q.QueryRowContext(ctx, exists, versions(set)).Scan(&n); err != nil || n == 0 {
			return err
		}
		version, err = VersionIn(ctx, q, set)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("read version of %s: %w", set, err)
	}
	return version, nil
}

// Newest is the version that Migrate brings a set to.
func Newest(files fs.FS) (int64, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return 0, fmt.Errorf("list migrations: %w", err)
	}
	var newest int64
	for _, name := range names {
		number, _, _ := strings.Cut(path.Base(name), "_")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read number of migration %s: %w", name, err)
		}
		newest = max(newest, n)
	}
	return newest, nil
}

func render(files fs.FS, d Dialect) (fs.FS, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, err
	}
	out := fstest.MapFS{}
	for _, name := range names {
		if others(name, d) {
			continue
		}
		raw, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		t, err := template.New(name).Option("missingkey=error").Parse(string(raw))
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		if err := t.Execute(&b, d.Types); err != nil {
			return nil, err
		}
		out[name] = &fstest.MapFile{Data: b.Bytes()}
	}
	return out, nil
}

// others reports whether a file is for another backend.
func others(name string, d Dialect) bool {
	for _, o := range []Dialect{SQLite(), PostgreSQL()} {
		if o.Name != d.Name && strings.HasSuffix(name, "_"+o.Name+".sql") {
			return true
		}
	}
	return false
}
