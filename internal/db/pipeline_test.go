package db_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/db/dbtest"
)

// add notes a number and waits for the answer.
func add(ctx context.Context, tx db.Tx, n int) error {
	_, err := db.Changed(ctx, tx, "add", "INSERT INTO notes (n) VALUES ($1)", n)
	return err
}

func wantNotes(t *testing.T, d *db.DB, want ...int) {
	t.Helper()
	if diff := cmp.Diff(want, notes(t, d)); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// taken is a database with the note 1.
func taken(t *testing.T) *db.DB {
	t.Helper()
	d := empty(t)
	if err := d.Write(t.Context(), note(1)); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestAFailedStatementFailsItsTransaction(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	again := func(tx db.Tx) error {
		return db.Exec(ctx, tx, "note again", "INSERT INTO notes (n) VALUES (1)")
	}
	count := func(tx db.Tx) error {
		var n int
		return tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM notes").Scan(&n)
	}
	for name, fn := range map[string]func(tx db.Tx) error{
		"told at the commit": again,
		"told at the next read": func(tx db.Tx) error {
			if err := again(tx); err != nil {
				return err
			}
			return count(tx)
		},
		"told at the next change": func(tx db.Tx) error {
			if err := again(tx); err != nil {
				return err
			}
			return add(ctx, tx, 3)
		},
		"told at the next queries": func(tx db.Tx) error {
			if err := again(tx); err != nil {
				return err
			}
			var n int
			return db.Gather(ctx, tx, db.Into("count", []any{&n}, "SELECT COUNT(*) FROM notes"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := taken(t)
			for range 2 { // the second time the statements are prepared
				err := d.Write(t.Context(), func(tx db.Tx) error { return errors.Join(note(2)(tx), fn(tx)) })
				if err == nil || !strings.Contains(err.Error(), "note again: ") || !db.IsUnique(err) {
					t.Errorf("got %v, want a broken unique constraint and what was being done", err)
				}
				wantNotes(t, d, 1)
			}
		})
	}
}

// An earlier statement's failure is told at a later one's call, where it must
// not be taken for that statement's own.
func TestAnEarlierFailureIsNobodysDecision(t *testing.T) {
	t.Parallel()
	for name, decide := range map[string]func(tx db.Tx) error{
		"of a change": func(tx db.Tx) error { return add(t.Context(), tx, 5) },
		"of a guarded statement": func(tx db.Tx) error {
			return db.Guarded(t.Context(), tx, "guard", "INSERT INTO notes (n) VALUES (5)")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := taken(t)
			for range 2 {
				err := d.Write(t.Context(), func(tx db.Tx) error {
					if err := note(1)(tx); err != nil {
						return err // where nothing waits it is told at once
					}
					if err := decide(tx); db.IsUnique(err) {
						t.Errorf("got %v, which reads as this statement's own", err)
					}
					return nil // whoever forgets the error does not commit the rest
				})
				if !db.IsUnique(err) {
					t.Errorf("Write = %v, want what failed first", err)
				}
				wantNotes(t, d, 1)
			}
		})
	}
}

func TestARefusedStatementLeavesTheRest(t *testing.T) {
	t.Parallel()
	d := taken(t)
	for i := range 3 {
		err := d.Write(t.Context(), func(tx db.Tx) error {
			if err := note(10 + i)(tx); err != nil {
				return err
			}
			if err := db.Guarded(t.Context(), tx, "guard", "INSERT INTO notes (n) VALUES ($1)", 1); !db.IsUnique(err) || !strings.HasPrefix(err.Error(), "guard: ") {
				t.Errorf("guarded: got %v, want a broken unique constraint", err)
			}
			if err := db.Guarded(t.Context(), tx, "guard", "INSERT INTO notes (n) VALUES ($1)", 20+i); err != nil {
				return err
			}
			return note(30 + i)(tx)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	wantNotes(t, d, 1, 10, 11, 12, 20, 21, 22, 30, 31, 32)
}

func TestASavepointUndoesWhatWaited(t *testing.T) {
	t.Parallel()
	d := empty(t)
	exec := func(tx db.Tx, query string) error {
		_, err := tx.ExecContext(t.Context(), query)
		return err
	}
	err := d.Write(t.Context(), func(tx db.Tx) error {
		err := errors.Join(note(1)(tx), exec(tx, "SAVEPOINT s"), note(2)(tx), exec(tx, "ROLLBACK TO SAVEPOINT s"), note(3)(tx),
			db.Exec(t.Context(), tx, "save", "SAVEPOINT s"), note(4)(tx))
		_ = note(1)(tx) // refused at once, or never sent
		return errors.Join(err, exec(tx, "ROLLBACK TO SAVEPOINT s"), note(5)(tx))
	})
	if err != nil {
		t.Fatal(err)
	}
	wantNotes(t, d, 1, 3, 5)
}

func TestAWriteThatWasTooSlowRunsAgain(t *testing.T) {
	t.Parallel()
	d := empty(t)
	for _, tt := range []struct {
		name         string
		write        func(context.Context, func(tx db.Tx) error) error
		slow, runs   int
		wants, notes bool
	}{
		{"twice too slow", d.Write, 2, 3, false, true},
		{"always too slow", d.Write, 100, 8, true, false},
		{"once, and in time", d.Once, 0, 1, false, true},
		{"once, and too slow", d.Once, 1, 1, true, false},
	} {
		before, runs := len(notes(t, d)), 0
		err := tt.write(t.Context(), func(tx db.Tx) error {
			runs++
			if err := add(t.Context(), tx, 100*before+runs); err != nil || runs > tt.slow {
				return err
			}
			return fmt.Errorf("met another: %w", db.ErrAgain)
		})
		if runs != tt.runs || errors.Is(err, db.ErrAgain) != tt.wants || (err == nil) == tt.wants {
			t.Errorf("%s: %d runs, %v; want %d runs and ErrAgain %v", tt.name, runs, err, tt.runs, tt.wants)
		}
		if added := len(notes(t, d)) > before; added != tt.notes {
			t.Errorf("%s: a note stayed: %v, want %v", tt.name, added, tt.notes)
		}
	}
}

func TestACommitIsSentWhenItsCallerJustGaveUp(t *testing.T) {
	t.Parallel()
	d := empty(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := d.Write(ctx, func(tx db.Tx) error {
		defer cancel()
		return errors.Join(add(ctx, tx, 1), note(2)(tx))
	})
	if err != nil {
		t.Errorf("Write = %v, want the outcome of the commit", err)
	}
	wantNotes(t, d, 1, 2)
}

func TestAPanicFailsItsTransactionAlone(t *testing.T) {
	t.Parallel()
	d := empty(t)
	for range 20 { // more than there are connections
		err := d.Write(t.Context(), func(tx db.Tx) error {
			if err := add(t.Context(), tx, 1); err != nil {
				return err
			}
			panic("a defect in an app")
		})
		if err == nil || !strings.Contains(err.Error(), "a defect in an app") {
			t.Errorf("Write = %v, want an error that names the panic", err)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a reader's panic was swallowed")
				}
			}()
			_ = d.Read(t.Context(), func(q db.Q) error {
				var n int
				_ = q.QueryRowContext(t.Context(), "SELECT 1").Scan(&n)
				panic("a defect in an app")
			})
		}()
	}
	wantNotes(t, d)
}

func TestQueriesAskedTogetherAnswerInOrder(t *testing.T) {
	t.Parallel()
	d := empty(t)
	err := d.Write(t.Context(), func(tx db.Tx) error {
		for n := range 5 {
			if err := note(n)(tx); err != nil {
				return err
			}
		}
		var got []int
		row := func(r db.Scanner) error {
			var n int
			err := r.Scan(&n)
			got = append(got, n)
			return err
		}
		largest, none := 0, -7
		if err := db.Gather(t.Context(), tx,
			db.Each("list", row, "SELECT n FROM notes WHERE n < $1 ORDER BY n DESC", 3),
			db.Into("find the largest", []any{&largest}, "SELECT MAX(n) FROM notes"),
			db.Into("find none", []any{&none}, "SELECT n FROM notes WHERE n > 100"),
			db.Each("add", row, "INSERT INTO notes (n) VALUES (50), (60) RETURNING n"),
		); err != nil {
			return err
		}
		if diff := cmp.Diff([]int{2, 1, 0, 50, 60}, got); diff != "" || largest != 4 || none != -7 {
			t.Errorf("largest %d, none %d, rows (-want +got):\n%s", largest, none, diff)
		}
		return db.Gather(t.Context(), tx)
	})
	if err != nil {
		t.Fatal(err)
	}
	wantNotes(t, d, 0, 1, 2, 3, 4, 50, 60)

	refused := errors.New("refused")
	err = d.Write(t.Context(), func(tx db.Tx) error {
		return db.Gather(t.Context(), tx,
			db.Each("add", func(db.Scanner) error { return nil }, "INSERT INTO notes (n) VALUES (70) RETURNING n"),
			db.Each("list", func(db.Scanner) error { return refused }, "SELECT n FROM notes"),
			db.Into("never asked", nil, "SELECT n FROM notes"))
	})
	if !errors.Is(err, refused) || !strings.HasPrefix(err.Error(), "list: ") {
		t.Errorf("got %v, want the refusal of the second", err)
	}
	err = d.Read(t.Context(), func(q db.Q) error {
		var n int
		if err := q.QueryRowContext(t.Context(), "SELECT n FROM notes WHERE n = 70").Scan(&n); !errors.Is(err, sql.ErrNoRows) {
			t.Errorf("a missing row: got %v, want sql.ErrNoRows", err)
		}
		// One row is read however many there are, and the next statement works.
		return errors.Join(q.QueryRowContext(t.Context(), "SELECT n FROM notes ORDER BY n DESC").Scan(&n),
			q.QueryRowContext(t.Context(), "SELECT n FROM notes ORDER BY n").Scan(&n))
	})
	if err != nil {
		t.Error(err)
	}
}

func TestTextThatPostgreSQLRefusesIsReplaced(t *testing.T) {
	t.Parallel()
	d := dbtest.Server(t).Schema("tenant")
	if err := d.Migrate(t.Context(), "texts", files("CREATE TABLE texts (n {{.identity}}, plain TEXT NOT NULL, body {{.json}} NOT NULL)")); err != nil {
		t.Fatal(err)
	}
	// through stores a text and a document, and reads both again.
	through := func(text string, doc any) (gotText, gotDoc string, err error) {
		err = d.Write(t.Context(), func(tx db.Tx) error {
			return tx.QueryRowContext(t.Context(), "INSERT INTO texts (plain, body) VALUES ($1, $2) RETURNING plain, body ->> 'k'",
				text, db.JSON{V: doc}).Scan(&gotText, &gotDoc)
		})
		return gotText, gotDoc, err
	}
	for _, tt := range []struct{ name, in, want string }{
		{"plain text", "Karibu — saa tisa 😀", "Karibu — saa tisa 😀"},
		{"NUL", "a\x00b\x00", "a\uFFFDb\uFFFD"},
		{"what looks like an escaped NUL", `a\u0000b`, `a\u0000b`},
		{"a backslash before NUL", "a\\\x00", "a\\\uFFFD"},
		{"two backslashes before what looks like one", `a\\u0000`, `a\\u0000`},
		{"bytes that are no text", "a\xff\xfeb", "a\uFFFD\uFFFDb"},
		{"what json escapes", "<&>\u2028\"\\\n", "<&>\u2028\"\\\n"},
	} {
		text, doc, err := through(tt.in, map[string]string{"k": tt.in})
		// As text a run of such bytes is one replacement; in JSON each byte is.
		if err != nil || strings.ReplaceAll(text, "\uFFFD\uFFFD", "\uFFFD") != strings.ReplaceAll(tt.want, "\uFFFD\uFFFD", "\uFFFD") || doc != tt.want {
			t.Errorf("%s: text %q, json %q, %v; want %q", tt.name, text, doc, err, tt.want)
		}
	}
	for _, tt := range []struct{ name, in, want string }{
		{"an escaped pair", `\ud83d\ude00`, "😀"},
		{"half a pair", `\ud83d!`, "\uFFFD!"},
		{"the other half", `\ude00!`, "\uFFFD!"},
		{"half a pair before a pair", `\ud83d\ud83d\ude00`, "\uFFFD😀"},
		{"a pair in the wrong order", `\ude00\ud83d`, "\uFFFD\uFFFD"},
		{"half a pair at the end", `a\uD83D`, "a\uFFFD"},
		{"an escaped NUL", `\u0000`, "\uFFFD"},
		{"an escaped backslash before it", `\\u0000`, `\u0000`},
		{"and after that one more", `\\\u0000`, "\\\uFFFD"},
		{"half a pair and an escaped NUL", `\ud83d\u0000`, "\uFFFD\uFFFD"},
		{"bytes that are no text", "\xff", "\uFFFD"},
	} {
		_, doc, err := through("", rawJSON(`{"k":"`+tt.in+`"}`))
		if err != nil || doc != tt.want {
			t.Errorf("%s: got %q, %v; want %q", tt.name, doc, err, tt.want)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		pieces := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "\x00", `\`, `\u0000`, `"`, "😀", "\n", "u0000", "é"}), 0, 12).Draw(rt, "pieces")
		in := strings.Join(pieces, "")
		want := strings.ReplaceAll(in, "\x00", "\uFFFD")
		if text, doc, err := through(in, map[string]string{"k": in}); err != nil || text != want || doc != want {
			rt.Errorf("text %q, json %q, %v; want %q", text, doc, err, want)
		}
	})
}

// rawJSON is JSON that somebody else wrote.
type rawJSON string

func (r rawJSON) MarshalJSON() ([]byte, error) { return []byte(r), nil }

func TestManyWritersOfOneRowLoseNothing(t *testing.T) {
	t.Parallel()
	d := empty(t)
	if err := d.Write(t.Context(), note(0)); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 25 {
				if err := d.Write(t.Context(), func(tx db.Tx) error {
					var n int
					if err := tx.QueryRowContext(t.Context(), "SELECT n FROM notes"+tx.Dialect().ForUpdate).Scan(&n); err != nil {
						return err
					}
					return db.Exec(t.Context(), tx, "count", "UPDATE notes SET n = $1", n+1)
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	wantNotes(t, d, 200)
}

func TestClosingWaitsForWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	s, err := db.OpenServer(t.Context(), dbtest.Postgres(t), 2)
	if err != nil {
		t.Fatal(err)
	}
	d := s.Schema("tenant")
	began, goOn, read := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		read <- d.Read(t.Context(), func(q db.Q) error {
			close(began)
			<-goOn
			return q.QueryRowContext(t.Context(), "SELECT 1").Scan(new(int))
		})
	}()
	<-began
	closed := make(chan struct{})
	go func() {
		s.Close()
		close(closed)
	}()
	// Who comes now is told so, not kept waiting; that shows that Close has begun.
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	count := func(q db.Q) error { return q.QueryRowContext(t.Context(), "SELECT 1").Scan(new(int)) }
	for d.Read(t.Context(), count) == nil {
		<-tick.C
	}
	close(goOn)
	if err := <-read; err != nil {
		t.Errorf("what was under way was disturbed: %v", err)
	}
	select {
	case <-closed:
	case <-time.After(patience):
		t.Fatal("Close waits for ever")
	}
}
