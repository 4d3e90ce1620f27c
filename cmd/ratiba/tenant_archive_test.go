package main

import (
	"archive/zip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/db/dbtest"
)

// command is a shell in one installation.
type command struct {
	t       *testing.T
	environ []string
}

// ok runs a command that must succeed and returns what it said.
func (c command) ok(args ...string) string {
	c.t.Helper()
	status, out, errOut := finish(c.t, c.environ, args...)
	if status != 0 {
		c.t.Fatalf("%s: status %d, %s", strings.Join(args, " "), status, errOut)
	}
	return out
}

// refused runs a command that must fail, saying want.
func (c command) refused(want string, args ...string) {
	c.t.Helper()
	status, _, errOut := finish(c.t, c.environ, args...)
	if status != 1 || !strings.Contains(errOut, want) {
		c.t.Errorf("%s: status %d, %q; want a refusal that says %q", strings.Join(args, " "), status, errOut, want)
	}
}

// eventually runs a command until it succeeds.
func (c command) eventually(args ...string) string {
	c.t.Helper()
	deadline := time.After(patience)
	for {
		status, out, errOut := finish(c.t, c.environ, args...)
		if status == 0 {
			return out
		}
		select {
		case <-deadline:
			c.t.Fatalf("%s: status %d, %s", strings.Join(args, " "), status, errOut)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func shell(t *testing.T, environ ...string) command {
	t.Helper()
	return command{t, append([]string{"RATIBA_PUBLIC_URL=https://bookings.example", "RATIBA_DATA=" + filepath.Join(t.TempDir(), "data")}, environ...)}
}

// A business grows from its file to PostgreSQL by two commands.
func TestABusinessGrowsToPostgreSQL(t *testing.T) {
	t.Parallel()
	small, dir := shell(t), t.TempDir()
	small.ok("tenant", "apply", "-f", write(t, "kinyozi.yaml", barber))
	archive := filepath.Join(dir, "kinyozi.zip")
	out := small.ok("tenant", "export", "kinyozi", "--out", archive)
	if !strings.Contains(out, "kinyozi is in "+archive) || !strings.Contains(out, `"audit.tenant.exported"`) {
		t.Errorf("exporting said %q", out)
	}
	if info, err := os.Stat(archive); err != nil || info.Mode() != 0o600 {
		t.Errorf("the archive has mode %v (%v), want 0600: it holds customers' data", info.Mode(), err)
	}
	small.refused("is there already", "tenant", "export", "kinyozi", "--out", archive)
	small.refused(`no business "nowhere"`, "tenant", "export", "nowhere", "--out", filepath.Join(dir, "nowhere.zip"))
	if _, err := os.Stat(filepath.Join(dir, "nowhere.zip")); !os.IsNotExist(err) {
		t.Errorf("a refused export left a file: %v", err)
	}
	small.refused("here already", "tenant", "import", archive)

	large := shell(t, "RATIBA_DATABASE_URL="+dbtest.Postgres(t))
	if out := large.ok("tenant", "import", archive); !strings.Contains(out, "kinyozi is here, version 1") {
		t.Errorf("importing said %q", out)
	}
	if out := large.ok("migrate"); !strings.Contains(out, "kinyozi is at the newest version") {
		t.Errorf("PostgreSQL has %q", out)
	}
	back := filepath.Join(dir, "back.zip")
	large.ok("tenant", "export", "kinyozi", "--out", back)
	large.refused("Nothing was deleted. kinyozi has", "tenant", "delete", "kinyozi")
	large.refused("Nothing was deleted", "tenant", "delete", "kinyozi", "--yes", "kinyoz")
	if out := large.ok("tenant", "delete", "kinyozi", "--yes", "kinyozi"); !strings.Contains(out, "kinyozi is deleted: ") || !strings.Contains(out, `"audit.tenant.deleted"`) {
		t.Errorf("deleting said %q", out)
	}
	large.refused(`no business "kinyozi"`, "tenant", "delete", "kinyozi", "--yes", "kinyozi")
	large.refused("no archive", "tenant", "import", write(t, "no.zip", "no"))
	large.ok("tenant", "import", back, "--slug", "kinyozi2")
}

// What is asked of data goes through the process that serves them.
func TestDataAreAskedOfTheServingProcess(t *testing.T) {
	t.Parallel()
	file, dir := write(t, "kinyozi.yaml", barber), t.TempDir()
	product := freeAddress(t)
	simulators := start(t, secrets(), "sim", "--addr", "127.0.0.1:0", "--product", "http://"+product+"/", "-f", file)
	world := simulators.says(`^Simulators: (http://127\.0\.0\.1:[1-9]\d*)/sim/$`)
	c := shell(t, append(secrets(), "RATIBA_LISTEN="+product, "RATIBA_META_URL="+world+"/graph", "RATIBA_DARAJA_URL="+world+"/daraja",
		"RATIBA_OPENAI_URL="+world+"/openai/v1")...)
	c.ok("tenant", "apply", "-f", file)
	serving := start(t, c.environ, "serve")
	serving.says(`"event_type":"(server\.started)"`)
	if got := converse(t, world, "+254711555001", "Hi, my name is Zawadi and I need a haircut"); got == "" {
		t.Fatal("no answer")
	}

	archive, person := filepath.Join(dir, "kinyozi.zip"), filepath.Join(dir, "person.json")
	c.ok("tenant", "export", "kinyozi", "--out", archive)
	serving.says(`"event_type":"(audit\.tenant\.exported)"`)
	content := unzipped(t, archive)
	if !strings.Contains(content, "my name is Zawadi") || !strings.Contains(content, "KINYOZI_PASSKEY") {
		t.Error("the archive lacks what was written, or the names of the secrets")
	}
	for _, secret := range secrets() {
		if _, value, _ := strings.Cut(secret, "="); strings.Contains(content, `"`+value) {
			t.Errorf("the archive holds the secret %s", secret)
		}
	}
	c.ok("tenant", "person", "export", "kinyozi", "--phone", "+254700000001", "--out", person)
	if raw, err := os.ReadFile(person); err != nil || !strings.Contains(string(raw), "my name is Zawadi") {
		t.Errorf("what is kept lacks what they wrote (%v)", err)
	}
	c.refused("knows nobody", "tenant", "person", "export", "kinyozi", "--phone", "+254700000002", "--out", filepath.Join(dir, "nobody.json"))
	c.refused("is no phone", "tenant", "person", "erase", "kinyozi", "--phone", "0700000001", "--yes")
	c.refused("Nothing was erased", "tenant", "person", "erase", "kinyozi", "--phone", "+254700000001")
	out := c.eventually("tenant", "person", "erase", "kinyozi", "--phone", "+254700000001", "--yes")
	if !strings.Contains(out, "They are erased: ") || !strings.Contains(out, "1 contacts") {
		t.Errorf("erasing said %q", out)
	}
	serving.says(`"event_type":"(audit\.person\.erased)"`)
	c.refused("knows nobody", "tenant", "person", "erase", "kinyozi", "--phone", "+254700000001", "--yes")

	c.refused("kinyozi has", "tenant", "delete", "kinyozi")
	c.refused("here already", "tenant", "import", archive)
	c.ok("tenant", "delete", "kinyozi", "--yes", "kinyozi")
	serving.says(`"event_type":"(audit\.tenant\.deleted)"`)
	if files, err := filepath.Glob(filepath.Join(strings.TrimPrefix(c.environ[1], "RATIBA_DATA="), "tenants", "*")); err != nil || len(files) > 0 {
		t.Errorf("the deleted business left %v, %v", files, err)
	}
	c.ok("tenant", "import", archive)
	if got := converse(t, world, "+254711555001", "Hello again"); got == "" {
		t.Error("the imported business does not answer")
	}
	if status := serving.stop(); status != 0 {
		t.Errorf("stopped with status %d: %s", status, serving.complaints())
	}
}

// unzipped is all that an archive holds.
func unzipped(t *testing.T, path string) string {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	var all strings.Builder
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(&all, r); err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}
