package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/server"
	"github.com/ratiba/ratiba/internal/store"
	"github.com/ratiba/ratiba/internal/tenant"
)

type migrateCmd struct{ installation }

// Run implements the command.
func (c *migrateCmd) Run(ctx context.Context, w *world) error {
	s, err := c.prepare(ctx, w)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintln(w.out, "The control data is at the newest version.")
	err = s.Migrate(ctx, func(m store.Migrated) {
		var steps []string
		for _, set := range slices.Sorted(maps.Keys(m.To)) {
			step := fmt.Sprintf("%s %d", set, m.To[set])
			if from := m.From[set]; from != m.To[set] {
				step = fmt.Sprintf("%s %d to %d", set, from, m.To[set])
			}
			steps = append(steps, step)
		}
		if m.Err != nil {
			_, _ = fmt.Fprintf(w.out, "%s FAILED at %s: %v\n", m.Slug, strings.Join(steps, ", "), m.Err)
			return
		}
		_, _ = fmt.Fprintf(w.out, "%s is at the newest version (%s)\n", m.Slug, strings.Join(steps, ", "))
	})
	return errors.Join(err, s.Stop())
}

type tenantCmd struct {
	Apply  applyCmd  `cmd:"" help:"Define a business, or change its definition."`
	Export exportCmd `cmd:"" help:"Write everything of a business into one archive."`
	Import importCmd `cmd:"" help:"Make a business of an archive, on whichever database this installation has."`
	Delete deleteCmd `cmd:"" help:"Remove a business with everything it has."`
	Person personCmd `cmd:"" help:"What a business keeps about one person."`

	Documents documentsCmd `cmd:"" help:"Texts that questions are answered from."`
	Calendar  calendarCmd  `cmd:"" help:"Days off, no-shows and calendar programs of a business that takes bookings."`
}

type applyCmd struct {
	installation

	File  string `short:"f" help:"The business's YAML definition." type:"existingfile" required:""`
	Check bool   `help:"Only check the definition."`
}

// Run implements the command.
func (c *applyCmd) Run(ctx context.Context, w *world) error {
	t, err := define(c.File)
	if err != nil {
		return err
	}
	if c.Check {
		_, _ = fmt.Fprintf(w.out, "%s: %s is a good definition\n", c.File, t.Slug)
		return nil
	}
	applied, err := c.apply(ctx, w, t)
	if err == nil {
		_, _ = fmt.Fprintf(w.out, "%s is defined, version %d\n", applied.Slug, applied.Version)
	}
	return err
}

// apply writes the definition, through the process that serves the
// installation when there is one.
func (c *applyCmd) apply(ctx context.Context, w *world, t tenant.Tenant) (tenant.Tenant, error) {
	s, err := c.prepare(ctx, w)
	if fault.CodeOf(err) == fault.Conflict {
		cfg, _, err := c.settings(w)
		if err != nil {
			return t, err
		}
		return server.ApplyThrough(ctx, cfg.Data, t)
	}
	if err != nil {
		return t, err
	}
	applied, err := s.Apply(ctx, t)
	return applied, errors.Join(err, s.Stop())
}

// define reads a definition. Its faults are the platform's and the app's
// together, so that one correction is enough.
func define(file string) (tenant.Tenant, error) {
	raw, err := os.ReadFile(file) //nolint:gosec // the operator names the file.
	if err != nil {
		return tenant.Tenant{}, fmt.Errorf("read definition: %w", err)
	}
	t, err := tenant.Parse(raw)
	if t.App != "" {
		err = errors.Join(err, server.Check(t))
	}
	if err != nil {
		return t, fault.Wrap(err, fault.Invalid, file+" is faulty:\n"+err.Error())
	}
	return t, nil
}
