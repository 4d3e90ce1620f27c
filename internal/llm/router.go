package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/money"
)

// bookkeeping bounds the storing of an attempt whose caller has gone.
const bookkeeping = 5 * time.Second

// Config makes a Router. Roles, Catalogue, Providers and Ledger are required.
type Config struct {
	Roles     Roles
	Catalogue *Catalogue
	Providers map[string]Provider // by the catalogue's provider name
	Ledger    Ledger
	Clock     clock.Clock  // stamps records and picks prices; clock.Real when nil
	Stopwatch clock.Clock  // measures latency in real time; clock.Real when nil
	Logger    *slog.Logger // discards when nil
	// Schemas are checked against every provider in use before the first call.
	Schemas []*Schema
}

// Router resolves roles to models and owns retries, validation and bills.
type Router struct {
	rungs     map[Role][]rung
	providers map[string]Provider
	ledger    Ledger
	clock     clock.Clock
	stopwatch clock.Clock
	log       *slog.Logger
}

// rung is a Rung with its catalogue entry.
type rung struct {
	Rung
	model Model
}

// New checks the assignment and makes a Router. A role that names an unknown
// model, a provider without an adapter, a model without a price or an effort
// the model does not take is refused; all faults are reported at once.
func New(cfg Config) (*Router, error) {
	if cfg.Catalogue == nil || cfg.Ledger == nil {
		return nil, errors.New("model router: catalogue and ledger are required")
	}
	r := &Router{
		rungs:     make(map[Role][]rung, len(cfg.Roles)),
		providers: cfg.Providers,
		ledger:    cfg.Ledger,
		clock:     cfg.Clock,
		stopwatch: cfg.Stopwatch,
		log:       cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler)),
	}
	if r.clock == nil {
		r.clock = clock.Real{}
	}
	if r.stopwatch == nil {
		r.stopwatch = clock.Real{}
	}
	var faults []error
	if len(cfg.Roles) == 0 {
		faults = append(faults, errors.New("no role is assigned"))
	}
	used := make(map[string]bool)
	for role, ladder := range cfg.Roles {
		if len(ladder) == 0 {
			faults = append(faults, fmt.Errorf("role %s: the ladder is empty", role))
		}
		for i, step := range ladder {
			m, err := cfg.check(step)
			if err != nil {
				faults = append(faults, fmt.Errorf("role %s, rung %d: %w", role, i+1, err))
				continue
			}
			used[step.Provider] = true
			r.rungs[role] = append(r.rungs[role], rung{Rung: step, model: m})
		}
	}
	faults = append(faults, cfg.checkSchemas(used)...)
	if len(faults) > 0 {
		slices.SortFunc(faults, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
		return nil, fmt.Errorf("model router: %w", errors.Join(faults...))
	}
	return r, nil
}

func (cfg Config) check(step Rung) (Model, error) {
	var faults []error
	if cfg.Providers[step.Provider] == nil {
		faults = append(faults, fmt.Errorf("provider %q has no adapter", step.Provider))
	}
	m, ok := cfg.Catalogue.Model(step.Provider, step.Model)
	switch {
	case !ok:
		faults = append(faults, fmt.Errorf("model %q of %q is not in the catalogue", step.Model, step.Provider))
	case len(m.Prices) == 0:
		faults = append(faults, fmt.Errorf("model %q has no price", step.Model))
	}
	if ok && step.Effort != "" && !slices.Contains(m.Efforts, step.Effort) {
		faults = append(faults, fmt.Errorf("model %q does not take effort %q", step.Model, step.Effort))
	}
	return m, errors.Join(faults...)
}

func (cfg Config) checkSchemas(used map[string]bool) []error {
	var faults []error
	for name := range used {
		checker, ok := cfg.Providers[name].(SchemaChecker)
		if !ok {
			continue
		}
		for _, s := range cfg.Schemas {
			if err := checker.CheckSchema(s); err != nil {
				faults = append(faults, fmt.Errorf("provider %s: %w", name, err))
			}
		}
	}
	return faults
}

// Call answers a request with its role's first rung. An answer that is not the
// schema's is asked for once more with the complaint; both attempts are paid.
// Every other failure goes to the caller as an error that holds an *Error, and
// so does a second unusable answer. A request whose role has no ladder, or
// whose prompt cannot fit the model, fails without a call.
func (r *Router) Call(ctx context.Context, req Request) (Result, error) {
	rungs := r.rungs[req.Role]
	if len(rungs) == 0 {
		return Result{}, fault.Wrap(fmt.Errorf("role %q has no ladder", req.Role), fault.Unavailable, "No model is assigned to this task.")
	}
	hash := req.Hash()
	stored, err := r.ledger.Lookup(ctx, req.Tenant, hash)
	if err != nil {
		return Result{}, fmt.Errorf("look up model call: %w", err)
	}
	if stored != nil {
		if res, ok := reuse(req, *stored); ok {
			return res, nil
		}
	}
	a := attempt{Router: r, req: req, hash: hash, tier: 1, rung: rungs[0]}
	call := a.call()
	if err := a.fits(call); err != nil {
		return Result{}, err
	}
	var res Result
	err = a.run(ctx, call, &res)
	var e *Error
	if req.Schema != nil && errors.As(err, &e) && e.Complaint != "" && ctx.Err() == nil {
		err = a.run(ctx, again(call, e), &res)
	}
	return res, err
}

// reuse turns a stored answer into a result. One that no longer satisfies the
// schema is asked for anew.
func reuse(req Request, rec Record) (Result, bool) {
	res := Result{
		Text: rec.Answer, Confidence: 1, Tier: rec.Tier, Provider: rec.Provider, Model: rec.Model,
		Usage: rec.Usage, Cost: rec.Cost, CallID: rec.ID, Reused: true,
		Chain: []Attempt{{CallID: rec.ID, Tier: rec.Tier, Provider: rec.Provider, Model: rec.Model, Outcome: rec.Outcome, Cost: rec.Cost}},
	}
	if req.Schema != nil {
		doc, err := req.Schema.parse(rec.Answer)
		if err != nil {
			return Result{}, false
		}
		res.JSON, res.Confidence = doc.raw, doc.confidence
	}
	return res, true
}

// again asks once more, showing the model its answer and what was wrong.
func again(call Call, e *Error) Call {
	call.Messages = slices.Clone(call.Messages)
	if text := strings.TrimSpace(storable(e.Text)); text != "" { // Providers refuse an empty message.
		call.Messages = append(call.Messages, Message{Role: Assistant, Content: clip(text)})
	}
	call.Messages = append(call.Messages, Message{Role: User, Content: "Your answer could not be used: " + e.Complaint +
		"\nAnswer the task again. Write exactly one JSON object that satisfies the schema, without any text around it."})
	return call
}

// attempt makes and settles the attempts of one request on one rung.
type attempt struct {
	*Router
	req  Request
	hash string
	tier int
	rung rung
}

func (a attempt) call() Call {
	limit := cmp.Or(a.req.MaxTokens, a.rung.MaxTokens)
	if a.rung.model.OutputTokens > 0 {
		limit = min(limit, a.rung.model.OutputTokens)
	}
	call := Call{
		Model: a.rung.Model, Effort: a.rung.Effort, System: a.req.System, Messages: a.req.Messages,
		Schema: a.req.Schema, MaxTokens: limit, Deterministic: a.rung.model.Sampling,
	}
	if call.Schema != nil && !a.rung.model.StrictSchema {
		call.System += "\n\nAnswer with exactly one JSON object that satisfies this JSON Schema, without any text around it:\n" + string(call.Schema.Raw())
		call.Schema = nil
	}
	return call
}

// fits refuses a prompt that the model's context cannot hold.
func (a attempt) fits(call Call) error {
	room := a.rung.model.ContextTokens
	if room == 0 || worstCase(call).Prompt()+call.MaxTokens <= room {
		return nil
	}
	return fmt.Errorf("call model: %w", &Error{
		Class: InvalidRequest, Provider: a.rung.Provider, Code: "prompt_too_long",
		Cause: fmt.Errorf("the prompt and %d tokens of answer may exceed %d tokens", call.MaxTokens, room),
	})
}

// run makes one attempt, stores it, logs it and puts its outcome into res.
func (a attempt) run(ctx context.Context, call Call, res *Result) error {
	limited, cancel := context.WithTimeout(ctx, a.rung.Timeout)
	started := a.stopwatch.Now()
	answer, err := a.providers[a.rung.Provider].Complete(limited, call)
	cancel()
	latency := a.stopwatch.Now().Sub(started)

	now := a.clock.Now()
	rec := Record{
		ID: ids.New(now), Role: a.req.Role, Tenant: a.req.Tenant, Thread: a.req.Thread, Turn: a.req.Turn,
		Tier: a.tier, Provider: a.rung.Provider, Model: a.rung.Model, PromptVersion: a.req.PromptVersion,
		Latency: latency, Outcome: OK, CanaryArm: "stable", Account: a.req.account(), TaskID: a.req.TaskID, Step: a.req.Step,
		RequestHash: a.hash, At: now,
	}
	doc, failure := a.settle(ctx, &rec, call, answer, err)

	res.Tier, res.Provider, res.Model = rec.Tier, rec.Provider, rec.Model
	res.Cost += rec.Cost
	res.Chain = append(res.Chain, Attempt{CallID: rec.ID, Tier: rec.Tier, Provider: rec.Provider, Model: rec.Model, Outcome: rec.Outcome, Cost: rec.Cost})
	a.report(ctx, rec)
	kept, done := context.WithTimeout(context.WithoutCancel(ctx), bookkeeping)
	defer done()
	if err := a.ledger.Record(kept, rec); err != nil {
		return fmt.Errorf("store model call: %w", err)
	}
	if failure != nil {
		return fmt.Errorf("call model: %w", failure)
	}
	res.Text, res.JSON, res.Confidence = rec.Answer, doc.raw, doc.confidence
	res.Usage, res.CallID = rec.Usage, rec.ID
	return nil
}

// settle validates the answer and fills in what the attempt cost, whatever
// became of it.
func (a attempt) settle(ctx context.Context, rec *Record, call Call, answer Answer, err error) (parsed, *Error) {
	doc, failure := parsed{}, a.failure(ctx, err)
	usage, metered, mayBeBilled := answer.Usage, answer.Metered, true
	rec.Answer = answer.Text
	if failure == nil {
		var refusal error
		if doc, refusal = a.validate(answer.Text); refusal != nil {
			failure = &Error{
				Class: Malformed, Provider: a.rung.Provider, Usage: usage, Metered: metered, MayBeBilled: true,
				Text: answer.Text, Complaint: refusal.Error(), Cause: ErrAnswer,
			}
		}
	}
	if failure != nil {
		usage, metered, mayBeBilled = failure.Usage, failure.Metered, failure.MayBeBilled
		rec.Answer, rec.Outcome = failure.Text, Outcome(failure.Class)
	}
	if !metered && mayBeBilled {
		usage, rec.Estimated = worstCase(call), true
	}
	rec.Answer = storable(rec.Answer)
	rec.Usage, rec.Cost = usage, a.rung.model.Cost(usage, rec.At)
	if failure == nil && doc.stated {
		rec.Confidence = &doc.confidence
	}
	return doc, failure
}

func (a attempt) validate(text string) (parsed, error) {
	if a.req.Schema != nil {
		return a.req.Schema.parse(text)
	}
	if strings.TrimSpace(text) == "" {
		return parsed{}, fmt.Errorf("%w: empty", ErrAnswer)
	}
	return parsed{confidence: 1}, nil
}

// failure makes sure every failed attempt has a class and that giving up is
// told from running out of time.
func (a attempt) failure(ctx context.Context, err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Class: Server, Provider: a.rung.Provider, MayBeBilled: true, Cause: err}
	}
	if errors.Is(ctx.Err(), context.Canceled) && e.Class == Timeout {
		e.Class = Cancelled
	}
	return e
}

func (a attempt) report(ctx context.Context, rec Record) {
	a.log.LogAttrs(ctx, slog.LevelInfo, "llm.call",
		slog.String("tenant_id", string(rec.Tenant)),
		slog.String("conversation_id", string(rec.Thread)),
		slog.String("turn_id", string(rec.Turn)),
		slog.String("call_id", rec.ID),
		slog.String("role", string(rec.Role)),
		slog.Int("tier", rec.Tier),
		slog.String("provider", rec.Provider),
		slog.String("model", rec.Model),
		slog.String("prompt_version", rec.PromptVersion),
		slog.String("cost_usd", rec.Cost.Dollars()),
		slog.Bool("estimated", rec.Estimated),
		slog.Int64("latency_ms", rec.Latency.Milliseconds()),
		slog.String("outcome", string(rec.Outcome)),
	)
}

// worstCase bounds what a call can be billed: three bytes a token, which
// Swahili does not reach, some for the envelope, and the whole answer.
func worstCase(call Call) Usage {
	const bytesPerToken, envelope = 3, 16
	size, parts := len(call.System), 1+len(call.Messages)
	for _, m := range call.Messages {
		size += len(m.Content)
	}
	if call.Schema != nil {
		size, parts = size+len(call.Schema.Raw()), parts+1
	}
	return Usage{Input: size/bytesPerToken + envelope*parts, Output: call.MaxTokens}
}

// WorstCase is the most a request may cost on its role's first rung, the retry
// aside: what a budget reserves before the call. It is 0 for a role without a
// ladder.
func (r *Router) WorstCase(req Request) money.Pico {
	rungs := r.rungs[req.Role]
	if len(rungs) == 0 {
		return 0
	}
	a := attempt{Router: r, req: req, rung: rungs[0]}
	return a.rung.model.Cost(worstCase(a.call()), r.clock.Now())
}
