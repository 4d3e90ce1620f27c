// Package desktest is a small shop to test the booking tools in: a real
// database, the real registry, a clock that stands still and a list of what
// was to be sent. Only tests import it.
package desktest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/app/booking/bookingsql"
	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/tools"
	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/db/dbtest"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/money"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/tool"
)

const definition = `
services:
  - {key: massage, name: {en: Massage, sw: Masaji}, minutes: 60, price: 3500, deposit: 1000}
  - {key: facial, name: {en: Facial}, minutes: 30, price: 2000, staff: [grace]}
  - {key: private, name: {en: Private}, minutes: 30, price: 2000, hidden: true}
staff:
  - {key: grace, name: Grace, hours: {mon-sat: ["09:00-13:00", "14:00-18:00"]}}
  - {key: jane, name: Jane, hours: {mon-fri: ["10:00-18:00"]}}
`

// Morning is Monday 2 March 2026, 08:00 in Nairobi.
var Morning = time.Date(2026, 3, 2, 5, 0, 0, 0, time.UTC)

// At is an instant of March 2026 on Nairobi's wall clock.
func At(day, hour, minute int) time.Time {
	return time.Date(2026, 3, day, hour-3, minute, 0, 0, time.UTC)
}

// Shop is one business with its tools.
type Shop struct {
	t        testing.TB
	db       *db.DB
	registry *tool.Registry
	Now      time.Time
	Ledger   *Ledger
	Effects  []tool.Effect
	// As is who calls when no contact does; the owner.
	As tool.Actor
	// What the tools keep beside the calendar.
	Book       *Book
	Index      *Index
	Broadcasts *Broadcasts
	Timers     map[string]calendar.Touch // by name
	// Initiator is who may return M-Pesa payments; nobody when empty.
	Initiator string
}

// New opens a shop at Morning.
func New(tb testing.TB) *Shop {
	tb.Helper()
	s := &Shop{
		Timers: map[string]calendar.Touch{},
		t:      tb, Now: Morning, Ledger: &Ledger{}, Book: &Book{}, Index: &Index{}, Broadcasts: &Broadcasts{},
		As: tool.Actor{ID: "+254711000000", Role: tenant.Owner},
	}
	var err error
	s.registry, err = tool.NewRegistry(tools.All(tools.Stores{Payments: s.Ledger, People: s.Book, Documents: s.Index, Broadcasts: s.Broadcasts})...)
	if err != nil {
		tb.Fatal(err)
	}
	s.db = dbtest.Open(tb)
	if err := s.db.Migrate(tb.Context(), "booking", bookingsql.Migrations()); err != nil {
		tb.Fatal(err)
	}
	s.Apply()
	return s
}

// Apply applies the shop's definition.
func (s *Shop) Apply() {
	s.t.Helper()
	settings, err := calendar.ParseSettings([]byte(definition))
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.db.Write(s.t.Context(), func(tx db.Tx) error {
		return bookingsql.Apply(s.t.Context(), tx, s.tenant(), settings, s.Now)
	}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *Shop) tenant() *tenant.Tenant {
	return &tenant.Tenant{
		ID: "t1", Slug: "spa", Name: "Spa", TimeZone: "Africa/Nairobi", Currency: "KES", Locale: "en",
		Numbers: []tenant.Number{{ID: "100"}}, Admins: []tenant.Admin{{Phone: "+254711000000"}}, AnnouncementCost: money.USD / 100, Mpesa: &tenant.Mpesa{Initiator: s.Initiator},
	}
}

var errRefused = errors.New("refused")

// Call runs a tool for a contact as a turn would: a conflict undoes what the
// tool did, and an irreversible one has its confirmation.
func (s *Shop) Call(contactID, name string, args any) graph.Result {
	s.t.Helper()
	call := graph.Call{Tool: name, Args: args}
	env := tool.Env{
		Now: s.Now, IDs: ids.NewSource(ids.Seed{}, s.Now), Tenant: s.tenant(), Contact: contact.Contact{ID: ids.ContactID(contactID)},
		Thread: "thread", Turn: "turn", Actor: tool.Actor{ID: contactID},
	}
	if contactID == "" {
		env.Actor = s.As
	}
	var res graph.Result
	if m, _ := s.registry.Metadata(name); m.SafetyClass == tool.Read {
		if err := s.db.Read(s.t.Context(), func(q db.Q) (err error) {
			env.Q = q
			res, err = s.registry.Read(s.t.Context(), env, call)
			return err
		}); err != nil {
			s.t.Fatalf("%s: %v", name, err)
		}
		return res
	}
	err := s.db.Write(s.t.Context(), func(tx db.Tx) (err error) {
		env.Q, env.Tx = tx, tx
		env.Enqueue = func(_ context.Context, e tool.Effect) error {
			s.Effects = append(s.Effects, e)
			return nil
		}
		env.Answered = func(context.Context, ids.ThreadID) ([]tool.Answered, error) {
			return []tool.Answered{{Role: "intent_classifier", Prompt: "1.0.0", Arm: "control"}}, nil
		}
		env.SetTimer = func(name string, at time.Time, data any) {
			delete(s.Timers, name)
			if touch, ok := data.(calendar.Touch); ok && touch.At.Equal(at) {
				s.Timers[name] = touch
			}
		}
		res, err = s.registry.Write(s.t.Context(), env, call, []tool.Grant{{
			By: tool.ByConfirmation, Digest: call.Digest(), Actor: env.Actor.ID, Until: s.Now,
		}})
		if err == nil && !res.OK {
			err = errRefused
		}
		return err
	})
	if err != nil && !errors.Is(err, errRefused) {
		s.t.Fatalf("%s: %v", name, err)
	}
	return res
}

// Must runs a tool that has to succeed and decodes what it answers.
func Must[T any](s *Shop, contactID, name string, args any) T {
	s.t.Helper()
	res := s.Call(contactID, name, args)
	if !res.OK {
		s.t.Fatalf("%s refused: %s (%s)", name, res.Code, res.Sentence)
	}
	var out T
	if err := res.Decode(&out); err != nil {
		s.t.Fatal(err)
	}
	return out
}

// Refused runs a tool that has to answer a conflict and decodes its data.
func Refused[T any](s *Shop, contactID, name string, args any, code string) T {
	s.t.Helper()
	res := s.Call(contactID, name, args)
	if res.OK || res.Code != code || res.Sentence == "" || res.Next == "" {
		s.t.Fatalf("%s answered %+v, want the conflict %s", name, res, code)
	}
	var out T
	if err := res.Decode(&out); err != nil {
		s.t.Fatal(err)
	}
	return out
}

// Hold takes the massage with Grace for ten minutes.
func (s *Shop) Hold(contactID, id string, start time.Time) calendar.Booking {
	s.t.Helper()
	return Must[calendar.Booking](s, contactID, calendar.HoldSlot, HoldArgs(contactID, id, start, s.Now.Add(10*time.Minute)))
}

// HoldArgs are the arguments of Hold.
func HoldArgs(contactID, id string, start, until time.Time) calendar.HoldSlotArgs {
	return calendar.HoldSlotArgs{
		BookingID: id, Code: "CODE" + id, ContactID: contactID, Name: "Asha", ServiceID: "massage", StaffID: "grace",
		Start: start, HoldUntil: until,
	}
}

// Confirmed takes the massage with Grace and pays its deposit.
func (s *Shop) Confirmed(contactID, id string, start time.Time) calendar.Booking {
	s.t.Helper()
	b := s.Hold(contactID, id, start)
	return Must[calendar.Booking](s, contactID, calendar.ConfirmBooking, calendar.ConfirmBookingArgs{
		BookingID: b.ID, Start: b.Start, Paid: b.Deposit, Receipt: "R" + id,
	})
}

// Feedback is what is kept of what a customer said.
type Feedback struct{ Rating, Comment, Thread, Turn, Models string }

// Feedback reads what is kept for a booking.
func (s *Shop) Feedback(bookingID string) (f Feedback) {
	s.t.Helper()
	var models []tool.Answered
	if err := s.db.Ask(s.t.Context(), db.Into("read feedback", []any{&f.Rating, &f.Comment, &f.Thread, &f.Turn, db.JSON{V: &models}},
		"SELECT rating, comment, thread_id, turn_id, models FROM feedback WHERE booking_id = $1", bookingID)); err != nil {
		s.t.Fatal(err)
	}
	raw, err := json.Marshal(models)
	if err != nil {
		s.t.Fatal(err)
	}
	f.Models = string(raw)
	return f
}

// Ledger keeps attempts in memory, oldest first.
type Ledger struct{ Attempts []payment.Attempt }

// Insert implements payment.Ledger.
func (l *Ledger) Insert(_ context.Context, _ db.Tx, a payment.Attempt) error {
	l.Attempts = append(l.Attempts, a)
	return nil
}

// Update implements payment.Ledger.
func (l *Ledger) Update(_ context.Context, _ db.Tx, a payment.Attempt) error {
	for i := range l.Attempts {
		if l.Attempts[i].ID == a.ID {
			l.Attempts[i] = a
			return nil
		}
	}
	return fault.E(fault.NotFound, "no such attempt")
}

// BySubject implements payment.Ledger.
func (l *Ledger) BySubject(_ context.Context, _ db.Q, subject string) ([]payment.Attempt, error) {
	var out []payment.Attempt
	for _, a := range slices.Backward(l.Attempts) {
		if a.Subject == subject {
			out = append(out, a)
		}
	}
	return out, nil
}

// OnPhone implements payment.Ledger.
func (l *Ledger) OnPhone(_ context.Context, _ db.Tx, phone string, since time.Time) ([]payment.Attempt, error) {
	var out []payment.Attempt
	for _, a := range slices.Backward(l.Attempts) {
		if a.Phone == phone && (a.Status.Live() || !a.CreatedAt.Before(since) || !a.SentAt.Before(since)) {
			out = append(out, a)
		}
	}
	return out, nil
}

// ByReceipt implements payment.Ledger.
func (l *Ledger) ByReceipt(_ context.Context, _ db.Q, receipt string) (payment.Attempt, error) {
	for _, a := range l.Attempts {
		if a.Receipt == receipt {
			return a, nil
		}
	}
	return payment.Attempt{}, fault.E(fault.NotFound, "no such attempt")
}

// ByID implements payment.Ledger.
func (l *Ledger) ByID(_ context.Context, _ db.Q, id string) (payment.Attempt, error) {
	for _, a := range l.Attempts {
		if a.ID == id {
			return a, nil
		}
	}
	return payment.Attempt{}, fault.E(fault.NotFound, "no such attempt")
}

// Locked implements payment.Ledger.
func (l *Ledger) Locked(ctx context.Context, tx db.Tx, id string) (payment.Attempt, error) {
	return l.ByID(ctx, tx, id)
}

// Preview asks what a call of the business would do.
func (s *Shop) Preview(name string, args any) (res graph.Result) {
	s.t.Helper()
	if err := s.db.Read(s.t.Context(), func(q db.Q) (err error) {
		res, err = s.registry.Preview(s.t.Context(), tool.Env{Q: q, Now: s.Now, Tenant: s.tenant(), Actor: s.As}, graph.Call{Tool: name, Args: args})
		return err
	}); err != nil {
		s.t.Fatalf("%s: %v", name, err)
	}
	return res
}
