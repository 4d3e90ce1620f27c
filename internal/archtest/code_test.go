package archtest_test

import (
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Limits of size, for the tail: the median file and function are far smaller.
const (
	maxFileLines     = 500
	maxFunctionLines = 80
)

func inCommand(f *source) bool { return strings.HasPrefix(f.dir, "cmd/") }

// clockOnly checks that time enters through internal/clock. Nobody sleeps:
// tests neither.
func clockOnly(t *tree) []string {
	var faults []string
	for _, f := range t.files {
		if f.dir == "internal/clock" {
			continue
		}
		f.uses("time", func(name string, n ast.Node) {
			switch name {
			case "Now", "Since", "Until":
				if !f.test {
					faults = append(faults, fmt.Sprintf("%s: time.%s: take now as a value, or a clock.Clock", t.at(n), name))
				}
			case "Sleep":
				faults = append(faults, fmt.Sprintf("%s: time.Sleep: wait for what is awaited: a channel, a context, a fake clock", t.at(n)))
			}
		})
	}
	return faults
}

// environmentOnly checks that the environment, standard output and the
// process's end belong to commands. A test double may be told by the
// environment where its servers are.
func environmentOnly(t *tree) []string {
	var faults []string
	for _, f := range t.files {
		if inCommand(f) {
			continue
		}
		f.uses("os", func(name string, n ast.Node) {
			switch {
			case !double(f.dir) && (name == "Getenv" || name == "LookupEnv" || name == "Environ"):
				faults = append(faults, fmt.Sprintf("%s: os.%s: only cmd reads the environment; take a value", t.at(n), name))
			case !f.test && (name == "Exit" || name == "Stdout" || name == "Stderr"):
				faults = append(faults, fmt.Sprintf("%s: os.%s: only cmd prints and exits", t.at(n), name))
			}
		})
		if f.test {
			continue
		}
		f.uses("fmt", func(name string, n ast.Node) {
			if strings.HasPrefix(name, "Print") {
				faults = append(faults, fmt.Sprintf("%s: fmt.%s: log through the injected *slog.Logger", t.at(n), name))
			}
		})
		if spec, ok := f.imports()["log"]; ok {
			faults = append(faults, fmt.Sprintf("%s: log: use the injected *slog.Logger", t.at(spec)))
		}
	}
	return faults
}

// noInit checks that nothing happens because a package is imported.
func noInit(t *tree) []string {
	var faults []string
	for _, f := range t.files {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				faults = append(faults, fmt.Sprintf("%s: init: construct it where it is used; registration is a visible list", t.at(fn)))
			}
		}
	}
	return faults
}

// sizes checks that files and functions stay readable.
func sizes(t *tree) []string {
	var faults []string
	for _, f := range t.files {
		if f.test {
			continue
		}
		if f.lines > maxFileLines {
			faults = append(faults, fmt.Sprintf("%s: %d lines, at most %d", f.name, f.lines, maxFileLines))
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := t.fset.Position(fn.End()).Line - t.fset.Position(fn.Pos()).Line + 1; n > maxFunctionLines {
				faults = append(faults, fmt.Sprintf("%s: %s has %d lines, at most %d", t.at(fn), fn.Name.Name, n, maxFunctionLines))
			}
		}
	}
	return faults
}

// vague names say nothing about what a package is.
var vague = []string{"util", "utils", "common", "helper", "helpers", "models", "types", "shared", "misc", "base"}

// documented checks that every package says what it is for, and is named.
func documented(t *tree) []string {
	var faults []string
	for dir, files := range t.packages() {
		comment := false
		for _, f := range files {
			comment = comment || f.ast.Doc.Text() != ""
		}
		if !comment {
			faults = append(faults, dir+": no package comment: say in it what the package promises and what it may import")
		}
		if slices.Contains(vague, files[0].ast.Name.Name) {
			faults = append(faults, dir+": name the package after what it is")
		}
	}
	slices.Sort(faults)
	return faults
}

// unfinished words have no place in code that is merged.
var unfinished = regexp.MustCompile(`\b(?:TODO|FIXME|XXX|HACK)\b|\b(?i:not implemented|for now)\b`)

func finished(t *tree) []string {
	var faults []string
	for _, f := range t.files {
		if f.dir == "internal/archtest" {
			continue
		}
		for _, g := range f.ast.Comments {
			if word := unfinished.FindString(g.Text()); word != "" {
				faults = append(faults, fmt.Sprintf("%s: %q: finish it, or raise an issue and leave no trace here", t.at(g), word))
			}
		}
	}
	return faults
}

func TestTimeComesFromTheClock(t *testing.T) {
	t.Parallel()
	holds(t, clockOnly)
}

func TestOnlyCommandsTouchTheProcess(t *testing.T) {
	t.Parallel()
	holds(t, environmentOnly)
}

func TestNothingRegistersItself(t *testing.T) {
	t.Parallel()
	holds(t, noInit)
}

func TestFilesAndFunctionsAreShort(t *testing.T) {
	t.Parallel()
	holds(t, sizes)
}

func TestPackagesSayWhatTheyAre(t *testing.T) {
	t.Parallel()
	holds(t, documented)
}

func TestNothingIsLeftUnfinished(t *testing.T) {
	t.Parallel()
	holds(t, finished)
}
