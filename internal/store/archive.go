package store

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"math/big"
	"regexp"
	"slices"
	"time"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/tenant"
)

// archiveFormat is the form of archives that this build writes and reads.
const archiveFormat = 1

// Manifest says what an archive holds. An archive is a zip file: manifest.json
// and, for each table, tables/NAME.jsonl with a line per row as db.Lines writes
// it. It names the environment variables of secrets and never holds one.
type Manifest struct {
	Format  int       `json:"format"`
	Product string    `json:"product"` // the version that wrote it
	At      time.Time `json:"at"`
	Backend string    `json:"backend"` // sqlite or postgres: where it came from
	// Tenant is the definition, with its id and version; Route is the part of
	// callback addresses that names it.
	Tenant tenant.Tenant `json:"tenant"`
	Route  string        `json:"route"`
	// Migrations are the versions of the sets of tables.
	Migrations map[string]int64 `json:"migrations"`
	Tables     []ArchivedTable  `json:"tables"` // each after those it refers to
}

// ArchivedTable is one table of an archive.
type ArchivedTable struct {
	db.Table

	Rows int64 `json:"rows"`
	// Last is the highest number that the identity column gave out.
	Last int64 `json:"last,omitempty"`
	// SHA256 is that of the table's file. Digest is the same rows' in whatever
	// order: the sum of their hashes.
	SHA256 string `json:"sha256"`
	Digest string `json:"digest"`
}

// Rows counts an archive's rows.
func (m Manifest) Rows() int64 {
	var n int64
	for _, t := range m.Tables {
		n += t.Rows
	}
	return n
}

// tally counts and hashes the lines of a table.
type tally struct {
	rows int64
	file hash.Hash
	sum  *big.Int
}

func newTally() *tally { return &tally{file: sha256.New(), sum: new(big.Int)} }

func (t *tally) add(line []byte) {
	t.rows++
	t.file.Write(line)
	t.file.Write([]byte{'\n'})
	h := sha256.Sum256(line)
	t.sum.Add(t.sum, new(big.Int).SetBytes(h[:]))
}

// sha256 is the file's hash.
func (t *tally) sha256() string { return hex.EncodeToString(t.file.Sum(nil)) }

// digest is the sum of the lines' hashes, modulo 2^256.
func (t *tally) digest() string {
	sum := new(big.Int).Mod(t.sum, new(big.Int).Lsh(big.NewInt(1), 8*sha256.Size))
	return hex.EncodeToString(sum.FillBytes(make([]byte, sha256.Size)))
}

// setsAt are the sets of tables of an app's tenants, at the given versions; nil
// are the newest.
func (s *Store) setsAt(app string, at map[string]int64) (out []db.Set) {
	for _, set := range (&Tenant{app: app, part: s.cfg.Apps[app]}).sets() {
		out = append(out, db.Set{Name: set.name, Files: set.files, Version: at[set.name]})
	}
	return out
}

// Find returns the tenant with that slug, or fault.NotFound.
func (s *Store) Find(ctx context.Context, slug string) (Registered, error) {
	var found []Registered
	err := s.control.Read(ctx, func(q db.Q) (err error) {
		found, err = db.Collect(ctx, q, "find tenant", scanRegistered, "SELECT id, route, version, definition FROM tenants WHERE slug = $1", slug)
		return err
	})
	if err != nil {
		return Registered{}, err
	}
	if len(found) == 0 {
		return Registered{}, unknownBusiness(slug)
	}
	return found[0], nil
}

func unknownBusiness(name string) error {
	return fault.E(fault.NotFound, fmt.Sprintf("There is no business %q here.", name))
}

// Export writes everything of a tenant as one archive, as it is at one instant.
// No table is held in memory.
func (s *Store) Export(ctx context.Context, slug, product string, now time.Time, w io.Writer) (Manifest, error) {
	reg, err := s.Find(ctx, slug)
	if err != nil {
		return Manifest{}, err
	}
	t, err := s.Tenant(reg.Tenant.ID, reg.Tenant.App)
	if err != nil {
		return Manifest{}, err
	}
	m := Manifest{
		Format: archiveFormat, Product: product, At: now.UTC(), Tenant: reg.Tenant, Route: reg.Route, Migrations: map[string]int64{},
	}
	sets := s.setsAt(reg.Tenant.App, nil)
	tables, err := db.Catalogue(ctx, sets...)
	if err != nil {
		return m, err
	}
	z := zip.NewWriter(w)
	err = t.Read(ctx, func(q db.Q) error {
		m.Backend, m.Tables = q.Dialect().Name, nil
		if err := db.Matches(ctx, q, tables); err != nil {
			return fmt.Errorf("the database is not of this build's version: %w", err)
		}
		for _, set := range sets {
			if m.Migrations[set.Name], err = db.VersionIn(ctx, q, set.Name); err != nil {
				return err
			}
		}
		for _, table := range tables {
			archived, err := writeTable(ctx, q, z, table)
			if err != nil {
				return err
			}
			m.Tables = append(m.Tables, archived)
		}
		return nil
	})
	if err != nil {
		return m, fmt.Errorf("export %s: %w", slug, err)
	}
	return m, finishArchive(z, m)
}

func finishArchive(z *zip.Writer, m Manifest) error {
	f, err := z.Create("manifest.json")
	if err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	e := json.NewEncoder(f)
	e.SetIndent("", "  ")
	if err := e.Encode(m); err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("write archive: %w", err)
	}
	return nil
}

// writeTable writes a table's file.
func writeTable(ctx context.Context, q db.Q, z *zip.Writer, table db.Table) (ArchivedTable, error) {
	f, err := z.Create(tableFile(table.Name))
	if err != nil {
		return ArchivedTable{}, fmt.Errorf("write %s: %w", table.Name, err)
	}
	return tallied(ctx, q, table, func(line []byte) error {
		if _, err := f.Write(line); err != nil {
			return fmt.Errorf("write %s: %w", table.Name, err)
		}
		_, err := f.Write([]byte{'\n'})
		return err
	})
}

// tallied reads a table and counts and hashes it on the way to each.
func tallied(ctx context.Context, q db.Q, table db.Table, each func(line []byte) error) (ArchivedTable, error) {
	out, sum := ArchivedTable{Table: table}, newTally()
	err := db.Lines(ctx, q, table, func(line []byte) error {
		sum.add(line)
		return each(line)
	})
	if err != nil {
		return out, err
	}
	for _, c := range table.Columns {
		if c.Identity {
			if out.Last, err = db.LastNumber(ctx, q, table.Name, c.Name); err != nil {
				return out, err
			}
		}
	}
	out.Rows, out.SHA256, out.Digest = sum.rows, sum.sha256(), sum.digest()
	return out, nil
}

func tableFile(name string) string { return "tables/" + name + ".jsonl" }

// The bounds of what is read from an archive, in bytes.
const (
	maxManifest = 16 << 20
	maxLine     = 64 << 20
)

// Archive is an archive to import.
type Archive struct {
	Manifest Manifest

	files *zip.Reader
}

// faulty is the refusal of an archive.
func faulty(format string, args ...any) error {
	return fault.E(fault.Invalid, "The archive cannot be imported: "+fmt.Sprintf(format, args...)+".")
}

// OpenArchive reads an archive's manifest. It checks nothing but its form;
// Import checks the rest.
func OpenArchive(r io.ReaderAt, size int64) (*Archive, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "The file is no archive of ratiba tenant export, or not all of one.")
	}
	f, err := z.Open("manifest.json")
	if err != nil {
		return nil, faulty("it has no manifest")
	}
	defer func() { _ = f.Close() }()
	a := &Archive{files: z}
	if err := json.NewDecoder(io.LimitReader(f, maxManifest)).Decode(&a.Manifest); err != nil {
		return nil, faulty("its manifest cannot be read (%v)", err)
	}
	var settings bytes.Buffer // as it was before the manifest was laid out for reading
	if len(a.Manifest.Tenant.Settings) > 0 && json.Compact(&settings, a.Manifest.Tenant.Settings) == nil {
		a.Manifest.Tenant.Settings = settings.Bytes()
	}
	if a.Manifest.Format != archiveFormat {
		return nil, faulty("it has the form %d and this build (which reads form %d) is older or newer than the one that wrote it, %s",
			a.Manifest.Format, archiveFormat, a.Manifest.Product)
	}
	return a, nil
}

// tenantForm is what a tenant's id looks like: it names a file or a schema.
var tenantForm = regexp.MustCompile(`^[0-9A-Z]{8,26}$`)

// check compares an archive with this build and with itself: everything that
// can be known before anything is written.
func (s *Store) check(ctx context.Context, a *Archive) ([]db.Table, error) {
	m := a.Manifest
	if !tenantForm.MatchString(string(m.Tenant.ID)) {
		return nil, faulty("%q is no business's id", m.Tenant.ID)
	}
	if _, ok := s.cfg.Apps[m.Tenant.App]; !ok {
		return nil, faulty("it is of the app %q, which this build has not", m.Tenant.App)
	}
	if err := s.readable(m); err != nil {
		return nil, err
	}
	tables, err := db.Catalogue(ctx, s.setsAt(m.Tenant.App, m.Migrations)...)
	if err != nil {
		return nil, err
	}
	if len(tables) != len(m.Tables) {
		return nil, faulty("it has %d tables, want %d", len(m.Tables), len(tables))
	}
	for i, table := range tables {
		if m.Tables[i].Name != table.Name || !slices.Equal(m.Tables[i].Columns, table.Columns) {
			return nil, faulty("its table %q is not what its versions have", m.Tables[i].Name)
		}
		sum := newTally()
		if err := a.lines(table.Name, func(line []byte) error { sum.add(line); return nil }); err != nil {
			return nil, err
		}
		if sum.rows != m.Tables[i].Rows || sum.sha256() != m.Tables[i].SHA256 || sum.digest() != m.Tables[i].Digest {
			return nil, faulty("the rows of %s are not those that were exported", table.Name)
		}
	}
	return tables, nil
}

// readable refuses an archive of a newer build.
func (s *Store) readable(m Manifest) error {
	for _, set := range s.setsAt(m.Tenant.App, nil) {
		newest, err := db.Newest(set.Files)
		if err != nil {
			return err
		}
		switch at := m.Migrations[set.Name]; {
		case at > newest:
			return faulty("it was written by a newer version (%s): its %s tables are at version %d, this build's at %d", m.Product, set.Name, at, newest)
		case at < 1:
			return faulty("its manifest does not say at which version its %s tables are", set.Name)
		}
	}
	return nil
}

// lines calls each with every row of a table. line is each's own.
func (a *Archive) lines(table string, each func(line []byte) error) error {
	f, err := a.files.Open(tableFile(table))
	if err != nil {
		return faulty("the table %s is not in it", table)
	}
	defer func() { _ = f.Close() }()
	s := bufio.NewScanner(f)
	s.Buffer(make([]byte, 64<<10), maxLine)
	for s.Scan() {
		if err := each(slices.Clone(s.Bytes())); err != nil {
			return err
		}
	}
	if err := s.Err(); err != nil {
		return errors.Join(faulty("the rows of %s cannot be read", table), err)
	}
	return nil
}
