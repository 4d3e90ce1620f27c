// Package modelcheck explores what can happen to one customer, two admins and
// their business, in every order, and holds the promises against every state
// that is reached.
//
// What runs is the product: turn.Engine with the booking app's graph, the
// decisions of handoff, payment and outbox. What is replaced is outside of
// them: the database is plain values (memory, with the fences of the store, so
// that a state can be kept and gone back to), the booking tools work on it in
// place of SQL, and understanding is its tier 0, which needs no model. A test
// walks sampled paths on the SQLite store with the app's own tools as well and
// wants the same rows, so that the replacement cannot drift.
//
// The search is breadth-first and exhaustive: from a start, every action that
// is possible in a state is taken, until a depth or, where the budgets leave
// nothing to do, until the end. Budgets bound how often each thing that comes
// from outside may happen on one path. Equal states are explored once. Two
// states are equal when they differ only in names that were drawn at random, in
// what is over and decides nothing any more, and by less than a second in how
// long ago things were. The first violation found has the shortest path.
//
// The carriers of server reach WhatsApp and the provider and are replaced as
// well, step by step, so that things can happen between their steps. What they
// decide is payment's and outbox's: when an attempt is looked at and what for,
// what an answer makes of it, and whether a message yields to sends under way.
//
// The package belongs to the laboratory. It imports the product and no adapter;
// its tests join it with the store.
package modelcheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/ratiba/ratiba/internal/app"
	"github.com/ratiba/ratiba/internal/app/booking"
	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	bookingtools "github.com/ratiba/ratiba/internal/app/booking/tools"
	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/tool"
	"github.com/ratiba/ratiba/internal/turn"
	"github.com/ratiba/ratiba/internal/understand"
	"github.com/ratiba/ratiba/internal/wording"
)

// Faults break the store in memory on purpose, so that a test can see the
// checker find it.
type Faults struct {
	NoEpoch   bool // a send starts whatever the thread's epoch is
	OwnThread bool // a send looks at its own thread only, not at a human on the contact's next one
	NoVersion bool // a commit does not compare the thread's version
	Blindly   bool // a prompt whose sending was interrupted is sent again
	DropLate  bool // a success after the attempt was given up is not written
}

// The parties. Their numbers are their places among the contacts.
const (
	partyCustomer = iota
	partyA
	partyB
)

var parties = [...]string{"customer", "A", "B"} //nolint:gochecknoglobals // constant names.

const number = "100" // the business's

// morning is when every exploration begins: a Saturday, 10:00 in Nairobi.
func morning() time.Time { return time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC) }

const definition = `{
 "services": [{"key": "massage", "name": {"en": "Massage", "sw": "Masaji"}, "minutes": 60, "interval": 60, "price": 3500, "deposit": 1000}],
 "staff": [{"key": "grace", "name": "Grace", "hours": {"mon-sun": ["09:00-17:00"]}}],
 "policy": {"notice_minutes": 60, "horizon_days": 60, "cancel_hours": 24, "hold_minutes": 10, "max_holds": 2}
}`

func phone(party int) string { return fmt.Sprintf("+25470000000%d", party+1) }

// kit is the product as it is composed for a store: what does not change.
type kit struct {
	texts    *wording.Catalogue
	app      app.App
	turns    turn.Business // without a store
	payments payment.Ledger
	tenant   *tenant.Tenant
	reader   *reader
}

// newKit composes the product with a ledger. adapt may give the tools other
// handlers.
func newKit(ledger payment.Ledger, adapt func([]tool.Tool) []tool.Tool) (*kit, error) {
	a, err := booking.New(bookingtools.Stores{Payments: ledger})
	if err != nil {
		return nil, err
	}
	a.Jobs = nil // they belong to no contact, and nobody here waits in line
	texts, err := turn.Texts()
	if err != nil {
		return nil, err
	}
	registry, err := tool.NewRegistry(adapt(a.Tools)...)
	if err != nil {
		return nil, err
	}
	t := &tenant.Tenant{
		ID: "01TENANT", Slug: "spa", Name: "The Spa", Vertical: "spa", App: a.Name, Country: "KE", Locale: "en", TimeZone: "Africa/Nairobi",
		Currency: "KES", Assistant: "Savannah", Settings: json.RawMessage(definition), Numbers: []tenant.Number{{ID: number}}, Thresholds: tenant.BaseThresholds("spa"),
		Admins: []tenant.Admin{
			{Name: "Wangu", Phone: phone(partyA), Language: "en"}, {Name: "Otis", Phone: phone(partyB), Language: "en"},
		},
	}
	turns, err := turn.NewBusiness(t, a, registry, nil)
	if err != nil {
		return nil, err
	}
	return &kit{texts: texts, app: a, turns: turns, payments: ledger, tenant: t, reader: &reader{}}, nil
}

// inMemory is the product over memory.
func inMemory() (*kit, error) {
	s, err := calendar.ParseSettings([]byte(definition))
	if err != nil {
		return nil, err
	}
	return newKit(ledger{}, tools{settings: s.In("KES")}.over)
}

func nameOf(t tool.Tool) string {
	var d tool.Definition
	if err := json.Unmarshal(t.Definition, &d); err != nil {
		panic("modelcheck: " + err.Error()) // the product's own file
	}
	return d.Name
}

// founded is the business before anybody wrote.
func founded(f Faults) *memory {
	m := &memory{faults: f}
	for i, name := range []string{"Amina", "Wangu", "Otis"} {
		m.contacts = append(m.contacts, person{Contact: contact.Contact{
			ID: ids.ContactID(ids.New(morning().Add(time.Duration(i-10) * time.Second))), Name: name,
			Identities: []contact.Identity{{Kind: contact.Phone, Value: phone(i)}},
		}})
	}
	return m
}

// reader is understanding without a model, remembered by what was said: the
// same words are read again and again.
type reader struct{ known sync.Map }

// Understand implements turn.Understander.
func (u *reader) Understand(_ context.Context, req understand.Request, _ understand.IDs) (graph.Input, []string, error) {
	var key strings.Builder
	for _, m := range req.Messages {
		key.WriteString(m.Text + "\x00" + m.Choice + "\x00")
	}
	key.WriteString(req.Previous + req.Now.Format(time.DateOnly))
	key.Write(encode(req.Expect))
	if in, ok := u.known.Load(key.String()); ok {
		return in.(graph.Input), nil, nil //nolint:forcetypeassert // nothing else is stored.
	}
	in := understand.Tier0(req)
	in.Confidence, in.Sentiment = 1, understand.Neutral
	u.known.Store(key.String(), in)
	return in, nil, nil
}

// Shape implements turn.Understander: the template's words stand.
func (u *reader) Shape(context.Context, llm.Role, []string, string, string, understand.IDs) (text, callID string, err error) {
	return "", "", nil
}

// complaints collects what the product logs as an error: a turn that fails is
// a violation.
type complaints struct {
	slog.Handler
	said *[]string
}

func complain() complaints { return complaints{Handler: slog.DiscardHandler, said: &[]string{}} }

// Enabled implements slog.Handler.
func (c complaints) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelError }

// Handle implements slog.Handler.
func (c complaints) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "error" {
			text += ": " + a.Value.String()
		}
		return true
	})
	*c.said = append(*c.said, text)
	return nil
}

func (c complaints) err() error {
	if len(*c.said) == 0 {
		return nil
	}
	return errors.New(strings.Join(*c.said, "; "))
}

// engine is a new engine at an instant. It is new for every turn because an
// engine remembers how fast a contact writes, which no state here has.
func (k *kit) engine(now, real time.Time, said complaints) *turn.Engine {
	return turn.New(turn.Config{
		Understander: k.reader, Texts: k.texts, Payments: k.payments, Clock: clock.NewFixed(now), Real: clock.NewFixed(real),
		Logger: slog.New(said),
	})
}

func (k *kit) business(s turn.Store) turn.Business {
	b := k.turns
	b.Store = s
	return b
}

func sends(r outbox.Row) outbox.Send {
	var s outbox.Send
	if err := json.Unmarshal(r.Payload, &s); err != nil {
		panic("modelcheck: " + err.Error()) // the engine wrote it
	}
	return s
}
