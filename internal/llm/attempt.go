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

	"github.com/ratiba/ratiba/internal/ids"
)

// lease is how long a reservation outlives its attempt's own deadline.
const lease = time.Minute

// call is a request as this rung asks it.
func (s *rung) call(req *Request) Call {
	limit := cmp.Or(req.MaxTokens, s.MaxTokens)
	if s.model.OutputTokens > 0 {
		limit = min(limit, s.model.OutputTokens)
	}
	call := Call{
		Model: s.Model, Effort: s.Effort, System: req.System, Messages: req.Messages,
		Schema: req.Schema, Tools: req.Tools, MustCall: req.MustCall, Texts: req.Texts, MaxTokens: limit, Deterministic: s.model.Sampling,
	}
	if len(call.Texts) > 0 {
		call.MaxTokens = 0
	}
	if call.Schema != nil && !s.model.StrictSchema {
		call.System += "\n\nAnswer with exactly one JSON object that satisfies this JSON Schema, without any text around it:\n" + string(call.Schema.Raw())
		call.Schema = nil
	}
	if len(call.Tools) > 0 && s.model.ToolEffort != "" {
		call.Effort = s.model.ToolEffort
	}
	return call
}

// fits refuses a prompt that the model's context cannot hold.
func (s *rung) fits(call *Call) *Error {
	const bytesPerToken = 3
	room := s.model.ContextTokens
	if room == 0 || size(call)/bytesPerToken+call.MaxTokens <= room {
		return nil
	}
	return &Error{
		Class: InvalidRequest, Provider: s.Provider, Code: "prompt_too_long",
		Cause: fmt.Errorf("the prompt and %d tokens of answer may exceed %d tokens", call.MaxTokens, room),
	}
}

// widen doubles the room for an answer, as far as the model allows.
func (s *rung) widen(call *Call) bool {
	more := 2 * call.MaxTokens
	if s.model.OutputTokens > 0 {
		more = min(more, s.model.OutputTokens)
	}
	if more <= call.MaxTokens {
		return false
	}
	call.MaxTokens = more
	return s.fits(call) == nil
}

// complain asks once more, showing the model its answer and what was wrong.
func complain(call Call, e *Error, structured bool) Call {
	call.Messages = slices.Clone(call.Messages)
	if text := strings.TrimSpace(storable(e.Text)); text != "" { // Providers refuse an empty message.
		call.Messages = append(call.Messages, Message{Role: Assistant, Content: clip(text)})
	}
	if len(call.Texts) > 0 {
		return call
	}
	how := "Write the answer alone."
	switch {
	case len(call.Tools) > 0:
		how = "Call a tool with arguments that satisfy its schema."
	case structured:
		how = "Write exactly one JSON object that satisfies the schema, without any text around it."
	}
	call.Messages = append(call.Messages, Message{Role: User, Content: "Your answer could not be used: " +
		cmp.Or(e.Complaint, "it was not in the expected form") + "\nAnswer the task again. " + how})
	return call
}

func size(call *Call) int {
	n := len(call.System)
	for i := range call.Messages {
		n += len(call.Messages[i].Content)
	}
	longest := 0 // texts to embed are read one by one
	for _, t := range call.Texts {
		longest = max(longest, len(t))
	}
	return n + longest + schemas(call)
}

func schemas(call *Call) int {
	n := 0
	if call.Schema != nil {
		n = len(call.Schema.Raw())
	}
	for i := range call.Tools {
		n += len(call.Tools[i].Description) + len(call.Tools[i].Input.Raw())
	}
	return n
}

// worstCase bounds what a call can be billed. No tokenizer makes more than one
// token of a byte, so that is what a message counts; what we wrote ourselves
// counts half of it. On top come an envelope for each message, what providers
// add to explain a schema or tools, and the whole answer.
func worstCase(call *Call) Usage {
	const envelope, explained = 16, 1024
	n := (len(call.System)+schemas(call))/2 + envelope*(1+len(call.Messages))
	for i := range call.Messages {
		n += len(call.Messages[i].Content)
	}
	for _, t := range call.Texts {
		n += len(t) + envelope
	}
	if call.Schema != nil || len(call.Tools) > 0 {
		n += explained
	}
	return Usage{Input: n, Output: call.MaxTokens}
}

// attempt is one attempt at a rung.
type attempt struct {
	*climb

	tier   int
	rung   rung
	reason string
}

// run makes one attempt: it reserves, asks, validates, settles. It returns the
// failure, or nil when the climb's best answer is this one. What may not be
// tried, for want of money or of a provider in order, is a failure too; what the
// ledger cannot store ends the climb.
func (a *attempt) run(ctx context.Context, call *Call) *Error {
	guard := a.breakers[a.rung.Provider]
	allowed, probe := guard.allow(a.stopwatch.Now())
	if !allowed {
		a.pass(a.tier, a.rung, Skipped, "its provider keeps failing")
		return &Error{Class: OutOfOrder, Provider: a.rung.Provider}
	}
	held, failure := a.reserve(ctx, call)
	if failure != nil || a.over {
		guard.report(Cancelled, probe, a.stopwatch.Now())
		return failure
	}
	a.attempts++
	limited, cancel := context.WithTimeout(ctx, a.rung.Timeout)
	started := a.stopwatch.Now()
	answer, err := a.providers[a.rung.Provider].Complete(limited, *call)
	cancel()
	ended := a.stopwatch.Now()

	rec := held.Lost
	rec.Latency, rec.Outcome, rec.Estimated, rec.Cost, rec.Usage = ended.Sub(started), OK, false, 0, Usage{}
	found, failure := a.judge(ctx, &rec, answer, err)
	a.bill(&rec, held, answer, failure)
	class := Class("")
	if failure != nil {
		class = failure.Class
	}
	a.reported(ctx, guard.report(class, probe, ended), failure)
	a.note(ctx, &rec, found)
	if err := a.settle(ctx, held, rec); err != nil {
		a.over, a.broken = true, fmt.Errorf("store model call: %w", err)
		return failure
	}
	if failure != nil {
		a.failed = failure
		return failure
	}
	found.record = rec
	a.best = found
	return nil
}

// reserve sets the worst case aside. A ceiling that is too near passes the rung
// over: a dearer one would not fit either, a cheaper one may.
func (a *attempt) reserve(ctx context.Context, call *Call) (Reservation, *Error) {
	now := a.clock.Now()
	usage := worstCase(call)
	req := a.req
	lost := Record{
		ID: ids.New(now), Role: req.Role, Tenant: req.Tenant, Thread: req.Thread, Contact: req.Contact, Turn: req.Turn,
		Tier: a.tier, Provider: a.rung.Provider, Model: a.rung.Model, PromptVersion: req.PromptVersion,
		Usage: usage, Estimated: true, Cost: a.rung.model.Worst(usage, now), Outcome: Lost, CanaryArm: string(a.res.Arm),
		Account: paidBy(req.Account), TaskID: req.TaskID, Step: req.Step, RequestHash: a.hash, At: now,
	}
	r := Reservation{
		ID: lost.ID, Tenant: lost.Tenant, Thread: lost.Thread, Contact: lost.Contact, Account: lost.Account, Worst: lost.Cost,
		Owner: a.owner, At: now, ExpiresAt: a.stopwatch.Now().Add(a.rung.Timeout + lease), Ceilings: a.ceilings, Lost: lost,
	}
	err := a.ledger.Reserve(ctx, r)
	if err == nil {
		return r, nil
	}
	if be, ok := errors.AsType[*BudgetError](err); ok {
		a.budget = be
		a.pass(a.tier, a.rung, OverBudget, "its worst case exceeds the "+string(be.Ceiling)+" ceiling")
		return r, &Error{Class: NotAllowed, Provider: a.rung.Provider, Cause: be}
	}
	a.over, a.broken = true, fmt.Errorf("reserve the cost of a model call: %w", err)
	return r, nil
}

// judge validates an answer and names a failure.
func (a *attempt) judge(ctx context.Context, rec *Record, answer Answer, err error) (verdict, *Error) {
	if err != nil {
		failure := a.failure(ctx, err)
		rec.Answer, rec.Outcome = storable(failure.Text), Outcome(failure.Class)
		return verdict{}, failure
	}
	found, refusal := validate(a.req, &answer)
	rec.Answer = found.stored(a.req)
	if refusal != nil {
		rec.Answer, rec.Outcome = storable(answer.Text), Outcome(Malformed)
		return verdict{}, &Error{
			Class: Malformed, Provider: a.rung.Provider, Usage: answer.Usage, Metered: answer.Metered, MayBeBilled: true,
			Text: answer.Text, Complaint: refusal.Error(), Cause: ErrAnswer,
		}
	}
	if found.doc.stated {
		confidence := found.doc.confidence
		rec.Confidence = &confidence
	}
	if found.sure = found.doc.confidence >= a.rung.Threshold; !found.sure {
		rec.Outcome = Unsure
	}
	return found, nil
}

// bill fills in what the attempt cost, whatever became of it.
func (a *attempt) bill(rec *Record, held Reservation, answer Answer, failure *Error) {
	usage, metered, mayBeBilled := answer.Usage, answer.Metered, true
	if failure != nil {
		usage, metered, mayBeBilled = failure.Usage, failure.Metered, failure.MayBeBilled
	}
	switch {
	case metered:
		rec.Usage, rec.Cost = usage, a.rung.model.Cost(usage, rec.At)
	case mayBeBilled:
		rec.Usage, rec.Cost, rec.Estimated = held.Lost.Usage, held.Worst, true
	}
}

// settle gives the reservation back and stores the record, also when the caller
// has gone.
func (a *attempt) settle(ctx context.Context, held Reservation, rec Record) error {
	kept, done := context.WithTimeout(context.WithoutCancel(ctx), bookkeeping)
	defer done()
	standing, err := a.ledger.Settle(kept, held, rec)
	if err == nil && standing.SoftBreach {
		a.log.LogAttrs(ctx, slog.LevelWarn, "cost.budget.soft_breach", a.attrs(
			slog.String("cost_usd", standing.Spent.Dollars()), slog.String("ceiling_usd", a.ceilings.Soft.Dollars()))...)
	}
	return err
}

// failure makes sure every failed attempt has a class and that giving up is
// told from running out of time.
func (a *attempt) failure(ctx context.Context, err error) *Error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		e = &Error{Class: Server, Provider: a.rung.Provider, MayBeBilled: true, Cause: err}
	}
	if errors.Is(ctx.Err(), context.Canceled) && e.Class == Timeout {
		e.Class = Cancelled
	}
	return e
}

// note adds the attempt to the chain and to the log.
func (a *attempt) note(ctx context.Context, rec *Record, found verdict) {
	a.res.Tier, a.res.Provider, a.res.Model = rec.Tier, rec.Provider, rec.Model
	a.res.Cost += rec.Cost
	a.res.Chain = append(a.res.Chain, Attempt{
		CallID: rec.ID, Tier: rec.Tier, Provider: rec.Provider, Model: rec.Model, Reason: a.reason,
		Outcome: rec.Outcome, Confidence: found.doc.confidence, Cost: rec.Cost,
	})
	if !a.log.Enabled(ctx, slog.LevelInfo) {
		return
	}
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
		slog.String("reason", a.reason),
		slog.String("canary_arm", rec.CanaryArm),
		slog.String("cost_usd", rec.Cost.Dollars()),
		slog.Bool("estimated", rec.Estimated),
		slog.Int64("latency_ms", rec.Latency.Milliseconds()),
		slog.String("outcome", string(rec.Outcome)),
	)
}

// reported logs what a breaker did.
func (a *attempt) reported(ctx context.Context, t turn, failure *Error) {
	if t.opened {
		a.log.LogAttrs(ctx, slog.LevelError, "llm.breaker.opened", slog.String("provider", a.rung.Provider),
			slog.String("class", string(failure.Class)), slog.String("code", failure.Code), slog.Int64("pause_ms", t.pause.Milliseconds()))
	}
	if t.closed {
		a.log.LogAttrs(ctx, slog.LevelInfo, "llm.breaker.closed", slog.String("provider", a.rung.Provider))
	}
}

// reuse takes a stored answer over. One that no longer satisfies the request is
// asked for anew.
func (c *climb) reuse(rec *Record) bool {
	answer, err := restored(c.req, rec.Answer)
	if err != nil {
		return false
	}
	found, err := validate(c.req, &answer)
	if err != nil {
		return false
	}
	found.record, found.sure = *rec, rec.Outcome == OK
	c.best = found
	c.res.Reused, c.res.Cost = true, rec.Cost
	c.res.Chain = append(c.res.Chain, Attempt{
		CallID: rec.ID, Tier: rec.Tier, Provider: rec.Provider, Model: rec.Model, Reason: "stored",
		Outcome: rec.Outcome, Confidence: found.doc.confidence, Cost: rec.Cost,
	})
	return true
}
