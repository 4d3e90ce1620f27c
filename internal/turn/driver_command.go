package turn

import (
	"context"
	"slices"
	"strings"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/handoff"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/thread"
)

// command runs a handover command as a conditional update of the customer's
// thread: a customer's turn under way then fails its compare-and-swap.
func (r *run) command(ctx context.Context, cmd handoff.Command, m message.Inbound) error {
	switch cmd.Verb {
	case handoff.Help, handoff.Unknown:
		for _, th := range r.waiting() {
			r.engage(&th)
		}
		return r.tellAdmin(ctx, "platform_admin_help", nil)
	case handoff.Take:
		return r.takeCommand(ctx, cmd, m)
	case handoff.Done, handoff.End, handoff.Dismiss, handoff.Send, handoff.More, handoff.Transcript, handoff.Translate:
	}
	th, err := r.meant(ctx, cmd, m)
	if err != nil || th == nil {
		return err
	}
	if th.ContactID == r.snap.Contact.ID {
		return r.tellAdmin(ctx, "platform_admin_own", nil)
	}
	mine, untaken := r.mine(th), th.Driver == thread.Suspended
	if mine {
		r.touch(th)
	}
	switch cmd.Verb { //nolint:exhaustive // the others were answered.
	case handoff.More:
		r.engage(th)
		return r.tellAbout(ctx, th, graph.Say{Text: "platform_admin_more", Choices: r.options(th), ListLabel: "platform_choose"})
	case handoff.Transcript:
		r.engage(th)
		return r.showTranscript(ctx, th)
	case handoff.Translate:
		r.engage(th)
		return r.translate(ctx, th)
	}
	switch {
	case !mine && !untaken:
		return r.claimed(ctx, th)
	case cmd.Verb == handoff.Dismiss && mine:
		return r.tellAbout(ctx, th, graph.Say{Text: "platform_admin_drives"})
	case cmd.Verb == handoff.End && untaken:
		r.engage(th)
		return r.tellAbout(ctx, th, graph.Say{Text: "platform_admin_take_first", Choices: []graph.Choice{
			{ID: "/take " + th.Handoff.Code, Text: "platform_button_take"},
		}})
	case cmd.Verb == handoff.Send:
		return r.sendDraft(ctx, th)
	}
	return r.giveBack(ctx, th, cmd)
}

// meant finds the handoff a command is about: the one it names, the one it
// quotes, the one in focus, or the only one that waits. Nil means that the admin
// was told why there is none.
func (r *run) meant(ctx context.Context, cmd handoff.Command, m message.Inbound) (*thread.Thread, error) {
	if cmd.Code != "" {
		i := slices.IndexFunc(r.snap.Handoffs, func(th thread.Thread) bool { return th.Handoff.Code == cmd.Code })
		if i < 0 {
			return nil, r.tellAdmin(ctx, "platform_admin_no_code", map[string]any{"code": cmd.Code, "open": r.openCodes()})
		}
		return &r.snap.Handoffs[i], nil
	}
	if m.ReplyTo != "" && m.Choice == "" {
		q, err := r.quoted(ctx, m.ReplyTo)
		if err != nil {
			return nil, err
		}
		if q.Thread != "" {
			if th := r.handoffOf(q); th != nil {
				return th, nil
			}
			return nil, r.over(ctx, q)
		}
	}
	waits := r.waiting()
	if th := r.driven(""); th != nil && (cmd.Verb != handoff.Dismiss || len(waits) == 0) {
		return th, nil
	}
	switch len(waits) {
	case 0:
		return nil, r.tellAdmin(ctx, "platform_admin_none", nil)
	case 1:
		return &waits[0], nil
	}
	return nil, r.tellAdmin(ctx, "platform_admin_which", map[string]any{"open": r.openCodes()})
}

// openCodes lists the handoffs an admin can name.
func (r *run) openCodes() string {
	var out []string
	for _, th := range r.snap.Handoffs {
		out = append(out, "#"+th.Handoff.Code)
	}
	return strings.Join(out, ", ")
}

// engage notes that this admin has reacted to a page: the reminders are for
// those who have not. It is an event for the customer's mailbox, because a
// commit changes one other thread at most.
func (r *run) engage(th *thread.Thread) {
	if th.Driver != thread.Suspended || slices.Contains(th.Handoff.Engaged, r.admin.Phone) {
		return
	}
	r.posts = append(r.posts, Posted{
		Mailbox: th.Mailbox, Event: mailbox.Event{Kind: mailbox.Engaged, Name: th.Handoff.Code, Scope: th.ID, Data: encode(r.admin.Phone)},
		Dedupe: "engaged:" + string(r.turnID) + ":" + string(th.ID),
	})
}

// options are what can be done with a handoff beside its card's buttons.
func (r *run) options(th *thread.Thread) []graph.Choice {
	return options(th.Handoff, th.Driver)
}

func options(h *thread.Handoff, driver thread.Driver) []graph.Choice {
	row := func(verb handoff.Verb, text string) graph.Choice {
		return graph.Choice{ID: "/" + string(verb) + " " + h.Code, Text: "platform_button_" + text}
	}
	var out []graph.Choice
	if driver == thread.Suspended {
		out = append(out, row(handoff.Take, "take"))
	}
	if h.Draft != "" {
		out = append(out, row(handoff.Send, "send"))
	}
	out = append(out, row(handoff.Transcript, "transcript"), row(handoff.Translate, "translate"))
	if driver == thread.Suspended {
		return append(out, row(handoff.Dismiss, "dismiss"))
	}
	return append(out, row(handoff.Done, "done"), row(handoff.End, "end"))
}

// sendDraft sends the customer what the agent would have said, claiming the chat
// first where nobody has it.
func (r *run) sendDraft(ctx context.Context, th *thread.Thread) error {
	draft := th.Handoff.Draft
	if draft == "" {
		r.engage(th)
		return r.tellAbout(ctx, th, graph.Say{Text: "platform_admin_no_draft"})
	}
	next, h := *th, *th.Handoff
	h.Draft = ""
	next.Handoff = &h
	if th.Driver == thread.Suspended {
		if err := r.claimFor(ctx, th, &next); err != nil {
			return err
		}
	} else {
		r.change(&next, th.Version, false)
	}
	to, err := r.contactOf(ctx, th)
	if err != nil {
		return err
	}
	r.about(th, h.Code)
	r.rawOn(th.ID, next.Epoch, to, outbox.Relay, message.Outbound{Kind: message.Text, Text: draft})
	r.after(func() { r.log(ctx, slogInfo, "admin.message.relayed", attr("direction", "to_customer")) })
	return r.tellAbout(ctx, &next, graph.Say{Text: "platform_admin_send", Facts: map[string]any{"draft": draft}})
}

// giveBack ends a handoff: handed back to the agent, called off, or closed. One
// that nobody took is claimed on the way.
func (r *run) giveBack(ctx context.Context, th *thread.Thread, cmd handoff.Command) error {
	next, h := *th, *th.Handoff
	next.Handoff = &h
	var noted []string
	if len(cmd.Slots) > 0 {
		var refused bool
		var err error
		if noted, refused, err = r.fill(ctx, &next, cmd.Slots); refused || err != nil {
			return err
		}
	}
	if th.Driver == thread.Suspended && cmd.Verb == handoff.Done {
		if err := r.claimFor(ctx, th, &next); err != nil {
			return err
		}
		r.withdraw = false // no human stays
	} else {
		next.Epoch++
		r.change(&next, th.Version, false)
		r.stopClock(th)
	}
	r.settleFirst = ""
	r.timers = append(r.timers, TimerRow{Mailbox: th.Mailbox, Scope: th.ID, Name: clockSilent}, TimerRow{Mailbox: th.Mailbox, Scope: th.ID, Name: clockLapse})
	if cmd.Verb == handoff.End {
		next.Driver, next.ClosedAt = thread.AgentDriving, r.now
		r.postMissed(th.Mailbox, th.Handoff.Missed) // money is not closed away with the chat
	} else {
		next.Driver, next.Counters = thread.Resumed, thread.Counters{}
		r.marker = th.ID
		r.posts = append(r.posts, Posted{
			Mailbox: th.Mailbox, Event: mailbox.Event{Kind: mailbox.Resume, Name: string(cmd.Verb), Scope: th.ID},
			Dedupe: "resume:" + string(r.turnID),
		})
	}
	return r.tellAbout(ctx, th, graph.Say{Text: "platform_admin_" + string(cmd.Verb), Facts: map[string]any{"told": strings.Join(noted, ", ")}})
}
