package turn

import (
	"context"
	"slices"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/thread"
)

// FileLost is the code of a message whose file could not be fetched from where
// it lay.
const FileLost = "131052"

// blocked is the code of a number that takes nothing from the business: it
// blocked it, or is no number of WhatsApp's any more.
const blocked = "131026"

// notReached tells the admin who drives that their words did not reach the
// customer.
func (r *run) notReached(ctx context.Context, code string) error {
	admin := r.b.Tenant.AdminByPhone(r.th.Handoff.AdminPhone)
	if admin == nil {
		return nil
	}
	text := "platform_admin_not_reached"
	switch code {
	case blocked:
		text = "platform_admin_blocked"
	case FileLost:
		text = "platform_admin_file_lost"
	}
	return r.sayTo(ctx, r.toAdmin(*admin), outbox.System, graph.Say{Text: text, Facts: map[string]any{
		"code": r.th.Handoff.Code, "name": r.contactName(), "admin": admin.Name,
	}})
}

// fileLost tells a customer that the file they sent did not reach the human they
// are with, and that human that there was one.
func (r *run) fileLost(ctx context.Context, scope ids.ThreadID) error {
	i := slices.IndexFunc(r.snap.Handoffs, func(th thread.Thread) bool { return th.ID == scope && r.mine(&th) })
	if i < 0 {
		return nil
	}
	th := &r.snap.Handoffs[i]
	to, err := r.contactOf(ctx, th)
	if err != nil {
		return err
	}
	text, err := r.render(to.Lang, "platform_file_lost", nil)
	if err != nil {
		return err
	}
	r.rawOn(th.ID, th.Epoch, to, outbox.System, message.Outbound{Kind: message.Text, Text: text})
	r.about(th, th.Handoff.Code)
	return r.sayTo(ctx, r.toAdmin(*r.admin), outbox.System, graph.Say{Text: "platform_admin_their_file_lost", Facts: map[string]any{
		"code": th.Handoff.Code, "name": to.Name, "admin": r.admin.Name,
	}})
}
