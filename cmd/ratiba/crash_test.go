package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestP11NothingIsLostOrRepeatedByKills runs the product as a process of its
// own and kills it at random instants while new customers write. Every one of
// them gets exactly one welcome: the webhooks of a dead product are delivered
// again, and a send that may have arrived waits for its receipt.
func TestP11NothingIsLostOrRepeatedByKills(t *testing.T) {
	t.Parallel()
	file, data := write(t, "kinyozi.yaml", barber), t.TempDir()
	product := freeAddress(t)
	simulators := start(t, secrets(), "sim", "--addr", "127.0.0.1:0", "--product", "http://"+product, "-f", file)
	world := simulators.says(`^Simulators: (http://127\.0\.0\.1:[1-9]\d*)/sim/$`)
	environ := append(secrets(), "RATIBA_DATA="+data)
	config := write(t, "config.yaml", strings.NewReplacer("PRODUCT", product, "SIM", world).Replace(`
public_url: http://PRODUCT
listen: PRODUCT
whatsapp: {meta_url: SIM/graph, dialog360_url: SIM/d360}
daraja: {url: SIM/daraja}
models: {openai: {url: SIM/openai/v1}}
`))
	if status, _, errOut := finish(t, environ, "tenant", "apply", "--config", config, "-f", file); status != 0 {
		t.Fatalf("apply: %s", errOut)
	}
	var customers []string
	for round := range 10 {
		p := spawn(t, environ, "serve", "--config", config)
		awaitReady(t, "http://"+product+"/readyz")
		for i := range 10 {
			number := fmt.Sprintf("+2547110%02d%03d", round, i)
			customers = append(customers, number)
			body := fmt.Sprintf(`{"from":%q,"to":"+254711555001","text":"hello","delay_ms":%d}`, number, 1+rand.IntN(60))
			if status, answer := call(t, http.MethodPost, world+"/sim/whatsapp/inbound", body); status/100 != 2 {
				t.Fatalf("writing: %d %s", status, answer)
			}
		}
		<-time.After(time.Duration(rand.IntN(80)) * time.Millisecond)
		if err := p.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = p.Wait() // it was killed
	}
	last := spawn(t, environ, "serve", "--config", config)
	for _, number := range customers {
		if n := welcomes(t, world, number, 100*time.Second); n != 1 {
			t.Errorf("%s got %d welcomes, want 1", number, n)
		}
	}
	if err := last.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := last.Wait(); err != nil {
		t.Errorf("the product did not stop well: %v", err)
	}
}

// spawn runs a command as a process of its own.
func spawn(t *testing.T, environ []string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(append(os.Environ(), environ...), asCommand+"=1")
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() && complaints.Len() > 0 {
			t.Logf("it complained: %s", complaints.String())
		}
	})
	return cmd
}

func awaitReady(t *testing.T, address string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		if res, err := http.DefaultClient.Do(req); err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-ctx.Done():
			t.Fatal("the product did not get ready")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// welcomes waits for a customer's first message and counts what came.
func welcomes(t *testing.T, world, number string, wait time.Duration) int {
	t.Helper()
	for after := 0; ; {
		status, answer := call(t, http.MethodGet, fmt.Sprintf("%s/sim/whatsapp/messages?phone=%s&after=%d&wait=%d",
			world, url.QueryEscape(number), after, min(int(wait.Seconds()), 20)), "")
		if status != http.StatusOK {
			t.Fatalf("reading: %d %s", status, answer)
		}
		var heard []json.RawMessage
		if err := json.Unmarshal([]byte(answer), &heard); err != nil {
			t.Fatal(err)
		}
		if wait -= 20 * time.Second; len(heard) > 0 || wait <= 0 {
			return len(heard)
		}
	}
}
