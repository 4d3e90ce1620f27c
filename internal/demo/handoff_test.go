package demo_test

import (
	"encoding/base64"
	"strings"
	"sync"
	"testing"
	"time"
)

const otieno = "+254722000002"

// jpeg begins as pictures do.
var jpeg = base64.StdEncoding.EncodeToString([]byte("\xff\xd8\xff\xe0\x00\x10JFIF picture"))

// taken takes a customer to a human: the card, the briefing and the takeover
// are read.
func (w world) taken(number, ask string) (customer, admin *phone) {
	w.t.Helper()
	customer, admin = w.phone(number), w.phone(wanjiku)
	admin.say("hello")
	customer.say(ask)
	admin.hear()
	admin.hear()
	admin.tap("/take")
	return customer, admin
}

func TestFilesGoBothWays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, admin := w.taken(mary, "I want to talk to a person")
	p.send(map[string]any{"media": map[string]any{"kind": "image", "mime": "image/jpeg", "base64": jpeg, "caption": "my receipt"}})
	h := admin.hear()
	mustSay(t, h, "*#", "my receipt")
	if h.Type != "image" {
		t.Errorf("the picture came as %s", h.Type)
	}
	admin.send(map[string]any{"media": map[string]any{"kind": "document", "mime": "application/pdf", "filename": "price list.pdf", "base64": base64.StdEncoding.EncodeToString([]byte("%PDF-1.7"))}})
	if h := p.hear(); h.Type != "document" {
		t.Errorf("the document came as %s %q", h.Type, h.Text)
	}
	// What is not what it claims to be cannot be passed on: who sent it is told.
	p.send(map[string]any{"media": map[string]any{"kind": "image", "mime": "image/jpeg", "base64": base64.StdEncoding.EncodeToString([]byte("MZ no picture"))}})
	mustSay(t, p.hear(), "could not be opened")
	mustSay(t, admin.hear(), "sent a file that could not be opened")
	admin.send(map[string]any{"media": map[string]any{"kind": "image", "mime": "image/jpeg", "base64": base64.StdEncoding.EncodeToString([]byte("MZ no picture"))}})
	mustSay(t, admin.hear(), "could not be passed on")
	p.quiet()
}

// What a customer sends while nobody has taken over is all there for who does.
func TestFilesWaitForWhoTakesOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, admin := w.phone(mary), w.phone(wanjiku)
	admin.say("hello")
	p.say("I want to talk to a person")
	admin.hear()
	admin.hear()
	p.send(map[string]any{"media": map[string]any{"kind": "image", "mime": "image/jpeg", "base64": jpeg}})
	p.quiet()
	mustSay(t, admin.tap("/take"), "[photo]")
	if h := admin.hear(); h.Type != "image" {
		t.Errorf("the picture came as %s %q", h.Type, h.Text)
	}
}

func TestAHumanHandsBackWithWhatWasAgreed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, admin := w.taken(mary, "Nataka kuongea na mtu")
	mustSay(t, admin.say("/done when=31/02"), "no day like", "31/02")
	mustSay(t, admin.say("/done service=massage 90 min when=tomorrow 3pm name=Mary Wambui"), "Noted: Massage 90 min", "3:00 pm")
	h := p.hear()
	mustSay(t, h, "tena hapa", "Masaji dakika 90", "saa tisa mchana", "Mary Wambui")
	if !strings.Contains(h.Text, "KES") || len(h.choices()) == 0 {
		t.Errorf("the booking does not go on: %q %v", h.Text, h.choices())
	}
	p.tap("yes")
	p.pin("1234")
	mustSay(t, p.hear(), "Mary Wambui")
}

func TestTheClockOfAHandoff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, admin := w.phone(mary), w.phone(wanjiku)
	admin.say("hello")
	p.say("I want to talk to a person")
	admin.hear()
	admin.hear()
	w.advance(2 * time.Minute)
	mustSay(t, p.hear(), "calling the manager")
	w.advance(8 * time.Minute)
	mustSay(t, admin.hear(), "waiting for a person for 10 minutes")
	w.advance(50 * time.Minute)
	ctxIdle(t, w)
	reminders := 0
	for range 5 {
		if h := admin.hear(); strings.Contains(h.Text, "waiting for a person") {
			reminders++
		}
	}
	if reminders != 5 {
		t.Errorf("%d more reminders within the hour, want 5", reminders)
	}
	mustSay(t, admin.tap("/take"), "you have")
}

// Two admins take one chat in the same instant: one has it, the other is told
// whose it is.
func TestTwoTakeAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, one, two := w.phone(mary), w.phone(wanjiku), w.phone(otieno)
	one.say("hello")
	two.say("hello")
	p.say("I want to talk to a person")
	for _, a := range []*phone{one, two} {
		a.hear()
		a.hear()
	}
	var both sync.WaitGroup
	for _, a := range []*phone{one, two} {
		both.Go(func() { a.send(map[string]any{"text": "/take"}) })
	}
	both.Wait()
	ctxIdle(t, w)
	won, lost := 0, 0
	for _, a := range []*phone{one, two} {
		for _, h := range a.poll(0) {
			if strings.Contains(h.Text, "you have #") || strings.Contains(h.Text, "sasa unayo #") {
				won++
			}
			if strings.Contains(h.Text, "is claimed by") || strings.Contains(h.Text, "imechukuliwa na") {
				lost++
			}
		}
	}
	if won != 1 || lost < 1 {
		t.Errorf("%d have the chat and %d heard whose it is", won, lost)
	}
}

func TestATranslationIsMadeOnDemandAndKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, admin := w.phone(mary), w.phone(wanjiku)
	admin.say("hello")
	p.say("Nataka kuongea na mtu")
	admin.hear()
	admin.hear()
	mustSay(t, admin.tap("/translate"), "One moment")
	mustSay(t, admin.hear(), "(in English)", "Nataka kuongea na mtu")
	calls := w.briefings()
	mustSay(t, admin.say("/translate"), "One moment")
	mustSay(t, admin.hear(), "(in English)")
	if again := w.briefings(); again != calls {
		t.Errorf("a model was asked %d times more for the same chat", again-calls)
	}
	p.send(map[string]any{"text": "Bado nasubiri"})
	p.quiet()
	mustSay(t, admin.say("/translate"), "One moment")
	mustSay(t, admin.hear(), "Bado nasubiri")
	w.post("/sim/llm/next", map[string]any{"role": "handoff_summarizer", "fault": "500", "times": 20})
	p.send(map[string]any{"text": "Haloo?"})
	p.quiet()
	mustSay(t, admin.say("/translate"), "One moment")
	mustSay(t, admin.hear(), "cannot be translated")
}

// briefings counts the calls of models that briefed or translated.
func (w world) briefings() (n int) {
	w.t.Helper()
	var calls []struct {
		Role string `json:"role"`
	}
	get(w.t, w.URL+"/sim/llm/calls", &calls)
	for _, c := range calls {
		if c.Role == "handoff_summarizer" {
			n++
		}
	}
	return n
}

// A page does not wait for a model, and one that fails changes nothing.
func TestAPageNeedsNoModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.post("/sim/llm/next", map[string]any{"fault": "500", "times": 50})
	p, admin := w.phone(mary), w.phone(wanjiku)
	admin.say("hello")
	p.say("I want to talk to a person")
	mustSay(t, admin.hear(), "needs a person", "They asked for a person")
	mustSay(t, admin.say("/send"), "no draft")
	mustSay(t, admin.say("/take"), "you have")
	admin.send(map[string]any{"text": "/done"})
	mustSay(t, p.hear(), "Savannah here again")
}
