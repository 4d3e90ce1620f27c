package main

import "context"

type reconcileCmd struct {
	installation

	Slug string `arg:"" name:"tenant" help:"The business."`
	Day  string `help:"Only payments made on this day of the business, such as 2026-11-23. Default: the last two days."`
}

// Run implements the command.
func (c *reconcileCmd) Run(ctx context.Context, w *world) error {
	return c.with(ctx, w, func(k keeper) error { return k.ReconcileTenant(ctx, c.Slug, c.Day, w.out) })
}
