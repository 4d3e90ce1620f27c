package page_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/ratiba/ratiba/internal/sim/page/pagetest"
)

// Pictures are taken on request only:
//
//	go test ./internal/sim/page -run TestPictures -args -pictures DIR [-of http://127.0.0.1:8080/sim/]
var (
	pictures = flag.String("pictures", "", "write pictures of the page to this folder")
	pictured = flag.String("of", "", "take them of the page at this address, as it is, instead of a made-up conversation")
)

// shot is one picture: a name, what it shows, and in which size and colours.
type shot struct {
	name          string
	width, height int
	scheme        string
	tab           string // on a narrow screen
	prepare       func(t *testing.T, f *fake, b *pagetest.Browser)
}

func TestPictures(t *testing.T) {
	t.Parallel()
	if *pictures == "" {
		t.Skip("pictures are taken with -args -pictures DIR")
	}
	shots := []shot{
		{name: "wide-light", width: 1400, height: 900, scheme: "light"},
		{name: "wide-dark", width: 1400, height: 900, scheme: "dark"},
		{name: "narrow-light", width: 390, height: 844, scheme: "light"},
		{name: "narrow-dark", width: 390, height: 844, scheme: "dark"},
		{name: "narrow-log", width: 390, height: 844, scheme: "light", tab: "log"},
		{name: "narrow-admin", width: 390, height: 844, scheme: "dark", tab: "admin"},
	}
	if *pictured == "" {
		shots = append(shots,
			shot{name: "wide-pin", width: 1400, height: 900, scheme: "light", prepare: func(t *testing.T, f *fake, b *pagetest.Browser) {
				t.Helper()
				f.prompt(customer, 1500)
				b.Until(t, `document.querySelector("[data-testid=mpesa-dialog]")`)
				b.Click(t, pagetest.At("faults-toggle"))
			}},
			shot{name: "narrow-pin", width: 390, height: 844, scheme: "dark", prepare: func(t *testing.T, f *fake, b *pagetest.Browser) {
				t.Helper()
				f.prompt(customer, 1500)
				b.Until(t, `document.querySelector("[data-testid=mpesa-dialog]")`)
			}},
			shot{name: "narrow-setup", width: 390, height: 844, scheme: "light", prepare: func(t *testing.T, _ *fake, b *pagetest.Browser) {
				t.Helper()
				b.Click(t, "#setup-toggle")
				b.Click(t, pagetest.At("faults-toggle"))
			}},
			shot{name: "wide-list", width: 1400, height: 900, scheme: "dark", prepare: func(t *testing.T, _ *fake, b *pagetest.Browser) {
				t.Helper()
				b.Click(t, pagetest.At("open-list"))
			}},
			shot{name: "wide-new", width: 1400, height: 900, scheme: "light", prepare: func(t *testing.T, _ *fake, b *pagetest.Browser) {
				t.Helper()
				b.Click(t, pagetest.At("new-customer"))
				b.Until(t, `document.querySelector("[data-testid=suggestion]")`)
			}},
			shot{name: "tablet", width: 820, height: 1100, scheme: "light"},
		)
	}
	for _, s := range shots {
		s.take(t)
	}
}

func (s shot) take(t *testing.T) {
	t.Helper()
	var f *fake
	address := *pictured
	if address == "" {
		f = startFake(t)
		f.converse()
		address = f.url
	}
	b := pagetest.Open(t, address, s.width, s.height)
	ctx, cancel := context.WithTimeout(b.Ctx, pagetest.Patience)
	defer cancel()
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: s.scheme}},
	}); err != nil {
		t.Fatalf("choose the colours: %v", err)
	}
	b.Until(t, `document.querySelectorAll("#phone-customer .message").length > 0`)
	if s.tab != "" {
		b.Click(t, "#tab-"+s.tab)
	}
	if s.prepare != nil {
		s.prepare(t, f, b)
	}
	// Two frames and the end of every animation: what is seen stands still.
	b.Until(t, `document.getAnimations().every((a) => a.playState === "finished" || a.effect.getTiming().iterations === Infinity)`)
	picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatalf("take %s: %v", s.name, err)
	}
	if err := os.MkdirAll(*pictures, 0o755); err != nil {
		t.Fatalf("make the folder: %v", err)
	}
	if err := os.WriteFile(filepath.Join(*pictures, s.name+".png"), picture, 0o644); err != nil {
		t.Fatalf("write %s: %v", s.name, err)
	}
}

// converse fills both phones and the log with a booking, half way through.
func (f *fake) converse() {
	say := func(body object) {
		body["from"] = customer
		f.mu.Lock()
		f.take(body)
		f.mu.Unlock()
	}
	say(object{"text": "Habari, nataka massage kesho saa tisa"})
	f.deliver(customer, object{"type": "text", "text": "Habari! Mimi ni *Zuri*, msaidizi wa AI wa Amani Spa. Karibu sana.\n\nMassage ya muda gani ungependa?"})
	f.deliver(customer, object{
		"type": "list", "text": "Chagua huduma:", "footer": "Bei ni kwa mtu mmoja", "list_button": "Huduma",
		"list": []object{
			{"title": "Massage", "rows": []object{
				{"id": "m60", "title": "Massage dakika 60", "description": "KES 3,500"},
				{"id": "m90", "title": "Massage dakika 90", "description": "KES 5,000, amana KES 1,500"},
				{"id": "hot", "title": "Hot stone, dakika 75", "description": "KES 5,500"},
			}},
			{"title": "Uso", "rows": []object{{"id": "face", "title": "Facial ya kawaida", "description": "KES 2,800"}}},
		},
	})
	say(object{"list": object{"id": "m90", "title": "Massage dakika 90"}})
	f.deliver(customer, object{
		"type": "buttons", "text": "Kesho saa tisa mchana (15:00) Grace yuko wazi. Nikuwekee?",
		"buttons": []object{{"id": "yes", "title": "Ndiyo, weka"}, {"id": "other", "title": "Saa nyingine"}, {"id": "person", "title": "Ongea na mtu"}},
	})
	f.deliver(manager, object{"type": "text", "text": "*Booking held* RTB-7K2M\nMassage 90 min, tomorrow 15:00 with Grace\nCustomer +254 700 000 001"})
	f.deliver(manager, object{
		"type": "template", "text": "A customer asks for you: “Can I bring my sister?”",
		"template": object{"name": "handoff_alert", "language": "en", "parameters": []string{}, "buttons": []object{{"id": "take", "title": "Take over"}, {"id": "later", "title": "Remind me in 10 min"}}},
	})
	f.readAll(customer)
	f.setTyping(customer, true)
	stages := []object{
		{"event_type": "inbound.stored", "stage": "receive", "duration_ms": 1.3},
		{"event_type": "turn.started", "stage": "resolve", "duration_ms": 0.4},
		{"event_type": "llm.call", "stage": "understand", "duration_ms": 412, "cost_usd": 0.00006, "model": "small-1", "role": "intent_classifier"},
		{"event_type": "llm.call", "stage": "understand", "duration_ms": 530.2, "cost_usd": 0.000138, "model": "small-1", "role": "slot_extractor"},
		{"event_type": "tool.invoked", "stage": "tools", "duration_ms": 2.1, "tool": "check_availability"},
		{"event_type": "tool.conflict", "stage": "tools", "duration_ms": 0.9, "tool": "hold_slot"},
		{"event_type": "turn.committed", "stage": "commit", "duration_ms": 3.8},
		{"event_type": "outbox.sent", "stage": "send", "duration_ms": 11.4},
	}
	for turn := range 4 {
		for _, stage := range stages {
			event := object{
				"tenant_id": "amani-spa", "conversation_id": "01KAX3M0S6", "turn_id": fmt.Sprintf("01KAX3TURN%d", turn),
				"time": f.clock.Now().Add(time.Duration(len(f.events)) * 173 * time.Millisecond),
			}
			maps.Copy(event, stage)
			f.emit(event)
		}
	}
	f.emit(object{
		"event_type": "whatsapp.send_failed", "stage": "send", "duration_ms": 40, "turn_id": "01KAX3TURN3", "code": 131026,
		"time": f.clock.Now().Add(6 * time.Second),
	})
}
