package turn

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/tool"
)

// read performs reads and previews over one snapshot and keeps their results:
// they are recorded inputs of the turn.
func (r *run) read(ctx context.Context, calls, previews []graph.Call) error {
	if r.replay != nil {
		return fmt.Errorf("replay: %s was not read then", append(calls, previews...)[0].Tool)
	}
	start := r.e.cfg.Clock.Now()
	err := r.b.Store.Read(ctx, func(q db.Q) error {
		for _, call := range calls {
			res, err := r.b.Tools.Read(ctx, r.env(q, nil), call)
			if err != nil {
				return err
			}
			r.reads[call.Digest()] = res
			r.tools = append(r.tools, ToolCall{Call: call, Result: res, Actor: r.actor().ID})
			r.log(ctx, slogInfo, "tool.invoked", attr("tool", call.Tool), attr("digest", call.Digest()), attr("code", res.Code))
		}
		for _, call := range previews { // nothing is invoked yet
			res, err := r.b.Tools.Preview(ctx, r.env(q, nil), call)
			if err != nil {
				return err
			}
			r.reads[call.Digest()] = res
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	r.stage(ctx, "tools", start)
	return nil
}

// inside runs within the commit's transaction: what a payment came to, then
// the turn's writes. A write that is refused undoes all of it.
func (r *run) inside(ctx context.Context, tx db.Tx) error {
	if err := r.settleInside(ctx, tx); err != nil {
		return err
	}
	for _, w := range r.writes {
		res, err := r.b.Tools.Write(ctx, r.env(tx, tx), w.Call, r.grants(w))
		if err != nil {
			return fmt.Errorf("write: %w", err)
		}
		if !res.OK && w.Conflict != "" {
			return &conflict{digest: w.Digest(), result: res}
		}
		r.commit.Tools = append(r.commit.Tools, ToolCall{Call: w.Call, Result: res, Actor: r.actor().ID})
		r.log(ctx, slogInfo, "tool.invoked", attr("tool", w.Tool), attr("digest", w.Digest()), attr("code", res.Code))
		if meta, _ := r.b.Tools.Metadata(w.Tool); meta.AuditRequired {
			r.log(ctx, slogInfo, "audit.config.changed", attr("tool", w.Tool), attr("digest", w.Digest()))
		}
	}
	return nil
}

// grants are the reasons an irreversible call may run: the confirmation this
// turn carries, or a rule recorded with what is paid for, which only an event
// can invoke.
func (r *run) grants(w graph.Write) []tool.Grant {
	var out []tool.Grant
	if p := r.before.Pending; r.in.Confirmed && p != nil {
		for _, d := range p.Digests {
			out = append(out, tool.Grant{By: tool.ByConfirmation, Ref: p.Nonce, Digest: d, Actor: cmp.Or(p.Actor, r.actor().ID), Until: p.Until})
		}
	}
	if w.Policy != "" && r.in.Event != nil && r.in.Event.Kind == mailbox.Payment {
		out = append(out, tool.Grant{By: tool.ByPolicy, Ref: w.Policy})
	}
	return out
}

// actor is in whose name the turn's calls are made.
func (r *run) actor() tool.Actor {
	if r.admin != nil {
		return tool.Admin(*r.admin)
	}
	return tool.Actor{ID: string(r.snap.Contact.ID), Role: tool.Customer, Name: r.snap.Contact.Name}
}

// place is where the turn stands, as the app's table sees it.
func (r *run) place() tool.Place {
	p := tool.Place{Driver: r.before.Driver}
	if r.app.Dimensions != nil && r.th != nil {
		p.State = r.app.Dimensions(r.th.Node, r.th.State)
	}
	return p
}

func (r *run) env(q db.Q, tx db.Tx) tool.Env {
	env := tool.Env{
		Q: q, Tx: tx, Now: r.now, IDs: r.ids, Tenant: r.b.Tenant, Contact: r.snap.Contact, Thread: r.threadID(), Turn: r.turnID,
		Actor: r.actor(), At: r.place(),
	}
	if r.admin != nil {
		env.Contact = contact.Contact{} // the business itself asks
	}
	if tx != nil {
		env.Enqueue = func(_ context.Context, e tool.Effect) error {
			to := cmp.Or(e.Contact, r.snap.Contact.ID)
			r.commit.Outbox = append(r.commit.Outbox, r.row(outbox.Row{
				Lane: string(to) + ":" + e.Lane, Kind: e.Kind, Origin: cmp.Or(e.Origin, outbox.Payment), Key: e.Key,
				ContactID: to, ThreadID: r.threadID(), Epoch: r.th.Epoch, Payload: encode(e.Payload), ExpiresAt: e.Expires,
			}))
			return nil
		}
		env.Answered = func(ctx context.Context, th ids.ThreadID) ([]tool.Answered, error) {
			return r.b.Store.Answered(ctx, tx, th)
		}
		env.SetTimer = func(name string, at time.Time, data any) {
			r.commit.Timers = append(r.commit.Timers, TimerRow{Mailbox: r.claim.Key, Name: name, At: at, Data: data})
		}
	}
	return env
}
