package archtest_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// module is this module's path.
const module = "github.com/ratiba/ratiba"

// source is one parsed Go file.
type source struct {
	name  string // slash-separated, from the module's root
	dir   string
	test  bool
	lines int
	ast   *ast.File
}

// tree is a module's files.
type tree struct {
	fs    fs.FS
	fset  *token.FileSet
	files []*source
}

// skipped folders are no part of the module: tools, oracles and the peers of a
// measurement are modules of their own, the others are made.
var skipped = []string{"tools", "oracles", "bench/llmpeers", "bin", "build"}

// load parses every Go file below fsys.
func load(fsys fs.FS) (*tree, error) {
	t := &tree{fs: fsys, fset: token.NewFileSet()}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := path.Base(name)
		if d.IsDir() {
			if slices.Contains(skipped, name) || base == "testdata" || name != "." && strings.HasPrefix(base, ".") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		raw, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(t.fset, name, raw, parser.ParseComments)
		if err != nil {
			return fmt.Errorf("parse: %w", err)
		}
		t.files = append(t.files, &source{
			name: name, dir: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), lines: bytes.Count(raw, []byte("\n")), ast: f,
		})
		return nil
	})
	return t, err
}

// repository is the real tree, parsed once.
var repository = sync.OnceValues(func() (*tree, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return load(os.DirFS(dir))
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return nil, fs.ErrNotExist
		}
		dir = parent
	}
})

// holds runs a rule over the real tree.
func holds(t *testing.T, rule func(*tree) []string) {
	t.Helper()
	tr, err := repository()
	if err != nil {
		t.Fatalf("load the module: %v", err)
	}
	for _, fault := range rule(tr) {
		t.Error(fault)
	}
}

// double tells whether a folder is one that only tests import.
func double(dir string) bool { return strings.HasSuffix(path.Base(dir), "test") }

// at is a position as people write it.
func (t *tree) at(n ast.Node) string {
	p := t.fset.Position(n.Pos())
	return p.Filename + ":" + strconv.Itoa(p.Line)
}

// text returns a file's content, "" when there is none.
func (t *tree) text(name string) string {
	raw, err := fs.ReadFile(t.fs, name)
	if err != nil {
		return ""
	}
	return string(raw)
}

func (t *tree) exists(name string) bool {
	_, err := fs.Stat(t.fs, name)
	return err == nil
}

// dirs lists the folders directly below name.
func (t *tree) dirs(name string) []string {
	entries, err := fs.ReadDir(t.fs, name)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() && e.Name() != "testdata" {
			out = append(out, path.Join(name, e.Name()))
		}
	}
	return out
}

// packages groups the files that are not tests by folder.
func (t *tree) packages() map[string][]*source {
	out := map[string][]*source{}
	for _, f := range t.files {
		if !f.test {
			out[f.dir] = append(out[f.dir], f)
		}
	}
	return out
}

// imports lists what a file imports, with where.
func (f *source) imports() map[string]ast.Node {
	out := map[string]ast.Node{}
	for _, spec := range f.ast.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			out[p] = spec
		}
	}
	return out
}

// uses calls found for every pkg.Name in the file, where pkg is an import with
// that path.
func (f *source) uses(importPath string, found func(name string, n ast.Node)) {
	local := ""
	for _, spec := range f.ast.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err != nil || p != importPath {
			continue
		}
		local = path.Base(importPath)
		if spec.Name != nil {
			local = spec.Name.Name
		}
	}
	if local == "" {
		return
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == local {
			found(sel.Sel.Name, sel)
		}
		return true
	})
}
