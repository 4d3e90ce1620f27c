package modelcheck

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/thread"
	"github.com/ratiba/ratiba/internal/turn"
)

func (m *memory) queue(r outbox.Row) {
	if slices.ContainsFunc(m.outbox, func(e *effect) bool { return e.Key == r.Key }) {
		return
	}
	m.effects++
	r.Seq, r.State, r.Tries = m.effects, outbox.Queued, 0
	e := &effect{Row: r}
	if r.Kind == outbox.SendMessage {
		e.button, e.after = yesButton(r), sends(r).After
	}
	m.outbox = append(m.outbox, e)
}

func unsettled(s outbox.State) bool {
	return s == outbox.Queued || s == outbox.Sending || s == outbox.Doubt
}

// heads are the places of the rows that are first in their lanes.
func (m *memory) heads() []int {
	var out []int
	var lanes []string
	for i, e := range m.outbox {
		if unsettled(e.State) && !slices.Contains(lanes, e.Lane) {
			lanes, out = append(lanes, e.Lane), append(out, i)
		}
	}
	return out
}

// ClaimOutbox implements outbox.Store.
func (m *memory) ClaimOutbox(_ context.Context, now, real time.Time, limit int) (claimed []outbox.Row, next time.Time, err error) {
	n := 0
	for _, i := range m.heads() {
		e := m.outbox[i]
		if e.DueAt.After(real) || n == limit {
			continue
		}
		n++
		started, starts := m.begin(e.Row, now, real)
		marked := *e
		marked.Row = started
		m.outbox[i] = &marked
		if starts {
			claimed = append(claimed, started)
		}
	}
	if n > 0 {
		return claimed, real, nil
	}
	return claimed, time.Time{}, nil
}

func (m *memory) begin(r outbox.Row, now, real time.Time) (outbox.Row, bool) {
	state := m.admit(r, now)
	unknown := r.State != outbox.Queued
	if unknown && r.Resends == outbox.MaxResends && state == outbox.Sending {
		state = outbox.Failed
		m.givenUp(r, outbox.Outcome{}, now)
	}
	if unknown && state == outbox.Sending {
		r.Resends++
	}
	r.State = state
	r.Tries++
	r.DueAt = real.Add(outbox.CarryTime + outbox.DoubtWait)
	return r, state == outbox.Sending
}

func (m *memory) admit(r outbox.Row, now time.Time) outbox.State {
	if !r.ExpiresAt.IsZero() && now.After(r.ExpiresAt) {
		m.raise(turn.TaskRow{ID: r.ID, Kind: "stale", Key: "stale:" + r.ID, Thread: r.ThreadID, Contact: r.ContactID, Detail: r.Kind})
		m.dropped(r, "stale", now)
		return outbox.Stale
	}
	if r.Origin != outbox.Agent || r.ThreadID == "" || m.faults.NoEpoch {
		return outbox.Sending
	}
	for _, th := range m.threads {
		if th.ID == r.ThreadID && th.Epoch != r.Epoch {
			return outbox.Silenced
		}
	}
	if m.driven(r.ContactID) && !m.faults.OwnThread {
		return outbox.Silenced
	}
	return outbox.Sending
}

// dropped tells the thread of a payment prompt that will not be sent.
func (m *memory) dropped(r outbox.Row, code string, now time.Time) {
	if r.Kind != payment.EffectPrompt {
		return
	}
	a := m.attempt(attemptIn(r))
	if a == nil || a.Status != payment.Created {
		return
	}
	m.report(*a, payment.Report{Source: payment.FromPrompt, Outcome: payment.Outcome{Kind: payment.Rejected, Code: code}}, now)
}

func attemptIn(r outbox.Row) string {
	var p payment.EffectPayload
	if err := json.Unmarshal(r.Payload, &p); err != nil {
		panic("modelcheck: " + err.Error())
	}
	return p.AttemptID
}

// givenUp tells the thread of a row that will not be sent any more.
func (m *memory) givenUp(r outbox.Row, o outbox.Outcome, now time.Time) {
	if r.Kind == outbox.SendMessage && r.ContactID != "" {
		m.post(keyOf(r.ContactID), mailbox.Item{Event: &mailbox.Event{
			Kind: mailbox.ReceiptFailed, Name: strconv.Itoa(o.Code), Scope: r.ThreadID,
		}}, "failed:"+r.ID, now)
	}
	m.dropped(r, "failed", now)
}

// SettleOutbox implements outbox.Store.
func (m *memory) SettleOutbox(_ context.Context, r outbox.Row, state outbox.State, due time.Time, o outbox.Outcome, now time.Time) error {
	if state == outbox.Failed {
		m.givenUp(r, o, now)
	}
	for i, e := range m.outbox {
		if e.ID != r.ID || e.Tries != r.Tries {
			continue
		}
		next := *e
		if e.State == outbox.Sending {
			next.State = state
		}
		next.DueAt = due
		if state == outbox.Sent && next.sent.IsZero() {
			next.sent = now
		}
		if state == outbox.Queued && o.Class == outbox.ClassLocal {
			next.Tries--
		}
		m.outbox[i] = &next
	}
	return nil
}

// InFlight implements rows.
func (m *memory) InFlight(_ context.Context, c ids.ContactID) (int, error) {
	n := 0
	for _, e := range m.outbox {
		if e.ContactID == c && e.State == outbox.Sending && e.Origin == outbox.Agent {
			n++
		}
	}
	return n, nil
}

func (m *memory) attempt(id string) *payment.Attempt {
	for _, a := range m.attempts {
		if a.ID == id {
			return a
		}
	}
	return nil
}

// Attempt implements rows.
func (m *memory) Attempt(ctx context.Context, id string) (payment.Attempt, error) {
	return ledger{}.ByID(ctx, tx{m: m}, id)
}

// ChangeAttempt implements rows.
func (m *memory) ChangeAttempt(ctx context.Context, id string, decide func(a payment.Attempt) (payment.Attempt, bool), check func(a payment.Attempt) time.Time) (changed bool, err error) {
	err = m.write(func(t *memory) error {
		a, err := t.Attempt(ctx, id)
		if err != nil {
			return err
		}
		if a, changed = decide(a); !changed {
			return nil
		}
		if err := (ledger{}).Update(ctx, tx{m: t}, a); err != nil {
			return err
		}
		t.setTimer(turn.TimerRow{
			Mailbox: keyOf(a.ContactID), Name: turn.PaymentCheck + a.ID, At: check(a), Data: payment.Check(a),
		}, "")
		return nil
	})
	return changed, err
}

// Report implements rows.
func (m *memory) Report(_ context.Context, a payment.Attempt, r payment.Report, now time.Time) (bool, error) {
	return m.report(a, r, now), nil
}

func (m *memory) report(a payment.Attempt, r payment.Report, now time.Time) bool {
	dedupe := fmt.Sprintf("payment:%s:%s:%s:%s:%s", a.ID, r.Source, r.Outcome.Code, r.Outcome.Receipt, r.Outcome.Amount)
	return m.post(keyOf(a.ContactID), mailbox.Item{Event: &mailbox.Event{
		Kind: mailbox.Payment, Name: turn.PaymentAttempt + a.ID, Data: encode(r),
	}}, dedupe, now)
}

// ledger keeps attempts in memory. It implements payment.Ledger.
type ledger struct{}

func in(q db.Q) *memory { return q.(tx).m } //nolint:forcetypeassert // memory's transactions are all there are.

// Insert implements payment.Ledger.
func (ledger) Insert(_ context.Context, t db.Tx, a payment.Attempt) error {
	m := in(t)
	m.attempts = append(m.attempts, &a)
	return nil
}

// Update implements payment.Ledger.
func (ledger) Update(_ context.Context, t db.Tx, a payment.Attempt) error {
	m := in(t)
	if m.faults.DropLate {
		if old := m.attempt(a.ID); old != nil && old.Status == payment.UnknownClosed && a.Status == payment.Succeeded {
			return nil
		}
	}
	for i, o := range m.attempts {
		switch {
		case o.ID == a.ID:
			m.attempts[i] = &a
		case a.CheckoutID != "" && o.CheckoutID == a.CheckoutID, a.Receipt != "" && o.Receipt == a.Receipt:
			return fault.E(fault.Conflict, "That payment is already recorded for another attempt.")
		}
	}
	return nil
}

// BySubject implements payment.Ledger.
func (ledger) BySubject(_ context.Context, q db.Q, subject string) ([]payment.Attempt, error) {
	var out []payment.Attempt
	for _, a := range in(q).attempts {
		if a.Subject == subject {
			out = append(out, *a)
		}
	}
	return newest(out), nil
}

func newest(list []payment.Attempt) []payment.Attempt {
	slices.SortStableFunc(list, func(a, b payment.Attempt) int {
		if c := b.CreatedAt.Compare(a.CreatedAt); c != 0 {
			return c
		}
		return strings.Compare(b.ID, a.ID)
	})
	return list
}

// OnPhone implements payment.Ledger.
func (ledger) OnPhone(_ context.Context, q db.Tx, phone string, since time.Time) ([]payment.Attempt, error) {
	var out []payment.Attempt
	for _, a := range in(q).attempts {
		if a.Phone == phone && (a.Status.Live() || !a.CreatedAt.Before(since) || !a.SentAt.Before(since)) {
			out = append(out, *a)
		}
	}
	return newest(out), nil
}

// ByReceipt implements payment.Ledger.
func (ledger) ByReceipt(_ context.Context, q db.Q, receipt string) (payment.Attempt, error) {
	for _, a := range in(q).attempts {
		if a.Receipt == receipt {
			return *a, nil
		}
	}
	return payment.Attempt{}, fault.E(fault.NotFound, "No such payment.")
}

// ByID implements payment.Ledger.
func (ledger) ByID(_ context.Context, q db.Q, id string) (payment.Attempt, error) {
	if a := in(q).attempt(id); a != nil {
		return *a, nil
	}
	return payment.Attempt{}, fault.E(fault.NotFound, "No such payment.")
}

// Locked implements payment.Ledger. Nobody else changes memory meanwhile.
func (l ledger) Locked(ctx context.Context, t db.Tx, id string) (payment.Attempt, error) {
	return l.ByID(ctx, t, id)
}

func encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("modelcheck: %T cannot be encoded: %v", v, err)) // plain values
	}
	return b
}

// driven reports whether a human drives an open thread of a contact.
func (m *memory) driven(c ids.ContactID) bool {
	return slices.ContainsFunc(m.threads, func(th *thread.Thread) bool {
		return th.ContactID == c && th.Open() && th.Driver == thread.HumanDriving
	})
}
