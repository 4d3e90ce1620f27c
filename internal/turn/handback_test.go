package turn_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/app"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/handoff"
	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/thread"
	"github.com/ratiba/ratiba/internal/turn"
	"github.com/ratiba/ratiba/internal/understand"
)

// quote writes a message under one that a phone received.
func (w *world) quote(from, text string, s sent) {
	w.Helper()
	w.deliver(message.Inbound{Text: text, ReplyTo: "wamid." + s.ID}, from)
	w.run()
}

func (w *world) last(to string) (found sent) {
	w.Helper()
	for _, s := range w.send() {
		if s.to == to {
			found = s
		}
	}
	if found.ID == "" {
		w.Fatalf("%s hears nothing", to)
	}
	return found
}

func TestAQuoteMeansItsCustomer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.open()
	w.say(amina, "let me talk to a person")
	card := w.last(wangu)
	w.quote(wangu, "tell her yes", card)
	got := w.texts()
	if !strings.Contains(got[wangu], "nobody has taken") || got[amina] != "" {
		t.Errorf("a quote of a card nobody took: %q", got)
	}
	if h := w.thread(amina).Handoff; !slices.Contains(h.Engaged, wangu) || slices.Contains(h.Engaged, otis) {
		t.Errorf("engaged are %v", h.Engaged)
	}
	w.quote(wangu, "/take", card)
	w.hears(wangu, "you have #")
	w.say(amina, "hello?")
	relayed := w.last(wangu)
	w.clock.Add(time.Second)
	w.say(brian, "let me talk to a person")
	second := w.last(wangu)
	w.say(otis, "hello")
	w.send()
	w.clock.Add(time.Second)
	w.say(wangu, "/take "+w.thread(brian).Handoff.Code)
	ack := w.last(wangu)
	w.say(wangu, "for Brian")
	w.hears(brian, "for Brian")
	w.quote(wangu, "for Amina", relayed)
	w.hears(amina, "for Amina")
	w.quote(wangu, "for Brian again", ack)
	w.hears(brian, "for Brian again")
	w.say(amina, "still here")
	w.hears(wangu, "#"+w.thread(amina).Handoff.Code, "✍ #"+w.thread(brian).Handoff.Code, "still here")
	w.quote(wangu, "/done", relayed)
	got = w.texts()
	if !strings.Contains(got[amina], "here again") || got[brian] != "" {
		t.Errorf("a hand-back that quotes Amina: %q", got)
	}
	w.quote(wangu, "one more thing", relayed)
	got = w.texts()
	if !strings.Contains(got[wangu], "is over") || got[amina] != "" || got[brian] != "" {
		t.Errorf("a quote of what is over: %q", got)
	}
	w.quote(otis, "mine now", second)
	w.hears(otis, "Hello Otis") // Otis never got that message: it means nothing to them
	w.quote(wangu, "/take", relayed)
	w.hears(wangu, "you have #")
	if th := w.thread(amina); th.Handoff == nil || th.Handoff.Signal != handoff.AdminPull {
		t.Errorf("quoting /take pulls: %+v", th.Handoff)
	}
	w.replays()
}

// Every command finds its words in Swahili as well.
func TestCommandsInSwahili(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.b.Tenant.Admins[0].Language = "sw"
	w.open()
	w.say(amina, "escalate please")
	w.send()
	for _, row := range []struct{ command, want string }{
		{"/msaada", "amri ni hizi"},
		{"/zaidi", "unataka kufanya nini"},
		{"/mazungumzo", "chat yote"},
		{"/tafsiri", "haiwezi kutafsiriwa"},
		{"/funga", "hakuna aliyechukua"},
		{"/chukua", "sasa unayo"},
		{"/chukua " + w.thread(amina).Handoff.Code, "unachoandika sasa kinaenda"},
		{"/puuza", "unayo #"},
		{"/tuma", "imetumwa kwa"},
		{"/tuma", "hakuna rasimu"},
		{"/maliza huduma=masaji", "haichukui maelezo"},
		{"/maliza", "Msaidizi amechukua tena"},
		{"/maliza", "hakuna chat kama hiyo"},
	} {
		w.say(wangu, row.command)
		if got := w.texts()[wangu]; !strings.Contains(got, row.want) {
			t.Errorf("%s: %q, want %q", row.command, got, row.want)
		}
	}
	w.say(amina, "escalate please")
	w.say(wangu, "/puuza")
	if got := w.texts()[wangu]; !strings.Contains(got, "Msaidizi anaendelea") {
		t.Errorf("/puuza: %q", got)
	}
	w.say(amina, "escalate please")
	w.say(wangu, "/chukua")
	w.say(wangu, "/funga")
	if got := w.texts()[wangu]; !strings.Contains(got, "imefungwa") {
		t.Errorf("/funga: %q", got)
	}
	w.replays()
}

func TestWhatIsNoTextIsRelayedAsWell(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.open()
	w.say(amina, "let me talk to a person")
	w.say(wangu, "/take")
	w.send()
	file := func(kind, caption string) message.Inbound {
		return message.Inbound{Kind: message.Media, Text: caption, Attachment: &message.Attachment{ID: "9001", Kind: kind, Voice: kind == "audio"}}
	}
	long := strings.Repeat("x", 1500)
	for _, row := range []struct {
		name string
		from string
		in   message.Inbound
		want []string // of each message, "file" for one with a file
	}{
		{"a photo with words", amina, file("image", "look"), []string{"file look"}},
		{"a voice note", amina, file("audio", ""), []string{"[voice note]", "file"}},
		{"a photo with more than fits under it", amina, file("image", long), []string{long, "file"}},
		{"a place", amina, message.Inbound{Kind: message.Location, Place: &message.Place{Latitude: -1.3, Longitude: 36.8, Name: "Home"}}, []string{"Home\nhttps://maps.google.com/?q=-1.300000%2C36.800000"}},
		{"a contact", amina, message.Inbound{Kind: message.ContactCard, Cards: []message.Card{{Name: "Ann", Phones: []string{"+254700000009"}}}}, []string{"👤 Ann +254700000009"}},
		{"a reaction", amina, message.Inbound{Kind: message.Reaction, Emoji: "👍"}, []string{"[reacted 👍]"}},
		{"a correction", amina, message.Inbound{Kind: message.Edit, Text: "at four"}, []string{"corrected a message to:] at four"}},
		{"a deletion", amina, message.Inbound{Kind: message.Revoke}, []string{"[deleted a message]"}},
		{"what WhatsApp does not pass on", amina, message.Inbound{Kind: message.Unsupported}, []string{"[unsupported]"}},
		{"an admin's photo", wangu, file("image", "like this"), []string{"file like this"}},
		{"an admin's voice note with words", wangu, file("audio", "listen"), []string{"listen", "file"}},
		{"an admin's place", wangu, message.Inbound{Kind: message.Location, Place: &message.Place{Name: "The Spa"}}, []string{"The Spa"}},
		{"an admin's reaction", wangu, message.Inbound{Kind: message.Reaction, Emoji: "👍"}, nil},
	} {
		w.deliver(row.in, row.from)
		w.run()
		to := wangu
		if row.from == wangu {
			to = amina
		}
		var got []string
		for _, s := range w.send() {
			if s.to != to {
				t.Errorf("%s: %s hears %q", row.name, s.to, s.out.Text)
				continue
			}
			text := s.out.Text
			if s.out.Kind == message.Media {
				text = "file " + s.out.Attachment.Caption
			}
			got = append(got, text)
		}
		if len(got) != len(row.want) {
			t.Errorf("%s: relayed as %q", row.name, got)
			continue
		}
		for i, want := range row.want {
			if first, second, _ := strings.Cut(want, " "); !strings.Contains(got[i], first) || !strings.Contains(got[i], second) {
				t.Errorf("%s: relayed as %q, want %q", row.name, got, row.want)
			}
		}
	}
	w.replays()
}

// What did not arrive is said to who wrote it.
func TestWhoWroteIsToldWhatDidNotArrive(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.open()
	w.say(amina, "let me talk to a person")
	w.say(wangu, "/take")
	w.send()
	failed := func(phone, code string) {
		w.post(phone, mailbox.Event{Kind: mailbox.ReceiptFailed, Name: code, Scope: w.thread(amina).ID})
		w.run()
	}
	failed(amina, "131026")
	w.hears(wangu, "may have blocked us")
	failed(amina, "131000")
	w.hears(wangu, "did not arrive")
	failed(amina, turn.FileLost)
	w.hears(wangu, "could not be passed on")
	failed(wangu, turn.FileLost)
	got := w.texts()
	if !strings.Contains(got[amina], "could not be opened") || !strings.Contains(got[wangu], "asked them to send it again") {
		t.Errorf("a customer's file that is lost: %q", got)
	}
	if got[otis] != "" {
		t.Errorf("Otis hears %q", got[otis])
	}
	w.replays()
}

// A timer of the graph that falls due under a human is heard of at the
// hand-back.
func TestTimersOfTheGraphWaitForTheHandBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.open()
	w.say(amina, "remind me")
	w.say(amina, "let me talk to a person")
	w.say(wangu, "/take")
	w.send()
	w.pass(2 * time.Minute)
	w.silent(amina)
	w.say(wangu, "/done")
	got := w.texts()
	if !strings.Contains(got[amina], "here again") || !strings.Contains(got[amina], "event timer reminder") || strings.Contains(got[amina], "What else") {
		t.Errorf("at the hand-back: %q", got[amina])
	}
	w.replays()
}

// returning phrases the reorientation, or whatever a test has it say.
type returning struct {
	*reader
	say func(facts []string, draft string) string
}

func (u returning) Shape(_ context.Context, role llm.Role, facts []string, draft, _ string, _ understand.IDs) (string, string, error) {
	if role != llm.Reorientation {
		return "", "", nil
	}
	return u.say(facts, draft), "call-9", nil
}

func TestTheHandBackIsOneMessage(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, model, want string }{
		{"in a model's words", "Back with you: massage at three.", "Back with you: massage at three."},
		{"in the template's", "", "Savannah here again. Thank you for your patience. I have noted: massage at three."},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.b.App.Fill = func(s app.Said, slots []handoff.Slot) (app.Filled, *graph.Say) {
				if slots[0].Name != "what" {
					return app.Filled{}, &graph.Say{Text: "echo", Facts: map[string]any{"text": "there is what alone"}}
				}
				return app.Filled{Node: s.Node, State: s.State, Told: []string{slots[0].Value}}, nil
			}
			w.engineWith(returning{w.reader, func(facts []string, _ string) string {
				if len(facts) != 1 || facts[0] != "massage at three" {
					t.Errorf("facts %q", facts)
				}
				return row.model
			}})
			w.open()
			w.say(amina, "let me talk to a person")
			w.say(wangu, "/take")
			w.send()
			w.say(wangu, "/done where=here")
			w.hears(wangu, "there is what alone")
			w.say(wangu, "/done what=massage at three")
			got := w.texts()
			if got[amina] != row.want+"\n\nWhat else can I do for you?\n" || !strings.Contains(got[wangu], "Noted: massage at three") {
				t.Errorf("the hand-back: %q", got)
			}
			w.replays()
		})
	}
}

func TestABriefingFollowsThePage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.models = true
	w.engineWith(w.reader)
	w.b.Tenant.Admins[1].Language = "sw"
	w.open()
	w.say(amina, "let me talk to a person")
	var asked []string
	for _, s := range w.send() {
		if s.Kind == handoff.EffectBrief {
			var e handoff.Effect
			if err := json.Unmarshal(s.Payload, &e); err != nil {
				t.Fatal(err)
			}
			asked = append(asked, e.Language)
		}
	}
	if diff := strings.Join(asked, " "); diff != "en sw" {
		t.Errorf("briefings are asked for in %q, want one for each language of the admins", diff)
	}
	th := w.thread(amina)
	brief := func(lang, code string) {
		raw, err := json.Marshal(handoff.Brief{
			Trigger: handoff.ExplicitRequest, Language: lang, Phone: "+254 7** *** 001", Summary: "S-" + lang, Why: "W", Next: "N", Draft: "D",
			Collected: []handoff.Slot{{Name: "service", Value: "Massage"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		w.post(amina, mailbox.Event{Kind: mailbox.Briefed, Name: code, Scope: th.ID, Data: raw})
		w.run()
	}
	brief("en", th.Handoff.Code)
	all := w.send()
	if len(all) != 1 || all[0].to != wangu || all[0].out.Kind != message.List || !strings.Contains(all[0].out.Text, "S-en") || !strings.Contains(all[0].out.Text, "service: Massage") {
		t.Fatalf("the English briefing: %+v", all)
	}
	var rows []string
	for _, r := range all[0].out.Sections[0].Rows {
		rows = append(rows, strings.Fields(r.ID)[0])
	}
	if got := strings.Join(rows, " "); got != "/take /send /transcript /translate /dismiss" {
		t.Errorf("to tap there is %s", got)
	}
	brief("en", "over") // no code of an open handoff
	w.silent(wangu)
	w.say(wangu, "/take")
	w.send()
	brief("sw", th.Handoff.Code)
	w.silent(otis) // somebody else has taken over
	w.say(wangu, "/send")
	w.hears(amina, "D")
	w.replays()
}

func TestLongChatsAreShownWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.open()
	w.say(amina, "let me talk to a person")
	for i := range 60 {
		w.say(amina, fmt.Sprintf("word %d of the story", i))
	}
	w.send()
	w.say(wangu, "/take")
	if got := w.texts()[wangu]; !strings.Contains(got, "word 0 of") || !strings.Contains(got, "word 59 of") {
		t.Errorf("who takes over does not get everything: %d bytes", len(got))
	}
	w.say(wangu, "/transcript")
	if got := w.texts()[wangu]; strings.Count(got, "▸ word") != 60 || !strings.Contains(got, "▸ let me talk") {
		t.Errorf("the whole chat: %d lines", strings.Count(got, "▸"))
	}
}

// Whatever M-Pesa says while people are with a customer goes to them, and to the
// graph at the hand-back.
func TestEveryPaymentOutcomeDuringAHandoff(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		kind   payment.Kind
		en, sw string
	}{
		{payment.Success, "Status: PAID", "Hali: AMELIPA"},
		{payment.Declined, "NOT PAID: they cancelled", "HAJALIPA: alighairi"},
		{payment.WrongPIN, "NOT PAID: wrong PIN", "HAJALIPA: PIN"},
		{payment.NoFunds, "NOT PAID: not enough money", "HAJALIPA: pesa hazitoshi"},
		{payment.TimedOut, "NOT PAID YET", "HAJALIPA BADO"},
		{payment.PromptExpired, "NOT PAID: the request ran out", "HAJALIPA: muda"},
		{payment.Busy, "NOT PAID: their phone was busy", "HAJALIPA: simu yake"},
		{payment.Limit, "NOT PAID: over a limit", "HAJALIPA: imepita kikomo"},
		{payment.OtherFailure, "Status: NOT PAID", "Hali: HAJALIPA"},
	} {
		for _, taken := range []bool{false, true} {
			t.Run(fmt.Sprint(row.kind, taken), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.b.Tenant.Admins[1].Language = "sw"
				w.open()
				w.say(amina, "owe B1")
				a := w.attempt("A1", amina, "B1")
				w.say(amina, "I want to talk to a person")
				if taken {
					w.say(wangu, "/take")
				}
				w.send()
				o := payment.Outcome{Kind: row.kind, Code: "9", CheckoutID: a.CheckoutID, Phone: a.Phone}
				if row.kind == payment.Success {
					o.Code, o.Receipt, o.Amount = "0", "R1", a.Amount
				}
				if _, err := w.Report(t.Context(), a, payment.Report{Source: payment.FromCallback, Outcome: o}, w.clock.Now()); err != nil {
					t.Fatal(err)
				}
				w.run()
				got := w.texts()
				if !strings.Contains(got[wangu], row.en) || !strings.Contains(got[wangu], "RTB-A1") || !strings.Contains(got[wangu], "+254 7** *** 001") {
					t.Errorf("Wangu reads %q, want %q", got[wangu], row.en)
				}
				if got[amina] != "" || !taken && !strings.Contains(got[otis], row.sw) || taken && got[otis] != "" {
					t.Errorf("everybody hears %q", got)
				}
				if th := w.thread(amina); len(th.Handoff.Missed) != 1 || (th.Driver == thread.HumanDriving) != taken {
					t.Errorf("the thread is %s, %d outcomes wait", th.Driver, len(th.Handoff.Missed))
				}
				w.say(wangu, "/done")
				if got := w.texts()[amina]; !strings.Contains(got, "here again") || !strings.Contains(got, "event payment "+string(row.kind)) {
					t.Errorf("at the hand-back: %q", got)
				}
				w.replays()
			})
		}
	}
}
