package modelcheck

import (
	"fmt"
	"slices"
	"time"

	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/thread"
)

// Kind is what can happen.
type Kind uint8

// The kinds of action. Those up to Stall come from outside and have budgets;
// the others are the product's own steps.
const (
	Says    Kind = iota // a customer's message: Arg is which
	Burst               // two of them at once
	Tap                 // the yes of the last question that was shown
	Command             // an admin's: Who, and Arg is the verb
	Relay               // an admin writes something that is no command
	Brief               // a model's briefing arrives, with a draft
	Paid                // the provider reports success of prompt Arg
	Unpaid              // and failure
	Again               // and its last word once more
	Clock               // time passes until the next timer falls due
	Wait                // real time passes until a lease or a send runs out
	Crash               // the process dies and starts again

	Turn    // Who's mailbox: a whole turn
	Load    // a turn up to its commit, which is kept in hand
	Commit  // the turn in hand number Arg commits
	Send    // the next effect starts: it is marked as being sent
	Push    // the carrier of flight Arg puts its prompt on the phone
	Settle  // what became of flight Arg is noted
	Lose    // the provider's answer to flight Arg is lost
	Reject  // the provider refuses the prompt of flight Arg
	Succeed // the provider answers the query of flight Arg: paid
	kinds
)

// What a customer says. The words are read by code alone.
const (
	book = iota
	chat
	yes
	human
	stop
)

var words = [...]string{ //nolint:gochecknoglobals // constant texts.
	book: "Massage tomorrow at 10am", chat: "hello", yes: "yes", human: "let me talk to a person", stop: "cancel",
}

// What an admin types. The last takes a chat over that nobody waits in.
const (
	take = iota
	handBack
	closeChat
	dismiss
	sendDraft
	pull
)

var commands = [...]string{ //nolint:gochecknoglobals // constant texts.
	take: "/take", handBack: "/done", closeChat: "/end", dismiss: "/dismiss", sendDraft: "/send", pull: "/take 001",
}

var kindNames = [...]string{ //nolint:gochecknoglobals // constant names.
	"says", "burst", "taps yes", "command", "relay", "briefing", "paid", "unpaid", "callback again", "clock", "wait", "crash",
	"turn", "load", "commit", "send begins", "prompt reaches the phone", "send settles", "answer lost", "prompt refused", "query says paid",
}

// Action is one thing that happens. It names nothing by a random name, so that
// a path can be walked on any store.
type Action struct {
	Kind Kind
	Who  uint8
	Arg  uint8
}

// String names the action as a path shows it.
func (a Action) String() string {
	switch a.Kind {
	case Says:
		return fmt.Sprintf("customer says %q", words[a.Arg])
	case Burst:
		return fmt.Sprintf("customer says %q and %q", words[chat], words[a.Arg])
	case Command:
		return fmt.Sprintf("admin %s: %s", parties[a.Who], commands[a.Arg])
	case Relay, Turn, Load:
		return kindNames[a.Kind] + " of " + parties[a.Who]
	case Commit, Push, Settle, Lose, Reject, Succeed, Paid, Unpaid:
		return fmt.Sprintf("%s (%d)", kindNames[a.Kind], a.Arg)
	case Tap, Brief, Again, Clock, Wait, Crash, Send, kinds:
	}
	return kindNames[a.Kind]
}

// Budget bounds how often things from outside happen on one path.
type Budget struct {
	Outside  int // all of the following together
	Messages int // of the customer, bursts and taps among them
	Commands int // of the admins
	Relays   int // words of theirs that are no command
	Briefs   int // briefings of a model's, which bring a draft
	Callback int // successes and failures; repetitions change nothing and are free
	Clock    int // timers that fall due
	Wait     int // leases and sends that run out
	Crash    int
	Loads    int // turns that something happens in the middle of
	Trouble  int // answers of the provider that are lost, refusals, queries that say paid
}

// spend is what a budget counts of an action.
func (b *Budget) spend(a Action) *int {
	switch a.Kind {
	case Says, Burst, Tap:
		return &b.Messages
	case Command:
		return &b.Commands
	case Brief:
		return &b.Briefs
	case Relay:
		return &b.Relays
	case Paid, Unpaid:
		return &b.Callback
	case Clock:
		return &b.Clock
	case Wait:
		return &b.Wait
	case Crash:
		return &b.Crash
	case Load:
		return &b.Loads
	case Lose, Reject, Succeed:
		return &b.Trouble
	case Again, Turn, Commit, Send, Push, Settle, kinds:
	}
	return nil
}

// enabled lists what can happen in a state.
func (s *state) enabled() []Action {
	var out []Action
	add := func(k Kind, who, arg int) {
		a := Action{Kind: k, Who: uint8(who), Arg: uint8(arg)} //nolint:gosec // both are small.
		if left := s.left.spend(a); left == nil || *left > 0 && s.left.Outside > 0 {
			out = append(out, a)
		}
	}
	s.outside(add)
	for who := range parties {
		if s.due(who) {
			add(Turn, who, 0)
			add(Load, who, 0)
		}
	}
	for i := range s.hands {
		add(Commit, 0, i)
	}
	if s.sendable() {
		add(Send, 0, 0)
	}
	for i, f := range s.flights {
		switch {
		case f.Kind == promptKind && f.pushed == "":
			add(Push, 0, i)
			add(Reject, 0, i)
		case f.Kind == promptKind:
			add(Settle, 0, i)
			add(Lose, 0, i)
		default:
			add(Settle, 0, i)
			if f.Kind == queryKind {
				add(Succeed, 0, i)
			}
		}
	}
	return out
}

// outside adds what comes from people, the provider, time and the machine.
func (s *state) outside(add func(k Kind, who, arg int)) {
	for text := range words {
		add(Says, partyCustomer, text)
	}
	add(Burst, partyCustomer, yes)
	if s.seen != "" {
		add(Tap, partyCustomer, 0)
	}
	s.admins(add)
	for i, p := range s.prompts {
		if !p.paid {
			add(Paid, 0, i)
		}
		if !p.paid && !p.failed {
			add(Unpaid, 0, i)
		}
	}
	if len(s.words) > 0 {
		add(Again, 0, 0)
	}
	// Nothing under way lasts longer than a send may.
	if at := s.nextTimer(); !at.IsZero() && (len(s.flights)+len(s.hands) == 0 || at.Sub(s.now) <= outbox.CarryTime) {
		add(Clock, 0, 0)
	}
	if !s.nextReal().IsZero() {
		add(Wait, 0, 0)
	}
	if len(s.hands)+len(s.flights) > 0 {
		add(Crash, 0, 0)
	}
}

// admins adds what admins write.
func (s *state) admins(add func(k Kind, who, arg int)) {
	handed := s.mem.handoffs()
	last := partyA
	if s.acted {
		last = partyB // the admins are alike: whoever acts first is called A
	}
	for who := partyA; who <= last; who++ {
		for command := range commands {
			if s.sensible(handed, who, command) {
				add(Command, who, command)
			}
		}
	}
	if len(handed) > 0 && handed[0].Driver == thread.HumanDriving {
		add(Relay, s.partyOf(handed[0].Handoff.AdminPhone), 0)
	}
	if len(handed) > 0 && handed[0].Handoff.Draft == "" && len(handed[0].Handoff.Briefs) == 0 {
		add(Brief, partyCustomer, 0)
	}
}

// sensible leaves out commands that can only be answered with "nothing waits".
// A command may be on its way while another changes the thread, so it is
// enough that it makes sense now.
func (s *state) sensible(handed []thread.Thread, who, command int) bool {
	if command == pull {
		th := s.mem.open(s.key(partyCustomer))
		return th != nil && (th.Driver == thread.AgentDriving || th.Driver == thread.Resumed)
	}
	return slices.ContainsFunc(handed, func(th thread.Thread) bool {
		mine := th.Driver == thread.HumanDriving && th.Handoff.AdminPhone == phone(who)
		switch command {
		case take, handBack:
			return th.Driver == thread.Suspended || mine
		case dismiss:
			return th.Driver == thread.Suspended
		case sendDraft:
			return th.Handoff.Draft != "" && (th.Driver == thread.Suspended || mine)
		}
		return mine
	})
}

func (s *state) partyOf(number string) int {
	for who := range parties {
		if phone(who) == number {
			return who
		}
	}
	return partyA
}

// due reports whether a turn of a party's mailbox may begin.
func (s *state) due(who int) bool {
	if s.claims[who] != nil {
		return true
	}
	for _, b := range s.mem.boxes {
		if b.key == s.key(who) {
			return !b.due.IsZero() && !b.due.After(s.now) && !b.until.After(s.real)
		}
	}
	return false
}

func (s *state) sendable() bool {
	return slices.ContainsFunc(s.mem.heads(), func(i int) bool { return !s.mem.outbox[i].DueAt.After(s.real) })
}

// nextTimer is when the next mailbox becomes due that is not yet.
func (s *state) nextTimer() time.Time {
	var next time.Time
	for _, b := range s.mem.boxes {
		if b.due.After(s.now) && (next.IsZero() || b.due.Before(next)) {
			next = b.due
		}
	}
	return next
}

// nextReal is when the next lease, or the mark or delay of a send, runs out.
func (s *state) nextReal() time.Time {
	var next time.Time
	at := func(t time.Time) {
		if t.After(s.real) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, b := range s.mem.boxes {
		at(b.until)
	}
	for _, i := range s.mem.heads() {
		at(s.mem.outbox[i].DueAt)
	}
	return next
}
