package db_test

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/db/dbtest"
)

// library is a set of migrations with every kind of column.
func library() fstest.MapFS {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte("-- +goose Up\n" + text)} }
	return fstest.MapFS{
		"00001_library.sql": file(`
			CREATE TABLE zones (id TEXT PRIMARY KEY);
			CREATE TABLE books (
				seq {{.identity}}, zone TEXT NOT NULL REFERENCES zones (id), lent {{.bool}}, weight {{.real}}, at {{.timestamp}},
				more {{.json}}, cover {{.bytes}}, pages {{.bigint}}
			);
			CREATE TABLE authors (seq {{.bigint}} REFERENCES books (seq), place {{.bigint}}, name TEXT, PRIMARY KEY (place, seq));`),
		"00002_only_postgres.sql": file(`CREATE INDEX books_zone ON books USING btree (zone COLLATE "C");`),
		"00003_notes.sql":         file(`CREATE TABLE notes (body TEXT, more {{.json}});`),
	}
}

func TestACatalogueNamesKindsAndPutsTablesInOrder(t *testing.T) {
	t.Parallel()
	tables, err := db.Catalogue(t.Context(), db.Set{Name: "library", Files: library()})
	if err != nil {
		t.Fatal(err)
	}
	want := []db.Table{
		{Name: "notes", Columns: []db.Column{{Name: "body", Kind: db.Text}, {Name: "more", Kind: db.Document}}},
		{Name: "zones", Columns: []db.Column{{Name: "id", Kind: db.Text}}, Key: []string{"id"}},
		{Name: "books", Columns: []db.Column{
			{Name: "seq", Kind: db.BigInt, Identity: true},
			{Name: "zone", Kind: db.Text},
			{Name: "lent", Kind: db.Bool},
			{Name: "weight", Kind: db.Real},
			{Name: "at", Kind: db.Timestamp},
			{Name: "more", Kind: db.Document},
			{Name: "cover", Kind: db.Bytes},
			{Name: "pages", Kind: db.BigInt},
		}, Key: []string{"seq"}},
		{Name: "authors", Columns: []db.Column{
			{Name: "seq", Kind: db.BigInt}, {Name: "place", Kind: db.BigInt}, {Name: "name", Kind: db.Text},
		}, Key: []string{"place", "seq"}},
	}
	if diff := cmp.Diff(want, tables); diff != "" {
		t.Errorf("tables (-want +got):\n%s", diff)
	}
	older, err := db.Catalogue(t.Context(), db.Set{Name: "library", Files: library(), Version: 1})
	if err != nil || len(older) != 3 {
		t.Errorf("at version 1: %d tables, %v; want 3", len(older), err)
	}
	for name, text := range map[string]string{
		"a type of one backend": "CREATE TABLE a (b VARCHAR(3));",
		"a circle":              "CREATE TABLE a (b TEXT REFERENCES c (d)); CREATE TABLE c (d TEXT REFERENCES a (b));",
	} {
		files := fstest.MapFS{"00001_a.sql": {Data: []byte("-- +goose Up\n" + text)}}
		if _, err := db.Catalogue(t.Context(), db.Set{Name: "a", Files: files}); err == nil {
			t.Errorf("%s: want an error", name)
		}
	}
}

// both runs a test on every backend.
func both(t *testing.T, test func(t *testing.T, d *db.DB)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		d, err := db.OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "x.db"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Close() })
		test(t, d)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		s, err := db.OpenServer(t.Context(), dbtest.Postgres(t), 4)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		if err := s.Extensions(t.Context()); err != nil {
			t.Fatal(err)
		}
		test(t, s.Schema("t_books"))
	})
}

func TestADatabaseMatchesItsCatalogue(t *testing.T) {
	t.Parallel()
	tables, err := db.Catalogue(t.Context(), db.Set{Name: "library", Files: library()})
	if err != nil {
		t.Fatal(err)
	}
	both(t, func(t *testing.T, d *db.DB) {
		t.Helper()
		matches := func() (got error) {
			if err := d.Read(t.Context(), func(q db.Q) error { got = db.Matches(t.Context(), q, tables); return nil }); err != nil {
				t.Fatal(err)
			}
			return got
		}
		if err := d.MigrateTo(t.Context(), "library", library(), 1); err != nil {
			t.Fatal(err)
		}
		if err := matches(); err == nil || !strings.Contains(err.Error(), "notes.body is missing") {
			t.Errorf("an older database: got %v, want what is missing", err)
		}
		if err := d.Migrate(t.Context(), "library", library()); err != nil {
			t.Fatal(err)
		}
		if err := matches(); err != nil {
			t.Errorf("the same version: %v", err)
		}
		err := d.Write(t.Context(), func(tx db.Tx) error {
			return db.Exec(t.Context(), tx, "add a table", "CREATE TABLE more (n BIGINT)")
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := matches(); err == nil || !strings.Contains(err.Error(), "more.n is in the database and in no migration") {
			t.Errorf("a table more: got %v, want its name", err)
		}
	})
}

func TestNumbersGoOnWhereTheyWere(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, d *db.DB) {
		t.Helper()
		if err := d.Migrate(t.Context(), "library", library()); err != nil {
			t.Fatal(err)
		}
		last := func() (n int64) {
			err := d.Read(t.Context(), func(q db.Q) (err error) { n, err = db.LastNumber(t.Context(), q, "books", "seq"); return err })
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		set := func(n int64) {
			err := d.Write(t.Context(), func(tx db.Tx) error { return db.SetLastNumber(t.Context(), tx, "books", "seq", n) })
			if err != nil {
				t.Fatal(err)
			}
		}
		set(0)
		if n := last(); n != 0 {
			t.Errorf("of a table never used: %d, want 0", n)
		}
		set(41)
		var seq int64
		err := d.Write(t.Context(), func(tx db.Tx) error {
			if err := db.Exec(t.Context(), tx, "add zone", "INSERT INTO zones (id) VALUES ('a')"); err != nil {
				return err
			}
			return tx.QueryRowContext(t.Context(), "INSERT INTO books (zone) VALUES ('a') RETURNING seq").Scan(&seq)
		})
		if err != nil || seq != 42 || last() != 42 {
			t.Errorf("the next row: %d, last %d, %v; want 42", seq, last(), err)
		}
		set(50)
		if n := last(); n != 50 {
			t.Errorf("set again: %d, want 50", n)
		}
	})
}
