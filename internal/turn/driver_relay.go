package turn

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/handoff"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/thread"
)

// relayToHuman hands a customer's messages to the admin who drives, verbatim.
// When that admin is one no more, the others are called.
func (r *run) relayToHuman(ctx context.Context) error {
	h := r.th.Handoff
	admin := r.b.Tenant.AdminByPhone(h.AdminPhone)
	if admin == nil {
		return r.waitAgain(ctx)
	}
	to, header := r.toAdmin(*admin), r.header(r.th, r.contactName())
	for _, m := range r.batch.Messages() {
		if err := r.toHuman(to, header, m); err != nil {
			return err
		}
	}
	r.after(func() { r.log(ctx, slogInfo, "admin.message.relayed", attr("direction", "to_admin")) })
	return nil
}

// header stands above what is relayed to an admin: the code and the customer,
// and where their own words go when that is somewhere else.
func (r *run) header(th *thread.Thread, name string) string {
	head := fmt.Sprintf("*#%s %s*", th.Handoff.Code, name)
	if f := focus(r.snap.Handoffs, th.Handoff.AdminPhone, ""); f != nil && f.ID != th.ID && r.admin == nil {
		head += fmt.Sprintf(" (✍ #%s)", f.Handoff.Code)
	}
	return head
}

// toHuman relays one message of a customer.
func (r *run) toHuman(to who, header string, m message.Inbound) error {
	if m.Kind == message.Media && m.Attachment != nil && m.Attachment.ID != "" {
		return r.relayFile(to, header, *m.Attachment, m.Text)
	}
	body, err := r.inWords(to.Lang, m)
	if err != nil {
		return err
	}
	r.raw(to, outbox.Relay, message.Outbound{Kind: message.Text, Text: header + "\n" + body})
	return nil
}

// captionRunes is how long what stands under a file may be; more becomes a
// message of its own.
const captionRunes = 1000

// relayFile relays a file with what was written under it. Voice notes and
// stickers carry no words, so these go before.
func (r *run) relayFile(to who, header string, a message.Attachment, caption string) error {
	text := strings.TrimSpace(strings.TrimSpace(header) + "\n" + caption)
	captioned := a.Kind == "image" || a.Kind == "video" || a.Kind == "document"
	if captioned && utf8.RuneCountInString(text) <= captionRunes {
		a.Caption, text = text, ""
	} else {
		a.Caption = ""
	}
	if text != "" {
		if caption == "" && header != "" {
			what, err := r.render(to.Lang, "platform_sent_"+fileKind(a), map[string]any{"name": a.Filename})
			if err != nil {
				return err
			}
			text += "\n" + what
		}
		r.raw(to, outbox.Relay, message.Outbound{Kind: message.Text, Text: text})
	}
	r.raw(to, outbox.Relay, message.Outbound{Kind: message.Media, Attachment: &a})
	return nil
}

// fileKind is a kind of file there are words for.
func fileKind(a message.Attachment) string {
	switch a.Kind {
	case "image", "video", "document", "sticker":
		return a.Kind
	case "audio":
		if a.Voice {
			return "voice"
		}
		return "audio"
	}
	return "file"
}

// inWords is a message as text: what it says, or what it is where it says
// nothing.
func (r *run) inWords(lang string, m message.Inbound) (string, error) {
	key, facts := "", map[string]any{}
	switch m.Kind {
	case message.Location:
		if m.Place != nil {
			return place(*m.Place), nil
		}
	case message.ContactCard:
		if len(m.Cards) > 0 {
			return cards(m.Cards), nil
		}
	case message.Reaction:
		key, facts["emoji"] = "platform_sent_reaction", m.Emoji
		if m.Emoji == "" {
			key = "platform_sent_no_reaction"
		}
	case message.Edit:
		key, facts["text"] = "platform_sent_edit", m.Text
	case message.Revoke:
		key = "platform_sent_revoke"
	case message.Media:
		if m.Attachment != nil {
			key, facts["name"] = "platform_sent_"+fileKind(*m.Attachment), m.Attachment.Filename
		}
	case message.Text, message.Button, message.List, message.Order, message.System, message.Unsupported, message.Template, message.RequestContact:
	}
	if key == "" && m.Text != "" {
		return m.Text, nil
	}
	if key == "" {
		return "[" + string(m.Kind) + "]", nil
	}
	text, err := r.render(lang, key, facts)
	if err == nil && m.Text != "" && m.Kind == message.Media {
		text += "\n" + m.Text
	}
	return text, err
}

// place writes a location as people open it.
func place(p message.Place) string {
	lines := []string{"📍"}
	for _, s := range []string{p.Name, p.Address} {
		if s != "" {
			lines = append(lines, s)
		}
	}
	at := fmt.Sprintf("%.6f,%.6f", p.Latitude, p.Longitude)
	return strings.Join(append(lines, "https://maps.google.com/?q="+url.QueryEscape(at)), "\n")
}

// cards writes shared contacts, a line each.
func cards(all []message.Card) string {
	var lines []string
	for _, c := range all {
		lines = append(lines, "👤 "+strings.TrimSpace(c.Name+" "+strings.Join(c.Phones, ", ")))
	}
	return strings.Join(lines, "\n")
}

// relayToCustomer passes on what the driving admin wrote, verbatim. What cannot
// be passed on is said so.
func (r *run) relayToCustomer(ctx context.Context, th *thread.Thread) error {
	to, err := r.contactOf(ctx, th)
	if err != nil {
		return err
	}
	r.about(th, th.Handoff.Code)
	r.touch(th)
	relayed, refused := false, false
	for _, m := range r.batch.Messages() {
		switch {
		case m.Kind == message.Media && m.Attachment != nil && m.Attachment.ID != "":
			r.relayOn(th, to, *m.Attachment, m.Text)
			relayed = true
		case m.Kind == message.Location && m.Place != nil, m.Kind == message.ContactCard && len(m.Cards) > 0:
			words, err := r.inWords(to.Lang, m)
			if err != nil {
				return err
			}
			r.rawOn(th.ID, th.Epoch, to, outbox.Relay, message.Outbound{Kind: message.Text, Text: words})
			relayed = true
		case m.Text != "":
			r.rawOn(th.ID, th.Epoch, to, outbox.Relay, message.Outbound{Kind: message.Text, Text: m.Text})
			relayed = true
		case m.Kind == message.Reaction:
		default:
			refused = true
		}
	}
	if relayed {
		r.after(func() { r.log(ctx, slogInfo, "admin.message.relayed", attr("direction", "to_customer")) })
	}
	if refused {
		return r.tellAbout(ctx, th, graph.Say{Text: "platform_admin_cannot_relay"})
	}
	return nil
}

// relayOn relays an admin's file to the customer.
func (r *run) relayOn(th *thread.Thread, to who, a message.Attachment, caption string) {
	a.Caption = ""
	switch {
	case a.Kind != "audio" && a.Kind != "sticker" && utf8.RuneCountInString(caption) <= captionRunes:
		a.Caption = caption
	case caption != "":
		r.rawOn(th.ID, th.Epoch, to, outbox.Relay, message.Outbound{Kind: message.Text, Text: caption})
	}
	r.rawOn(th.ID, th.Epoch, to, outbox.Relay, message.Outbound{Kind: message.Media, Attachment: &a})
}

// transcript writes lines for people, with what files are in their language.
func (r *run) transcript(lang string, lines []Line) string {
	return script(lines, func(a message.Attachment) string {
		what, err := r.render(lang, "platform_sent_"+fileKind(a), map[string]any{"name": a.Filename})
		if err != nil {
			return fileKind(a)
		}
		return what
	})
}

// Script writes lines for a model.
func Script(lines []Line) string {
	return script(lines, func(a message.Attachment) string { return "[" + fileKind(a) + "]" })
}

// script writes a line of a transcript per line: ▸ the customer's own words,
// untranslated, ◂ what the agent answered, ◆ what a human did, and a rule where
// the human handed back.
func script(lines []Line, file func(a message.Attachment) string) string {
	var out strings.Builder
	for _, l := range lines {
		mark, text := "◂", l.Text
		switch {
		case l.Kind == handBack:
			out.WriteString("———\n")
			continue
		case l.Direction == "in":
			mark = "▸"
		case l.Origin == string(outbox.Relay):
			mark = "◆"
		}
		if l.Attachment != nil {
			text = strings.TrimSpace(file(*l.Attachment) + " " + text)
		}
		if text == "" {
			text = "[" + l.Kind + "]"
		}
		out.WriteString(mark + " " + text + "\n")
	}
	return out.String()
}

// showTranscript sends the admin the whole chat, in as many parts as it takes.
func (r *run) showTranscript(ctx context.Context, th *thread.Thread) error {
	lines, err := r.transcriptOf(ctx, th.ID)
	if err != nil {
		return err
	}
	return r.tellAbout(ctx, th, graph.Say{Text: "platform_admin_transcript", Facts: map[string]any{"transcript": r.transcript(r.admin.Language, lines)}})
}

// translate has the chat translated into the admin's language: an effect,
// because a model is slow. Its answer comes back as an event of this mailbox.
func (r *run) translate(ctx context.Context, th *thread.Thread) error {
	if !r.e.cfg.Models {
		return r.tellAbout(ctx, th, graph.Say{Text: "platform_admin_no_translation"})
	}
	r.effects = append(r.effects, outbox.Row{
		Lane: "translate:" + string(th.ID), Kind: handoff.EffectTranslate, Origin: outbox.System, Key: "translate:" + string(r.turnID),
		ThreadID: th.ID, Payload: encode(handoff.Effect{
			Thread: th.ID, Code: th.Handoff.Code, Language: r.admin.Language, Mailbox: r.claim.Key, Turn: r.turnID,
		}),
	})
	return r.tellAbout(ctx, th, graph.Say{Text: "platform_admin_translating"})
}

// translatedTurn shows an admin the translation they asked for.
func (r *run) translatedTurn(ctx context.Context) error {
	r.opens = false
	e := r.batch.Event()
	var t handoff.Translated
	if err := decode(e.Data, &t); err != nil || r.admin == nil {
		return err
	}
	r.aboutThread, r.aboutCode = e.Scope, e.Name
	say := graph.Say{Text: "platform_admin_translation", Facts: map[string]any{"code": e.Name, "transcript": t.Text}}
	if t.Text == "" {
		say = graph.Say{Text: "platform_admin_no_translation", Facts: map[string]any{"code": e.Name}}
	}
	return r.sayAdmin(ctx, say)
}
