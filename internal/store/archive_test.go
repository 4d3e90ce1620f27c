package store_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/db/dbtest"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/store"
)

func export(t *testing.T, s *store.Store, slug string) ([]byte, store.Manifest) {
	t.Helper()
	var b bytes.Buffer
	m, err := s.Export(t.Context(), slug, "test", noon, &b)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), m
}

func opened(t *testing.T, archive []byte) *store.Archive {
	t.Helper()
	a, err := store.OpenArchive(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func take(t *testing.T, s *store.Store, archive []byte) store.Registered {
	t.Helper()
	reg, err := s.Import(t.Context(), opened(t, archive), "", noon)
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

// A business grows from the embedded file to PostgreSQL and could go back:
// every row comes through as it was.
func TestABusinessMovesBetweenBackendsUnchanged(t *testing.T) {
	t.Parallel()
	home := place(t, "sqlite")
	business(t, home)
	first, m := export(t, home, "kinyozi")
	if m.Backend != "sqlite" || m.Rows() < 20 || len(m.Tables) < 20 {
		t.Errorf("exported %d rows of %d tables from %s; want the business", m.Rows(), len(m.Tables), m.Backend)
	}
	shared := place(t, "postgres")
	reg := take(t, shared, first)
	if diff := cmp.Diff(m.Tenant, reg.Tenant); diff != "" || reg.Route != m.Route {
		t.Errorf("definition (-exported +imported), route %s and %s:\n%s", m.Route, reg.Route, diff)
	}
	second, there := export(t, shared, "kinyozi")
	back := place(t, "sqlite")
	take(t, back, second)
	third, again := export(t, back, "kinyozi")
	if there.Backend != "postgres" || again.Backend != "sqlite" {
		t.Errorf("went through %s and %s", there.Backend, again.Backend)
	}
	for name, got := range map[string]store.Manifest{"on PostgreSQL": there, "back on SQLite": again} {
		if diff := cmp.Diff(m.Tables, got.Tables); diff != "" {
			t.Errorf("tables %s (-want +got):\n%s", name, diff)
		}
	}
	want, on, at := rows(t, first), rows(t, second), rows(t, third)
	for _, files := range []map[string]string{want, on, at} {
		delete(files, "manifest.json") // the moment and the backend differ
	}
	if diff := cmp.Diff(want, on); diff != "" {
		t.Errorf("files on PostgreSQL (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, at); diff != "" {
		t.Errorf("files back on SQLite (-want +got):\n%s", diff)
	}
}

// What was under way where the archive came from is under way nowhere.
func TestAnImportHoldsNoLeaseAndSendsNothingTwice(t *testing.T) {
	t.Parallel()
	from, to := place(t, dbtest.Backend(t)), place(t, dbtest.Backend(t))
	b := business(t, from)
	b.write("m-late")
	b.claim(later(60), noon)
	if _, sent := b.send(noon, noon); len(sent) == 0 {
		t.Fatal("nothing was being sent")
	}
	archive, _ := export(t, from, "kinyozi")
	reg := take(t, to, archive)
	wakes, err := to.Wakes(t.Context(), later(60))
	if err != nil || len(wakes) != 1 {
		t.Errorf("wakes %v, %v; want one, or nobody works on the business", wakes, err)
	}
	handle, err := to.Tenant(reg.Tenant.ID, "booking")
	if err != nil {
		t.Fatal(err)
	}
	b.Turns = store.Turns{Tenant: handle}
	b.want("0", "SELECT COUNT(*) FROM mailboxes WHERE lease_token <> ''")
	b.want("0", "SELECT COUNT(*) FROM outbox WHERE state = 'sending'")
	if rows, _ := b.send(noon, noon); len(rows) > 0 {
		t.Errorf("%v are sent at once: what may have arrived waits for its receipt", rows)
	}
	rows, _ := b.send(noon, noon.Add(outbox.DoubtWait))
	if len(rows) == 0 {
		t.Error("what is in doubt is never sent again")
	}
	b.claim(later(60), noon)
}

func TestAnImportIsRefusedWhole(t *testing.T) {
	t.Parallel()
	from := place(t, "sqlite")
	business(t, from)
	good, _ := export(t, from, "kinyozi")
	tests := map[string]struct {
		change map[string]func(string) string
		slug   string
		want   string
	}{
		"a row changed":             {change: map[string]func(string) string{"bookings": replaced("Kiprono", "Kiprotich")}, want: "the rows of bookings are not those"},
		"a row lost":                {change: map[string]func(string) string{"inbox": func(s string) string { _, rest, _ := strings.Cut(s, "\n"); return rest }}, want: "the rows of inbox"},
		"a table lost":              {change: map[string]func(string) string{"contacts": nil}, want: "contacts is not in it"},
		"no manifest":               {change: map[string]func(string) string{"manifest.json": nil}, want: "no manifest"},
		"a broken manifest":         {change: map[string]func(string) string{"manifest.json": func(string) string { return "{" }}, want: "manifest cannot be read"},
		"another form":              {change: manifest(`"format": 1`, `"format": 2`), want: "older or newer"},
		"a newer build's":           {change: manifest(`"engine": `, `"engine": 99`), want: "newer version (test): its engine tables are at version 99"},
		"a set without a version":   {change: manifest(`"booking": 8`, `"booking": 0`), want: "does not say at which version its booking tables"},
		"an app this build has not": {change: manifest(`"app": "booking"`, `"app": "laundry"`), want: `the app "laundry"`},
		"a path for an id":          {change: manifest(`"id": "01`, `"id": "../01`), want: "no business's id"},
		"a table renamed":           {change: manifest(`"name": "contacts"`, `"name": "contracts"`), want: `table "contracts"`},
		"a bad slug":                {slug: "No Good", want: "is no slug"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			to, err := store.Open(t.Context(), store.Config{Dir: dir, Real: fixed{noon}, Apps: map[string]store.AppPart{"booking": apps()}})
			if err != nil {
				t.Fatal(err)
			}
			defer to.Close()
			archive := rezipped(t, good, tt.change)
			a, err := store.OpenArchive(bytes.NewReader(archive), int64(len(archive)))
			if err == nil {
				_, err = to.Import(t.Context(), a, tt.slug, noon)
			}
			if fault.CodeOf(err) != fault.Invalid || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want a refusal that says %q", err, tt.want)
			}
			nothingLeft(t, to, dir)
		})
	}
	if _, err := store.OpenArchive(strings.NewReader("no zip"), 6); fault.CodeOf(err) != fault.Invalid {
		t.Errorf("a file that is no archive: %v", err)
	}
}

// nothingLeft checks that a refused import left neither a tenant nor a file.
func nothingLeft(t *testing.T, s *store.Store, dir string) {
	t.Helper()
	if known, err := s.Tenants(t.Context()); err != nil || len(known) > 0 {
		t.Errorf("%d tenants after a refusal, %v", len(known), err)
	}
	if files, err := filepath.Glob(filepath.Join(dir, "tenants", "*")); err != nil || len(files) > 0 {
		t.Errorf("files %v after a refusal, %v", files, err)
	}
}

func replaced(old, other string) func(string) string {
	return func(s string) string { return strings.ReplaceAll(s, old, other) }
}

func manifest(old, other string) map[string]func(string) string {
	return map[string]func(string) string{"manifest.json": func(s string) string { return strings.Replace(s, old, other, 1) }}
}

// rezipped is an archive with some files changed, or left out for a nil change.
func rezipped(t *testing.T, archive []byte, change map[string]func(string) string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, content := range rows(t, archive) {
		if fn, ok := change[name]; ok {
			if fn == nil {
				continue
			}
			if changed := fn(content); changed == content {
				t.Fatalf("nothing to change in %s", name)
			} else {
				content = changed
			}
		}
		if name != "manifest.json" {
			name = "tables/" + name + ".jsonl"
		}
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestWhatIsTakenIsNotImportedOver(t *testing.T) {
	t.Parallel()
	from := place(t, dbtest.Backend(t))
	business(t, from)
	archive, _ := export(t, from, "kinyozi")
	if _, err := from.Import(t.Context(), opened(t, archive), "", noon); fault.CodeOf(err) != fault.Conflict || !strings.Contains(err.Error(), "--slug") {
		t.Errorf("the slug is taken: got %v", err)
	}
	if _, err := from.Import(t.Context(), opened(t, archive), "kinyozi2", noon); fault.CodeOf(err) != fault.Conflict || !strings.Contains(err.Error(), `as "kinyozi"`) {
		t.Errorf("the same business again: got %v", err)
	}
	if after, _ := export(t, from, "kinyozi"); len(after) == 0 {
		t.Error("a refusal harmed the business that is there")
	}

	other := place(t, dbtest.Backend(t))
	rival := barber()
	rival.Slug = "rival"
	if _, err := other.Register(t.Context(), rival, noon); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Import(t.Context(), opened(t, archive), "", noon); fault.CodeOf(err) != fault.Conflict || !strings.Contains(err.Error(), "100 (meta) belongs to another") {
		t.Errorf("the number is taken: got %v", err)
	}
	rival.Numbers = nil
	if _, err := other.Register(t.Context(), rival, noon); err != nil {
		t.Fatal(err)
	}
	reg, err := other.Import(t.Context(), opened(t, archive), "kinyozi2", noon)
	if err != nil || reg.Tenant.Slug != "kinyozi2" {
		t.Errorf("under another name: %s, %v", reg.Tenant.Slug, err)
	}
}

// An import that died left a database nobody serves; the next begins anew.
func TestAnInterruptedImportIsBegunAnew(t *testing.T) {
	t.Parallel()
	from, dir := place(t, "sqlite"), t.TempDir()
	business(t, from)
	archive, m := export(t, from, "kinyozi")
	to, err := store.Open(t.Context(), store.Config{Dir: dir, Real: fixed{noon}, Apps: map[string]store.AppPart{"booking": apps()}})
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	left, err := to.Tenant(m.Tenant.ID, "booking")
	if err != nil {
		t.Fatal(err)
	}
	b := &bundle{t: t, store: to, Turns: store.Turns{Tenant: left}}
	b.want("0", "SELECT COUNT(*) FROM contacts") // which makes the tables
	if err := to.Forget(t.Context(), m.Tenant.ID); err != nil {
		t.Fatal(err)
	}
	half, err := db.OpenSQLite(t.Context(), filepath.Join(dir, "tenants", string(m.Tenant.ID)+".db"))
	if err != nil {
		t.Fatal(err)
	}
	err = half.Write(t.Context(), func(tx db.Tx) error {
		return db.Exec(t.Context(), tx, "leave a row", "INSERT INTO contacts (id, created_at) VALUES ('half', $1)", db.At(noon))
	})
	if err := errors.Join(err, half.Close()); err != nil {
		t.Fatal(err)
	}
	take(t, to, archive)
	_, got := export(t, to, "kinyozi")
	if diff := cmp.Diff(m.Tables, got.Tables); diff != "" {
		t.Errorf("tables (-want +got):\n%s", diff)
	}
}

func TestATenantIsDeletedWhole(t *testing.T) {
	t.Parallel()
	s := place(t, dbtest.Backend(t))
	b := business(t, s)
	reg, counts, err := s.Holdings(t.Context(), "kinyozi")
	if err != nil || !strings.Contains(counts.String(), "1 bookings") || counts.Rows() < 20 {
		t.Errorf("holds %s, %v; want what would be lost", counts, err)
	}
	archive, _ := export(t, s, "kinyozi")
	id, err := s.Delete(t.Context(), "kinyozi")
	if err != nil || id != reg.Tenant.ID {
		t.Fatalf("deleted %s, %v; want %s", id, err, reg.Tenant.ID)
	}
	if err := b.Write(t.Context(), nothingTx); err == nil {
		t.Error("an old handle still writes")
	}
	for _, name := range []string{"kinyozi", string(id)} {
		if _, err := s.Delete(t.Context(), name); fault.CodeOf(err) != fault.NotFound {
			t.Errorf("deleting %s again: %v, want that there is none", name, err)
		}
	}
	if wakes, err := s.Wakes(t.Context(), later(1e9)); err != nil || len(wakes) > 0 {
		t.Errorf("wakes %v, %v; want none", wakes, err)
	}
	// The number is free, and the business can come back.
	take(t, s, archive)
}

// A deletion that died after the control data forgot the tenant is ended with
// the tenant's id.
func TestAnInterruptedDeletionIsEnded(t *testing.T) {
	t.Parallel()
	s := place(t, dbtest.Backend(t))
	orphan, err := s.Tenant("01JZ8Y3QK6M2N4P5R7S9T0V1W3", "booking")
	if err != nil {
		t.Fatal(err)
	}
	b := &bundle{t: t, store: s, Turns: store.Turns{Tenant: orphan}}
	b.want("0", "SELECT COUNT(*) FROM contacts")
	if _, err := s.Delete(t.Context(), string(orphan.ID())); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Delete(t.Context(), string(orphan.ID())); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("again: %v, want that there is none", err)
	}
}

func TestAnArchiveHoldsNoSecret(t *testing.T) {
	t.Parallel()
	s := place(t, "sqlite")
	business(t, s)
	archive, _ := export(t, s, "kinyozi")
	var m store.Manifest
	if err := json.Unmarshal([]byte(rows(t, archive)["manifest.json"]), &m); err != nil {
		t.Fatal(err)
	}
	if m.Tenant.Numbers[0].TokenEnv != "KINYOZI_TOKEN" || m.Product != "test" || m.Migrations["booking"] < 2 {
		t.Errorf("manifest %+v: want the secrets' names and the versions", m)
	}
}

// A business whose archive an older build wrote comes in, and its tables are
// brought forward; one of a newer build is refused.
func TestAnOlderArchiveIsBroughtForward(t *testing.T) {
	t.Parallel()
	version := func(n int) *store.Store {
		files := fstest.MapFS{"00001_pets.sql": {Data: []byte("-- +goose Up\nCREATE TABLE pets (id TEXT PRIMARY KEY);")}}
		if n > 1 {
			files["00002_kind.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\nALTER TABLE pets ADD COLUMN kind TEXT NOT NULL DEFAULT 'cat';")}
		}
		cfg := store.Config{Dir: t.TempDir(), Alone: true, Real: fixed{noon}, Apps: map[string]store.AppPart{"vet": {Migrations: files}}}
		if dbtest.Backend(t) == "postgres" {
			cfg.URL = dbtest.Postgres(t)
		}
		s, err := store.Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	older, newer := version(1), version(2)
	def := barber()
	def.App = "vet"
	reg, err := older.Register(t.Context(), def, noon)
	if err != nil {
		t.Fatal(err)
	}
	b := &bundle{t: t, store: older}
	if b.Tenant, err = older.Tenant(reg.Tenant.ID, "vet"); err != nil {
		t.Fatal(err)
	}
	b.exec("INSERT INTO pets (id) VALUES ('paka')")
	archive, _ := export(t, older, "kinyozi")
	take(t, newer, archive)
	if b.Tenant, err = newer.Tenant(reg.Tenant.ID, "vet"); err != nil {
		t.Fatal(err)
	}
	b.want("paka is a cat", "SELECT id || ' is a ' || kind FROM pets")
	again, _ := export(t, newer, "kinyozi")
	if _, err := version(1).Import(t.Context(), opened(t, again), "", noon); fault.CodeOf(err) != fault.Invalid || !strings.Contains(err.Error(), "newer version") {
		t.Errorf("a newer archive: %v, want a refusal", err)
	}
}

// An import that is given up leaves nothing.
func TestAnImportGivenUpLeavesNothing(t *testing.T) {
	t.Parallel()
	from := place(t, "sqlite")
	business(t, from)
	archive, _ := export(t, from, "kinyozi")
	dir := t.TempDir()
	to, err := store.Open(t.Context(), store.Config{Dir: dir, Real: fixed{noon}, Apps: map[string]store.AppPart{"booking": apps()}})
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	gone, cancel := context.WithCancel(t.Context())
	defer cancel()
	a, err := store.OpenArchive(&watched{bytes.NewReader(archive), func() {
		if files, err := filepath.Glob(filepath.Join(dir, "tenants", "*.db")); err != nil || len(files) > 0 {
			cancel() // loading has begun
		}
	}}, int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := to.Import(gone, a, "", noon); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "import ") {
		t.Errorf("got %v, want that the loading of a table was given up", err)
	}
	nothingLeft(t, to, dir)
	take(t, to, archive)
}

// watched tells of every read.
type watched struct {
	io.ReaderAt
	read func()
}

func (w *watched) ReadAt(p []byte, off int64) (int, error) {
	w.read()
	return w.ReaderAt.ReadAt(p, off)
}

// Of two imports of one business at a time, one is refused.
func TestTwoImportsDoNotMix(t *testing.T) {
	t.Parallel()
	from := place(t, "sqlite")
	business(t, from)
	archive, _ := export(t, from, "kinyozi")
	dir := t.TempDir()
	to, err := store.Open(t.Context(), store.Config{Dir: dir, Real: fixed{noon}, Apps: map[string]store.AppPart{"booking": apps()}})
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	var refused error
	second := func() {
		if files, err := filepath.Glob(filepath.Join(dir, "tenants", "*.db")); err == nil && len(files) > 0 && refused == nil {
			_, refused = to.Import(t.Context(), opened(t, archive), "", noon)
		}
	}
	a, err := store.OpenArchive(&watched{bytes.NewReader(archive), second}, int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := to.Import(t.Context(), a, "", noon); err != nil {
		t.Errorf("the first: %v", err)
	}
	if fault.CodeOf(refused) != fault.Conflict || !strings.Contains(refused.Error(), "at this moment") {
		t.Errorf("the second: %v, want a conflict", refused)
	}
}
