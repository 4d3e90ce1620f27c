// Package doctor examines an installation: its configuration, keys, models,
// prompts, businesses and clocks. It finds what would stop the product or cost
// money, before it does.
//
// It looks and changes nothing but what every command that opens the databases
// brings to this version. Outside it asks WhatsApp's providers for their lists of
// templates, unless told not to, and nobody else: whether a model's key is
// accepted is not asked. A finding names environment variables and
// never their values. The package belongs to the laboratory.
package doctor

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/config"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/server"
	"github.com/ratiba/ratiba/internal/tenant"
)

// Level says how grave a finding is.
type Level string

// The levels.
const (
	OK   Level = "ok"
	Warn Level = "warn" // works, and somebody should look at it
	Fail Level = "fail" // something that was asked for cannot work
)

// Finding is one thing that was looked at. Its text is one line.
type Finding struct {
	Level Level  `json:"level"`
	Check string `json:"check"`
	Text  string `json:"text"`
}

// Patient is an installation to examine.
type Patient struct {
	Config  string            // path of the configuration file; "" for none
	Environ map[string]string // the environment
	Clock   clock.Clock       // clock.Real when nil
	Offline bool              // ask nobody outside
}

// Report is everything that was found, in the order it was looked at.
type Report struct {
	Findings []Finding `json:"findings"`
}

// Failed reports whether anything fails.
func (r *Report) Failed() bool {
	for _, f := range r.Findings {
		if f.Level == Fail {
			return true
		}
	}
	return false
}

func (r *Report) add(level Level, check, format string, args ...any) {
	text := strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
	r.Findings = append(r.Findings, Finding{level, check, text})
}

// faults adds a line for each line of an error.
func (r *Report) faults(check string, err error) {
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); line != "" {
			r.add(Fail, check, "%s", line)
		}
	}
}

// examination is a patient with what is known about it so far.
type examination struct {
	Patient
	Report

	settings config.Config
	secret   config.Secrets
}

// Examine looks at everything. What cannot be looked at is a finding too, so it
// returns no error.
func Examine(ctx context.Context, p Patient) Report {
	if p.Clock == nil {
		p.Clock = clock.Real{}
	}
	e := &examination{Patient: p, secret: config.Environment(p.Environ)}
	var err error
	if e.settings, err = config.Load(p.Config, p.Environ); err != nil {
		e.faults("configuration", err)
		return e.Report // what follows would only repeat it
	}
	e.add(OK, "configuration", "%s", e.settings.PublicURL)
	if e.secret(e.settings.WhatsApp.VerifyTokenEnv) == "" {
		e.add(Fail, "keys", "%s: want the token with which WhatsApp verifies the webhook", e.settings.WhatsApp.VerifyTokenEnv)
	}
	e.slack()
	m := e.models()
	e.prompts()
	e.clocks(ctx)
	e.businesses(ctx, m)
	return e.Report
}

// installed is an installation's data: opened here, or asked of the process that
// serves them.
type installed interface {
	Definitions(ctx context.Context) ([]tenant.Tenant, error)
	Costs(ctx context.Context, since time.Time) ([]server.Costs, error)
	Stop() error
}

// open opens the installation without serving it; nil when there is none yet or
// when it cannot be looked at now, which is then reported.
func (e *examination) open(ctx context.Context) installed {
	if e.secret(e.settings.Database.URLEnv) == "" {
		if _, err := os.Stat(filepath.Join(e.settings.Data, "control.db")); err != nil {
			e.add(OK, "businesses", "no business is defined yet in %s", e.settings.Data)
			return nil
		}
	}
	s, err := server.New(ctx, server.Config{Settings: e.settings, Secrets: e.secret, Logger: slog.New(slog.DiscardHandler), Offline: true})
	switch {
	case fault.CodeOf(err) == fault.Conflict:
		r := server.Reach(e.settings.Data)
		if _, asked := r.Definitions(ctx); asked != nil {
			e.add(Warn, "businesses", "not looked at: %s", fault.SentenceOf(err))
			return nil
		}
		return r
	case err != nil:
		e.faults("businesses", err)
		return nil
	}
	return s
}
