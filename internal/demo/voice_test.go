package demo_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/db"
)

// said is what a caller hears.
type said struct {
	Say      string `json:"say"`
	Language string `json:"language"`
	HangUp   bool   `json:"hang_up"`
	Filler   bool   `json:"filler"`
}

// caller is somebody on the phone.
type caller struct {
	w  world
	id string
}

func (w world) call(from string, more ...string) (caller, said) {
	w.t.Helper()
	body := map[string]any{"from": from, "to": spa}
	if len(more) > 0 {
		body["language"] = more[0]
	}
	c := caller{w: w}
	return c.tell("/sim/voice/calls", body)
}

func (c caller) tell(path string, body any) (caller, said) {
	c.w.t.Helper()
	status, raw := c.w.post(path, body)
	var out struct {
		ID     string `json:"id"`
		Answer said   `json:"answer"`
	}
	if err := json.Unmarshal(raw, &out); err != nil || status != http.StatusOK {
		c.w.t.Fatalf("%v: %d %s", body, status, raw)
	}
	c.w.t.Logf("%v is answered: %s (hang up %v)", body, out.Answer.Say, out.Answer.HangUp)
	c.id = out.ID
	return c, out.Answer
}

func (c caller) do(body map[string]any) said {
	c.w.t.Helper()
	_, a := c.tell("/sim/voice/calls/"+c.id, body)
	return a
}

func (c caller) says(text string) said { c.w.t.Helper(); return c.do(map[string]any{"text": text}) }
func (c caller) press(key string) said { c.w.t.Helper(); return c.do(map[string]any{"key": key}) }

func hears(t *testing.T, a said, hangUp bool, want ...string) {
	t.Helper()
	for _, x := range want {
		if !strings.Contains(a.Say, x) {
			t.Errorf("heard %q, want %q in it", a.Say, x)
		}
	}
	if a.HangUp != hangUp {
		t.Errorf("heard %q: hang up %v, want %v", a.Say, a.HangUp, hangUp)
	}
}

const (
	nia  = "+254700000031"
	joel = "+254700000032"
	faye = "+254700000033"
)

// tasks counts the spa's tasks of a kind.
func (w world) tasks(kind string) (n int, due time.Time) {
	w.t.Helper()
	var at db.Time
	err := w.rows().Read(w.t.Context(), func(q db.Q) error {
		return q.QueryRowContext(w.t.Context(), "SELECT COUNT(*), MAX(due_at) FROM tasks WHERE kind = $1", kind).Scan(&n, &at)
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return n, at.Time
}

func (w world) rows() interface {
	Read(ctx context.Context, fn func(q db.Q) error) error
} {
	w.t.Helper()
	for _, b := range w.Server.Tenants() {
		if b.Slug == "serenity" {
			st, err := w.Server.Store(b.ID)
			if err != nil {
				w.t.Fatal(err)
			}
			return st
		}
	}
	w.t.Fatal("no spa")
	return nil
}

func TestACallIsAConversation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, a := w.call(nia)
	hears(t, a, false, "I'm Savannah, the AI assistant of Serenity Spa", "How can I help")
	a = c.says("What are your opening hours?")
	if strings.Contains(a.Say, "AI assistant") || strings.ContainsAny(a.Say, "*\n") || a.Say == "" || a.HangUp {
		t.Errorf("heard %q, want hours in plain words and who speaks not once more", a.Say)
	}
	a = c.says("I would like to book a visit")
	hears(t, a, false, "say or press 1")
	a = c.press("1")
	if a.Say == "" || a.Filler {
		t.Errorf("after a key heard %+v", a)
	}
	if a := c.do(map[string]any{"end": true}); !a.HangUp {
		t.Errorf("after the end heard %+v", a)
	}
	p := w.phone(nia)
	p.quiet() // nothing of a call goes to WhatsApp
}

func TestACallIsAnsweredInSwahili(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, a := w.call(nia, "sw")
	hears(t, a, false, "msaidizi wa AI", "Nikusaidie")
	hears(t, c.says("Nataka kuongea na mtu"), false, "atakuandikia kwenye WhatsApp", "Sema ndiyo")
	hears(t, c.says("ndiyo"), true, "Utaandikiwa", "Kwaheri")
	h := w.phone(nia).hear()
	if h.Template == nil || h.Template.Name != "ratiba_call" {
		t.Fatalf("on WhatsApp came %+v, want the template of a call", h)
	}
	mustSay(t, h, "Asante kwa kupigia Serenity Spa simu")
	mustSay(t, w.phone(wanjiku).hear(), "is waiting for a person")
}

func TestAHandoffByVoiceGoesOnInWhatsApp(t *testing.T) {
	t.Parallel()
	for name, agree := range map[string]func(c caller) said{
		"after a yes":  func(c caller) said { return c.says("yes please") },
		"after a key":  func(c caller) said { return c.press("5") },
		"after others": func(c caller) said { c.says("it is about my last visit"); c.says(""); return c.says("yes") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c, _ := w.call(nia)
			hears(t, c.says("I want to speak to a person"), false, "will write to you on WhatsApp", "Say yes")
			hears(t, agree(c), true, "Goodbye")
			p := w.phone(nia)
			if h := p.hear(); h.Template == nil || h.Template.Name != "ratiba_call" {
				t.Fatalf("on WhatsApp came %+v", h)
			}
			if n, _ := w.tasks("callback"); n != 0 {
				t.Errorf("%d call-back tasks", n)
			}
			// They answer, and are in the same chat as on the phone.
			p.send(map[string]any{"text": "I am here"})
			admin := w.phone(wanjiku)
			mustSay(t, admin.hear(), "waiting for a person")
			admin.send(map[string]any{"text": "show me"})
			mustSay(t, admin.hear(), "I want to speak to a person")
			if a := c.says("hello?"); !a.HangUp || a.Say != "" {
				t.Errorf("after the end heard %+v, want to be hung up", a)
			}
		})
	}
}

func TestACallerWithoutWhatsAppIsCalledBack(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{"http": "will call you tomorrow", "status": "will call you tomorrow"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.post("/sim/whatsapp/next", map[string]any{"phone": joel, "code": 131026, "mode": mode})
			c, _ := w.call(joel)
			c.says("let me talk to a human")
			hears(t, c.press("1"), true, want)
			if err := w.Server.Idle(t.Context()); err != nil {
				t.Fatal(err)
			}
			n, due := w.tasks("callback")
			if tomorrow := time.Date(2026, 11, 24, 6, 0, 0, 0, time.UTC); n != 1 || !due.Equal(tomorrow) {
				t.Errorf("%d tasks, due %s; want one, at nine tomorrow", n, due)
			}
		})
	}
	t.Run("or would rather be", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		c, _ := w.call(joel)
		c.says("let me talk to a human")
		hears(t, c.says("no"), true, "will call you tomorrow")
		if n, _ := w.tasks("callback"); n != 1 {
			t.Errorf("%d tasks, want one", n)
		}
		w.phone(joel).quiet()
	})
	t.Run("who hangs up is written to all the same", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		c, _ := w.call(joel)
		c.says("let me talk to a human")
		c.do(map[string]any{"end": true})
		if h := w.phone(joel).hear(); h.Template == nil || h.Template.Name != "ratiba_call" {
			t.Errorf("on WhatsApp came %+v", h)
		}
	})
}

func TestTelephoneGatewaysMakeMistakes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, hello := w.call(faye)
	first := c.says("what are your opening hours")
	if again := c.do(map[string]any{"text": "what are your opening hours", "seq": 2}); again != first {
		t.Errorf("a repeated event is answered %+v, first %+v", again, first)
	}
	for name, body := range map[string]map[string]any{
		"a gap": {"text": "x", "seq": 9}, "an old event": {"text": "x", "seq": 1}, "no key": {"key": "abc"}, "a megabyte": {"text": strings.Repeat("x", 1<<20)},
		"a long speech": {"text": strings.Repeat("x", 2001)},
	} {
		if status, raw := w.post("/sim/voice/calls/"+c.id, body); status == http.StatusOK {
			t.Errorf("%s is answered %s", name, raw)
		}
	}
	if status, _ := w.post("/sim/voice/calls/nobody", map[string]any{"text": "x"}); status != http.StatusNotFound {
		t.Errorf("a call nobody made: %d", status)
	}
	// Ten times the same event at once is one turn.
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() { w.post("/sim/voice/calls/"+c.id, map[string]any{"text": "do you do massages", "seq": 3}) })
	}
	wg.Wait()
	var n int
	if err := w.rows().Read(t.Context(), func(q db.Q) error {
		return q.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM inbox WHERE dedupe_key LIKE 'voice:%/3'").Scan(&n)
	}); err != nil || n != 1 {
		t.Errorf("%d messages of one event, %v", n, err)
	}
	// Who calls again has left the first line.
	second, a := w.call(faye)
	if a != hello {
		t.Errorf("the second call begins %+v, the first %+v", a, hello)
	}
	if a := c.says("still there?"); !a.HangUp {
		t.Errorf("the first line goes on: %+v", a)
	}
	if a := second.says(""); a.HangUp || a.Say == "" {
		t.Errorf("silence is answered %+v", a)
	}
	if _, a := w.call(""); !a.HangUp {
		t.Errorf("a hidden number is answered %+v", a)
	}
}
