package turn

import (
	"cmp"
	"context"
	"strings"

	"github.com/ratiba/ratiba/internal/app"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/thread"
	"github.com/ratiba/ratiba/internal/understand"
)

// appOf is the app a thread is in: an admin's is their assistant's.
func (r *run) appOf(th *thread.Thread) app.App {
	if r.admin != nil && r.b.Admin.Flow != nil && (th == nil || th.Actor == thread.Admin) {
		return r.b.Admin
	}
	return r.b.App
}

// assisted reports whether the turn is of an admin's assistant.
func (r *run) assisted() bool { return r.b.Admin.Flow != nil && r.app.Name == r.b.Admin.Name }

// office is what the assistant's steps read about the business.
func (r *run) office() app.Office {
	actor := r.actor()
	return app.Office{
		Actor: actor, Nouns: r.b.section.Nouns, Waiting: len(r.waiting()),
		Confirms: func(tool string) (needed, known bool) {
			if _, known = r.b.Tools.Metadata(tool); !known {
				return false, false
			}
			return r.b.Tools.Needs(tool, actor, r.b.Tenant), true
		},
	}
}

// listener is whom a step speaks to: the contact, who may be an admin with an
// assistant.
func (r *run) listener() who {
	if !r.assisted() || r.admin == nil {
		return r.customer()
	}
	to := r.writer()
	to.Lang = r.th.Language
	return to
}

// assist takes what an admin wrote through the graph of their assistant.
func (r *run) assist(ctx context.Context, m message.Inbound) error {
	switch {
	case r.b.Admin.Flow == nil:
		return r.greetAdmin(ctx)
	case r.snap.Thread != nil && r.before.Actor == thread.Customer:
		return r.leaveCustomer(ctx)
	}
	text, unread := readable([]message.Inbound{m})
	if !text {
		if unread {
			return r.tellAdmin(ctx, "platform_cannot_read", nil)
		}
		return nil
	}
	r.opens = true
	r.in = r.heardFromAdmin(m)
	r.th.Language = r.in.Language
	s, err := r.walk(ctx, r.app.Flow, graph.Name(r.th.Node), r.th.State)
	if err != nil {
		return err
	}
	return r.keep(ctx, s)
}

// heardFromAdmin reads what code alone can: the language, a yes or a no, and a
// tap with its nonce. Commands are the assistant's own to read.
func (r *run) heardFromAdmin(m message.Inbound) graph.Input {
	var nonce string
	m.Choice, nonce, _ = strings.Cut(m.Choice, nonceMark)
	if m.Kind == message.Edit {
		m.Kind = message.Text
	}
	in := understand.Tier0(understand.Request{
		Messages: []message.Inbound{m}, Now: r.now, Zone: r.b.zone, Region: r.b.Tenant.Country, Locale: r.b.Tenant.Locale,
		Previous: cmp.Or(r.before.Language, r.admin.Language), Expect: r.expect(),
	})
	in.Choice = m.Choice
	in.Confirmed = r.confirmed(in, nonce, []message.Inbound{m})
	return in
}

// leaveCustomer closes the conversation an admin had while they were a
// customer: their phone is the admin's from now on. Under a human, or while one
// is waited for, it stays.
func (r *run) leaveCustomer(ctx context.Context) error {
	if r.before.Driver != thread.AgentDriving || r.snap.PaymentOpen {
		return r.greetAdmin(ctx)
	}
	r.opens = true
	if r.unreadable == nil {
		for _, call := range r.app.Close(r.th.State) {
			r.writes = append(r.writes, graph.Write{Call: call})
		}
	}
	r.close()
	return r.sayTo(ctx, r.writer(), outbox.System, graph.Say{Text: "platform_admin_left", Facts: map[string]any{"admin": r.admin.Name}})
}

func (r *run) greetAdmin(ctx context.Context) error {
	return r.tellAdmin(ctx, "platform_admin_hello", map[string]any{"waiting": len(r.waiting())})
}
