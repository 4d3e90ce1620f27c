package modelcheck

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/contact"
	"github.com/ratiba/ratiba/internal/db"
	"github.com/ratiba/ratiba/internal/ids"
	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/message"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/thread"
	"github.com/ratiba/ratiba/internal/tool"
	"github.com/ratiba/ratiba/internal/turn"
)

// rows is what the checker drives: one tenant's database. The store in memory
// implements it, and in the cross-check the SQLite one.
type rows interface {
	turn.Store
	outbox.Store
	attempts
	// Post stores an event in a mailbox once.
	Post(ctx context.Context, key ids.MailboxKey, e mailbox.Event, dedupe string, now time.Time) (fresh bool, err error)
	// Receive stores a message once and reports whether it was new.
	Receive(ctx context.Context, m message.Inbound, now time.Time) (fresh bool, err error)
	ClaimMailboxes(ctx context.Context, now, real time.Time, limit int) ([]mailbox.Claim, time.Time, error)
	InFlight(ctx context.Context, c ids.ContactID) (int, error)
	// Restart is the end of a process and the start of the next one.
	Restart(ctx context.Context, real time.Time) error
}

// attempts is what carriers and callbacks do with payment attempts.
type attempts interface {
	Attempt(ctx context.Context, id string) (payment.Attempt, error)
	ChangeAttempt(ctx context.Context, id string, decide func(a payment.Attempt) (payment.Attempt, bool), check func(a payment.Attempt) time.Time) (bool, error)
	Report(ctx context.Context, a payment.Attempt, r payment.Report, now time.Time) (bool, error)
}

// memory is a tenant's database as plain values. Rows are never changed in
// place: a change puts a new one in its stead, so that a copy of the slices is
// a copy of the database.
type memory struct {
	contacts []person
	boxes    []box
	inbox    []*letter
	timers   []alarm
	threads  []*thread.Thread
	outbox   []*effect
	attempts []*payment.Attempt
	bookings []*visit
	tasks    []turn.TaskRow
	turns    []ids.TurnID
	letters  int64 // the last sequence number of the inbox
	effects  int64 // and of the outbox
	faults   Faults
}

// person is a contact. Its index is its party.
type person struct {
	contact.Contact
	wrote time.Time
}

type box struct {
	key            ids.MailboxKey
	due            time.Time // zero: never
	token          string
	until          time.Time
	wake           int64
	tries, crashes int
}

type letter struct {
	box    ids.MailboxKey
	dedupe string
	item   mailbox.Item
	done   ids.TurnID // "" while it waits
}

type alarm struct {
	box   ids.MailboxKey
	scope ids.ThreadID
	name  string
	at    time.Time
	data  any
}

type effect struct {
	outbox.Row
	sent   time.Time
	button string        // the yes it carries, if it asks for one
	after  ids.ContactID // whose sends it waits for
}

func keyOf(c ids.ContactID) ids.MailboxKey { return ids.MailboxKey("contact:" + string(c)) }

func (m *memory) clone() *memory {
	c := *m
	c.contacts, c.boxes, c.inbox = slices.Clone(m.contacts), slices.Clone(m.boxes), slices.Clone(m.inbox)
	c.timers, c.threads, c.outbox = slices.Clone(m.timers), slices.Clone(m.threads), slices.Clone(m.outbox)
	c.attempts, c.bookings, c.tasks = slices.Clone(m.attempts), slices.Clone(m.bookings), slices.Clone(m.tasks)
	c.turns = slices.Clone(m.turns)
	return &c
}

// tx is a transaction over memory. Whatever speaks SQL to it panics: nothing
// of the checked code may.
type tx struct {
	db.Tx
	m *memory
}

// write runs fn over a copy, which takes the place of m when fn succeeds.
func (m *memory) write(fn func(t *memory) error) error {
	c := m.clone()
	if err := fn(c); err != nil {
		return err
	}
	*m = *c
	return nil
}

// Read implements turn.Store.
func (m *memory) Read(_ context.Context, fn func(q db.Q) error) error { return fn(tx{m: m}) }

func (m *memory) person(id ids.ContactID) *person {
	for i := range m.contacts {
		if m.contacts[i].ID == id {
			return &m.contacts[i]
		}
	}
	panic("modelcheck: nobody has the id " + string(id))
}

func (m *memory) box(key ids.MailboxKey) *box {
	for i := range m.boxes {
		if m.boxes[i].key == key {
			return &m.boxes[i]
		}
	}
	m.boxes = append(m.boxes, box{key: key})
	return &m.boxes[len(m.boxes)-1]
}

// wakeUp makes a mailbox due at at, unless it is due earlier.
func (m *memory) wakeUp(key ids.MailboxKey, at time.Time) {
	b := m.box(key)
	b.wake++
	if b.due.IsZero() || b.due.After(at) {
		b.due = at
	}
}

func (m *memory) post(key ids.MailboxKey, it mailbox.Item, dedupe string, now time.Time) bool {
	for _, l := range m.inbox {
		if l.dedupe == dedupe {
			return false
		}
	}
	m.letters++
	it.Seq, it.ReceivedAt = m.letters, now
	m.inbox = append(m.inbox, &letter{box: key, dedupe: dedupe, item: it})
	m.wakeUp(key, now)
	return true
}

// Post implements rows.
func (m *memory) Post(_ context.Context, key ids.MailboxKey, e mailbox.Event, dedupe string, now time.Time) (bool, error) {
	return m.post(key, mailbox.Item{Event: &e}, dedupe, now), nil
}

// Receive implements rows.
func (m *memory) Receive(_ context.Context, in message.Inbound, now time.Time) (bool, error) {
	for i := range m.contacts {
		if m.contacts[i].Phone() != in.From[0].Value {
			continue
		}
		fresh := m.post(keyOf(m.contacts[i].ID), mailbox.Item{Message: &in}, in.Channel+":"+in.Number+":"+in.ProviderID, now)
		if fresh {
			m.contacts[i].wrote = now
		}
		return fresh, nil
	}
	panic("modelcheck: a message from nobody")
}

// Contact implements turn.Store.
func (m *memory) Contact(_ context.Context, id ids.ContactID) (contact.Contact, time.Time, error) {
	p := m.person(id)
	return p.Contact, p.wrote, nil
}

// Transcript implements turn.Store. Words decide nothing here.
func (m *memory) Answered(context.Context, db.Q, ids.ThreadID) ([]tool.Answered, error) {
	return nil, nil
}

func (m *memory) Transcript(context.Context, ids.ThreadID) ([]turn.Line, error) { return nil, nil }

// Quoted implements turn.Store. Nobody quotes here.
func (m *memory) Quoted(context.Context, ids.ContactID, string) (turn.Quoted, bool, error) {
	return turn.Quoted{}, false, nil
}

// Chats implements turn.Store.
func (m *memory) Chats(_ context.Context, q turn.ChatQuery) ([]turn.Chat, error) {
	var out []turn.Chat
	for _, th := range m.threads {
		who := m.person(th.ContactID)
		if th.Open() && (!q.Agent || th.Driver == thread.AgentDriving) && strings.HasSuffix(who.Phone(), q.Digits) {
			out = append(out, turn.Chat{Thread: detached(th), Name: who.Name, Phone: who.Phone()})
		}
	}
	return out, nil
}

// Load implements turn.Store.
func (m *memory) Load(_ context.Context, key ids.MailboxKey) (turn.Snapshot, error) {
	p := m.person(ids.ContactID(strings.TrimPrefix(string(key), "contact:")))
	s := turn.Snapshot{
		Contact: p.Contact, LastInbound: p.wrote, Items: m.waiting(key), Thread: m.open(key), Admins: map[string]turn.AdminContact{},
	}
	if !p.wrote.IsZero() {
		s.Number = number
	}
	if s.Thread != nil {
		m.loadThread(&s)
	}
	for _, a := range m.contacts[partyA:] {
		admin := turn.AdminContact{ID: a.ID, LastInbound: a.wrote}
		if !a.wrote.IsZero() {
			admin.Number = number
		}
		s.Admins[a.Phone()] = admin
	}
	handed := m.handoffs()
	for _, th := range handed {
		s.Codes = append(s.Codes, th.Handoff.Code)
	}
	if p.ID != m.contacts[partyCustomer].ID || s.Thread != nil && s.Thread.Driver == thread.HumanDriving {
		s.Handoffs = handed
	}
	for _, it := range s.Items {
		if it.Event != nil && strings.HasPrefix(it.Event.Name, turn.PaymentAttempt) {
			a := *m.attempt(strings.TrimPrefix(it.Event.Name, turn.PaymentAttempt))
			s.Attempt = &a
			break
		}
	}
	return s, nil
}

func (m *memory) loadThread(s *turn.Snapshot) {
	if p := s.Thread.Pending; p != nil {
		for _, e := range m.outbox {
			if e.ID == p.OutboxID {
				s.AskedAt = e.sent
			}
		}
	}
	for _, a := range m.attempts {
		if a.Thread != s.Thread.ID {
			continue
		}
		s.PaymentOpen = s.PaymentOpen || a.Status.Live()
		if s.Thread.Driver == thread.Resumed && s.Thread.Handoff != nil && a.Status == payment.Withdrawn &&
			!a.SettledAt.Before(s.Thread.Handoff.Since) {
			s.Withdrawn = append(s.Withdrawn, *a)
		}
	}
}

// open is a copy of the open thread of a mailbox that the engine may change.
func (m *memory) open(key ids.MailboxKey) *thread.Thread {
	for _, th := range m.threads {
		if th.Mailbox == key && th.Open() {
			c := detached(th)
			return &c
		}
	}
	return nil
}

// detached is a copy that shares nothing that can be appended to.
func detached(th *thread.Thread) thread.Thread {
	c := *th
	if th.Handoff != nil {
		h := *th.Handoff
		h.Missed, h.Timers = slices.Clip(h.Missed), slices.Clip(h.Timers)
		c.Handoff = &h
	}
	return c
}

func (m *memory) handoffs() []thread.Thread {
	var out []thread.Thread
	for _, th := range m.threads {
		if th.Open() && (th.Driver == thread.Suspended || th.Driver == thread.HumanDriving) {
			out = append(out, detached(th))
		}
	}
	slices.SortStableFunc(out, func(a, b thread.Thread) int { return a.LastAt.Compare(b.LastAt) })
	return out
}

// waiting is what waits in a mailbox: letters in order of arrival, and timers
// by their due time among them.
func (m *memory) waiting(key ids.MailboxKey) []mailbox.Item {
	var timers, out []mailbox.Item
	for _, a := range m.timers {
		if a.box == key {
			timers = append(timers, mailbox.Item{
				Event: &mailbox.Event{Kind: mailbox.Timer, Name: a.name, Scope: a.scope, Data: encode(a.data)}, ReceivedAt: a.at,
			})
		}
	}
	slices.SortFunc(timers, func(a, b mailbox.Item) int {
		if c := a.ReceivedAt.Compare(b.ReceivedAt); c != 0 {
			return c
		}
		return strings.Compare(string(a.Event.Scope)+"\x00"+a.Event.Name, string(b.Event.Scope)+"\x00"+b.Event.Name)
	})
	for _, l := range m.inbox {
		if l.box != key || l.done != "" {
			continue
		}
		for len(timers) > 0 && timers[0].ReceivedAt.Before(l.item.ReceivedAt) {
			out, timers = append(out, timers[0]), timers[1:]
		}
		out = append(out, l.item)
	}
	return append(out, timers...)
}

// clocked reports whether a timer of a thread's handoff is set.
func (m *memory) clocked(th ids.ThreadID, name string) bool {
	return slices.ContainsFunc(m.timers, func(a alarm) bool { return a.scope == th && a.name == "handoff_"+name })
}
