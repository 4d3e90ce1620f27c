package understand_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/prompt"
	"github.com/ratiba/ratiba/internal/understand"
)

// script answers by role and keeps what it was asked.
type script struct {
	answers map[llm.Role]string
	fail    error
	asked   []llm.Request
	rollout llm.Rollout
}

func (s *script) Resolve(_ context.Context, t llm.Target) (llm.Resolution, error) {
	return llm.Resolution{Arm: s.rollout.Arm(t.Role, t.Tenant, t.Thread, t.Arm)}, nil
}

func (s *script) Call(_ context.Context, req llm.Request) (llm.Result, error) {
	s.asked = append(s.asked, req)
	answer, ok := s.answers[req.Role]
	if s.fail != nil || !ok {
		return llm.Result{}, errors.Join(s.fail, errors.New("no answer"))
	}
	parsed, err := req.Schema.Parse(answer)
	if err != nil {
		return llm.Result{}, err
	}
	return llm.Result{JSON: parsed, Tier: 2, CallID: "call-" + string(req.Role), Confidence: req.Schema.Confidence(parsed)}, nil
}

func (s *script) roles() []llm.Role {
	var out []llm.Role
	for _, r := range s.asked {
		out = append(out, r.Role)
	}
	return out
}

func understander(t *testing.T, s *script) *understand.Understander {
	t.Helper()
	prompts, err := prompt.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	cfg := understand.Config{Prompts: prompts}
	if s != nil {
		cfg.Model = s
	}
	u, err := understand.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func belongs() understand.IDs {
	return understand.IDs{
		Tenant: "T", Thread: "H", Turn: "U",
		Voice: understand.Voice{Assistant: "Zuri", Business: "Amani Spa", Locale: "en", HouseRules: "Be brief."},
	}
}

func intentAnswer(intent string, confidence float64) string {
	b, _ := json.Marshal(map[string]any{
		"reasoning": "r", "intent": intent, "confidence": confidence, "language": "sw", "language_confidence": 0.95, "sentiment": "negative",
	})
	return string(b)
}

func slotsAnswer(found map[string]any, confidence float64) string {
	out := map[string]any{"reasoning": "r"}
	for _, k := range []string{"service", "staff", "date", "time", "time_from", "time_to", "name"} {
		v, c := found[k], confidence
		if v == nil {
			c = 0
		}
		out[k] = map[string]any{"value": v, "confidence": c}
	}
	b, _ := json.Marshal(out)
	return string(b)
}

func TestUnderstandAsksNoModelWhenCodeIsSure(t *testing.T) {
	t.Parallel()
	tap := typed()
	tap.Messages = []message.Inbound{{Kind: message.Button, Choice: "x", Text: "15:00"}}
	for name, req := range map[string]understand.Request{
		"a tap": tap, "a yes": typed("yes please"), "a no": typed("hapana"), "emoji alone": typed("🙏🙏"), "nothing": typed(""),
		"a number": typed("2"), "a greeting": typed("Habari"), "a plain request": typed("massage kesho saa tisa na Grace"),
		"a question": typed("how much is a facial?"), "another script and no word of ours": typed("12:30 !!"),
	} {
		s := &script{}
		_, calls, err := understander(t, s).Understand(t.Context(), req, belongs())
		if err != nil || len(calls) != 0 || len(s.asked) != 0 {
			t.Errorf("%s: asked %v, calls %v, err %v", name, s.roles(), calls, err)
		}
	}
}

func TestUnderstandAsksTheClassifierInDoubt(t *testing.T) {
	t.Parallel()
	s := &script{answers: map[llm.Role]string{llm.IntentClassifier: intentAnswer("complaint", 0.9)}}
	req := typed("mambo yangu yalivurugwa kweli na ile siku mliyonipa, eleza sababu")
	req.Expect = understand.Expect{Slots: []string{understand.SlotTime}, Choices: []message.Choice{{ID: "a", Title: "15:00"}}}
	in, calls, err := understander(t, s).Understand(t.Context(), req, belongs())
	if err != nil || in.Intent != graph.Complaint || in.Confidence != 0.9 || in.Tier != 2 || in.Sentiment != understand.Negative {
		t.Errorf("got %+v, %v", in, err)
	}
	if d := cmp.Diff([]string{"call-intent_classifier"}, calls); d != "" {
		t.Error(d)
	}
	got := s.asked[0]
	if got.Tenant != "T" || got.Thread != "H" || got.Turn != "U" || !strings.HasPrefix(got.PromptVersion, "intent_classifier@") {
		t.Errorf("the call does not say what it belongs to: %+v", got)
	}
	for _, part := range []string{"Amani Spa", "Zuri", "Wednesday 2026-11-25 10:00", "- Haircut", "time; offered: 15:00"} {
		if !strings.Contains(got.System, part) {
			t.Errorf("the prompt does not say %q", part)
		}
	}
	if strings.Contains(got.System, "yalivurugwa") || !strings.Contains(got.Messages[0].Content, "<customer_message>") {
		t.Error("the customer's words belong into a delimited message of their own")
	}
}

func TestUnderstandFallsBackToCode(t *testing.T) {
	t.Parallel()
	req := typed("haircut maybe sometime soonish tomorrow hmm")
	want := understand.Tier0(req)
	for name, s := range map[string]*script{
		"the model fails":      {fail: errors.New("down")},
		"the answer is no fit": {answers: map[llm.Role]string{llm.IntentClassifier: `{"intent":"rob"}`}},
	} {
		in, calls, err := understander(t, s).Understand(t.Context(), req, belongs())
		if d := cmp.Diff(want, in); d != "" || err != nil || len(calls) != 0 {
			t.Errorf("%s: %v %v\n%s", name, calls, err, d)
		}
	}
	u, err := understand.New(understand.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if in, _, err := u.Understand(t.Context(), req, belongs()); err != nil || !cmp.Equal(want, in) {
		t.Errorf("without a model: %+v, %v", in, err)
	}
	if _, err := understand.New(understand.Config{Model: &script{}}); err == nil {
		t.Error("a model needs prompts")
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := u.Understand(cancelled, req, belongs()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// A hard ceiling is told and starts no further call.
func TestAHardCeilingIsTold(t *testing.T) {
	t.Parallel()
	const text = "curious whether grandmothers enjoy steam rooms thoroughly"
	s := &script{fail: llm.ErrBudget}
	ids := belongs()
	ids.Contact = "C"
	in, calls, err := understander(t, s).Understand(t.Context(), typed(text), ids)
	if err != nil || len(calls) != 0 || !in.OverBudget || len(s.asked) != 1 {
		t.Errorf("got %+v, %v, %v after %d calls", in, calls, err, len(s.asked))
	}
	if len(s.asked) > 0 && s.asked[0].Contact != "C" {
		t.Errorf("in the name of %q", s.asked[0].Contact)
	}
	if text, call, err := understander(t, s).Shape(t.Context(), llm.AnswerShaper, nil, "Karibu.", "en", ids); text != "" || call != "" || !errors.Is(err, llm.ErrBudget) {
		t.Errorf("phrased %q, %q, %v", text, call, err)
	}
	s.fail = errors.New("it is down")
	if in, _, err := understander(t, s).Understand(t.Context(), typed(text), ids); err != nil || in.OverBudget {
		t.Errorf("another failure: %+v, %v", in, err)
	}
}

type brokenPrompts struct{}

func (brokenPrompts) RenderAs(string, string, map[string]string) (prompt.Rendered, error) {
	return prompt.Rendered{}, errors.New("no such prompt")
}

func TestUnderstandSurvivesABrokenPrompt(t *testing.T) {
	t.Parallel()
	u, err := understand.New(understand.Config{Model: &script{}, Prompts: brokenPrompts{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, calls, err := u.Understand(t.Context(), typed("well, whatever suits the others then"), belongs()); err != nil || len(calls) != 0 {
		t.Errorf("calls %v, err %v", calls, err)
	}
}

func TestUnderstandChecksSlotsAgainstTheText(t *testing.T) {
	t.Parallel()
	rows := []struct {
		what, text string
		found      map[string]any
		check      func(in graph.Input) bool
	}{
		{
			"a described service of ours is taken", "naomba kukandwa uso vizuri mkorogo",
			map[string]any{"service": "Deep cleansing facial"},
			func(in graph.Input) bool { return in.Entities[understand.KindService].ID == "facial" },
		},
		{
			"a service that is not ours is dropped", "naomba kukandwa mgongo mkorogo",
			map[string]any{"service": "Hot stones"},
			func(in graph.Input) bool { return len(in.Entities) == 0 },
		},
		{
			"a person who was not named is dropped", "naomba yule dada mrefu mchangamfu",
			map[string]any{"staff": "Otieno"},
			func(in graph.Input) bool { return in.Entities[understand.KindStaff].ID == "" },
		},
		{
			"a name with slips is a name", "naomba yule jamaa Otienno mchangamfu",
			map[string]any{"staff": "Otieno"},
			func(in graph.Input) bool { return in.Entities[understand.KindStaff].ID == "otieno" },
		},
		{
			"a day whose number was said is taken with reserve", "booking somewhere about 28 perhaps mkorogo",
			map[string]any{"date": "2026-11-28"},
			func(in graph.Input) bool {
				return in.When.Date == "2026-11-28" && in.When.Confidence > 0 && in.When.Confidence < understand.Sure
			},
		},
		{
			"a day the text does not bear out is dropped", "booking perhaps mkorogo sijui",
			map[string]any{"date": "2026-11-28"},
			func(in graph.Input) bool { return in.When.Empty() },
		},
		{
			"a day that is over is dropped", "booking about 24 perhaps mkorogo",
			map[string]any{"date": "2026-11-24"},
			func(in graph.Input) bool { return in.When.Date == "" },
		},
		{
			"a day that does not exist is dropped", "booking about 31 perhaps mkorogo",
			map[string]any{"date": "2026-11-31"},
			func(in graph.Input) bool { return in.When.Date == "" },
		},
		{
			"a time whose hour was said is taken", "booking tomorrow tisa hivi mkorogo nadhani",
			map[string]any{"time": "15:00"},
			func(in graph.Input) bool { return in.When.Time == "15:00" && in.When.Date == "2026-11-26" },
		},
		{
			"a time the text does not bear out is dropped", "booking tomorrow mkorogo nadhani basi",
			map[string]any{"time": "15:00", "date": "2026-11-26"},
			func(in graph.Input) bool { return in.When.Time == "" && in.When.Date == "2026-11-26" },
		},
		{
			"a window whose hours were said is taken", "booking kesho kumi kumi na moja mkorogo",
			map[string]any{"time_from": "16:00", "time_to": "17:00"},
			func(in graph.Input) bool { return in.When.From == "16:00" && in.When.To == "17:00" },
		},
		{
			"what code read without doubt stands", "booking kesho saa tisa mkorogo nadhani basi huyu",
			map[string]any{"time": "09:00", "date": "2026-12-24"},
			func(in graph.Input) bool { return in.When.Time == "15:00" && in.When.Date == "2026-11-26" },
		},
		{
			"a name that stands in the text is taken", "booking ya Nyokabi mkorogo nadhani",
			map[string]any{"name": "Nyokabi"},
			func(in graph.Input) bool { return in.Name == "Nyokabi" },
		},
		{
			"a name nobody wrote is dropped", "booking ya mkorogo nadhani",
			map[string]any{"name": "Nyokabi"},
			func(in graph.Input) bool { return in.Name == "" },
		},
	}
	for _, row := range rows {
		t.Run(row.what, func(t *testing.T) {
			t.Parallel()
			s := &script{answers: map[llm.Role]string{llm.IntentClassifier: intentAnswer("book", 0.9), llm.SlotExtractor: slotsAnswer(row.found, 0.9)}}
			in, calls, err := understander(t, s).Understand(t.Context(), typed(row.text), belongs())
			if err != nil || len(calls) == 0 || !row.check(in) {
				t.Errorf("asked %v, calls %v, err %v: %+v", s.roles(), calls, err, in)
			}
			if row.what != "what code read without doubt stands" && s.asked[len(s.asked)-1].Role != llm.SlotExtractor {
				t.Errorf("the extractor was not asked: %v", s.roles())
			}
		})
	}
}

func TestAModelsAffirmIsNoAnswer(t *testing.T) {
	t.Parallel()
	s := &script{answers: map[llm.Role]string{llm.IntentClassifier: intentAnswer("affirm", 0.99)}}
	in, _, err := understander(t, s).Understand(t.Context(), asked("well I suppose that would be alright my dear fellow", understand.SlotConfirm), belongs())
	if err != nil || in.Intent != graph.Affirm || in.Answer != graph.NoAnswer {
		t.Errorf("got %+v, %v", in, err)
	}
}

func TestAModelsQuestionGetsItsTopicFromTheWords(t *testing.T) {
	t.Parallel()
	s := &script{answers: map[llm.Role]string{llm.IntentClassifier: intentAnswer("question", 0.9)}}
	in, _, _ := understander(t, s).Understand(t.Context(), typed("curious whether grandmothers enjoy steam rooms thoroughly"), belongs())
	if in.Intent != graph.Question || in.Topic != understand.TopicOther {
		t.Errorf("got %+v", in)
	}
}

func TestShape(t *testing.T) {
	t.Parallel()
	facts := []string{"KES 3,500", "Moi Avenue 12"}
	draft := "A facial costs KES 3,500. We are at Moi Avenue 12, see amani.co.ke."
	rows := []struct {
		what, text string
		confidence float64
		ok         bool
	}{
		{"every fact is there", "A facial is KES 3,500. You find us at Moi Avenue 12.", 0.9, true},
		{"a fact is missing", "A facial is KES 3,500.", 0.9, false},
		{"an amount is changed", "A facial is KES 3,500, was 4,000. Moi Avenue 12.", 0.9, false},
		{"a figure is added", "KES 3,500 at Moi Avenue 12, 20% off today", 0.9, false},
		{"a link is added", "KES 3,500 at Moi Avenue 12, pay at https://evil.example", 0.9, false},
		{"a bare domain is added", "KES 3,500 at Moi Avenue 12, see evil.example/pay", 0.9, false},
		{"a link of the draft may stay", "KES 3,500 at Moi Avenue 12 (amani.co.ke)", 0.9, true},
		{"the model is in doubt", "A facial is KES 3,500. Moi Avenue 12.", 0.4, false},
		{"nothing was written", " ", 0.9, false},
		{"too much was written", "KES 3,500 Moi Avenue 12 " + strings.Repeat("very nice ", 200), 0.9, false},
	}
	for _, row := range rows {
		for _, role := range []llm.Role{llm.AnswerShaper, llm.ClarificationRephraser} {
			b, _ := json.Marshal(map[string]any{"reasoning": "r", "text": row.text, "confidence": row.confidence})
			s := &script{answers: map[llm.Role]string{role: string(b)}}
			ids := belongs()
			ids.Said = "how much is it?"
			text, call, err := understander(t, s).Shape(t.Context(), role, facts, draft, "en", ids)
			if err != nil || row.ok && text != strings.TrimSpace(row.text) || !row.ok && text != "" || call != "call-"+string(role) {
				t.Errorf("%s (%s): got %q %q %v", row.what, role, text, call, err)
			}
			if len(s.asked) == 1 && !strings.Contains(s.asked[0].System, "KES 3,500") {
				t.Errorf("%s: the facts are not in the prompt", role)
			}
		}
	}
	if text, _, err := understander(t, &script{}).Shape(t.Context(), llm.AnswerShaper, nil, draft, "en", belongs()); text != "" || err != nil {
		t.Error("a failing model shapes nothing")
	}
	if text, _, err := understander(t, &script{}).Shape(t.Context(), llm.SlotExtractor, nil, draft, "en", belongs()); text != "" || err != nil {
		t.Error("only seams of prose shape")
	}
	if text, _, err := understander(t, nil).Shape(t.Context(), llm.AnswerShaper, nil, draft, "en", belongs()); text != "" || err != nil {
		t.Error("no model shapes nothing")
	}
}
