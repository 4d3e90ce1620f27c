package llm_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/llm"
)

type rollouts struct {
	all  llm.Rollout
	fail error
}

func (r *rollouts) Rollout(context.Context, llm.Role) (llm.Rollout, error) { return r.all, r.fail }

func TestBucketsAreTheDigestModuloAHundred(t *testing.T) {
	t.Parallel()
	bucket := func(key string) int {
		sum := sha256.Sum256([]byte(key))
		return int(new(big.Int).Mod(new(big.Int).SetBytes(sum[:]), big.NewInt(100)).Int64())
	}
	if b := bucket("t1:c1"); b != 8 {
		t.Fatalf("the reference gives %d for t1:c1, want 8", b)
	}
	rapid.Check(t, func(t *rapid.T) {
		tenant, thread := rapid.String().Draw(t, "tenant"), rapid.String().Draw(t, "thread")
		experiment := rapid.SampledFrom([]string{"", "warmer"}).Draw(t, "experiment")
		percent := rapid.IntRange(0, 100).Draw(t, "percent")
		key, canary := tenant+":"+thread, llm.Canary
		if experiment != "" {
			key, canary = "judge:"+experiment+":"+key, llm.Canary+":warmer"
		}
		want := llm.Stable
		if bucket(key) < percent {
			want = canary
		}
		o := llm.Rollout{Percent: percent, Experiment: experiment}
		got := o.Arm("judge", ids.TenantID(tenant), ids.ThreadID(thread), "")
		if got != want {
			t.Fatalf("%q at %d %%: %s, want %s", key, percent, got, want)
		}
		if again := (llm.Rollout{Percent: max(1, percent/2), Experiment: experiment}).Arm("judge", ids.TenantID(tenant), ids.ThreadID(thread), got); again != got {
			t.Fatalf("a ramp moved the thread from %s to %s", got, again)
		}
		if off := (llm.Rollout{Experiment: experiment}).Arm("judge", ids.TenantID(tenant), ids.ThreadID(thread), got); off != llm.Stable {
			t.Fatalf("at 0 %% the thread has %s", off)
		}
	})
}

func TestAFrozenArmStands(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		rollout llm.Rollout
		frozen  llm.Arm
		want    llm.Arm
	}{
		{"stable under a full rollout", llm.Rollout{Percent: 100}, llm.Stable, llm.Stable},
		{"canary under one that shrank", llm.Rollout{Percent: 1}, llm.Canary, llm.Canary},
		{"canary of an experiment that is over", llm.Rollout{Percent: 100, Experiment: "b"}, "canary:a", llm.Stable},
		{"canary of the experiment that runs", llm.Rollout{Percent: 1, Experiment: "a"}, "canary:a", "canary:a"},
		{"nothing yet under a full rollout", llm.Rollout{Percent: 100, Experiment: "a"}, "", "canary:a"},
	} {
		if got := row.rollout.Arm(llm.IntentClassifier, "t1", "c1", row.frozen); got != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
	for arm, want := range map[llm.Arm]string{"": "stable", llm.Stable: "stable", llm.Canary: "canary", "canary:a": "canary", "canaryish": "stable"} {
		if got := arm.Alias(); got != want {
			t.Errorf("%q is alias %s, want %s", arm, got, want)
		}
	}
}

func TestACanaryIsServedByItsOwnLadder(t *testing.T) {
	t.Parallel()
	trial := &rollouts{all: llm.Rollout{Percent: 100, Experiment: "a"}}
	b := setupWith(t, func(cfg *llm.Config) {
		cfg.Canaries, cfg.Rollouts = llm.Roles{llm.IntentClassifier: {tiers[0]}}, trial
	}, says(mood), says(mood))
	b.claude.steps = []step{says(mood)}
	got, err := b.router.Call(t.Context(), b.req)
	if err != nil || got.Model != tiers[0].Model || got.Arm != "canary:a" || b.ledger.All()[0].CanaryArm != "canary:a" {
		t.Fatalf("got %+v, %v; want the ladder on trial", got, err)
	}
	b.req.Seq, b.req.Arm = 1, llm.Stable
	if got, err = b.router.Call(t.Context(), b.req); err != nil || got.Model != luna.Model || got.Arm != llm.Stable {
		t.Errorf("got %+v, %v; want the stable ladder for a thread that has it", got, err)
	}
	trial.fail = errors.New("control data gone")
	b.req.Seq, b.req.Arm = 2, "canary:a"
	if got, err = b.router.Call(t.Context(), b.req); err != nil || got.Arm != llm.Stable {
		t.Errorf("got %+v, %v; want stable when the rollout cannot be read", got, err)
	}
	if e := b.events(t, "llm.rollout.unread"); len(e) != 1 {
		t.Errorf("events %v", e)
	}
}

func TestResolveSaysWhatServes(t *testing.T) {
	t.Parallel()
	own := llm.Overrides{llm.IntentClassifier: {tiers[1]}}
	b := setupWith(t, func(cfg *llm.Config) {
		cfg.Canaries, cfg.Rollouts = llm.Roles{llm.IntentClassifier: {tiers[0]}}, &rollouts{all: llm.Rollout{Percent: 100}}
		cfg.Policies = policies{"t1": {Version: 1, Overrides: own, Ceilings: llm.DefaultCeilings()}}
	})
	for tenant, want := range map[ids.TenantID]llm.Resolution{
		"t1": {Ladder: own[llm.IntentClassifier], Arm: llm.Canary, Ceilings: llm.DefaultCeilings(), Overridden: true},
		"t2": {Ladder: llm.Ladder{tiers[0]}, Arm: llm.Canary, Ceilings: llm.DefaultCeilings()},
	} {
		got, err := b.router.Resolve(t.Context(), llm.Target{Role: llm.IntentClassifier, Tenant: tenant, Thread: "c1"})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", tenant, err, diff)
		}
	}
	if _, err := b.router.Resolve(t.Context(), llm.Target{Role: llm.Reorientation}); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("got %v for a role without a ladder", err)
	}
}

type noPolicy struct{ fail error }

func (p noPolicy) Policy(context.Context, ids.TenantID) (llm.Policy, error) {
	return llm.Policy{}, p.fail
}

func TestWithoutAPolicyNothingIsSpent(t *testing.T) {
	t.Parallel()
	gone := errors.New("settings gone")
	b := setupWith(t, func(cfg *llm.Config) { cfg.Policies = noPolicy{gone} })
	if _, err := b.router.Call(t.Context(), b.req); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
}

func TestAnOverrideThatCannotServeAnyMoreLeavesTheDefault(t *testing.T) {
	t.Parallel()
	p := policies{"t1": {Version: 1, Ceilings: llm.DefaultCeilings(), Overrides: llm.Overrides{llm.IntentClassifier: {{Provider: "openai", Model: "gpt-3"}}}}}
	b := setupWith(t, func(cfg *llm.Config) { cfg.Policies = p }, says(mood), says(mood))
	b.claude.steps = []step{says(mood)}
	for seq := range 2 {
		b.req.Seq = seq
		if got, err := b.router.Call(t.Context(), b.req); err != nil || got.Model != luna.Model {
			t.Fatalf("got %+v, %v", got, err)
		}
	}
	if e := b.events(t, "llm.override.refused"); len(e) != 1 || !strings.Contains(fmt.Sprint(e[0]["error"]), `"gpt-3" of "openai" is not in the catalogue`) {
		t.Errorf("events %v, want one clear line", e)
	}
	p["t1"] = llm.Policy{Version: 2, Ceilings: llm.DefaultCeilings(), Overrides: llm.Overrides{llm.IntentClassifier: {tiers[0]}}}
	b.req.Seq = 3
	if got, err := b.router.Call(t.Context(), b.req); err != nil || got.Model != tiers[0].Model {
		t.Errorf("got %+v, %v; want the new override at once", got, err)
	}
}

func TestParseOverrides(t *testing.T) {
	t.Parallel()
	got, err := llm.ParseOverrides([]byte(`{"intent_classifier": {"provider": "anthropic", "model": "claude-haiku-5-5", "max_tokens": 300},
		"procedure_step": {"threshold": 0.8, "ladder": [{"provider": "anthropic", "model": "claude-opus-5-5", "timeout": "20s"}, "human"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := llm.Overrides{
		llm.IntentClassifier: {{Provider: "anthropic", Model: "claude-haiku-5-5", MaxTokens: 300, Timeout: 10e9}},
		llm.ProcedureStep:    {{Provider: "anthropic", Model: "claude-opus-5-5", MaxTokens: 500, Timeout: 20e9, Threshold: 0.8}, {Human: true}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("overrides (-want +got):\n%s", diff)
	}
	for _, none := range []string{"", "{}", "null", " \n"} {
		if got, err := llm.ParseOverrides([]byte(none)); err != nil || len(got) != 0 {
			t.Errorf("%q: %v, %v; want none", none, got, err)
		}
	}
}

// TestBadOverridesAreRefusedInOneLineEach goes through what a business may get
// wrong, in the form and in what it names.
func TestBadOverridesAreRefusedInOneLineEach(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for raw, want := range map[string]string{
		`{"poet": {"provider": "openai", "model": "gpt-6-luna"}}`:                                   `role "poet" is unknown`,
		`{"slot_extractor": {"provider": "openai", "model": "gpt-9"}}`:                              `role slot_extractor, rung 1: model "gpt-9" of "openai" is not in the catalogue`,
		`{"slot_extractor": {"provider": "mistral", "model": "gpt-6-luna"}}`:                        `provider "mistral" has no key`,
		`{"slot_extractor": {"model": "gpt-6-luna"}}`:                                               `provider and model are required`,
		`{"slot_extractor": {}}`:                                                                    `the ladder is empty`,
		`{"slot_extractor": {"provider": "openai", "model": "gpt-6-luna", "ladder": ["human"]}}`:    `a ladder or one rung, not both`,
		`{"slot_extractor": {"provider": "openai", "model": "gpt-6-luna", "effort": "xhigh"}}`:      `does not take effort "xhigh"`,
		`{"slot_extractor": {"provider": "openai", "model": "gpt-6-luna", "max_tokens": 99999999}}`: `answers with at most 32768 tokens`,
		`{"slot_extractor": {"provider": "openai", "model": "gpt-6-luna", "colour": "blue"}}`:       `colour`,
		`{"slot_extractor": {"ladder": ["human", {"provider": "openai", "model": "gpt-6-luna"}]}}`:  `rung 1: a person is the last rung`,
		`{"slot_extractor": {"threshold": 7, "provider": "openai", "model": "gpt-6-luna"}}`:         `threshold 7: want more than 0, at most 1`,
		`{"slot_extractor": {"threshold": .nan, "provider": "openai", "model": "gpt-6-luna"}}`:      `threshold NaN`,
		`{"slot_extractor": "gpt-6-luna"}`:                                                          `llm_role_overrides: `,
		`{"slot_extractor": {"provider": "openai", "model": "gpt-6-luna", "timeout": "1h"}}`:        `timeout "1h"`,
		`[`: `llm_role_overrides: `,
	} {
		got, err := llm.ParseOverrides([]byte(raw))
		if err == nil {
			err = b.router.CheckOverrides(got)
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v\nwant one line with %q", raw, err, want)
		}
	}
}

func TestARetiredModelIsNoOverride(t *testing.T) {
	t.Parallel()
	c, err := catalogue(t).Extend([]byte("models:\n  - {provider: openai, id: old, retires: 2026-11-01, successor: gpt-6-luna, prices: [{from: 2026-01-01, input: \"1\", output: \"1\"}]}"))
	if err != nil {
		t.Fatal(err)
	}
	b := setupWith(t, func(cfg *llm.Config) { cfg.Catalogue = c })
	err = b.router.CheckOverrides(llm.Overrides{llm.SlotExtractor: {{Provider: "openai", Model: "old"}}})
	if err == nil || !strings.Contains(err.Error(), `"old" was retired on 2026-11-01; its successor is "gpt-6-luna"`) {
		t.Errorf("got %v", err)
	}
}

func TestCanariesOfARolesFile(t *testing.T) {
	t.Parallel()
	const file = `roles:
  intent_classifier:
    ladder: [{provider: openai, model: a}]
    canary: {ladder: [{provider: openai, model: b}]}
  slot_extractor:
    ladder: [{provider: openai, model: c}]
    canary: {like: intent_classifier}
  answer_shaper:
    ladder: [{provider: openai, model: d}]
    canary: {like: reorientation}
  reorientation:
    ladder: [{provider: openai, model: e}]`
	got, err := llm.ParseCanaries([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	models := map[llm.Role]string{}
	for role, ladder := range got {
		models[role] = ladder[0].Model
	}
	want := map[llm.Role]string{llm.IntentClassifier: "b", llm.SlotExtractor: "b", llm.AnswerShaper: "e"}
	if diff := cmp.Diff(want, models); diff != "" {
		t.Errorf("canaries (-want +got):\n%s", diff)
	}
	if roles, err := llm.ParseRoles([]byte(file)); err != nil || roles[llm.SlotExtractor][0].Model != "c" {
		t.Errorf("roles %v, %v", roles, err)
	}
}
