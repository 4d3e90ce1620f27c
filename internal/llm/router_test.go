package llm_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/money"
)

// ledger is a Ledger in memory.
type ledger struct {
	mu      sync.Mutex
	records []llm.Record
	fail    error
}

func (l *ledger) Lookup(_ context.Context, tenant ids.TenantID, hash string) (*llm.Record, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, v := range slices.Backward(l.records) {
		if r := v; r.Tenant == tenant && r.RequestHash == hash && r.Outcome == llm.OK {
			return &r, nil
		}
	}
	return nil, nil //nolint:nilnil // The contract of Lookup.
}

func (l *ledger) Record(ctx context.Context, r llm.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	l.records = append(l.records, r)
	return l.fail
}

// script is a Provider that answers in order and fails on surprise.
type script struct {
	t     *testing.T
	mu    sync.Mutex
	steps []func(context.Context, llm.Call) (llm.Answer, error)
	calls []llm.Call
}

func (s *script) Complete(ctx context.Context, call llm.Call) (llm.Answer, error) {
	s.mu.Lock()
	s.calls = append(s.calls, call)
	n := len(s.calls)
	s.mu.Unlock()
	if n > len(s.steps) {
		s.t.Errorf("call %d was not expected", n)
		return llm.Answer{}, errors.New("not expected")
	}
	return s.steps[n-1](ctx, call)
}

func says(text string) func(context.Context, llm.Call) (llm.Answer, error) {
	return func(context.Context, llm.Call) (llm.Answer, error) {
		return llm.Answer{Text: text, Usage: llm.Usage{Input: 400, Output: 40}, Metered: true}, nil
	}
}

func fails(e llm.Error) func(context.Context, llm.Call) (llm.Answer, error) {
	return func(context.Context, llm.Call) (llm.Answer, error) { return llm.Answer{}, &e }
}

const moodSchema = `{"type":"object","properties":{"reasoning":{"type":"string"},"mood":{"enum":["good","bad"]},"confidence":{"type":"number","minimum":0,"maximum":1}},"required":["reasoning","mood","confidence"],"additionalProperties":false}`

const mood = `{"reasoning":"r","mood":"good","confidence":0.9}`

// costOnce is 400 tokens in and 40 out on gpt-6-luna.
const costOnce = 400*100_000 + 40*500_000

var at = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

type bundle struct {
	router *llm.Router
	ledger *ledger
	script *script
	logs   *bytes.Buffer
	req    llm.Request
}

func setup(t *testing.T, steps ...func(context.Context, llm.Call) (llm.Answer, error)) *bundle {
	t.Helper()
	catalogue, err := llm.DefaultCatalogue()
	if err != nil {
		t.Fatal(err)
	}
	b := &bundle{ledger: &ledger{}, script: &script{t: t, steps: steps}, logs: &bytes.Buffer{}}
	b.router, err = llm.New(llm.Config{
		Roles:     llm.Roles{llm.IntentClassifier: {{Provider: "openai", Model: "gpt-6-luna", Effort: "none", MaxTokens: 100, Timeout: time.Minute}}},
		Catalogue: catalogue,
		Providers: map[string]llm.Provider{"openai": b.script},
		Ledger:    b.ledger,
		Clock:     clock.NewFixed(at),
		Stopwatch: clock.NewFixed(at),
		Logger:    slog.New(slog.NewJSONHandler(b.logs, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	schema, err := llm.CompileSchema("mood", []byte(moodSchema))
	if err != nil {
		t.Fatal(err)
	}
	b.req = llm.Request{
		Role: llm.IntentClassifier, Tenant: "t1", Thread: "c1", Turn: "u1", PromptVersion: "mood@1", System: "Sort.",
		Messages: []llm.Message{{Role: llm.User, Content: "secret words of Wanjiku"}}, Schema: schema,
	}
	return b
}

func TestAnAnswerIsValidatedPricedStoredAndLogged(t *testing.T) {
	t.Parallel()
	b := setup(t, says(mood))
	got, err := b.router.Call(t.Context(), b.req)
	if err != nil {
		t.Fatal(err)
	}
	if string(got.JSON) != mood || got.Confidence != 0.9 || got.Tier != 1 || got.Cost != costOnce || got.Reused || got.Escalated {
		t.Errorf("result %+v", got)
	}
	if len(b.ledger.records) != 1 {
		t.Fatalf("%d records, want 1", len(b.ledger.records))
	}
	rec := b.ledger.records[0]
	confidence := 0.9
	want := llm.Record{
		ID: got.CallID, Role: llm.IntentClassifier, Tenant: "t1", Thread: "c1", Turn: "u1", Tier: 1, Provider: "openai",
		Model: "gpt-6-luna", PromptVersion: "mood@1", Usage: llm.Usage{Input: 400, Output: 40}, Cost: costOnce, Outcome: llm.OK,
		Confidence: &confidence, CanaryArm: "stable", Account: llm.AccountThread, Answer: mood, RequestHash: b.req.Hash(), At: at,
	}
	if diff := cmp.Diff(want, rec); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	for _, part := range []string{`"msg":"llm.call"`, `"cost_usd":"0.00006"`, `"tenant_id":"t1"`, `"conversation_id":"c1"`, `"turn_id":"u1"`, `"outcome":"ok"`, `"prompt_version":"mood@1"`} {
		if !strings.Contains(b.logs.String(), part) {
			t.Errorf("log %s lacks %s", b.logs, part)
		}
	}
	if strings.Contains(b.logs.String(), "Wanjiku") {
		t.Error("customer text is in the log")
	}
}

func TestARepeatedRequestReusesTheStoredAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t, says(mood), says(mood))
	first, err := b.router.Call(t.Context(), b.req)
	if err != nil {
		t.Fatal(err)
	}
	again, err := b.router.Call(t.Context(), b.req)
	if err != nil {
		t.Fatal(err)
	}
	if !again.Reused || again.CallID != first.CallID || string(again.JSON) != mood || again.Confidence != 0.9 || again.Cost != first.Cost {
		t.Errorf("reused %+v, first %+v", again, first)
	}
	b.req.Seq = 1
	if other, err := b.router.Call(t.Context(), b.req); err != nil || other.Reused {
		t.Errorf("another request: %+v, %v; want a call", other, err)
	}
	if len(b.ledger.records) != 2 {
		t.Errorf("%d records, want 2", len(b.ledger.records))
	}
}

func TestEveryFieldOfARequestCountsInItsHash(t *testing.T) {
	t.Parallel()
	b := setup(t)
	base := b.req.Hash()
	changes := map[string]func(*llm.Request){
		"role": func(r *llm.Request) { r.Role = "x" }, "tenant": func(r *llm.Request) { r.Tenant = "x" },
		"thread": func(r *llm.Request) { r.Thread = "x" }, "turn": func(r *llm.Request) { r.Turn = "x" },
		"account": func(r *llm.Request) { r.Account = llm.AccountEval }, "prompt": func(r *llm.Request) { r.PromptVersion = "x" },
		"system": func(r *llm.Request) { r.System = "x" }, "schema": func(r *llm.Request) { r.Schema = nil },
		"limit": func(r *llm.Request) { r.MaxTokens = 1 }, "seq": func(r *llm.Request) { r.Seq = 1 },
		"task": func(r *llm.Request) { r.TaskID = "x" }, "step": func(r *llm.Request) { r.Step = "x" },
		"speaker": func(r *llm.Request) {
			r.Messages = []llm.Message{{Role: llm.Assistant, Content: r.Messages[0].Content}}
		},
		"messages": func(r *llm.Request) { r.Messages = nil },
	}
	seen := map[string]string{base: "the request itself"}
	for name, change := range changes {
		r := b.req
		change(&r)
		if other, ok := seen[r.Hash()]; ok {
			t.Errorf("a change of %s hashes like %s", name, other)
		}
		seen[r.Hash()] = name
	}
}

func TestAnUnusableAnswerIsAskedForOnceMoreAndBothArePaid(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]string{
		"not JSON":           "Sure! " + mood,
		"text behind it":     mood + " Hope this helps!",
		"outside the enum":   strings.Replace(mood, "good", "fine", 1),
		"above the maximum":  strings.Replace(mood, "0.9", "1.5", 1),
		"a missing member":   `{"mood":"good","confidence":1}`,
		"NaN":                strings.Replace(mood, "0.9", "NaN", 1),
		"invalid UTF-8":      strings.Replace(mood, `"r"`, "\"\xff\"", 1),
		"a NUL":              strings.Replace(mood, `"r"`, `"\u0000"`, 1),
		"nothing":            "",
		"white space":        " \n",
		"more than 256 KiB":  strings.Replace(mood, `"r"`, `"`+strings.Repeat("r", llm.MaxAnswer)+`"`, 1),
		"a list of answers":  "[" + mood + "]",
		"an unknown member":  strings.Replace(mood, `{`, `{"x":1,`, 1),
		"fenced as markdown": "```json\n" + mood + "\n```",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, says(bad), says(mood))
			got, err := b.router.Call(t.Context(), b.req)
			if err != nil {
				t.Fatal(err)
			}
			if string(got.JSON) != mood || got.Cost != 2*costOnce || len(got.Chain) != 2 {
				t.Errorf("result %+v, want the second answer at the price of both", got)
			}
			if b.ledger.records[0].Outcome != llm.Outcome(llm.Malformed) || b.ledger.records[0].Cost != costOnce || b.ledger.records[0].Confidence != nil {
				t.Errorf("first record %+v", b.ledger.records[0])
			}
			asked := b.script.calls[1].Messages
			if last := asked[len(asked)-1]; last.Role != llm.User || !strings.Contains(last.Content, "could not be used") {
				t.Errorf("the second call ends with %+v, want the complaint", last)
			}
			for _, m := range asked {
				if strings.TrimSpace(m.Content) == "" {
					t.Errorf("the second call holds an empty message: %+v", asked)
				}
			}
			if len(b.script.calls[0].Messages) != 1 {
				t.Error("the complaint leaked into the first call's messages")
			}
		})
	}
}

func TestASecondUnusableAnswerIsAnErrorWithoutTheAnswerInIt(t *testing.T) {
	t.Parallel()
	b := setup(t, says("Wanjiku said hi"), says(`{"mood":"Wanjiku"}`))
	got, err := b.router.Call(t.Context(), b.req)
	if llm.ClassOf(err) != llm.Malformed || !errors.Is(err, llm.ErrAnswer) {
		t.Fatalf("got %v, want malformed", err)
	}
	if strings.Contains(err.Error(), "Wanjiku") {
		t.Errorf("the answer is in the error: %v", err)
	}
	if got.Cost != 2*costOnce || len(got.Chain) != 2 || got.JSON != nil {
		t.Errorf("result %+v, want the cost of both and no answer", got)
	}
}

func TestEveryOtherFailureIsSettledAndReturnedAtOnce(t *testing.T) {
	t.Parallel()
	used := llm.Usage{Input: 400, Output: 40}
	rows := []struct {
		name      string
		err       llm.Error
		cost      money.Pico
		estimated bool
	}{
		{"a timeout is settled at its worst case", llm.Error{Class: llm.Timeout, MayBeBilled: true}, 0, true},
		{"a lost connection is settled at its worst case", llm.Error{Class: llm.Server, MayBeBilled: true}, 0, true},
		{"a page in place of an answer is settled at its worst case", llm.Error{Class: llm.Malformed, MayBeBilled: true}, 0, true},
		{"a refusal costs what it used", llm.Error{Class: llm.Refused, Usage: used, Metered: true, MayBeBilled: true}, costOnce, false},
		{"a cut answer costs what it used", llm.Error{Class: llm.Truncated, Usage: used, Metered: true, MayBeBilled: true}, costOnce, false},
		{"a usage of zero is not a missing one", llm.Error{Class: llm.Refused, Metered: true, MayBeBilled: true}, 0, false},
		{"a rate limit is free", llm.Error{Class: llm.Rate, RetryAfter: time.Second}, 0, false},
		{"a quota is free", llm.Error{Class: llm.Quota}, 0, false},
		{"a server error is free", llm.Error{Class: llm.Server}, 0, false},
		{"a bad request is free", llm.Error{Class: llm.InvalidRequest}, 0, false},
		{"a wrong key is free", llm.Error{Class: llm.Auth}, 0, false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, fails(row.err))
			if row.estimated {
				row.cost = b.router.WorstCase(b.req)
				if row.cost <= 0 {
					t.Fatal("the worst case is free")
				}
			}
			got, err := b.router.Call(t.Context(), b.req)
			if llm.ClassOf(err) != row.err.Class {
				t.Fatalf("got %v, want class %s", err, row.err.Class)
			}
			rec := b.ledger.records[0]
			if rec.Cost != row.cost || rec.Estimated != row.estimated || got.Cost != row.cost || rec.Outcome != llm.Outcome(row.err.Class) {
				t.Errorf("record %+v, result %+v; want cost %d", rec, got, row.cost)
			}
			if len(b.ledger.records) != 1 || len(b.script.calls) != 1 {
				t.Errorf("%d records, %d calls; want one of each", len(b.ledger.records), len(b.script.calls))
			}
		})
	}
}

func TestAnAnswerWithoutUsageIsSettledAsAnEstimate(t *testing.T) {
	t.Parallel()
	b := setup(t, func(context.Context, llm.Call) (llm.Answer, error) { return llm.Answer{Text: mood}, nil })
	got, err := b.router.Call(t.Context(), b.req)
	if err != nil || got.Cost != b.router.WorstCase(b.req) || !b.ledger.records[0].Estimated {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestACancelledCallIsStillStored(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	b := setup(t, func(ctx context.Context, _ llm.Call) (llm.Answer, error) {
		cancel()
		<-ctx.Done()
		return llm.Answer{}, &llm.Error{Class: llm.Timeout, MayBeBilled: true, Cause: ctx.Err()}
	})
	_, err := b.router.Call(ctx, b.req)
	if llm.ClassOf(err) != llm.Cancelled {
		t.Errorf("got %v, want cancelled", err)
	}
	if len(b.ledger.records) != 1 || b.ledger.records[0].Cost == 0 {
		t.Errorf("records %+v, want one that is not free", b.ledger.records)
	}
}

func TestAnAttemptThatCannotBeStoredIsAnError(t *testing.T) {
	t.Parallel()
	b := setup(t, says(mood))
	b.ledger.fail = errors.New("disk full")
	if got, err := b.router.Call(t.Context(), b.req); !errors.Is(err, b.ledger.fail) || got.Cost != costOnce {
		t.Errorf("got %+v, %v; want the ledger's error and the cost", got, err)
	}
}

func TestAPromptThatCannotFitIsNotSent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.req.System = strings.Repeat("long ", 272_000)
	if _, err := b.router.Call(t.Context(), b.req); llm.ClassOf(err) != llm.InvalidRequest {
		t.Errorf("got %v, want an invalid request", err)
	}
	if len(b.ledger.records) != 0 {
		t.Errorf("%d records of a call that was not made", len(b.ledger.records))
	}
}

func TestFreeTextNeedsNoSchemaButMustNotBeEmpty(t *testing.T) {
	t.Parallel()
	b := setup(t, says("Karibu tena."), says(" \n"))
	b.req.Schema = nil
	got, err := b.router.Call(t.Context(), b.req)
	if err != nil || got.Text != "Karibu tena." || got.JSON != nil || got.Confidence != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
	b.req.Seq = 1
	if _, err := b.router.Call(t.Context(), b.req); llm.ClassOf(err) != llm.Malformed {
		t.Errorf("got %v, want malformed", err)
	}
}

func TestARoleWithoutALadderIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.req.Role = llm.Reorientation
	if _, err := b.router.Call(t.Context(), b.req); err == nil {
		t.Error("want an error")
	}
}

func TestNewNamesEveryFaultAtOnce(t *testing.T) {
	t.Parallel()
	catalogue, err := llm.ParseCatalogue([]byte("models:\n  - {provider: openai, id: free}\n  - {provider: openai, id: plain, prices: [{from: 2026-01-01, input: \"1\", output: \"1\"}]}"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = llm.New(llm.Config{
		Roles: llm.Roles{
			llm.IntentClassifier: {{Provider: "openai", Model: "gpt-9"}},
			llm.SlotExtractor:    {{Provider: "mistral", Model: "small"}},
			llm.AnswerShaper:     {{Provider: "openai", Model: "free"}},
			llm.Reorientation:    {{Provider: "openai", Model: "plain", Effort: "high"}},
		},
		Catalogue: catalogue, Ledger: &ledger{}, Providers: map[string]llm.Provider{"openai": &script{t: t}},
	})
	if err == nil {
		t.Fatal("want an error")
	}
	for _, want := range []string{`"gpt-9" of "openai" is not in the catalogue`, `provider "mistral" has no adapter`, `"free" has no price`, `does not take effort "high"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %s", err, want)
		}
	}
}

func TestAModelWithoutStrictSchemasIsToldTheSchemaInWords(t *testing.T) {
	t.Parallel()
	b := setup(t, says(mood))
	catalogue, err := llm.ParseCatalogue([]byte("models:\n  - {provider: openai, id: local, prices: [{from: 2026-01-01, input: \"0\", output: \"0\"}]}"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := llm.New(llm.Config{
		Roles: llm.Roles{llm.IntentClassifier: {{Provider: "openai", Model: "local", MaxTokens: 10, Timeout: time.Second}}}, Catalogue: catalogue,
		Ledger: b.ledger, Providers: map[string]llm.Provider{"openai": b.script},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Call(t.Context(), b.req); err != nil {
		t.Fatal(err)
	}
	if c := b.script.calls[0]; c.Schema != nil || !strings.Contains(c.System, moodSchema) {
		t.Errorf("call %+v, want the schema in the system prompt", c)
	}
}

// BenchmarkCall is what the router adds to a provider's own time: hash,
// look-up, validation, price, record and log.
func BenchmarkCall(b *testing.B) {
	catalogue, err := llm.DefaultCatalogue()
	if err != nil {
		b.Fatal(err)
	}
	r, err := llm.New(llm.Config{
		Roles:     llm.Roles{llm.IntentClassifier: {{Provider: "openai", Model: "gpt-6-luna", MaxTokens: 100, Timeout: time.Minute}}},
		Catalogue: catalogue, Ledger: forgetful{}, Providers: map[string]llm.Provider{"openai": instant{}},
	})
	if err != nil {
		b.Fatal(err)
	}
	req := llm.Request{
		Role: llm.IntentClassifier, Tenant: "t", Thread: "c", Turn: "u", System: strings.Repeat("rule ", 600),
		Messages: []llm.Message{{Role: llm.User, Content: "hi"}}, Schema: compile(b, moodSchema),
	}
	for b.Loop() {
		if _, err := r.Call(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
}

type forgetful struct{}

func (forgetful) Lookup(context.Context, ids.TenantID, string) (*llm.Record, error) {
	return nil, nil //nolint:nilnil // The contract of Lookup.
}
func (forgetful) Record(context.Context, llm.Record) error { return nil }

type instant struct{}

func (instant) Complete(context.Context, llm.Call) (llm.Answer, error) {
	return llm.Answer{Text: mood, Usage: llm.Usage{Input: 400, Output: 40}, Metered: true}, nil
}
