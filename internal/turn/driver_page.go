package turn

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/handoff"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/thread"
)

// handOver gives the thread to humans: suspended, the customer told, every
// admin paged with a card made by code, which no model can delay, and the clock
// set. A model's briefing follows.
func (r *run) handOver(ctx context.Context, h graph.Handover) error {
	r.th.Driver = thread.Suspended
	r.th.Epoch++
	r.th.Pending = nil
	next := &thread.Handoff{Code: r.freeCode(), Signal: h.Signal, Detail: h.Detail, Since: r.now, Number: r.number()}
	if last := r.th.Handoff; last != nil {
		next.Missed, next.Decided, next.Timers = last.Missed, last.Decided, last.Timers // the graph has not heard of these yet
	}
	r.th.Handoff = next
	r.after(func() { r.log(ctx, slogInfo, "handoff.triggered", attr("signal", h.Signal), attr("detail", h.Detail)) })
	told := "platform_handed_over"
	if h.Signal != handoff.ExplicitRequest {
		told = "platform_handed_over_unasked" // nobody asked for it: "of course" would be wrong
	}
	if err := r.sayTo(ctx, r.customer(), outbox.System, graph.Say{Text: told}); err != nil {
		return err
	}
	return r.page(ctx)
}

// waitAgain suspends a thread whose human is gone: everybody is paged once more,
// and the clock begins afresh. The customer is told nothing, because they were
// told nothing of who typed.
func (r *run) waitAgain(ctx context.Context) error {
	h := r.th.Handoff
	r.th.Driver, r.th.Pending = thread.Suspended, nil
	r.th.Epoch++
	h.AdminID, h.AdminName, h.AdminPhone, h.Since = "", "", "", r.now
	h.Engaged, h.Asked, h.CallBack = nil, nil, false
	r.after(func() {
		r.log(ctx, slogInfo, "handoff.triggered", attr("signal", h.Signal), attr("detail", "the human fell silent"))
	})
	return r.page(ctx)
}

// cardRunes bounds, in runes, what a card shows of the last message. A card
// must fit one message with buttons; who takes over reads the rest.
const cardRunes = 300

// page sends every admin the card and sets the clock. An admin whose own chat it
// is reads it as the customer.
func (r *run) page(ctx context.Context) error {
	h, last := r.th.Handoff, ""
	if msgs := r.batch.Messages(); len(msgs) > 0 {
		last = texts(msgs)
	} else if said := r.lastWords(); said != "" {
		last = said
	}
	var languages []string
	for _, a := range r.b.Tenant.Admins {
		if a.Phone == r.snap.Contact.Phone() {
			continue
		}
		if err := r.card(ctx, r.toAdmin(a), "platform_card", map[string]any{"last": excerpt(last, cardRunes)}); err != nil {
			return err
		}
		if !slices.Contains(languages, a.Language) {
			languages = append(languages, a.Language)
		}
	}
	if r.e.cfg.Models {
		for _, lang := range languages {
			r.effects = append(r.effects, outbox.Row{
				Lane: "brief:" + string(r.th.ID), Kind: handoff.EffectBrief, Origin: outbox.System, Key: "brief:" + string(r.turnID) + ":" + lang,
				ThreadID: r.th.ID, Payload: encode(handoff.Effect{
					Thread: r.th.ID, Code: h.Code, Language: lang, Mailbox: r.claim.Key, Turn: r.turnID,
				}),
			})
		}
	}
	r.startClock()
	return nil
}

// lastWords is what the customer wrote last, as far as this turn has read.
func (r *run) lastWords() string {
	for _, l := range slices.Backward(r.snap.Recent) {
		if l.Direction == "in" && l.Text != "" {
			return l.Text
		}
	}
	return ""
}

// card sends one admin a message about this handoff with what can be done at
// once to tap.
func (r *run) card(ctx context.Context, to who, text string, facts map[string]any) error {
	h := r.th.Handoff
	why, err := r.render(to.Lang, "platform_signal", map[string]any{"signal": h.Signal})
	if err != nil {
		return err
	}
	facts["code"], facts["name"], facts["phone"], facts["why"] = h.Code, r.contactName(), handoff.MaskPhone(r.snap.Contact.Phone()), why
	second := graph.Choice{ID: "/dismiss " + h.Code, Text: "platform_button_dismiss"}
	if h.Draft != "" {
		second = graph.Choice{ID: "/send " + h.Code, Text: "platform_button_send"}
	}
	return r.sayTo(ctx, to, outbox.System, graph.Say{Text: text, Facts: facts, Choices: []graph.Choice{
		{ID: "/take " + h.Code, Text: "platform_button_take"}, second, {ID: "/more " + h.Code, Text: "platform_button_more"},
	}})
}

// engagedTurn notes that an admin has reacted to the page.
func (r *run) engagedTurn() error {
	h, e := r.th.Handoff, r.batch.Event()
	var phone string
	if err := decode(e.Data, &phone); err != nil {
		return err
	}
	if r.th.Driver == thread.Suspended && h.Code == e.Name && !slices.Contains(h.Engaged, phone) {
		h.Engaged = slices.Concat(h.Engaged, []string{phone})
	}
	return nil
}

// briefedTurn keeps a model's briefing and shows it to those who have the page:
// all admins of its language, or the one who has taken over.
func (r *run) briefedTurn(ctx context.Context) error {
	h, e := r.th.Handoff, r.batch.Event()
	human := r.th.Driver == thread.Suspended || r.th.Driver == thread.HumanDriving
	var b handoff.Brief
	if err := decode(e.Data, &b); err != nil || !human || h.Code != e.Name {
		return err
	}
	briefs := map[string]json.RawMessage{b.Language: e.Data}
	for lang, other := range h.Briefs {
		if lang != b.Language {
			briefs[lang] = other
		}
	}
	h.Briefs = briefs
	if h.Draft == "" {
		h.Draft = strings.TrimSpace(b.Draft)
	}
	r.after(func() { r.log(ctx, slogInfo, "handoff.briefed", attr("language", b.Language)) })
	for _, a := range r.b.Tenant.Admins {
		to := r.toAdmin(a)
		taken := r.th.Driver == thread.HumanDriving && h.AdminPhone != a.Phone
		if a.Language != b.Language || taken || a.Phone == r.snap.Contact.Phone() || r.outside(to) {
			continue
		}
		if err := r.brief(ctx, to, b); err != nil {
			return err
		}
	}
	return nil
}

// briefRunes bounds, in runes, each sentence of a model's that is shown.
const briefRunes = 220

// brief shows a briefing with all that can be done as a list.
func (r *run) brief(ctx context.Context, to who, b handoff.Brief) error {
	h := r.th.Handoff
	var collected []string
	for _, s := range b.Collected {
		collected = append(collected, s.Name+": "+s.Value)
	}
	return r.sayTo(ctx, to, outbox.System, graph.Say{Text: "platform_brief", ListLabel: "platform_choose", Choices: options(h, r.th.Driver), Facts: map[string]any{
		"code": h.Code, "name": r.contactName(), "phone": b.Phone, "summary": excerpt(b.Summary, briefRunes),
		"collected": excerpt(strings.Join(collected, ", "), briefRunes), "why": excerpt(b.Why, briefRunes),
		"next": excerpt(b.Next, briefRunes), "draft": excerpt(h.Draft, cardRunes),
	}})
}

func decode(raw json.RawMessage, into any) error { return json.Unmarshal(raw, into) }
