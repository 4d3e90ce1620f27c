package config_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ratiba/ratiba/internal/config"
)

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTheEnvironmentGoesOverTheFile(t *testing.T) {
	t.Parallel()
	path := file(t, "public_url: https://file.example\nlog_level: warn\nmodels: {openai: {url: http://127.0.0.1:1}}\n")
	c, err := config.Load(path, map[string]string{"RATIBA_LOG_LEVEL": "debug", "RATIBA_OPENAI_KEY_ENV": "MY_KEY", "RATIBA_DATA": "/d"})
	if err != nil {
		t.Fatal(err)
	}
	if c.PublicURL != "https://file.example" || c.Models.OpenAI.URL != "http://127.0.0.1:1" {
		t.Errorf("the file is lost: %+v", c)
	}
	if c.LogLevel != "debug" || c.Models.OpenAI.KeyEnv != "MY_KEY" || c.Data != "/d" {
		t.Errorf("the environment is lost: %+v", c)
	}
	if c.Listen != "127.0.0.1:8080" || c.Models.Anthropic.KeyEnv != "ANTHROPIC_API_KEY" || c.Daraja.URL == "" {
		t.Errorf("defaults are missing: %+v", c)
	}
	if l, err := c.Level(); l != slog.LevelDebug || err != nil {
		t.Errorf("Level = %v, %v", l, err)
	}
}

func TestEveryFaultIsNamedAtOnce(t *testing.T) {
	t.Parallel()
	_, err := config.Load("", map[string]string{
		"RATIBA_LOG_LEVEL": "loud", "RATIBA_META_URL": "graph", "RATIBA_DARAJA_URL": "ftp://x", "RATIBA_OPENAI_URL": "http://", "RATIBA_ANTHROPIC_URL": "::",
		"RATIBA_SLACK_URL": "slack.com", "RATIBA_SLACK_CHANNEL": "escalations please",
	})
	if err == nil {
		t.Fatal("want faults")
	}
	for _, path := range []string{"public_url", "log_level", "whatsapp.meta_url", "daraja.url", "models.openai.url", "models.anthropic.url", "slack.url", "slack.channel"} {
		if !strings.Contains("\n"+err.Error(), "\n"+path+": want") {
			t.Errorf("%s is not named in\n%v", path, err)
		}
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{
		"missing": filepath.Join(t.TempDir(), "none"), "broken": file(t, "listen: ["), "a key nobody knows": file(t, "public_url: https://x\nlisten_on: y\n"),
	} {
		if _, err := config.Load(path, map[string]string{}); err == nil || !strings.Contains(err.Error(), "read configuration") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	secrets := config.Environment(map[string]string{
		"PLAIN": "a", "FILED_FILE": file(t, "b\r\n"), "BOTH": "c", "BOTH_FILE": file(t, "d"), "GONE_FILE": filepath.Join(t.TempDir(), "none"),
	})
	for name, want := range map[string]string{"PLAIN": "a", "FILED": "b", "BOTH": "c", "GONE": "", "NONE": ""} {
		if got := secrets(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
