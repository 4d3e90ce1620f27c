package turn

import (
	"context"
	"slices"
	"time"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/thread"
)

// Timers of a handoff, in the customer's mailbox.
const (
	clockPrefix     = "handoff_"
	clockNotice     = clockPrefix + "notice"     // the customer is told that somebody is called
	clockReminder   = clockPrefix + "reminder"   // admins who have not engaged are reminded
	clockEscalation = clockPrefix + "escalation" // another admin is asked by name
	clockSilent     = clockPrefix + "silent"     // the admin who drives is asked whether they still do
	clockLapse      = clockPrefix + "lapse"      // a silent human gives the thread back to waiting
)

// silentAfter is how long an admin who drives may say nothing before being
// asked, and once more before the thread waits for somebody again.
const silentAfter = 12 * time.Hour

// callBackHour is when a promised call is due, the next day by the business's
// clock.
const callBackHour = 9

// startClock begins the wait for a human. The thread's time to live stops: it
// begins afresh at the hand-back.
func (r *run) startClock() {
	set := func(name string, at time.Time) {
		r.timers = append(r.timers, TimerRow{Mailbox: r.th.Mailbox, Scope: r.th.ID, Name: name, At: at})
	}
	t := r.b.Tenant
	set(clockNotice, r.now.Add(t.Notice()))
	set(clockReminder, r.now.Add(t.Reminder()))
	set(clockEscalation, r.now.Add(t.Escalation()))
	for _, name := range []string{clockSilent, clockLapse, TTLTimer} {
		set(name, time.Time{})
	}
}

// stopClock ends the wait of a thread that somebody takes, hands back or
// closes.
func (r *run) stopClock(th *thread.Thread) {
	names := []string{clockNotice, clockReminder, clockEscalation}
	if th.Driver == thread.AgentDriving {
		names = []string{TTLTimer}
	}
	for _, name := range names {
		r.timers = append(r.timers, TimerRow{Mailbox: th.Mailbox, Scope: th.ID, Name: name})
	}
}

// touch notes a word of the admin who drives: they are asked twelve hours after
// the last one.
func (r *run) touch(th *thread.Thread) {
	r.timers = append(r.timers,
		TimerRow{Mailbox: th.Mailbox, Scope: th.ID, Name: clockSilent, At: r.now.Add(silentAfter)},
		TimerRow{Mailbox: th.Mailbox, Scope: th.ID, Name: clockLapse})
}

// clockTurn does what a timer of the handoff says, if it still has something to
// say.
func (r *run) clockTurn(ctx context.Context) error {
	name, waits := r.batch.Event().Name, r.before.Driver == thread.Suspended
	drives := r.before.Driver == thread.HumanDriving
	switch {
	case name == clockNotice && waits:
		return r.notice(ctx)
	case name == clockReminder && waits:
		return r.remind(ctx)
	case name == clockEscalation && waits:
		return r.escalate(ctx)
	case name == clockSilent && drives:
		return r.askSilent(ctx)
	case name == clockLapse && drives:
		return r.waitAgain(ctx)
	}
	return nil
}

// notice tells the customer that somebody is being called, unless an admin has
// engaged.
func (r *run) notice(ctx context.Context) error {
	if len(r.th.Handoff.Engaged) > 0 {
		return nil
	}
	return r.sayTo(ctx, r.customer(), outbox.System, graph.Say{Text: "platform_calling"})
}

// otherAdmins are the admins but the customer, who may be one.
func (r *run) otherAdmins() []tenant.Admin {
	return slices.DeleteFunc(slices.Clone(r.b.Tenant.Admins), func(a tenant.Admin) bool { return a.Phone == r.snap.Contact.Phone() })
}

// remind writes to the admins who have not engaged. However late it runs, it
// writes once and is set for the next whole interval from the page on.
func (r *run) remind(ctx context.Context) error {
	h, every := r.th.Handoff, r.b.Tenant.Reminder()
	for _, a := range r.otherAdmins() {
		if slices.Contains(h.Engaged, a.Phone) {
			continue
		}
		if err := r.card(ctx, r.toAdmin(a), "platform_reminder", map[string]any{"waited": r.waited()}); err != nil {
			return err
		}
	}
	r.after(func() { r.log(ctx, slogInfo, "handoff.reminded") })
	passed := r.now.Sub(h.Since)
	next := r.now.Add(every - passed%every)
	r.timers = append(r.timers, TimerRow{Mailbox: r.th.Mailbox, Scope: r.th.ID, Name: clockReminder, At: next})
	return nil
}

func (r *run) waited() time.Duration { return r.now.Sub(r.th.Handoff.Since).Truncate(time.Minute) }

// escalate asks the next admin by name: the first in order behind the one at the
// top who has neither engaged nor been asked. When there is none, the customer
// is promised a call, which becomes a task, and nobody is reminded any more.
func (r *run) escalate(ctx context.Context) error {
	h := r.th.Handoff
	if admins := r.otherAdmins(); len(admins) > 1 {
		for _, a := range admins[1:] {
			if slices.Contains(h.Engaged, a.Phone) || slices.Contains(h.Asked, a.Phone) {
				continue
			}
			h.Asked = slices.Concat(h.Asked, []string{a.Phone})
			r.timers = append(r.timers, TimerRow{Mailbox: r.th.Mailbox, Scope: r.th.ID, Name: clockEscalation, At: r.now.Add(r.b.Tenant.Escalation())})
			r.after(func() { r.log(ctx, slogInfo, "handoff.escalated", attr("to", "admin")) })
			return r.card(ctx, r.toAdmin(a), "platform_escalated", map[string]any{"admin": a.Name, "waited": r.waited()})
		}
	}
	h.CallBack = true
	local := r.now.In(r.b.zone)
	r.tasks = append(r.tasks, TaskRow{
		ID: r.ids.New(), Kind: "callback", Key: "callback:" + string(r.turnID), Contact: r.snap.Contact.ID, Thread: r.th.ID,
		Detail: "call " + r.contactName() + ": nobody took over the chat #" + h.Code,
		Due:    time.Date(local.Year(), local.Month(), local.Day()+1, callBackHour, 0, 0, 0, r.b.zone).UTC(),
	})
	r.timers = append(r.timers, TimerRow{Mailbox: r.th.Mailbox, Scope: r.th.ID, Name: clockReminder})
	r.after(func() { r.log(ctx, slogInfo, "handoff.escalated", attr("to", "callback")) })
	return r.sayTo(ctx, r.customer(), outbox.System, graph.Say{Text: "platform_call_back"})
}

// askSilent asks an admin who drives and has said nothing for long.
func (r *run) askSilent(ctx context.Context) error {
	h := r.th.Handoff
	r.timers = append(r.timers, TimerRow{Mailbox: r.th.Mailbox, Scope: r.th.ID, Name: clockLapse, At: r.now.Add(silentAfter)})
	admin := r.b.Tenant.AdminByPhone(h.AdminPhone)
	if admin == nil {
		return r.waitAgain(ctx)
	}
	return r.sayTo(ctx, r.toAdmin(*admin), outbox.System, graph.Say{
		Text:  "platform_silent",
		Facts: map[string]any{"admin": admin.Name, "code": h.Code, "name": r.contactName()},
		Choices: []graph.Choice{
			{ID: "/done " + h.Code, Text: "platform_button_done"},
			{ID: "/end " + h.Code, Text: "platform_button_end"},
			{ID: "/take " + h.Code, Text: "platform_button_keep"},
		},
	})
}
