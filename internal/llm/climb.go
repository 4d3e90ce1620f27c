package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
)

// Bounds of one call.
const (
	maxAttempts  = 6
	maxRateWaits = 3
	firstWait    = time.Second // after a rate limit; doubled each time
	// longestCall bounds a call whose caller set no deadline.
	longestCall = 5 * time.Minute
	// bookkeeping bounds what is stored after the caller has gone.
	bookkeeping = 5 * time.Second
)

// Call answers a request by its role's ladder, from the first allowed rung up.
// What makes it try again or go on is the class of a failure: a timeout, an
// unusable and a truncated answer are tried once more on their rung, a rate
// limit is waited for at most three times, everything else goes to the next
// rung; a refusal and the caller's end stop it. It ends Answered, Uncertain or, where
// the ladder ends in a person, Human. Otherwise it fails: with a *BudgetError
// when a hard ceiling stopped it, else with the last attempt's *Error. A
// request whose role has no ladder fails without a call.
func (r *Router) Call(ctx context.Context, req Request) (Result, error) {
	if req.Schema != nil && len(req.Tools) > 0 {
		return Result{}, errors.New("call model: want a schema or tools, not both")
	}
	to, rungs, err := r.resolve(ctx, Target{Role: req.Role, Tenant: req.Tenant, Thread: req.Thread, PromptVersion: req.PromptVersion, Arm: req.Arm})
	if err != nil {
		return Result{Arm: to.Arm}, err
	}
	c := climb{Router: r, req: &req, hash: req.Hash(), ceilings: to.Ceilings}
	c.res.Arm = to.Arm
	var bounded bool
	if c.deadline, bounded = ctx.Deadline(); !bounded {
		c.deadline = clock.Real{}.Now().Add(longestCall)
	}
	first, last, human := cut(rungs, req.MinTier, req.MaxTier)
	c.first = first
	stored, err := r.ledger.Lookup(ctx, req.Tenant, c.hash)
	if err != nil {
		return c.res, fmt.Errorf("look up model call: %w", err)
	}
	if stored != nil && c.reuse(stored) {
		if c.best.sure {
			return c.answer(Answered), nil
		}
		c.settled(stored.Tier)
		first = max(first, stored.Tier+1) // go on where the turn was interrupted
	}
	for tier := first; tier <= last && !c.over; tier++ {
		c.rung(ctx, tier, rungs[tier-1])
	}
	return c.end(ctx, human)
}

// cut applies a request's tiers to a ladder: the first and the last tier to
// try, and whether a person follows.
func cut(rungs []rung, low, high int) (first, last int, human bool) {
	last = len(rungs)
	if last > 0 && rungs[last-1].Human {
		last, human = last-1, true
	}
	switch {
	case high < 0:
		last = 0
	case high > 0:
		last = min(last, high)
	}
	return max(1, min(low, last)), last, human
}

// climb is one call on its way up the ladder.
type climb struct {
	*Router

	req      *Request
	hash     string
	ceilings Ceilings
	deadline time.Time // real time; the caller's, or ours
	first    int
	attempts int
	over     bool // nothing more may be tried
	reason   string
	quota    string  // the provider whose quota is spent
	best     verdict // the answer of the highest tier that gave one
	res      Result  // Cost, Chain, Arm and the last attempt's model
	failed   *Error  // the last failure
	budget   *BudgetError
	broken   error // the ledger's own failure
}

// verdict is a valid answer.
type verdict struct {
	valid, sure bool
	doc         parsed
	text        string
	calls       []ToolCall
	vectors     [][]float32
	record      Record
}

// rung tries one rung until it answers or the next is due.
func (c *climb) rung(ctx context.Context, tier int, step rung) {
	reason := cmp.Or(c.reason, "first rung")
	if c.quota != "" && step.Provider == c.quota {
		c.pass(tier, step, Skipped, "its provider's quota is spent")
		return
	}
	call := step.call(c.req)
	if err := step.fits(&call); err != nil {
		c.failed, c.reason = err, "the prompt is too long for tier "+strconv.Itoa(tier)
		c.pass(tier, step, Outcome(InvalidRequest), "the prompt is too long")
		return
	}
	var timeouts, waits, malformed, truncated int
	for !c.over {
		if c.over = c.attempts == maxAttempts || c.late(ctx, step); c.over {
			return
		}
		a := attempt{climb: c, tier: tier, rung: step, reason: reason}
		failure := a.run(ctx, &call)
		switch {
		case c.over:
			return
		case failure == nil:
			c.settled(tier)
			return
		}
		var again bool
		switch failure.Class {
		case Timeout:
			again, reason = timeouts == 0, "again after a timeout"
			timeouts++
		case Rate:
			again, reason = waits < maxRateWaits && c.paused(ctx, waits, failure.RetryAfter), "again after a rate limit"
			waits++
		case Malformed:
			again, reason = malformed == 0, "again with the complaint"
			if malformed++; again {
				call = complain(call, failure, c.req.Schema != nil)
			}
		case Truncated:
			again, reason = truncated == 0 && step.widen(&call), "again with more room"
			truncated++
		case Quota:
			c.quota = step.Provider
		case Server, Refused, InvalidRequest, Auth, Cancelled, OutOfOrder, NotAllowed:
		}
		if !again || c.over || ctx.Err() != nil {
			c.leave(ctx, tier, failure)
			return
		}
	}
}

// settled decides whether a valid answer ends the climb.
func (c *climb) settled(tier int) {
	if c.over = c.best.sure; !c.over {
		c.reason = "tier " + strconv.Itoa(tier) + " was not sure"
	}
}

// leave notes why a rung was given up.
func (c *climb) leave(ctx context.Context, tier int, failure *Error) {
	why := string(failure.Class)
	if failure.Class == NotAllowed {
		why = "over budget"
	}
	c.reason = "tier " + strconv.Itoa(tier) + " failed: " + why
	if failure.Class == Refused || failure.Class == Cancelled || ctx.Err() != nil {
		c.over = true
	}
}

// pass notes a rung that was not called.
func (c *climb) pass(tier int, step rung, outcome Outcome, reason string) {
	c.res.Chain = append(c.res.Chain, Attempt{Tier: tier, Provider: step.Provider, Model: step.Model, Reason: reason, Outcome: outcome})
}

// paused waits out a rate limit: one second, then two, then four, or as long as
// the provider asked. A wait that would reach the deadline is not begun.
func (c *climb) paused(ctx context.Context, waits int, asked time.Duration) bool {
	d := max(firstWait<<waits, asked)
	return d < c.left() && c.wait(ctx, d) == nil
}

// late reports that the caller has gone or its time is up, so that nothing is
// sent any more.
func (c *climb) late(ctx context.Context, step rung) bool {
	err := ctx.Err()
	if err == nil && c.left() > 0 {
		return false
	}
	if c.failed == nil {
		c.failed = &Error{Class: Timeout, Provider: step.Provider, Cause: cmp.Or(err, context.DeadlineExceeded)}
		if errors.Is(err, context.Canceled) {
			c.failed.Class = Cancelled
		}
	}
	return true
}

// left is the real time until the deadline.
func (c *climb) left() time.Duration { return c.deadline.Sub(clock.Real{}.Now()) }

// end turns what the climb found into a result.
func (c *climb) end(ctx context.Context, human bool) (Result, error) {
	if c.broken != nil {
		return c.res, c.broken
	}
	if c.best.sure {
		return c.answer(Answered), nil
	}
	if c.budget != nil {
		c.log.LogAttrs(ctx, slog.LevelWarn, "cost.budget.hard_breach", c.attrs(slog.String("ceiling", string(c.budget.Ceiling)),
			slog.String("ceiling_usd", c.budget.Limit.Dollars()), slog.String("left_usd", c.budget.Left.Dollars()))...)
	}
	gone := errors.Is(ctx.Err(), context.Canceled) || c.failed != nil && c.failed.Class == Cancelled
	if human && c.escalations != nil && !gone {
		return c.ask(ctx)
	}
	switch {
	case c.budget != nil:
		return c.res, fmt.Errorf("call model: %w", c.budget)
	case c.best.valid:
		return c.answer(Uncertain), nil
	case c.failed != nil:
		return c.res, fmt.Errorf("call model: %w", c.failed)
	case len(c.res.Chain) > 0:
		last := c.res.Chain[len(c.res.Chain)-1]
		return c.res, fmt.Errorf("call model: %w", &Error{Class: OutOfOrder, Provider: last.Provider})
	default:
		return c.res, fmt.Errorf("call model: %w", &Error{Class: NotAllowed, Provider: "no model"})
	}
}

// answer makes a result of the best answer.
func (c *climb) answer(ending Ending) Result {
	res, b := c.res, &c.best
	res.Ending, res.Text, res.JSON, res.ToolCalls, res.Vectors = ending, b.text, b.doc.raw, b.calls, b.vectors
	res.Confidence, res.Usage, res.CallID = b.doc.confidence, b.record.Usage, b.record.ID
	res.Tier, res.Provider, res.Model = b.record.Tier, b.record.Provider, b.record.Model
	res.Escalated, res.Reused = res.Tier > c.first, res.Reused && c.attempts == 0
	return res
}

// ask puts the question before people.
func (c *climb) ask(ctx context.Context) (Result, error) {
	e := &Escalation{
		ID: c.hash, Tenant: c.req.Tenant, Thread: c.req.Thread, Contact: c.req.Contact, Turn: c.req.Turn, Role: c.req.Role,
		TaskID: c.req.TaskID, Step: c.req.Step, Cause: c.cause(), Card: c.req.Card, Messages: c.req.Messages,
		Chain: slices.Clone(c.res.Chain), Cost: c.res.Cost, At: c.clock.Now(),
	}
	if c.req.Schema != nil {
		e.Schema = c.req.Schema.Raw()
	}
	if c.best.valid {
		e.Answer, e.Text, e.Tier, e.Confidence = c.best.doc.raw, c.best.text, c.best.record.Tier, c.best.doc.confidence
	}
	kept, done := context.WithTimeout(context.WithoutCancel(ctx), bookkeeping)
	defer done()
	if err := c.escalations.Post(kept, *e); err != nil {
		return c.res, fmt.Errorf("ask a person: %w", err)
	}
	c.log.LogAttrs(ctx, slog.LevelInfo, "llm.escalated.human", c.attrs(slog.String("escalation_id", e.ID), slog.String("cause", string(e.Cause)))...)
	res := c.res
	res.Ending, res.Escalated, res.Escalation = Human, true, e
	return res, nil
}

func (c *climb) cause() Cause {
	switch {
	case c.budget != nil:
		return CauseBudget
	case c.failed != nil && c.failed.Class == Refused:
		return CauseRefused
	case c.best.valid:
		return CauseUnsure
	case len(c.res.Chain) == 0:
		return CauseCapped
	default:
		return CauseFailed
	}
}

// attrs are what every event about a call tells.
func (c *climb) attrs(more ...slog.Attr) []slog.Attr {
	return append([]slog.Attr{
		slog.String("tenant_id", string(c.req.Tenant)), slog.String("conversation_id", string(c.req.Thread)),
		slog.String("turn_id", string(c.req.Turn)), slog.String("role", string(c.req.Role)),
	}, more...)
}
