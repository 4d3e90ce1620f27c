// Package whatsapp simulates the WhatsApp Business Platform: the Graph API of
// Meta's Cloud API, 360dialog's form of it, and the phones of the people who
// write to a business.
//
// It speaks the providers' wire over real HTTP and holds to their rules: tokens,
// message limits, the 24-hour window, pair rate and throughput, registered
// templates, expiring media links, signed webhooks repeated until answered 200.
// Windows, timestamps and media expiry follow the product's clock; rates,
// pauses and repeats follow real time. What it knows lives in memory.
//
// It imports only leaves and the simulator's own leaves (face, journal, courier).
package whatsapp

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

// Provider says whose dialect a number speaks.
type Provider string

// The providers.
const (
	Meta      Provider = "meta"
	Dialog360 Provider = "360dialog"
)

// Number is a business number and the product's webhook for it.
type Number struct {
	PhoneNumberID string   // the provider's id, digits
	DisplayPhone  string   // the number people write to, E.164
	AccountID     string   // the WhatsApp business account, entry[].id; a fixed one when empty
	Provider      Provider // Meta when empty
	AccessToken   string   // bearer token (Meta) or D360-API-KEY (360dialog)
	WebhookURL    string   // where the product listens; "{secret}" stands for WebhookSecret
	AppSecret     string   // signs webhooks; optional with 360dialog, whose partners may ask for it
	WebhookSecret string   // 360dialog: last element of the webhook's path
	VerifyToken   string   // Meta: the token of the subscription handshake
}

// Template is a template that Meta has approved.
type Template struct {
	Name     string
	Language string
	Params   int      // of the body
	Buttons  int      // quick replies
	Body     string   // optional text with {{1}}, {{2}}; shown on the phone
	Status   string   // as Meta writes it; APPROVED when empty. Only such a one can be sent
	Titles   []string // optional titles of the quick replies
}

// WindowMode says how a free-form message outside the 24-hour window fails.
type WindowMode string

// Both ways occur at Meta.
const (
	WindowHTTP   WindowMode = "http"   // refused at once, HTTP 400
	WindowStatus WindowMode = "status" // taken, then reported as failed
)

// Config is what a Simulator is made of. Zero values mean the defaults named.
type Config struct {
	Clock       clock.Clock      // the product's; required
	Real        clock.Clock      // for rates; the machine's clock when nil
	Courier     *courier.Courier // required
	Journal     *journal.Journal // required
	Numbers     []Number
	Templates   []Template
	WindowMode  WindowMode    // WindowHTTP
	StatusDelay time.Duration // between sent, delivered and read; 40 ms
	Throughput  int           // messages a second and number; 80
	PairBurst   int           // messages to one user before the pair rate bites; 45
	UserIDs     bool          // give every sender a BSUID, as Meta does since April 2026
}

// Simulator is the platform and its phones. It is safe for concurrent use.
type Simulator struct {
	clock       clock.Clock
	real        clock.Clock
	courier     *courier.Courier
	journal     *journal.Journal
	statusDelay time.Duration
	throughput  int
	pairBurst   int
	userIDs     bool

	mu         sync.Mutex
	numbers    []Number
	templates  []Template
	windowMode WindowMode
	autoRead   bool
	rates      map[string]*bucket // by phone number id
	people     people
	seq        int64
	received   map[string]*Received // by message id
	sent       map[string]*Sent     // by message id
	media      map[string]*mediaFile
	failures   []*failure
	plans      []*statusPlan
	changed    chan struct{} // nil while nobody waits
}

// New returns a simulator, or every fault of cfg at once.
func New(cfg Config) (*Simulator, error) {
	var faults []error
	if cfg.Clock == nil {
		faults = append(faults, errors.New("sim whatsapp: Clock is missing"))
	}
	if cfg.Courier == nil || cfg.Journal == nil {
		faults = append(faults, errors.New("sim whatsapp: Courier and Journal are required"))
	}
	if cfg.WindowMode != "" && cfg.WindowMode != WindowHTTP && cfg.WindowMode != WindowStatus {
		faults = append(faults, fmt.Errorf("sim whatsapp: unknown WindowMode %q", cfg.WindowMode))
	}
	if cfg.Throughput < 0 || cfg.PairBurst < 0 || cfg.StatusDelay < 0 {
		faults = append(faults, errors.New("sim whatsapp: Throughput, PairBurst and StatusDelay must not be negative"))
	}
	faults = append(faults, checkNumbers(cfg.Numbers))
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	if cfg.Real == nil {
		cfg.Real = clock.Real{}
	}
	s := &Simulator{
		clock: cfg.Clock, real: cfg.Real, courier: cfg.Courier, journal: cfg.Journal,
		statusDelay: cmp.Or(cfg.StatusDelay, 40*time.Millisecond),
		throughput:  cmp.Or(cfg.Throughput, 80),
		pairBurst:   cmp.Or(cfg.PairBurst, 45),
		userIDs:     cfg.UserIDs,
		templates:   append([]Template(nil), cfg.Templates...),
		windowMode:  cmp.Or(cfg.WindowMode, WindowHTTP),
		autoRead:    true,
		rates:       map[string]*bucket{},
		people:      newPeople(),
		received:    map[string]*Received{},
		sent:        map[string]*Sent{},
		media:       map[string]*mediaFile{},
	}
	s.numbers = withDefaults(cfg.Numbers)
	return s, nil
}

func checkNumbers(numbers []Number) error {
	var faults []error
	seen := map[string]bool{}
	for i, n := range numbers {
		switch {
		case n.PhoneNumberID == "" || face.Digits(n.DisplayPhone) == "":
			faults = append(faults, fmt.Errorf("sim whatsapp: number %d needs PhoneNumberID and DisplayPhone", i+1))
		case seen[n.PhoneNumberID]:
			faults = append(faults, fmt.Errorf("sim whatsapp: number %s is listed twice", n.PhoneNumberID))
		case n.Provider != "" && n.Provider != Meta && n.Provider != Dialog360:
			faults = append(faults, fmt.Errorf("sim whatsapp: number %s has the unknown provider %q", n.PhoneNumberID, n.Provider))
		}
		seen[n.PhoneNumberID] = true
	}
	return errors.Join(faults...)
}

func withDefaults(numbers []Number) []Number {
	out := append([]Number(nil), numbers...)
	for i := range out {
		out[i].Provider = cmp.Or(out[i].Provider, Meta)
		out[i].AccountID = cmp.Or(out[i].AccountID, "730000000000001")
	}
	return out
}

// SetNumbers replaces the business numbers. Phones keep what they received.
func (s *Simulator) SetNumbers(numbers []Number) error {
	if err := checkNumbers(numbers); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.numbers = withDefaults(numbers)
	return nil
}

// SetTemplates replaces the approved templates.
func (s *Simulator) SetTemplates(templates []Template) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.templates = append([]Template(nil), templates...)
}

// Name tells what the person with that phone calls themselves on WhatsApp.
func (s *Simulator) Name(phone, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.people.byPhoneOrNew(face.Digits(phone)).name = name
}

// Routes mounts the providers' APIs and the laboratory's face on mux.
func (s *Simulator) Routes(mux *http.ServeMux) {
	mux.HandleFunc("POST /graph/{version}/{id}/messages", s.graphSend)
	mux.HandleFunc("POST /graph/{version}/{id}/media", s.graphUpload)
	mux.HandleFunc("GET /graph/{version}/{id}", s.graphObject)
	mux.HandleFunc("GET /graph/", s.graphEdge)
	mux.HandleFunc("GET /graph/whatsapp_business/attachments/", s.download)

	mux.HandleFunc("POST /d360/messages", s.dialogSend)
	mux.HandleFunc("POST /d360/media", s.dialogUpload)
	mux.HandleFunc("GET /d360/{id}", s.dialogObject)
	mux.HandleFunc("GET /d360/v1/configs/templates", s.dialogTemplates)
	mux.HandleFunc("GET /d360/whatsapp_business/attachments/", s.download)
	mux.HandleFunc("GET /whatsapp_business/attachments/", s.download)

	mux.HandleFunc("POST /sim/whatsapp/inbound", face.Handle(s.faceInbound))
	mux.HandleFunc("GET /sim/whatsapp/messages", face.Handle(s.faceMessages))
	mux.HandleFunc("GET /sim/whatsapp/state", face.Handle(s.faceState))
	mux.HandleFunc("GET /sim/whatsapp/phones", face.Handle(s.facePhones))
	mux.HandleFunc("POST /sim/whatsapp/next", face.Handle(s.faceNext))
	mux.HandleFunc("POST /sim/whatsapp/statuses", face.Handle(s.faceStatuses))
	mux.HandleFunc("POST /sim/whatsapp/open", face.Handle(s.faceOpen))
	mux.HandleFunc("POST /sim/whatsapp/settings", face.Handle(s.faceSettings))
	mux.HandleFunc("POST /sim/whatsapp/verify", face.Handle(s.faceVerify))
}

// numberBy finds a number by provider id or display phone. Callers hold mu.
func (s *Simulator) numberBy(ref string) (Number, bool) {
	digits := face.Digits(ref)
	if digits == "" {
		return Number{}, false
	}
	for _, n := range s.numbers {
		if n.PhoneNumberID == ref || n.PhoneNumberID == digits || face.Digits(n.DisplayPhone) == digits {
			return n, true
		}
	}
	return Number{}, false
}

// wake tells long polls that something was received. Callers hold mu.
func (s *Simulator) wake() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}
