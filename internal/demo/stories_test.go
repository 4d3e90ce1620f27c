package demo_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/money"
)

const mary = "+254700000001"

// booked takes a customer from the first word to the summary.
func (w world) summary(number, first, name string) *phone {
	w.t.Helper()
	p := w.phone(number)
	p.say(first)
	book(w.t, p, name)
	return p
}

// paid takes a customer from the first word to a confirmed booking.
func (w world) paid(number, first, name string) *phone {
	w.t.Helper()
	p := w.summary(number, first, name)
	p.tap("yes")
	p.pin("1234")
	mustSay(w.t, p.hear(), "confirmed")
	return p
}

func (w world) advance(d time.Duration) {
	w.t.Helper()
	if status, raw := w.post("/sim/clock/advance", map[string]any{"seconds": int(d.Seconds())}); status/100 != 2 {
		w.t.Fatalf("advance: %d %s", status, raw)
	}
}

const tomorrowAfternoon = "Hi, I'd like a 90 minute massage tomorrow afternoon"

func TestSecondCustomerCannotGetTheSameSlot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.phone(mary)
	first.say("a facial tomorrow at 3 pm with Njeri please")
	book(t, first, "Mary Wambui")
	second := w.phone("+254700000002")
	h := second.say("a facial tomorrow at 3 pm with Njeri please")
	for _, c := range h.choices() {
		if strings.Contains(c[1], "3:00") {
			t.Errorf("the slot is offered again: %v", h.choices())
		}
	}
	if len(h.choices()) == 0 {
		t.Errorf("no alternatives are offered: %q", h.Text)
	}
}

func TestQuestionInTheMiddle(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.phone(mary)
	p.say(tomorrowAfternoon)
	h := p.say("where are you located?")
	mustSay(t, h, "Ngong Road")
	book(t, p, "Mary Wambui")
}

func TestDeclineAndTryAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.summary(mary, tomorrowAfternoon, "Mary Wambui")
	p.tap("yes")
	p.decline()
	h := p.hear()
	if len(h.choices()) == 0 {
		t.Fatalf("nothing to go on with after declining: %q", h.Text)
	}
	w.advance(2*time.Minute + 5*time.Second)
	h = p.tapYes()
	mustSay(t, h, "M-Pesa")
	p.pin("1234")
	mustSay(t, p.hear(), "confirmed")
	h = p.say("my bookings")
	mustSay(t, h, "massage")
}

// The title of the button that says yes, typed, says yes as a tap does.
func TestTheYesButtonsTitleIsTyped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.summary(mary, tomorrowAfternoon, "Mary Wambui")
	mustSay(t, p.say("Yes, send M-Pesa"), "M-Pesa request")
	p.decline()
	mustSay(t, p.hear(), "Shall I send another")
	w.advance(2*time.Minute + 5*time.Second)
	mustSay(t, p.say("ok, try again"), "I'm sending an M-Pesa request")
	p.pin("1234")
	mustSay(t, p.hear(), "is confirmed")
}

// tapYes taps the yes of the last message, asking for it again by a "yes" when
// a newer message came in between.
func (p *phone) tapYes() heard {
	p.t.Helper()
	for range 4 {
		for _, c := range p.last.choices() {
			if strings.Contains(c[0], "~") {
				return p.tap(c[0])
			}
		}
		if more := p.poll(0); len(more) > 0 {
			p.hear()
			continue
		}
		p.tap(p.last.choices()[0][0])
	}
	p.t.Fatalf("no yes to tap: %q %v", p.last.Text, p.last.choices())
	return heard{}
}

func TestChangeTheTimeOfABooking(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.paid(mary, tomorrowAfternoon, "Mary Wambui")
	h := p.say("I want to change the time of my booking to Thursday at 11 am")
	for range 6 {
		if strings.Contains(h.Text, "is now Thursday") {
			return
		}
		if len(h.choices()) == 0 {
			t.Fatalf("stuck: %q", h.Text)
		}
		h = p.tap(h.choices()[0][0])
	}
	t.Fatalf("the booking was not moved: %q", h.Text)
}

func TestWrongSignatureIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, signature := range []string{"bad", "none"} {
		_, raw := w.post("/sim/whatsapp/inbound", map[string]any{"from": mary, "to": spa, "text": "hello", "signature": signature})
		if !strings.Contains(string(raw), "401") {
			t.Errorf("signature %s: %s, want the product's 401", signature, raw)
		}
	}
	w.phone(mary).quiet()
}

func TestReplayedMessageIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.phone(mary)
	p.send(map[string]any{"text": "hello", "id": "wamid.REPLAYED", "deliveries": 3})
	p.hear()
	p.send(map[string]any{"text": "hello", "id": "wamid.REPLAYED"})
	p.quiet()
}

func TestUnknownNumberIsQuarantined(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.phone(mary)
	p.to = "+254799999999"
	p.send(map[string]any{"text": "hello"})
	p.to = spa
	p.quiet()
}

func TestSenderWithoutAPhoneIsAskedForOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.phone("")
	inbound := func(fields map[string]any) {
		fields["bsuid"], fields["to"] = "KE.13491208655302741918", spa
		if status, raw := w.post("/sim/whatsapp/inbound", fields); status/100 != 2 {
			t.Fatalf("inbound: %d %s", status, raw)
		}
	}
	hear := func() heard {
		var all []heard
		get(t, fmt.Sprintf("%s/sim/whatsapp/messages?bsuid=KE.13491208655302741918&number=%s&after=%d&wait=10", w.URL, "%2B254711000001", p.after), &all)
		if len(all) == 0 {
			t.Fatalf("nothing heard after %q", p.last.Text)
		}
		p.last, p.after = all[0], all[0].Seq
		t.Logf("hears: %s %v %s", p.last.Text, p.last.choices(), p.last.Type)
		return p.last
	}
	inbound(map[string]any{"text": "a manicure tomorrow at 10 am"})
	_ = hear()
	inbound(map[string]any{"text": "actually a facial tomorrow at 11 am"})
	h := hear()
	for range 8 {
		switch {
		case strings.Contains(strings.ToLower(h.Text), "m-pesa number") || h.Type == "request_contact" || strings.Contains(h.Type, "contact"):
			inbound(map[string]any{"contact": map[string]any{"name": "Mary", "phone": "+254700000009"}})
		case len(h.choices()) > 0:
			c := h.choices()[0]
			kind := "button"
			if len(h.Buttons) == 0 {
				kind = "list"
			}
			inbound(map[string]any{kind: map[string]string{"id": c[0], "title": c[1]}})
		default:
			inbound(map[string]any{"text": "Mary Wambui"})
		}
		h = hear()
		var prompts []map[string]any
		ctxIdle(t, w)
		getList(t, w.URL+"/sim/daraja/prompts?phone=%2B254700000009", &prompts)
		if len(prompts) > 0 {
			return
		}
	}
	t.Fatalf("no prompt reached the phone that was shared; last: %q", h.Text)
}

func TestOddTexts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i, text := range []string{
		"😀😀😀", " ", strings.Repeat("massage ", 1250), "مرحبا أريد حجز موعد", "\u202Eegassam\u202C", "<script>alert(1)</script>", "'; DROP TABLE contacts; --",
	} {
		p := w.phone(fmt.Sprintf("+2547000001%02d", i))
		if h := p.say(text); h.Text == "" {
			t.Errorf("%.20q is answered with nothing", text)
		}
		p.quiet()
	}
}

func TestImpossibleTimes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i, text := range []string{
		"a facial on 31/02 at 3pm", "a facial yesterday at 3 pm", "a facial tomorrow at 3 am", "a facial on 25 December at 3 pm", "nataka facial tarehe 31 mwezi wa pili",
	} {
		p := w.phone(fmt.Sprintf("+2547000002%02d", i))
		h := p.say(text)
		if h.Text == "" || strings.Contains(h.Text, "KES 500") {
			t.Errorf("%q is taken: %q", text, h.Text)
		}
		p.quiet()
	}
}

func TestPINTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.summary(mary, tomorrowAfternoon, "Mary Wambui")
	p.tap("yes")
	p.pin("1234")
	if status, raw := w.post("/sim/daraja/pin", map[string]any{"phone": mary, "pin": "1234"}); status != http.StatusConflict {
		t.Errorf("second PIN: %d %s", status, raw)
	}
	mustSay(t, p.hear(), "confirmed")
	p.quiet()
}

func TestCallbacks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		next map[string]any
		want string
	}{
		{"twice", map[string]any{"outcome": "success", "deliveries": 3}, "confirmed"},
		{"before the response", map[string]any{"outcome": "success", "when": "before_response"}, "confirmed"},
		{"response lost", map[string]any{"outcome": "success", "lose_response": true}, "confirmed"},
		{"with strings for numbers", map[string]any{"outcome": "success", "shape": "strings"}, "confirmed"},
		{"without a balance", map[string]any{"outcome": "success", "shape": "no_balance"}, "confirmed"},
		{"with another amount", map[string]any{"outcome": "success", "amount": 1}, "doesn't match"},
		{"with too little money", map[string]any{"outcome": "insufficient"}, "M-Pesa"},
		{"with a wrong PIN", map[string]any{"outcome": "wrong_pin"}, "PIN"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			p := w.summary(mary, tomorrowAfternoon, "Mary Wambui")
			c.next["phone"] = mary
			if status, raw := w.post("/sim/daraja/next", c.next); status/100 != 2 {
				t.Fatalf("next: %d %s", status, raw)
			}
			p.tap("yes")
			h := p.hear()
			mustSay(t, h, c.want)
			if c.want != "confirmed" && strings.Contains(h.Text, "is confirmed.") {
				t.Errorf("confirmed without the money: %q", h.Text)
			}
			p.quiet()
		})
	}
}

func TestNoAnswerFromThePhone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.summary(mary, tomorrowAfternoon, "Mary Wambui")
	w.post("/sim/daraja/next", map[string]any{"phone": mary, "outcome": "none", "query": "failed"})
	p.tap("yes")
	ctxIdle(t, w)
	w.advance(4 * time.Minute)
	if h := p.hear(); len(h.choices()) == 0 {
		t.Errorf("nothing to go on with when the prompt came to nothing: %q", h.Text)
	}
}

func TestAbandonedBookingIsGivenBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.phone(mary)
	p.say("a facial tomorrow at 3 pm with Njeri please")
	book(t, p, "Mary Wambui")
	w.advance(45 * time.Minute)
	other := w.phone("+254700000002")
	other.say("a facial tomorrow at 3 pm with Njeri please")
	h := book(t, other, "Asha Ali")
	mustSay(t, h, "3:00", "Njeri")
}

func TestAHumanTakesOverAndHandsBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, admin := w.phone(mary), w.phone(wanjiku)
	admin.say("hello")
	p.say("hello")
	h := p.say("I want to speak to a person")
	mustSay(t, h, "someone from Serenity Spa")
	card := admin.hear()
	mustSay(t, card, "needs a person")
	if strings.Contains(card.Text, mary) {
		t.Errorf("the card shows the whole phone: %q", card.Text)
	}
	mustSay(t, admin.hear(), "I want to speak to a person", "You could", "Draft")
	p.send(map[string]any{"text": "are you there?"})
	p.quiet()
	mustSay(t, admin.tap("/take"), "you have", "are you there?")
	p.send(map[string]any{"text": "do you have vouchers?"})
	mustSay(t, admin.hear(), "do you have vouchers?")
	admin.send(map[string]any{"text": "Yes, at the desk"})
	if h := p.hear(); h.Text != "Yes, at the desk" {
		t.Errorf("the admin's words came as %q", h.Text)
	}
	mustSay(t, admin.say("/done"), "Thank you")
	mustSay(t, p.hear(), "Savannah here again")
	mustSay(t, p.say("where are you?"), "Ngong Road")
}

// Nothing that a customer writes is too long for a person to read: the page
// goes out, and who drives gets every word.
func TestLongWordsReachAHuman(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, admin := w.phone(mary), w.phone(wanjiku)
	admin.say("hello")
	long := strings.Repeat("tafadhali nisaidie ", 520)
	p.say("I want to talk to a person. " + long)
	mustSay(t, admin.hear(), "needs a person")
	admin.hear() // the briefing
	said := admin.tap("/take").Text
	p.send(map[string]any{"text": long + "na mwisho"})
	for !strings.Contains(said, "na mwisho") {
		said += " " + admin.hear().Text
	}
	if n := strings.Count(said, "tafadhali"); n < 1040 {
		t.Errorf("%d of 1040 words reached the admin", n)
	}
}

func TestP13Disclosure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.phone(mary)
	mustSay(t, p.say("hello"), "Savannah, the AI assistant of Serenity Spa")
	mustSay(t, p.say("are you a real person?"), "not a person")
	if h := p.say("what do you cost?"); strings.Contains(h.Text, "the AI assistant of") {
		t.Errorf("the disclosure is repeated within the thread: %q", h.Text)
	}
	mustSay(t, w.phone("+254700000005").say("Habari"), "msaidizi wa AI wa Serenity Spa")
}

// TestP12Replay computes every turn of a story again from its recorded inputs,
// without store or network, and wants the same commit.
func TestP12Replay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, admin := w.paid(mary, tomorrowAfternoon, "Mary Wambui"), w.phone(wanjiku)
	admin.hear()
	p.say("hmm can I maybe come some other day next week instead?")
	p.say("I want to talk to a human")
	admin.hear()
	admin.say("/take")
	p.send(map[string]any{"text": "hello?"})
	admin.hear()
	admin.say("/done")
	p.hear()
	ctxIdle(t, w)
	spa := w.Server.Tenants()[2]
	store, err := w.Server.Store(spa.ID)
	if err != nil {
		t.Fatal(err)
	}
	turns, err := store.Recorded(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(turns) < 10 {
		t.Fatalf("only %d turns are recorded", len(turns))
	}
	for _, rec := range turns {
		got, err := w.Server.Replay(t.Context(), spa.ID, rec.Inputs)
		if err != nil {
			t.Errorf("turn %s: %v", rec.ID, err)
		} else if got != rec.Digest {
			t.Errorf("turn %s replays to another commit: %s", rec.ID, rec.Inputs)
		}
	}
}

// A business whose ceiling leaves nothing for a model is served by code alone,
// and by people where code is in doubt.
func TestP9ACostCeilingLeadsToAPerson(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spa := w.Server.Tenants()[2]
	spa.CostSoft, spa.CostHard = 1, 1 // pico-dollars
	if _, err := w.Server.Apply(t.Context(), spa); err != nil {
		t.Fatal(err)
	}
	p, admin := w.phone(mary), w.phone(wanjiku)
	h := p.say("hmm can I maybe come some other day next week instead?")
	mustSay(t, h, "join")
	mustSay(t, admin.hear(), "too long or too costly")
	p.send(map[string]any{"text": "hmm would that suit the others then perhaps?"})
	p.quiet()
	if asked := w.asked(spa.ID); asked != 0 {
		t.Errorf("models were asked %d times", asked)
	}

	spa.CostSoft, spa.CostHard = money.USD, money.USD
	if _, err := w.Server.Apply(t.Context(), spa); err != nil {
		t.Fatal(err)
	}
	other := w.phone("+254700000002")
	other.say("hmm can I maybe come some other day next week instead?")
	if w.asked(spa.ID) == 0 {
		t.Error("with a higher ceiling no model is asked either, so that nothing is shown")
	}
}

// asked counts the attempts at models in a customer's name.
func (w world) asked(id ids.TenantID) (n int) {
	w.t.Helper()
	tenant, err := w.Server.Store(id)
	if err != nil {
		w.t.Fatal(err)
	}
	costs, err := tenant.RoleCosts(w.t.Context(), time.Time{}.AddDate(1, 0, 0))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, c := range costs {
		if c.Role != llm.HandoffSummarizer { // briefs are the business's own expense
			n += c.Calls
		}
	}
	return n
}
