package handoff

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/prompt"
)

//go:embed schema/*.json
var schemas embed.FS

// Kinds of effect that a model carries out for admins, after the commit. What
// comes of one is an event in the mailbox it names.
const (
	EffectBrief     = "handoff.brief"
	EffectTranslate = "handoff.translate"
)

// Effect is the payload of both. It names a chat and holds nothing of it.
type Effect struct {
	Thread   ids.ThreadID   `json:"thread_id"`
	Code     string         `json:"handoff"`
	Language string         `json:"language"` // the admin's
	Mailbox  ids.MailboxKey `json:"mailbox"`  // that the answer is posted to
	Turn     ids.TurnID     `json:"turn_id"`  // whose the model call is
}

// Brief is the briefing card: what a model makes of a chat for the admins. The
// first three fields and what was collected are the code's; a model that says
// otherwise is wrong.
type Brief struct {
	Trigger   string `json:"trigger"`
	Language  string `json:"language"` // en or sw: the admin's
	Phone     string `json:"customer_phone_masked"`
	Summary   string `json:"summary_one_line"`
	Collected []Slot `json:"what_collected"`
	Why       string `json:"why_paged"`
	Next      string `json:"suggested_next_action"`
	Draft     string `json:"agent_draft_to_send"` // in the customer's language, "" for none
}

// Translated is a translated chat, "" where no model could.
type Translated struct {
	Text string `json:"text"`
}

// Chat is what a model is told of a chat.
type Chat struct {
	Tenant     ids.TenantID
	Thread     ids.ThreadID
	Turn       ids.TurnID
	Business   string
	Signal     string
	Detail     string
	Language   string // the admin's
	Customer   string // the customer's language
	Phone      string // masked
	Collected  []Slot
	Transcript string // the newest last
}

// Model answers one question. It is safe for concurrent use; llm.Router is one.
type Model interface {
	Call(ctx context.Context, req llm.Request) (llm.Result, error)
}

// Summarizer briefs admins and translates for them, at the business's expense
// for its own operations and never at the customer's. It is safe for concurrent
// use.
type Summarizer struct {
	model                 Model
	prompts               *prompt.Set
	briefing, translation *llm.Schema
}

// Roles lists what the summarizer asks models for.
func Roles() []llm.Role { return []llm.Role{llm.HandoffSummarizer} }

// NewSummarizer returns a Summarizer. An error is a defect of its schemas.
func NewSummarizer(model Model, prompts *prompt.Set) (*Summarizer, error) {
	s := &Summarizer{model: model, prompts: prompts}
	for name, into := range map[string]**llm.Schema{"handoff_briefing": &s.briefing, "handoff_translation": &s.translation} {
		raw, err := schemas.ReadFile("schema/" + name + ".json")
		if err != nil {
			return nil, fmt.Errorf("handoff: read schema: %w", err)
		}
		if *into, err = llm.CompileSchema(name, raw); err != nil {
			return nil, fmt.Errorf("handoff: %w", err)
		}
	}
	return s, nil
}

// Bounds of what a model is shown and may write, in runes and tokens.
const (
	maxShown        = 8000
	maxSentence     = 600
	maxDraft        = 1000
	translateTokens = 4000
)

// errUnknownSignal is a signal of an app's own, for which the card has no name.
var errUnknownSignal = errors.New("handoff: the briefing card has no name for the signal")

// Brief has a model write the briefing card of a chat.
func (s *Summarizer) Brief(ctx context.Context, c Chat) (Brief, error) {
	if !slices.Contains(Signals(), c.Signal) {
		return Brief{}, errUnknownSignal
	}
	var collected []string
	for _, slot := range c.Collected {
		collected = append(collected, slot.Name+": "+slot.Value)
	}
	right := func(b Brief) error {
		switch {
		case b.Trigger != c.Signal || b.Language != c.Language || b.Phone != c.Phone:
			return errors.New("trigger, language and customer_phone_masked must be as given")
		case blank(b.Summary) || blank(b.Why) || blank(b.Next):
			return errors.New("summary_one_line, why_paged and suggested_next_action must say something")
		case long(b.Summary, maxSentence) || long(b.Why, maxSentence) || long(b.Next, maxSentence) || long(b.Draft, maxDraft):
			return errors.New("one or two sentences each, please")
		}
		return nil
	}
	var b Brief
	err := s.call(ctx, c, question{name: "handoff_summarizer", schema: s.briefing, vars: map[string]string{
		"business_name": c.Business, "trigger": c.Signal, "detail": c.Detail, "language": c.Language, "customer_language": c.Customer,
		"phone": c.Phone, "collected": strings.Join(collected, "\n"), "transcript": newest(c.Transcript),
	}, read: func(answer json.RawMessage) error {
		b = Brief{}
		if err := json.Unmarshal(answer, &b); err != nil {
			return err
		}
		return right(b)
	}})
	b.Collected = c.Collected
	return b, err
}

// Translate has a model put a chat into the admin's language.
func (s *Summarizer) Translate(ctx context.Context, c Chat) (string, error) {
	var out struct {
		Translation string `json:"translation"`
	}
	err := s.call(ctx, c, question{name: "handoff_translation", schema: s.translation, vars: map[string]string{
		"language": c.Language, "transcript": newest(c.Transcript),
	}, tokens: translateTokens, read: func(answer json.RawMessage) error {
		if err := json.Unmarshal(answer, &out); err != nil {
			return err
		}
		if blank(out.Translation) {
			return errors.New("the translation is empty")
		}
		return nil
	}})
	return strings.TrimSpace(out.Translation), err
}

// question is one call of a model.
type question struct {
	name   string // of the prompt
	schema *llm.Schema
	vars   map[string]string
	tokens int                         // of the answer, 0 for what the role says
	read   func(json.RawMessage) error // takes an answer, or says what is wrong with it
}

func (s *Summarizer) call(ctx context.Context, c Chat, q question) error {
	p, err := s.prompts.Render(q.name, q.vars)
	if err != nil {
		return err
	}
	res, err := s.model.Call(ctx, llm.Request{
		Role: llm.HandoffSummarizer, Tenant: c.Tenant, Thread: c.Thread, Turn: c.Turn, Account: llm.AccountOperations,
		PromptVersion: p.Version, System: p.System, Messages: p.Messages, Schema: q.schema, Check: q.read, MaxTokens: q.tokens,
	})
	if err == nil {
		err = q.read(res.JSON) // one that was answered before is held to the same
	}
	if err != nil {
		return fmt.Errorf("%s: %w", q.name, err)
	}
	return nil
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

func long(s string, limit int) bool { return utf8.RuneCountInString(s) > limit }

// newest is the end of a transcript that a model is shown, from the beginning of
// a line.
func newest(transcript string) string {
	runes := []rune(transcript)
	if len(runes) <= maxShown {
		return transcript
	}
	_, rest, found := strings.Cut(string(runes[len(runes)-maxShown:]), "\n")
	if !found {
		return string(runes[len(runes)-maxShown:])
	}
	return "…\n" + rest
}
