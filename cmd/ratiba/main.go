// Command ratiba answers a service business's WhatsApp number.
//
// One binary with sub-commands: demo shows the whole product with a simulated
// world, serve runs it, sim runs the simulators alone, migrate and tenant
// prepare an installation, doctor, models and replay look at one, rollout tries
// models and prompts on it, escalations decides what models were not sure of.
// This package reads the
// environment, prints and exits; everything else is in internal.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/ratiba/ratiba/internal/fault"
)

// cli is the command line.
type cli struct {
	Demo      demoCmd      `cmd:"" help:"Run the whole product with a simulated WhatsApp, M-Pesa and language model. Needs no key, account or network."`
	Serve     serveCmd     `cmd:"" help:"Run the product."`
	Sim       simCmd       `cmd:"" help:"Run the simulators alone, for a product that runs elsewhere on this machine."`
	Migrate   migrateCmd   `cmd:"" help:"Bring the databases to this version."`
	Tenant    tenantCmd    `cmd:"" help:"Define businesses."`
	Tasks     tasksCmd     `cmd:"" help:"What people of a business have to see to."`
	Doctor    doctorCmd    `cmd:"" help:"Examine an installation: configuration, keys, models, prompts, businesses, clocks."`
	Models    modelsCmd    `cmd:"" help:"List which models serve which role, and what they cost in the last seven days."`
	Rollout   rolloutCmd   `cmd:"" help:"Serve a part of the conversations by models or prompts on trial."`
	Replay    replayCmd    `cmd:"" help:"Compute a stored turn, or the calls of a tape, again, without network."`
	MCP       mcpCmd       `cmd:"" name:"mcp" help:"Serve a business's tools to MCP clients."`
	Tool      toolCmd      `cmd:"" help:"Write tools."`
	Reconcile reconcileCmd `cmd:"" help:"Compare a business's payments with what is noted as paid."`
	Bench     benchCmd     `cmd:"" help:"Measure the product on this machine."`
	Eval      evalCmd      `cmd:"" help:"Hold the product against labelled examples."`
	Version   versionCmd   `cmd:"" help:"Print the version."`

	Escalations escalationsCmd `cmd:"" help:"What models were not sure of: list, read and decide."`
}

// world is what commands get from outside.
type world struct {
	environ map[string]string
	in      io.Reader
	out     io.Writer
	errOut  io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}

// run is main with its inputs as values; a command that serves does so until
// ctx ends. It returns the exit status: 0, 1 for a failure, 2 for words it
// does not understand.
func run(ctx context.Context, args, environ []string, out, errOut io.Writer) int {
	complain := func(err error) { _, _ = fmt.Fprintln(errOut, "ratiba:", sentence(err)) }
	var c cli
	exited := -1
	parser, err := kong.New(&c, kong.Name("ratiba"), kong.Writers(out, errOut), kong.Exit(func(code int) { exited = code }),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Description("Ratiba answers a service business's WhatsApp number: bookings, deposits by M-Pesa, in English and Swahili."))
	if err != nil {
		complain(err)
		return 1
	}
	k, err := parser.Parse(args)
	if exited >= 0 {
		return exited
	}
	if err != nil {
		complain(fmt.Errorf("%w. See ratiba --help", err))
		return 2
	}
	if err := k.Run(&world{environ: environment(environ), in: os.Stdin, out: out, errOut: errOut}); err != nil {
		complain(err)
		return 1
	}
	return 0
}

// sentence is what an operator reads: a fault's own sentence, else the error.
// What cannot be reached is told with its cause, without which nobody could
// repair it.
func sentence(err error) string {
	switch f, ok := errors.AsType[*fault.Error](err); {
	case !ok || f.Code == fault.Internal:
		return err.Error()
	case f.Code == fault.Unavailable && f.Cause != nil && !strings.Contains(f.Sentence, f.Cause.Error()):
		return f.Sentence + " " + f.Cause.Error()
	default:
		return f.Sentence
	}
}

func environment(pairs []string) map[string]string {
	m := make(map[string]string, len(pairs))
	for _, p := range pairs {
		k, v, _ := strings.Cut(p, "=")
		m[k] = v
	}
	return m
}
