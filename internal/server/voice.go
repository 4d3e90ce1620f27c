package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/channel/voice"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/store"
	"github.com/ratiba/ratiba/internal/wording"
)

// How long a caller waits for an answer before they hear that it takes a moment,
// how long it is waited for whether WhatsApp reaches them, and how often both
// are looked at; the machine's time.
const (
	answerTime = 6 * time.Second
	reachTime  = 4 * time.Second
	lookEvery  = 25 * time.Millisecond
)

// callLife is how long after a call the message that continues it makes sense;
// the product's time.
const callLife = time.Hour

// switchboard answers a telephone gateway. A call is a channel like any other:
// what is heard waits in the caller's mailbox, a turn answers it, and what the
// turn says is said.
type switchboard struct {
	s     *Server
	texts *wording.Catalogue // the platform's
}

func (s *Server) voiceRoutes(mux *http.ServeMux) {
	mux.HandleFunc("POST /voice/calls/{id}/events", switchboard{s, s.texts}.event)
}

// event serves one event of a call.
func (v switchboard) event(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, voice.MaxBody))
	if err != nil {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			err = fault.E(fault.TooLarge, "The event is too large.")
		} else {
			err = fault.E(fault.Invalid, "The event could not be read.")
		}
		v.refuse(w, r, err)
		return
	}
	secret := v.s.cfg.Secrets(v.s.cfg.Settings.Voice.SecretEnv)
	if secret == "" {
		problem(w, fault.E(fault.NotFound, "There is nothing here."))
		return
	}
	if !voice.Verify(secret, id, body, r.Header.Get(voice.Header)) {
		v.refuse(w, r, fault.E(fault.Unauthorized, "The event's signature is wrong."))
		return
	}
	e, err := voice.Parse(id, body)
	if err != nil {
		v.refuse(w, r, err)
		return
	}
	to, ok := v.s.routes.Load().phones[e.To]
	if !ok {
		v.refuse(w, r, fault.E(fault.NotFound, "No business has that number."))
		return
	}
	answer, err := v.answer(r.Context(), to, id, e)
	if err != nil {
		v.refuse(w, r, err)
		return
	}
	asJSON(w, http.StatusOK, answer)
}

func (v switchboard) refuse(w http.ResponseWriter, r *http.Request, err error) {
	v.s.cfg.Logger.LogAttrs(r.Context(), slog.LevelWarn, "voice.refused", slog.String("code", string(fault.CodeOf(err))), slog.String("error", err.Error()))
	problem(w, err)
}

// answer finds the answer to an event, once: an event that comes again gets the
// answer it got.
func (v switchboard) answer(ctx context.Context, to dialled, id string, e voice.Event) (voice.Answer, error) {
	if e.Kind == voice.Start && e.From == "" {
		lang := cmp.Or(e.Language, to.business.tenant.Locale)
		return v.line(to.business, lang, "platform_voice_hidden", true)
	}
	st, now := to.business.store, v.s.cfg.Clock.Now()
	var c store.PhoneCall
	var fresh bool
	var err error
	if e.Kind == voice.Start {
		lang := cmp.Or(e.Language, to.business.tenant.Locale)
		c, fresh, err = st.BeginCall(ctx, store.PhoneCall{ID: id, Number: to.number, Language: lang}, e.From, now, v.s.real.Now())
	} else {
		c, fresh, err = st.NextEvent(ctx, id, e.Seq, v.s.real.Now())
	}
	switch {
	case err != nil:
		return voice.Answer{}, err
	case !fresh:
		return v.known(ctx, st, c, e)
	}
	l := &line{v: v, b: to.business, call: c, now: now}
	a, err := l.take(ctx, e)
	if err != nil {
		return a, err
	}
	raw, err := json.Marshal(a)
	if err != nil {
		return a, fmt.Errorf("encode answer: %w", err)
	}
	l.call.Answer = raw
	// A gateway that has gone gets the same answer when it asks again.
	if err := st.Answered(context.WithoutCancel(ctx), l.call, now); err != nil {
		return a, err
	}
	v.s.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "voice.answered", slog.String("tenant_id", string(to.business.tenant.ID)),
		slog.String("call_id", id), slog.String("kind", string(e.Kind)), slog.String("phase", string(l.call.Phase)), slog.Bool("filler", a.Filler))
	return a, nil
}

// known is the answer that an event got before. One that is still being
// answered by somebody else is waited for.
func (v switchboard) known(ctx context.Context, st *store.Tenant, c store.PhoneCall, e voice.Event) (a voice.Answer, err error) {
	if c.Phase == store.CallEnded && (e.Seq != c.Seq || len(c.Answer) == 0) {
		return voice.Answer{Language: c.Language, HangUp: true}, nil
	}
	if len(c.Answer) == 0 && e.Seq == c.Seq {
		err = v.s.until(ctx, answerTime, func() (bool, error) {
			c, err = st.Call(ctx, c.ID)
			return len(c.Answer) > 0 || c.Seq != e.Seq, err
		})
	}
	switch {
	case err != nil:
		return a, err
	case c.Seq != e.Seq:
		return a, fault.E(fault.Conflict, fmt.Sprintf("The last event of this call was %d, so %d does not follow.", c.Seq, e.Seq))
	case len(c.Answer) == 0:
		return voice.Answer{Language: c.Language, Filler: true}, nil
	}
	if err := json.Unmarshal(c.Answer, &a); err != nil {
		return a, fmt.Errorf("read answer: %w", err)
	}
	return a, nil
}

// line is one of the platform's own sentences.
func (v switchboard) line(b *business, lang, key string, hangUp bool) (voice.Answer, error) {
	text, err := v.texts.Render(lang, key, b.tenant.Location(), map[string]any{
		"now": v.s.cfg.Clock.Now(), "business": b.tenant.Name, "assistant": b.tenant.Assistant,
	})
	return voice.Answer{Say: strings.TrimSpace(text), Language: lang, HangUp: hangUp}, err
}

// until looks again and again until done says so, or the time is over.
func (s *Server) until(ctx context.Context, most time.Duration, done func() (bool, error)) error {
	over := time.After(most)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait: %w", ctx.Err())
		case <-over:
			return nil
		case <-tick.C:
		}
	}
}

// speechCarrier has what nobody took to say: the call is over.
type speechCarrier struct{}

// Carry implements outbox.Carrier.
func (speechCarrier) Carry(context.Context, ids.TenantID, outbox.Row) outbox.Outcome {
	return outbox.Outcome{Verdict: outbox.GiveUp, Class: "hung_up"}
}

// line is one call, and the event of it that is being answered.
type line struct {
	v    switchboard
	b    *business
	call store.PhoneCall
	now  time.Time
}

func (l *line) say(key string, hangUp bool) (voice.Answer, error) {
	if hangUp {
		l.call.Phase, l.call.Choices = store.CallEnded, nil
	}
	return l.v.line(l.b, l.call.Language, key, hangUp)
}

// take answers an event, whatever the call's phase.
func (l *line) take(ctx context.Context, e voice.Event) (voice.Answer, error) {
	switch {
	case e.Kind == voice.Start:
		return l.say("platform_voice_hello", false)
	case e.Kind == voice.End:
		return l.hungUp(ctx)
	case l.call.Phase == store.CallOffered:
		return l.offered(ctx, e)
	case e.Kind == voice.Heard && e.Text == "":
		return l.converse(ctx, nil)
	}
	m, err := l.heard(ctx, e)
	if err != nil {
		return voice.Answer{}, err
	}
	if e.Kind == voice.Key {
		m.Text = e.Keys
		if n := len(l.call.Choices); len(e.Keys) == 1 && e.Keys[0] >= '1' && int(e.Keys[0]-'0') <= n {
			c := l.call.Choices[e.Keys[0]-'1']
			m.Kind, m.Choice, m.Text = message.Button, c.ID, c.Title
		}
	}
	return l.converse(ctx, &m)
}

// heard is what an event brought, as a message of the caller's: whoever the call
// began with, whatever a later event says.
func (l *line) heard(ctx context.Context, e voice.Event) (message.Inbound, error) {
	c, _, err := store.Turns{Tenant: l.b.store}.Contact(ctx, l.call.Contact)
	return message.Inbound{
		Channel: message.Voice, Number: l.call.Number, ProviderID: fmt.Sprintf("%s/%d", l.call.ID, e.Seq), SentAt: l.now.Truncate(time.Second),
		From: c.Identities, Kind: message.Text, Text: e.Text,
	}, err
}
