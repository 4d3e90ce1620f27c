package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/llm"
)

// queue is what people are asked, as a keeper has it.
type queue interface {
	Escalations(ctx context.Context, slug string, state llm.CaseState) ([]llm.Case, error)
	Escalation(ctx context.Context, slug, id string) (llm.Case, error)
	Decide(ctx context.Context, slug, id string, d llm.Decision) (llm.Case, error)
}

type escalationsCmd struct {
	List   escalationListCmd   `cmd:"" help:"List what people of a business are asked."`
	Show   escalationShowCmd   `cmd:"" help:"Show one escalation: the question, what was said, what models answered."`
	Decide escalationDecideCmd `cmd:"" help:"Decide one. What waits for it goes on."`
}

type escalationListCmd struct {
	installation

	Slug  string `arg:"" help:"The business."`
	State string `help:"open, decided, expired or all." default:"open" enum:"open,decided,expired,all"`
	JSON  bool   `name:"json" help:"Print one JSON array."`
}

// Run implements the command.
func (c *escalationListCmd) Run(ctx context.Context, w *world) error {
	state := llm.CaseState(c.State)
	if c.State == "all" {
		state = ""
	}
	return c.with(ctx, w, func(k keeper) error {
		all, err := k.Escalations(ctx, c.Slug, state)
		if err != nil {
			return err
		}
		if c.JSON {
			return json.NewEncoder(w.out).Encode(append([]llm.Case{}, all...))
		}
		if len(all) == 0 {
			_, _ = fmt.Fprintln(w.out, "None.")
			return nil
		}
		t := tabwriter.NewWriter(w.out, 0, 0, 2, ' ', 0)
		_, _ = fmt.Fprintln(t, "ID\tSTATE\tASKED\tROLE\tCAUSE\tQUESTION")
		for _, e := range all {
			_, _ = fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", e.ID, e.State, e.At.Format(time.DateTime), e.Role, e.Cause, shown(e.Card.Title+" "+e.Card.Question, 60))
		}
		return t.Flush()
	})
}

type escalationShowCmd struct {
	installation

	Slug string `arg:"" help:"The business."`
	ID   string `arg:"" help:"The escalation."`
	JSON bool   `name:"json" help:"Print one JSON object."`
}

// Run implements the command.
func (c *escalationShowCmd) Run(ctx context.Context, w *world) error {
	return c.with(ctx, w, func(k keeper) error {
		e, err := k.Escalation(ctx, c.Slug, c.ID)
		switch {
		case err != nil:
			return err
		case c.JSON:
			return json.NewEncoder(w.out).Encode(e)
		}
		line := func(name, value string) {
			if value != "" {
				_, _ = fmt.Fprintf(w.out, "%-10s %s\n", name, value)
			}
		}
		line("state", string(e.State))
		line("asked", e.At.Format(time.DateTime)+", until "+e.Expires.Format(time.DateTime))
		line("role", string(e.Role)+", "+string(e.Cause))
		line("title", shown(e.Card.Title, 0))
		line("question", shown(e.Card.Question, 0))
		for _, m := range e.Messages {
			line(m.Role, shown(m.Content, 0))
		}
		line("model", shown(string(e.Answer)+e.Text, 0))
		for _, choice := range e.Card.Choices {
			line("choice", shown(choice.ID+": "+choice.Label, 0))
		}
		if e.Decision != nil {
			line("decided", shown(e.Label()+", by "+e.Decision.By, 0)+", "+e.Decision.At.Format(time.DateTime))
		}
		return nil
	})
}

type escalationDecideCmd struct {
	installation

	Slug   string `arg:"" help:"The business."`
	ID     string `arg:"" help:"The escalation."`
	Choice string `help:"One of its choices."`
	Text   string `help:"The decision in words, where there are no choices; else a note."`
	By     string `help:"Who decides; by default who is logged in."`
}

// Run implements the command.
func (c *escalationDecideCmd) Run(ctx context.Context, w *world) error {
	by := c.By
	if by == "" {
		by = w.environ["USER"]
	}
	if by == "" {
		return fault.E(fault.Invalid, "Say who decides with --by.")
	}
	return c.with(ctx, w, func(k keeper) error {
		e, err := k.Decide(ctx, c.Slug, c.ID, llm.Decision{Choice: c.Choice, Text: c.Text, By: by})
		if err == nil {
			_, _ = fmt.Fprintf(w.out, "Decided: %s\n", shown(e.Label(), 0))
		}
		return err
	})
}

// shown is others' text on one line of a terminal, at most n characters of it
// when n is not 0.
func shown(text string, n int) string {
	text = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, text)), " ")
	if runes := []rune(text); n > 0 && len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return text
}
