// Package pesapal simulates PesaPal's API 3.0 and the page on which its orders
// are paid.
//
// It speaks the provider's wire over real HTTP: tokens that live five minutes,
// registered notification addresses, orders with a link, unauthenticated
// notifications without a status that are repeated until they are acknowledged
// in JSON, status queries, refunds that a person of the provider approves. An
// order waits for its payer, on the page or by the face, or for what a program
// says. Tokens follow the product's clock; delays follow real time. What it
// knows lives in memory.
//
// It imports only leaves and the simulator's own leaves (face, journal, courier).
package pesapal

import (
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

// Base is where the provider's API stands.
const Base = "/pesapal"

// Merchant is a business that takes payments.
type Merchant struct {
	ConsumerKey    string
	ConsumerSecret string
	Name           string // whom the page says the money goes to
}

// Config is what a Simulator is made of. All but Merchants is required.
type Config struct {
	Clock     clock.Clock // the product's
	Courier   *courier.Courier
	Journal   *journal.Journal
	Merchants []Merchant
}

// Simulator is the API and its page. It is safe for concurrent use.
type Simulator struct {
	clock   clock.Clock
	courier *courier.Courier
	journal *journal.Journal

	mu        sync.Mutex
	merchants []Merchant
	tokens    map[string]token
	ipns      []ipn
	orders    []*order // oldest first
	byID      map[string]*order
	refs      map[string]bool // merchant and reference
	programs  []*program
}

type token struct {
	merchant string // its consumer key
	until    time.Time
}

// ipn is a registered address for notifications.
type ipn struct {
	merchant, id, url, method string
	at                        time.Time
}

// New returns a simulator, or every fault of cfg at once.
func New(cfg Config) (*Simulator, error) {
	var faults []error
	if cfg.Clock == nil || cfg.Courier == nil || cfg.Journal == nil {
		faults = append(faults, errors.New("sim pesapal: Clock, Courier and Journal are required"))
	}
	faults = append(faults, checkMerchants(cfg.Merchants))
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return &Simulator{
		clock: cfg.Clock, courier: cfg.Courier, journal: cfg.Journal, merchants: append([]Merchant(nil), cfg.Merchants...),
		tokens: map[string]token{}, byID: map[string]*order{}, refs: map[string]bool{},
	}, nil
}

func checkMerchants(all []Merchant) error {
	var faults []error
	seen := map[string]bool{}
	for i, m := range all {
		switch {
		case m.ConsumerKey == "" || m.ConsumerSecret == "":
			faults = append(faults, fmt.Errorf("sim pesapal: merchant %d needs ConsumerKey and ConsumerSecret", i+1))
		case seen[m.ConsumerKey]:
			faults = append(faults, fmt.Errorf("sim pesapal: merchant %d has the key of another", i+1))
		}
		seen[m.ConsumerKey] = true
	}
	return errors.Join(faults...)
}

// SetMerchants replaces the merchants. Orders under way go on.
func (s *Simulator) SetMerchants(all []Merchant) error {
	if err := checkMerchants(all); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.merchants = append([]Merchant(nil), all...)
	return nil
}

// Routes mounts the provider's API, its page and the laboratory's face on mux.
func (s *Simulator) Routes(mux *http.ServeMux) {
	mux.HandleFunc("POST /pesapal/api/Auth/RequestToken", s.requestToken)
	mux.HandleFunc("POST /pesapal/api/URLSetup/RegisterIPN", s.registerIPN)
	mux.HandleFunc("GET /pesapal/api/URLSetup/GetIpnList", s.listIPN)
	mux.HandleFunc("POST /pesapal/api/Transactions/SubmitOrderRequest", s.submit)
	mux.HandleFunc("GET /pesapal/api/Transactions/GetTransactionStatus", s.status)
	mux.HandleFunc("POST /pesapal/api/Transactions/RefundRequest", s.refund)
	mux.HandleFunc("GET /pesapal/pesapaliframe/PesapalIframe3/Index/{$}", s.showPage)
	mux.HandleFunc("POST /pesapal/pesapaliframe/PesapalIframe3/Index/{$}", s.takePage)

	mux.HandleFunc("POST /sim/pesapal/next", face.Handle(s.faceNext))
	mux.HandleFunc("POST /sim/pesapal/pay", face.Handle(s.facePay))
	mux.HandleFunc("POST /sim/pesapal/notify", face.Handle(s.faceNotify))
	mux.HandleFunc("POST /sim/pesapal/refund", face.Handle(s.faceRefund))
	mux.HandleFunc("GET /sim/pesapal/orders", face.Handle(s.faceOrders))
	mux.HandleFunc("POST /sim/pesapal/tokens/expire", face.Handle(s.faceExpireTokens))
}

// merchant finds a merchant. Callers hold mu.
func (s *Simulator) merchant(key string) (Merchant, bool) {
	for _, m := range s.merchants {
		if m.ConsumerKey == key {
			return m, true
		}
	}
	return Merchant{}, false
}
