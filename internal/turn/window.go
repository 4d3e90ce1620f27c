package turn

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/handoff"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/template"
	"github.com/ratiba/ratiba/internal/thread"
)

// cardTap is what a page's button brings back, before the handoff's code.
const cardTap = "card:"

// reminding begins the keys of texts that remind of something.
const reminding = "reminder"

// templateOf are the texts for customers that have a template of their own; any
// other goes out as a notice.
var templateOf = map[string]string{ //nolint:gochecknoglobals // a constant table.
	"platform_call_back": template.Callback,
}

// inWindow sends a template in place of free text to someone who has not
// written for 24 hours: WhatsApp refuses anything else.
func (r *run) inWindow(l line, to who) line {
	if !r.outside(to) || l.out.Kind == message.Template || r.aloud(to) {
		return l
	}
	if l.out.Kind == message.Media {
		l.out.Text = "[" + fileKind(*l.out.Attachment) + "] " + l.out.Attachment.Caption
	}
	full := l.out
	var ref *message.TemplateRef
	if th := r.pageOf(l, to); th != nil {
		ref, l.full = r.pageTemplate(th, to), &full
	} else {
		ref = r.templateFor(l, to)
	}
	l.out = message.Outbound{Kind: message.Template, Text: full.Text, Template: ref}
	return l
}

// outside reports whether an addressee has not written for 24 hours.
func (r *run) outside(to who) bool { return to.LastSeen.IsZero() || r.now.Sub(to.LastSeen) >= window }

// pageOf is the handoff that a line asks an admin to take, nil when it does not.
func (r *run) pageOf(l line, to who) *thread.Thread {
	th := r.threadOf(l.thread)
	if th == nil || th.Handoff == nil || th.Driver != thread.Suspended || !r.isAdmin(to) {
		return nil
	}
	return th
}

// threadOf is a thread this turn knows, nil for any other.
func (r *run) threadOf(id ids.ThreadID) *thread.Thread {
	if r.th.ID == id {
		return r.th
	}
	for i := range r.snap.Handoffs {
		if r.snap.Handoffs[i].ID == id {
			return &r.snap.Handoffs[i]
		}
	}
	return nil
}

func (r *run) isAdmin(to who) bool {
	for _, i := range to.To {
		if r.b.Tenant.AdminByPhone(i.Value) != nil {
			return true
		}
	}
	return false
}

// pageTemplate is the short form of a card: what fits a template, and one button.
func (r *run) pageTemplate(th *thread.Thread, to who) *message.TemplateRef {
	name := ""
	if th.ID == r.th.ID {
		name = r.contactName()
	}
	reason, err := r.render(to.Lang, "platform_signal", map[string]any{"signal": th.Handoff.Signal})
	if err != nil {
		reason = th.Handoff.Signal
	}
	return r.e.templates.Fill(template.Page, to.Lang, map[string]string{
		template.Code: "#" + th.Handoff.Code, template.Name: name, template.Reason: reason,
	}, cardTap+th.Handoff.Code)
}

// templateFor is what stands for any other line.
func (r *run) templateFor(l line, to who) *message.TemplateRef {
	name := template.Notice
	switch own := templateOf[l.key]; {
	case r.isAdmin(to):
	case own != "":
		name = own
	case l.origin == outbox.Relay:
		name = template.Relay
	case l.origin == outbox.Reminder && strings.HasPrefix(l.key, reminding):
		name = template.Reminder
	}
	return r.e.templates.Fill(name, to.Lang, map[string]string{template.Business: r.b.Tenant.Name, template.Text: l.out.Text})
}

// held keeps the whole card of a page for later. It reports whether the line
// itself is not sent: one page to an admin about a handoff is enough, however
// many messages the card has.
func (r *run) held(l line) bool {
	if l.full == nil {
		return false
	}
	paged := false
	for _, h := range r.holds {
		paged = paged || h.Contact == l.to.ID && h.Thread == l.thread
	}
	th := r.threadOf(l.thread)
	r.holds = append(r.holds, Held{Contact: l.to.ID, Thread: l.thread, Code: th.Handoff.Code, Out: *l.full})
	return paged
}

// showHeld sends the cards an admin was only told of, now that they have
// written: all but that of a handoff they take, or put away, with the very same
// words. It reports whether that is all there is to do.
func (r *run) showHeld(ctx context.Context) (only bool, err error) {
	command, code, tapped := false, "", ""
	for _, m := range r.batch.Messages() {
		text := m.Text
		if m.Kind == message.Button && strings.HasPrefix(m.Choice, "/") {
			text = m.Choice
		}
		if after, ok := strings.CutPrefix(m.Choice, cardTap); ok && m.Kind == message.Button {
			tapped = after
			continue
		}
		if cmd, ok := handoff.ParseCommand(text); ok {
			command, code = true, cmd.Code
		}
	}
	to := r.toAdmin(*r.admin)
	to.ID, to.LastSeen = r.snap.Contact.ID, r.now // they have just written
	sent := 0
	for _, h := range r.snap.Held {
		r.shown = true
		if command && (code == "" || code == h.Code) {
			continue
		}
		th := r.threadOf(h.Thread)
		if th == nil || th.Handoff == nil || th.Handoff.Code != h.Code || th.Driver != thread.Suspended {
			continue
		}
		r.lines = append(r.lines, line{to: to, origin: outbox.System, thread: h.Thread, epoch: th.Epoch, out: h.Out})
		sent++
	}
	switch {
	case tapped != "" && sent == 0:
		return true, r.tellTaken(ctx, tapped)
	case tapped != "":
		return true, nil
	}
	return sent > 0 && !command && r.driven("") == nil, nil
}

// tellTaken answers a tap on a page whose card is no longer there to be shown.
func (r *run) tellTaken(ctx context.Context, code string) error {
	var th *thread.Thread
	for i := range r.snap.Handoffs {
		if r.snap.Handoffs[i].Handoff.Code == code {
			th = &r.snap.Handoffs[i]
		}
	}
	switch {
	case th != nil && th.Driver == thread.HumanDriving:
		return r.tellAdmin(ctx, "platform_admin_claimed", map[string]any{"code": code, "name": th.Handoff.AdminName})
	case th != nil:
		return r.tellAdmin(ctx, "platform_admin_waits", map[string]any{"code": code})
	}
	return r.tellAdmin(ctx, "platform_admin_none", nil)
}

// again is the outbox row that says in a template what WhatsApp refused to say
// freely.
func (r *run) again(f failure, scope ids.ThreadID) outbox.Row {
	me := who{
		ID: r.snap.Contact.ID, To: f.Send.To, Lang: r.th.Language, Number: f.Send.Number,
	}
	if r.admin != nil {
		me.Lang = r.admin.Language
	}
	l := r.inWindow(line{to: me, origin: f.Origin, thread: scope, epoch: f.Epoch, out: f.Send.Out}, me)
	if r.held(l) {
		return outbox.Row{} // they were paged a moment ago
	}
	send := f.Send
	send.Out, send.Again = l.out, f.OutboxID
	row := outbox.Row{
		Lane: string(r.snap.Contact.ID) + ":whatsapp", Kind: outbox.SendMessage, Origin: f.Origin, Key: "again:" + f.OutboxID,
		ContactID: r.snap.Contact.ID, ThreadID: scope, Epoch: f.Epoch, Payload: encode(send), ExpiresAt: r.now.Add(answerLife),
	}
	if f.Origin != outbox.Agent {
		row.ExpiresAt = r.now.Add(window)
	}
	return row
}

// failureText is a failed send in words for a person.
func failureText(f failure) string {
	if f.Detail == "" {
		return fmt.Sprintf("WhatsApp code %d", f.Code)
	}
	return fmt.Sprintf("WhatsApp code %d: %s", f.Code, f.Detail)
}

// CallBackKey is the key of the task to call somebody back about a thread: there
// is one, however often it turns out to be needed.
func CallBackKey(th ids.ThreadID, c ids.ContactID) string {
	if th == "" {
		return "callback:" + string(c)
	}
	return "callback:" + string(th)
}

// managerHour is when a manager calls, on the day after.
const managerHour = 9

// tomorrow is when somebody who was promised a call tomorrow expects it.
func (r *run) tomorrow() time.Time { return CallBackAt(r.now, r.b.zone) }

// CallBackAt is nine o'clock of the day after now in a business's zone.
func CallBackAt(now time.Time, zone *time.Location) time.Time {
	at := now.In(zone)
	return time.Date(at.Year(), at.Month(), at.Day()+1, managerHour, 0, 0, 0, zone)
}
