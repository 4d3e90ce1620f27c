package turn_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/template"
)

// to returns what one phone got, whole.
func (w *world) to(phone string) (out []message.Outbound) {
	w.Helper()
	for _, s := range w.send() {
		if s.to == phone {
			out = append(out, s.out)
		}
	}
	return out
}

func TestAnAdminWhoseWindowIsClosedGetsAPageAndThenTheCard(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(w *world, code string){
		"when they tap its button":  func(w *world, code string) { w.tap(wangu, "card:"+code); w.run() },
		"when they write any words": func(w *world, _ string) { w.say(wangu, "niko") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.say(amina, "I want to talk to a person")
			code := w.thread(amina).Handoff.Code
			page := w.to(wangu)
			if len(page) != 1 || page[0].Template == nil || page[0].Template.Name != template.Page {
				t.Fatalf("got %+v, want the page template", page)
			}
			if p := page[0].Template.Parameters; p[0] != "#"+code || p[2] != "They asked for a person" || page[0].Template.Payloads[0] != "card:"+code {
				t.Errorf("page says %v with payloads %v", p, page[0].Template.Payloads)
			}
			answer(w, code)
			card := w.to(wangu)
			if len(card) != 1 || card[0].Kind != message.Button || !strings.Contains(card[0].Text, "I want to talk to a person") {
				t.Fatalf("after the answer got %+v, want the whole card", card)
			}
			w.say(wangu, "hello")
			w.hears(wangu, "Customers waiting for a person: 1")
			w.replays()
		})
	}
}

func TestACardIsNotShownOnceSomebodyHasTheChat(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say(amina, "I want to talk to a person")
	code := w.thread(amina).Handoff.Code
	w.send()
	w.say(otis, "/take "+code)
	w.send()
	w.tap(wangu, "card:"+code)
	w.run()
	w.hears(wangu, "#"+code+" is claimed by Otis")
	w.say(otis, "/done "+code)
	w.send()
	w.tap(wangu, "card:"+code)
	w.run()
	w.hears(wangu, "no such chat")
	w.replays()
}

func TestACommandIsNotAnsweredWithTheCardItMakesNeedless(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say(amina, "I want to talk to a person")
	w.say(brian, "talk to a human please")
	first, second := w.thread(amina).Handoff.Code, w.thread(brian).Handoff.Code
	w.send()
	w.say(wangu, "/take "+first)
	got := w.to(wangu)
	if len(got) != 2 || !strings.Contains(got[0].Text, "#"+second) || !strings.Contains(got[1].Text, "you have #"+first) {
		t.Errorf("got %+v, want the other's card and the acknowledgement", got)
	}
	w.want("0", "SELECT COUNT(*) FROM held_messages WHERE contact_id = (SELECT contact_id FROM contact_identities WHERE value = $1)", wangu)
	w.replays()
}

func TestWhatTheWindowKeptBackIsSaidInATemplate(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]func(w *world, r outbox.Row){
		"refused at once": func(w *world, r outbox.Row) {
			if err := w.SettleOutbox(w.Context(), r, outbox.Failed, w.clock.Now(), outbox.Outcome{Verdict: outbox.GiveUp, Code: 131047}, w.clock.Now()); err != nil {
				w.Fatal(err)
			}
		},
		"failed later": func(w *world, r outbox.Row) {
			if err := w.SettleOutbox(w.Context(), r, outbox.Sent, w.clock.Now(), outbox.Outcome{Verdict: outbox.Done, ProviderID: "p1"}, w.clock.Now()); err != nil {
				w.Fatal(err)
			}
			if _, err := w.Deliver(w.Context(), nil, []message.Receipt{{ProviderID: "p1", Status: message.StatusFailed, ErrorCode: 131047, At: w.clock.Now()}}, w.clock.Now(), 0); err != nil {
				w.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.say(amina, "hello")
			rows, _, err := w.ClaimOutbox(t.Context(), w.clock.Now(), w.clock.Now(), 10)
			if err != nil || len(rows) != 1 {
				t.Fatalf("%d rows, %v", len(rows), err)
			}
			refuse(w, rows[0])
			w.run()
			got := w.to(amina)
			if len(got) != 1 || got[0].Template == nil || got[0].Template.Name != template.Notice || !strings.Contains(got[0].Template.Parameters[0], "hello") {
				t.Fatalf("got %+v, want the same words as a notice", got)
			}
			w.want("0", "SELECT COUNT(*) FROM tasks")
			w.replays()
		})
	}
}

func TestAHumansWordsReachACustomerWhoseWindowIsClosed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say(amina, "talk to a person")
	w.say(wangu, "/take "+w.thread(amina).Handoff.Code)
	w.send()
	w.clock.Add(25 * time.Hour)
	w.say(wangu, "Are you still\ninterested?")
	got := w.to(amina)
	if len(got) != 1 || got[0].Template == nil || got[0].Template.Name != template.Relay || got[0].Template.Parameters[1] != "Are you still interested?" {
		t.Fatalf("got %+v, want the relay template", got)
	}
	w.replays()
}

func TestADrivingAdminHearsThatTheirWordsDidNotArrive(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say(amina, "talk to a person")
	code := w.thread(amina).Handoff.Code
	w.say(wangu, "/take "+code)
	w.send()
	w.say(wangu, "Hello, this is Wangu")
	rows, _, err := w.ClaimOutbox(t.Context(), w.clock.Now(), w.clock.Now(), 10)
	if err != nil || len(rows) != 1 || rows[0].Origin != outbox.Relay {
		t.Fatalf("%+v, %v", rows, err)
	}
	if err := w.SettleOutbox(t.Context(), rows[0], outbox.Failed, w.clock.Now(), outbox.Outcome{
		Verdict: outbox.GiveUp, Code: 131026, Detail: "Message undeliverable",
	}, w.clock.Now()); err != nil {
		t.Fatal(err)
	}
	w.run()
	w.hears(wangu, "#"+code, "did not arrive", "Try to call them")
	w.want("undelivered", "SELECT kind FROM tasks")
	w.replays()
}
