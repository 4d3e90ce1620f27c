package server

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ratiba/ratiba/internal/channel/voice"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/store"
	"github.com/ratiba/ratiba/internal/template"
	"github.com/ratiba/ratiba/internal/thread"
	"github.com/ratiba/ratiba/internal/turn"
	"github.com/ratiba/ratiba/internal/understand"
)

// converse stores what was heard, if anything, and waits for what the turn
// makes of it.
func (l *line) converse(ctx context.Context, m *message.Inbound) (voice.Answer, error) {
	h, err := l.hear(ctx, m)
	if err != nil {
		return voice.Answer{}, err
	}
	said, err := l.b.store.TakeSpoken(ctx, l.call.Contact, l.v.s.cfg.Clock.Now())
	if err != nil {
		return voice.Answer{}, err
	}
	if h.Lang != "" {
		l.call.Language = h.Lang
	}
	switch {
	case h.Driver == thread.HumanDriving:
		return l.say("platform_voice_human", true)
	case h.Driver == thread.Suspended:
		// What was said of it is for somebody who reads the chat.
		l.call.Phase = store.CallOffered
		return l.say("platform_voice_offer", false)
	case len(said) > 0:
		return l.aloud(said)
	case h.Waiting:
		a, err := l.say("platform_voice_moment", false)
		a.Filler = true
		return a, err
	}
	return l.say("platform_voice_repeat", false)
}

// hear puts what was heard into the caller's mailbox and waits until a turn has
// taken it.
func (l *line) hear(ctx context.Context, m *message.Inbound) (h store.Hearing, err error) {
	if m != nil {
		now := l.v.s.cfg.Clock.Now()
		if _, err := l.b.store.Deliver(ctx, []message.Inbound{*m}, nil, now, 0); err != nil {
			return h, err
		}
		l.v.s.turns.Wake(l.b.tenant.ID, now)
	}
	err = l.v.s.until(ctx, answerTime, func() (bool, error) {
		h, err = l.b.store.Hearing(ctx, l.call.Contact)
		return !h.Waiting, err
	})
	return h, err
}

// aloud is what a turn said, in words for the ear. Who speaks was said at the
// beginning of the call and is not said again.
func (l *line) aloud(said []outbox.Send) (voice.Answer, error) {
	disclosure, err := l.v.line(l.b, l.call.Language, "platform_disclosure", false)
	if err != nil {
		return disclosure, err
	}
	var parts []string
	l.call.Choices = nil
	for _, s := range said {
		s.Out.Text = strings.TrimSpace(strings.TrimPrefix(s.Out.Text, disclosure.Say))
		text, choices := voice.Speech(s.Out, l.option)
		parts = append(parts, text)
		if len(choices) > 0 {
			l.call.Choices = choices
		}
	}
	return voice.Answer{Say: strings.Join(parts, " "), Language: l.call.Language}, nil
}

// option words one thing that can be chosen.
func (l *line) option(n int, title string) string {
	text, err := l.v.texts.Render(l.call.Language, "platform_voice_option", l.b.tenant.Location(), map[string]any{"n": n, "title": title})
	if err != nil {
		return fmt.Sprintf("%d. %s.", n, title) // a fault of the catalogue must not silence the call
	}
	return strings.TrimSpace(text)
}

// offered waits for yes, or any key, to being written to. What is said beside it
// goes to whoever takes over.
func (l *line) offered(ctx context.Context, e voice.Event) (voice.Answer, error) {
	if e.Kind == voice.Key {
		return l.write(ctx)
	}
	if e.Text == "" {
		return l.say("platform_voice_offer_again", false)
	}
	m, err := l.heard(ctx, e)
	if err != nil {
		return voice.Answer{}, err
	}
	switch l.yesOrNo(m) {
	case yes:
		return l.write(ctx)
	case no:
		if err := l.callBack(ctx, "They called, and would rather be called back than written to."); err != nil {
			return voice.Answer{}, err
		}
		return l.say("platform_voice_declined", true)
	case neither:
	}
	h, err := l.hear(ctx, &m)
	switch {
	case err != nil:
		return voice.Answer{}, err
	case h.Driver == thread.HumanDriving:
		return l.say("platform_voice_human", true)
	}
	return l.say("platform_voice_offer_again", false)
}

// reaction is what a caller says to a question.
type reaction int

const (
	neither reaction = iota
	yes
	no
)

// yesOrNo reads a plain answer, by code alone.
func (l *line) yesOrNo(m message.Inbound) reaction {
	in := understand.Tier0(understand.Request{
		Messages: []message.Inbound{m}, Now: l.now, Zone: l.b.tenant.Location(), Region: l.b.tenant.Country, Locale: l.call.Language,
	})
	switch in.Answer { //nolint:exhaustive // anything else is no answer.
	case "yes":
		return yes
	case "no":
		return no
	}
	return neither
}

// hungUp ends a call. Somebody who was told that they would be written to is,
// though they did not wait to say yes.
func (l *line) hungUp(ctx context.Context) (voice.Answer, error) {
	a := voice.Answer{Language: l.call.Language, HangUp: true}
	if l.call.Phase == store.CallOffered {
		if _, err := l.send(ctx); err != nil {
			return a, err
		}
	}
	l.call.Phase, l.call.Choices = store.CallEnded, nil
	return a, nil
}

// write has the handoff go on in WhatsApp, and says whether that works while the
// caller still listens.
func (l *line) write(ctx context.Context) (voice.Answer, error) {
	key, err := l.send(ctx)
	if err != nil {
		return voice.Answer{}, err
	}
	failed := false
	err = l.v.s.until(ctx, reachTime, func() (bool, error) {
		state, status, err := l.b.store.SendState(ctx, key)
		failed = state == outbox.Failed || status == message.StatusFailed
		return failed || status == message.StatusDelivered || status == message.StatusRead, err
	})
	if err != nil {
		return voice.Answer{}, err
	}
	if !failed {
		return l.say("platform_voice_goodbye", true) // and should it fail later, that makes the task
	}
	if err := l.callBack(ctx, "They called, and could not be reached on WhatsApp."); err != nil {
		return voice.Answer{}, err
	}
	return l.say("platform_voice_tomorrow", true)
}

// send queues the template with which the chat goes on, once for the call.
func (l *line) send(ctx context.Context) (key string, err error) {
	h, err := l.b.store.Hearing(ctx, l.call.Contact)
	if err != nil {
		return "", err
	}
	to, _, err := store.Turns{Tenant: l.b.store}.Contact(ctx, l.call.Contact)
	if err != nil {
		return "", err
	}
	ref := l.v.s.templates.Fill(template.Call, l.call.Language, map[string]string{template.Business: l.b.tenant.Name})
	payload, err := json.Marshal(outbox.Send{Number: l.call.Number, To: to.Identities, Out: message.Outbound{Kind: message.Template, Template: ref}})
	if err != nil {
		return "", fmt.Errorf("encode message: %w", err)
	}
	now, key := l.v.s.cfg.Clock.Now(), "voice:"+l.call.ID
	err = l.b.store.Queue(ctx, outbox.Row{
		ID: ids.New(now), Lane: string(l.call.Contact) + ":whatsapp", Kind: outbox.SendMessage, Origin: outbox.System, Key: key,
		ContactID: l.call.Contact, ThreadID: h.Thread, Epoch: h.Epoch, Payload: payload, DueAt: l.v.s.real.Now(), CreatedAt: now,
		ExpiresAt: now.Add(callLife),
	})
	l.v.s.sends.Wake(l.b.tenant.ID, l.v.s.real.Now())
	return key, err
}

// callBack raises the task to call somebody back tomorrow.
func (l *line) callBack(ctx context.Context, detail string) error {
	h, err := l.b.store.Hearing(ctx, l.call.Contact)
	if err != nil {
		return err
	}
	now := l.v.s.cfg.Clock.Now()
	return l.b.store.RaiseTask(ctx, turn.TaskRow{
		ID: ids.New(now), Kind: turn.TaskCallBack, Key: turn.CallBackKey(h.Thread, l.call.Contact), Detail: detail, Thread: h.Thread,
		Contact: l.call.Contact, Due: turn.CallBackAt(now, l.b.tenant.Location()),
	}, now)
}
