package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/app"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/handoff"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/prompt"
	"github.com/ratiba/ratiba/internal/turn"
)

// summarizer composes what briefs and translates; nil without a model.
func (s *Server) summarizer() (*handoff.Summarizer, error) {
	if s.models == nil {
		return nil, nil //nolint:nilnil // no model is a way to run.
	}
	prompts, err := prompt.Embedded()
	if err != nil {
		return nil, err
	}
	return handoff.NewSummarizer(s.models, prompts)
}

// modelTime bounds one call of a model for admins; real time, below what an
// effect may take.
const modelTime = outbox.CarryTime - 5*time.Second

// handoffCarrier has a model brief admins about a chat, or translate one. What
// the model says comes back as an event. A model that fails changes nothing: the
// page went out before it was asked.
type handoffCarrier struct{ s *Server }

// Carry implements outbox.Carrier.
func (c handoffCarrier) Carry(ctx context.Context, id ids.TenantID, row outbox.Row) outbox.Outcome {
	done := outbox.Outcome{Verdict: outbox.Done}
	var e handoff.Effect
	if err := json.Unmarshal(row.Payload, &e); err != nil {
		return outbox.Outcome{Verdict: outbox.GiveUp, Class: "defect", Detail: err.Error()}
	}
	b, err := c.s.business(id)
	if err != nil {
		return outbox.Outcome{Verdict: outbox.GiveUp, Class: "defect", Detail: err.Error()}
	}
	chat, found, err := c.chat(ctx, b, e)
	if err != nil {
		return outbox.Outcome{Verdict: outbox.Retry, Class: "store", Detail: err.Error()}
	}
	if !found || c.s.briefs == nil {
		return done
	}
	asked, cancel := context.WithTimeout(ctx, modelTime)
	defer cancel()
	event := mailbox.Event{Kind: mailbox.Briefed, Name: e.Code, Scope: e.Thread}
	var answer any
	if row.Kind == handoff.EffectTranslate {
		event.Kind = mailbox.Translated
		answer, err = c.translation(asked, id, chat)
	} else {
		answer, err = c.s.briefs.Brief(asked, chat)
	}
	if err != nil {
		c.s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "handoff.model_failed", slog.String("tenant_id", string(id)),
			slog.String("conversation_id", string(e.Thread)), slog.String("kind", row.Kind), slog.String("error", err.Error()))
		if row.Kind == handoff.EffectBrief {
			return done
		}
	}
	if event.Data, err = json.Marshal(answer); err != nil {
		return outbox.Outcome{Verdict: outbox.GiveUp, Class: "defect", Detail: err.Error()}
	}
	now := c.s.cfg.Clock.Now()
	if _, err := b.store.Post(ctx, e.Mailbox, event, row.Key, now); err != nil {
		return outbox.Outcome{Verdict: outbox.Retry, Class: "store", Detail: err.Error()}
	}
	c.s.turns.Wake(id, now)
	return done
}

// chat reads what a model is told. It reports false when the handoff is over, so
// that nobody needs it any more.
func (c handoffCarrier) chat(ctx context.Context, b *business, e handoff.Effect) (handoff.Chat, bool, error) {
	chats, err := b.turns.Store.Chats(ctx, turn.ChatQuery{Thread: e.Thread, Limit: 1})
	if err != nil || len(chats) == 0 || chats[0].Thread.Handoff == nil || chats[0].Thread.Handoff.Code != e.Code {
		return handoff.Chat{}, false, err
	}
	th := chats[0].Thread
	lines, err := b.turns.Store.Transcript(ctx, e.Thread)
	if err != nil {
		return handoff.Chat{}, false, err
	}
	out := handoff.Chat{
		Tenant: b.tenant.ID, Thread: e.Thread, Turn: e.Turn, Business: b.tenant.Name, Signal: th.Handoff.Signal, Detail: th.Handoff.Detail,
		Language: e.Language, Customer: th.Language, Phone: handoff.MaskPhone(chats[0].Phone), Transcript: turn.Script(lines),
	}
	if a := b.turns.App; a.Collected != nil && th.App == a.Name && th.GraphVer == a.Flow.Version() {
		out.Collected = a.Collected(app.Said{
			Node: graph.Name(th.Node), State: th.State, Facts: b.turns.Facts(), Now: c.s.cfg.Clock.Now(), Lang: e.Language,
		})
	}
	return out, true, nil
}

// translationLife is how long a translation is kept for who asks again.
const translationLife = time.Hour

// translation has a chat translated, or finds the translation of an hour ago
// where nothing was said since. Without one its text is empty.
func (c handoffCarrier) translation(ctx context.Context, id ids.TenantID, chat handoff.Chat) (handoff.Translated, error) {
	key := strings.Join([]string{"translation", string(id), string(chat.Thread), chat.Language}, "/")
	sum := sha256.Sum256([]byte(chat.Transcript))
	of := hex.EncodeToString(sum[:])
	if raw, ok := c.s.hot.Get(ctx, key); ok {
		if known, text, ok := strings.Cut(string(raw), "\n"); ok && known == of {
			return handoff.Translated{Text: text}, nil
		}
	}
	text, err := c.s.briefs.Translate(ctx, chat)
	if err == nil {
		c.s.hot.Set(ctx, key, []byte(of+"\n"+text), translationLife)
	}
	return handoff.Translated{Text: text}, err
}
