package turn

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/handoff"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/thread"
)

// relayToHuman hands a customer's messages to the admin who drives, verbatim.
// When that admin is one no more, the others are called.
func (r *run) relayToHuman(ctx context.Context) error {
	h := r.th.Handoff
	admin := r.b.Tenant.AdminByPhone(h.AdminPhone)
	if admin == nil {
		return r.handOver(ctx, graph.Handover{Signal: h.Signal, Detail: "the admin who drove is an admin no more"})
	}
	to := r.toAdmin(*admin)
	for _, m := range r.batch.Messages() {
		body := m.Text
		if body == "" {
			body = "[" + string(m.Kind) + "]"
		}
		r.raw(to, outbox.Relay, message.Outbound{Kind: message.Text, Text: fmt.Sprintf("*#%s %s*\n%s", h.Code, r.contactName(), body)})
	}
	r.after(func() { r.log(ctx, slogInfo, "admin.message.relayed", attr("direction", "to_admin")) })
	return nil
}

func (r *run) contactName() string {
	for _, n := range []string{r.snap.Contact.Name, r.snap.Contact.Profile} {
		// A name is data: it must not look like more than a name.
		if n = excerpt(strings.Join(strings.Fields(n), " "), nameRunes); n != "" {
			return n
		}
	}
	return handoff.MaskPhone(r.snap.Contact.Phone())
}

// adminTurn runs what an admin wrote: a command of the handover, a message to
// the customer they drive, or something for the admin's own assistant.
func (r *run) adminTurn(ctx context.Context) error {
	for _, m := range r.batch.Messages() {
		text := m.Text
		if m.Kind == message.Button && m.Choice != "" && m.Choice[0] == '/' {
			text = m.Choice
		}
		if cmd, ok := handoff.ParseCommand(text); ok {
			return r.command(ctx, cmd)
		}
	}
	if th := r.driven(""); th != nil {
		return r.relayToCustomer(ctx, th)
	}
	return r.tellAdmin(ctx, "platform_admin_hello", map[string]any{"waiting": len(r.waiting())})
}

func (r *run) waiting() []thread.Thread {
	var out []thread.Thread
	for _, th := range r.snap.Handoffs {
		if th.Driver == thread.Suspended {
			out = append(out, th)
		}
	}
	return out
}

// driven returns the handoff with that code, or without one the handoff this
// admin took last; nil when they drive none.
func (r *run) driven(code string) *thread.Thread {
	var found *thread.Thread
	for i, th := range r.snap.Handoffs {
		mine := th.Driver == thread.HumanDriving && th.Handoff.AdminPhone == r.admin.Phone
		if mine && (code == "" || th.Handoff.Code == code) && (found == nil || !th.Handoff.TakenAt.Before(found.Handoff.TakenAt)) {
			found = &r.snap.Handoffs[i]
		}
	}
	return found
}

func (r *run) relayToCustomer(ctx context.Context, th *thread.Thread) error {
	to, err := r.contactOf(ctx, th)
	if err != nil {
		return err
	}
	for _, m := range r.batch.Messages() {
		if m.Text != "" {
			r.rawOn(th.ID, th.Epoch, to, outbox.Relay, message.Outbound{Kind: message.Text, Text: m.Text})
			r.after(func() { r.log(ctx, slogInfo, "admin.message.relayed", attr("direction", "to_customer")) })
		}
	}
	if _, unread := readable(r.batch.Messages()); unread {
		return r.tellAdmin(ctx, "platform_cannot_read", nil)
	}
	return nil
}

// contactOf is the customer of another thread, as an addressee.
func (r *run) contactOf(ctx context.Context, th *thread.Thread) (who, error) {
	if past := r.past(); past != nil && past.To != nil {
		return *past.To, nil
	}
	c, last, err := r.b.Store.Contact(ctx, th.ContactID)
	if err != nil {
		return who{}, fmt.Errorf("load customer: %w", err)
	}
	to := who{ID: c.ID, To: c.Identities, Lang: th.Language, LastSeen: last, Number: th.Handoff.Number}
	r.others = append(r.others, other{To: &to})
	return to, nil
}

// past is the next thing a recorded turn read beyond its own mailbox, nil in a
// turn that is not a replay.
func (r *run) past() *other {
	if r.replay == nil || len(r.others) >= len(r.replay.Others) {
		return nil
	}
	o := r.replay.Others[len(r.others)]
	r.others = append(r.others, o)
	return &o
}

// transcriptOf reads the last lines of another thread.
func (r *run) transcriptOf(ctx context.Context, th ids.ThreadID) ([]Line, error) {
	if past := r.past(); past != nil {
		return past.Lines, nil
	}
	lines, err := r.b.Store.Transcript(ctx, th)
	if err != nil {
		return nil, fmt.Errorf("load transcript: %w", err)
	}
	r.others = append(r.others, other{Lines: lines})
	return lines, nil
}

// command runs a handover command as a conditional update of the customer's
// thread: a customer's turn under way then fails its compare-and-swap.
func (r *run) command(ctx context.Context, cmd handoff.Command) error {
	switch cmd.Verb {
	case handoff.Help, handoff.Unknown:
		return r.tellAdmin(ctx, "platform_admin_help", nil)
	case handoff.Take:
		return r.take(ctx, cmd)
	case handoff.Done, handoff.End, handoff.Dismiss:
	}
	th := r.driven(cmd.Code)
	if waits := pick(r.waiting(), cmd.Code); cmd.Verb == handoff.Dismiss && waits != nil {
		th = waits // a false alarm is one that nobody took
	}
	if th == nil {
		return r.tellAdmin(ctx, "platform_admin_none", nil)
	}
	next := *th
	next.Epoch++
	switch cmd.Verb {
	case handoff.Done, handoff.Dismiss:
		next.Driver, next.Counters = thread.Resumed, thread.Counters{}
		r.posts = append(r.posts, Posted{
			Mailbox: th.Mailbox, Event: mailbox.Event{Kind: mailbox.Resume, Name: string(cmd.Verb), Scope: th.ID},
			Dedupe: "resume:" + string(r.turnID),
		})
	case handoff.End:
		next.Driver, next.ClosedAt = thread.AgentDriving, r.now
		r.postMissed(th.Mailbox, th.Handoff.Missed) // money is not closed away with the chat
	case handoff.Take, handoff.Help, handoff.Unknown:
	}
	r.change(&next, th.Version, false)
	return r.tellAdmin(ctx, "platform_admin_"+string(cmd.Verb), map[string]any{"code": th.Handoff.Code})
}

func pick(threads []thread.Thread, code string) *thread.Thread {
	for i := range threads {
		if code == "" || threads[i].Handoff.Code == code {
			return &threads[i]
		}
	}
	return nil
}

// take gives a waiting thread to this admin. The acknowledgement waits in the
// outbox until sends already under way to that customer are over (P5). Of
// several that an admin drives, taking one again puts it in focus.
func (r *run) take(ctx context.Context, cmd handoff.Command) error {
	th := pick(r.waiting(), cmd.Code)
	if th == nil && cmd.Code != "" {
		th = r.driven(cmd.Code)
	}
	if th == nil {
		if other := pick(r.snap.Handoffs, cmd.Code); other != nil && cmd.Code != "" {
			return r.tellAdmin(ctx, "platform_admin_claimed", map[string]any{"code": cmd.Code, "name": other.Handoff.AdminName})
		}
		return r.tellAdmin(ctx, "platform_admin_none", nil)
	}
	next, h := *th, *th.Handoff
	h.AdminPhone, h.AdminName, h.AdminID, h.TakenAt = r.admin.Phone, r.admin.Name, string(r.snap.Contact.ID), r.now
	next.Handoff, next.Driver = &h, thread.HumanDriving
	next.Epoch++
	r.change(&next, th.Version, true)
	r.after(func() { r.log(ctx, slogInfo, "admin.handoff.interrupt", attr("signal", h.Signal)) })
	lines, err := r.transcriptOf(ctx, th.ID)
	if err != nil {
		return err
	}
	r.settleFirst = th.ContactID
	if err := r.tellAdmin(ctx, "platform_admin_take", map[string]any{"code": h.Code, "transcript": transcript(lines)}); err != nil {
		return err
	}
	r.settleFirst = ""
	for _, a := range r.b.Tenant.Admins {
		if a.Phone != r.admin.Phone && th.Driver == thread.Suspended {
			if err := r.sayTo(ctx, r.toAdmin(a), outbox.System, graph.Say{
				Text: "platform_admin_claimed", Facts: map[string]any{"code": h.Code, "name": r.admin.Name},
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// change makes another contact's thread part of this commit.
func (r *run) change(next *thread.Thread, before int64, withdraw bool) {
	r.other, r.otherBefore, r.withdraw = next, before, withdraw
}

func (r *run) tellAdmin(ctx context.Context, text string, facts map[string]any) error {
	to := r.toAdmin(*r.admin)
	to.ID, to.LastSeen = r.snap.Contact.ID, r.now // they have just written
	if facts == nil {
		facts = map[string]any{}
	}
	facts["admin"] = r.admin.Name
	return r.sayTo(ctx, to, outbox.System, graph.Say{Text: text, Facts: facts})
}

// handOver gives the thread to humans: suspended, the customer told, every
// admin paged with a card made by code, which no model can delay.
func (r *run) handOver(ctx context.Context, h graph.Handover) error {
	r.th.Driver = thread.Suspended
	r.th.Epoch++
	r.th.Pending = nil
	next := &thread.Handoff{Code: r.freeCode(), Signal: h.Signal, Detail: h.Detail, Since: r.now, Number: r.number()}
	if last := r.th.Handoff; last != nil {
		next.Missed, next.Decided = last.Missed, last.Decided // the graph has not heard of these yet
	}
	r.th.Handoff = next
	r.after(func() { r.log(ctx, slogInfo, "handoff.triggered", attr("signal", h.Signal), attr("detail", h.Detail)) })
	told := "platform_handed_over"
	if h.Signal != handoff.ExplicitRequest {
		told = "platform_handed_over_unasked" // nobody asked for it: "of course" would be wrong
	}
	if err := r.sayTo(ctx, r.customer(), outbox.System, graph.Say{Text: told}); err != nil {
		return err
	}
	last := ""
	if msgs := r.batch.Messages(); len(msgs) > 0 {
		last = texts(msgs)
	}
	card := graph.Say{Text: "platform_card", Facts: map[string]any{
		"code": r.th.Handoff.Code, "name": r.contactName(), "phone": handoff.MaskPhone(r.snap.Contact.Phone()),
		"signal": h.Signal, "last": excerpt(last, cardWords),
	}, Choices: []graph.Choice{
		{ID: "/take " + r.th.Handoff.Code, Text: "platform_button_take"}, {ID: "/dismiss " + r.th.Handoff.Code, Text: "platform_button_dismiss"},
	}}
	for _, to := range r.admins() {
		if err := r.sayTo(ctx, to, outbox.System, card); err != nil {
			return err
		}
	}
	return nil
}

// freeCode draws a code that no open handoff of the business has, as long as
// there is one to be found.
func (r *run) freeCode() string {
	code := r.ids.Code(handoff.CodeLength)
	for range codeDraws {
		if !slices.Contains(r.snap.Codes, code) {
			break
		}
		code = r.ids.Code(handoff.CodeLength)
	}
	return code
}

// cardWords and transcriptWords bound, in runes, what a card and a transcript
// show of one message, nameRunes a contact's name. A card must fit one message
// with buttons; who takes over reads the rest in the transcript.
const (
	cardWords       = 300
	transcriptWords = 12_000
	nameRunes       = 60
)

// codeDraws bounds the search for a free code.
const codeDraws = 100

// resumeTurn is the one turn after a hand-back: the customer hears that the
// assistant is back, and the graph gets what happened meanwhile.
func (r *run) resumeTurn(ctx context.Context) error {
	missed, decided := r.th.Handoff.Missed, r.th.Handoff.Decided
	for _, a := range r.snap.Withdrawn { // back to the confirmation
		missed = append(missed, encode(payment.Settled{AttemptID: a.ID, Subject: a.Subject, Kind: payment.Rejected}))
	}
	r.th.Driver, r.th.Handoff = thread.AgentDriving, nil
	r.after(func() { r.log(ctx, slogInfo, "admin.handoff.resume") })
	if err := r.sayTo(ctx, r.customer(), outbox.Agent, graph.Say{Text: "platform_resumed"}); err != nil {
		return err
	}
	for _, raw := range missed {
		if err := r.stepPayment(ctx, raw); err != nil {
			return err
		}
	}
	return r.stepHeld(ctx, decided)
}

func transcript(lines []Line) string {
	var out strings.Builder
	for _, l := range lines {
		mark := "◂"
		if l.Direction == "in" {
			mark = "▸"
		}
		out.WriteString(mark + " " + excerpt(l.Text, transcriptWords) + "\n")
	}
	return out.String()
}
