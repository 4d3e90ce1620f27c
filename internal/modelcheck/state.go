package modelcheck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/handoff"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/money"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/turn"
)

const (
	promptKind = payment.EffectPrompt
	queryKind  = payment.EffectQuery
)

// tick is the time an action takes: enough to tell earlier from later.
const tick = time.Millisecond

// state is the world at an instant: the database, what processes have in hand,
// and what the provider and the people know.
type state struct {
	db   rows
	mem  *memory // the same, when it is memory
	lead *state  // the state in memory that one over another store follows
	kit  *kit

	people [len(parties)]ids.ContactID

	now  time.Time // the product's clock
	real time.Time // the machine's
	left Budget

	claims   [len(parties)]*mailbox.Claim // leased, nothing read yet
	hands    []hand                       // turns that have read and not committed
	flights  []flight                     // sends that have started and not settled
	prompts  []prompt                     // what the provider has put on a phone
	words    []word                       // what the provider has said of them
	seen     string                       // the id of the last yes button that was shown
	asked    int                          // how many messages could have been a yes
	messages int
	acted    bool // an admin has written
}

// hand is a turn between what it read and its commit.
type hand struct {
	claim mailbox.Claim
	snap  turn.Snapshot
}

// flight is a send between its mark and its outcome.
type flight struct {
	outbox.Row
	pushed string // the checkout id of a prompt that has reached the phone
}

// prompt is a question on a phone, as the provider knows it.
type prompt struct {
	attempt, checkout string
	amount            money.Amount
	at                time.Time
	paid, failed      bool
}

// word is a report that was delivered.
type word struct {
	attempt payment.Attempt
	report  payment.Report
}

func (s *state) clone() *state {
	c := *s
	if s.mem != nil {
		c.mem = s.mem.clone()
		c.db = c.mem
	}
	c.hands, c.flights, c.prompts, c.words = slices.Clone(s.hands), slices.Clone(s.flights), slices.Clone(s.prompts), slices.Clone(s.words)
	return &c
}

func (s *state) key(who int) ids.MailboxKey { return keyOf(s.contact(who)) }

// BreachError is a promise that does not hold.
type BreachError struct {
	Promise string
	What    string
}

// Error implements error.
func (b *BreachError) Error() string { return b.Promise + ": " + b.What }

func breach(promise, format string, args ...any) error {
	return &BreachError{Promise: promise, What: fmt.Sprintf(format, args...)}
}

// apply makes an action happen. An error is a promise that broke on the way.
func (s *state) apply(ctx context.Context, a Action) error {
	if left := s.left.spend(a); left != nil {
		*left--
		s.left.Outside--
	}
	s.now = s.now.Add(tick)
	switch a.Kind {
	case Says:
		return s.receive(ctx, partyCustomer, words[a.Arg], "")
	case Burst:
		return errors.Join(s.receive(ctx, partyCustomer, words[chat], ""), s.receive(ctx, partyCustomer, words[a.Arg], ""))
	case Tap:
		return s.receive(ctx, partyCustomer, "Yes", s.seen)
	case Command:
		return s.receive(ctx, int(a.Who), commands[a.Arg], "")
	case Brief:
		return s.brief(ctx)
	case Relay:
		return s.receive(ctx, int(a.Who), "I will see to it.", "")
	case Paid, Unpaid, Again:
		return s.callback(ctx, a)
	case Clock, Wait:
		s.pass(a.Kind)
	case Crash:
		s.claims, s.hands, s.flights = [len(parties)]*mailbox.Claim{}, nil, nil
		return s.db.Restart(ctx, s.real)
	case Turn, Load, Commit:
		return s.turns(ctx, a)
	case Send:
		return s.begin(ctx)
	case Push, Settle, Lose, Reject, Succeed:
		return s.carry(ctx, a)
	case kinds:
	}
	return nil
}

// pass lets time go by. Who leased a mailbox and has read nothing by then will
// read no more, and a send that takes longer than any may has lost its process.
func (s *state) pass(k Kind) {
	before := s.real
	switch {
	case s.lead != nil:
		s.now, s.real = s.lead.now, s.lead.real
	case k == Clock:
		s.now = s.nextTimer()
	case k == Wait:
		s.real = s.nextReal()
	}
	if k == Wait {
		s.claims = [len(parties)]*mailbox.Claim{}
	}
	if s.real.Sub(before) > outbox.CarryTime {
		s.flights = nil
	}
}

// receive delivers a message twice, as providers do.
func (s *state) receive(ctx context.Context, who int, text, choice string) error {
	s.messages++
	s.acted = s.acted || who != partyCustomer
	in := message.Inbound{
		Channel: "whatsapp", Number: number, ProviderID: fmt.Sprint("m", s.messages), SentAt: s.now.Truncate(time.Second),
		From: []contact.Identity{{Kind: contact.Phone, Value: phone(who)}}, Kind: message.Text, Text: text,
	}
	if choice != "" {
		in.Kind, in.Choice = message.Button, choice
	}
	if who == partyCustomer && (choice != "" || text == words[yes]) {
		s.asked++
	}
	for i := range 2 {
		fresh, err := s.db.Receive(ctx, in, s.now)
		if err != nil {
			return err
		}
		if fresh != (i == 0) {
			return breach("P2", "delivery %d of a message was new: %t", i+1, fresh)
		}
	}
	return nil
}

// brief delivers what a model made of the chat.
func (s *state) brief(ctx context.Context) error {
	snap, err := s.db.Load(ctx, s.key(partyCustomer))
	if err != nil || snap.Thread == nil || snap.Thread.Handoff == nil {
		return err
	}
	th, h := snap.Thread, snap.Thread.Handoff
	_, err = s.db.Post(ctx, s.key(partyCustomer), mailbox.Event{
		Kind: mailbox.Briefed, Name: h.Code, Scope: th.ID,
		Data: encode(handoff.Brief{Trigger: h.Signal, Language: "en", Phone: "***", Summary: "s", Why: "w", Next: "n", Draft: "One moment, please."}),
	}, "brief:"+h.Code, s.now)
	return err
}

// callback delivers the provider's word on a prompt.
func (s *state) callback(ctx context.Context, a Action) error {
	if a.Kind == Again {
		last := s.words[len(s.words)-1]
		fresh, err := s.db.Report(ctx, last.attempt, last.report, s.now)
		if err == nil && fresh {
			err = breach("P2", "a callback that was delivered again was new")
		}
		return err
	}
	p := &s.prompts[a.Arg]
	r := payment.Report{Source: payment.FromCallback, Outcome: payment.Outcome{CheckoutID: p.checkout, MerchantID: "m-" + p.checkout}}
	if a.Kind == Paid {
		p.paid = true
		r.Outcome.Kind, r.Outcome.Code, r.Outcome.Receipt = payment.Success, "0", fmt.Sprint("RECEIPT", a.Arg)
		r.Outcome.Amount, r.Outcome.Phone = p.amount, phone(partyCustomer)
	} else {
		p.failed = true
		r.Outcome.Kind, r.Outcome.Code = payment.TimedOut, "1037"
	}
	attempt, err := s.db.Attempt(ctx, p.attempt)
	if err != nil {
		return err
	}
	s.words = append(s.words, word{attempt: attempt, report: r})
	_, err = s.db.Report(ctx, attempt, r, s.now)
	return err
}

// turns takes a mailbox through a turn, or a part of one.
func (s *state) turns(ctx context.Context, a Action) error {
	if a.Kind == Commit {
		h := s.hands[a.Arg]
		s.hands = slices.Delete(s.hands, int(a.Arg), int(a.Arg)+1)
		return s.handle(ctx, h.claim, &h.snap)
	}
	if s.claims[a.Who] == nil {
		claims, _, err := s.db.ClaimMailboxes(ctx, s.now, s.real, len(parties))
		if err != nil {
			return err
		}
		for _, c := range claims {
			for who := range parties {
				if c.Key == s.key(who) {
					s.claims[who] = &c
				}
			}
		}
	}
	c := s.claims[a.Who]
	s.claims[a.Who] = nil
	if a.Kind == Turn {
		return s.handle(ctx, *c, nil)
	}
	snap, err := s.db.Load(ctx, c.Key)
	if err != nil {
		return err
	}
	s.hands = append(s.hands, hand{claim: *c, snap: snap})
	return nil
}

// handle runs the engine over a claim, from what was read before or from now.
func (s *state) handle(ctx context.Context, c mailbox.Claim, read *turn.Snapshot) error {
	said := complain()
	w := &witness{Store: s.db, s: s, read: read}
	s.kit.engine(s.now, s.real, said).Handle(ctx, s.kit.business(w), c)
	if w.seen != nil {
		return w.seen
	}
	if err := said.err(); err != nil {
		return breach("no turn fails", "%v", err)
	}
	return nil
}

// begin starts the next effect: its mark is committed. What goes to an admin
// is carried at once, because nothing depends on when, except that a takeover's
// acknowledgement waits.
func (s *state) begin(ctx context.Context) error {
	for {
		claimed, next, err := s.db.ClaimOutbox(ctx, s.now, s.real, 1)
		if err != nil {
			return err
		}
		for _, row := range claimed {
			if err := s.started(row); err != nil {
				return err
			}
			s.flights = append(s.flights, flight{Row: row})
			if row.ContactID == s.contact(partyCustomer) {
				return nil
			}
			if err := s.carry(ctx, Action{Kind: Settle, Arg: uint8(len(s.flights) - 1)}); err != nil { //nolint:gosec // few.
				return err
			}
		}
		if next.IsZero() || next.After(s.real) {
			return nil
		}
	}
}

func yesButton(row outbox.Row) string {
	if row.Kind != outbox.SendMessage {
		return ""
	}
	for _, b := range sends(row).Out.Buttons {
		if strings.Contains(b.ID, "~") {
			return b.ID
		}
	}
	return ""
}
