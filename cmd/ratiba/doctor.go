package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ratiba/ratiba/internal/doctor"
)

type doctorCmd struct {
	installation

	JSON    bool `name:"json" help:"Print one JSON object."`
	Offline bool `help:"Ask no provider outside: templates are listed and not compared."`
}

// Run implements the command.
func (c *doctorCmd) Run(ctx context.Context, w *world) error {
	r := doctor.Examine(ctx, doctor.Patient{Config: c.Config, Environ: w.environ, Offline: c.Offline})
	if c.JSON {
		if err := json.NewEncoder(w.out).Encode(r); err != nil {
			return err
		}
	} else {
		for _, f := range r.Findings {
			if _, err := fmt.Fprintf(w.out, "%-4s  %s: %s\n", f.Level, f.Check, f.Text); err != nil {
				return err
			}
		}
	}
	if r.Failed() {
		return errors.New("the installation is not sound")
	}
	return nil
}
