package golden

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/money"
	"github.com/ratiba/ratiba/internal/payment"
)

// Result is what became of a script.
type Result struct {
	Script Script
	Faults []string // what did not hold, by line
	Talk   string   // the conversation as people saw it
	Turns  int      // of customers' words and taps
	Tier0  int      // of these, without a model
	Slots  int      // "understood" lines
	Right  int      // of these, exact
}

// play is a script under way.
type play struct {
	world  *world
	people *people
	result *Result
	talk   strings.Builder
	last   string // who moved last, among customers
	turns  []committed
}

// Play runs a script on a new store in dir, an empty folder. Seen collects the
// edges of the graph that were taken; log gets the engine's events. An error is
// a fault of the laboratory: what does not hold is in the result.
func Play(ctx context.Context, s Script, dir string, seen *Edges, log io.Writer) (_ Result, err error) {
	w, err := newWorld(ctx, s, dir, &seen.edges, log)
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", s.ID, err)
	}
	defer func() { err = errors.Join(err, w.store.Close()) }()
	var admins []string
	for _, a := range w.business.Tenant.Admins {
		admins = append(admins, a.Phone)
	}
	p := &play{world: w, people: newPeople(admins), result: &Result{Script: s}, last: "customer"}
	for _, m := range s.Moves {
		if err := p.move(ctx, m); err != nil {
			p.fault(m.Line, "%v", err)
			break
		}
		for _, c := range m.Checks {
			if err := p.check(ctx, c); err != nil {
				p.fault(c.Line, "%s: %v", c.Verb, err)
			}
		}
	}
	p.thresholds()
	p.result.Talk = p.talk.String()
	return *p.result, nil
}

func (p *play) fault(line int, format string, args ...any) {
	p.result.Faults = append(p.result.Faults, fmt.Sprintf("line %d: ", line)+fmt.Sprintf(format, args...))
}

// thresholds holds the script's metrics against what it asks for.
func (p *play) thresholds() {
	r := p.result
	for name, limit := range r.Script.Metrics {
		got := share(r.Right, r.Slots)
		if name == MetricTier0 {
			got = share(r.Tier0, r.Turns)
		}
		if got < limit {
			r.Faults = append(r.Faults, fmt.Sprintf("%s is %.2f, want at least %.2f", name, got, limit))
		}
	}
}

func share(part, of int) float64 {
	if of == 0 {
		return 1
	}
	return float64(part) / float64(of)
}

func (p *play) move(ctx context.Context, m Move) error {
	if m.Verb == Model {
		schema, answer, _ := strings.Cut(m.Text, " ")
		p.world.model.answers[schema] = append(p.world.model.answers[schema], answer)
		return nil
	}
	if m.Verb != NotMoved {
		clear(p.people.heard)
		p.world.turns, p.world.model.asked = nil, nil
	}
	if strings.HasPrefix(m.Who, "customer") {
		p.last = m.Who
	}
	if m.Who != "" {
		fmt.Fprintf(&p.talk, "%s %s %s\n", m.Who, m.Verb, m.Text)
	}
	if err := p.act(ctx, m); err != nil {
		return err
	}
	if m.Verb == Writes || m.Verb == Taps {
		p.world.clock.Add(p.world.business.Tenant.QuietTime) // the person has finished
	}
	if m.Verb != Wait && m.Verb != NotMoved {
		if _, err := p.world.settle(ctx, p.people); err != nil {
			return err
		}
	}
	p.turns = p.world.turns
	if strings.HasPrefix(m.Who, "customer") && (m.Verb == Writes || m.Verb == Taps) && len(p.turns) > 0 {
		p.result.Turns++
		if len(p.world.model.asked) == 0 {
			p.result.Tier0++
		}
	}
	for name := range p.people.heard {
		for _, out := range p.people.heard[name] {
			fmt.Fprintf(&p.talk, "  to %s: %s %q\n", name, out.Text, titles(choices(out)))
		}
	}
	return nil
}

func titles(cs []message.Choice) (out []string) {
	for _, c := range cs {
		out = append(out, c.Title)
	}
	return out
}

func (p *play) act(ctx context.Context, m Move) error {
	switch m.Verb {
	case Writes:
		for text := range strings.SplitSeq(m.Text, " | ") {
			if err := p.deliver(ctx, m.Who, message.Inbound{Kind: message.Text, Text: text}); err != nil {
				return err
			}
		}
	case Taps:
		c, err := p.people.find(m.Who, m.Text)
		if err != nil {
			return err
		}
		return p.deliver(ctx, m.Who, message.Inbound{Kind: message.Button, Text: c.Title, Choice: c.ID})
	case Pays, Fails:
		return p.pay(ctx, m)
	case Wait:
		d, err := time.ParseDuration(m.Text)
		if err != nil {
			return fmt.Errorf("wait> wants a duration, got %q", m.Text)
		}
		return p.wait(ctx, d)
	}
	return nil
}

func (p *play) deliver(ctx context.Context, who string, m message.Inbound) error {
	p.people.sent++
	phone := p.people.phones[who]
	if phone == "" {
		return fmt.Errorf("the business has no %s", who)
	}
	m.Channel, m.Number = "whatsapp", p.world.business.Tenant.Numbers[0].ID
	m.ProviderID = "wamid.in." + strconv.Itoa(p.people.sent)
	m.From, m.SentAt = []contact.Identity{{Kind: contact.Phone, Value: phone}}, p.world.clock.Now()
	quiet := p.world.business.Tenant.QuietTime
	_, err := p.world.tenant.Deliver(ctx, []message.Inbound{m}, nil, p.world.clock.Now(), quiet)
	return err
}

// failures are how a payer's phone answers, with the provider's own code.
var failures = map[string]payment.Kind{ //nolint:gochecknoglobals // a constant table.
	"cancelled": payment.Declined, "wrong_pin": payment.WrongPIN, "timeout": payment.TimedOut, "insufficient": payment.NoFunds,
	"expired": payment.PromptExpired, "busy": payment.Busy, "limit": payment.Limit, "failed": payment.OtherFailure,
}

var amount = regexp.MustCompile(`^\d+$`)

// pay reports the payer's answer to the last prompt, as the provider's callback
// does.
func (p *play) pay(ctx context.Context, m Move) error {
	a, ok := p.people.prompted(m.Who)
	if !ok {
		return errors.New("there is no payment prompt")
	}
	o := payment.Outcome{Kind: payment.Success, Amount: a.Amount, Receipt: "SK" + a.ID[len(a.ID)-8:], Phone: a.Phone, CheckoutID: a.CheckoutID, Code: "0"}
	if m.Verb == Fails {
		kind, ok := failures[m.Text]
		if !ok {
			return fmt.Errorf("no failure is called %q", m.Text)
		}
		o = payment.Outcome{Kind: kind, CheckoutID: a.CheckoutID, Code: m.Text}
	} else if amount.MatchString(m.Text) {
		n, err := strconv.ParseInt(m.Text, 10, 64)
		if err != nil {
			return fmt.Errorf("read amount: %w", err)
		}
		o.Amount = money.Major(n, a.Amount.Currency)
	}
	_, err := p.world.tenant.Report(ctx, a, payment.Report{Source: payment.FromCallback, Outcome: o}, p.world.clock.Now())
	return err
}

// wait moves the clock, stopping wherever something is due.
func (p *play) wait(ctx context.Context, d time.Duration) error {
	until := p.world.clock.Now().Add(d)
	for range 1000 {
		next, err := p.world.settle(ctx, p.people)
		if err != nil {
			return err
		}
		now := p.world.clock.Now()
		if !now.Before(until) {
			return nil
		}
		if next.IsZero() || next.After(until) {
			next = until
		}
		if !next.After(now) {
			next = now.Add(time.Second)
		}
		p.world.clock.Set(next)
	}
	return errors.New("the wait does not end")
}

// node is where the last turn left the thread.
func (p *play) node() (node, driver, language string) {
	for _, t := range p.turns {
		if th := t.commit.Thread; th != nil {
			node, driver, language = th.Node, string(th.Driver), th.Language
		}
		if th := t.commit.Other; th != nil {
			node, driver, language = th.Node, string(th.Driver), th.Language
		}
	}
	return node, driver, language
}

// tools are the calls of the move's turns, reads and writes.
func (p *play) tools() string {
	var out []string
	for _, t := range p.turns {
		for _, c := range t.commit.Tools {
			out = append(out, c.Call.Tool)
		}
	}
	return strings.Join(out, " ")
}

// jsonOf is for messages about what was understood.
func jsonOf(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
