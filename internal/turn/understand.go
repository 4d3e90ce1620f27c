package turn

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/understand"
)

// nonceMark separates a choice's id from the nonce of the confirmation it says
// yes to.
const nonceMark = "~"

// understandStages does what happens once, however often the commit is tried:
// it finds out what the batch means.
func (r *run) understandStages(ctx context.Context) error {
	r.in, r.understood, r.calls, r.settling = graph.Input{}, graph.Input{}, nil, nil
	r.arms = map[string]string{}
	maps.Copy(r.arms, r.before.Arms)
	switch r.path {
	case pathSteps:
		return r.understand(ctx)
	case pathPayment:
		return r.settle()
	case pathNothing, pathAdmin, pathRelay, pathHold, pathQuiet, pathPolite, pathRequest, pathPaymentCheck, pathTimer,
		pathExpired, pathUndelivered, pathResume, pathPoison, pathUnreadable, pathSlow, pathMissed, pathDecided,
		pathOptOut, pathClock, pathLater, pathEngaged, pathBriefed, pathTranslated,
		pathNotice:
	}
	return nil
}

// understand reads the burst: code first, a model where code is in doubt.
func (r *run) understand(ctx context.Context) error {
	start := r.e.cfg.Clock.Now()
	msgs := r.batch.Messages()
	if r.e.cfg.Typing != nil && msgs[len(msgs)-1].Channel != message.Voice {
		r.e.cfg.Typing(r.b, msgs[len(msgs)-1].Number, msgs[len(msgs)-1].ProviderID)
	}
	nonce := ""
	for i := range msgs {
		if msgs[i].Choice != "" { // the last tap stands
			msgs[i].Choice, nonce, _ = strings.Cut(msgs[i].Choice, nonceMark)
		}
		if msgs[i].Kind == message.Edit {
			msgs[i].Kind = message.Text // a corrected message is read as what it now says
		}
	}
	within, cancel := context.WithTimeout(ctx, understandTime)
	defer cancel()
	expect := r.expect()
	in, calls, err := r.e.cfg.Understander.Understand(within, understand.Request{
		Messages: msgs, Now: r.now, Zone: r.b.zone, Region: r.b.Tenant.Country, Locale: r.b.Tenant.Locale,
		Previous: r.previous(), Nouns: r.b.section.Nouns, Expect: expect,
	}, r.origin(expect))
	if late := errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil; err != nil && !late {
		return fmt.Errorf("understand: %w", err)
	} // when models took too long, what code read stands
	in.Confirmed = r.confirmed(in, nonce, msgs)
	r.in, r.understood, r.calls = in, in, calls
	r.stage(ctx, "understand", start)
	return nil
}

// previous is the language last used with the contact, if any.
func (r *run) previous() string {
	if r.before.Language != "" {
		return r.before.Language
	}
	return r.snap.Contact.Language
}

// expect says what the thread was last asked.
func (r *run) expect() understand.Expect { return r.app.Expect(r.th.Node, r.th.State) }

// origin says what a model call belongs to and in whose name it speaks.
func (r *run) origin(expect understand.Expect) understand.IDs {
	t := r.b.Tenant
	return understand.IDs{
		Tenant: t.ID, Thread: r.conversation(), Contact: r.snap.Contact.ID, Turn: r.turnID,
		Voice: understand.Voice{Assistant: t.Assistant, Business: t.Name, HouseRules: t.HouseRules, Locale: t.Locale},
		Said:  r.in.Text, Expecting: strings.Join(expect.Slots, ", "), Attempt: r.th.Counters.SlotReprompts,
		Arms: r.arms,
	}
}

// confirmed decides whether this is a yes to the pending question: a tap that
// carries its nonce, or a typed yes of which every message came after the
// question was accepted for sending, with nothing but courtesy beside it. A yes
// must answer a question.
func (r *run) confirmed(in graph.Input, nonce string, msgs []message.Inbound) bool {
	p := r.before.Pending
	if p == nil || !p.Until.IsZero() && r.now.After(p.Until) {
		return false
	}
	if nonce != "" {
		return nonce == p.Nonce && courteous(msgs)
	}
	if in.Answer != graph.Yes || in.Choice != "" || r.snap.AskedAt.IsZero() {
		return false
	}
	for _, it := range r.batch.Items {
		if it.ReceivedAt.Before(r.snap.AskedAt) {
			return false
		}
	}
	return true
}

// courteous reports whether what was typed beside a tap says nothing else: a
// tap and "make it four" are no yes.
func courteous(msgs []message.Inbound) bool {
	for _, m := range msgs {
		if m.Choice != "" || strings.TrimSpace(m.Text) == "" {
			continue
		}
		in := understand.Tier0(understand.Request{Messages: []message.Inbound{m}})
		polite := in.Intent == graph.Thanks || in.Intent == graph.Greeting
		if in.Answer != graph.Yes && (!polite || in.Confidence < understand.Sure) {
			return false
		}
	}
	return true
}
