package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"time"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/demo"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/sim"
	"github.com/ratiba/ratiba/internal/sim/model"
	"github.com/ratiba/ratiba/internal/tenant"
)

// journalEntries is room for the longest run.
const journalEntries = 4_000_000

// world is the providers, their people's phones, and the network between them
// and the product.
type world struct {
	sim     *sim.Sim
	secrets map[string]string
	gate    *gate
	calls   *ledger // what the network did to the product's calls
	server  *http.Server
	url     string
}

func newWorld(ctx context.Context, o Options, town []business) (*world, error) {
	w := &world{secrets: map[string]string{}}
	src := ids.NewSource(ids.NewSeed(), time.Time{})
	var tenants []tenant.Tenant
	for _, b := range town {
		tenants = append(tenants, b.def)
		for _, name := range secretNames(b.def) {
			w.secrets[name] = src.Token(24)
		}
	}
	var err error
	if w.gate, err = newGate(ctx, newLedger(stream(o.Seed, streamInbound))); err != nil {
		return nil, err
	}
	models, err := model.New(model.Config{Clock: clock.Real{}, Latency: 15 * time.Millisecond})
	if err != nil {
		return nil, err
	}
	cfg := demo.World(tenants, func(name string) string { return w.secrets[name] }, w.gate.url)
	cfg.Clock, cfg.Model, cfg.JournalEntries, cfg.RepeatCallbacks = clock.Real{}, models, journalEntries, true
	if w.sim, err = sim.New(cfg); err != nil {
		return nil, err
	}
	w.calls = newLedger(stream(o.Seed, streamOutbound))
	if w.server, w.url, err = serve(ctx, unreliable(w.sim.Handler(), w.calls)); err != nil {
		return nil, err
	}
	return w, w.sim.Start(ctx)
}

// secretNames lists the environment variables a definition names.
func secretNames(t tenant.Tenant) []string {
	names := []string{t.Mpesa.PasskeyEnv, t.Mpesa.ConsumerKeyEnv, t.Mpesa.ConsumerSecretEnv}
	for _, n := range t.Numbers {
		for _, name := range []string{n.TokenEnv, n.AppSecretEnv, n.WebhookEnv} {
			if name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}

func (w *world) stop() {
	w.sim.Stop()
	_ = w.server.Close()
	w.gate.stop()
}

// do acts on the simulators' face, in this process and past the bad network.
// into may be nil.
func (w *world) do(ctx context.Context, method, path string, body, into any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://world"+path, bytes.NewReader(raw))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	rec := &recorder{header: http.Header{}, status: http.StatusOK}
	w.sim.Handler().ServeHTTP(rec, req)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case rec.status/100 != 2:
		return fmt.Errorf("%s: %d %s", path, rec.status, bytes.TrimSpace(rec.body.Bytes()))
	case into == nil:
		return nil
	}
	if err := json.Unmarshal(rec.body.Bytes(), into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// recorder takes the face's answer.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) { r.status = status }

// Write implements http.ResponseWriter.
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }

// choice is something to tap.
type choice struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// heard is a message on a phone.
type heard struct {
	Seq     int64    `json:"seq"`
	ID      string   `json:"id"`
	Text    string   `json:"text"`
	Buttons []choice `json:"buttons"`
	List    []struct {
		Rows []choice `json:"rows"`
	} `json:"list"`
}

func (h heard) choices() []choice {
	out := h.Buttons
	for _, s := range h.List {
		out = append(out, s.Rows...)
	}
	return out
}

// phone is somebody's WhatsApp and M-Pesa.
type phone struct {
	w      *world
	number string // whose it is
	to     string // the business
	wamid  func() string
	after  int64
	said   int
}

// write sends a message of any kind. Its id is unique over the run.
func (p *phone) write(ctx context.Context, fields map[string]any) error {
	body := map[string]any{"from": p.number, "to": p.to, "id": p.wamid()}
	maps.Copy(body, fields)
	p.said++
	return p.w.do(ctx, http.MethodPost, "/sim/whatsapp/inbound", body, nil)
}

func (p *phone) say(ctx context.Context, text string) error {
	return p.write(ctx, map[string]any{"text": text})
}

func (p *phone) tap(ctx context.Context, on heard, c choice) error {
	kind := "button"
	if len(on.Buttons) == 0 {
		kind = "list"
	}
	return p.write(ctx, map[string]any{kind: map[string]string{"id": c.ID, "title": c.Title}, "reply_to": on.ID})
}

// hear waits for what comes next, at most wait; nothing when nothing came.
func (p *phone) hear(ctx context.Context, wait time.Duration) ([]heard, error) {
	var all []heard
	path := fmt.Sprintf("/sim/whatsapp/messages?phone=%s&number=%s&after=%d&wait=%d",
		url.QueryEscape(p.number), url.QueryEscape(p.to), p.after, int(wait.Seconds()))
	if err := p.w.do(ctx, http.MethodGet, path, nil, &all); err != nil {
		return nil, err
	}
	if len(all) > 0 {
		p.after = all[len(all)-1].Seq
	}
	return all, nil
}

// answerPrompt answers the M-Pesa prompt as soon as it is on the phone. It
// reports false when none came before ctx ended, or somebody else answered it.
func (p *phone) answerPrompt(ctx context.Context, answer map[string]any) bool {
	for {
		var prompts []struct {
			ID string `json:"id"`
		}
		err := p.w.do(ctx, http.MethodGet, "/sim/daraja/prompts?phone="+url.QueryEscape(p.number), nil, &prompts)
		if err != nil {
			return false
		}
		if len(prompts) > 0 {
			answer["phone"] = p.number
			return p.w.do(ctx, http.MethodPost, "/sim/daraja/pin", answer, nil) == nil
		}
		if !pause(ctx, 300*time.Millisecond) {
			return false
		}
	}
}
