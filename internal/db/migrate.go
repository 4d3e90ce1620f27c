package db

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing/fstest"
	"text/template"

	"github.com/pressly/goose/v3"
)

// Migrate brings one set of tables to its newest version. Each set (control,
// tenant, an app's own) has its own numbered files and its own version table.
// The files are SQL with the dialect's type names as template tokens, such as
// {{.timestamp}}.
func (d *DB) Migrate(ctx context.Context, set string, files fs.FS) error {
	rendered, err := render(files, d.Dialect.Types)
	if err != nil {
		return fmt.Errorf("render migrations of %s: %w", set, err)
	}
	conn, err := d.open()
	if err != nil {
		return fmt.Errorf("connect to migrate %s: %w", set, err)
	}
	defer func() { _ = conn.Close() }()
	p, err := goose.NewProvider(goose.DialectSQLite3, conn, rendered,
		goose.WithTableName("migrations_"+set), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("read migrations of %s: %w", set, err)
	}
	if _, err := p.Up(ctx); err != nil && !errors.Is(err, goose.ErrNoMigrations) {
		return fmt.Errorf("migrate %s: %w", set, err)
	}
	return nil
}

func render(files fs.FS, types map[string]string) (fs.FS, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, err
	}
	out := fstest.MapFS{}
	for _, name := range names {
		raw, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		t, err := template.New(name).Option("missingkey=error").Parse(string(raw))
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		if err := t.Execute(&b, types); err != nil {
			return nil, err
		}
		out[name] = &fstest.MapFile{Data: b.Bytes()}
	}
	return out, nil
}
