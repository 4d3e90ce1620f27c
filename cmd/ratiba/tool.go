package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/tool"
)

type toolCmd struct {
	New toolNewCmd `cmd:"" help:"Write the folder of a new tool: one that passes the checks, with a test that fails until it is written."`
}

type toolNewCmd struct {
	Name string `arg:"" help:"The tool's name, in words such as water_plants."`
	App  string `help:"The app it belongs to." default:"booking"`
	Root string `help:"Ratiba's source tree." type:"existingdir" default:"."`
}

// Run implements the command.
func (c *toolNewCmd) Run(w *world) error {
	tools := filepath.Join(c.Root, "internal", "app", c.App, "tools")
	if _, err := os.Stat(tools); err != nil {
		return fault.Wrap(err, fault.NotFound, "There is no app "+c.App+" below "+c.Root+": run this in Ratiba's source tree, or name it with --root.")
	}
	files, err := tool.Scaffold(c.Name, c.App)
	if err != nil {
		return fault.Wrap(err, fault.Invalid, err.Error())
	}
	dir := filepath.Join(tools, c.Name)
	if err := os.Mkdir(dir, 0o755); errors.Is(err, fs.ErrExist) { //nolint:gosec // source is for everybody to read.
		return fault.E(fault.Conflict, dir+" is there already.")
	} else if err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := os.WriteFile(filepath.Join(dir, name), files[name], 0o644); err != nil { //nolint:gosec // the same.
			return fmt.Errorf("write tool: %w", err)
		}
		_, _ = fmt.Fprintln(w.out, filepath.Join(dir, name))
	}
	_, _ = fmt.Fprintf(w.out, "Now write its handler and its test, and add its line to %s.\n", filepath.Join(tools, "tools.go"))
	return nil
}
