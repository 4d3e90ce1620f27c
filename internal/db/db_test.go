package db_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/db/dbtest"
)

// open opens a database with one table of notes.
func open(t *testing.T, path string) *db.DB {
	t.Helper()
	d, err := db.OpenSQLite(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	noted(t, d)
	return d
}

// empty opens the same on the backend that the suite runs on.
func empty(t *testing.T) *db.DB {
	t.Helper()
	d := dbtest.Open(t)
	noted(t, d)
	return d
}

// noted makes the table of notes.
func noted(t *testing.T, d *db.DB) {
	t.Helper()
	if err := d.Migrate(t.Context(), "notes", files("CREATE TABLE notes (n {{.bigint}} PRIMARY KEY, at {{.timestamp}}, body {{.json}})")); err != nil {
		t.Fatal(err)
	}
}

// files are migrations, one for each statement.
func files(statements ...string) fstest.MapFS {
	out := fstest.MapFS{}
	for i, s := range statements {
		out[fmt.Sprintf("%05d_step.sql", i+1)] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + s + ";\n")}
	}
	return out
}

func note(n int) func(tx db.Tx) error {
	return func(tx db.Tx) error {
		return db.Exec(context.Background(), tx, "note", "INSERT INTO notes (n) VALUES ($1)", n)
	}
}

func notes(t *testing.T, d *db.DB) []int {
	t.Helper()
	var got []int
	err := d.Read(t.Context(), func(q db.Q) (err error) {
		got, err = db.Collect(t.Context(), q, "read notes", func(row db.Scanner) (n int, err error) { return n, row.Scan(&n) },
			"SELECT n FROM notes ORDER BY n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// together queues writes behind one that blocks the writer, so that they share
// one flush, and returns their errors in order.
func together(t *testing.T, d *db.DB, ctx func(i int) context.Context, fns ...func(tx db.Tx) error) []error {
	t.Helper()
	started, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := d.Write(t.Context(), func(db.Tx) error { close(started); <-release; return nil }); err != nil {
			t.Error(err)
		}
	})
	<-started
	errs := make([]error, len(fns))
	for i, fn := range fns {
		queued := make(chan struct{})
		wg.Go(func() {
			close(queued)
			errs[i] = d.Write(ctx(i), fn)
		})
		<-queued
	}
	close(release)
	wg.Wait()
	return errs
}

func TestAGroupLosesOnlyTheWriteThatFails(t *testing.T) {
	t.Parallel()
	d := open(t, filepath.Join(t.TempDir(), "x.db"))
	refused := errors.New("refused")
	then := func(fn func(tx db.Tx) error, after func() error) func(tx db.Tx) error {
		return func(tx db.Tx) error { return errors.Join(fn(tx), after()) }
	}
	errs := together(t, d, func(int) context.Context { return t.Context() },
		note(1),
		then(note(2), func() error { return refused }),
		note(3),
		then(note(4), func() error { panic("a defect in an app") }),
		note(5),
		note(1), // a broken constraint
		note(6),
	)
	if diff := cmp.Diff([]int{1, 3, 5, 6}, notes(t, d)); diff != "" {
		// Note 1 is written twice at once: whichever of the two came first stands.
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	if !errors.Is(errs[1], refused) {
		t.Errorf("failing write: got %v, want its own error", errs[1])
	}
	if errs[3] == nil {
		t.Error("panicking write: want an error")
	}
	if db.IsUnique(errs[0]) == db.IsUnique(errs[5]) {
		t.Errorf("one of two equal notes is refused: got %v and %v", errs[0], errs[5])
	}
	for _, i := range []int{2, 4, 6} {
		if errs[i] != nil {
			t.Errorf("write %d: %v", i, errs[i])
		}
	}
}

func TestAcknowledgedWritesSurviveReopening(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	d := open(t, path)
	var wg sync.WaitGroup
	var mu sync.Mutex
	want := map[int]bool{}
	for i := range 200 {
		wg.Go(func() {
			if err := d.Write(t.Context(), note(i)); err != nil {
				t.Errorf("write %d: %v", i, err)
				return
			}
			mu.Lock()
			want[i] = true
			mu.Unlock()
		})
	}
	wg.Wait()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	got := map[int]bool{}
	for _, n := range notes(t, open(t, path)) {
		got[n] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("notes (-acknowledged +found):\n%s", diff)
	}
}

func TestACancelledWriterLeavesNothing(t *testing.T) {
	t.Parallel()
	d := empty(t)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Write(gone, note(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if got := notes(t, d); got != nil {
		t.Errorf("notes = %v, want none", got)
	}
}

// A statement that is interrupted makes SQLite roll the whole transaction back,
// and with it what the neighbours of the group wrote.
func TestACallerWhoGivesUpDoesNotUndoItsNeighbours(t *testing.T) {
	t.Parallel()
	d := open(t, filepath.Join(t.TempDir(), "x.db"))
	impatient, cancel := context.WithCancel(t.Context())
	long := func(tx db.Tx) error {
		go cancel()
		_, err := tx.ExecContext(impatient, `INSERT INTO notes (n) WITH RECURSIVE c (x) AS (SELECT 1000 UNION ALL SELECT x + 1 FROM c WHERE x < 300000) SELECT x FROM c`)
		return errors.Join(err, impatient.Err())
	}
	errs := together(t, d, func(i int) context.Context {
		if i == 1 {
			return impatient
		}
		return t.Context()
	}, note(1), long, note(2))
	if errs[0] != nil || errs[2] != nil {
		t.Errorf("neighbours: got %v and %v, want success", errs[0], errs[2])
	}
	if !errors.Is(errs[1], context.Canceled) {
		t.Errorf("the caller who gave up: got %v, want context.Canceled", errs[1])
	}
	if diff := cmp.Diff([]int{1, 2}, notes(t, d)); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	if err := d.Write(t.Context(), note(3)); err != nil {
		t.Errorf("the next write: %v", err)
	}
}

// A connection that was interrupted must not be lost to those who read next.
func TestAReaderWhoGivesUpLeavesTheConnectionUsable(t *testing.T) {
	t.Parallel()
	d := empty(t)
	for range 8 {
		impatient, cancel := context.WithCancel(t.Context())
		err := d.Read(impatient, func(q db.Q) error {
			go cancel()
			var n int
			return q.QueryRowContext(impatient, "WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 200000) SELECT COUNT(*) FROM c").Scan(&n)
		})
		cancel()
		if err == nil {
			t.Log("the read was faster than its caller's patience")
		}
	}
	for range 8 {
		if got := notes(t, d); got != nil {
			t.Errorf("notes = %v, want none", got)
		}
	}
}

func TestAClosedDatabaseRefusesWrites(t *testing.T) {
	t.Parallel()
	d := open(t, filepath.Join(t.TempDir(), "x.db"))
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.Write(t.Context(), note(1)); !errors.Is(err, sql.ErrConnDone) {
		t.Errorf("Write: got %v, want sql.ErrConnDone", err)
	}
	if err := d.Read(t.Context(), func(db.Q) error { return nil }); err == nil {
		t.Error("Read: want an error")
	}
}

// Files are opened and closed all the time, as tenants are used and rest.
func TestAClosedDatabaseHoldsNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, filepath.Join(dir, "x.db"))
	if err := d.Write(t.Context(), note(1)); err != nil {
		t.Fatal(err)
	}
	if got := notes(t, d); len(got) != 1 {
		t.Errorf("notes = %v, want one", got)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	// Whoever closes a file last folds its log into it.
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 1 {
		t.Errorf("files: %v, %v; want the database alone", left, err)
	}
}

// Power loss cannot be had in a test; that the file is flushed before a commit
// is acknowledged follows from these two settings of the writer's connection.
func TestTheWriterFlushesBeforeItAcknowledges(t *testing.T) {
	t.Parallel()
	d := open(t, filepath.Join(t.TempDir(), "a name with spaces & signs?.db"))
	var journal string
	var synchronous, foreign int
	err := d.Write(t.Context(), func(tx db.Tx) error {
		return errors.Join(tx.QueryRowContext(t.Context(), "PRAGMA journal_mode").Scan(&journal),
			tx.QueryRowContext(t.Context(), "PRAGMA synchronous").Scan(&synchronous),
			tx.QueryRowContext(t.Context(), "PRAGMA foreign_keys").Scan(&foreign))
	})
	if err != nil {
		t.Fatal(err)
	}
	if journal != "wal" || synchronous != 2 || foreign != 1 {
		t.Errorf("journal_mode %s, synchronous %d, foreign_keys %d; want wal, 2 (FULL), 1", journal, synchronous, foreign)
	}
}

func TestReadSeesOneSnapshotAndCannotWrite(t *testing.T) {
	t.Parallel()
	d := empty(t)
	err := d.Read(t.Context(), func(q db.Q) error {
		count := func() (n int) {
			if err := q.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM notes").Scan(&n); err != nil {
				t.Error(err)
			}
			return n
		}
		before := count()
		if err := d.Write(t.Context(), note(1)); err != nil {
			t.Error(err)
		}
		if after := count(); after != before {
			t.Errorf("a snapshot changed from %d to %d rows", before, after)
		}
		if tx, ok := q.(db.Tx); ok {
			if _, err := db.Changed(t.Context(), tx, "note", "INSERT INTO notes (n) VALUES (2)"); err == nil {
				t.Error("a snapshot took a write")
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestMigrateNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"an unknown type token": "-- +goose Up\nCREATE TABLE a (b {{.money}});",
		"a broken template":     "-- +goose Up\nCREATE TABLE a (b {{.bigint);",
		"broken SQL":            "-- +goose Up\nCREATE TABEL a (b INTEGER);",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := empty(t)
			if err := d.Migrate(t.Context(), "app", fstest.MapFS{"00001_a.sql": {Data: []byte(text)}}); err == nil {
				t.Error("want an error")
			}
		})
	}
	t.Run("the same set again changes nothing, another set has numbers of its own", func(t *testing.T) {
		t.Parallel()
		d := empty(t)
		if err := d.Write(t.Context(), note(1)); err != nil {
			t.Fatal(err)
		}
		noted(t, d)
		if got := notes(t, d); len(got) != 1 {
			t.Errorf("notes = %v, want the one", got)
		}
		if err := d.Migrate(t.Context(), "app", files("CREATE TABLE a (b {{.bool}})")); err != nil {
			t.Error(err)
		}
		if err := d.Migrate(t.Context(), "empty", fstest.MapFS{}); err == nil {
			t.Error("a set without files: want an error")
		}
	})
}

func TestOverlapAndUniqueAreTold(t *testing.T) {
	t.Parallel()
	d := empty(t)
	guard := fmt.Sprintf("CREATE TRIGGER guard BEFORE INSERT ON notes WHEN NEW.n < 0 BEGIN SELECT RAISE(ABORT, '%s'); END", db.OverlapMessage)
	if dbtest.Backend(t) == "postgres" {
		guard = "ALTER TABLE notes ADD EXCLUDE USING gist ((n * n) WITH =, n WITH <>)"
	}
	err := d.Write(t.Context(), func(tx db.Tx) error { return db.Exec(t.Context(), tx, "guard", guard) })
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Write(t.Context(), note(1)); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name            string
		err             error
		unique, overlap bool
	}{
		{"a row that overlaps", d.Write(t.Context(), note(-1)), false, true},
		{"a row that exists", d.Write(t.Context(), note(1)), true, false},
		{"broken SQL", d.Write(t.Context(), func(tx db.Tx) error { return db.Exec(t.Context(), tx, "break", "INSERT INTO nowhere VALUES (1)") }), false, false},
		{"another error that speaks of it", errors.New(db.OverlapMessage), false, false},
		{"no error", nil, false, false},
	}
	for _, tt := range tests {
		if db.IsUnique(tt.err) != tt.unique || db.IsOverlap(tt.err) != tt.overlap {
			t.Errorf("%s: IsUnique %v, IsOverlap %v; want %v, %v (%v)", tt.name, db.IsUnique(tt.err), db.IsOverlap(tt.err), tt.unique, tt.overlap, tt.err)
		}
	}
}

func TestStatementErrorsSayWhatWasBeingDone(t *testing.T) {
	t.Parallel()
	d := empty(t)
	scan := func(db.Scanner) (int, error) { return 0, errors.New("unreadable") }
	err := d.Write(t.Context(), func(tx db.Tx) error {
		n, err := db.Changed(t.Context(), tx, "add", "INSERT INTO notes (n) VALUES (1), (2)")
		if n != 2 {
			t.Errorf("Changed = %d, want 2", n)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for doing, fn := range map[string]func(tx db.Tx) error{
		"counting": func(tx db.Tx) error {
			_, err := db.Changed(t.Context(), tx, "counting", "UPDATE nowhere SET n = 1")
			return err
		},
		"listing": func(tx db.Tx) error {
			_, err := db.Collect(t.Context(), tx, "listing", scan, "SELECT n FROM nowhere")
			return err
		},
		"reading": func(tx db.Tx) error {
			_, err := db.Collect(t.Context(), tx, "reading", scan, "SELECT n FROM notes")
			return err
		},
		"writing": func(tx db.Tx) error { return db.Exec(t.Context(), tx, "writing", "DROP nothing") },
		"guarding": func(tx db.Tx) error {
			return db.Guarded(t.Context(), tx, "guarding", "INSERT INTO notes (n) VALUES (1)")
		},
		"gathering": func(tx db.Tx) error {
			return db.Gather(t.Context(), tx, db.Into("gathering", nil, "SELECT n FROM nowhere"))
		},
		"gleaning": func(tx db.Tx) error {
			return db.Gather(t.Context(), tx, db.Into("gleaning", nil, "SELECT n FROM notes"))
		},
	} {
		if err := d.Write(t.Context(), fn); err == nil || !strings.HasPrefix(err.Error(), doing+": ") && !strings.HasPrefix(err.Error(), "commit: "+doing+": ") {
			t.Errorf("%s: got %v, want an error that begins with it", doing, err)
		}
	}
}

func TestValuesComeBackAsTheyWentIn(t *testing.T) {
	t.Parallel()
	d := empty(t)
	nairobi := time.FixedZone("EAT", 3*3600)
	type body struct {
		Text string `json:"text"`
		N    []int  `json:"n,omitempty"`
	}
	for i, at := range []time.Time{{}, time.Date(2026, 4, 25, 15, 4, 5, 123456789, nairobi), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)} {
		want := body{Text: `"Karibu" — saa tisa`, N: []int{i}}
		err := d.Write(t.Context(), func(tx db.Tx) error {
			return db.Exec(t.Context(), tx, "note", "INSERT INTO notes (n, at, body) VALUES ($1, $2, $3)", i, db.At(at), db.JSON{V: want})
		})
		if err != nil {
			t.Fatal(err)
		}
		var got body
		var gotAt db.Time
		err = d.Read(t.Context(), func(q db.Q) error {
			return q.QueryRowContext(t.Context(), "SELECT at, body FROM notes WHERE n = $1", i).Scan(&gotAt, db.JSON{V: &got})
		})
		if err != nil {
			t.Fatal(err)
		}
		if !gotAt.Equal(at.Truncate(time.Microsecond)) || gotAt.Location() != time.UTC {
			t.Errorf("time: got %v, want %v in UTC", gotAt, at)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("json (-want +got):\n%s", diff)
		}
	}
}

func TestColumnsRefuseWhatTheyCannotRead(t *testing.T) {
	t.Parallel()
	var at db.Time
	var n int
	for name, err := range map[string]error{
		"a time that is no time":   at.Scan("yesterday"),
		"a time from a number":     at.Scan(int64(5)),
		"json that is none":        db.JSON{V: &n}.Scan("{"),
		"json from a number":       db.JSON{V: &n}.Scan(int64(5)),
		"json of another shape":    db.JSON{V: &n}.Scan([]byte(`"five"`)),
		"a value that has no json": func() error { _, err := db.JSON{V: func() {}}.Value(); return err }(),
	} {
		if err == nil {
			t.Errorf("%s: want an error", name)
		}
	}
	n = 7
	if err := (db.JSON{V: &n}).Scan(nil); err != nil || n != 7 {
		t.Errorf("NULL: got %d, %v; want the value untouched", n, err)
	}
	if v, err := (db.JSON{}).Value(); v != nil || err != nil {
		t.Errorf("nil: got %v, %v; want NULL", v, err)
	}
	now := time.Date(2026, 4, 25, 15, 0, 0, 0, time.FixedZone("EAT", 3*3600))
	if err := at.Scan(now); err != nil || at.Location() != time.UTC || !at.Equal(now) {
		t.Errorf("a driver's own time: got %v, %v; want it in UTC", at, err)
	}
	if err := at.Scan(nil); err != nil || !at.IsZero() {
		t.Errorf("NULL: got %v, %v; want the zero time", at, err)
	}
}

func TestAFileThatIsNoDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := db.OpenSQLite(t.Context(), t.TempDir()); err == nil {
		t.Error("a folder was opened as a database")
	}
}

func TestAMigrationThatStoppedGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t)
	at := func(want int64) {
		t.Helper()
		if got, err := d.Version(t.Context(), "notes"); got != want || err != nil {
			t.Errorf("Version = %d, %v; want %d", got, err, want)
		}
	}
	at(0)
	good := files("CREATE TABLE a (n {{.bigint}})", "CREATE TABLE b (n {{.bigint}})", "CREATE TABLE c (n {{.bigint}})")
	broken := files("CREATE TABLE a (n {{.bigint}})", "CREATE TABLE b (n {{.bigint}}); CREATE TABLE b (n {{.bigint}})", "CREATE TABLE c (n {{.bigint}})")
	if err := d.Migrate(t.Context(), "notes", broken); err == nil {
		t.Fatal("a broken migration: want an error")
	}
	at(1)
	if err := d.MigrateTo(t.Context(), "notes", good, 2); err != nil {
		t.Fatal(err)
	}
	at(2)
	if err := d.Migrate(t.Context(), "notes", good); err != nil {
		t.Fatal(err)
	}
	at(3)
	if newest, err := db.Newest(good); newest != 3 || err != nil {
		t.Errorf("Newest = %d, %v; want 3", newest, err)
	}
}
