package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// asCommand is the variable that makes the test's program the command itself.
const asCommand = "RATIBA_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

// patience bounds what a test waits for, real time.
const patience = 30 * time.Second

// finish runs a command that ends by itself.
func finish(t *testing.T, environ []string, args ...string) (status int, out, errOut string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var o, e bytes.Buffer
	status = run(ctx, args, environ, &o, &e)
	return status, o.String(), e.String()
}

// process is a command that serves.
type process struct {
	t       *testing.T
	lines   chan string
	stopped chan int
	end     context.CancelFunc

	mu     sync.Mutex
	errOut bytes.Buffer
}

// Write takes what the command says on standard error.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.errOut.Write(b)
}

func (p *process) complaints() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.errOut.String()
}

// start runs a command until stop, or until the test is over.
func start(t *testing.T, environ []string, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	p := &process{t: t, lines: make(chan string, 1000), stopped: make(chan int, 1), end: cancel}
	r, w := io.Pipe()
	go func() {
		for s := bufio.NewScanner(r); s.Scan(); {
			select {
			case p.lines <- s.Text():
			default: // nobody reads on
			}
		}
	}()
	go func() {
		status := run(ctx, args, environ, w, p)
		_ = w.Close()
		p.stopped <- status
		close(p.stopped)
	}()
	t.Cleanup(func() {
		cancel()
		<-p.stopped
	})
	return p
}

// says waits for a line that matches and returns its first group.
func (p *process) says(pattern string) string {
	p.t.Helper()
	form := regexp.MustCompile(pattern)
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	for {
		select {
		case line := <-p.lines:
			if m := form.FindStringSubmatch(line); m != nil {
				return m[1]
			}
		case status := <-p.stopped:
			p.t.Fatalf("ended with status %d before it said %s: %s", status, pattern, p.complaints())
		case <-ctx.Done():
			p.t.Fatalf("never said %s: %s", pattern, p.complaints())
		}
	}
}

// stop does what an interrupt does and returns the exit status.
func (p *process) stop() int {
	p.t.Helper()
	p.end()
	select {
	case status := <-p.stopped:
		return status
	case <-p.t.Context().Done():
		p.t.Fatal("did not stop")
		return -1
	}
}

func call(t *testing.T, method, address, body string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(raw)
}

// heard is a message that the phone received.
type heard struct {
	Seq  int    `json:"seq"`
	Text string `json:"text"`
}

func hear(t *testing.T, simulators, query string) []heard {
	t.Helper()
	status, answer := call(t, http.MethodGet, simulators+"/sim/whatsapp/messages?phone=254700000001"+query, "")
	if status != http.StatusOK {
		t.Fatalf("reading: %d %s", status, answer)
	}
	var all []heard
	if err := json.Unmarshal([]byte(answer), &all); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	return all
}

// converse writes a message at the simulators and returns what is answered
// first.
func converse(t *testing.T, simulators, to, text string) string {
	t.Helper()
	after := 0
	for _, m := range hear(t, simulators, "") {
		after = max(after, m.Seq)
	}
	body, err := json.Marshal(map[string]string{"from": "+254700000001", "to": to, "text": text})
	if err != nil {
		t.Fatal(err)
	}
	if status, answer := call(t, http.MethodPost, simulators+"/sim/whatsapp/inbound", string(body)); status != http.StatusOK {
		t.Fatalf("writing: %d %s", status, answer)
	}
	answers := hear(t, simulators, fmt.Sprintf("&wait=20&after=%d", after))
	if len(answers) == 0 {
		t.Fatal("no reply came")
	}
	return answers[0].Text
}

// freeAddress is one that nothing listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// barber is a whole business with a deposit.
const barber = `
slug: kinyozi
name: Kinyozi Bora
vertical: barber
app: booking
country: KE
locale: en
time_zone: Africa/Nairobi
currency: KES
assistant: Juma
quiet_time_ms: 0
numbers:
  - {provider: meta, id: "700800900", display: "+254711555001", token_env: KINYOZI_TOKEN, app_secret_env: KINYOZI_APP_SECRET}
admins:
  - {name: Kamau, phone: "+254722555001"}
mpesa:
  {shortcode: "600700", passkey_env: KINYOZI_PASSKEY, consumer_key_env: KINYOZI_KEY, consumer_secret_env: KINYOZI_SECRET}
booking:
  address: "Tom Mboya Street, Nairobi"
  services:
    - {key: cut, name: {en: Haircut, sw: Kunyoa}, aliases: [haircut], minutes: 30, price: 800, deposit: 200}
  staff:
    - {key: juma, name: Juma, hours: {mon-sun: ["08:00-20:00"]}}
`

// secrets are the barber's.
func secrets() []string {
	return []string{
		"KINYOZI_TOKEN=token-1", "KINYOZI_APP_SECRET=secret-1", "KINYOZI_PASSKEY=passkey-1",
		"KINYOZI_KEY=key-1", "KINYOZI_SECRET=secret-2",
	}
}
