// Package demo runs the whole product and the simulated outside world in one
// process, with seeded businesses: no key, no account, no network.
//
// The product is composed as in production and reaches the simulators over
// HTTP; it has no part that knows. The package belongs to the laboratory.
package demo

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/config"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/redact"
	"github.com/ratiba/ratiba/internal/server"
	"github.com/ratiba/ratiba/internal/sim"
	"github.com/ratiba/ratiba/internal/sim/model"
	"github.com/ratiba/ratiba/internal/sim/page"
	"github.com/ratiba/ratiba/internal/store"
	"github.com/ratiba/ratiba/internal/telemetry"
	"github.com/ratiba/ratiba/internal/template"
	"github.com/ratiba/ratiba/internal/tenant"
)

//go:embed seeds/*.yaml
var seeds embed.FS

// Options are how a demo is run.
type Options struct {
	Addr        string  // host:port; port 0 picks a free one
	Data        string  // the data directory; a temporary one when empty
	Database    string  // a PostgreSQL URL, in place of files in the data directory
	Reset       bool    // remove what the data directory held
	Pace        float64 // how many times faster the product's clock runs
	AllowRemote bool    // listen on, and answer to, more than loopback
	// RealModels calls the vendors whose keys Environ has in place of the
	// simulated model.
	RealModels bool
	Environ    map[string]string
	Events     io.Writer      // where the event log goes; discarded when nil
	Clock      clock.Clock    // base of the product's clock; the machine's when nil
	QuietTime  *time.Duration // of every business, in place of its own; nil keeps it
	Latency    time.Duration  // of the simulated model
	Models     string         // where the product looks for models' vendors; the simulated one when empty
}

// databaseEnv is the secret that holds Options.Database.
const databaseEnv = "DEMO_DATABASE_URL"

// slackToken and slackSecret are the secrets of the Slack app, under the names
// that the product reads unless it is told otherwise.
const (
	slackToken  = "SLACK_BOT_TOKEN"      //nolint:gosec // a variable's name.
	slackSecret = "SLACK_SIGNING_SECRET" //nolint:gosec // a variable's name.
)

// voiceEnv is the secret by which the telephone gateway signs, under the name it
// has by default.
const voiceEnv = "RATIBA_VOICE_SECRET"

// stopTime is how long requests under way have at the end. It is short,
// because browsers hold connections open that carry nothing.
const stopTime = 500 * time.Millisecond

// Demo is a running demo.
type Demo struct {
	URL    string
	Server *server.Server
	Sim    *sim.Sim
	Clock  *clock.Movable

	http  *http.Server
	temp  string
	tasks sync.WaitGroup
	end   context.CancelFunc
}

// Start composes and starts a demo. When it returns the demo answers.
func Start(ctx context.Context, opt Options) (*Demo, error) {
	listener, err := listen(ctx, opt)
	if err != nil {
		return nil, err
	}
	d := &Demo{URL: "http://" + listener.Addr().String()}
	if err := d.compose(ctx, opt); err != nil {
		return nil, errors.Join(err, listener.Close(), d.clean())
	}
	d.http = &http.Server{Handler: d.handler(opt), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute}
	d.tasks.Go(func() { _ = d.http.Serve(listener) })
	run, end := context.WithCancel(context.WithoutCancel(ctx))
	d.end = end
	d.Server.Start(run)
	if err := d.Sim.Start(run); err != nil {
		return nil, errors.Join(err, d.Stop())
	}
	if opt.Pace > 1 {
		d.tasks.Go(func() { d.hurry(run) })
	}
	return d, nil
}

func listen(ctx context.Context, opt Options) (net.Listener, error) {
	if err := CheckAddr(opt.Addr, opt.AllowRemote); err != nil {
		return nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", opt.Addr)
	if err != nil {
		return nil, fault.Wrap(err, fault.Unavailable, "The address "+opt.Addr+" cannot be used. Is another demo running? Choose another with --addr.")
	}
	return l, nil
}

// CheckAddr refuses to put the laboratory, which has no passwords, where other
// machines reach it.
func CheckAddr(addr string, allowRemote bool) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fault.Wrap(err, fault.Invalid, "The address must be host:port, such as 127.0.0.1:8080.")
	}
	if !loopback(host) && !allowRemote {
		return fault.E(fault.Forbidden, "This has no passwords, so it listens on this machine alone. Use a loopback address, or --allow-remote if you know what that means.")
	}
	return nil
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

func (d *Demo) compose(ctx context.Context, opt Options) error {
	dir, err := d.directory(opt)
	if err != nil {
		return err
	}
	base := opt.Clock
	if base == nil {
		base = clock.Real{}
	}
	d.Clock = clock.NewMovable(base, opt.Pace)
	tenants, err := Seeds()
	if err != nil {
		return err
	}
	var names []string
	for i := range tenants {
		if opt.QuietTime != nil {
			tenants[i].QuietTime = *opt.QuietTime
		}
		for _, a := range tenants[i].Admins {
			names = append(names, a.Name)
		}
	}
	out := opt.Events
	if out == nil {
		out = io.Discard
	}
	events := telemetry.New(out, slog.LevelInfo, redact.New(names...))
	secrets := newSecrets(opt, tenants)
	if opt.RealModels && secrets.get("OPENAI_API_KEY") == "" {
		return fault.E(fault.Invalid, "Real models need a key: set OPENAI_API_KEY. The roles of a conversation are OpenAI's by default.")
	}
	if d.Server, err = server.New(ctx, server.Config{
		Settings: d.settings(dir, opt), Secrets: secrets.get, Clock: d.Clock, Logger: events.Logger(),
	}); err != nil {
		return err
	}
	for i := range tenants {
		if tenants[i], err = d.Server.Apply(ctx, tenants[i]); err != nil {
			return errors.Join(fmt.Errorf("apply %s: %w", tenants[i].Slug, err), d.Server.Stop())
		}
	}
	models, err := model.New(model.Config{Clock: d.Clock, Latency: opt.Latency})
	if err == nil {
		d.Sim, err = sim.New(d.world(tenants, secrets, events, models))
	}
	if err != nil {
		return errors.Join(err, d.Server.Stop())
	}
	return nil
}

func (d *Demo) directory(opt Options) (string, error) {
	if opt.Data == "" {
		temp, err := os.MkdirTemp("", "ratiba-demo-")
		d.temp = temp
		return temp, err
	}
	if opt.Reset {
		if err := store.Reset(opt.Data); err != nil {
			return "", err
		}
	}
	return opt.Data, nil
}

// settings point the product at the simulators, as an operator would point it
// at the providers.
func (d *Demo) settings(dir string, opt Options) config.Config {
	c := config.Config{
		PublicURL: d.URL, Data: dir, Database: config.Database{URLEnv: databaseEnv},
		WhatsApp: config.WhatsApp{MetaURL: d.URL + "/graph", Dialog360URL: d.URL + "/d360", VerifyTokenEnv: "DEMO_VERIFY_TOKEN"}, //nolint:gosec // a variable's name.
		Daraja:   config.Daraja{URL: d.URL + "/daraja"},
		Slack:    config.Slack{URL: d.URL + "/slack/api", TokenEnv: slackToken, SigningSecretEnv: slackSecret, Channel: "#escalations"},
		Pesapal:  config.Pesapal{URL: d.URL + "/pesapal"},
		Models: config.Models{
			OpenAI:    config.Provider{URL: d.URL + model.OpenAIBase, KeyEnv: "DEMO_MODEL_KEY"},
			Anthropic: config.Provider{URL: d.URL + model.AnthropicBase, KeyEnv: "DEMO_MODEL_KEY"},
		},
	}
	if opt.Models != "" {
		c.Models.OpenAI.URL, c.Models.Anthropic.URL = opt.Models+model.OpenAIBase, opt.Models+model.AnthropicBase
	}
	c.Voice.SecretEnv = voiceEnv
	if opt.RealModels {
		c.Models = config.Models{
			OpenAI: config.Provider{KeyEnv: "OPENAI_API_KEY"}, Anthropic: config.Provider{KeyEnv: "ANTHROPIC_API_KEY"},
		}
	}
	return c
}

// Seeds returns the seeded businesses, the spa first.
func Seeds() ([]tenant.Tenant, error) {
	var out []tenant.Tenant
	for _, name := range []string{"spa", "lettings", "lawn"} {
		raw, err := seeds.ReadFile("seeds/" + name + ".yaml")
		if err != nil {
			return nil, fmt.Errorf("read seed: %w", err)
		}
		t, err := tenant.Parse(raw)
		if err != nil {
			return nil, fmt.Errorf("seed %s: %w", name, err)
		}
		out = append(out, t)
	}
	return out, nil
}

// secrets are drawn anew for every run and known to both sides.
type secrets struct{ values map[string]string }

func newSecrets(opt Options, tenants []tenant.Tenant) secrets {
	s := secrets{values: map[string]string{}}
	src := ids.NewSource(ids.NewSeed(), time.Time{})
	names := []string{"DEMO_VERIFY_TOKEN", "DEMO_MODEL_KEY", slackToken, slackSecret, voiceEnv}
	s.values[databaseEnv] = opt.Database
	for _, t := range tenants {
		for _, n := range t.Numbers {
			names = append(names, n.TokenEnv, n.AppSecretEnv, n.WebhookEnv)
		}
		if t.Mpesa != nil {
			names = append(names, t.Mpesa.PasskeyEnv, t.Mpesa.ConsumerKeyEnv, t.Mpesa.ConsumerSecretEnv, t.Mpesa.CredentialEnv)
		}
		if t.Pesapal != nil {
			names = append(names, t.Pesapal.ConsumerKeyEnv, t.Pesapal.ConsumerSecretEnv)
		}
	}
	for _, n := range names {
		if n != "" && s.values[n] == "" {
			s.values[n] = src.Token(24)
		}
	}
	if opt.RealModels {
		for _, n := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY"} {
			s.values[n] = config.Environment(opt.Environ)(n)
		}
	}
	return s
}

func (s secrets) get(name string) string { return s.values[name] }

func (d *Demo) world(tenants []tenant.Tenant, sec secrets, events *telemetry.Log, models http.Handler) sim.Config {
	cfg := World(tenants, sec.get, d.URL)
	cfg.Clock, cfg.Advance, cfg.Events, cfg.Model, cfg.Page = d.Clock, d.Advance, events.Watch, models, page.Handler()
	return cfg
}

// approved are the product's templates, as Meta has them once they are registered.
func approved() []sim.Template {
	all, err := template.All()
	if err != nil {
		panic(err) // the list is part of the program, and a test reads it
	}
	var out []sim.Template
	for _, t := range all {
		for _, lang := range template.Languages() {
			out = append(out, sim.Template{
				Name: t.Name, Language: lang, Params: len(t.Parameters), Buttons: len(t.Buttons[lang]), Body: t.Body[lang], Titles: t.Buttons[lang],
			})
		}
	}
	return out
}

// World is the simulated world of some businesses, whose product listens at
// product: their numbers, admins and M-Pesa accounts, the approved templates, and
// the Slack app.
func World(tenants []tenant.Tenant, get config.Secrets, product string) sim.Config {
	product = strings.TrimRight(product, "/")
	cfg := sim.Config{UserIDs: true} // as Meta does since April 2026
	cfg.Slack = sim.SlackApp{Token: get(slackToken), SigningSecret: get(slackSecret), URL: product + "/webhooks/slack"}
	cfg.Templates = approved()
	cfg.Voice.URL, cfg.Voice.Secret = product, get(voiceEnv)
	for _, t := range tenants {
		st := sim.Tenant{Slug: t.Slug, Name: t.Name, Vertical: t.Vertical, Number: t.Numbers[0].Display}
		for _, a := range t.Admins {
			st.Admins = append(st.Admins, sim.Admin{Name: a.Name, Phone: a.Phone})
		}
		cfg.Tenants = append(cfg.Tenants, st)
		for _, n := range t.Numbers {
			number := sim.Number{PhoneNumberID: n.ID, DisplayPhone: n.Display, AccountID: n.Account, AccessToken: get(n.TokenEnv)}
			if n.Provider == "360dialog" {
				number.Provider, number.WebhookSecret = sim.Dialog360, get(n.WebhookEnv)
				number.WebhookURL = product + "/webhooks/360dialog/{secret}"
			} else {
				number.Provider, number.AppSecret = sim.Meta, get(n.AppSecretEnv)
				number.WebhookURL = product + "/webhooks/whatsapp"
			}
			cfg.Numbers = append(cfg.Numbers, number)
		}
		if m := t.Mpesa; m != nil {
			cfg.MpesaShortcodes = append(cfg.MpesaShortcodes, sim.Shortcode{
				Shortcode: m.Shortcode, Passkey: get(m.PasskeyEnv), ConsumerKey: get(m.ConsumerKeyEnv),
				ConsumerSecret: get(m.ConsumerSecretEnv), Name: t.Name, Initiator: m.Initiator, SecurityCredential: secretOf(get, m.CredentialEnv),
			})
		}
		if p := t.Pesapal; p != nil {
			cfg.Merchants = append(cfg.Merchants, sim.Merchant{
				ConsumerKey: get(p.ConsumerKeyEnv), ConsumerSecret: get(p.ConsumerSecretEnv), Name: t.Name,
			})
		}
	}
	return cfg
}

// secretOf is the value of a variable, none when it is not named.
func secretOf(get config.Secrets, name string) string {
	if name == "" {
		return ""
	}
	return get(name)
}

// handler serves the product and the simulators on one address.
func (d *Demo) handler(opt Options) http.Handler {
	mux := http.NewServeMux()
	product := d.Server.Handler()
	mux.Handle("/webhooks/", product)
	mux.Handle("/api/", product)
	mux.Handle("/voice/", product)
	mux.Handle("/ics/", product)
	mux.Handle("/healthz", product)
	mux.Handle("/readyz", product)
	mux.Handle("/", d.Sim.Handler())
	mux.Handle("GET /{$}", http.RedirectHandler("/sim/", http.StatusFound))
	return OwnHost(mux, opt.AllowRemote)
}

// OwnHost checks Host, so that no page elsewhere reaches the laboratory by a
// name of its own.
func OwnHost(next http.Handler, allowRemote bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if !allowRemote && !loopback(strings.Trim(host, "[]")) {
			http.Error(w, "Only 127.0.0.1 and localhost are answered here.", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Advance moves the product's clock, stopping at each due time on the way, so
// that timers fire in their order.
func (d *Demo) Advance(ctx context.Context, by time.Duration) error {
	target := d.Clock.Now().Add(by)
	if err := d.Server.Idle(ctx); err != nil {
		return err
	}
	for {
		due := d.Server.NextDue()
		if due.IsZero() || due.After(target) {
			break
		}
		d.Clock.SetForward(due)
		d.Server.ClockMoved()
		if err := d.Server.Idle(ctx); err != nil {
			return err
		}
	}
	d.Clock.SetForward(target)
	d.Server.ClockMoved()
	return d.Server.Idle(ctx)
}

// hurry makes the product look at a clock that runs faster than the machine's.
func (d *Demo) hurry(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			d.Server.ClockMoved()
		}
	}
}

// Stop ends the demo and waits for what is under way.
func (d *Demo) Stop() error {
	d.Sim.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	var errs []error
	if err := d.http.Shutdown(ctx); err != nil {
		errs = append(errs, d.http.Close())
	}
	if d.end != nil {
		d.end()
	}
	errs = append(errs, d.Server.Stop())
	d.tasks.Wait()
	return errors.Join(append(errs, d.clean())...)
}

// clean removes the temporary data directory.
func (d *Demo) clean() error {
	if d.temp == "" {
		return nil
	}
	return os.RemoveAll(d.temp)
}
