package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ratiba/ratiba/internal/doctor"
)

type modelsCmd struct {
	installation

	JSON bool `name:"json" help:"Print one JSON object."`
}

// Run implements the command.
func (c *modelsCmd) Run(ctx context.Context, w *world) error {
	l, err := doctor.Models(ctx, doctor.Patient{Config: c.Config, Environ: w.environ})
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(w.out).Encode(l)
	}
	t := tabwriter.NewWriter(w.out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "ROLE\tTIER\tMODEL\tEFFORT\tIN $/M\tCACHED\tOUT\tRETIRES")
	for _, r := range l.Roles {
		for _, rung := range r.Ladder {
			row(t, string(r.Role), rung)
		}
		for _, rung := range r.Trial {
			row(t, string(r.Role)+" (trial)", rung)
		}
	}
	_, _ = fmt.Fprintf(t, "\nSINCE %s\n", l.Since.Format(time.DateTime))
	_, _ = fmt.Fprintln(t, "BUSINESS\tROLE\tCALLS\tBY CODE\tFAILED\tTOKENS IN\tOUT\tCOST $")
	for _, x := range l.Costs {
		_, _ = fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s\n", x.Business, x.Role, x.Calls, x.ByCode, x.Failed, x.Tokens.Prompt(), x.Tokens.Output, x.USD)
	}
	if l.Unread != "" {
		_, _ = fmt.Fprintln(t, l.Unread)
	}
	return t.Flush()
}

// row prints a rung.
func row(t *tabwriter.Writer, role string, r doctor.RungListing) {
	if r.Human {
		_, _ = fmt.Fprintf(t, "%s\t%d\ta person\t\t\t\t\t\n", role, r.Tier)
		return
	}
	retires := cmp.Or(r.Retires, "-")
	if r.Retires != "" && r.Successor != "" {
		retires += ", then " + r.Successor
	}
	_, _ = fmt.Fprintln(t, strings.Join([]string{
		role, strconv.Itoa(r.Tier), r.Provider + " " + r.Model, cmp.Or(r.Effort, "-"), cmp.Or(r.Input, "unknown"),
		cmp.Or(r.Cached, "unknown"), cmp.Or(r.Output, "unknown"), retires,
	}, "\t"))
}
