package turn

import (
	"context"
	"fmt"
	"strings"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/handoff"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/thread"
)

// nameRunes bounds how much of a contact's name is shown.
const nameRunes = 60

func (r *run) contactName() string {
	return nameOf(r.snap.Contact.Phone(), r.snap.Contact.Name, r.snap.Contact.Profile)
}

// nameOf is what a contact is called: the first name there is, else their phone,
// masked.
func nameOf(phone string, names ...string) string {
	for _, n := range names {
		// A name is data: it must not look like more than a name.
		if n = excerpt(strings.Join(strings.Fields(n), " "), nameRunes); n != "" {
			return n
		}
	}
	return handoff.MaskPhone(phone)
}

// adminTurn runs what an admin wrote: a command of the handover, a message to
// the customer they drive, or something for the admin's own assistant.
func (r *run) adminTurn(ctx context.Context) error {
	if r.before.Actor == thread.Customer {
		r.opens = false // an admin's words are none of a customer's, even where they are one as well
	}
	m := r.batch.Messages()[0] // admins' messages are answered one by one
	if r.b.Admin.Flow != nil && strings.HasPrefix(m.Choice, r.b.Admin.Name+":") {
		return r.assist(ctx, m) // answers the assistant, whomever they drive
	}
	text := m.Text
	if m.Choice != "" && m.Choice[0] == '/' {
		text = m.Choice
	}
	if cmd, ok := handoff.ParseCommand(text); ok {
		return r.command(ctx, cmd, m)
	}
	if m.ReplyTo != "" && m.Choice == "" {
		if done, err := r.quoting(ctx, m); done || err != nil {
			return err
		}
	}
	if th := r.driven(""); th != nil {
		return r.relayToCustomer(ctx, th)
	}
	if r.before.Actor == thread.Customer && r.before.Driver == thread.HumanDriving {
		r.opens = true // here they are the customer: another admin is with them
		return r.relayToHuman(ctx)
	}
	return r.assist(ctx, m)
}

// quoting routes what an admin wrote under a card or a relayed message to the
// customer it was about. It reports false for a message under anything else.
func (r *run) quoting(ctx context.Context, m message.Inbound) (bool, error) {
	q, err := r.quoted(ctx, m.ReplyTo)
	if err != nil || q.Handoff == "" {
		return false, err
	}
	th := r.handoffOf(q)
	switch {
	case th == nil:
		return true, r.over(ctx, q)
	case r.mine(th):
		return true, r.relayToCustomer(ctx, th)
	case th.Driver == thread.Suspended:
		r.engage(th)
		return true, r.tellAbout(ctx, th, graph.Say{Text: "platform_admin_take_first", Choices: []graph.Choice{
			{ID: "/take " + th.Handoff.Code, Text: "platform_button_take"},
		}})
	}
	return true, r.claimed(ctx, th)
}

// over answers what is about a handoff that is over: nobody is written to.
func (r *run) over(ctx context.Context, q Quoted) error {
	say := graph.Say{Text: "platform_admin_over", Facts: map[string]any{"code": q.Handoff, "name": nameOf("", q.Name)}}
	chats, err := r.chats(ctx, ChatQuery{Contact: q.Contact, Limit: 1})
	if err != nil {
		return err
	}
	if len(chats) > 0 {
		say.Choices = []graph.Choice{{ID: takeChat(chats[0].Thread.ID), Text: "platform_button_take"}}
	}
	return r.sayAdmin(ctx, say)
}

// handoffOf is the open handoff of the customer a message was about, nil when
// there is none.
func (r *run) handoffOf(q Quoted) *thread.Thread {
	for i, th := range r.snap.Handoffs {
		if th.ID == q.Thread || th.ContactID == q.Contact {
			return &r.snap.Handoffs[i]
		}
	}
	return nil
}

func (r *run) waiting() []thread.Thread {
	var out []thread.Thread
	for _, th := range r.snap.Handoffs {
		if th.Driver == thread.Suspended && th.ContactID != r.snap.Contact.ID {
			out = append(out, th)
		}
	}
	return out
}

// mine reports whether this admin drives a thread.
func (r *run) mine(th *thread.Thread) bool {
	return th.Driver == thread.HumanDriving && th.Handoff.AdminPhone == r.admin.Phone
}

// driven returns the handoff with that code, or without one the handoff this
// admin took last; nil when they drive none.
func (r *run) driven(code string) *thread.Thread {
	return focus(r.snap.Handoffs, r.admin.Phone, code)
}

func focus(threads []thread.Thread, phone, code string) *thread.Thread {
	var found *thread.Thread
	for i, th := range threads {
		mine := th.Driver == thread.HumanDriving && th.Handoff.AdminPhone == phone
		if mine && (code == "" || th.Handoff.Code == code) && (found == nil || !th.Handoff.TakenAt.Before(found.Handoff.TakenAt)) {
			found = &threads[i]
		}
	}
	return found
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
	to := who{
		ID: c.ID, To: c.Identities, Lang: th.Language, LastSeen: last, Name: nameOf(c.Phone(), c.Name, c.Profile), Phone: c.Phone(), Payer: c.Payer(),
	}
	if th.Handoff != nil {
		to.Number = th.Handoff.Number
	}
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

// transcriptOf reads another thread.
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

// quoted reads what a message to this admin was about; a zero Quoted for one
// about no customer.
func (r *run) quoted(ctx context.Context, providerID string) (Quoted, error) {
	if past := r.past(); past != nil && past.Quoted != nil {
		return *past.Quoted, nil
	}
	q, _, err := r.b.Store.Quoted(ctx, r.snap.Contact.ID, providerID)
	if err != nil {
		return q, fmt.Errorf("load quoted message: %w", err)
	}
	r.others = append(r.others, other{Quoted: &q})
	return q, nil
}

// chats reads open threads of customers.
func (r *run) chats(ctx context.Context, q ChatQuery) ([]Chat, error) {
	if past := r.past(); past != nil {
		return past.Chats, nil
	}
	chats, err := r.b.Store.Chats(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("look for chats: %w", err)
	}
	r.others = append(r.others, other{Chats: chats})
	return chats, nil
}

// change makes another contact's thread part of this commit.
func (r *run) change(next *thread.Thread, before int64, withdraw bool) {
	r.other, r.otherBefore, r.withdraw = next, before, withdraw
}

// about has what is said to admins from now on be about a handoff: whoever
// quotes it means its customer.
func (r *run) about(th *thread.Thread, code string) { r.aboutThread, r.aboutCode = th.ID, code }

func (r *run) tellAdmin(ctx context.Context, text string, facts map[string]any) error {
	return r.sayAdmin(ctx, graph.Say{Text: text, Facts: facts})
}

// tellAbout answers the admin about a handoff, which every text may name by its
// code.
func (r *run) tellAbout(ctx context.Context, th *thread.Thread, say graph.Say) error {
	r.about(th, th.Handoff.Code)
	if say.Facts == nil {
		say.Facts = map[string]any{}
	}
	say.Facts["code"] = th.Handoff.Code
	return r.sayAdmin(ctx, say)
}

// sayAdmin answers the admin who has just written.
func (r *run) sayAdmin(ctx context.Context, say graph.Say) error {
	if say.Facts == nil {
		say.Facts = map[string]any{}
	}
	say.Facts["admin"] = r.admin.Name
	return r.sayTo(ctx, r.writer(), outbox.System, say)
}

// writer is the admin who has just written, as an addressee.
func (r *run) writer() who {
	to := r.toAdmin(*r.admin)
	to.ID, to.LastSeen = r.snap.Contact.ID, r.now
	return to
}

// claimed says who drives a chat that somebody else has.
func (r *run) claimed(ctx context.Context, th *thread.Thread) error {
	return r.tellAbout(ctx, th, graph.Say{Text: "platform_admin_claimed", Facts: map[string]any{"name": th.Handoff.AdminName}})
}
