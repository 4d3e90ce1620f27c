package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/redact"
	"github.com/ratiba/ratiba/internal/server"
	"github.com/ratiba/ratiba/internal/understand"
)

type replayCmd struct {
	installation

	Slug  string `arg:"" optional:"" help:"The business."`
	Turn  string `arg:"" optional:"" help:"The turn, as turn_id in the event log."`
	Clear bool   `help:"Show what people wrote and who they are."`
	Tape  string `help:"Play a tape of model calls in place of a turn." type:"existingfile"`
	JSON  bool   `name:"json" help:"Print one JSON object."`
}

// Run implements the command.
func (c *replayCmd) Run(ctx context.Context, w *world) error {
	switch {
	case c.Tape != "" && c.Slug == "":
		return c.play(w)
	case c.Tape != "" || c.Slug == "" || c.Turn == "":
		return fault.E(fault.Invalid, "Name a business and one of its turns, or a tape with --tape.")
	}
	var r server.Replay
	err := c.with(ctx, w, func(k keeper) (err error) {
		r, err = k.ReplayTurn(ctx, c.Slug, ids.TurnID(c.Turn), c.Clear)
		return err
	})
	if err != nil {
		return err
	}
	if err := c.print(w, r); err != nil {
		return err
	}
	if len(r.Differs) > 0 {
		return errors.New("the turn replays to another commit")
	}
	return nil
}

func (c *replayCmd) print(w *world, r server.Replay) error {
	if c.JSON {
		return json.NewEncoder(w.out).Encode(r)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "turn %s of conversation %s\n", r.Turn, cmp.Or(string(r.Thread), "none"))
	if r.Settings != r.Now {
		fmt.Fprintf(&b, "computed from version %d of the definition, replayed with version %d\n", r.Settings, r.Now)
	}
	for _, part := range []struct {
		name string
		raw  json.RawMessage
	}{{"read", r.Read}, {"decided", r.Result}} {
		fmt.Fprintf(&b, "\n%s: ", part.name)
		if err := json.Indent(&b, part.raw, "", "  "); err != nil {
			return fmt.Errorf("print replay: %w", err)
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	if len(r.Differs) == 0 {
		b.WriteString("It is what was committed.\n")
	}
	for _, d := range r.Differs {
		b.WriteString("DIFFERS: " + d + "\n")
	}
	_, err := w.out.Write(b.Bytes())
	return err
}

// play plays a tape: nothing that was written is shown.
func (c *replayCmd) play(w *world) error {
	raw, err := os.ReadFile(c.Tape)
	if err != nil {
		return fmt.Errorf("read tape: %w", err)
	}
	schemas, err := understand.Schemas()
	if err != nil {
		return err
	}
	played, err := llm.Play(raw, schemas...)
	if err != nil {
		return err
	}
	wrong := 0
	for _, p := range played {
		if p.Changed {
			wrong++
		}
	}
	if c.JSON {
		err = json.NewEncoder(w.out).Encode(append([]llm.Played{}, played...))
	} else {
		err = c.table(w, played)
	}
	if err == nil && wrong > 0 {
		err = fmt.Errorf("%d of %d calls would ask something else now", wrong, len(played))
	}
	return err
}

func (c *replayCmd) table(w *world, played []llm.Played) error {
	hide := redact.New().Text
	if c.Clear {
		hide = func(text string) string { return text }
	}
	t := tabwriter.NewWriter(w.out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "LINE\tPROVIDER\tMODEL\tSCHEMA\tOUTCOME\tCONFIDENCE\tTOKENS IN\tOUT\tCOMPLAINT")
	for _, p := range played {
		_, _ = fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%.2f\t%d\t%d\t%s\n", p.Line, p.Provider, p.Model, cmp.Or(p.Schema, "-"),
			p.Outcome, p.Confidence, p.Usage.Prompt(), p.Usage.Output, cmp.Or(hide(p.Complaint), "-"))
		if p.Changed {
			_, _ = fmt.Fprintf(t, "\tCHANGED: line %d asks something else now\n", p.Line)
		}
	}
	return t.Flush()
}
