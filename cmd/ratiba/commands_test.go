package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestCommandsThatEnd(t *testing.T) {
	t.Parallel()
	const password = "hunter2"
	installation := func(t *testing.T, more ...string) []string {
		t.Helper()
		return append([]string{"RATIBA_PUBLIC_URL=https://bookings.example", "RATIBA_DATA=" + t.TempDir()}, more...)
	}
	rows := map[string]struct {
		args    []string
		environ func(*testing.T) []string
		status  int
		out     []string // each is said on standard output
		errOut  []string // each is said on standard error
	}{
		"the version is printed": {args: []string{"version"}, out: []string{"ratiba ", "go1."}},
		"help is printed":        {args: []string{"--help"}, out: []string{"demo", "serve", "sim", "migrate", "tenant apply", "version"}},
		"an unknown command is told": {
			args: []string{"frobnicate"}, status: 2, errOut: []string{"ratiba: unexpected argument frobnicate. See ratiba --help\n"},
		},
		"no command is told":            {status: 2, errOut: []string{"ratiba: expected one of", "See ratiba --help"}},
		"an unknown flag is told":       {args: []string{"serve", "--port", "1"}, status: 2, errOut: []string{"unknown flag --port"}},
		"a demo for everybody":          {args: []string{"demo", "--addr", "0.0.0.0:0"}, status: 1, errOut: []string{"no passwords", "--allow-remote"}},
		"simulators for everybody":      {args: []string{"sim", "--addr", "[::]:0"}, status: 1, errOut: []string{"no passwords", "--allow-remote"}},
		"an address that is none":       {args: []string{"demo", "--addr", "here"}, status: 1, errOut: []string{"host:port"}},
		"real models without a key":     {args: []string{"demo", "--addr", "127.0.0.1:0", "--real-models"}, status: 1, errOut: []string{"set OPENAI_API_KEY"}},
		"a configuration that is gone":  {args: []string{"serve", "--config", "/nowhere/config.yaml"}, status: 1, errOut: []string{"/nowhere/config.yaml"}},
		"a definition that is gone":     {args: []string{"tenant", "apply", "-f", "/nowhere/spa.yaml"}, status: 2, errOut: []string{"/nowhere/spa.yaml"}},
		"nothing to apply":              {args: []string{"tenant", "apply"}, status: 2, errOut: []string{"--file"}},
		"an event log that cannot open": {args: []string{"demo", "--addr", "127.0.0.1:0", "--events", "/nowhere/log"}, status: 1, errOut: []string{"open event log"}},
		"every fault of the settings is named": {
			args: []string{"serve"}, status: 1,
			environ: func(*testing.T) []string {
				return []string{"RATIBA_LISTEN=here", "RATIBA_LOG_LEVEL=loud", "RATIBA_DARAJA_URL=daraja", "RATIBA_OPENAI_URL=ftp://x"}
			},
			errOut: []string{"public_url: want", "listen: want", "daraja.url: want", "models.openai.url: want", "log_level: want"},
		},
		"a key of the vendor that serves the roles is wanted": {
			args: []string{"serve"}, status: 1,
			environ: func(t *testing.T) []string { t.Helper(); return installation(t, "ANTHROPIC_API_KEY=k") },
			errOut:  []string{"OPENAI_API_KEY: want the key of openai, which serves answer_shaper, clarification_rephraser, intent_classifier, slot_extractor"},
		},
		"an address that cannot be listened on": {
			args: []string{"serve"}, status: 1,
			environ: func(t *testing.T) []string { t.Helper(); return installation(t, "RATIBA_LISTEN=192.0.2.1:80") },
			errOut:  []string{"The address 192.0.2.1:80 cannot be used"},
		},
		"a database that cannot be reached is told with the cause": {
			args: []string{"serve"}, status: 1,
			environ: func(t *testing.T) []string {
				t.Helper()
				return installation(t, "RATIBA_DATABASE_URL=postgres://ratiba:"+password+"@127.0.0.1:1/ratiba")
			},
			errOut: []string{"The database cannot be used.", "user=ratiba", "127.0.0.1:1"},
		},
		"a database's URL that is none": {
			args: []string{"serve"}, status: 1,
			environ: func(t *testing.T) []string {
				t.Helper()
				return installation(t, "RATIBA_DATABASE_URL=postgres://ratiba:"+password+"@127.0.0.1:port/ratiba")
			},
			errOut: []string{"The database cannot be used.", "want a postgres:// URL"},
		},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var environ []string
			if row.environ != nil {
				environ = row.environ(t)
			}
			status, out, errOut := finish(t, environ, row.args...)
			if status != row.status {
				t.Errorf("status %d, want %d", status, row.status)
			}
			for _, want := range row.out {
				if !strings.Contains(out, want) {
					t.Errorf("standard output lacks %q:\n%s", want, out)
				}
			}
			for _, want := range row.errOut {
				if !strings.Contains(errOut, want) {
					t.Errorf("standard error lacks %q:\n%s", want, errOut)
				}
			}
			if len(row.errOut) == 0 && errOut != "" {
				t.Errorf("said on standard error: %s", errOut)
			}
			if strings.Contains(out+errOut, password) {
				t.Errorf("said the password: %s%s", out, errOut)
			}
		})
	}
}

func TestADefinitionIsCheckedAndAppliedAgain(t *testing.T) {
	t.Parallel()
	file := write(t, "kinyozi.yaml", barber)
	data := filepath.Join(t.TempDir(), "data")
	environ := []string{"RATIBA_PUBLIC_URL=https://bookings.example", "RATIBA_DATA=" + data}

	status, out, errOut := finish(t, nil, "tenant", "apply", "--check", "-f", file)
	if status != 0 || out != file+": kinyozi is a good definition\n" {
		t.Fatalf("check: %d %q %q", status, out, errOut)
	}
	if _, err := os.Stat(data); !os.IsNotExist(err) {
		t.Errorf("a check made the data directory: %v", err)
	}
	for _, step := range []struct{ content, want string }{
		{barber, "kinyozi is defined, version 1\n"},
		{strings.Replace(barber, "price: 800", "price: 900", 1), "kinyozi is defined, version 2\n"},
	} {
		status, out, errOut = finish(t, environ, "tenant", "apply", "-f", write(t, "kinyozi.yaml", step.content))
		if status != 0 || out != step.want {
			t.Fatalf("apply: %d %q, want %q; %s", status, out, step.want, errOut)
		}
	}
	newest := regexp.MustCompile(`^The control data is at the newest version.\nkinyozi is at the newest version \(booking \d+, engine \d+\)\n$`)
	for range 2 {
		status, out, errOut = finish(t, environ, "migrate")
		if status != 0 || !newest.MatchString(out) {
			t.Fatalf("migrate: %d %q %q", status, out, errOut)
		}
	}
	status, _, errOut = finish(t, environ, "serve")
	if status != 1 {
		t.Errorf("serve without the business's secrets: status %d", status)
	}
	for _, secret := range secrets() {
		name, _, _ := strings.Cut(secret, "=")
		if !strings.Contains(errOut, name+": want ") {
			t.Errorf("the missing %s is not named:\n%s", name, errOut)
		}
	}
}

func TestAFaultyDefinitionIsRefusedWithAllItsFaults(t *testing.T) {
	t.Parallel()
	faulty := strings.NewReplacer(
		"slug: kinyozi", "slug: K!", "locale: en", "locale: fr", "Africa/Nairobi", "Africa/Nowhere", "+254722555001", "12",
		"KINYOZI_PASSKEY", "kinyozi-passkey", "minutes: 30", "minutes: -5", "08:00-20:00", "25:00-26:00",
	).Replace(barber)
	file := write(t, "kinyozi.yaml", faulty)
	data := filepath.Join(t.TempDir(), "data")
	for _, args := range [][]string{{"tenant", "apply", "-f", file}, {"tenant", "apply", "--check", "-f", file}, {"sim", "-f", file}} {
		status, out, errOut := finish(t, []string{"RATIBA_PUBLIC_URL=https://bookings.example", "RATIBA_DATA=" + data}, args...)
		if status != 1 || out != "" {
			t.Errorf("%v: status %d, said %q", args, status, out)
		}
		for _, want := range []string{
			file, "slug: want", "locale: want", "time_zone: want", "admins[0].phone: want", "mpesa.passkey_env: want",
			"services[0].minutes", "staff[0].hours",
		} {
			if !strings.Contains(errOut, want) {
				t.Errorf("%v does not name %q:\n%s", args, want, errOut)
			}
		}
	}
	if _, err := os.Stat(data); !os.IsNotExist(err) {
		t.Errorf("a refused definition made the data directory: %v", err)
	}

	unknown := write(t, "other.yaml", strings.Replace(barber, "app: booking", "app: barbering", 1))
	if status, _, errOut := finish(t, nil, "tenant", "apply", "--check", "-f", unknown); status != 1 || !strings.Contains(errOut, "app: want one of [booking]") {
		t.Errorf("an unknown app: status %d, %s", status, errOut)
	}
	broken := write(t, "broken.yaml", "slug: [")
	if status, _, errOut := finish(t, nil, "tenant", "apply", "--check", "-f", broken); status != 1 || !strings.Contains(errOut, "broken.yaml") {
		t.Errorf("no YAML: status %d, %s", status, errOut)
	}
}
