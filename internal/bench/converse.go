package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/store"
	"github.com/ratiba/ratiba/internal/turn"
)

// A conversation: eight messages of a customer and the payment's callback, each
// one turn.
const (
	messagesPer = 8
	turnsPer    = messagesPer + 1
)

// patience is how long a customer waits before the run is given up.
const patience = 30 * time.Second

// Starts that the n-th conversation of a business asks for: they come around
// after startsPerDay*days conversations, and then find other staff free.
const (
	days         = 55
	startsPerDay = 10
)

// answer is what a customer sees of a committed turn.
type answer struct {
	at      time.Time // committed
	yes     message.Choice
	attempt string // the payment attempt whose prompt is on its way
}

// watched is a tenant's database as turns see it; whoever waits for a turn is
// told when it is committed.
type watched struct {
	turn.Store

	business *business
	clock    clock.Clock
}

// Commit implements turn.Store.
func (w watched) Commit(ctx context.Context, c *turn.Commit, inside func(ctx context.Context, tx db.Tx) error) error {
	if err := w.Store.Commit(ctx, c, inside); err != nil {
		return err
	}
	a := answer{at: w.clock.Now()}
	for _, row := range c.Outbox {
		a.read(row)
	}
	w.business.mu.Lock()
	heard := w.business.waiting[c.Contact.Phone()]
	w.business.mu.Unlock()
	select {
	case heard <- a:
	default: // more turns than messages: the audit counts them
	}
	return nil
}

// read takes from an outbox row what the customer's next step needs: the
// button that says yes to a summary, or the payment that is asked for.
func (a *answer) read(row outbox.Row) {
	switch row.Kind {
	case outbox.SendMessage:
		var send outbox.Send
		if json.Unmarshal(row.Payload, &send) == nil && len(send.Out.Buttons) > 0 {
			a.yes = send.Out.Buttons[0]
		}
	case payment.EffectPrompt:
		var p payment.EffectPayload
		if json.Unmarshal(row.Payload, &p) == nil {
			a.attempt = p.AttemptID
		}
	}
}

// talk is one customer's conversation with a business.
type talk struct {
	w       *world
	b       *business
	n       int // counts the conversations of this business
	phone   string
	heard   chan answer
	turns   *series // from stored to committed
	acks    *series // from received to stored
	arrival func(ctx context.Context) error
}

// hold takes the conversation from the first word to the paid booking.
func (t *talk) hold(ctx context.Context) error {
	defer t.listen()()
	var last answer
	for i := range messagesPer {
		m := t.says(i, last.yes)
		err := t.step(ctx, &last, func(now time.Time) error {
			_, err := t.b.store.Deliver(ctx, []message.Inbound{m}, nil, now, t.b.turns.Tenant.QuietTime)
			return err
		})
		if err != nil {
			return fmt.Errorf("message %d, %q: %w", i+1, m.Text, err)
		}
	}
	if last.attempt == "" {
		return errors.New("the confirmation put no payment prompt on the phone")
	}
	attempt, err := t.prompted(ctx, last.attempt)
	if err != nil {
		return err
	}
	return t.step(ctx, &last, func(now time.Time) error {
		_, err := t.b.store.Report(ctx, attempt, payment.Report{Source: payment.FromCallback, Outcome: payment.Outcome{
			Kind: payment.Success, Amount: attempt.Amount, Receipt: "R" + attempt.ID, Phone: attempt.Phone,
		}}, now)
		return err
	})
}

// listen makes the customer hear what is committed for them until stop.
func (t *talk) listen() (stop func()) {
	t.heard = make(chan answer, 1)
	t.b.mu.Lock()
	t.b.waiting[t.phone] = t.heard
	t.b.mu.Unlock()
	return func() {
		t.b.mu.Lock()
		delete(t.b.waiting, t.phone)
		t.b.mu.Unlock()
	}
}

// step stores one arrival and waits for the committed turn that answers it.
func (t *talk) step(ctx context.Context, last *answer, arrive func(now time.Time) error) error {
	if err := t.arrival(ctx); err != nil {
		return err
	}
	received := t.w.clock.Now()
	if err := arrive(received); err != nil {
		return err
	}
	stored := t.w.clock.Now()
	t.acks.add(stored, stored.Sub(received))
	t.w.pump.Wake(t.b.turns.Tenant.ID, stored)
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case *last = <-t.heard:
		t.turns.add(last.at, last.at.Sub(stored))
		return nil
	case <-timeout.C:
		return errors.Join(errors.New("nobody answered"), t.w.events.err())
	case <-ctx.Done():
		return ctx.Err()
	}
}

// says is the customer's i-th message. Yes is the button last offered.
func (t *talk) says(i int, yes message.Choice) message.Inbound {
	start := t.start()
	text := []string{
		"Hello", "I'd like to come in for a treatment", "a massage please", "on " + start.Format("2 January"), "at " + start.Format("15:04"),
		"Mary Wambui", "Do I need to bring a towel?", yes.Title,
	}[i]
	m := message.Inbound{
		Channel: "whatsapp", Number: t.b.turns.Tenant.Numbers[0].ID, ProviderID: fmt.Sprintf("wamid.%s.%d", t.phone, i),
		From:    []contact.Identity{{Kind: contact.Phone, Value: t.phone}, {Kind: contact.BSUID, Value: "KE." + t.phone[1:]}},
		Profile: "Mary", SentAt: t.w.clock.Now(), Kind: message.Text, Text: text,
	}
	if i == messagesPer-1 {
		m.Kind, m.Choice = message.Button, yes.ID
	}
	return m
}

// start is when the visit shall be: no two conversations at once want the same.
func (t *talk) start() time.Time {
	zone := t.b.turns.Tenant.Location()
	today := t.w.clock.Now().In(zone)
	day, slot := 1+t.n/startsPerDay%days, t.n%startsPerDay
	return time.Date(today.Year(), today.Month(), today.Day()+day, 7, 75*slot, 0, 0, zone)
}

// prompted does what the payment's carrier does when the provider takes the
// prompt at once.
func (t *talk) prompted(ctx context.Context, id string) (payment.Attempt, error) {
	now := t.w.clock.Now()
	_, err := t.b.store.ChangeAttempt(ctx, id, func(a payment.Attempt) (payment.Attempt, bool) {
		a, ok := payment.Begin(a, now)
		return payment.Accept(a, payment.Accepted{MerchantID: "m" + id, CheckoutID: "ws_" + id}), ok
	}, func(a payment.Attempt) time.Time {
		at, _ := payment.NextQuery(a, now)
		return at
	})
	if err != nil {
		return payment.Attempt{}, err
	}
	return t.b.store.Attempt(ctx, id)
}

var _ turn.Store = watched{Store: store.Turns{}}
