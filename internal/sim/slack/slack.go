// Package slack simulates the part of Slack that a bot talks to: one workspace
// with channels, the methods of the Web API that post and change messages, and
// people who tap buttons.
//
// It speaks the provider's wire over real HTTP: bearer tokens, Block Kit with its
// limits, ok:false with the provider's error names, 429 with Retry-After, and
// interactions posted back as a signed form. A tap that is not answered 200
// within three seconds is posted again, twice at most. What it knows lives in
// memory. It imports only leaves and the simulator's own leaves.
package slack

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/sim/courier"
	"github.com/ratiba/ratiba/internal/sim/face"
	"github.com/ratiba/ratiba/internal/sim/journal"
)

// App is the bot's app: what it is known by and where its interactions go.
type App struct {
	Token         string // of the bot
	SigningSecret string
	URL           string // of interactions
}

// Config is what a Simulator is made of. Clock, Courier and Journal are
// required.
type Config struct {
	Clock    clock.Clock // of the workspace: ids of messages, signatures; the machine's
	Courier  *courier.Courier
	Journal  *journal.Journal
	App      App
	Channels []string // names, without #; "escalations" when empty
	// Backoff is the pause before a tap is posted again; 250 ms.
	Backoff time.Duration
}

// channelID is the id of the n-th channel.
func channelID(n int) string { return fmt.Sprintf("C0RATIBA%03d", n+1) }

// Simulator is the workspace. It is safe for concurrent use.
type Simulator struct {
	cfg Config

	mu       sync.Mutex
	messages []*posted // oldest first
	seq      int64
	lastTS   int64 // microseconds
	programs []*programmed
	changed  chan struct{} // nil while nobody waits
}

// posted is a message, or a whisper, as people see it.
type posted struct {
	Seq     int64            `json:"seq"` // raised by every change
	Channel string           `json:"channel"`
	Name    string           `json:"channel_name"`
	TS      string           `json:"ts"`
	Text    string           `json:"text"`
	Blocks  []map[string]any `json:"blocks"`
	Edited  bool             `json:"edited,omitempty"`
	To      string           `json:"to,omitempty"` // the one person a whisper is shown to
}

// New returns a simulator, or every fault of cfg at once.
func New(cfg Config) (*Simulator, error) {
	var faults []error
	if cfg.Clock == nil || cfg.Courier == nil || cfg.Journal == nil {
		faults = append(faults, errors.New("sim slack: Clock, Courier and Journal are required"))
	}
	if len(cfg.Channels) == 0 {
		cfg.Channels = []string{"escalations"}
	}
	for _, name := range cfg.Channels {
		if name == "" || strings.ContainsAny(name, "# \n") {
			faults = append(faults, fmt.Errorf("sim slack: %q is no channel's name", name))
		}
	}
	cfg.Backoff = cmp.Or(cfg.Backoff, 250*time.Millisecond)
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return &Simulator{cfg: cfg}, nil
}

// Routes mounts the provider's API and the laboratory's face on mux.
func (s *Simulator) Routes(mux *http.ServeMux) {
	mux.HandleFunc("POST /slack/api/auth.test", s.method(s.authTest))
	mux.HandleFunc("POST /slack/api/chat.postMessage", s.method(s.postMessage))
	mux.HandleFunc("POST /slack/api/chat.update", s.method(s.update))
	mux.HandleFunc("POST /slack/api/chat.postEphemeral", s.method(s.postEphemeral))
	mux.HandleFunc("POST /slack/api/{method}", s.method(func(request) (any, string) { return nil, "unknown_method" }))

	mux.HandleFunc("GET /sim/slack/messages", face.Handle(s.faceMessages))
	mux.HandleFunc("POST /sim/slack/tap", face.Handle(s.faceTap))
	mux.HandleFunc("POST /sim/slack/next", face.Handle(s.faceNext))
}

// channel finds a channel by its id or name. Its id is "" when there is none.
func (s *Simulator) channel(named string) (id, name string) {
	for i, n := range s.cfg.Channels {
		if named == channelID(i) || strings.TrimPrefix(named, "#") == n {
			return channelID(i), n
		}
	}
	return "", ""
}

// message finds a message. Callers hold mu.
func (s *Simulator) message(channel, ts string) *posted {
	at := slices.IndexFunc(s.messages, func(m *posted) bool { return m.Channel == channel && m.TS == ts && m.To == "" })
	if at < 0 {
		return nil
	}
	return s.messages[at]
}

// add shows a message. Callers hold mu.
func (s *Simulator) add(m *posted) {
	at := max(s.cfg.Clock.Now().UnixMicro(), s.lastTS+1)
	s.lastTS = at
	m.TS = fmt.Sprintf("%d.%06d", at/1e6, at%1e6)
	s.messages = append(s.messages, m)
	s.touch(m)
}

// touch numbers a change and wakes who waits for one. Callers hold mu.
func (s *Simulator) touch(m *posted) {
	s.seq++
	m.Seq = s.seq
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}
