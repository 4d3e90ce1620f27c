package turn_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ratiba/ratiba/internal/llm"
	"github.com/ratiba/ratiba/internal/store"
	"github.com/ratiba/ratiba/internal/thread"
	"github.com/ratiba/ratiba/internal/turn"
)

// escalate asks people something for a customer's open thread.
func (w *world) escalate(id, phone string) {
	w.Helper()
	th := w.thread(phone)
	if _, err := w.PostEscalation(w.Context(), llm.Escalation{
		ID: id, Thread: th.ID, Contact: th.ContactID, Role: llm.ProcedureStep, Cause: llm.CauseUnsure, At: w.clock.Now(),
		Card: llm.Card{Choices: []llm.Choice{{ID: "yes"}, {ID: "no"}}},
	}, false, w.clock.Now()); err != nil {
		w.Fatal(err)
	}
}

func (w *world) decide(id, choice string) {
	w.Helper()
	if _, _, err := w.Decide(w.Context(), id, llm.Decision{Choice: choice, By: "Wangu", At: w.clock.Now()}, store.Tap{}, w.clock.Now()); err != nil {
		w.Fatal(err)
	}
}

func TestADecisionResumesItsThreadOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say(amina, "hello")
	w.send()
	w.escalate("e1", amina)
	w.run()
	w.silent(amina)
	w.decide("e1", "yes")
	w.decide("e1", "no") // too late
	if n := w.run(); n != 1 {
		t.Errorf("%d turns, want one", n)
	}
	w.hears(amina, "event decided e1")
	if !w.logged("escalation.resumed") {
		t.Error("the event log does not tell")
	}
	w.replays()
}

// While people are asked, the thread is not closed; once nobody decided in
// time, it is told so and its own time runs again.
func TestAThreadOutlivesTheQuestionItWaitsFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say(amina, "hello")
	w.send()
	w.escalate("e1", amina)
	for range 4 {
		w.clock.Add(turn.CustomerTTL)
		w.run()
	}
	w.thread(amina)
	w.silent(amina)
	w.clock.Set(noon.Add(llm.EscalationLife))
	w.run()
	w.hears(amina, "event timer "+turn.Undecided+"e1")
	w.decide("e1", "yes")
	w.run()
	w.silent(amina)
	w.clock.Add(turn.CustomerTTL + time.Second)
	w.run()
	w.want("0", "SELECT COUNT(*) FROM conversation_threads WHERE closed_at IS NULL AND actor_type = 'customer'")
	w.replays()
}

func TestADecisionUnderAHumanWaitsForTheHandBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say(amina, "hello")
	w.escalate("e1", amina)
	w.say(amina, "escalate")
	w.say(wangu, "/take")
	w.send()
	w.decide("e1", "yes")
	w.run()
	w.silent(amina)
	if th := w.thread(amina); th.Driver != thread.HumanDriving || len(th.Handoff.Decided) != 1 {
		t.Fatalf("the thread is %s with %d decisions, want one that waits", th.Driver, len(th.Handoff.Decided))
	}
	w.say(wangu, "/done")
	if heard := strings.Join(w.heard(amina), "\n"); strings.Count(heard, "event decided e1") != 1 {
		t.Errorf("after the hand-back she hears %q, want the decision's answer", heard)
	}
	w.replays()
}

func TestADecisionForAClosedThreadOpensNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say(amina, "hello")
	w.escalate("e1", amina)
	w.say(amina, "goodbye")
	w.send()
	w.decide("e1", "yes")
	w.run()
	w.silent(amina)
	w.want("0", "SELECT COUNT(*) FROM conversation_threads WHERE closed_at IS NULL AND actor_type = 'customer'")
}

// A decision that finds a thread of a newer build waits with the people who get
// the thread.
func TestADecisionForAThreadNobodyReadsIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.say(amina, "hello")
	w.send()
	w.escalate("e1", amina)
	w.exec("UPDATE conversation_threads SET graph_version = 99")
	w.decide("e1", "yes")
	w.run()
	if th := w.thread(amina); th.Driver != thread.Suspended || len(th.Handoff.Decided) != 1 {
		t.Errorf("the thread is %s, want one that waits for a person and has the decision", th.Driver)
	}
	w.say(wangu, "/take")
	w.say(wangu, "/done")
	if th := w.thread(amina); th.Driver != thread.Suspended || len(th.Handoff.Decided) != 1 {
		t.Errorf("handed back, the thread is %s, want people to have it again", th.Driver)
	}
	w.exec("UPDATE conversation_threads SET graph_version = 1")
	w.send()
	w.say(wangu, "/take")
	w.say(wangu, "/done")
	if heard := strings.Join(w.heard(amina), "\n"); strings.Count(heard, "event decided e1") != 1 {
		t.Errorf("once it can be read she hears %q, want the decision's answer", heard)
	}
}
