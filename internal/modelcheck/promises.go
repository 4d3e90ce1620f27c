package modelcheck

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/thread"
	"github.com/ratiba/ratiba/internal/turn"
)

// committed holds a commit against the store before it: who has not the lease,
// or read a thread that has changed, changes nothing at all (P3), and nothing
// is done twice (P2).
func committed(before, after *memory, c *turn.Commit, err error) error {
	if err != nil {
		if !same(before, after) {
			return breach("P3", "a commit that failed (%v) left something behind", err)
		}
		return nil
	}
	if before.box(c.Claim.Key).token != c.Claim.Token {
		return breach("P3", "a commit without the lease succeeded")
	}
	for _, w := range []struct {
		th     *thread.Thread
		before int64
	}{{c.Thread, c.Before}, {c.Other, c.OtherBefore}} {
		for _, old := range before.threads {
			if w.th != nil && old.ID == w.th.ID && old.Version != w.before {
				return breach("P3", "a commit over version %d of a thread succeeded on version %d", w.before, old.Version)
			}
		}
	}
	for _, it := range c.Batch.Items {
		for _, l := range before.inbox {
			if it.Seq != 0 && l.item.Seq == it.Seq && l.done != "" {
				return breach("P2", "item %d of the inbox was taken by a second turn", it.Seq)
			}
		}
	}
	return nil
}

// same compares what a commit writes. Rows are never changed in place, so the
// same row is the same pointer.
func same(a, b *memory) bool {
	return slices.Equal(a.inbox, b.inbox) && slices.Equal(a.threads, b.threads) && slices.Equal(a.outbox, b.outbox) &&
		slices.Equal(a.attempts, b.attempts) && slices.Equal(a.bookings, b.bookings) && len(a.tasks) == len(b.tasks) &&
		len(a.timers) == len(b.timers) && slices.Equal(a.boxes, b.boxes)
}

// started is asked when the mark of a send is committed (P5).
func (s *state) started(row outbox.Row) error {
	if s.mem != nil && row.Origin == outbox.Agent && s.mem.driven(row.ContactID) {
		return breach("P5", "a send the agent wrote started while a human drives")
	}
	return nil
}

// onPhone looks at the payer's phone (P6).
func (s *state) onPhone() error {
	last := s.prompts[len(s.prompts)-1]
	for _, p := range s.prompts[:len(s.prompts)-1] {
		if p.attempt == last.attempt {
			return breach("P6", "an attempt was put on the phone twice")
		}
		if !p.paid && !p.failed && s.now.Sub(p.at) < payment.PromptLife {
			return breach("P6", "a second prompt reached the phone while one was live")
		}
	}
	return nil
}

// check holds the promises against a state.
func (s *state) check() error {
	return errors.Join(s.threads(), s.attempts(), s.money(), s.tasks())
}

// threads: one open thread, and a driver that somebody can change.
func (s *state) threads() error {
	open := 0
	for _, th := range s.mem.threads {
		if !th.Open() {
			continue
		}
		open++
		if err := s.driver(th); err != nil {
			return err
		}
	}
	if open > 1 {
		return breach("P3", "%d threads are open", open)
	}
	return nil
}

// driver: whoever speaks is known, and time goes on for who waits.
func (s *state) driver(th *thread.Thread) error {
	h := th.Handoff
	switch th.Driver {
	case thread.AgentDriving:
	case thread.Suspended:
		if h == nil {
			return breach("P5", "a suspended thread has no handoff")
		}
		if !h.CallBack && !s.mem.clocked(th.ID, "escalation") {
			return breach("P11", "a customer waits for a person, and no clock runs")
		}
	case thread.HumanDriving:
		if h == nil || h.AdminPhone == "" {
			return breach("P5", "a human drives, and nobody knows who")
		}
		if !s.mem.clocked(th.ID, "silent") && !s.mem.clocked(th.ID, "lapse") {
			return breach("P11", "a human drives, and may hold the customer for ever")
		}
	case thread.Resumed:
		if !s.waits(func(e *mailbox.Event) bool { return e.Kind == mailbox.Resume && e.Scope == th.ID }) {
			return breach("P5", "a thread was handed back, and nothing will resume it")
		}
	}
	return nil
}

func (s *state) waits(match func(e *mailbox.Event) bool) bool {
	return slices.ContainsFunc(s.mem.inbox, func(l *letter) bool {
		return l.done == "" && l.item.Event != nil && match(l.item.Event)
	})
}

// attempts: a prompt for a yes, one at a time, and none that nobody looks
// after.
func (s *state) attempts() error {
	if len(s.mem.attempts) > s.asked {
		return breach("P6", "%d prompts were asked for, and the customer said yes %d times", len(s.mem.attempts), s.asked)
	}
	live := map[string]int{}
	for _, a := range s.mem.attempts {
		if !a.Status.Live() {
			continue
		}
		if live[a.Subject]++; live[a.Subject] > 1 {
			return breach("P6", "two prompts for one booking are live")
		}
		if !s.attended(a) {
			return breach("P8", "an attempt is %s, and nothing will end it", a.Status)
		}
	}
	return nil
}

// attended reports whether something is left that ends a live attempt.
func (s *state) attended(a *payment.Attempt) bool {
	return slices.ContainsFunc(s.mem.timers, func(t alarm) bool { return t.name == turn.PaymentCheck+a.ID }) ||
		slices.ContainsFunc(s.mem.outbox, func(e *effect) bool {
			return unsettled(e.State) && (e.Kind == promptKind || e.Kind == queryKind) && attemptIn(e.Row) == a.ID
		}) || s.waits(func(e *mailbox.Event) bool { return e.Name == turn.PaymentAttempt+a.ID })
}

// money: whatever came in is a booking, an offer, a task for a person, or still
// on its way to become one of them.
func (s *state) money() error {
	for _, w := range s.words {
		if w.report.Outcome.Kind != payment.Success {
			continue
		}
		receipt := w.report.Outcome.Receipt
		a := s.mem.attempt(w.attempt.ID)
		if s.mentions(receipt) || a.Receipt == receipt && s.mentions(a.ID) {
			continue
		}
		if a.Receipt != receipt && !slices.Contains(a.Surplus, receipt) {
			return breach("P8", "%s was paid and its attempt is %s without it", receipt, a.Status)
		}
		if err := s.placed(a, receipt); err != nil {
			return err
		}
	}
	for _, a := range s.mem.attempts {
		if a.Status == payment.Succeeded && a.Receipt == "" && !s.mentions(a.ID) {
			if err := s.placed(a, ""); err != nil {
				return err
			}
		}
	}
	return nil
}

// mentions reports whether something is still to be acted on that names it.
func (s *state) mentions(what string) bool {
	if s.waits(func(e *mailbox.Event) bool {
		return (e.Kind == mailbox.Payment || e.Kind == mailbox.Missed) && (bytes.Contains(e.Data, []byte(what)) || e.Name == turn.PaymentAttempt+what)
	}) {
		return true
	}
	for _, th := range s.mem.threads {
		if !th.Open() || th.Handoff == nil {
			continue
		}
		for _, raw := range th.Handoff.Missed {
			if bytes.Contains(raw, []byte(what)) {
				return true
			}
		}
	}
	return false
}

// placed wants money that was acted on to be in exactly one booking, whole, or
// on a person's list.
func (s *state) placed(a *payment.Attempt, receipt string) error {
	found := 0
	for _, v := range s.mem.bookings {
		// A query says that a prompt was paid before the callback brings the receipt.
		if v.Paid.IsZero() || v.receipt != receipt && v.receipt != "" || v.receipt == "" && v.ID != a.Subject {
			continue
		}
		returned := v.Status == calendar.Cancelled && s.task(func(t turn.TaskRow) bool { return t.Key == "cancelled:"+v.ID })
		if v.Status != calendar.Confirmed && !returned {
			continue
		}
		found++
		if v.Paid != a.Amount {
			return breach("P8", "%s came in and the booking says %s", a.Amount, v.Paid)
		}
	}
	if found > 1 {
		return breach("P8", "one payment confirmed %d bookings", found)
	}
	listed := s.task(func(t turn.TaskRow) bool {
		return strings.Contains(t.Detail, a.Subject) || t.Key == "mismatch:"+a.ID
	})
	if found == 0 && !listed {
		return breach("P8", "%s (receipt %q) is in no booking and on nobody's list", a.Amount, receipt)
	}
	return nil
}

func (s *state) task(match func(t turn.TaskRow) bool) bool {
	return slices.ContainsFunc(s.mem.tasks, match)
}

// tasks: nothing was put aside because it failed too often.
func (s *state) tasks() error {
	for _, t := range s.mem.tasks {
		if t.Kind == "poison" {
			return breach("no turn fails", "%s", t.Detail)
		}
	}
	return nil
}

func (s *state) contact(who int) ids.ContactID { return s.people[who] }
