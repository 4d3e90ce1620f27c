// Package sim is the outside world of a Ratiba installation, simulated: the
// WhatsApp Business Platform with its phones, Safaricom's Daraja, PesaPal, a workspace on
// Slack, and the JSON face by which people, pages and tests act on them.
//
// The product reaches it over real HTTP in the providers' own formats and
// cannot tell the difference. The same Sim serves `ratiba demo` (one process),
// `ratiba sim` (alone) and tests. Sim owns its goroutines: Stop returns when
// all of them have ended.
//
// It imports only leaves (ids, clock, fault, money) and its own sub-packages,
// never the product's internals.
package sim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/sim/courier"
	"github.com/ratiba/ratiba/internal/sim/daraja"
	"github.com/ratiba/ratiba/internal/sim/journal"
	"github.com/ratiba/ratiba/internal/sim/pesapal"
	"github.com/ratiba/ratiba/internal/sim/slack"
	"github.com/ratiba/ratiba/internal/sim/voice"
	"github.com/ratiba/ratiba/internal/sim/whatsapp"
)

// tick is how often, in real time, the product's clock is looked at for
// prompts whose life is over.
const tick = 200 * time.Millisecond

// The parts' own words, under the simulator's name.
type (
	// Number is a business number on WhatsApp.
	Number = whatsapp.Number
	// Template is an approved message template.
	Template = whatsapp.Template
	// Shortcode is an M-Pesa pay bill or till number.
	Shortcode = daraja.Shortcode
	// SlackApp is the bot's app on Slack.
	SlackApp = slack.App
	// Merchant is a business that takes payments by PesaPal.
	Merchant = pesapal.Merchant
)

// The providers of a Number.
const (
	Meta      = whatsapp.Meta
	Dialog360 = whatsapp.Dialog360
)

// Admin is a person of a business with a registered phone.
type Admin struct {
	Name  string `json:"name"`
	Phone string `json:"phone"` // E.164
}

// Tenant is a business as GET /sim/tenants tells it.
type Tenant struct {
	Slug     string  `json:"slug"`
	Name     string  `json:"name"`
	Vertical string  `json:"vertical"`
	Number   string  `json:"number"` // display phone or phone number id
	Admins   []Admin `json:"admins"`
}

// Config is what a Sim is made of. Clock is required; the zero value of every
// other field means the default its comment names.
type Config struct {
	Clock           clock.Clock  // the product's
	Real            clock.Clock  // for rates; the machine's clock when nil
	Logger          *slog.Logger // webhooks the product does not acknowledge; nobody is told when nil
	Numbers         []Number
	Templates       []Template
	Tenants         []Tenant
	MpesaShortcodes []Shortcode
	Slack           SlackApp // refuses every token while it has none
	Merchants       []Merchant

	// Advance moves the product's clock; nil refuses POST /sim/clock/advance.
	Advance func(ctx context.Context, by time.Duration) error
	// Events subscribes to the product's event lines until ctx ends; nil
	// refuses GET /sim/events.
	Events func(ctx context.Context) <-chan []byte
	// Model serves /openai/, /anthropic/ and /sim/llm/; nil leaves them out.
	Model http.Handler
	// Page serves GET /sim/ and /sim/assets/ with the prefix /sim stripped; nil leaves them out.
	Page http.Handler
	// Voice is the telephone gateway; without a secret nobody can call.
	Voice voice.Config
	// HTTPClient posts webhooks; an own one when nil.
	HTTPClient *http.Client

	WindowMode  whatsapp.WindowMode // how a closed 24-hour window shows; at once
	StatusDelay time.Duration       // between sent, delivered and read; 40 ms
	Backoff     time.Duration       // before a webhook is repeated first; 250 ms
	PromptLife  time.Duration       // of an M-Pesa prompt, by the product's clock; 60 s
	Throughput  int                 // WhatsApp messages a second and number; 80
	PairBurst   int                 // WhatsApp messages to one user at once; 45
	UserIDs     bool                // give every WhatsApp sender a business-scoped id

	JournalEntries  int  // kept, the oldest dropped first; 200,000
	RepeatCallbacks bool // repeat an M-Pesa callback until it is answered 200
}

// Sim is the simulated world. It is safe for concurrent use.
type Sim struct {
	cfg      Config
	courier  *courier.Courier
	journal  *journal.Journal
	whatsapp *whatsapp.Simulator
	daraja   *daraja.Simulator
	slack    *slack.Simulator
	voice    *voice.Gateway
	pesapal  *pesapal.Simulator
	handler  http.Handler
	end      context.CancelFunc // of long polls and streams

	mu      sync.Mutex
	tenants []Tenant
}

// New returns a Sim, or every fault of cfg at once.
func New(cfg Config) (*Sim, error) {
	if cfg.Clock == nil {
		return nil, errors.New("sim: Clock is missing")
	}
	if cfg.Real == nil {
		cfg.Real = clock.Real{}
	}
	s := &Sim{
		cfg:     cfg,
		courier: courier.New(courier.Config{Client: cfg.HTTPClient, Backoff: cfg.Backoff, Logger: cfg.Logger}),
		journal: journal.New(cfg.Clock, cfg.JournalEntries),
	}
	var waErr, mpesaErr, cardErr, slackErr error
	s.whatsapp, waErr = whatsapp.New(whatsapp.Config{
		Clock: cfg.Clock, Real: cfg.Real, Courier: s.courier, Journal: s.journal,
		Numbers: cfg.Numbers, Templates: cfg.Templates, WindowMode: cfg.WindowMode, StatusDelay: cfg.StatusDelay,
		Throughput: cfg.Throughput, PairBurst: cfg.PairBurst, UserIDs: cfg.UserIDs,
	})
	s.daraja, mpesaErr = daraja.New(daraja.Config{
		Clock: cfg.Clock, Real: cfg.Real, Courier: s.courier, Journal: s.journal,
		Shortcodes: cfg.MpesaShortcodes, PromptLife: cfg.PromptLife, RepeatCallbacks: cfg.RepeatCallbacks,
	})
	s.slack, slackErr = slack.New(slack.Config{Clock: cfg.Real, Courier: s.courier, Journal: s.journal, App: cfg.Slack, Backoff: cfg.Backoff})
	s.pesapal, cardErr = pesapal.New(pesapal.Config{Clock: cfg.Clock, Courier: s.courier, Journal: s.journal, Merchants: cfg.Merchants})
	if err := errors.Join(waErr, mpesaErr, cardErr, slackErr); err != nil {
		return nil, fmt.Errorf("sim: %w", err)
	}
	cfg.Voice.Client = cfg.HTTPClient
	s.voice = voice.New(cfg.Voice)
	s.SetTenants(cfg.Tenants)
	var life context.Context
	life, s.end = context.WithCancel(context.Background())
	s.handler = s.routes(life)
	return s, nil
}

// Handler serves everything the simulator speaks. The caller checks Host.
func (s *Sim) Handler() http.Handler { return s.handler }

// Start begins to watch the product's clock. It ends with ctx or Stop.
func (s *Sim) Start(ctx context.Context) error {
	ok := s.courier.Go(func(own context.Context) {
		ticker := time.NewTicker(tick)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				s.daraja.ExpireDue()
			case <-ctx.Done():
				return
			case <-own.Done():
				return
			}
		}
	})
	if !ok {
		return fault.E(fault.Conflict, "The simulator was stopped; make a new one.")
	}
	return nil
}

// Stop ends what is under way (repeats, callbacks, long polls) and waits for
// it. It may be called more than once.
func (s *Sim) Stop() {
	s.end()
	s.courier.Stop()
}

// SetTenants replaces the tenants. Their admins' names become the profiles of
// their phones.
func (s *Sim) SetTenants(tenants []Tenant) {
	s.mu.Lock()
	s.tenants = append([]Tenant{}, tenants...)
	s.mu.Unlock()
	for _, t := range tenants {
		for _, a := range t.Admins {
			s.whatsapp.Name(a.Phone, a.Name)
		}
	}
}

// SetNumbers replaces the WhatsApp numbers.
func (s *Sim) SetNumbers(numbers []Number) error { return s.whatsapp.SetNumbers(numbers) }

// SetTemplates replaces the approved templates.
func (s *Sim) SetTemplates(templates []Template) { s.whatsapp.SetTemplates(templates) }

// SetMpesaShortcodes replaces the M-Pesa shortcodes.
func (s *Sim) SetMpesaShortcodes(codes []Shortcode) error { return s.daraja.SetShortcodes(codes) }

// SetMerchants replaces PesaPal's merchants.
func (s *Sim) SetMerchants(all []Merchant) error { return s.pesapal.SetMerchants(all) }

// Journal returns the entries numbered above after, for tests in the same
// process; GET /sim/journal serves the same.
func (s *Sim) Journal(after int64) []journal.Entry { return s.journal.Since(after, "") }
