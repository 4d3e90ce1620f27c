package llm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/llm"
)

// ledger is a Ledger whose disk may be full.
type ledger struct {
	*llm.Memory

	fail error // of Settle
}

func (l *ledger) Settle(ctx context.Context, r llm.Reservation, rec llm.Record) (llm.Standing, error) {
	if ctx.Err() != nil {
		return llm.Standing{}, ctx.Err()
	}
	standing, err := l.Memory.Settle(ctx, r, rec)
	return standing, errors.Join(err, l.fail)
}

// step is one answer of a scripted provider.
type step func(context.Context, llm.Call) (llm.Answer, error)

// script is a Provider that answers in order and fails on surprise.
type script struct {
	t     *testing.T
	mu    sync.Mutex
	steps []step
	calls []llm.Call
}

func (s *script) Complete(ctx context.Context, call llm.Call) (llm.Answer, error) {
	s.mu.Lock()
	s.calls = append(s.calls, call)
	n := len(s.calls)
	s.mu.Unlock()
	if n > len(s.steps) {
		s.t.Errorf("call %d of %s was not expected", n, call.Model)
		return llm.Answer{}, errors.New("not expected")
	}
	return s.steps[n-1](ctx, call)
}

var used = llm.Usage{Input: 400, Output: 40}

func says(text string) step {
	return func(context.Context, llm.Call) (llm.Answer, error) {
		return llm.Answer{Text: text, Usage: used, Metered: true}, nil
	}
}

func fails(e llm.Error) step {
	return func(context.Context, llm.Call) (llm.Answer, error) { return llm.Answer{}, &e }
}

// is fails with a class, billed as vendors bill it.
func is(class llm.Class) step {
	e := llm.Error{Class: class, Provider: "p"}
	switch class {
	case llm.Refused, llm.Truncated, llm.Malformed:
		e.Usage, e.Metered, e.MayBeBilled = used, true, true
	case llm.Timeout, llm.Cancelled:
		e.MayBeBilled = true
	case llm.Rate, llm.Quota, llm.Server, llm.InvalidRequest, llm.Auth, llm.OutOfOrder, llm.NotAllowed:
	}
	return fails(e)
}

const moodSchema = `{"type":"object","properties":{"reasoning":{"type":"string"},"mood":{"enum":["good","bad"]},"confidence":{"type":"number","minimum":0,"maximum":1}},"required":["reasoning","mood","confidence"],"additionalProperties":false}`

const mood = `{"reasoning":"r","mood":"good","confidence":0.9}`

func sure(confidence string) string { return strings.Replace(mood, "0.9", confidence, 1) }

// costOnce is 400 tokens in and 40 out on gpt-6-luna.
const costOnce = 400*100_000 + 40*500_000

var at = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// desk takes escalations.
type desk struct {
	mu    sync.Mutex
	cards []llm.Escalation
	fail  error
}

func (d *desk) Post(ctx context.Context, e llm.Escalation) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if d.fail == nil {
		d.cards = append(d.cards, e)
	}
	return d.fail
}

type policies map[string]llm.Policy

func (p policies) Policy(_ context.Context, tenant ids.TenantID) (llm.Policy, error) {
	if own, ok := p[string(tenant)]; ok {
		return own, nil
	}
	return llm.Policy{Ceilings: llm.DefaultCeilings()}, nil
}

type bundle struct {
	router *llm.Router
	ledger *ledger
	script *script // of openai
	claude *script // of anthropic
	desk   *desk
	clock  *clock.Fixed // the stopwatch
	logs   *bytes.Buffer
	waits  []time.Duration
	req    llm.Request
}

func (b *bundle) events(t *testing.T, name string) []map[string]any {
	t.Helper()
	var out []map[string]any
	for line := range strings.Lines(b.logs.String()) {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e["msg"] == name {
			out = append(out, e)
		}
	}
	return out
}

// setup is a router whose intent classifier has one rung on a scripted vendor.
func setup(t *testing.T, steps ...step) *bundle {
	t.Helper()
	return setupWith(t, func(*llm.Config) {}, steps...)
}

var luna = llm.Rung{Provider: "openai", Model: "gpt-6-luna", Effort: "none", MaxTokens: 100, Timeout: time.Minute}

func setupWith(t *testing.T, change func(*llm.Config), steps ...step) *bundle {
	t.Helper()
	b := &bundle{
		ledger: &ledger{Memory: llm.NewMemory(clock.NewFixed(at))}, script: &script{t: t, steps: steps}, claude: &script{t: t},
		desk: &desk{}, clock: clock.NewFixed(at), logs: &bytes.Buffer{},
	}
	cfg := llm.Config{
		Roles:       llm.Roles{llm.IntentClassifier: {luna}},
		Catalogue:   catalogue(t),
		Providers:   map[string]llm.Provider{"openai": b.script, "anthropic": b.claude},
		Ledger:      b.ledger,
		Escalations: b.desk,
		Owner:       "node-1",
		Clock:       clock.NewFixed(at),
		Stopwatch:   b.clock,
		Logger:      slog.New(slog.NewJSONHandler(b.logs, nil)),
		Wait: func(ctx context.Context, d time.Duration) error {
			b.waits = append(b.waits, d)
			return ctx.Err()
		},
	}
	change(&cfg)
	var err error
	if b.router, err = llm.New(cfg); err != nil {
		t.Fatal(err)
	}
	b.req = llm.Request{
		Role: llm.IntentClassifier, Tenant: "t1", Thread: "c1", Turn: "u1", PromptVersion: "mood@1", System: "Sort.",
		Messages: []llm.Message{{Role: llm.User, Content: "secret words of Wanjiku"}}, Schema: compile(t, moodSchema),
	}
	return b
}

// tiers is a procedure's ladder: Haiku, Sonnet and Opus, then a person.
var tiers = llm.Ladder{
	{Provider: "anthropic", Model: "claude-haiku-5-5", MaxTokens: 100, Timeout: time.Minute},
	{Provider: "anthropic", Model: "claude-sonnet-5-5", MaxTokens: 100, Timeout: time.Minute},
	{Provider: "anthropic", Model: "claude-opus-5-5", MaxTokens: 100, Timeout: time.Minute},
	{Human: true},
}

// procedure is a router whose procedures climb tiers.
func procedure(t *testing.T, steps ...step) *bundle {
	t.Helper()
	b := setupWith(t, func(cfg *llm.Config) { cfg.Roles[llm.ProcedureStep] = tiers })
	b.claude.steps = steps
	b.req.Role, b.req.TaskID, b.req.Step = llm.ProcedureStep, "task-1", "classify"
	return b
}
