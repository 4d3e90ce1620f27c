package turn_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/handoff"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/thread"
	"github.com/ratiba/ratiba/internal/turn"
)

func fail(a payment.Attempt) (payment.Attempt, bool) {
	a.Status = payment.Failed
	return a, true
}

func never(payment.Attempt) time.Time { return time.Time{} }

func TestATakeoverMakesARunningTurnARelay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say(amina, "I want to talk to a person")
	w.say(wangu, "/take")
	w.say(wangu, "/done")
	w.say(amina, "thanks")
	w.send()
	w.reader.before = func(n int) {
		if n != 2 { // while the second text of Amina's is being understood
			return
		}
		th := w.thread(amina)
		th.Handoff, th.Driver, th.Epoch = &thread.Handoff{Code: "K7", AdminPhone: wangu, AdminName: "Wangu"}, thread.HumanDriving, th.Epoch+1
		w.replace(th)
	}
	w.say(amina, "is anyone there?")
	w.reader.before = nil
	got := w.send()
	if len(got) != 1 || got[0].to != wangu || !strings.Contains(got[0].out.Text, "#K7") || !strings.Contains(got[0].out.Text, "is anyone there?") {
		t.Errorf("sent %v, want the words to Wangu alone", got)
	}
	if !w.logged("turn.stale") || !w.logged("admin.message.relayed") {
		t.Error("the rerun or the relay is not in the event log")
	}
	w.want("0", "SELECT MAX(tries) FROM mailboxes")
}

// replace writes a thread as an admin's turn does beside its own.
func (w *world) replace(th thread.Thread) {
	w.Helper()
	raw, err := json.Marshal(th.Handoff)
	if err != nil {
		w.Fatal(err)
	}
	w.exec("UPDATE conversation_threads SET driver = $2, handoff = $3, epoch = $4, version = version + 1 WHERE id = $1",
		string(th.ID), string(th.Driver), string(raw), th.Epoch)
}

func TestAHumanTakesRelaysAndHandsBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say(amina, "hello")
	w.send()
	w.say(amina, "could I speak to a person?")
	got := w.send()
	if len(got) != 3 {
		t.Fatalf("sent %d messages, want one to the customer and a card to each admin", len(got))
	}
	w.say(amina, "are you there?")
	w.silent(amina)
	w.say(wangu, "/help")
	w.hears(wangu, "these are the commands")
	w.say(wangu, "/take ZZ")
	w.hears(wangu, "no open chat has the code #ZZ")
	w.say(wangu, "/chukua "+w.thread(amina).Handoff.Code)
	for _, s := range w.send() {
		if s.to == otis && !strings.Contains(s.out.Template.Parameters[0], "claimed by Wangu") {
			t.Errorf("Otis hears %q", s.out.Text)
		}
		if s.to == wangu && !strings.Contains(s.out.Text, "are you there?") {
			t.Errorf("the transcript lacks the customer's words: %q", s.out.Text)
		}
	}
	w.say(otis, "/take "+w.thread(amina).Handoff.Code)
	w.hears(otis, "claimed by Wangu")
	w.say(wangu, "Come at ten")
	w.hears(amina, "Come at ten")
	w.deliver(message.Inbound{Kind: message.Media}, wangu)
	w.run()
	w.hears(wangu, "cannot be passed on")
	w.deliver(message.Inbound{Kind: message.Media}, amina)
	w.run()
	w.hears(wangu, "[media]")
	w.say(wangu, "/nonsense")
	w.hears(wangu, "these are the commands")
	w.say(wangu, "/done")
	all := w.send()
	if len(all) != 2 || all[1].to != amina || !strings.Contains(all[1].out.Text, "here again") {
		t.Errorf("after the hand-back: %v", all)
	}
	w.say(wangu, "hello")
	w.hears(wangu, "Customers waiting for a person: 0")
	for _, event := range []string{"handoff.triggered", "admin.handoff.interrupt", "admin.handoff.resume"} {
		if !w.logged(event) {
			t.Errorf("%s is not in the event log", event)
		}
	}
	w.replays()
}

func TestTheChatTakenLastIsInFocus(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say(amina, "I want to talk to a person")
	w.say(brian, "I want to talk to a person")
	first, second := w.thread(amina).Handoff.Code, w.thread(brian).Handoff.Code
	w.say(wangu, "/take "+first)
	w.clock.Add(time.Second)
	w.say(wangu, "/take "+second)
	w.clock.Add(time.Second)
	w.say(amina, "I wrote last")
	w.send()
	w.say(wangu, "for Brian")
	w.hears(brian, "for Brian")
	w.clock.Add(time.Second)
	w.say(wangu, "/take "+first)
	w.send()
	w.say(wangu, "for Amina")
	w.hears(amina, "for Amina")
	// A false alarm is one that nobody took.
	w.say("+254700000003", "I want to talk to a person")
	w.send()
	w.say(wangu, "/dismiss")
	w.want("2", "SELECT COUNT(*) FROM conversation_threads WHERE driver = 'HUMAN_DRIVING'")
	w.replays()
}

func TestWhenTheDrivingAdminIsGoneTheOthersAreCalled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say(amina, "I want to talk to a person")
	w.say(wangu, "/take")
	w.send()
	w.b.Tenant.Admins = w.b.Tenant.Admins[1:]
	w.say(amina, "hello?")
	if th := w.thread(amina); th.Driver != thread.Suspended {
		t.Errorf("driver %s, want it to wait for another admin", th.Driver)
	}
	if texts := w.heard(otis); len(texts) != 1 {
		t.Errorf("Otis hears %q, want the card", texts)
	}
}

func TestP8MoneyUnderAHumanIsNotLost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		verb string
		want string
	}{{"/done", "here again"}, {"/end", "event payment success"}} {
		t.Run(c.verb, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.say(amina, "owe B1")
			a := w.attempt("A1", amina, "B1")
			w.say(amina, "I want to talk to a person")
			w.say(wangu, "/take")
			w.send()
			w.paid(a, "R1")
			w.run()
			w.want("succeeded", "SELECT status FROM payment_attempts")
			texts := map[string]string{}
			for _, s := range w.send() {
				texts[s.to] = s.out.Text
			}
			if texts[amina] != "" || !strings.Contains(texts[wangu], "R1") {
				t.Errorf("under a human: %q, want a line to the admins alone", texts)
			}
			w.say(wangu, c.verb)
			if got := strings.Join(w.heard(amina), "\n"); !strings.Contains(got, c.want) || !strings.Contains(got, "event payment success") {
				t.Errorf("Amina hears %q", got)
			}
			w.replays()
		})
	}
}

func TestMissedMoneyWaitsThroughASecondHandover(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say(amina, "owe B1")
	a := w.attempt("A1", amina, "B1")
	w.say(amina, "I want to talk to a person")
	w.say(wangu, "/take")
	w.paid(a, "R1")
	w.run()
	w.write(wangu, "/done")
	w.deliver(message.Inbound{Text: "I want to talk to a person"}, amina)
	// The customer's word is handled first: the thread is handed back, and the
	// hand-back's own turn has not run.
	w.exec("UPDATE mailboxes SET due_at = NULL WHERE key = $1", string(w.key(amina)))
	w.run()
	w.exec("UPDATE mailboxes SET due_at = $2 WHERE key = $1", string(w.key(amina)), "2026-04-25T09:00:00.000000Z")
	w.run()
	if h := w.thread(amina).Handoff; h == nil || len(h.Missed) != 1 {
		t.Fatalf("handoff %+v, want the payment to wait on", h)
	}
	w.post(amina, mailbox.Event{Kind: mailbox.Missed, Data: w.thread(amina).Handoff.Missed[0]})
	w.run()
	if n := len(w.thread(amina).Handoff.Missed); n != 2 {
		t.Errorf("%d payments wait, want a second one as well", n)
	}
}

func TestPaymentsReachTheThreadThatOwnsThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say(amina, "owe B1")
	a, other := w.attempt("A1", amina, "B1"), w.attempt("A2", amina, "B2")
	w.send()
	w.paid(a, "R1")
	w.paid(a, "R1")
	w.run()
	w.hears(amina, "event payment success")
	w.paid(other, "R1") // the receipt is another attempt's
	w.run()
	w.want("mismatched", "SELECT status FROM payment_attempts WHERE id = 'A2'")
	w.want("R1", "SELECT receipt FROM payment_attempts WHERE id = 'A1'")
	w.hears(amina, "does not fit")
	crossed := other // with the prompt's ids of another attempt as well
	crossed.ID, crossed.Reference, crossed.CheckoutID = "A4", "RTB-A4", ""
	w.insert(crossed)
	crossed.CheckoutID = a.CheckoutID
	w.paid(crossed, "R4")
	w.run()
	w.want("mismatched", "SELECT status FROM payment_attempts WHERE id = 'A4'")
	w.hears(amina, "does not fit")
	w.say(amina, "goodbye")
	w.send()
	late := other
	late.ID, late.Reference, late.CheckoutID, late.Status = "A3", "RTB-A3", "ws_A3", payment.UnknownClosed
	w.insert(late)
	w.paid(late, "R3")
	w.run()
	w.hears(amina, "event payment success") // with no thread, and none is opened
	w.want("0", "SELECT COUNT(*) FROM conversation_threads WHERE closed_at IS NULL")
	w.replays()
}

// racing is a store in which something happens between a turn's reading and
// its commit.
type racing struct {
	turn.Store
	once func()
}

func (r *racing) Load(ctx context.Context, key ids.MailboxKey) (turn.Snapshot, error) {
	s, err := r.Store.Load(ctx, key)
	if r.once != nil {
		r.once()
		r.once = nil
	}
	return s, err
}

// The callback beats the prompt's own answer, which is noted while the callback
// is being settled and shows that it speaks of another prompt.
func TestAPaymentIsSettledOnTheRowAsItIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say(amina, "owe B1")
	a := w.attempt("A1", amina, "B1")
	w.exec("UPDATE payment_attempts SET checkout_id = NULL, status = 'sending'")
	w.send()
	w.paid(a, "R1")
	w.b.Store = &racing{Store: w.Turns, once: func() { w.exec("UPDATE payment_attempts SET checkout_id = 'ws_other', status = 'prompted'") }}
	w.run()
	w.want("mismatched", "SELECT status FROM payment_attempts")
	w.hears(amina, "does not fit")
	w.replays()
}

// Somebody claims news of a payment while it is being settled: the provider is
// still asked.
func TestAClaimDuringASettlementIsAskedAbout(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say(amina, "owe B1")
	a := w.attempt("A1", amina, "B1")
	w.send()
	w.paid(a, "R1")
	w.b.Store = &racing{Store: w.Turns, once: func() { w.exec("UPDATE payment_attempts SET ask_at = $1", db.At(noon.Add(time.Hour))) }}
	w.run()
	w.want("succeeded", "SELECT status FROM payment_attempts")
	w.want("1", "SELECT COUNT(*) FROM timers WHERE name = 'payment_check:A1'")
	w.replays()
}

func TestAPaymentIsAskedAfter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say(amina, "owe B1")
	w.attempt("A1", amina, "B1")
	w.send()
	if _, err := w.ChangeAttempt(t.Context(), "A1", func(a payment.Attempt) (payment.Attempt, bool) { return a, true },
		func(payment.Attempt) time.Time { return noon.Add(25 * time.Second) }); err != nil {
		t.Fatal(err)
	}
	w.clock.Add(25 * time.Second)
	w.run()
	if got := w.send(); len(got) != 1 || got[0].Kind != payment.EffectQuery {
		t.Errorf("effects %v, want one query", got)
	}
	w.replays()
}

func TestAPromptWithdrawnByATakeoverComesBackAtTheHandBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say(amina, "owe B1")
	a := w.attempt("A1", amina, "B1")
	w.exec("UPDATE payment_attempts SET status = 'created' WHERE id = $1", a.ID)
	w.say(amina, "I want to talk to a person")
	w.say(wangu, "/take")
	w.want("withdrawn", "SELECT status FROM payment_attempts")
	w.send()
	w.say(wangu, "/done")
	if got := strings.Join(w.heard(amina), "\n"); !strings.Contains(got, "event payment rejected") {
		t.Errorf("Amina hears %q, want the payment to be asked for again", got)
	}
	w.replays()
}

func TestCodesOfOpenHandoffsDiffer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	seen := map[string]bool{}
	for i := range 60 {
		phone := fmt.Sprintf("+2547110000%02d", i)
		w.say(phone, "I want to talk to a person")
		seen[w.thread(phone).Handoff.Code] = true
	}
	if len(seen) != 60 {
		t.Errorf("%d codes for 60 handoffs", len(seen))
	}
}

// A business with two numbers: everybody hears from the number they wrote to.
func TestEverybodyHearsFromTheNumberTheyKnow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say(wangu, "hello")
	w.deliver(message.Inbound{Text: "I want to talk to a person", Number: "200"}, amina)
	w.run()
	w.say(wangu, "/take")
	w.deliver(message.Inbound{Text: "hello?", Number: "200"}, amina)
	w.run()
	w.say(wangu, "Come at ten")
	for _, s := range w.send() {
		want := map[string]string{amina: "200", wangu: "100"}[s.to]
		if want != "" && s.num != want {
			t.Errorf("%q to %s leaves from %s, want %s", s.out.Text, s.to, s.num, want)
		}
	}
	w.replays()
}

// A hard cost ceiling hands the thread to people: at once when the customer
// could not be understood for it, and with the next message when an answer was
// given that only could not be phrased.
func TestP9ACostCeilingHandsOver(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		say   func(w *world)
		heard []string
	}{
		{"while understanding", func(w *world) {
			w.reader.inject = func(in *graph.Input) { in.OverBudget = true }
			w.say(amina, "look")
		}, []string{"join us"}},
		{"while phrasing", func(w *world) {
			w.reader.unpaid = true
			w.say(amina, "look")
			w.hears(amina, "saw ")
			w.silent(wangu)
			w.want("AGENT_DRIVING", "SELECT driver FROM conversation_threads")
			w.say(amina, "menu")
		}, []string{"join us"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			row.say(w)
			rows := w.send()
			for _, who := range []string{amina, wangu, otis} {
				if !slices.ContainsFunc(rows, func(s sent) bool { return s.to == who }) {
					t.Errorf("%s hears nothing", who)
				}
			}
			if got := rows[0].out.Text; !strings.Contains(got, row.heard[0]) || strings.Contains(got, "saw") {
				t.Errorf("the customer hears %q", got)
			}
			if th := w.thread(amina); th.Driver != thread.Suspended || th.Handoff == nil || th.Handoff.Signal != handoff.BudgetBreach {
				t.Errorf("the thread is %s, %+v", th.Driver, th.Handoff)
			}
			reads := w.reader.reads
			w.say(amina, "hello?")
			if w.reader.reads != reads {
				t.Error("a model may be asked while a person is waited for")
			}
			w.replays()
			w.reader.inject, w.reader.unpaid = nil, false
			w.send()
			w.say(wangu, "/take")
			w.say(wangu, "/done")
			if th := w.thread(amina); th.Counters.OverBudget != 0 {
				t.Errorf("handed back with %+v", th.Counters)
			}
		})
	}
}
