package archtest_test

import (
	"fmt"
	"go/ast"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// promises is how many the architecture makes.
const promises = 14

var (
	decisionName = regexp.MustCompile(`^(\d{4})-[a-z0-9-]+\.md$`)
	link         = regexp.MustCompile(`\]\(([^)#\s]+)(?:#[^)]*)?\)`)
	makeLine     = regexp.MustCompile(`(?m)^make .*$`)
	fence        = regexp.MustCompile("(?ms)^```[a-z]*\n(.*?)^```$")
	testName     = regexp.MustCompile("`(Test[A-Za-z0-9_]+|Fuzz[A-Za-z0-9_]+)`")
)

// decisions checks that the index of decisions is complete and without gaps.
func decisions(t *tree) []string {
	const dir = "docs/adr"
	entries, err := fs.ReadDir(t.fs, dir)
	if err != nil {
		return []string{dir + ": " + err.Error()}
	}
	var faults []string
	index, next := t.text(dir+"/README.md"), 1
	for _, e := range entries {
		m := decisionName.FindStringSubmatch(e.Name())
		if m == nil {
			if e.Name() != "README.md" {
				faults = append(faults, fmt.Sprintf("%s/%s: want NNNN-a-few-words.md", dir, e.Name()))
			}
			continue
		}
		if m[1] != fmt.Sprintf("%04d", next) {
			faults = append(faults, fmt.Sprintf("%s/%s: the next number is %04d", dir, e.Name(), next))
		}
		next++
		if !strings.Contains(index, "]("+e.Name()+")") {
			faults = append(faults, fmt.Sprintf("%s/README.md: %s is not in the index", dir, e.Name()))
		}
		for _, part := range []string{"Status: ", "## Context", "## Decision", "## Consequences"} {
			if !strings.Contains(t.text(path.Join(dir, e.Name())), part) {
				faults = append(faults, fmt.Sprintf("%s/%s: %q is missing", dir, e.Name(), part))
			}
		}
	}
	return faults
}

// setUp checks that a newcomer needs two commands and that the continuous
// check runs the second of them and nothing else.
func setUp(t *tree) []string {
	var faults []string
	var commands []string
	for _, block := range fence.FindAllStringSubmatch(t.text("README.md"), -1) {
		commands = append(commands, makeLine.FindAllString(block[1], -1)...)
	}
	var names []string
	for _, c := range commands {
		name, _, _ := strings.Cut(c, "#")
		names = append(names, strings.TrimSpace(name))
	}
	if !slices.Equal(names, []string{"make demo", "make test"}) {
		faults = append(faults, fmt.Sprintf("README.md: the set-up commands are make demo and make test, not %q", names))
	}
	for _, target := range []string{"demo", "test"} {
		if !regexp.MustCompile(`(?m)^` + target + `:`).MatchString(t.text("Makefile")) {
			faults = append(faults, "Makefile: no target "+target)
		}
	}
	run := t.text(".ci/run")
	var lines []string
	for line := range strings.Lines(run) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	if !slices.Equal(lines, []string{"set -euo pipefail", `cd "$(dirname "$0")/.."`, "make test"}) {
		faults = append(faults, fmt.Sprintf(".ci/run: runs make test and nothing else, not %q", lines))
	}
	return faults
}

// links checks that what the documents point at is there.
func links(t *tree) []string {
	var faults []string
	err := fs.WalkDir(t.fs, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := path.Base(name)
		if d.IsDir() && name != "." && (strings.HasPrefix(base, ".") || base == "testdata" || slices.Contains(skipped, name)) {
			return fs.SkipDir
		}
		if path.Ext(name) != ".md" || base == "system.md" {
			return nil
		}
		for _, m := range link.FindAllStringSubmatch(t.text(name), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			if to := path.Join(path.Dir(name), m[1]); !t.exists(to) {
				faults = append(faults, fmt.Sprintf("%s: points at %s, which is not there", name, to))
			}
		}
		return nil
	})
	if err != nil {
		faults = append(faults, err.Error())
	}
	return faults
}

// promisesProved checks that ARCHITECTURE.md has a row for every promise, and
// that every test it names exists.
func promisesProved(t *tree) []string {
	const name = "ARCHITECTURE.md"
	var faults []string
	text := t.text(name)
	for i := range promises {
		if !strings.Contains(text, fmt.Sprintf("\n| P%d ", i+1)) {
			faults = append(faults, fmt.Sprintf("%s: no row for promise P%d", name, i+1))
		}
	}
	exists := map[string]bool{}
	for _, f := range t.files {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && f.test && fn.Recv == nil {
				exists[fn.Name.Name] = true
			}
		}
	}
	for _, m := range testName.FindAllStringSubmatch(text, -1) {
		if !exists[m[1]] {
			faults = append(faults, fmt.Sprintf("%s: names %s, which is no test here", name, m[1]))
		}
	}
	return faults
}

func TestDecisionsAreIndexed(t *testing.T) {
	t.Parallel()
	holds(t, decisions)
}

func TestTwoCommandsSetUp(t *testing.T) {
	t.Parallel()
	holds(t, setUp)
}

func TestDocumentsPointAtWhatExists(t *testing.T) {
	t.Parallel()
	holds(t, links)
}

func TestPromisesNameTestsThatExist(t *testing.T) {
	t.Parallel()
	holds(t, promisesProved)
}
