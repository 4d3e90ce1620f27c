package understand_test

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/prompt"
	"github.com/ratiba/ratiba/internal/understand"
)

const unclear = "mambo yangu yalivurugwa kweli na ile siku mliyonipa, eleza sababu"

// onTrial is a classifier's prompt with other words on trial.
func onTrial(t *testing.T) *prompt.Set {
	t.Helper()
	const variables = "{{assistant_name}}{{business_name}}{{locale}}{{today}}{{services}}{{expecting}}{{track_record}}"
	var meta strings.Builder
	meta.WriteString("version: \"1\"\nrole: intent_classifier\neval_baseline: none\nowner: conversation\nvariables:\n")
	for _, name := range []string{"assistant_name", "business_name", "locale", "today", "services", "expecting", "track_record"} {
		meta.WriteString("  - {name: " + name + ", trusted: true, optional: true, description: d}\n")
	}
	set, err := prompt.Load(fstest.MapFS{
		"intent_classifier/system.md":     {Data: []byte("Sort." + variables)},
		"intent_classifier/canary.md":     {Data: []byte("Sort well." + variables)},
		"intent_classifier/metadata.yaml": {Data: []byte(meta.String())},
	})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// A conversation keeps the arm it was given: a ramp up does not bring it into
// the trial, a ramp down not out of it, and the end of the trial does.
func TestAConversationKeepsItsArm(t *testing.T) {
	t.Parallel()
	set := onTrial(t)
	s := &script{answers: map[llm.Role]string{llm.IntentClassifier: intentAnswer("complaint", 0.9)}, rollout: llm.Rollout{Percent: 100, Experiment: "words"}}
	u, err := understand.New(understand.Config{Model: s, Prompts: set})
	if err != nil {
		t.Fatal(err)
	}
	inTrial, outside := belongs(), belongs()
	inTrial.Arms, outside.Arms = map[string]string{}, map[string]string{}
	ask := func(ids understand.IDs) llm.Request {
		t.Helper()
		if _, _, err := u.Understand(t.Context(), typed(unclear), ids); err != nil {
			t.Fatal(err)
		}
		return s.asked[len(s.asked)-1]
	}
	for _, row := range []struct {
		percent int
		who     understand.IDs
		arm     llm.Arm
	}{
		{100, inTrial, "canary:words"},
		{1, inTrial, "canary:words"},
		{0, outside, llm.Stable},
		{100, outside, llm.Stable},
		{0, inTrial, llm.Stable},
		{100, inTrial, llm.Stable},
	} {
		s.rollout.Percent = row.percent
		got := ask(row.who)
		if got.Arm != row.arm || got.PromptVersion != set.Version("intent_classifier", row.arm.Alias()) ||
			strings.HasPrefix(got.System, "Sort well.") != (row.arm != llm.Stable) {
			t.Errorf("at %d%%: arm %q, prompt %q, %.12q", row.percent, got.Arm, got.PromptVersion, got.System)
		}
		if want := map[string]string{"intent_classifier": string(row.arm)}; !maps.Equal(row.who.Arms, want) {
			t.Errorf("at %d%%: the conversation keeps %v, want %v", row.percent, row.who.Arms, want)
		}
	}
	if set.Version("intent_classifier", prompt.Canary) == set.Version("intent_classifier", prompt.Stable) {
		t.Error("both arms have one prompt")
	}
}

// known is one track record for every role but the slot extractor's.
type known struct{ record prompt.Track }

func (k known) Track(_ context.Context, id ids.TenantID, role llm.Role) prompt.Track {
	if id != "T" || role == llm.SlotExtractor {
		return prompt.Track{}
	}
	return k.record
}

func TestPromptsTellTheTrackRecord(t *testing.T) {
	t.Parallel()
	prompts, err := prompt.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	s := &script{answers: map[llm.Role]string{llm.IntentClassifier: intentAnswer("book", 0.9), llm.SlotExtractor: slotsAnswer(nil, 0)}}
	record := known{prompt.Track{Count: 40, Checked: 40, Right: 38, Shares: []prompt.Share{{Name: "book", Count: 30}}}}
	u, err := understand.New(understand.Config{Model: s, Prompts: prompts, Tracks: record})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := u.Understand(t.Context(), typed("hmm well, perhaps something one of these days then"), belongs()); err != nil {
		t.Fatal(err)
	}
	for _, role := range []llm.Role{llm.ClarificationRephraser, llm.AnswerShaper} {
		if _, _, err := u.Shape(t.Context(), role, nil, "Karibu.", "en", belongs()); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.asked) != 4 {
		t.Fatalf("asked %v, want every role", s.roles())
	}
	for _, got := range s.asked {
		told := strings.Contains(got.System, "In the last seven days you gave 40 such answers; of the 40 that were checked 95% were right. They said: book (75%), other (25%).")
		if silent := !strings.Contains(got.System, "seven days"); told == silent || silent != (got.Role == llm.SlotExtractor) {
			t.Errorf("%s is told %.2000s", got.Role, got.System)
		}
	}
}

// What a ceiling refuses was reported by the router, once.
func TestACeilingsRefusalIsNoFailureOfAModel(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		fail  error
		lines int
	}{{llm.ErrBudget, 0}, {context.DeadlineExceeded, 1}} {
		var events bytes.Buffer
		u, err := understand.New(understand.Config{Model: &script{fail: row.fail}, Prompts: onTrial(t), Logger: slog.New(slog.NewJSONHandler(&events, nil))})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := u.Understand(t.Context(), typed(unclear), belongs()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(events.String(), "understand.model_failed"); got != row.lines {
			t.Errorf("%v: %d lines: %s", row.fail, got, events.String())
		}
	}
}
