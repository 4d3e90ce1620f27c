package db

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Kind is what a column holds, the same word on every backend: the token that
// migrations write its type with.
type Kind string

// The kinds of column.
const (
	Text      Kind = "text"
	BigInt    Kind = "bigint"
	Bool      Kind = "bool"
	Real      Kind = "real"
	Timestamp Kind = "timestamp"
	Document  Kind = "json"
	Bytes     Kind = "bytes"
)

// Column is a column of a table.
type Column struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
	// Identity: the database numbers new rows with it.
	Identity bool `json:"identity,omitempty"`
}

// Table is a table as migrations define it.
type Table struct {
	Name    string   `json:"name"`
	Columns []Column `json:"columns"`
	// Key is the primary key, empty for a table without one.
	Key []string `json:"-"`
}

// Names are the names of the table's columns, in order.
func (t Table) Names() []string {
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = c.Name
	}
	return names
}

// Set is a set of migrations up to a version; 0 is the newest.
type Set struct {
	Name    string
	Files   fs.FS
	Version int64
}

// Selection names some columns of some rows: Where is a condition in portable
// SQL.
type Selection struct {
	Table   string
	Columns []string
	Where   string
}

// Catalogue lists the tables that sets of migrations define, each after those
// it refers to. goose's own tables are left out, and so is what only one
// backend has, such as a column that PostgreSQL generates or SQLite's full-text
// indices, which are named fts_.
func Catalogue(ctx context.Context, sets ...Set) (tables []Table, err error) {
	// SQLite keeps the name of a type as it was written and asks for nothing of
	// it: a scratch file whose types are named by their kinds tells them all.
	dir, err := os.MkdirTemp("", "ratiba-catalogue")
	if err != nil {
		return nil, fmt.Errorf("make catalogue: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	opened, err := OpenSQLite(ctx, filepath.Join(dir, "scratch.db"))
	if err != nil {
		return nil, fmt.Errorf("make catalogue: %w", err)
	}
	d := &DB{engine: declaring{opened.engine}}
	defer func() { err = errors.Join(err, d.Close()) }()
	for _, s := range sets {
		if err := d.MigrateTo(ctx, s.Name, s.Files, s.Version); err != nil {
			return nil, fmt.Errorf("make catalogue: %w", err)
		}
	}
	err = d.Read(ctx, func(q Q) error {
		tables, err = declared(ctx, q)
		return err
	})
	return tables, err
}

// declaring is a scratch file whose columns are declared by their kinds.
type declaring struct{ engine }

func (declaring) dialect() Dialect {
	d := SQLite()
	d.Types = map[string]string{"identity": d.Types["identity"]}
	for _, k := range []Kind{BigInt, Bool, Real, Timestamp, Document, Bytes} {
		d.Types[string(k)] = string(k)
	}
	return d
}

// declared reads the tables of a scratch file.
func declared(ctx context.Context, q Q) ([]Table, error) {
	tables, err := Collect(ctx, q, "list tables", func(row Scanner) (t Table, err error) { return t, row.Scan(&t.Name) },
		`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'
		AND name NOT LIKE 'migrations!_%' ESCAPE '!' AND name NOT LIKE 'fts!_%' ESCAPE '!' ORDER BY name`)
	if err != nil {
		return nil, err
	}
	needs := map[string][]string{}
	for i, t := range tables {
		if err := describe(ctx, q, &tables[i]); err != nil {
			return nil, err
		}
		needs[t.Name], err = Collect(ctx, q, "list references", func(row Scanner) (to string, err error) { return to, row.Scan(&to) },
			`SELECT DISTINCT "table" FROM pragma_foreign_key_list($1) WHERE "table" <> $1`, t.Name)
		if err != nil {
			return nil, err
		}
	}
	return ordered(tables, needs)
}

func describe(ctx context.Context, q Q, t *Table) error {
	keys := map[int]string{}
	_, err := Collect(ctx, q, "list columns", func(row Scanner) (none struct{}, err error) {
		var c Column
		var written string
		var key int
		if err = row.Scan(&c.Name, &written, &key); err != nil {
			return none, err
		}
		if key > 0 {
			keys[key] = c.Name
		}
		switch c.Kind = Kind(strings.ToLower(written)); c.Kind {
		case Text, BigInt, Bool, Real, Timestamp, Document, Bytes:
		case "integer":
			c.Kind, c.Identity = BigInt, true
		default:
			return none, fmt.Errorf("column %s.%s has the type %s: migrations write TEXT or a type's token", t.Name, c.Name, written)
		}
		t.Columns = append(t.Columns, c)
		return none, nil
	}, "SELECT name, type, pk FROM pragma_table_info($1) ORDER BY cid", t.Name)
	for i := range len(keys) {
		t.Key = append(t.Key, keys[i+1])
	}
	return err
}

// ordered puts each table after those it needs, by name where that leaves a
// choice.
func ordered(tables []Table, needs map[string][]string) ([]Table, error) {
	var out []Table
	placed := map[string]bool{}
	for len(out) < len(tables) {
		before := len(out)
		for _, t := range tables {
			ready := !slices.ContainsFunc(needs[t.Name], func(n string) bool { return !placed[n] })
			if ready && !placed[t.Name] {
				out, placed[t.Name] = append(out, t), true
			}
		}
		if len(out) == before {
			return nil, errors.New("order tables: they refer to each other in a circle")
		}
	}
	return out, nil
}

// VersionIn is the version that a set of tables is at in a snapshot.
func VersionIn(ctx context.Context, q Q, set string) (version int64, err error) {
	if err := q.QueryRowContext(ctx, "SELECT COALESCE(MAX(version_id), 0) FROM "+versions(set)).Scan(&version); err != nil {
		return 0, fmt.Errorf("read version of %s: %w", set, err)
	}
	return version, nil
}

// Matches reports how a database differs from a catalogue: nil when it has
// exactly those tables and columns, on PostgreSQL of those kinds.
func Matches(ctx context.Context, q Q, tables []Table) error {
	query := `SELECT m.name, c.name, '' FROM sqlite_master m JOIN pragma_table_info(m.name) c
		WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite!_%' ESCAPE '!' AND m.name NOT LIKE 'migrations!_%' ESCAPE '!'
			AND m.name NOT LIKE 'fts!_%' ESCAPE '!'`
	if q.Dialect().Name == PostgreSQL().Name {
		query = `SELECT CAST(c.table_name AS TEXT), CAST(c.column_name AS TEXT), CAST(c.data_type AS TEXT)
			FROM information_schema.columns c
			JOIN information_schema.tables t ON t.table_schema = c.table_schema AND t.table_name = c.table_name
			WHERE c.table_schema = current_schema() AND t.table_type = 'BASE TABLE' AND c.is_generated = 'NEVER'
			AND c.table_name NOT LIKE 'migrations!_%' ESCAPE '!'`
	}
	type column struct{ table, name, kind string }
	found, err := Collect(ctx, q, "read columns", func(row Scanner) (c column, err error) {
		return c, row.Scan(&c.table, &c.name, &c.kind)
	}, query)
	if err != nil {
		return err
	}
	want := map[string]Kind{}
	for _, t := range tables {
		for _, c := range t.Columns {
			want[t.Name+"."+c.Name] = c.Kind
		}
	}
	var faults []error
	for _, c := range found {
		name := c.table + "." + c.name
		kind, ok := want[name]
		switch {
		case !ok:
			faults = append(faults, fmt.Errorf("%s is in the database and in no migration", name))
		case c.kind != "" && !slices.Contains(onPostgreSQL(kind), c.kind):
			faults = append(faults, fmt.Errorf("%s is %s, want %s", name, c.kind, kind))
		}
		delete(want, name)
	}
	for name := range want {
		faults = append(faults, fmt.Errorf("%s is missing in the database", name))
	}
	return errors.Join(faults...)
}

// onPostgreSQL are the names under which PostgreSQL lists a kind.
func onPostgreSQL(k Kind) []string {
	switch k {
	case Text:
		return []string{"text"}
	case BigInt:
		return []string{"bigint", "integer"}
	case Bool:
		return []string{"boolean"}
	case Real:
		return []string{"double precision"}
	case Timestamp:
		return []string{"timestamp with time zone"}
	case Document:
		return []string{"jsonb", "json"}
	case Bytes:
		return []string{"bytea"}
	}
	return nil
}

// Order is what to sort a table's rows by, so that they come in the same order
// on every backend: its key, or every column of a table without one.
func (t Table) Order(d Dialect) string {
	var terms []string
	for _, c := range t.Columns {
		if len(t.Key) > 0 && !slices.Contains(t.Key, c.Name) {
			continue
		}
		term := c.Name
		if c.Kind == Document {
			term = "CAST(" + term + " AS TEXT)"
		}
		if d.Name == PostgreSQL().Name && (c.Kind == Text || c.Kind == Document) {
			term += ` COLLATE "C"`
		}
		terms = append(terms, term)
	}
	return strings.Join(terms, ", ")
}

// LastNumber is the highest number that an identity column has given out, 0
// when it gave out none.
func LastNumber(ctx context.Context, q Q, table, column string) (last int64, err error) {
	args := []any{table}
	query := "SELECT COALESCE((SELECT seq FROM sqlite_sequence WHERE name = $1), 0)"
	if q.Dialect().Name == PostgreSQL().Name {
		query = "SELECT COALESCE(pg_sequence_last_value(CAST(pg_get_serial_sequence($1, $2) AS regclass)), 0)"
		args = append(args, column)
	}
	if err := q.QueryRowContext(ctx, query, args...).Scan(&last); err != nil {
		return 0, fmt.Errorf("read last number of %s: %w", table, err)
	}
	return last, nil
}

// SetLastNumber makes an identity column go on after last. On PostgreSQL it
// holds even when the transaction is undone.
func SetLastNumber(ctx context.Context, tx Tx, table, column string, last int64) error {
	if last == 0 {
		return nil
	}
	if tx.Dialect().Name == PostgreSQL().Name {
		var set int64
		if err := tx.QueryRowContext(ctx, "SELECT setval(CAST(pg_get_serial_sequence($1, $2) AS regclass), CAST($3 AS BIGINT))",
			table, column, last).Scan(&set); err != nil {
			return fmt.Errorf("set last number of %s: %w", table, err)
		}
		return nil
	}
	n, err := Changed(ctx, tx, "set last number of "+table, "UPDATE sqlite_sequence SET seq = $2 WHERE name = $1", table, last)
	if err != nil || n > 0 {
		return err
	}
	return Exec(ctx, tx, "set last number of "+table, "INSERT INTO sqlite_sequence (name, seq) VALUES ($1, $2)", table, last)
}
