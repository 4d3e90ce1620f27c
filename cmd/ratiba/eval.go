package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/ratiba/ratiba/internal/eval"
)

type evalCmd struct {
	Understand evalUnderstandCmd `cmd:"" help:"How well code alone understands labelled utterances: intent, details, times, language. Needs no key and no network."`
}

type evalUnderstandCmd struct {
	Files   []string `arg:"" optional:"" name:"file" help:"Labelled utterances, one JSON object a line; docs/evaluation.md has the shape. Default: the project's own." type:"path"`
	Split   string   `help:"Measure one split alone." enum:"dev,test,all" default:"all"`
	Scripts string   `help:"Folder of conversation scripts, whose turns without a model are counted. Skipped when files are given or it does not exist." default:"internal/golden/scripts" type:"path"`
	Misses  bool     `help:"List every utterance that was not read as labelled."`
	JSON    bool     `name:"json" help:"Print one JSON object."`

	MinPrecision float64 `help:"Least precision where code acts alone." default:"0.99"`
	MinWhole     float64 `help:"Least share of the turns code answers alone that are right in everything." default:"0.98"`
	MinCoverage  float64 `help:"Least share of utterances in which code acts alone." default:"0.6"`
	MinIntent    float64 `help:"Least intent accuracy." default:"0.85"`
	MinSlots     float64 `help:"Least slot exact match." default:"0.92"`
	MinWhen      float64 `help:"Least date-time resolution." default:"0.92"`
	MinLanguage  float64 `help:"Least language identification of English and of Swahili, each length apart." default:"0.99"`
	MinMixed     float64 `help:"The same of texts in both." default:"0.75"`
	MinOther     float64 `help:"The same of texts in neither." default:"0.85"`
	MinScope     float64 `help:"Least share of what is out of scope that is not acted on." default:"0.98"`
	MinTurns     float64 `help:"Least share of the turns of the conversation scripts that need no model." default:"0.6"`
}

// Run implements the command.
func (c *evalUnderstandCmd) Run(ctx context.Context, w *world) error {
	rows, err := c.rows()
	if err != nil {
		return err
	}
	report := eval.Measure(rows)
	if report.Turns, err = c.turns(ctx); err != nil {
		return err
	}
	if err := c.print(w, report); err != nil {
		return err
	}
	below := report.Below(eval.Limits{
		Precision: c.MinPrecision, Whole: c.MinWhole, Coverage: c.MinCoverage, Intent: c.MinIntent, Slots: c.MinSlots, When: c.MinWhen,
		Language: c.MinLanguage, Mixed: c.MinMixed, Other: c.MinOther, Scope: c.MinScope, Turns: c.MinTurns,
	})
	if len(below) > 0 {
		return fmt.Errorf("below the limits: %s", strings.Join(below, "; "))
	}
	return nil
}

// rows are the examples of the files, or the project's own and mixes of them.
func (c *evalUnderstandCmd) rows() ([]eval.Row, error) {
	var all []eval.Row
	var errs []error
	for _, name := range c.Files {
		f, err := os.Open(name) //nolint:gosec // the operator names the file
		if err != nil {
			errs = append(errs, err)
			continue
		}
		rows, err := eval.Load(name, f)
		errs = append(errs, err, f.Close())
		all = append(all, rows...)
	}
	if len(c.Files) == 0 {
		for _, name := range eval.Sets() {
			rows, err := eval.Own(name)
			errs = append(errs, err)
			all = append(all, rows...)
		}
		all = append(all, eval.Mixes(all)...)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	var rows []eval.Row
	for _, r := range all {
		if c.Split == "all" || r.Split == c.Split {
			rows = append(rows, r)
		}
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("there are no examples in the split %s", c.Split)
	}
	return rows, nil
}

// turns replays the conversation scripts; nil when there is nothing to replay.
func (c *evalUnderstandCmd) turns(ctx context.Context) (_ *eval.Share, err error) {
	if _, err := os.Stat(c.Scripts); len(c.Files) > 0 || err != nil {
		return nil, nil //nolint:nilnil // a binary outside the source tree has no scripts: there is no share
	}
	work, err := os.MkdirTemp("", "ratiba-eval-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the conversations: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	share, err := eval.Converse(ctx, os.DirFS(c.Scripts), ".", work)
	return &share, err
}

func (c *evalUnderstandCmd) print(w *world, r eval.Report) error {
	if c.JSON {
		return json.NewEncoder(w.out).Encode(r)
	}
	text := r.Table()
	if c.Misses {
		text += "\n" + r.List()
	}
	_, err := fmt.Fprint(w.out, text)
	return err
}
