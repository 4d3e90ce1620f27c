package server_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratiba/ratiba/internal/config"
	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/server"
)

// Nothing is rolled out that could not serve: each is refused with one line.
func TestARolloutOfWhatCannotServeIsRefused(t *testing.T) {
	t.Parallel()
	const luna = "{provider: openai, model: gpt-6-luna}"
	classifier := func(canary string) string {
		return "roles:\n  intent_classifier: {ladder: [" + luna + "], canary: " + canary + "}\n  answer_shaper: {ladder: [" + luna + "]}\n"
	}
	for name, row := range map[string]struct {
		roles   string
		role    llm.Role
		rollout llm.Rollout
		want    string // "" for none
	}{
		"a ladder on trial":           {classifier("{ladder: [{provider: openai, model: gpt-4.1-mini}]}"), llm.IntentClassifier, llm.Rollout{Percent: 10, Experiment: "mini"}, ""},
		"another role's ladder":       {classifier("{like: answer_shaper}"), llm.IntentClassifier, llm.Rollout{Percent: 100}, ""},
		"nothing on trial":            {classifier("{like: answer_shaper}"), llm.AnswerShaper, llm.Rollout{Percent: 1}, "nothing on trial"},
		"the end of nothing":          {classifier("{like: answer_shaper}"), llm.AnswerShaper, llm.Rollout{}, ""},
		"an unknown role":             {classifier("{like: answer_shaper}"), "poet", llm.Rollout{}, `role "poet" is unknown`},
		"less than nothing":           {classifier("{like: answer_shaper}"), llm.IntentClassifier, llm.Rollout{Percent: -1}, "want 0 to 100"},
		"more than all":               {classifier("{like: answer_shaper}"), llm.IntentClassifier, llm.Rollout{Percent: 101}, "want 0 to 100"},
		"a name with a line break":    {classifier("{like: answer_shaper}"), llm.IntentClassifier, llm.Rollout{Percent: 1, Experiment: "a\nb"}, "experiment"},
		"a model not in the books":    {classifier("{ladder: [{provider: openai, model: gpt-99}]}"), llm.IntentClassifier, llm.Rollout{Percent: 1}, `model "gpt-99" of "openai" is not in the catalogue`},
		"trials that go in a circle":  {classifier("{like: intent_classifier}"), llm.IntentClassifier, llm.Rollout{Percent: 1}, "a cycle of canaries"},
		"a trial of a role not there": {classifier("{like: reorientation}"), llm.IntentClassifier, llm.Rollout{Percent: 1}, "no such role"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, "roles.yaml")
			if err := os.WriteFile(file, []byte(row.roles), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := server.New(t.Context(), server.Config{
				Settings: config.Config{Data: dir, Models: config.Models{Roles: file}}, Secrets: func(string) string { return "" },
				Logger: slog.New(slog.DiscardHandler), Offline: true,
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Stop() })
			err = s.SetRollout(t.Context(), row.role, row.rollout)
			set, listed := s.Rollouts(t.Context())
			if listed != nil || len(set) == 1 != (row.want == "") {
				t.Errorf("rollouts %+v, %v", set, listed)
			}
			if row.want == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			if fault.CodeOf(err) != fault.Invalid || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one line with %q", err, row.want)
			}
		})
	}
}
