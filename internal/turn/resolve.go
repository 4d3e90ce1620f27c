package turn

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/handoff"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/tenant"
	"github.com/ratiba/ratiba/internal/thread"
	"github.com/ratiba/ratiba/internal/understand"
)

// path is what a turn turns out to be.
type path int

const (
	pathNothing      path = iota // nothing follows: an event that is out of date
	pathAdmin                    // an admin writes
	pathRelay                    // a human drives: to them, verbatim
	pathHold                     // suspended for a human: stored, no answer
	pathQuiet                    // a reaction or a deleted message: stored, no answer
	pathPolite                   // something the assistant cannot read: a sentence
	pathRequest                  // asks for a person, or says what no assistant may answer alone
	pathSteps                    // understood and taken through the graph
	pathPayment                  // a provider's word on a payment
	pathPaymentCheck             // time to ask the provider
	pathTimer                    // a timer of the graph
	pathExpired                  // the thread's time to live is over
	pathUndelivered              // a message of ours did not arrive
	pathResume                   // a human handed back
	pathPoison                   // failed too often: put aside for a person
	pathUnreadable               // the thread's state is of a version this build cannot read
	pathSlow                     // writes faster than anyone reads: told so, stored
	pathMissed                   // a payment that came under a human who then closed the chat
	pathDecided                  // a person decided what a model was not sure of
	pathOptOut                   // wants no announcements any more, or wants them again
	pathClock                    // a timer of a handoff
	pathLater                    // a timer of the graph while a human is there: it waits for the hand-back
	pathEngaged                  // an admin reacted to a page
	pathBriefed                  // a model's briefing for the admins
	pathTranslated               // a model's translation for an admin
	pathNotice                   // the app's own timer or event, which belongs to no thread
)

// resolve says what the batch is, given who writes and who drives.
func (r *run) resolve() path {
	if e := r.batch.Event(); e != nil {
		return r.resolveEvent(e)
	}
	switch {
	case r.admin != nil:
		return pathAdmin
	case r.before.Driver == thread.HumanDriving:
		return pathRelay
	case r.before.Driver == thread.Suspended:
		return pathHold
	}
	text, unread := readable(r.batch.Messages())
	switch {
	case understand.Announcements(texts(r.batch.Messages()), r.snap.Thread != nil) != "":
		return pathOptOut
	case text && r.called() != nil:
		return pathRequest
	case r.unreadable != nil && (text || unread):
		return pathUnreadable
	case text:
		return pathSteps
	case unread:
		return pathPolite
	}
	return pathQuiet
}

func (r *run) resolveEvent(e *mailbox.Event) path {
	ours := e.Scope == "" || (r.snap.Thread != nil && e.Scope == r.before.ID)
	switch {
	case e.Kind == mailbox.Payment:
		return pathPayment
	case e.Kind == mailbox.Timer && strings.HasPrefix(e.Name, PaymentCheck):
		return pathPaymentCheck
	case e.Kind == mailbox.ReceiptFailed:
		return pathUndelivered
	case e.Kind == mailbox.Missed:
		return pathMissed
	case e.Kind == mailbox.Translated:
		return pathTranslated
	case e.Kind == mailbox.Notice || e.Kind == mailbox.Timer && e.Scope == "":
		return pathNotice
	case !ours || r.snap.Thread == nil:
		return pathNothing
	case e.Kind == mailbox.Timer && e.Name == TTLTimer:
		return pathExpired
	case e.Kind == mailbox.Timer && strings.HasPrefix(e.Name, clockPrefix):
		return pathClock
	case e.Kind == mailbox.Timer && r.before.Driver == thread.AgentDriving:
		if r.unreadable != nil {
			return pathUnreadable
		}
		return pathTimer
	case e.Kind == mailbox.Timer && r.before.Handoff != nil:
		return pathLater
	case e.Kind == mailbox.Engaged:
		return pathEngaged
	case e.Kind == mailbox.Briefed:
		return pathBriefed
	case e.Kind == mailbox.Resume && r.before.Driver == thread.Resumed:
		return pathResume
	case e.Kind == mailbox.Decided:
		return pathDecided
	}
	return pathNothing
}

// called is the trigger that code finds in what was written, before anything is
// understood: somebody asks for a person, or says what a policy keeps from an
// assistant. Nil when there is none.
func (r *run) called() *graph.Handover {
	said := texts(r.batch.Messages())
	return handoff.Evaluate(handoff.Facts{
		Said: said, Asked: understand.HumanRequest(said), AtStake: r.atStake(),
	}, r.b.Tenant.Thresholds)
}

// atStake is what giving money back would be about, in whole units.
func (r *run) atStake() int64 {
	if r.b.App.AtStake == nil || r.unreadable != nil {
		return 0
	}
	return r.b.App.AtStake(r.th.State).Minor / 100
}

// readable says whether a burst has words, taps or a shared phone in it, and
// whether it has something only eyes and ears could read.
func readable(messages []message.Inbound) (text, unread bool) {
	for _, m := range messages {
		switch m.Kind {
		case message.Text, message.Button, message.List, message.ContactCard, message.Edit:
			text = true
		case message.Media, message.Location, message.Order, message.Unsupported:
			unread = true
			text = text || m.Text != ""
		case message.Reaction, message.Revoke, message.System, message.Template, message.RequestContact:
		}
	}
	return text, unread
}

func texts(messages []message.Inbound) string {
	var out []string
	for _, m := range messages {
		if m.Text != "" {
			out = append(out, m.Text)
		}
	}
	return strings.Join(out, "\n")
}

// pacing holds back a turn that may ask a model when its contact had too many
// of late: it is told so once, and what it wrote is stored. The rate is taken
// from once, however often the turn is computed.
func (r *run) pacing(ctx context.Context, p path) path {
	if p != pathSteps || r.paced != pathNothing {
		if p == pathSteps {
			return r.paced
		}
		return p
	}
	who, now := string(r.b.Tenant.ID)+"/"+string(r.snap.Contact.ID), r.e.cfg.Real.Now()
	r.paced = pathSteps
	if r.e.pace.Take(ctx, who, now) > 0 {
		r.paced = pathQuiet
		if r.e.told.Take(ctx, who, now) == 0 {
			r.paced = pathSlow
		}
	}
	return r.paced
}

// begin makes the thread as this turn will leave it: a copy of the open one,
// brought to this build's version, or a new one. It draws a new thread's id
// first, so that a rerun draws the same. A state this build cannot read stays
// as it is.
func (r *run) begin() {
	r.ids = ids.NewSource(r.seed, r.now)
	r.unreadable, r.app = nil, r.appOf(r.snap.Thread)
	fresh := ids.ThreadID(r.ids.New())
	if r.snap.Thread != nil {
		r.resume()
		return
	}
	node, state := r.app.Flow.Start()
	r.th = &thread.Thread{
		ID: fresh, ContactID: r.snap.Contact.ID, Actor: thread.Customer, App: r.app.Name, Mailbox: r.claim.Key,
		GraphVer: r.app.Flow.Version(), Node: string(node), State: state, Driver: thread.AgentDriving,
		Language: r.language(), OpenedAt: r.now, LastAt: r.now,
	}
	if r.admin != nil {
		r.th.Actor = thread.Admin
	}
}

// resume copies the open thread and brings it to this build's version.
func (r *run) resume() {
	th := r.before
	if th.Handoff != nil {
		h := *th.Handoff
		th.Handoff = &h
	}
	th.LastAt = r.now
	node, state, err := r.app.Flow.Upgrade(th.GraphVer, graph.Name(th.Node), th.State)
	if err == nil && th.App != r.app.Name {
		err = fmt.Errorf("the thread is of app %s", th.App)
	}
	if err != nil && th.Actor == thread.Admin { // it holds nothing: it begins again
		node, state = r.app.Flow.Start()
		err, th.App, th.Pending = nil, r.app.Name, nil
		if r.admin == nil {
			th.Actor = thread.Customer // they are an admin no more
		}
	}
	if err != nil {
		r.unreadable = err
	} else {
		th.Node, th.State, th.GraphVer = string(node), state, r.app.Flow.Version()
	}
	r.th = &th
}

// language is what the contact is answered in before anything is understood.
func (r *run) language() string {
	for _, l := range []string{r.before.Language, r.snap.Contact.Language, r.b.Tenant.Locale} {
		if l != "" {
			return l
		}
	}
	return understand.English
}

// number is the business number answers leave from: the one written to last.
func (r *run) number() string {
	if msgs := r.batch.Messages(); len(msgs) > 0 {
		return msgs[len(msgs)-1].Number
	}
	if r.ours(r.snap.Number) {
		return r.snap.Number
	}
	return r.b.Tenant.Numbers[0].ID // the one written to is the tenant's no more
}

func (r *run) ours(number string) bool {
	return slices.ContainsFunc(r.b.Tenant.Numbers, func(n tenant.Number) bool { return n.ID == number })
}

// leaves is the business number a message to somebody leaves from: the one
// they know.
func (r *run) leaves(to who) string {
	if to.ID != r.snap.Contact.ID && r.ours(to.Number) {
		return to.Number
	}
	return r.number()
}

// who is an addressee.
type who struct {
	ID       ids.ContactID      `json:"id"`
	To       []contact.Identity `json:"to"`
	Lang     string             `json:"lang"`
	LastSeen time.Time          `json:"last_seen"`        // when they last wrote, for the 24-hour window
	Number   string             `json:"number,omitempty"` // the business number they wrote to, "" for this turn's
	Admin    bool               `json:"admin,omitempty"`
	// Of another contact who was looked up.
	Name  string `json:"name,omitempty"`
	Phone string `json:"phone,omitempty"`
	Payer string `json:"payer,omitempty"`
}

func (r *run) customer() who {
	seen := r.snap.LastInbound
	return who{ID: r.snap.Contact.ID, To: r.snap.Contact.Identities, Lang: r.th.Language, LastSeen: seen}
}

func (r *run) admins() []who {
	var out []who
	for _, a := range r.b.Tenant.Admins {
		out = append(out, r.toAdmin(a))
	}
	return out
}

func (r *run) toAdmin(a tenant.Admin) who {
	c := r.snap.Admins[a.Phone]
	id := c.ID
	if id == "" {
		id = ids.ContactID("admin:" + a.Phone)
	}
	seen := c.LastInbound
	return who{ID: id, To: []contact.Identity{{Kind: contact.Phone, Value: a.Phone}}, Lang: a.Language, LastSeen: seen, Number: c.Number, Admin: true}
}
