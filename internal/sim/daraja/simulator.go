// Package daraja simulates Safaricom's Daraja API for M-Pesa Express (STK
// push) and the phones that show its prompts.
//
// It speaks the provider's wire over real HTTP: tokens that expire, validated
// push requests, callbacks without signature, status queries. A prompt waits
// for a PIN, for what a program says, or for the end of its life. Token and
// prompt life follow the product's clock; programmed delays follow real time.
// What it knows lives in memory.
//
// It imports only leaves and the simulator's own leaves (face, journal, courier).
package daraja

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/sim/courier"
	"github.com/ratiba/ratiba/internal/sim/face"
	"github.com/ratiba/ratiba/internal/sim/journal"
)

// Shortcode is a pay bill or till number and the app that may use it. Several
// shortcodes may share a consumer key.
type Shortcode struct {
	Shortcode      string
	Passkey        string
	ConsumerKey    string
	ConsumerSecret string
	Initiator      string // who may reverse payments; nobody when empty
	// SecurityCredential is the initiator's password, encrypted.
	SecurityCredential string
	Name               string // who the prompt says the money goes to; "the business" when empty
}

// Config is what a Simulator is made of. Zero values mean the defaults named.
type Config struct {
	Clock      clock.Clock      // the product's; required
	Real       clock.Clock      // the machine's clock when nil
	Courier    *courier.Courier // required
	Journal    *journal.Journal // required
	Shortcodes []Shortcode
	PromptLife time.Duration // 60 s
	// RepeatCallbacks repeats a callback until it is answered 200. Safaricom
	// does not promise that, so it is off unless asked for.
	RepeatCallbacks bool
}

// Simulator is the API and the phones. It is safe for concurrent use.
type Simulator struct {
	clock      clock.Clock
	real       clock.Clock
	courier    *courier.Courier
	journal    *journal.Journal
	promptLife time.Duration
	repeat     bool

	mu         sync.Mutex
	shortcodes []Shortcode
	tokens     map[string]token
	prompts    []*prompt // oldest first
	byID       map[string]*prompt
	latest     map[string]*prompt // by phone
	live       map[string]*prompt // by id: those that have not ended
	programs   []*program
	sameAmount bool
	receipts   map[string]bool
}

// New returns a simulator, or every fault of cfg at once.
func New(cfg Config) (*Simulator, error) {
	var faults []error
	if cfg.Clock == nil {
		faults = append(faults, errors.New("sim daraja: Clock is missing"))
	}
	if cfg.Courier == nil || cfg.Journal == nil {
		faults = append(faults, errors.New("sim daraja: Courier and Journal are required"))
	}
	faults = append(faults, checkShortcodes(cfg.Shortcodes))
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	if cfg.Real == nil {
		cfg.Real = clock.Real{}
	}
	return &Simulator{
		clock: cfg.Clock, real: cfg.Real, courier: cfg.Courier, journal: cfg.Journal,
		promptLife: cmp.Or(cfg.PromptLife, time.Minute),
		repeat:     cfg.RepeatCallbacks,
		shortcodes: append([]Shortcode(nil), cfg.Shortcodes...),
		tokens:     map[string]token{},
		byID:       map[string]*prompt{},
		latest:     map[string]*prompt{},
		live:       map[string]*prompt{},
		receipts:   map[string]bool{},
	}, nil
}

func checkShortcodes(all []Shortcode) error {
	var faults []error
	seen := map[string]bool{}
	for i, c := range all {
		switch {
		case c.Shortcode == "" || c.Shortcode != face.Digits(c.Shortcode):
			faults = append(faults, fmt.Errorf("sim daraja: shortcode %d must be digits", i+1))
		case c.Passkey == "" || c.ConsumerKey == "" || c.ConsumerSecret == "":
			faults = append(faults, fmt.Errorf("sim daraja: shortcode %s needs Passkey, ConsumerKey and ConsumerSecret", c.Shortcode))
		case seen[c.Shortcode]:
			faults = append(faults, fmt.Errorf("sim daraja: shortcode %s is listed twice", c.Shortcode))
		}
		seen[c.Shortcode] = true
	}
	return errors.Join(faults...)
}

// SetShortcodes replaces the shortcodes. Prompts under way go on.
func (s *Simulator) SetShortcodes(all []Shortcode) error {
	if err := checkShortcodes(all); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shortcodes = append([]Shortcode(nil), all...)
	return nil
}

// Routes mounts the provider's API and the laboratory's face on mux.
func (s *Simulator) Routes(mux *http.ServeMux) {
	mux.HandleFunc("GET /daraja/oauth/v1/generate", s.generateToken)
	mux.HandleFunc("POST /daraja/mpesa/stkpush/v1/processrequest", s.push)
	mux.HandleFunc("POST /daraja/mpesa/stkpushquery/v1/query", s.query)
	mux.HandleFunc("POST /daraja/mpesa/reversal/v1/request", s.reverse)

	mux.HandleFunc("POST /sim/daraja/next", face.Handle(s.faceNext))
	mux.HandleFunc("POST /sim/daraja/pin", face.Handle(s.facePIN))
	mux.HandleFunc("GET /sim/daraja/prompts", face.Handle(s.facePrompts))
	mux.HandleFunc("POST /sim/daraja/settings", face.Handle(s.faceSettings))
	mux.HandleFunc("POST /sim/daraja/tokens/expire", face.Handle(s.faceExpireTokens))
}

// shortcode finds a shortcode. Callers hold mu.
func (s *Simulator) shortcode(code string) (Shortcode, bool) {
	for _, c := range s.shortcodes {
		if c.Shortcode == code {
			return c, true
		}
	}
	return Shortcode{}, false
}
