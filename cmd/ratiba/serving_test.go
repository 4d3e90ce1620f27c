package main

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestDemoAnswersAndStops(t *testing.T) {
	t.Parallel()
	data, events := t.TempDir(), filepath.Join(t.TempDir(), "events.jsonl")
	p := start(t, nil, "demo", "--addr", "127.0.0.1:0", "--data", data, "--events", events)
	url := p.says(`^Ratiba demo is ready: (http://127\.0\.0\.1:[1-9]\d*)/sim/$`)
	p.says(`^  Serenity Spa +WhatsApp (\+254711000001)$`)
	if status, body := call(t, http.MethodGet, url+"/healthz", ""); status != http.StatusOK || body != "ok\n" {
		t.Errorf("healthz: %d %q", status, body)
	}
	if got := converse(t, url, "+254711000001", "Habari, nataka massage kesho saa tisa"); !strings.Contains(got, "Savannah") {
		t.Errorf("the assistant does not give its name: %q", got)
	}

	addr := strings.TrimPrefix(url, "http://")
	if status, _, errOut := finish(t, nil, "demo", "--addr", addr); status != 1 || !strings.Contains(errOut, "The address "+addr+" cannot be used. Is another demo running?") {
		t.Errorf("a port in use: status %d, %s", status, errOut)
	}
	if status, _, errOut := finish(t, nil, "demo", "--addr", "127.0.0.1:0", "--data", data); status != 1 || !strings.Contains(errOut, "Another Ratiba process is using the data directory "+data) {
		t.Errorf("a directory in use: status %d, %s", status, errOut)
	}

	if status, _, errOut := finish(t, nil, "demo", "--addr", "127.0.0.1:0", "--data", data, "--reset"); status != 1 || !strings.Contains(errOut, "Another Ratiba process") {
		t.Errorf("emptying a directory in use: status %d, %s", status, errOut)
	}
	if got := converse(t, url, "+254711000001", "Habari"); got == "" {
		t.Error("the demo lost its data")
	}

	if status := p.stop(); status != 0 {
		t.Errorf("stopped with status %d: %s", status, p.complaints())
	}
	raw, err := os.ReadFile(events)
	if err != nil || !strings.Contains(string(raw), `"turn.committed"`) {
		t.Errorf("the event log has no turn: %v", err)
	}
	if strings.Contains(string(raw), "nataka") {
		t.Error("the customer's words are in the event log")
	}
}

// TestAnInterruptStopsTheProcess runs the command as a process of its own.
func TestAnInterruptStopsTheProcess(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), self, "demo", "--addr", "127.0.0.1:0")
			cmd.Env = []string{asCommand + "=1", "TMPDIR=" + t.TempDir()}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			said := bufio.NewScanner(out)
			for said.Scan() && said.Text() != "Stop with Ctrl-C." {
			}
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if !said.Scan() || said.Text() != "Stopping." {
				t.Errorf("said %q, want that it stops", said.Text())
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("ended with %v, want status 0", err)
			}
			if left, err := os.ReadDir(cmd.Env[1][len("TMPDIR="):]); err != nil || len(left) != 0 {
				t.Errorf("left behind %v, %v", left, err)
			}
		})
	}
}

func TestARolesFileOfOneVendorNeedsItsKeyAlone(t *testing.T) {
	t.Parallel()
	const roles = `
roles:
  intent_classifier: {ladder: [{provider: anthropic, model: claude-haiku-5-5}]}
  slot_extractor: {ladder: [{provider: anthropic, model: claude-haiku-5-5}]}
  clarification_rephraser: {ladder: [{provider: anthropic, model: claude-haiku-5-5}]}
  answer_shaper: {ladder: [{provider: anthropic, model: claude-haiku-5-5}]}
`
	environ := []string{
		"RATIBA_PUBLIC_URL=https://bookings.example", "RATIBA_DATA=" + t.TempDir(), "RATIBA_LISTEN=127.0.0.1:0",
		"RATIBA_ROLES=" + write(t, "roles.yaml", roles),
	}
	p := start(t, append(environ, "ANTHROPIC_API_KEY=no-call-is-made"), "serve")
	p.says(`"event_type":"(server\.started)"`)
	if status := p.stop(); status != 0 {
		t.Errorf("stopped with status %d: %s", status, p.complaints())
	}
	if status, _, errOut := finish(t, append(environ, "OPENAI_API_KEY=k"), "serve"); status != 1 || !strings.Contains(errOut, "ANTHROPIC_API_KEY: want the key of anthropic") {
		t.Errorf("without its key: status %d, %s", status, errOut)
	}
}

func TestOneKeyIsEnoughForTheRolesThatAreCalled(t *testing.T) {
	t.Parallel()
	p := start(t, []string{"OPENAI_API_KEY=no-call-is-made"}, "demo", "--addr", "127.0.0.1:0", "--real-models")
	p.says(`(Language models are real)`)
	if status := p.stop(); status != 0 {
		t.Errorf("stopped with status %d: %s", status, p.complaints())
	}
}

// TestProductAndSimulatorsMeetOverLoopback runs the two commands as an
// operator would, in two configurations that know each other by address and by
// secrets from the environment.
func TestProductAndSimulatorsMeetOverLoopback(t *testing.T) {
	t.Parallel()
	file, data := write(t, "kinyozi.yaml", barber), t.TempDir()
	// The simulators need the product's address and the product theirs: the
	// product's port is found by listening on it once.
	product := freeAddress(t)
	simulators := start(t, secrets(), "sim", "--addr", "127.0.0.1:0", "--product", "http://"+product+"/", "-f", file)
	url := simulators.says(`^Simulators: (http://127\.0\.0\.1:[1-9]\d*)/sim/$`)

	environ := append(secrets(), "RATIBA_DATA="+data)
	config := write(t, "config.yaml", strings.NewReplacer("PRODUCT", product, "SIM", url).Replace(`
public_url: http://PRODUCT
listen: PRODUCT
whatsapp: {meta_url: SIM/graph, dialog360_url: SIM/d360}
daraja: {url: SIM/daraja}
models: {openai: {url: SIM/openai/v1}}
`))
	if status, _, errOut := finish(t, environ, "tenant", "apply", "--config", config, "-f", file); status != 0 {
		t.Fatalf("apply: %s", errOut)
	}
	serving := start(t, environ, "serve", "--config", config)
	if got := serving.says(`"addr":"([^"]+)","event_type":"server\.started"`); got != product {
		t.Errorf("listens on %s, want %s", got, product)
	}
	if status, body := call(t, http.MethodGet, "http://"+product+"/readyz", ""); status != http.StatusOK {
		t.Errorf("readyz: %d %q", status, body)
	}
	if status, _, errOut := finish(t, environ, "migrate", "--config", config); status != 1 || !strings.Contains(errOut, "Another Ratiba process") {
		t.Errorf("migrating under a running product: status %d, %s", status, errOut)
	}
	if status, out, errOut := finish(t, environ, "tenant", "apply", "--config", config, "-f", file); status != 0 || !strings.Contains(out, "version 2") {
		t.Errorf("applying under a running product: status %d, %s%s", status, out, errOut)
	}
	if got := converse(t, url, "+254711555001", "Hi, I need a haircut"); !strings.Contains(got, "Juma") || !strings.Contains(got, "Kinyozi Bora") {
		t.Errorf("the greeting is not the barber's: %q", got)
	}
	// A page of another site that resolves its name to this machine.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/sim/tenants", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "elsewhere.example"
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("the simulators answer to another name: %d", res.StatusCode)
	}
	for name, p := range map[string]*process{"serve": serving, "sim": simulators} {
		if status := p.stop(); status != 0 {
			t.Errorf("%s stopped with status %d: %s", name, status, p.complaints())
		}
	}
}
