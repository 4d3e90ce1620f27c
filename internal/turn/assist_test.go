package turn_test

import (
	"testing"

	"github.com/ratiba/ratiba/internal/app/admin"
	"github.com/ratiba/ratiba/internal/thread"
	"github.com/ratiba/ratiba/internal/turn"
)

// assisted is a world whose admins have their assistant.
func assisted(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	a, err := admin.New()
	if err != nil {
		t.Fatal(err)
	}
	w.b.Admin = a
	return w
}

func TestAnAdminsThreadIsTheirAssistants(t *testing.T) {
	t.Parallel()
	w := assisted(t)
	w.say(wangu, "hello")
	w.hears(wangu, "Hello Wangu", "Customers waiting for a person: 0")
	th := w.thread(wangu)
	if th.Actor != thread.Admin || th.App != admin.Name || th.Node != string(admin.Idle) {
		t.Errorf("the thread: %+v", th)
	}
	w.say(wangu, "what's today like") // no tool of the fake app's
	w.hears(wangu, "cannot be done for this business")
	w.say(wangu, "/help")
	w.hears(wangu, "these are the commands")
	w.clock.Add(turn.CustomerTTL * 2)
	w.run()
	if w.thread(wangu).ID != th.ID {
		t.Error("the session ended before its four hours")
	}
	w.clock.Add(turn.AdminTTL)
	w.run()
	w.want("0", "SELECT COUNT(*) FROM conversation_threads WHERE closed_at IS NULL")
	w.replays()
}

// A checkpoint that this build cannot read holds nothing: the session begins
// again, and nobody is paged.
func TestAnAdminsUnreadableCheckpointBeginsAgain(t *testing.T) {
	t.Parallel()
	w := assisted(t)
	w.say(wangu, "hello")
	w.send()
	w.exec("UPDATE conversation_threads SET graph_version = 99, node = 'GONE'")
	w.say(wangu, "help")
	w.hears(wangu, "in your own words")
	w.exec("UPDATE conversation_threads SET app = 'other'")
	w.say(wangu, "thanks")
	w.hears(wangu, "welcome")
	w.replays()
}

func TestOnBecomingAnAdminTheCustomersThreadCloses(t *testing.T) {
	t.Parallel()
	w := assisted(t)
	admins := w.b.Tenant.Admins
	w.b.Tenant.Admins = admins[:1]
	w.say(otis, "hello")
	w.send()
	customer := w.thread(otis)
	w.b.Tenant.Admins = admins
	w.say(otis, "what's today like")
	w.hears(otis, "closed the conversation", "write that again")
	w.say(otis, "thanks")
	w.hears(otis, "welcome")
	if th := w.thread(otis); th.ID == customer.ID || th.Actor != thread.Admin {
		t.Errorf("the thread: %+v", th)
	}
	w.b.Tenant.Admins = admins[:1] // and no admin any more
	w.say(otis, "hello")
	w.send()
	if th := w.thread(otis); th.Actor != thread.Customer {
		t.Errorf("the thread: %+v", th)
	}
}

// A tap under the assistant's question is for the assistant, whomever they
// drive; what they write goes to the customer.
func TestADrivingAdminsTapStaysWithTheAssistant(t *testing.T) {
	t.Parallel()
	w := assisted(t)
	w.say(amina, "I want to talk to a person")
	w.say(wangu, "/take")
	w.send()
	w.tap(wangu, "admin:yes~old")
	w.run()
	for _, s := range w.send() {
		if s.to != wangu {
			t.Errorf("%s hears %q", s.to, s.out.Text)
		}
	}
	w.say(wangu, "what's today like")
	w.hears(amina, "what's today like")
	w.replays()
}
