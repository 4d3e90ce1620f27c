package understand

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/prompt"
	"github.com/ratiba/ratiba/internal/understand/lex"
)

//go:embed schema/*.json
var schemas embed.FS

// Model answers one question, and says before which arm of a trial it is asked
// in. It is safe for concurrent use; llm.Router is one.
type Model interface {
	Resolve(ctx context.Context, t llm.Target) (llm.Resolution, error)
	Call(ctx context.Context, req llm.Request) (llm.Result, error)
}

// Prompts renders the version of a prompt that an alias stands for; every
// variable the prompt declares is given. prompt.Set is one.
type Prompts interface {
	RenderAs(name, alias string, vars map[string]string) (prompt.Rendered, error)
}

// Tracks says how a role did for a business lately: the same for some minutes,
// and at once. Nothing is known of the zero Track.
type Tracks interface {
	Track(ctx context.Context, tenant ids.TenantID, role llm.Role) prompt.Track
}

// Config is what an Understander needs.
type Config struct {
	Model   Model   // nil: tier 0 alone understands, and nothing is phrased
	Prompts Prompts // required with Model
	Tracks  Tracks  // nil: prompts tell no track record
	Logger  *slog.Logger
}

// trackRecord is the variable of every prompt that tells how its role did.
const trackRecord = "track_record"

// Voice is how a business speaks: what prompts are told about it. Every field
// is trusted text.
type Voice struct {
	Assistant  string
	Business   string
	HouseRules string
	Locale     string
}

// IDs say what a model call belongs to and in whose name it speaks.
type IDs struct {
	Tenant  ids.TenantID
	Thread  ids.ThreadID
	Contact ids.ContactID // whose day pays beside the thread
	Turn    ids.TurnID
	Voice   Voice
	// Said is what the customer wrote, for Shape: what is phrased answers it.
	Said string
	// Expecting is what the thread waits for, in a few words, for Shape.
	Expecting string
	// Attempt counts how often a clarification was asked; 0 means once.
	Attempt int
	// Arms are which arm of each role's trial the conversation is in, by role.
	// What a call assigns is put in, so that whoever keeps the conversation keeps
	// it; nil keeps nothing.
	Arms map[string]string
}

// Understander reads bursts, asking a model where code is in doubt. It is safe
// for concurrent use.
type Understander struct {
	cfg                                Config
	intents, slots, phrased, returning *llm.Schema
}

// New returns an Understander.
func New(cfg Config) (*Understander, error) {
	if cfg.Model != nil && cfg.Prompts == nil {
		return nil, errors.New("understand: a model needs prompts")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	u := &Understander{cfg: cfg}
	all, err := Schemas()
	if err != nil {
		return nil, err
	}
	u.intents, u.slots, u.phrased, u.returning = all[0], all[1], all[2], all[3]
	return u, nil
}

// Schemas are what models' answers are held against: of the intent, of the
// slots, of a phrasing, of a word after a human's.
func Schemas() ([]*llm.Schema, error) {
	var out []*llm.Schema
	for _, name := range []string{"intent_classifier", "slot_extractor", "phrased_text", "reorientation"} {
		raw, err := schemas.ReadFile("schema/" + name + ".json")
		if err != nil {
			return nil, fmt.Errorf("understand: read schema: %w", err)
		}
		s, err := llm.CompileSchema(name, raw)
		if err != nil {
			return nil, fmt.Errorf("understand: %w", err)
		}
		out = append(out, s)
	}
	return out, nil
}

// Understand reads a burst: by code, and where code is in doubt by a model
// whose answers are checked against the text. The call ids name the model calls
// that answered. It never fails because a model does; its error is ctx's own. A
// hard cost ceiling starts no further call and is told in Input.OverBudget.
func (u *Understander) Understand(ctx context.Context, req Request, belongs IDs) (in graph.Input, callIDs []string, err error) {
	r := read(req)
	if u.cfg.Model == nil || !r.wantsModel() {
		return r.in, nil, ctx.Err()
	}
	if r.in.Confidence < Sure {
		if id := u.classify(ctx, r, belongs); id != "" {
			callIDs = append(callIDs, id)
		}
	}
	if r.wantsSlots() && !r.in.OverBudget {
		if id := u.extract(ctx, r, belongs); id != "" {
			callIDs = append(callIDs, id)
		}
	}
	if len(callIDs) > 0 {
		r.in.Tier = max(r.in.Tier, 1)
	}
	return r.in, callIDs, ctx.Err()
}

// wantsModel reports whether code alone leaves something open. Taps and texts
// without words never do.
func (r *reading) wantsModel() bool {
	if r.in.Choice != "" || r.in.Answer != "" {
		return false
	}
	letters := 0
	for _, t := range r.toks {
		if t.Kind == lex.Word {
			letters++
		}
	}
	if letters == 0 {
		return false
	}
	return r.in.Confidence < Sure || r.wantsSlots()
}

// wantsSlots reports whether the intent is one that needs details and code
// found none, or is in doubt about what it found.
func (r *reading) wantsSlots() bool {
	if in := r.in.Intent; in != graph.Book && in != graph.Reschedule {
		return false
	}
	w := r.in.When
	if !w.Empty() && w.Confidence < Doubt && w.Fault == "" {
		return true
	}
	for _, e := range r.in.Entities {
		if e.Confidence < Doubt {
			return true
		}
	}
	if w.Empty() || len(r.in.Entities) == 0 {
		return r.unexplained() > 0
	}
	return r.unexplained() > 2
}

// attrs are what every event about a model tells.
func (i IDs) attrs(role llm.Role, more ...slog.Attr) []slog.Attr {
	return append([]slog.Attr{
		slog.String("role", string(role)), slog.String("tenant_id", string(i.Tenant)),
		slog.String("conversation_id", string(i.Thread)), slog.String("turn_id", string(i.Turn)),
	}, more...)
}

func (u *Understander) call(ctx context.Context, role llm.Role, vars map[string]string, said string, schema *llm.Schema, belongs IDs) (llm.Result, error) {
	arm, err := u.arm(ctx, role, belongs)
	if err != nil {
		return llm.Result{}, err
	}
	vars[trackRecord] = ""
	if u.cfg.Tracks != nil {
		vars[trackRecord] = u.cfg.Tracks.Track(ctx, belongs.Tenant, role).String()
	}
	p, err := u.cfg.Prompts.RenderAs(string(role), arm.Alias(), vars)
	if err != nil {
		u.cfg.Logger.LogAttrs(ctx, slog.LevelError, "understand.prompt_failed", belongs.attrs(role, slog.String("error", err.Error()))...)
		return llm.Result{}, err
	}
	res, err := u.cfg.Model.Call(ctx, llm.Request{
		Role: role, Tenant: belongs.Tenant, Thread: belongs.Thread, Contact: belongs.Contact, Turn: belongs.Turn,
		PromptVersion: p.Version, Arm: arm, System: p.System, Schema: schema,
		Messages: []llm.Message{{Role: llm.User, Content: prompt.Delimit(said)}},
	})
	if err != nil {
		u.failed(ctx, role, belongs, err)
		return llm.Result{}, err
	}
	return res, nil
}

// arm says which arm of the role's trial the conversation is in, and keeps it.
func (u *Understander) arm(ctx context.Context, role llm.Role, belongs IDs) (llm.Arm, error) {
	to, err := u.cfg.Model.Resolve(ctx, llm.Target{
		Role: role, Tenant: belongs.Tenant, Thread: belongs.Thread, Arm: llm.Arm(belongs.Arms[string(role)]),
	})
	if err != nil {
		u.failed(ctx, role, belongs, err)
		return "", err
	}
	if belongs.Arms != nil {
		belongs.Arms[string(role)] = string(to.Arm)
	}
	return to.Arm, nil
}

// failed reports that no model answered. A cost ceiling's refusal was reported
// where it was made.
func (u *Understander) failed(ctx context.Context, role llm.Role, belongs IDs, err error) {
	if !errors.Is(err, llm.ErrBudget) {
		u.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "understand.model_failed", belongs.attrs(role, slog.String("error", err.Error()))...)
	}
}

// list writes what can be booked, one a line.
func list(nouns []Noun) string {
	var b strings.Builder
	for _, n := range nouns {
		if len(n.Names) > 0 {
			b.WriteString("- " + n.Names[0] + "\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (r *reading) today() string {
	now := r.req.Now
	if r.req.Zone != nil {
		now = now.In(r.req.Zone)
	} else {
		now = now.UTC()
	}
	return now.Format("Monday 2006-01-02 15:04")
}

// expecting says in a few words what was asked last.
func (r *reading) expecting() string {
	out := strings.Join(r.req.Expect.Slots, ", ")
	if n := len(r.req.Expect.Choices); n > 0 {
		titles := make([]string, 0, n)
		for _, c := range r.req.Expect.Choices {
			titles = append(titles, c.Title)
		}
		if out != "" {
			out += "; "
		}
		out += "offered: " + strings.Join(titles, " | ")
	}
	return strings.ReplaceAll(out, "\n", " ")
}

type classified struct {
	Intent             graph.Intent `json:"intent"`
	Confidence         float64      `json:"confidence"`
	Language           string       `json:"language"`
	LanguageConfidence float64      `json:"language_confidence"`
	Sentiment          string       `json:"sentiment"`
}

var intents = []graph.Intent{
	graph.Book, graph.Reschedule, graph.Cancel, graph.MyBookings, graph.Question, graph.Greeting, graph.Thanks, graph.Affirm,
	graph.Deny, graph.Human, graph.Complaint, graph.Feedback, graph.Unknown,
}

// classify asks for the intent and takes it over. A model's affirm or deny is
// an intent and never an Answer: only plain words confirm.
func (u *Understander) classify(ctx context.Context, r *reading, belongs IDs) string {
	res, err := u.call(ctx, llm.IntentClassifier, map[string]string{
		"assistant_name": belongs.Voice.Assistant, "business_name": belongs.Voice.Business, "locale": r.locale(),
		"today": r.today(), "services": list(r.req.Nouns[KindService]), "expecting": r.expecting(),
	}, r.text, u.intents, belongs)
	if err != nil {
		r.in.OverBudget = errors.Is(err, llm.ErrBudget)
		return ""
	}
	var c classified
	if err := json.Unmarshal(res.JSON, &c); err != nil || !slices.Contains(intents, c.Intent) || !unit(c.Confidence) || !unit(c.LanguageConfidence) {
		u.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "understand.answer_refused", belongs.attrs(llm.IntentClassifier)...)
		return res.CallID
	}
	in := &r.in
	in.Tier = max(in.Tier, res.Tier)
	if c.Intent == in.Intent {
		in.Confidence = max(in.Confidence, c.Confidence)
	} else {
		in.Topic = ""
		if c.Intent == graph.Question {
			in.Topic = r.topic()
		}
		in.Intent, in.Confidence = c.Intent, c.Confidence
	}
	if in.LanguageConfidence < languageSure && (c.Language == English || c.Language == Swahili || c.Language == "other") {
		in.Language, in.LanguageConfidence = spoken(c.Language, c.LanguageConfidence, r.req)
	}
	if slices.Contains([]string{Positive, Neutral, Negative}, c.Sentiment) {
		in.Sentiment = c.Sentiment
	}
	return res.CallID
}

// topic is what a question is about by the words of the rules, other when none
// fits.
func (r *reading) topic() string {
	for _, f := range r.findings() {
		if f.intent == graph.Question {
			return f.topic
		}
	}
	return TopicOther
}

func (r *reading) locale() string {
	if r.req.Locale == Swahili {
		return Swahili
	}
	return English
}

func unit(f float64) bool { return f >= 0 && f <= 1 }
