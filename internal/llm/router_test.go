package llm_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/llm"
)

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
	if got.Ending != llm.Answered || got.Arm != llm.Stable || len(b.ledger.All()) != 1 || b.ledger.Held() != 0 {
		t.Fatalf("%+v, %d records, %d held; want one answer and one record", got, len(b.ledger.All()), b.ledger.Held())
	}
	rec := b.ledger.All()[0]
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
	if len(b.ledger.All()) != 2 {
		t.Errorf("%d records, want 2", len(b.ledger.All()))
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
		"messages":        func(r *llm.Request) { r.Messages = nil },
		"tools":           func(r *llm.Request) { r.Tools = []llm.Tool{{Name: "a"}} },
		"a tool's words":  func(r *llm.Request) { r.Tools = []llm.Tool{{Name: "a", Description: "b"}} },
		"a tool's input":  func(r *llm.Request) { r.Tools = []llm.Tool{{Name: "a", Input: r.Schema}} },
		"a call demanded": func(r *llm.Request) { r.Tools, r.MustCall = []llm.Tool{{Name: "a"}}, true },
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
			if b.ledger.All()[0].Outcome != llm.Outcome(llm.Malformed) || b.ledger.All()[0].Cost != costOnce || b.ledger.All()[0].Confidence != nil {
				t.Errorf("first record %+v", b.ledger.All()[0])
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

func TestAnAnswerWithoutUsageIsSettledAsAnEstimate(t *testing.T) {
	t.Parallel()
	b := setup(t, func(context.Context, llm.Call) (llm.Answer, error) { return llm.Answer{Text: mood}, nil })
	got, err := b.router.Call(t.Context(), b.req)
	if err != nil || got.Cost != b.router.WorstCase(b.req) || !b.ledger.All()[0].Estimated {
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
	if len(b.ledger.All()) != 1 || b.ledger.All()[0].Cost == 0 {
		t.Errorf("records %+v, want one that is not free", b.ledger.All())
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
	if len(b.ledger.All()) != 0 {
		t.Errorf("%d records of a call that was not made", len(b.ledger.All()))
	}
}

func TestFreeTextNeedsNoSchemaButMustNotBeEmpty(t *testing.T) {
	t.Parallel()
	b := setup(t, says("Karibu tena."), says(" \n"), says(""))
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
		Catalogue: catalogue, Ledger: llm.NewMemory(nil), Providers: map[string]llm.Provider{"openai": &script{t: t}},
	})
	if err == nil {
		t.Fatal("want an error")
	}
	for _, want := range []string{`"gpt-9" of "openai" is not in the catalogue`, `provider "mistral" has no key`, `"free" has no price`, `does not take effort "high"`} {
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
