package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"

	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/retrieve"
	"github.com/ratiba/ratiba/internal/server"
	"github.com/ratiba/ratiba/internal/store"
	"github.com/ratiba/ratiba/internal/tenant"
)

// keeper is who has the data: this process, or the one that serves them.
type keeper interface {
	archivist
	operator
	queue
	toolKeeper
	tasker
	Stop() error
}

// archivist keeps businesses' and people's data.
type archivist interface {
	ExportTenant(ctx context.Context, slug string, w io.Writer) error
	ImportTenant(ctx context.Context, archive io.ReaderAt, size int64, slug string) (tenant.Tenant, error)
	Holdings(ctx context.Context, slug string) (store.Counts, error)
	DeleteTenant(ctx context.Context, slug string) error
	ReconcileTenant(ctx context.Context, slug, day string, w io.Writer) error
	ExportPerson(ctx context.Context, slug string, who contact.Identity, w io.Writer) error
	ErasePerson(ctx context.Context, slug string, who contact.Identity) (store.Erasure, error)
	Operate(ctx context.Context, slug, operation string, args json.RawMessage) (json.RawMessage, error)
}

// operator tries models and prompts, and looks at what they did.
type operator interface {
	Rollouts(ctx context.Context) ([]store.Rollout, error)
	SetRollout(ctx context.Context, role llm.Role, r llm.Rollout) error
	ReplayTurn(ctx context.Context, slug string, turn ids.TurnID, plain bool) (server.Replay, error)
}

// toolKeeper has what a business's tools are served from and to whom.
type toolKeeper interface {
	NewMCPToken(ctx context.Context, slug, admin, label string) (store.MCPToken, string, error)
	MCPTokens(ctx context.Context, slug string) ([]store.MCPToken, error)
	RevokeMCPToken(ctx context.Context, slug, id string) error
	PutDocument(ctx context.Context, slug string, d retrieve.Document) error
	Documents(ctx context.Context, slug string) ([]store.Listed, error)
}

// with does something with the data, through the process that serves the
// installation when there is one.
func (i installation) with(ctx context.Context, w *world, do func(k keeper) error) error {
	s, err := i.prepare(ctx, w)
	var k keeper = s
	if fault.CodeOf(err) == fault.Conflict {
		cfg, _, e := i.settings(w)
		if e != nil {
			return e
		}
		k, err = server.Reach(cfg.Data), nil
	}
	if err != nil {
		return err
	}
	return errors.Join(do(k), k.Stop())
}

// written makes a file that only its owner reads, whole or not at all. One that
// is there already is not touched.
func written(path string, write func(w io.Writer) error) (err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) //nolint:gosec // the operator names the file.
	if errors.Is(err, os.ErrExist) {
		return fault.Wrap(err, fault.Conflict, path+" is there already. Name another file.")
	}
	if err != nil {
		return fmt.Errorf("make file: %w", err)
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

type exportCmd struct {
	installation

	Slug string `arg:"" help:"The business."`
	Out  string `help:"File to write." type:"path" required:""`
}

// Run implements the command.
func (c *exportCmd) Run(ctx context.Context, w *world) error {
	err := c.with(ctx, w, func(k keeper) error {
		return written(c.Out, func(f io.Writer) error { return k.ExportTenant(ctx, c.Slug, f) })
	})
	if err == nil {
		_, _ = fmt.Fprintf(w.out, "%s is in %s. It holds customers' data: keep it as you keep the database.\n", c.Slug, c.Out)
	}
	return err
}

type importCmd struct {
	installation

	File string `arg:"" help:"Archive of ratiba tenant export." type:"existingfile"`
	Slug string `help:"Name of the business here, when it is to be another than in the archive."`
}

// Run implements the command.
func (c *importCmd) Run(ctx context.Context, w *world) error {
	f, err := os.Open(c.File)
	if err != nil {
		return fmt.Errorf("open archive: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("look at archive: %w", err)
	}
	return c.with(ctx, w, func(k keeper) error {
		t, err := k.ImportTenant(ctx, f, info.Size(), c.Slug)
		if err == nil {
			_, _ = fmt.Fprintf(w.out, "%s is here, version %d\n", t.Slug, t.Version)
		}
		return err
	})
}

type deleteCmd struct {
	installation

	Slug string `arg:"" help:"The business; its id, to end a deletion that was interrupted."`
	Yes  string `help:"The same name once more: what is deleted does not come back."`
}

// Run implements the command.
func (c *deleteCmd) Run(ctx context.Context, w *world) error {
	return c.with(ctx, w, func(k keeper) error {
		counts, err := k.Holdings(ctx, c.Slug)
		if c.Yes != c.Slug {
			if err != nil {
				return err
			}
			return fault.E(fault.Invalid, fmt.Sprintf("Nothing was deleted. %s has %s; all of it would be lost. Export it first, then repeat with --yes %s.",
				c.Slug, counts, c.Slug))
		}
		// A business that cannot be counted any more can still be deleted.
		if err := k.DeleteTenant(ctx, c.Slug); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(w.out, "%s is deleted: %s\n", c.Slug, counts)
		return nil
	})
}

type personCmd struct {
	Export personExportCmd `cmd:"" help:"Write what a business keeps about a person, as JSON."`
	Erase  personEraseCmd  `cmd:"" help:"Take from a business's data who a person is and what they wrote."`
}

// person is who is meant.
type person struct {
	installation

	Slug  string `arg:"" help:"The business."`
	Phone string `help:"The person's phone, such as +254700000001." xor:"person" required:""`
	BSUID string `name:"bsuid" help:"Their WhatsApp user id, such as KE.12345, when they hide their phone." xor:"person" required:""`
}

var phoneForm = regexp.MustCompile(`^\+[1-9]\d{6,14}$`)

func (p person) identity() (contact.Identity, error) {
	if p.BSUID != "" {
		return contact.Identity{Kind: contact.BSUID, Value: p.BSUID}, nil
	}
	if !phoneForm.MatchString(p.Phone) {
		return contact.Identity{}, fault.E(fault.Invalid, fmt.Sprintf("%q is no phone: write it with + and the country's code, such as +254700000001.", p.Phone))
	}
	return contact.Identity{Kind: contact.Phone, Value: p.Phone}, nil
}

type personExportCmd struct {
	person

	Out string `help:"File to write." type:"path" required:""`
}

// Run implements the command.
func (c *personExportCmd) Run(ctx context.Context, w *world) error {
	who, err := c.identity()
	if err != nil {
		return err
	}
	err = c.with(ctx, w, func(k keeper) error {
		return written(c.Out, func(f io.Writer) error { return k.ExportPerson(ctx, c.Slug, who, f) })
	})
	if err == nil {
		_, _ = fmt.Fprintf(w.out, "What %s keeps about them is in %s.\n", c.Slug, c.Out)
	}
	return err
}

type personEraseCmd struct {
	person

	Yes bool `help:"Erase: it cannot be undone."`
}

// Run implements the command.
func (c *personEraseCmd) Run(ctx context.Context, w *world) error {
	who, err := c.identity()
	if err != nil {
		return err
	}
	if !c.Yes {
		return fault.E(fault.Invalid, "Nothing was erased. It cannot be undone: repeat with --yes.")
	}
	return c.with(ctx, w, func(k keeper) error {
		e, err := k.ErasePerson(ctx, c.Slug, who)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(w.out, "They are erased: %s\n", e.Counts)
		if e.Mentions > 0 {
			_, _ = fmt.Fprintf(w.out, "Their number still stands in %d rows of others' open conversations. Erase again once those are over.\n", e.Mentions)
		}
		return nil
	})
}
