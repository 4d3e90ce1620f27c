package turn

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/ratiba/ratiba/internal/app"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/handoff"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/thread"
)

// handBack is the kind of the line that marks the end of a human's part in a
// transcript.
const handBack = "hand_back"

// mark writes the end of a human's part into the transcript of the thread that
// is handed back. No trigger looks behind it: the counters begin anew.
func (r *run) mark() {
	if r.marker == "" {
		return
	}
	r.commit.Said = append(r.commit.Said, Spoken{
		Thread: r.marker, Direction: "out", Origin: string(outbox.System), At: r.now, Body: spokenBody{Kind: handBack},
	})
}

// fill gives the customer's thread what the admin decided, by the app's own
// rules. It returns the values in the admin's language, or reports true when
// they were refused: the admin is told what is wrong and what would be right, and
// nothing changes.
func (r *run) fill(ctx context.Context, next *thread.Thread, slots []handoff.Slot) (noted []string, refused bool, err error) {
	to, err := r.contactOf(ctx, next)
	if err != nil {
		return nil, true, err
	}
	node, state, err := r.b.App.Flow.Upgrade(next.GraphVer, graph.Name(next.Node), next.State)
	if r.b.App.Fill == nil || err != nil || next.App != r.b.App.Name {
		return nil, true, r.tellAbout(ctx, next, graph.Say{Text: "platform_admin_no_slots"})
	}
	facts := r.facts()
	facts.Contact = graph.ContactFacts{ID: string(next.ContactID), Name: to.Name, Phone: to.Phone, Payer: to.Payer}
	said := app.Said{Node: node, State: state, Facts: facts, Now: r.now, Lang: r.admin.Language}
	filled, wrong := r.b.App.Fill(said, slots)
	if wrong != nil {
		return nil, true, r.tellAbout(ctx, next, *wrong)
	}
	noted = filled.Told
	said.Lang = to.Lang
	filled, _ = r.b.App.Fill(said, slots) // what is right in one language is right in the other
	next.Node, next.State, next.GraphVer = string(filled.Node), filled.State, r.b.App.Flow.Version()
	next.Handoff.Told = filled.Told
	return noted, false, nil
}

// resumeTurn is the one turn after a hand-back: the customer hears that the
// assistant is back, once, and then the graph goes on from where it is with
// what happened meanwhile.
func (r *run) resumeTurn(ctx context.Context) error {
	h := r.th.Handoff
	missed := slices.Clone(h.Missed)
	for _, a := range r.snap.Withdrawn { // back to the confirmation
		missed = append(missed, encode(payment.Settled{AttemptID: a.ID, Subject: a.Subject, Kind: payment.Rejected}))
	}
	r.th.Driver, r.th.Handoff = thread.AgentDriving, nil
	r.after(func() { r.log(ctx, slogInfo, "admin.handoff.resume") })
	if err := r.reorient(ctx, h.Told); err != nil {
		return err
	}
	greeted := r.spoken
	for _, raw := range missed {
		if err := r.stepPayment(ctx, raw); err != nil {
			return err
		}
	}
	if err := r.stepHeld(ctx, h.Decided); err != nil {
		return err
	}
	for _, t := range h.Timers {
		if err := r.goOn(ctx, graph.Event{Kind: mailbox.Timer, Name: t.Name, Data: t.Data, At: t.At}); err != nil {
			return err
		}
	}
	if r.spoken == greeted {
		name := r.batch.Event().Name
		if err := r.goOn(ctx, graph.Event{Kind: mailbox.Resume, Name: name, At: r.now}); err != nil {
			return err
		}
	}
	if r.spoken == greeted {
		return r.sayTo(ctx, r.customer(), outbox.Agent, graph.Say{Text: "platform_resumed_idle"})
	}
	return nil
}

// goOn steps the graph of an open thread with an event, if its state can be read.
func (r *run) goOn(ctx context.Context, e graph.Event) error {
	if readable := r.unreadable == nil; !readable || !r.th.Open() {
		return nil
	}
	r.in = graph.Input{Language: r.th.Language, LanguageConfidence: 1, Confidence: 1, Event: &e}
	s, err := r.walk(ctx, r.app.Flow, graph.Name(r.th.Node), r.th.State)
	if err != nil {
		return err
	}
	return r.keep(ctx, s)
}

// reorient says that the assistant is back and what a human decided: in a
// model's words where they keep every fact, else in the template's.
func (r *run) reorient(ctx context.Context, told []string) error {
	to := r.customer()
	text, err := r.render(to.Lang, "platform_resumed", map[string]any{"told": strings.Join(told, ", ")})
	if err != nil {
		return err
	}
	text = r.returning(ctx, told, text, to.Lang)
	r.raw(to, outbox.Agent, message.Outbound{Kind: message.Text, Text: text})
	return nil
}

// returning has a model say the draft in its own words. Without money for one the
// draft stands: it costs nothing, and a greeting needs no person.
func (r *run) returning(ctx context.Context, told []string, draft, lang string) string {
	if r.replay != nil {
		return r.rephrase(draft)
	}
	words, call, err := r.e.cfg.Understander.Shape(ctx, llm.Reorientation, told, draft, lang, r.origin(r.expect()))
	if call != "" {
		r.calls = append(r.calls, call)
	}
	if err != nil {
		words = ""
	}
	r.phrases = append(r.phrases, words)
	return cmp.Or(words, draft)
}

// laterTurn keeps a timer of the graph that fell due while a human is there: the
// graph hears of it at the hand-back.
func (r *run) laterTurn() {
	e := r.batch.Event()
	t := thread.Timer{Name: e.Name, Data: e.Data, At: r.batch.Items[0].ReceivedAt}
	r.th.Handoff.Timers = slices.Concat(r.th.Handoff.Timers, []thread.Timer{t})
}
