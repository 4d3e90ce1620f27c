package db_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/db/dbtest"
)

// linesOf reads a whole library.
func linesOf(t *testing.T, d *db.DB, tables []db.Table) (lines []string) {
	t.Helper()
	err := d.Read(t.Context(), func(q db.Q) error {
		for _, table := range tables {
			if err := db.Lines(t.Context(), q, table, func(line []byte) error {
				lines = append(lines, table.Name+" "+string(line))
				return nil
			}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// copyTo inserts every row of one library into another.
func copyTo(t *testing.T, to *db.DB, tables []db.Table, lines []string) {
	t.Helper()
	err := to.Write(t.Context(), func(tx db.Tx) error {
		for _, table := range tables {
			var own [][]byte
			for _, l := range lines {
				if rest, ok := strings.CutPrefix(l, table.Name+" "); ok {
					own = append(own, []byte(rest))
				}
			}
			if err := db.Insert(t.Context(), tx, table, own); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestRowsSurviveTheWayThroughTheOtherBackend(t *testing.T) {
	t.Parallel()
	tables, err := db.Catalogue(t.Context(), db.Set{Name: "library", Files: library()})
	if err != nil {
		t.Fatal(err)
	}
	open := func(path string) *db.DB {
		d, err := db.OpenSQLite(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Close() })
		return d
	}
	server, err := db.OpenServer(t.Context(), dbtest.Postgres(t), 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	if err := server.Extensions(t.Context()); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	first, middle, last := open(filepath.Join(dir, "a.db")), server.Schema("t_middle"), open(filepath.Join(dir, "b.db"))
	for _, d := range []*db.DB{first, middle, last} {
		if err := d.Migrate(t.Context(), "library", library()); err != nil {
			t.Fatal(err)
		}
	}
	at := time.Date(2026, 4, 25, 9, 0, 0, 123456000, time.UTC)
	var odd any
	if err := json.Unmarshal([]byte(`{"z":1e-7,"a":[1.50,-0,12345678901234567890,1e3],"html":"<&>\u2028","nul":"a\u0000b"}`), &odd); err != nil {
		t.Fatal(err)
	}
	err = first.Write(t.Context(), func(tx db.Tx) error {
		exec := func(query string, args ...any) {
			if err := db.Exec(t.Context(), tx, "fill", query, args...); err != nil {
				t.Error(err)
			}
		}
		for _, id := range []string{"b", "a", "B", "é", "_", "a b"} {
			exec("INSERT INTO zones (id) VALUES ($1)", id)
		}
		for i := range 100 {
			exec("INSERT INTO books (zone, lent, weight, at, more, cover, pages) VALUES ($1, $2, $3, $4, $5, $6, $7)",
				"a b", i%2 == 0, float64(i)/3, db.At(at.Add(time.Duration(i)*time.Microsecond)), db.JSON{V: odd}, []byte{0, byte(i)}, int64(i)<<40)
		}
		exec("INSERT INTO books (zone) VALUES ('é')")
		exec("INSERT INTO books (zone, more, cover) VALUES ('é', 'null', $1)", []byte{})
		exec("INSERT INTO authors (seq, place, name) VALUES (1, 2, $1)", "line\nbreak \x00 \"quote\" \xff")
		for _, note := range []string{"b", "B", "a"} {
			exec("INSERT INTO notes (body, more) VALUES ($1, $2)", note, db.JSON{V: map[string]any{"n": note}})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := linesOf(t, first, tables)
	if len(want) != 112 {
		t.Errorf("%d rows, want 112", len(want))
	}
	copyTo(t, middle, tables, want)
	if diff := cmp.Diff(want, linesOf(t, middle, tables)); diff != "" {
		t.Errorf("on PostgreSQL (-want +got):\n%s", diff)
	}
	copyTo(t, last, tables, linesOf(t, middle, tables))
	if diff := cmp.Diff(want, linesOf(t, last, tables)); diff != "" {
		t.Errorf("back on SQLite (-want +got):\n%s", diff)
	}
}

func TestALineThatDoesNotFitIsRefused(t *testing.T) {
	t.Parallel()
	d, err := db.OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "x.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	if err := d.Migrate(t.Context(), "library", library()); err != nil {
		t.Fatal(err)
	}
	tables, err := db.Catalogue(t.Context(), db.Set{Name: "library", Files: library()})
	if err != nil {
		t.Fatal(err)
	}
	row := func(column int, value string) string {
		values := []string{"1", `"a"`, "true", "1.5", `"2026-04-25T09:00:00.000000Z"`, `"{}"`, `"AA=="`, "3"}
		values[column] = value
		return "[" + strings.Join(values, ",") + "]"
	}
	lines := map[string]string{
		"no JSON": "x", "too few": "[1]", "a number as text": row(0, `"1"`), "text as a number": row(1, "1"), "a bool as a number": row(2, "1"),
		"a real as text": row(3, `"1"`), "no time": row(4, `"yesterday"`), "a time as a number": row(4, "1"), "no document": row(5, `"{"`),
		"a document as it is": row(5, "{}"), "no base64": row(6, `"?"`), "bytes as a number": row(6, "1"), "a fraction": row(7, "1.5"),
	}
	for name, line := range lines {
		err := d.Write(t.Context(), func(tx db.Tx) error { return db.Insert(t.Context(), tx, tables[2], [][]byte{[]byte(line)}) })
		if err == nil || !strings.Contains(err.Error(), "books") {
			t.Errorf("%s: got %v, want an error that names the table", name, err)
		}
	}
}

func TestCanonicalJSONIsOneForm(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"b": 1, "a": [ true, null ]}`: `{"a":[true,null],"b":1}`,
		`1.50`:                          `1.5`,
		`1e3`:                           `1000`,
		`-0.0`:                          `0`,
		`-0`:                            `0`,
		`1E-7`:                          `0.0000001`,
		`12345678901234567890.10`:       `12345678901234567890.1`,
		`1e999999`:                      `1e999999`,
		`"\u003c\u0000"`:                `"<` + "\uFFFD" + `"`,
	} {
		if got, err := db.CanonicalJSON([]byte(raw)); err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v; want %s", raw, got, err, want)
		}
	}
	if _, err := db.CanonicalJSON([]byte("{")); err == nil {
		t.Error("half an object: want an error")
	}
	rapid.Check(t, func(rt *rapid.T) {
		f := rapid.Float64().Draw(rt, "f")
		raw, err := json.Marshal(map[string]any{"f": f, "s": rapid.String().Draw(rt, "s")})
		if err != nil {
			rt.Skip("no JSON number")
		}
		once, err := db.CanonicalJSON(raw)
		if err != nil {
			rt.Fatal(err)
		}
		twice, err := db.CanonicalJSON(once)
		if err != nil || string(once) != string(twice) {
			rt.Fatalf("%s became %s (%v)", once, twice, err)
		}
		var back struct{ F float64 }
		if err := json.Unmarshal(once, &back); err != nil || back.F != f {
			rt.Fatalf("%v became %v (%v)", f, back.F, err)
		}
	})
}
