package modelcheck

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/thread"
	"github.com/ratiba/ratiba/internal/turn"
)

// Commit implements turn.Store, with the fences of the real one.
func (m *memory) Commit(ctx context.Context, c *turn.Commit, inside func(ctx context.Context, tx db.Tx) error) error {
	return m.write(func(t *memory) error {
		if err := t.fence(c); err != nil {
			return err
		}
		if err := inside(ctx, tx{m: t}); err != nil {
			return err
		}
		if err := t.writeThreads(c); err != nil {
			return err
		}
		t.person(c.Contact.ID).Contact = c.Contact
		if slices.Contains(t.turns, c.TurnID) {
			return fmt.Errorf("record turn: %s was recorded before", c.TurnID)
		}
		t.turns = append(t.turns, c.TurnID)
		for _, r := range c.Outbox {
			t.queue(r)
		}
		for _, tm := range c.Timers {
			t.setTimer(tm, c.Claim.Key)
		}
		for _, task := range c.Tasks {
			t.raise(task)
		}
		for _, p := range c.Events {
			t.post(p.Mailbox, mailbox.Item{Event: &p.Event}, p.Dedupe, c.Now)
		}
		t.finish(c)
		return t.release(c.Claim, t.nextDue(c.Claim.Key, c.Now), 0)
	})
}

func (m *memory) fence(c *turn.Commit) error {
	if m.box(c.Claim.Key).token != c.Claim.Token {
		return turn.ErrLost
	}
	if !c.Supersede {
		return nil
	}
	last := c.Batch.Items[len(c.Batch.Items)-1].Seq
	for _, l := range m.inbox {
		if l.box == c.Claim.Key && l.done == "" && l.item.Message != nil && l.item.Seq > last {
			return turn.ErrSuperseded
		}
	}
	return nil
}

func (m *memory) writeThreads(c *turn.Commit) error {
	for _, w := range []struct {
		th     *thread.Thread
		before int64
	}{{c.Thread, c.Before}, {c.Other, c.OtherBefore}} {
		if w.th == nil {
			continue
		}
		if err := m.writeThread(w.th, w.before); err != nil {
			return err
		}
	}
	if c.Withdraw && c.Other != nil {
		m.withdraw(c.Other.ID, c.Now)
	}
	return nil
}

func (m *memory) writeThread(th *thread.Thread, before int64) error {
	next := detached(th)
	next.Version = before + 1
	for i, old := range m.threads {
		switch {
		case before > 0 && old.ID == th.ID && (old.Version == before || m.faults.NoVersion):
			m.threads[i] = &next
			return nil
		case before == 0 && (old.ID == th.ID || old.Mailbox == th.Mailbox && old.Actor == th.Actor && old.Open()):
			return turn.ErrStale
		}
	}
	if before > 0 {
		return turn.ErrStale
	}
	m.threads = append(m.threads, &next)
	return nil
}

func (m *memory) withdraw(th ids.ThreadID, now time.Time) {
	for i, a := range m.attempts {
		if a.Thread == th && a.Status == payment.Created {
			next := *a
			next.Status, next.SettledAt = payment.Withdrawn, now
			m.attempts[i] = &next
		}
	}
	for i, e := range m.outbox {
		if e.ThreadID == th && e.Kind == payment.EffectPrompt && e.State == outbox.Queued {
			next := *e
			next.State = outbox.Silenced
			m.outbox[i] = &next
		}
	}
}

func (m *memory) setTimer(tm turn.TimerRow, own ids.MailboxKey) {
	m.timers = slices.DeleteFunc(m.timers, func(a alarm) bool {
		return a.box == tm.Mailbox && a.scope == tm.Scope && a.name == tm.Name
	})
	if tm.At.IsZero() {
		return
	}
	m.timers = append(m.timers, alarm{box: tm.Mailbox, scope: tm.Scope, name: tm.Name, at: tm.At, data: tm.Data})
	if tm.Mailbox != own {
		m.wakeUp(tm.Mailbox, tm.At)
	}
}

func (m *memory) raise(r turn.TaskRow) {
	if !slices.ContainsFunc(m.tasks, func(t turn.TaskRow) bool { return t.Key == r.Key }) {
		m.tasks = append(m.tasks, r)
	}
}

func (m *memory) finish(c *turn.Commit) {
	for _, it := range c.Batch.Items {
		if it.Seq == 0 {
			m.timers = slices.DeleteFunc(m.timers, func(a alarm) bool {
				return a.box == c.Claim.Key && a.scope == it.Event.Scope && a.name == it.Event.Name && a.at.Equal(it.ReceivedAt)
			})
			continue
		}
		for i, l := range m.inbox {
			if l.item.Seq == it.Seq && l.done == "" {
				next := *l
				next.done = c.TurnID
				m.inbox[i] = &next
			}
		}
	}
}

func (m *memory) nextDue(key ids.MailboxKey, now time.Time) time.Time {
	for _, l := range m.inbox {
		if l.box == key && l.done == "" {
			return now
		}
	}
	var due time.Time
	for _, a := range m.timers {
		if a.box == key && (due.IsZero() || a.at.Before(due)) {
			due = a.at
		}
	}
	return due
}

func (m *memory) release(c mailbox.Claim, due time.Time, tries int) error {
	b := m.box(c.Key)
	if b.token != c.Token {
		return turn.ErrLost
	}
	b.token, b.until, b.tries, b.crashes = "", time.Time{}, tries, 0
	if b.wake == c.WakeSeq || b.due.IsZero() || !due.IsZero() && b.due.After(due) {
		b.due = due
	}
	return nil
}

// Release implements turn.Store.
func (m *memory) Release(_ context.Context, c mailbox.Claim, due time.Time, failed bool) error {
	tries := 0
	if failed {
		tries = c.Tries + 1
	}
	return m.write(func(t *memory) error { return t.release(c, due, tries) })
}

// ClaimMailboxes implements rows.
func (m *memory) ClaimMailboxes(_ context.Context, now, real time.Time, limit int) ([]mailbox.Claim, time.Time, error) {
	var due []*box
	for i := range m.boxes {
		if b := &m.boxes[i]; !b.due.IsZero() && !b.due.After(now) && !b.until.After(real) {
			due = append(due, b)
		}
	}
	slices.SortFunc(due, func(a, b *box) int {
		if c := a.due.Compare(b.due); c != 0 {
			return c
		}
		return slices.Compare([]byte(a.key), []byte(b.key))
	})
	var claims []mailbox.Claim
	for _, b := range due[:min(limit, len(due))] {
		m.letters++ // any new number will do for a token
		b.token, b.until = fmt.Sprint("lease-", m.letters), real.Add(mailbox.LeaseTime)
		claims = append(claims, mailbox.Claim{Key: b.key, Token: b.token, WakeSeq: b.wake, Tries: b.tries, Crashes: b.crashes})
		b.crashes++
	}
	return claims, time.Time{}, nil
}

// Restart implements rows: leases are dropped, and what was being sent is in
// doubt.
func (m *memory) Restart(_ context.Context, real time.Time) error {
	for i := range m.boxes {
		m.boxes[i].token, m.boxes[i].until = "", time.Time{}
	}
	for i, e := range m.outbox {
		if e.State == outbox.Sending {
			next := *e
			next.State, next.DueAt = outbox.Doubt, real.Add(outbox.DoubtWait)
			m.outbox[i] = &next
		}
	}
	return nil
}
