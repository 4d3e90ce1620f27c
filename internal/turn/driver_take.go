package turn

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/handoff"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/thread"
)

// maxChats is how many chats an admin chooses from, as many as a list holds;
// leastDigits how many digits of a phone tell a customer, dialledDigits how many
// are a whole number.
const (
	maxChats      = 10
	leastDigits   = 3
	dialledDigits = 9
)

// takeChat is the command that takes a chat over which has no code.
func takeChat(id ids.ThreadID) string {
	return "/" + string(handoff.Take) + " " + handoff.ThreadMark + string(id)
}

// takeCommand gives a chat to this admin: the handoff that is named or quoted,
// the customer who is described, or else the one that waits longest. With
// nobody waiting the admin chooses among the chats the agent drives.
func (r *run) takeCommand(ctx context.Context, cmd handoff.Command, m message.Inbound) error {
	if cmd.Code != "" {
		for i, th := range r.snap.Handoffs {
			if th.Handoff.Code == cmd.Code {
				return r.take(ctx, &r.snap.Handoffs[i])
			}
		}
	}
	switch {
	case cmd.Thread != "":
		return r.takeFound(ctx, ChatQuery{Thread: cmd.Thread, Limit: 1})
	case cmd.Whom != "":
		return r.takeDescribed(ctx, cmd)
	case m.ReplyTo != "" && m.Choice == "":
		q, err := r.quoted(ctx, m.ReplyTo)
		if err != nil {
			return err
		}
		if q.Thread != "" {
			if th := r.handoffOf(q); th != nil {
				return r.take(ctx, th)
			}
			return r.takeFound(ctx, ChatQuery{Contact: q.Contact, Limit: 1})
		}
	}
	if waits := r.waiting(); len(waits) > 0 {
		return r.take(ctx, &waits[0])
	}
	chats, err := r.chats(ctx, ChatQuery{Agent: true, Limit: maxChats})
	if err != nil {
		return err
	}
	return r.choose(ctx, chats, "platform_admin_choose")
}

// takeDescribed takes the chat of the customer an admin describes by the end of
// the phone or by a name.
func (r *run) takeDescribed(ctx context.Context, cmd handoff.Command) error {
	q := ChatQuery{Limit: maxChats}
	digits := strings.Map(func(c rune) rune {
		if c < '0' || c > '9' {
			return -1
		}
		return c
	}, cmd.Whom)
	words := strings.IndexFunc(cmd.Whom, unicode.IsLetter) >= 0
	switch {
	case !words && len(digits) >= leastDigits:
		q.Digits = digits
		if len(digits) >= dialledDigits {
			q.Digits = strings.TrimLeft(digits, "0") // as it is dialled at home
		}
	case words:
		q.Name = strings.Map(func(c rune) rune {
			if c == '%' || c == '_' {
				return -1
			}
			return unicode.ToLower(c)
		}, cmd.Whom)
	}
	var chats []Chat
	if q.Digits != "" || q.Name != "" {
		var err error
		if chats, err = r.chats(ctx, q); err != nil {
			return err
		}
	}
	switch {
	case len(chats) == 0 && cmd.Code != "":
		return r.tellAdmin(ctx, "platform_admin_no_code", map[string]any{"code": cmd.Code, "open": r.openCodes()})
	case len(chats) == 0:
		return r.tellAdmin(ctx, "platform_admin_nobody", map[string]any{"whom": cmd.Whom})
	case len(chats) == 1:
		return r.take(ctx, &chats[0].Thread)
	}
	return r.choose(ctx, chats, "platform_admin_several")
}

// takeFound takes the one chat that is looked for.
func (r *run) takeFound(ctx context.Context, q ChatQuery) error {
	chats, err := r.chats(ctx, q)
	if err != nil {
		return err
	}
	if len(chats) == 0 {
		return r.tellAdmin(ctx, "platform_admin_none", nil)
	}
	return r.take(ctx, &chats[0].Thread)
}

// choose lists chats for the admin to take one.
func (r *run) choose(ctx context.Context, chats []Chat, text string) error {
	say := graph.Say{Text: text, ListLabel: "platform_choose"}
	for _, c := range chats {
		if c.Thread.ContactID == r.snap.Contact.ID {
			continue
		}
		name, phone := nameOf(c.Phone, c.Name), handoff.MaskPhone(c.Phone)
		if name == phone {
			phone = ""
		}
		say.Choices = append(say.Choices, graph.Choice{ID: takeChat(c.Thread.ID), Literal: name, Description: phone})
	}
	if len(say.Choices) == 0 {
		return r.tellAdmin(ctx, "platform_admin_none", nil)
	}
	return r.sayAdmin(ctx, say)
}

// take gives a thread to this admin: one that waits, one the agent drives, or
// again one of theirs, which is then in focus. The acknowledgement waits in the
// outbox until sends already under way to that customer are over (P5).
func (r *run) take(ctx context.Context, th *thread.Thread) error {
	next := *th
	switch {
	case th.ContactID == r.snap.Contact.ID:
		return r.tellAdmin(ctx, "platform_admin_own", nil)
	case th.Driver == thread.HumanDriving && !r.mine(th):
		return r.claimed(ctx, th)
	case th.Driver == thread.HumanDriving:
		h := *th.Handoff
		h.TakenAt = r.now
		next.Handoff = &h
		r.change(&next, th.Version, false)
		r.touch(th)
		to, err := r.contactOf(ctx, th)
		if err != nil {
			return err
		}
		return r.tellAbout(ctx, &next, graph.Say{Text: "platform_admin_focus", Facts: map[string]any{"name": to.Name}})
	case th.Driver == thread.AgentDriving:
		why := handoff.Evaluate(handoff.Facts{Pulled: true}, r.b.Tenant.Thresholds)
		next.Handoff = &thread.Handoff{Code: r.freeCode(), Signal: why.Signal, Detail: why.Detail, Since: r.now}
		r.after(func() {
			r.log(ctx, slogInfo, "handoff.triggered", attr("signal", why.Signal), attr("detail", why.Detail))
		})
	default:
		h := *th.Handoff
		next.Handoff = &h
	}
	if err := r.claimFor(ctx, th, &next); err != nil {
		return err
	}
	to, err := r.contactOf(ctx, th)
	if err != nil {
		return err
	}
	return r.welcome(ctx, &next, to)
}

// claimFor makes next, which is th as this admin takes it, part of the commit: a
// conditional update, so that the first of several wins. The others are told.
func (r *run) claimFor(ctx context.Context, th, next *thread.Thread) error {
	h := next.Handoff
	h.AdminPhone, h.AdminName, h.AdminID, h.TakenAt = r.admin.Phone, r.admin.Name, string(r.snap.Contact.ID), r.now
	next.Driver, next.Pending = thread.HumanDriving, nil
	next.Epoch++
	r.change(next, th.Version, true)
	r.stopClock(th)
	r.touch(th)
	r.after(func() { r.log(ctx, slogInfo, "admin.handoff.interrupt", attr("signal", h.Signal)) })
	r.about(th, h.Code)
	for _, a := range r.b.Tenant.Admins {
		if a.Phone != r.admin.Phone && th.Driver == thread.Suspended {
			if err := r.sayTo(ctx, r.toAdmin(a), outbox.System, graph.Say{
				Text: "platform_admin_claimed", Facts: map[string]any{"code": h.Code, "name": r.admin.Name},
			}); err != nil {
				return err
			}
		}
	}
	r.settleFirst = th.ContactID
	return nil
}

// linesBefore is how many lines from before the handoff who takes over is shown: the
// rest is there to tap.
const linesBefore = 12

// welcome acknowledges a takeover with what was said, files among it.
func (r *run) welcome(ctx context.Context, th *thread.Thread, to who) error {
	lines, err := r.transcriptOf(ctx, th.ID)
	if err != nil {
		return err
	}
	since := slices.IndexFunc(lines, func(l Line) bool { return !l.At.Before(th.Handoff.Since) })
	if since < 0 {
		since = len(lines)
	}
	shown := lines[max(0, since-linesBefore):]
	if err := r.tellAbout(ctx, th, graph.Say{Text: "platform_admin_take", Facts: map[string]any{
		"name": to.Name, "draft": th.Handoff.Draft, "transcript": r.transcript(r.admin.Language, shown),
	}}); err != nil {
		return err
	}
	for _, l := range shown {
		if l.Direction == "in" && l.Attachment != nil {
			if err := r.relayFile(r.writer(), r.header(th, to.Name), *l.Attachment, ""); err != nil {
				return err
			}
		}
	}
	r.settleFirst = ""
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

// codeDraws bounds the search for a free code.
const codeDraws = 100
