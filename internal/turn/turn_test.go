package turn_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/thread"
	"github.com/ratiba/ratiba/internal/turn"
)

func TestP4OneAnswerPerBurst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.b.Tenant.QuietTime = time.Second
	w.write(amina, "one", "two")
	if n := w.run(); n != 0 {
		t.Fatalf("%d turns before the quiet time is over", n)
	}
	w.clock.Add(500 * time.Millisecond)
	w.write(amina, "three")
	w.clock.Add(time.Second)
	if n := w.run(); n != 1 {
		t.Errorf("%d turns, want one", n)
	}
	w.hears(amina, "Savannah, the AI assistant of The Spa", "one\ntwo\nthree")
	w.replays()
}

func TestP4ANewerMessageSupersedesTwiceAtMost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.reader.before = func(n int) { w.write(amina, fmt.Sprint("word ", n)) }
	w.write(amina, "word 0")
	claims, _, err := w.ClaimMailboxes(t.Context(), noon, noon, 10)
	if err != nil || len(claims) != 1 {
		t.Fatalf("claims %v, %v", claims, err)
	}
	if done, _ := w.engine.Handle(t.Context(), w.b, claims[0]); !done {
		t.Fatal("the talkative customer is not answered")
	}
	if w.reader.reads != 3 {
		t.Errorf("understood %d times, want 3: the first and two larger bursts", w.reader.reads)
	}
	w.hears(amina, "word 0\nword 1\nword 2")
	w.reader.before = nil
	w.run()
	w.hears(amina, "word 3")
	w.want("0", "SELECT MAX(tries) FROM mailboxes")
	w.replays()
}

func TestAPanicEndsInOneApologyAndATask(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say(amina, "hello")
	w.send()
	w.write(amina, "panic")
	committed := 0
	for range 10 {
		committed += w.run()
		w.clock.Add(20 * time.Second)
	}
	if committed != 1 {
		t.Errorf("%d commits, want one, so that the apology is sent at once", committed)
	}
	w.hears(amina, "something went wrong")
	w.want("poison", "SELECT kind FROM tasks")
	if n := strings.Count(w.log.String(), `"msg":"turn.failed"`); n != mailbox.MaxTries {
		t.Errorf("%d failures are logged, want %d", n, mailbox.MaxTries)
	}
	if !strings.Contains(w.log.String(), "turn_test.step") {
		t.Error("the event does not hold the stack")
	}
	w.say(amina, "still there?")
	w.hears(amina, "still there?")
	w.replays()
}

func TestACrashLoopIsPutAside(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(amina, "hello")
	at := noon
	for range mailbox.MaxCrashes {
		if claims, _, err := w.ClaimMailboxes(t.Context(), at, at, 10); err != nil || len(claims) != 1 {
			t.Fatalf("claims %v, %v", claims, err)
		}
		at = at.Add(mailbox.LeaseTime) // nobody gave it back
	}
	w.clock.Set(at)
	w.run()
	w.hears(amina, "something went wrong")
	w.want("poison", "SELECT kind FROM tasks")
	w.replays()
}

// away is a store whose database cannot be reached for a commit.
type away struct {
	turn.Store
	stop func()
}

func (a away) Commit(context.Context, *turn.Commit, func(context.Context, db.Tx) error) error {
	if a.stop != nil {
		a.stop()
		return context.Canceled
	}
	return fmt.Errorf("commit: %w", io.ErrUnexpectedEOF)
}

func TestWhatIsNobodysFaultCountsAsNoTry(t *testing.T) {
	t.Parallel()
	for name, stopping := range map[string]bool{"the database is away": false, "the process stops": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.write(amina, "hello")
			for range mailbox.MaxTries + 1 {
				ctx, cancel := context.WithCancel(t.Context())
				b, broken := w.b, away{Store: w.b.Store}
				if stopping {
					broken.stop = cancel
				}
				b.Store = broken
				claims, _, err := w.ClaimMailboxes(t.Context(), w.clock.Now(), w.clock.Now(), 1)
				if err != nil || len(claims) != 1 || claims[0].Tries != 0 || claims[0].Crashes != 0 {
					t.Fatalf("claims %+v, %v; want one that was never tried", claims, err)
				}
				if done, _ := w.engine.Handle(ctx, b, claims[0]); done {
					t.Fatal("a turn was committed without a database")
				}
				cancel()
				w.clock.Add(time.Second)
			}
			w.run()
			w.hears(amina, "hello")
			w.want("0", "SELECT COUNT(*) FROM tasks")
		})
	}
}

func TestAConfirmationIsAYesToItsQuestion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		do     func(w *world, nonce string)
		yes    bool
		unsent bool // the question is still on its way
	}{
		{name: "a typed yes after the question was sent", do: func(w *world, _ string) { w.say(amina, "yes") }, yes: true},
		{name: "a typed yes with courtesy beside it", do: func(w *world, _ string) { w.say(amina, "yes", "thank you") }, yes: true},
		{name: "a typed yes before the question was sent", do: func(w *world, _ string) { w.say(amina, "yes") }, unsent: true},
		{name: "a typed yes from before the question was sent, handled after", unsent: true, do: func(w *world, _ string) {
			w.write(amina, "yes")
			w.clock.Add(time.Second)
			w.send()
			w.run()
		}},
		{name: "a tap on the question", do: func(w *world, nonce string) { w.tap(amina, nonce); w.run() }, yes: true},
		{name: "a tap and thanks", do: func(w *world, nonce string) { w.tap(amina, nonce); w.write(amina, "thank you"); w.run() }, yes: true},
		{name: "a tap and a change of mind", do: func(w *world, nonce string) { w.tap(amina, nonce); w.write(amina, "no wait, make it four"); w.run() }},
		{name: "a change and a tap", do: func(w *world, nonce string) { w.write(amina, "make it four"); w.tap(amina, nonce); w.run() }},
		{name: "a tap on an older question", do: func(w *world, nonce string) {
			w.say(amina, "buy another")
			w.send()
			w.tap(amina, nonce)
			w.run()
		}},
		{name: "a tap without a nonce", do: func(w *world, _ string) { w.tap(amina, "yes"); w.run() }},
		{name: "something else", do: func(w *world, _ string) { w.say(amina, "what is it?") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.say(amina, "buy it")
			nonce := "yes~" + w.thread(amina).Pending.Nonce
			if !c.unsent {
				for _, s := range w.send() {
					if len(s.out.Buttons) != 1 || s.out.Buttons[0].ID != nonce {
						t.Fatalf("the question offers %v, want %s", s.out.Buttons, nonce)
					}
				}
				w.clock.Add(time.Second)
			}
			c.do(w, nonce)
			want := "0"
			if c.yes {
				want = "1"
			}
			w.want(want, "SELECT COUNT(*) FROM tool_calls WHERE tool = 'pay'")
			w.want(want, "SELECT COUNT(*) FROM outbox WHERE kind = 'payment.prompt'")
			w.replays()
		})
	}
}

func TestAConflictRunsTheStepsAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		refuse int
		want   string
		fails  int
	}{
		{"none", 0, "it is yours", 0},
		{"one", 1, "it is yours", 0},
		{"three", 3, "it is yours", 0},
		{"four: one try fails", 4, "it is yours", 1},
		{"without end", 1000, "something went wrong", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.refuse = c.refuse
			w.write(amina, "grab one")
			for range 4 {
				w.run()
				w.clock.Add(20 * time.Second)
			}
			w.hears(amina, c.want)
			if n := strings.Count(w.log.String(), `"msg":"turn.failed"`); n != c.fails {
				t.Errorf("%d tries failed, want %d", n, c.fails)
			}
			if w.reader.reads != c.fails+1 && c.fails < 3 {
				t.Errorf("understood %d times, want once a try", w.reader.reads)
			}
			w.replays()
		})
	}
}

func TestAStateOfAnotherVersionIsHandedOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say(amina, "remind me")
	w.send()
	w.b.App = fakeApp(t, 3) // with no upgrade from 1
	w.say(amina, "hello again")
	w.hears(amina, "join us")
	th := w.thread(amina)
	if th.Driver != thread.Suspended || th.GraphVer != 1 {
		t.Errorf("thread %+v, want it suspended and its state untouched", th)
	}
	w.say(wangu, "/take")
	w.say(wangu, "/end")
	w.say(amina, "hello")
	if th := w.thread(amina); th.GraphVer != 3 || th.Driver != thread.AgentDriving {
		t.Errorf("the next thread is %+v, want one of this version", th)
	}
}

func TestTheTimeToLiveStopsUnderAHumanAndAnOpenPayment(t *testing.T) {
	t.Parallel()
	open := func(w *world) string {
		return w.text("SELECT COUNT(*) FROM conversation_threads WHERE closed_at IS NULL")
	}
	for _, c := range []struct {
		name  string
		do    func(w *world)
		after func(w *world)
	}{
		{"nobody goes on", func(*world) {}, nil},
		{"a payment is open", func(w *world) { w.attempt("A1", amina, "B1") }, func(w *world) {
			if _, err := w.ChangeAttempt(t.Context(), "A1", fail, never); err != nil {
				w.Fatal(err)
			}
		}},
		{"a human is waited for", func(w *world) { w.say(amina, "I want to talk to a person") }, func(w *world) {
			w.say(wangu, "/take")
			w.say(wangu, "/done")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.say(amina, "hello")
			c.do(w)
			if c.after != nil {
				for range 3 {
					w.clock.Add(31 * time.Minute)
					w.run()
				}
				if open(w) != "1" {
					t.Fatal("the thread was closed")
				}
				c.after(w)
			}
			w.clock.Add(31 * time.Minute)
			w.run()
			if open(w) != "0" {
				t.Error("the thread is still open")
			}
			w.want("1", "SELECT COUNT(*) FROM tool_calls WHERE tool = 'release'")
			w.want("0", "SELECT COUNT(*) FROM timers WHERE mailbox_key LIKE 'contact:%'")
			w.replays()
		})
	}
}

func TestAContactWhoFloodsIsToldOnceAndLosesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.b.Tenant.Thresholds.MaxTurns = 1000
	for i := range 70 {
		w.say(amina, fmt.Sprint("word ", i))
	}
	if w.reader.reads != 60 {
		t.Errorf("understood %d turns, want 60", w.reader.reads)
	}
	told := 0
	for _, text := range w.heard(amina) {
		if strings.Contains(text, "faster than I can follow") {
			told++
		}
	}
	if told != 1 {
		t.Errorf("told %d times, want once", told)
	}
	w.want("70", "SELECT COUNT(*) FROM transcript WHERE direction = 'in'")
	w.say(brian, "hello")
	w.hears(brian, "hello")
	w.say(amina, "I want to talk to a person")
	w.hears(amina, "asked someone")
	w.replays()
}

func TestTheDisclosureIsNotLostWithADroppedLine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.reader.inject = func(in *graph.Input) { in.AboutBot, in.Intent = true, graph.Book }
	w.say(amina, "are you a robot? escalate")
	w.hears(amina, "Savannah, the AI assistant of The Spa", "join us")
}

func TestEveryKindHasAnEffect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		m    message.Inbound
		want string
	}{
		{message.Inbound{Kind: message.Media}, "can't open"},
		{message.Inbound{Kind: message.Location}, "can't open"},
		{message.Inbound{Kind: message.Unsupported}, "can't open"},
		{message.Inbound{Kind: message.Media, Text: "this one"}, "this one"},
		{message.Inbound{Kind: message.Edit, Text: "corrected", Target: "m1"}, "corrected"},
		{message.Inbound{Kind: message.Reaction, Emoji: "👍"}, ""},
		{message.Inbound{Kind: message.Revoke, Target: "m1"}, ""},
		{message.Inbound{Kind: message.System, Detail: "user_changed_number"}, ""},
		{message.Inbound{Text: "look"}, `phrased: saw {"n":1}`},
		{message.Inbound{Text: "menu"}, "choose"},
		{message.Inbound{Text: "phone please"}, "share it"},
		{message.Inbound{Text: "everyone"}, "hello"},
		{message.Inbound{Text: "are you a robot?"}, "not a person"},
	} {
		t.Run(string(c.m.Kind)+" "+c.m.Text, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.deliver(c.m, amina)
			if n := w.run(); n != 1 {
				t.Errorf("%d turns, want one", n)
			}
			if c.want == "" {
				w.silent(amina)
			} else {
				w.hears(amina, c.want)
			}
			w.want("0", "SELECT COUNT(*) FROM inbox WHERE done_at IS NULL")
			w.replays()
		})
	}
}

func TestTimersTasksAndEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say(amina, "remind me")
	w.want("callback", "SELECT kind FROM tasks")
	w.send()
	w.clock.Add(time.Minute)
	w.run()
	w.hears(amina, "event timer reminder")
	w.say(amina, "remind me")
	w.say(amina, "goodbye")
	w.send()
	w.clock.Add(time.Hour) // the reminder belongs to a thread that is closed
	w.run()
	w.silent(amina)
	w.post(amina, mailbox.Event{Kind: mailbox.ReceiptFailed, Name: "131026"})
	w.run()
	w.want("undelivered", "SELECT kind FROM tasks WHERE detail LIKE '%131026'")
	w.replays()
}

func TestAnEventThatFailsIsPutAsideWithoutAnApology(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say(amina, "owe poisonous")
	w.send()
	w.paid(w.attempt("A1", amina, "poisonous"), "R1")
	for range 4 {
		w.run()
		w.clock.Add(20 * time.Second)
	}
	w.silent(amina)
	w.want("poison", "SELECT kind FROM tasks")
	w.want("succeeded", "SELECT status FROM payment_attempts") // money needs no app
	w.replays()
}

func TestWhoSpeaksIsToldAgainWhenTheFirstAnswerNeverCame(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say(amina, "hello")
	w.hears(amina, "Savannah, the AI assistant of The Spa")
	w.post(amina, mailbox.Event{Kind: mailbox.ReceiptFailed, Name: "131026", Scope: w.thread(amina).ID})
	w.run()
	w.clock.Add(time.Second)
	w.say(amina, "are you there?")
	w.hears(amina, "Savannah, the AI assistant of The Spa")
	w.post(amina, mailbox.Event{Kind: mailbox.ReceiptFailed, Name: "131026", Scope: w.thread(amina).ID})
	w.run()
	w.say(amina, "and now?")
	if strings.Contains(strings.Join(w.heard(amina), " "), "Savannah") {
		t.Error("told again for an answer that told nothing")
	}
}

func TestARequestIsAnsweredInItsLanguage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say(amina, "nataka kuongea na mtu")
	w.hears(amina, "msaidizi wa AI", "Nimemwomba")
}

func TestModelsThatTakeTooLongDoNotFailTheTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.reader.err = context.DeadlineExceeded
	w.say(amina, "hello")
	w.hears(amina, "hello")
	w.reader.err = errors.New("the understanding is broken")
	w.say(amina, "hello")
	w.silent(amina)
	if n := strings.Count(w.log.String(), `"msg":"turn.failed"`); n != 1 {
		t.Errorf("%d failures are logged, want one", n)
	}
}

// unloadable is a store whose mailboxes cannot be read.
type unloadable struct {
	turn.Store
	due time.Time
}

func (u *unloadable) Load(context.Context, ids.MailboxKey) (turn.Snapshot, error) {
	return turn.Snapshot{}, errors.New("no such contact")
}

func (u *unloadable) Release(_ context.Context, _ mailbox.Claim, due time.Time, _ bool) error {
	u.due = due
	return nil
}

func TestAMailboxThatCannotBeReadRests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, tries := range []int{0, 5, 40, 64, 1000} {
		u := &unloadable{Store: w.Turns}
		w.b.Store = u
		w.engine.Handle(t.Context(), w.b, mailbox.Claim{Key: "contact:nobody", Tries: tries})
		if rest := u.due.Sub(noon); rest < time.Second || rest > time.Hour {
			t.Errorf("after %d tries it rests %v", tries, rest)
		}
	}
}

// settledAt is a store whose commits leave the mailbox due at a given time.
type settledAt struct {
	turn.Store
	due time.Time
}

func (s settledAt) Commit(ctx context.Context, c *turn.Commit, inside func(context.Context, db.Tx) error) error {
	err := s.Store.Commit(ctx, c, inside)
	c.Due = s.due
	return err
}

func TestATurnSaysWhenToLookAgain(t *testing.T) {
	t.Parallel()
	later := noon.Add(time.Minute)
	tests := []struct {
		name, from, text string
		due              time.Time // of the mailbox, as the commit left it
		lost             bool      // the lease is another's
		want             time.Time
	}{
		{"a timer runs", amina, "hello", later, false, later},
		{"something waits", amina, "hello", noon, false, noon},
		{"nothing waits", amina, "hello", time.Time{}, false, time.Time{}},
		{"the lease was lost", amina, "hello", later, true, noon},
		{"another mailbox was posted to", wangu, "/done", later, false, noon},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.say(amina, "hello")
			w.say(amina, "could I speak to a person?")
			w.say(wangu, "/take "+w.thread(amina).Handoff.Code)
			w.write(tc.from, tc.text)
			claims, _, err := w.ClaimMailboxes(t.Context(), noon, noon, 10)
			if err != nil || len(claims) != 1 {
				t.Fatalf("claims %v, %v", claims, err)
			}
			if tc.lost {
				claims[0].Token = "another's"
			}
			w.b.Store = settledAt{w.Turns, tc.due}
			committed, due := w.engine.Handle(t.Context(), w.b, claims[0])
			if committed == tc.lost || !due.Equal(tc.want) {
				t.Errorf("committed %t, look again at %v; want %t, %v", committed, due, !tc.lost, tc.want)
			}
		})
	}
}
