package server

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/ratiba/ratiba/internal/coord"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/notify/slack"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/store"
	"github.com/ratiba/ratiba/internal/tenant"
)

// people is the last rung of the models' ladders: a queue for each business,
// and a chat in which its cards are posted.
type people struct {
	s     *Server
	slack *slack.Client
	cards *slack.Cards
	pace  coord.Taker // Slack takes about one message a second and channel
}

func (s *Server) newPeople() (*people, error) {
	cards, err := slack.NewCards()
	if err != nil {
		return nil, fmt.Errorf("read Slack's texts: %w", err)
	}
	set := s.cfg.Settings.Slack
	return &people{
		s: s, cards: cards, slack: slack.New(slack.Config{BaseURL: set.URL, Token: s.cfg.Secrets(set.TokenEnv)}),
		pace: s.hot.Bucket("slack", coord.Rate{Every: time.Second, Burst: 3}),
	}, nil
}

// channel is where a business's cards are posted, "" for nowhere.
func (s *Server) channel(t *tenant.Tenant) string {
	return cmp.Or(t.Slack, s.cfg.Settings.Slack.Channel)
}

// Post implements llm.Escalations.
func (p *people) Post(ctx context.Context, e llm.Escalation) error {
	b, err := p.s.business(e.Tenant)
	if err != nil {
		return err
	}
	if _, err := b.store.PostEscalation(ctx, e, p.s.channel(&b.tenant) != "", p.s.real.Now()); err != nil {
		return err
	}
	p.s.sends.Wake(e.Tenant, p.s.real.Now())
	p.s.turns.Wake(e.Tenant, e.At.Add(llm.EscalationLife))
	return nil
}

// cardCarrier posts cards, brings them up to date, and tells who came too late.
type cardCarrier struct{ *people }

// Carry implements outbox.Carrier.
func (c cardCarrier) Carry(ctx context.Context, id ids.TenantID, row outbox.Row) outbox.Outcome {
	var effect llm.EscalationEffect
	if err := json.Unmarshal(row.Payload, &effect); err != nil {
		return outbox.Outcome{Verdict: outbox.GiveUp, Class: "defect", Detail: err.Error()}
	}
	b, err := c.s.business(id)
	if err != nil {
		return outbox.Outcome{Verdict: outbox.GiveUp, Class: "defect", Detail: err.Error()}
	}
	k, err := b.store.Escalation(ctx, effect.Escalation, c.s.cfg.Clock.Now())
	if err != nil {
		return outbox.Outcome{Verdict: outbox.Retry, Class: "store", Detail: err.Error()}
	}
	to := slack.Reader{Tenant: id, Business: b.tenant.Name, Slug: b.tenant.Slug, Language: b.tenant.Locale, Zone: b.tenant.Location()}
	in := cmp.Or(effect.Place.Channel, c.s.channel(&b.tenant))
	if row.Kind == llm.EffectCard && (k.State != llm.CaseOpen || in == "") {
		return outbox.Outcome{Verdict: outbox.Done} // nobody needs to be asked any more, or nobody is there
	}
	if wait := c.pace.Take(ctx, string(id)+"/"+in, c.s.real.Now()); wait > 0 {
		return outbox.Outcome{Verdict: outbox.Retry, Class: outbox.ClassLocal, RetryAfter: wait}
	}
	switch row.Kind {
	case llm.EffectCard:
		err = c.post(ctx, b, to, in, &k)
	case llm.EffectUpdate:
		err = c.update(ctx, to, effect.Place, &k)
	default:
		err = c.tell(ctx, to, effect, &k)
	}
	if err != nil {
		return failed(err)
	}
	return outbox.Outcome{Verdict: outbox.Done}
}

// post puts a card into the chat. When where it stands cannot be noted, the
// attempt is in doubt: it will be posted again.
func (c cardCarrier) post(ctx context.Context, b *business, to slack.Reader, in string, k *llm.Case) error {
	m, err := c.cards.Card(to, k)
	if err != nil {
		return err
	}
	at, err := c.slack.Post(ctx, in, m)
	if err != nil {
		return err
	}
	if err := b.store.PlaceEscalation(ctx, k.ID, at, c.s.real.Now()); err != nil {
		return fmt.Errorf("note where the card stands: %w", err)
	}
	return nil
}

func (c cardCarrier) update(ctx context.Context, to slack.Reader, at llm.Place, k *llm.Case) error {
	m, err := c.cards.Card(to, k)
	if err != nil {
		return err
	}
	return c.slack.Update(ctx, at, m)
}

func (c cardCarrier) tell(ctx context.Context, to slack.Reader, effect llm.EscalationEffect, k *llm.Case) error {
	text, err := c.cards.Late(to, k)
	if err != nil {
		return err
	}
	return c.slack.Whisper(ctx, effect.Place.Channel, effect.User, text)
}

// Slack implements httpd.Intake: somebody tapped a button. What is genuine and
// decides nothing is logged and not asked for again.
func (s *Server) Slack(ctx context.Context, timestamp, signature string, body []byte) error {
	secret := s.cfg.Secrets(s.cfg.Settings.Slack.SigningSecretEnv)
	if err := slack.Verify(secret, timestamp, signature, body, s.real.Now()); err != nil {
		return err
	}
	tap, ours, err := slack.ParseTap(body)
	if err == nil && !ours {
		return nil // another button of the same app
	}
	if err == nil {
		err = s.tapped(ctx, tap)
	}
	switch code := fault.CodeOf(err); code {
	case fault.Invalid, fault.NotFound, fault.Forbidden:
		s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "escalation.refused", slog.String("source", "slack"), slog.String("code", string(code)))
		return nil
	case fault.Conflict:
		return nil // somebody decided before, and who tapped is told so
	case fault.Internal, fault.Unauthorized, fault.TooLarge, fault.RateLimited, fault.Unavailable:
	}
	return err
}

func (s *Server) tapped(ctx context.Context, tap slack.Tap) error {
	b, err := s.business(tap.Tenant)
	if err != nil {
		return err
	}
	now := s.cfg.Clock.Now()
	k, err := b.store.Escalation(ctx, tap.Escalation, now)
	if err != nil {
		return err
	}
	d := llm.Decision{By: tap.Name, At: now}
	if tap.Choice >= 0 && tap.Choice < len(k.Card.Choices) {
		d.Choice = k.Card.Choices[tap.Choice].ID
	}
	_, err = s.decide(ctx, b, tap.Escalation, d, store.Tap{Place: tap.Place, User: tap.User, Key: tap.Key}, "slack")
	return err
}

// decide records a decision and wakes who waits for it.
func (s *Server) decide(ctx context.Context, b *business, id string, d llm.Decision, tap store.Tap, source string) (llm.Case, error) {
	k, first, err := b.store.Decide(ctx, id, d, tap, s.real.Now())
	if err != nil {
		return k, err
	}
	s.sends.Wake(b.tenant.ID, s.real.Now()) // a card may have to be brought up to date
	s.turns.Wake(b.tenant.ID, s.cfg.Clock.Now())
	s.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "escalation.decided", slog.String("tenant_id", string(b.tenant.ID)),
		slog.String("conversation_id", string(k.Thread)), slog.String("turn_id", string(k.Turn)), slog.String("escalation_id", id),
		slog.String("role", string(k.Role)), slog.String("source", source), slog.Bool("first", first), slog.String("state", string(k.State)),
		slog.Float64("waited_ms", float64(d.At.Sub(k.At).Microseconds())/1000))
	if !first {
		return k, fault.E(fault.Conflict, alreadyDecided(k))
	}
	return k, nil
}

func alreadyDecided(k llm.Case) string {
	if k.Decision == nil {
		return "It is too late: nobody decided in time."
	}
	return fmt.Sprintf("%s has decided already: %s.", k.Decision.By, k.Label())
}

// bySlug finds a business that is served.
func (s *Server) bySlug(slug string) (*business, error) {
	all := s.all()
	at := slices.IndexFunc(all, func(b *business) bool { return b.tenant.Slug == slug })
	if at < 0 {
		return nil, fault.E(fault.NotFound, fmt.Sprintf("There is no business %q here.", slug))
	}
	return all[at], nil
}

// Escalations lists what people of a business are asked, or were, in a state or,
// with "", in all: the newest first and no more than 200.
func (s *Server) Escalations(ctx context.Context, slug string, state llm.CaseState) ([]llm.Case, error) {
	if !slices.Contains([]llm.CaseState{"", llm.CaseOpen, llm.CaseDecided, llm.CaseExpired}, state) {
		return nil, fault.E(fault.Invalid, "The state must be open, decided or expired.")
	}
	b, err := s.bySlug(slug)
	if err != nil {
		return nil, err
	}
	return b.store.Escalations(ctx, state, s.cfg.Clock.Now())
}

// Escalation returns one.
func (s *Server) Escalation(ctx context.Context, slug, id string) (llm.Case, error) {
	b, err := s.bySlug(slug)
	if err != nil {
		return llm.Case{}, err
	}
	return b.store.Escalation(ctx, id, s.cfg.Clock.Now())
}

// Decide decides one, now. The first decision stands: whoever comes later gets
// fault.Conflict and the case as it was decided.
func (s *Server) Decide(ctx context.Context, slug, id string, d llm.Decision) (llm.Case, error) {
	b, err := s.bySlug(slug)
	if err != nil {
		return llm.Case{}, err
	}
	d.At = s.cfg.Clock.Now()
	return s.decide(ctx, b, id, d, store.Tap{}, "queue")
}

// speechless names what Slack lacks for the businesses whose cards are to be
// posted there.
func (s *Server) speechless(t tenant.Tenant) (errs []error) {
	set := s.cfg.Settings.Slack
	if s.channel(&t) == "" {
		return nil
	}
	if s.cfg.Secrets(set.TokenEnv) == "" {
		errs = append(errs, fmt.Errorf("%s: want the token of the Slack bot that asks the people of %s", set.TokenEnv, t.Slug))
	}
	if s.cfg.Secrets(set.SigningSecretEnv) == "" {
		errs = append(errs, fmt.Errorf("%s: want the signing secret of the Slack app that asks the people of %s", set.SigningSecretEnv, t.Slug))
	}
	return errs
}
