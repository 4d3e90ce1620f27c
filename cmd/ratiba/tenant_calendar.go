package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ratiba/ratiba/internal/app/booking"
)

type calendarCmd struct {
	Block   blockCmd   `cmd:"" help:"Take time out of the calendar: somebody is off, or the business is closed."`
	Unblock unblockCmd `cmd:"" help:"Give blocked time back."`
	Blocks  blocksCmd  `cmd:"" help:"List the time that was blocked by command."`
	NoShow  noShowCmd  `cmd:"" help:"Note that a customer did not come."`
	Link    linkCmd    `cmd:"" help:"Make a new address at which somebody's calendar program reads their bookings. The one before leads nowhere then."`
}

// operate has a business's app do something and shows its answer.
func (i installation) operate(ctx context.Context, w *world, slug, operation string, args any) error {
	raw, err := json.Marshal(args)
	if err != nil {
		return fmt.Errorf("encode request: %w", err)
	}
	return i.with(ctx, w, func(k keeper) error {
		answer, err := k.Operate(ctx, slug, operation, raw)
		if err == nil {
			_, _ = fmt.Fprintf(w.out, "%s\n", answer)
		}
		return err
	})
}

type blockCmd struct {
	installation

	Slug  string `arg:"" help:"The business."`
	From  string `help:"First day (2026-12-24) or time (\"2026-12-24 13:00\")." required:""`
	To    string `help:"Last day, included, or time. Left out: that day."`
	Staff string `help:"Key of the member of staff who is off. Left out: the business is closed."`
	Note  string `help:"Why."`
}

// Run implements the command.
func (c *blockCmd) Run(ctx context.Context, w *world) error {
	return c.operate(ctx, w, c.Slug, booking.Block, booking.BlockArgs{Staff: c.Staff, From: c.From, To: c.To, Note: c.Note})
}

type unblockCmd struct {
	installation

	Slug string `arg:"" help:"The business."`
	ID   string `arg:"" help:"What ratiba tenant calendar blocks calls it."`
}

// Run implements the command.
func (c *unblockCmd) Run(ctx context.Context, w *world) error {
	return c.operate(ctx, w, c.Slug, booking.Unblock, booking.UnblockArgs{ID: c.ID})
}

type blocksCmd struct {
	installation

	Slug string `arg:"" help:"The business."`
}

// Run implements the command.
func (c *blocksCmd) Run(ctx context.Context, w *world) error {
	return c.operate(ctx, w, c.Slug, booking.Blocks, struct{}{})
}

type noShowCmd struct {
	installation

	Slug string `arg:"" help:"The business."`
	Code string `arg:"" help:"The booking's code."`
	Undo bool   `help:"They came after all."`
}

// Run implements the command.
func (c *noShowCmd) Run(ctx context.Context, w *world) error {
	return c.operate(ctx, w, c.Slug, booking.NoShow, booking.NoShowArgs{Code: c.Code, Undo: c.Undo})
}

type linkCmd struct {
	installation

	Slug  string `arg:"" help:"The business."`
	Staff string `arg:"" help:"Key of the member of staff."`
}

// Run implements the command.
func (c *linkCmd) Run(ctx context.Context, w *world) error {
	return c.operate(ctx, w, c.Slug, booking.Link, booking.LinkArgs{Staff: c.Staff})
}
