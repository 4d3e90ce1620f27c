package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/store"
)

type rolloutCmd struct {
	List rolloutListCmd `cmd:"" help:"List the rollouts."`
	Set  rolloutSetCmd  `cmd:"" help:"Give a share of a role's new conversations what is on trial."`
	Stop rolloutStopCmd `cmd:"" help:"End a trial, also for conversations that are in it."`
}

type rolloutListCmd struct {
	installation

	JSON bool `name:"json" help:"Print one JSON array."`
}

// Run implements the command.
func (c *rolloutListCmd) Run(ctx context.Context, w *world) error {
	return c.with(ctx, w, func(k keeper) error {
		all, err := k.Rollouts(ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			return json.NewEncoder(w.out).Encode(append([]store.Rollout{}, all...))
		}
		if len(all) == 0 {
			_, err = fmt.Fprintln(w.out, "Nothing was ever on trial.")
			return err
		}
		t := tabwriter.NewWriter(w.out, 0, 0, 2, ' ', 0)
		_, _ = fmt.Fprintln(t, "ROLE\tPERCENT\tEXPERIMENT\tSINCE")
		for _, r := range all {
			_, _ = fmt.Fprintf(t, "%s\t%d\t%s\t%s\n", r.Role, r.Percent, cmp.Or(r.Experiment, "-"), r.UpdatedAt.UTC().Format(time.DateTime))
		}
		return t.Flush()
	})
}

type rolloutSetCmd struct {
	installation

	Role       string `arg:"" help:"The role, such as intent_classifier."`
	Percent    int    `arg:"" help:"How many of its new conversations, 0 to 100."`
	Experiment string `help:"A name for what is tried: each name draws its own conversations."`
}

// Run implements the command.
func (c *rolloutSetCmd) Run(ctx context.Context, w *world) error {
	err := c.with(ctx, w, func(k keeper) error {
		return k.SetRollout(ctx, llm.Role(c.Role), llm.Rollout{Percent: c.Percent, Experiment: c.Experiment})
	})
	if err == nil {
		_, _ = fmt.Fprintf(w.out, "%d%% of new conversations get what is on trial for %s.\n", c.Percent, c.Role)
	}
	return err
}

type rolloutStopCmd struct {
	installation

	Role string `arg:"" help:"The role, such as intent_classifier."`
}

// Run implements the command.
func (c *rolloutStopCmd) Run(ctx context.Context, w *world) error {
	err := c.with(ctx, w, func(k keeper) error { return k.SetRollout(ctx, llm.Role(c.Role), llm.Rollout{}) })
	if err == nil {
		_, _ = fmt.Fprintf(w.out, "The trial of %s is over for every conversation.\n", c.Role)
	}
	return err
}
