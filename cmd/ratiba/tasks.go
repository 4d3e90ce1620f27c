package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/ratiba/ratiba/internal/store"
)

// tasker is who has the tasks.
type tasker interface {
	Tasks(ctx context.Context, slug string, q store.TaskQuery) ([]store.Task, string, error)
	ChangeTask(ctx context.Context, slug, id, owner string, to store.TaskState) (store.Task, error)
}

type tasksCmd struct {
	List tasksListCmd `cmd:"" help:"List a business's tasks, the first due first."`
	Take tasksTakeCmd `cmd:"" help:"Say who sees to a task."`
	Done tasksDoneCmd `cmd:"" help:"Say that a task is done."`
}

type tasksListCmd struct {
	installation

	Slug  string `arg:"" name:"tenant" help:"The business."`
	State string `help:"Only open, taken or done ones."`
	Kind  string `help:"Only those of a kind, such as callback or refund."`
	Owner string `help:"Only those somebody has taken."`
	After string `help:"Where the page before said that the next begins."`
	Limit int    `help:"How many at most." default:"50"`
	JSON  bool   `name:"json" help:"Print one JSON object."`
}

// Run implements the command.
func (c *tasksListCmd) Run(ctx context.Context, w *world) error {
	return c.with(ctx, w, func(k keeper) error {
		tasks, next, err := k.Tasks(ctx, c.Slug, store.TaskQuery{
			State: store.TaskState(c.State), Kind: c.Kind, Owner: c.Owner, After: c.After, Limit: c.Limit,
		})
		switch {
		case err != nil:
			return err
		case c.JSON:
			return json.NewEncoder(w.out).Encode(map[string]any{"tasks": tasks, "next": next})
		}
		for _, t := range tasks {
			printTask(w.out, t)
		}
		if next != "" {
			_, _ = fmt.Fprintf(w.out, "There are more: --after %s\n", next)
		}
		return nil
	})
}

func printTask(out io.Writer, t store.Task) {
	state := string(t.State)
	if t.Owner != "" {
		state += " by " + t.Owner
	}
	_, _ = fmt.Fprintf(out, "%s  %s  due %s  %s  %s\n", t.ID, t.Kind, t.Due.UTC().Format(time.RFC3339), state, t.Detail)
}

// oneTask names a task and who sees to it.
type oneTask struct {
	installation

	Slug string `arg:"" name:"tenant" help:"The business."`
	ID   string `arg:"" help:"The task."`
	By   string `help:"Who." required:""`
}

func (c *oneTask) change(ctx context.Context, w *world, to store.TaskState) error {
	return c.with(ctx, w, func(k keeper) error {
		t, err := k.ChangeTask(ctx, c.Slug, c.ID, c.By, to)
		if err == nil {
			printTask(w.out, t)
		}
		return err
	})
}

type tasksTakeCmd struct{ oneTask }

// Run implements the command.
func (c *tasksTakeCmd) Run(ctx context.Context, w *world) error {
	return c.change(ctx, w, store.TaskTaken)
}

type tasksDoneCmd struct{ oneTask }

// Run implements the command.
func (c *tasksDoneCmd) Run(ctx context.Context, w *world) error {
	return c.change(ctx, w, store.TaskDone)
}
