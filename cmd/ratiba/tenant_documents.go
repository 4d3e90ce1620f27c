package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/retrieve"
)

type documentsCmd struct {
	Add    documentsAddCmd    `cmd:"" help:"Write a text that questions are answered from, in place of the one of the same key."`
	List   documentsListCmd   `cmd:"" help:"List a business's documents."`
	Remove documentsRemoveCmd `cmd:"" help:"Remove a document."`
}

type documentsAddCmd struct {
	installation

	Slug  string `arg:"" help:"The business."`
	File  string `arg:"" help:"A text file, in UTF-8." type:"existingfile"`
	Title string `help:"What the document is called." required:""`
	Key   string `help:"Its name for good; by default the file's."`
}

// Run implements the command.
func (c *documentsAddCmd) Run(ctx context.Context, w *world) error {
	raw, err := os.ReadFile(c.File)
	if err != nil {
		return fmt.Errorf("read document: %w", err)
	}
	key := c.Key
	if key == "" {
		key = strings.TrimSuffix(filepath.Base(c.File), filepath.Ext(c.File))
	}
	d := retrieve.Document{Key: calendar.Slug(key), Title: c.Title, Text: string(raw)}
	return c.with(ctx, w, func(k keeper) error {
		err := k.PutDocument(ctx, c.Slug, d)
		if err == nil {
			_, _ = fmt.Fprintf(w.out, "%s has %s, in %d passages\n", c.Slug, d.Key, len(d.Passages()))
		}
		return err
	})
}

type documentsListCmd struct {
	installation

	Slug string `arg:"" help:"The business."`
}

// Run implements the command.
func (c *documentsListCmd) Run(ctx context.Context, w *world) error {
	return c.with(ctx, w, func(k keeper) error {
		all, err := k.Documents(ctx, c.Slug)
		for _, d := range all {
			_, _ = fmt.Fprintf(w.out, "%s: %s (%d passages, %s)\n", d.Key, d.Title, d.Passages, d.UpdatedAt.Format(time.DateOnly))
		}
		return err
	})
}

type documentsRemoveCmd struct {
	installation

	Slug string `arg:"" help:"The business."`
	Key  string `arg:"" help:"The document's key, as list shows it."`
}

// Run implements the command.
func (c *documentsRemoveCmd) Run(ctx context.Context, w *world) error {
	return c.with(ctx, w, func(k keeper) error {
		return k.PutDocument(ctx, c.Slug, retrieve.Document{Key: c.Key})
	})
}
