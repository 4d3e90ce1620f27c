package turn_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/handoff"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/thread"
	"github.com/ratiba/ratiba/internal/understand"
)

// open makes the admins' windows open: they have just written.
func (w *world) open() {
	w.Helper()
	w.say(wangu, "hello")
	w.say(otis, "hello")
	w.send()
}

// texts are what everybody hears, by phone.
func (w *world) texts() map[string]string {
	w.Helper()
	out := map[string]string{}
	for _, s := range w.send() {
		if s.Kind == outbox.SendMessage {
			out[s.to] += s.out.Text + "\n"
		}
	}
	return out
}

// pass moves the clock and handles what fell due, one due time after another.
func (w *world) pass(d time.Duration) {
	w.Helper()
	end := w.clock.Now().Add(d)
	for {
		next := w.text("SELECT MIN(due_at) FROM mailboxes")
		at, err := time.Parse(time.RFC3339Nano, next)
		if err != nil || at.After(end) {
			break
		}
		if at.After(w.clock.Now()) {
			w.clock.Add(at.Sub(w.clock.Now()))
		}
		w.run()
	}
	w.clock.Add(end.Sub(w.clock.Now()))
}

func TestEveryTriggerHandsOver(t *testing.T) {
	t.Parallel()
	lines := map[string][2]string{ // what the customer hears and what the admin reads, in their languages
		"en": {"join us", "Why: "}, "sw": {"ajiunge nasi", "Kwa nini: "},
	}
	for _, row := range []struct {
		signal string
		say    map[string]string
		before func(w *world)
		why    map[string]string
		asked  bool
	}{
		{handoff.ExplicitRequest, map[string]string{"en": "let me talk to a person", "sw": "nataka kuongea na mtu"}, nil, map[string]string{"en": "asked for a person", "sw": "Ameomba kuongea na mtu"}, true},
		{handoff.Tripwire, map[string]string{"en": "you burned my skin, I will sue you", "sw": "mliniumiza, nitawashtaki"}, nil, map[string]string{"en": "a person's judgement", "sw": "uamuzi wa mtu"}, false},
		{handoff.BudgetBreach, map[string]string{"en": "look please", "sw": "look tafadhali"}, func(w *world) {
			w.b.Tenant.Thresholds.MaxTurns = 0
		}, map[string]string{"en": "too long", "sw": "marefu"}, false},
		{handoff.ToolError, map[string]string{"en": "escalate please", "sw": "escalate tafadhali"}, nil, map[string]string{"en": "failed on our side", "sw": "hitilafu upande wetu"}, false},
		{handoff.LowConfIntent, map[string]string{"en": "hmm please", "sw": "hmm tafadhali"}, func(w *world) {
			w.b.Tenant.Thresholds.LowConfIntentTurns = 1
			w.reader.inject = func(in *graph.Input) { in.Confidence = 0.3 }
		}, map[string]string{"en": "what they want", "sw": "anachotaka"}, false},
		{handoff.LowConfSlot, map[string]string{"en": "maybe please", "sw": "labda tafadhali"}, func(w *world) {
			w.b.Tenant.Thresholds.LowConfSlotReprompts = 0
			w.b.App.Expect = func(string, json.RawMessage) understand.Expect { return understand.Expect{Slots: []string{"time"}} }
			w.reader.inject = func(in *graph.Input) { in.When = graph.When{Date: "2026-04-25", Confidence: 0.3} }
		}, map[string]string{"en": "an answer", "sw": "jibu lake"}, false},
		{handoff.Negative, map[string]string{"en": "this is terrible please", "sw": "mbaya sana tafadhali"}, func(w *world) {
			w.b.Tenant.Thresholds.NegativeTurns = 1
			w.reader.inject = func(in *graph.Input) { in.Sentiment = understand.Negative }
		}, map[string]string{"en": "unhappy", "sw": "Hajafurahishwa"}, false},
	} {
		for lang, words := range lines {
			t.Run(row.signal+"/"+lang, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.b.Tenant.Locale = lang
				for i := range w.b.Tenant.Admins {
					w.b.Tenant.Admins[i].Language = lang
				}
				w.open()
				if row.before != nil {
					row.before(w)
				}
				inject := w.reader.inject
				w.reader.inject = func(in *graph.Input) {
					if in.Language = lang; inject != nil {
						inject(in)
					}
				}
				w.say(amina, row.say[lang])
				h := w.thread(amina).Handoff
				if h == nil || h.Signal != row.signal || w.thread(amina).Driver != thread.Suspended {
					t.Fatalf("handoff %+v, want %s", h, row.signal)
				}
				got := w.texts()
				want := words[0]
				if !row.asked && lang == "sw" {
					want = "wajiunge nasi"
				}
				if !strings.Contains(got[amina], want) {
					t.Errorf("the customer hears %q", got[amina])
				}
				for _, admin := range []string{wangu, otis} {
					if !strings.Contains(got[admin], words[1]) || !strings.Contains(got[admin], row.why[lang]) || strings.Contains(got[admin], amina) {
						t.Errorf("%s reads %q", admin, got[admin])
					}
				}
				w.replays()
			})
		}
	}
}

// No trigger fires again from turns that lie before the hand-back.
func TestNoTriggerLooksBehindTheHandBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.open()
	w.reader.inject = func(in *graph.Input) { in.Sentiment = understand.Negative }
	w.say(amina, "bad")
	w.say(amina, "very bad")
	w.send()
	w.say(wangu, "/take")
	w.say(wangu, "/done")
	w.send()
	w.want("1", "SELECT COUNT(*) FROM transcript WHERE body ->> 'kind' = 'hand_back'")
	w.say(amina, "still bad")
	if th := w.thread(amina); th.Driver != thread.AgentDriving || th.Counters.Negative != 1 {
		t.Errorf("after the hand-back: %s, %+v", th.Driver, th.Counters)
	}
	w.say(amina, "and bad")
	if th := w.thread(amina); th.Driver != thread.Suspended {
		t.Errorf("two unhappy turns after the hand-back leave it %s", th.Driver)
	}
	w.replays()
}

func TestTheClock(t *testing.T) {
	t.Parallel()
	for _, lang := range []string{"en", "sw"} {
		t.Run(lang, func(t *testing.T) {
			t.Parallel()
			say := func(en, sw string) string {
				if lang == "sw" {
					return sw
				}
				return en
			}
			w := newWorld(t)
			for i := range w.b.Tenant.Admins {
				w.b.Tenant.Admins[i].Language = lang
			}
			w.open()
			w.say(amina, say("let me talk to a person", "nataka kuongea na mtu"))
			w.send()
			w.pass(2*time.Minute - time.Second)
			w.silent(amina)
			w.pass(time.Second)
			w.hears(amina, say("calling the manager", "Naita meneja"))
			w.say(otis, "/help") // engages
			w.send()
			w.pass(8 * time.Minute)
			got := w.texts()
			if !strings.Contains(got[wangu], say("waiting for a person", "amesubiri mtu")) || got[otis] != "" {
				t.Errorf("after ten minutes %q and %q, want a reminder for who has not engaged", got[wangu], got[otis])
			}
			w.pass(40 * time.Minute)
			if n := strings.Count(w.texts()[wangu], say("waiting for a person", "amesubiri mtu")); n != 4 {
				t.Errorf("%d reminders in the next forty minutes, want 4", n)
			}
			w.pass(10*time.Minute + 10*time.Second)
			got = w.texts()
			// Otis has engaged and not taken over, so that nobody is left to be asked.
			if !strings.Contains(got[amina], say("will call you tomorrow morning", "atakupigia simu kesho asubuhi")) {
				t.Errorf("after an hour the customer hears %q", got[amina])
			}
			w.want("callback", "SELECT kind FROM tasks WHERE kind = 'callback'")
			w.want("2026-04-26T06:00:00.000000Z", "SELECT due_at FROM tasks WHERE kind = 'callback'")
			w.pass(3 * time.Hour)
			if got := w.texts(); len(got) > 0 {
				t.Errorf("after the call was promised: %q", got)
			}
			w.say(wangu, say("/take", "/chukua"))
			w.hears(wangu, say("you have #", "sasa unayo #"))
			w.replays()
		})
	}
}

func TestTheNextAdminIsAskedByName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.open()
	w.say(amina, "let me talk to a person")
	w.pass(59 * time.Minute)
	w.send()
	w.pass(2 * time.Minute)
	if got := w.texts(); !strings.Contains(got[otis], "Otis, can you take") || got[amina] != "" {
		t.Errorf("after an hour: %q", got)
	}
	if !w.logged("handoff.escalated") {
		t.Error("the escalation is not in the event log")
	}
	w.want("0", "SELECT COUNT(*) FROM tasks WHERE kind = 'callback'")
	w.pass(time.Hour)
	if got := w.texts(); !strings.Contains(got[amina], "will call you tomorrow") {
		t.Errorf("after two hours: %q", got)
	}
	w.want("1", "SELECT COUNT(*) FROM tasks WHERE kind = 'callback'")
	w.replays()
}

// Every timer of a handoff outlives the process, and what fell due while nobody
// ran happens once.
func TestP11TheClockOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.open()
	w.say(amina, "let me talk to a person")
	w.send()
	w.restart()
	w.pass(2*time.Minute - time.Second)
	w.silent(amina)
	w.pass(time.Second)
	w.hears(amina, "calling the manager")
	w.clock.Add(25 * time.Minute) // nobody runs
	w.restart()
	w.run()
	if n := strings.Count(w.texts()[wangu], "waiting for a person"); n != 1 {
		t.Errorf("%d reminders after a long rest, want one", n)
	}
	w.say(wangu, "/take")
	w.send()
	w.restart()
	w.pass(12 * time.Hour)
	w.hears(wangu, "nothing for twelve hours")
	w.restart()
	w.pass(12 * time.Hour)
	if th := w.thread(amina); th.Driver != thread.Suspended {
		t.Errorf("a day after the last word, with a restart between: %s", th.Driver)
	}
}

// Each business has a clock of its own, and overdue reminders are one.
func TestTheClockIsTheBusinesssOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.b.Tenant.NoticeSeconds, w.b.Tenant.ReminderSeconds, w.b.Tenant.EscalationSeconds = 30, 60, 7200
	w.open()
	w.say(amina, "let me talk to a person")
	w.send()
	w.pass(30 * time.Second)
	w.hears(amina, "calling the manager")
	w.clock.Add(10*time.Minute + 5*time.Second) // nobody ran meanwhile
	w.run()
	if n := strings.Count(w.texts()[wangu], "waiting for a person"); n != 1 {
		t.Errorf("%d reminders at once, want one", n)
	}
	w.pass(25 * time.Second)
	if n := strings.Count(w.texts()[wangu], "waiting for a person"); n != 1 {
		t.Errorf("%d reminders at the next whole minute, want one", n)
	}
}

func TestASilentHumanDoesNotHoldACustomerForEver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.open()
	w.say(amina, "let me talk to a person")
	w.say(wangu, "/take")
	w.send()
	w.pass(11 * time.Hour)
	w.say(wangu, "I am looking")
	w.send()
	w.pass(11 * time.Hour)
	w.silent(wangu)
	w.pass(time.Hour)
	w.hears(wangu, "nothing for twelve hours")
	w.tap(wangu, "/take "+w.thread(amina).Handoff.Code) // "Keep it"
	w.run()
	w.hears(wangu, "what you write now goes to")
	w.pass(12 * time.Hour)
	w.send()
	w.pass(12 * time.Hour)
	th := w.thread(amina)
	if th.Driver != thread.Suspended || th.Handoff.AdminPhone != "" {
		t.Fatalf("a day after the last word: %s, %+v", th.Driver, th.Handoff)
	}
	got := w.texts()
	if got[amina] != "" || got[otis] == "" {
		t.Errorf("after the lapse: %q", got)
	}
	w.pass(2 * time.Minute)
	if got := w.texts(); !strings.Contains(got[amina], "calling the manager") {
		t.Errorf("the clock does not begin afresh: %q", got)
	}
	w.replays()
}

// The thread's time to live stops under a human and begins afresh at the
// hand-back.
func TestTheTimeToLiveStopsUnderAHuman(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.open()
	w.say(amina, "hello")
	w.pass(29 * time.Minute)
	w.say(wangu, "/take "+amina[len(amina)-3:])
	w.pass(5 * time.Hour)
	w.want("HUMAN_DRIVING", "SELECT driver FROM conversation_threads WHERE actor_type = 'customer' AND closed_at IS NULL")
	w.say(wangu, "/done")
	w.pass(29 * time.Minute)
	w.want("AGENT_DRIVING", "SELECT driver FROM conversation_threads WHERE actor_type = 'customer' AND closed_at IS NULL")
	w.pass(2 * time.Minute)
	w.want("0", "SELECT COUNT(*) FROM conversation_threads WHERE closed_at IS NULL")
}

func TestAnAdminPullsAChat(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, command string
		want          []string
	}{
		{"by the end of the phone", "/take 001", []string{"you have #"}},
		{"by the phone as it is dialled", "/chukua 0700 000 001", []string{"you have #"}},
		{"by the whole phone", "/take +254700000001", []string{"you have #"}},
		{"by a name", "/take amina", []string{"you have #"}},
		{"by what several fit", "/take 000", []string{"several customers fit"}},
		{"by nobody's phone", "/take 999", []string{"I find no open chat"}},
		{"by too little", "/take 1", []string{"at least the last three digits"}},
		{"without saying whom", "/take", []string{"nobody waits", "with the assistant now"}},
		{"with what SQL would match", "/take %%%", []string{"I find no open chat", "%%%"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.open()
			w.say(amina, "hello")
			w.say(brian, "hello")
			w.exec("UPDATE contacts SET name = 'Amina' WHERE id = $1", strings.TrimPrefix(string(w.key(amina)), "contact:"))
			w.say("+254700001000", "hello")
			w.say("+254700002000", "hello")
			w.send()
			w.say(wangu, row.command)
			all := w.send()
			if len(all) != 1 || all[0].to != wangu {
				t.Fatalf("sent %v, want an answer to the admin alone: nobody else was waiting", all)
			}
			for _, want := range row.want {
				if !strings.Contains(all[0].out.Text, want) {
					t.Errorf("%q does not say %q", all[0].out.Text, want)
				}
			}
			if row.want[0] == "you have #" {
				if th := w.thread(amina); th.Driver != thread.HumanDriving || th.Handoff.Signal != handoff.AdminPull {
					t.Errorf("%s, %+v", th.Driver, th.Handoff)
				}
				w.say(wangu, "Hi, it's about tomorrow")
				w.hears(amina, "Hi, it's about tomorrow")
			}
			w.replays()
		})
	}
}

func TestAChatIsPulledFromTheList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.open()
	w.say(amina, "hello")
	w.say(brian, "hello")
	w.send()
	w.say(wangu, "/take")
	list := w.send()[0].out
	if list.Kind != message.List || len(list.Sections[0].Rows) != 2 {
		t.Fatalf("offered %+v, want a list of two", list)
	}
	w.deliver(message.Inbound{Kind: message.List, Choice: list.Sections[0].Rows[0].ID, Text: list.Sections[0].Rows[0].Title}, wangu)
	w.run()
	w.hears(wangu, "you have #")
	w.want("1", "SELECT COUNT(*) FROM conversation_threads WHERE driver = 'HUMAN_DRIVING'")
	w.say(otis, "/take 001")
	w.say(otis, "/take 002")
	won, claimed := 0, 0
	for _, text := range w.heard(otis) {
		if strings.Contains(text, "you have #") {
			won++
		}
		if strings.Contains(text, "is claimed by Wangu") {
			claimed++
		}
	}
	if won != 1 || claimed != 1 {
		t.Errorf("Otis took %d and heard of %d", won, claimed)
	}
	w.replays()
}

// A draft is what the agent would have said; /send claims and sends it.
func TestADraftIsSent(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"/send", "/tuma"} {
		w := newWorld(t)
		w.open()
		w.say(amina, "escalate please")
		w.send()
		if h := w.thread(amina).Handoff; h.Draft != "dropped" {
			t.Fatalf("draft %q, want what the turn would have said", h.Draft)
		}
		w.say(otis, command)
		got := w.texts()
		if got[amina] != "dropped\n" || !strings.Contains(got[otis], "sent to #") || !strings.Contains(got[wangu], "claimed by Otis") {
			t.Errorf("after %s: %q", command, got)
		}
		if th := w.thread(amina); th.Driver != thread.HumanDriving || th.Handoff.AdminPhone != otis {
			t.Errorf("after %s: %s, %+v", command, th.Driver, th.Handoff)
		}
		w.say(otis, command)
		w.hears(otis, "there is no draft")
		w.say(wangu, command+" "+w.thread(amina).Handoff.Code)
		w.hears(wangu, "is claimed by Otis")
		w.replays()
	}
}

func TestCommandsThatCannotBe(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		before  []string // Wangu's commands
		command string   // Otis's
		want    string
	}{
		{"an end of what nobody took", nil, "/end", "nobody has taken"},
		{"a hand-back of another's", []string{"/take"}, "/done CODE", "is claimed by Wangu"},
		{"an end of another's", []string{"/take"}, "/funga CODE", "is claimed by Wangu"},
		{"calling off another's", []string{"/take"}, "/dismiss CODE", "is claimed by Wangu"},
		{"a hand-back by one who drives nothing", []string{"/take"}, "/done", "no such chat"},
		{"a take of another's", []string{"/take"}, "/take CODE", "is claimed by Wangu"},
		{"a code of a handoff that is over", []string{"/take", "/done"}, "/take CODE", "no open chat has the code"},
		{"a code nobody has", nil, "/done ZZ", "no open chat has the code #ZZ. Open now: #"},
		{"no command at all", []string{"/take"}, "/tkae", "these are the commands"},
		{"a wide slash", []string{"/take"}, "／done", "no such chat"},
		{"values where there are none", []string{"/dismiss"}, "/done service=massage", "no such chat"},
		{"values the app does not know", nil, "/done CODE service=massage", "takes no values"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.open()
			w.say(amina, "let me talk to a person")
			code := w.thread(amina).Handoff.Code
			for _, c := range row.before {
				w.say(wangu, c)
			}
			w.send()
			before := w.thread(amina)
			w.say(otis, strings.Replace(row.command, "CODE", code, 1))
			got := w.texts()
			if !strings.Contains(got[otis], row.want) || got[amina] != "" {
				t.Errorf("Otis hears %q, the customer %q; want %q", got[otis], got[amina], row.want)
			}
			if after := w.thread(amina); after.Driver != before.Driver || after.Epoch != before.Epoch {
				t.Errorf("%s became %s", before.Driver, after.Driver)
			}
			w.replays()
		})
	}
}

// /done on a card nobody took claims it first.
func TestAnUntakenChatIsHandedBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.open()
	w.say(amina, "let me talk to a person")
	w.send()
	w.say(wangu, "/maliza")
	got := w.texts()
	if !strings.Contains(got[wangu], "has #") || !strings.Contains(got[otis], "claimed by Wangu") || !strings.Contains(got[amina], "here again") {
		t.Errorf("after the hand-back: %q", got)
	}
	if th := w.thread(amina); th.Driver != thread.AgentDriving || th.Handoff != nil {
		t.Errorf("%s, %+v", th.Driver, th.Handoff)
	}
	w.want("0", "SELECT COUNT(*) FROM timers WHERE name LIKE 'handoff_%'")
	w.replays()
}

func TestACustomerWhoTypesACommandIsACustomer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say(amina, "let me talk to a person")
	w.say(brian, "/take")
	w.hears(brian, "/take")
	w.say(wangu, "/take")
	w.send()
	w.say(amina, "/done")
	w.hears(wangu, "/done")
	w.want("1", "SELECT COUNT(*) FROM conversation_threads WHERE driver = 'HUMAN_DRIVING'")
}

// An admin who was a customer before does not take their own chat, and their
// words are none of that customer's.
func TestAnAdminWhoIsACustomerAsWell(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	all := w.b.Tenant.Admins
	w.b.Tenant.Admins = all[1:]
	w.say(wangu, "let me talk to a person")
	w.send()
	code := w.thread(wangu).Handoff.Code
	w.b.Tenant.Admins = all
	w.say(wangu, "/take "+code)
	w.hears(wangu, "your own chat")
	w.say(wangu, "/done "+code)
	w.hears(wangu, "your own chat")
	w.say(wangu, "/take")
	w.hears(wangu, "no such chat")
	w.say(otis, "/take "+code)
	w.send()
	w.say(wangu, "it is about my own visit")
	w.hears(otis, "it is about my own visit")
	w.say(wangu, "/help")
	w.hears(wangu, "these are the commands")
	w.want("0", "SELECT COUNT(*) FROM transcript WHERE body ->> 'text' LIKE '/%'")
}
