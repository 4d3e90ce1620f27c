package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/handoff"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/thread"
)

// settling is a provider's word on an attempt, and what it makes of it.
type settling struct {
	report  payment.Report
	attempt payment.Attempt // as it was read
	told    payment.Settled
	changed bool
	// taken is set when the receipt turned out to be another attempt's: the
	// money is a person's to place.
	taken bool
}

// errReceiptTaken undoes a commit whose receipt belongs to another attempt.
var errReceiptTaken = errors.New("turn: the receipt is recorded for another attempt")

// settle decides what a payment event means. The truth of the attempt is
// settled before any thread is looked at.
func (r *run) settle() error {
	if r.snap.Attempt == nil {
		return errors.New("settle: the event names no attempt")
	}
	s := &settling{attempt: *r.snap.Attempt}
	if err := json.Unmarshal(r.batch.Event().Data, &s.report); err != nil {
		return fmt.Errorf("settle: %w", err)
	}
	_, s.told, s.changed = s.on(s.attempt, r.now)
	r.settling = s
	return nil
}

// on is what the report makes of an attempt.
func (s *settling) on(a payment.Attempt, now time.Time) (payment.Attempt, payment.Settled, bool) {
	switch s.report.Source {
	case payment.FromClose:
		return payment.Close(a, now)
	case payment.FromRefund:
		return payment.SettleRefund(a, s.report.Outcome, now)
	case payment.RefundClose:
		return payment.CloseRefund(a, now)
	case payment.FromCallback, payment.FromQuery, payment.FromPrompt:
	}
	return payment.Settle(a, s.report.Outcome, s.report.Source, now)
}

// settleInside writes the attempt in the commit, deciding once more on the row
// as it is now: the prompt's own answer may have been recorded meanwhile.
func (r *run) settleInside(ctx context.Context, tx db.Tx) error {
	s := r.settling
	if s == nil || !s.changed {
		return nil
	}
	a, err := r.e.cfg.Payments.Locked(ctx, tx, s.attempt.ID)
	if err != nil {
		return err
	}
	after, told, changed := s.on(a, r.now)
	if !changed || told != s.told {
		return ErrStale // what was decided to say of it is no longer so
	}
	if s.taken {
		after.Status, after.Receipt, after.CheckoutID, after.MerchantID = payment.Mismatched, a.Receipt, a.CheckoutID, a.MerchantID
	}
	err = r.e.cfg.Payments.Update(ctx, tx, after)
	if fault.CodeOf(err) == fault.Conflict {
		return errReceiptTaken
	}
	// By the row as it is now: somebody may have claimed meanwhile that there is
	// news, and the provider is to be asked for it.
	r.commit.Timers = append(r.commit.Timers, TimerRow{
		Mailbox: r.claim.Key, Name: PaymentCheck + a.ID, At: payment.NextCheck(after, r.now), Data: payment.Check(after),
	})
	return err
}

// paymentTurn tells the thread that owns the payment, or acts on it without a
// thread: money needs none.
func (r *run) paymentTurn(ctx context.Context) error {
	s := r.settling
	if !s.changed || s.told.AttemptID == "" {
		return nil
	}
	told := s.told
	told.Mismatch = told.Mismatch || s.taken
	raw := encode(told)
	r.after(func() {
		r.log(ctx, slogInfo, "payment.settled", attr("attempt_id", s.attempt.ID), attr("outcome", string(told.Kind)),
			attr("source", string(s.report.Source)))
	})
	if r.snap.Thread != nil && r.before.Driver != thread.AgentDriving {
		told.Human = true
		return r.paymentUnderHuman(ctx, told, encode(told))
	}
	return r.stepPayment(ctx, raw)
}

// paymentUnderHuman keeps the thread where it is and tells the humans.
func (r *run) paymentUnderHuman(ctx context.Context, told payment.Settled, raw json.RawMessage) error {
	r.th.Handoff.Missed = append(r.th.Handoff.Missed, raw)
	if told.Kind == payment.Offered {
		return nil // no money came: the customer gets the link once the agent is back
	}
	for _, to := range r.engagedWith() {
		if err := r.sayTo(ctx, to, outbox.Payment, graph.Say{Text: "platform_payment_in_handoff", Facts: map[string]any{
			"code": r.th.Handoff.Code, "outcome": string(told.Kind), "mismatch": told.Mismatch, "receipt": told.Receipt, "amount": told.Amount,
			"name": r.contactName(), "phone": handoff.MaskPhone(r.snap.Contact.Phone()), "reference": r.settling.attempt.Reference,
		}}); err != nil {
			return err
		}
	}
	return nil
}

// engagedWith are the admins a customer's payment is told to: who drives, or all
// who were paged.
func (r *run) engagedWith() []who {
	if admin := r.b.Tenant.AdminByPhone(r.th.Handoff.AdminPhone); admin != nil && r.before.Driver == thread.HumanDriving {
		return []who{r.toAdmin(*admin)}
	}
	return r.admins()
}

// stepPayment takes a payment event through the graph: on the thread that owns
// what was paid for, else on a state of its own that opens no thread.
func (r *run) stepPayment(ctx context.Context, raw json.RawMessage) error {
	told, raw, err := r.receipted(ctx, raw)
	if err != nil {
		return fmt.Errorf("read payment event: %w", err)
	}
	r.in = graph.Input{Language: r.th.Language, LanguageConfidence: 1, Confidence: 1, Event: &graph.Event{
		Kind: mailbox.Payment, Name: string(told.Kind), Data: raw, At: r.now,
	}}
	node, state := graph.Name(r.th.Node), r.th.State
	owned := r.snap.Thread != nil && r.unreadable == nil && r.app.Owns(state, told.Subject)
	if !owned {
		r.app = r.b.App
		node, state = r.app.Flow.Start()
	}
	s, err := r.walk(ctx, r.app.Flow, node, state)
	if err != nil {
		return err
	}
	if owned {
		return r.keep(ctx, s)
	}
	return r.tell(ctx, s, outbox.Payment)
}

// receipted reads a payment event. A query says that money came and brings no
// receipt; where the event has waited, a callback may have brought it since.
func (r *run) receipted(ctx context.Context, raw json.RawMessage) (told payment.Settled, now json.RawMessage, err error) {
	if err := json.Unmarshal(raw, &told); err != nil {
		return told, nil, err
	}
	if told.Kind != payment.Success || told.Receipt != "" || told.Mismatch {
		return told, raw, nil
	}
	err = r.b.Store.Read(ctx, func(q db.Q) error {
		a, err := r.e.cfg.Payments.ByID(ctx, q, told.AttemptID)
		if a.Status == payment.Succeeded {
			told.Receipt = a.Receipt
		}
		return err
	})
	return told, encode(told), err
}

// missedTurn acts on a payment that came under a human who then closed the
// chat; under another human it waits on.
func (r *run) missedTurn(ctx context.Context) error {
	raw := r.batch.Event().Data
	if r.th.Handoff != nil {
		r.th.Handoff.Missed = append(r.th.Handoff.Missed, raw)
		return nil
	}
	return r.stepPayment(ctx, raw)
}

// paymentCheck asks the provider, after commit, what became of a prompt.
func (r *run) paymentCheck() {
	id := strings.TrimPrefix(r.batch.Event().Name, PaymentCheck)
	r.effects = append(r.effects, outbox.Row{
		Lane: string(r.snap.Contact.ID) + ":payments", Kind: payment.EffectQuery, Origin: outbox.Payment,
		Key: "query:" + id + ":" + string(r.turnID), ContactID: r.snap.Contact.ID,
		Payload: encode(payment.EffectPayload{AttemptID: id}),
	})
}

// timerTurn steps the graph with one of its own timers.
func (r *run) timerTurn(ctx context.Context) error {
	e := r.batch.Event()
	r.in = graph.Input{Language: r.th.Language, LanguageConfidence: 1, Confidence: 1, Event: &graph.Event{
		Kind: mailbox.Timer, Name: e.Name, Data: e.Data, At: r.batch.Items[0].ReceivedAt,
	}}
	s, err := r.walk(ctx, r.app.Flow, graph.Name(r.th.Node), r.th.State)
	if err != nil {
		return err
	}
	return r.keep(ctx, s)
}

// noticeTurn takes a timer or event of the app's own through its graph of
// notices. It is said whoever drives the thread, and changes no thread.
func (r *run) noticeTurn(ctx context.Context) error {
	notices := r.b.App.Notices
	if notices == nil {
		return nil
	}
	r.app = r.b.App // whose words they are, even to one of the business's own people
	e := r.batch.Event()
	r.in = graph.Input{Language: r.th.Language, LanguageConfidence: 1, Confidence: 1, Event: &graph.Event{
		Kind: e.Kind, Name: e.Name, Data: e.Data, At: r.batch.Items[0].ReceivedAt,
	}}
	node, state := notices.Start()
	s, err := r.walk(ctx, notices, node, state)
	if err != nil {
		return err
	}
	for _, t := range s.timers {
		r.timers = append(r.timers, TimerRow{Mailbox: r.claim.Key, Name: t.Name, At: t.At, Data: t.Data})
	}
	return r.tell(ctx, s, outbox.Reminder)
}

// expire closes a thread nobody went on with and gives back what it held. The
// time to live does not run under a human, while a payment is open, or while
// people are asked to decide.
func (r *run) expire() {
	if r.before.Driver != thread.AgentDriving || r.snap.PaymentOpen || r.asked() {
		r.armTTL()
		return
	}
	if r.unreadable == nil { // else what it held lapses by itself
		for _, call := range r.app.Close(r.th.State) {
			r.writes = append(r.writes, graph.Write{Call: call})
		}
	}
	r.close()
}
