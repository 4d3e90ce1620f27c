package modelcheck

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/mailbox"
	"github.com/ratiba/ratiba/internal/outbox"
	"github.com/ratiba/ratiba/internal/thread"
	"github.com/ratiba/ratiba/internal/turn"
)

// digest identifies a state up to what decides nothing.
type digest [16]byte

// horizon is how far a time may be from now and still be written as a distance:
// nothing in a path lasts longer, and the visits are further away.
const horizon = 20 * time.Hour

// canon writes a state in a form that equal states share: names drawn at
// random are numbered as they first appear, and times are seconds from now.
type canon struct {
	buf   []byte
	names map[string]int
	s     *state
}

// digest returns the identity of a state.
func (s *state) digest() digest {
	c := &canon{names: make(map[string]int, 32), s: s, buf: make([]byte, 0, 4096)}
	c.database(s.mem)
	c.laboratory()
	sum := sha256.Sum256(c.buf)
	return digest(sum[:16])
}

func (c *canon) str(parts ...string) {
	for _, p := range parts {
		c.buf = append(append(c.buf, p...), 0)
	}
}

func (c *canon) num(n ...int) {
	for _, v := range n {
		c.buf = binary.AppendVarint(c.buf, int64(v))
	}
}

func (c *canon) flag(b ...bool) {
	for _, v := range b {
		if v {
			c.buf = append(c.buf, 1)
		} else {
			c.buf = append(c.buf, 0)
		}
	}
}

// name writes a random name by its order of appearance.
func (c *canon) name(id string) {
	if id == "" {
		c.num(-1)
		return
	}
	n, ok := c.names[id]
	if !ok {
		n = len(c.names)
		c.names[id] = n
	}
	c.num(n)
}

// at writes a time of the product's clock as its distance from now.
func (c *canon) at(t time.Time) { c.from(t, c.s.now) }

func (c *canon) from(t, now time.Time) {
	switch d := t.Sub(now); {
	case t.IsZero():
		c.num(-1 << 40)
	case d < -horizon || d > horizon:
		c.num(int(t.Unix()))
	default:
		c.num(int(d.Round(time.Second) / time.Second))
	}
}

const idLength = 26

// text writes a text with the ids and times in it made canonical.
func (c *canon) text(raw []byte) {
	for i := 0; i < len(raw); {
		switch {
		case raw[i] == '0' && i+idLength <= len(raw) && isID(raw[i:i+idLength]):
			c.name(string(raw[i : i+idLength]))
			i += idLength
		case raw[i] == '2' && i+20 <= len(raw) && raw[i+4] == '-' && raw[i+7] == '-' && raw[i+10] == 'T':
			end := i + 19
			for end < len(raw) && raw[end] != '"' {
				end++
			}
			if t, err := time.Parse(time.RFC3339Nano, string(raw[i:end])); err == nil {
				c.at(t)
			}
			i = end
		case bytes.HasPrefix(raw[i:], codeKey):
			i += 8
			for i < len(raw) && raw[i] != '"' {
				i++
			}
		default:
			c.buf = append(c.buf, raw[i])
			i++
		}
	}
	c.buf = append(c.buf, 0)
}

// codeKey is what stands before a booking's code, which is drawn at random.
var codeKey = []byte(`"code":"`) //nolint:gochecknoglobals // constant.

func isID(b []byte) bool {
	for _, x := range b {
		if (x < '0' || x > '9') && (x < 'A' || x > 'Z') {
			return false
		}
	}
	return true
}

// choice writes a tapped id: the nonce in it is a name.
func (c *canon) choice(id string) {
	plain, nonce, _ := strings.Cut(id, "~")
	c.str(plain)
	c.name(nonce)
}

func (c *canon) database(m *memory) {
	for _, p := range m.contacts {
		c.str(p.Name, p.Language, p.PayerPhone)
		c.flag(p.wrote.IsZero(), c.s.now.Sub(p.wrote) < horizon)
	}
	for _, th := range m.threads {
		if th.Open() || c.referred(m, th) {
			c.thread(th)
		}
	}
	for who := range parties {
		for _, b := range m.boxes {
			if b.key == c.s.key(who) {
				c.num(who)
				c.due(b)
				c.items(m.waiting(b.key))
			}
		}
	}
	for _, e := range m.outbox {
		if unsettled(e.State) {
			c.effect(e)
		}
	}
	for _, a := range m.attempts {
		c.name(a.ID)
		c.name(string(a.Thread))
		c.name(a.Subject)
		c.str(string(a.Status), string(a.Outcome), a.Receipt, strings.Join(a.Surplus, ","), a.CheckoutID)
		c.num(a.Queries)
		c.at(a.CreatedAt)
		if a.Status.Live() {
			c.at(a.SentAt)
		}
	}
	for _, v := range m.bookings {
		c.name(v.ID)
		c.str(string(v.Status), v.receipt)
		c.num(int(v.Paid.Minor))
		c.at(v.Start)
		c.at(v.HoldUntil)
	}
	for _, t := range m.tasks {
		c.str(t.Kind)
		c.text([]byte(t.Key + " " + t.Detail))
	}
}

// referred reports whether a closed thread still decides whether something is
// sent.
func (c *canon) referred(m *memory, th *thread.Thread) bool {
	return slices.ContainsFunc(m.outbox, func(e *effect) bool { return unsettled(e.State) && e.ThreadID == th.ID })
}

func (c *canon) due(b box) {
	c.flag(b.token != "")
	c.at(b.due)
	c.from(b.until, c.s.real)
	c.num(b.tries, b.crashes)
}

func (c *canon) thread(th *thread.Thread) {
	c.name(string(th.ID))
	c.str(th.Node, string(th.Driver), th.Language)
	c.flag(th.Open(), th.Disclosed, th.LastAt.Equal(th.OpenedAt))
	c.num(th.Counters.Turns, th.Counters.LowIntent, th.Counters.Negative, th.Counters.SlotReprompts, th.Counters.Tokens)
	if !th.Open() {
		return
	}
	c.text(th.State)
	if th.Handoff != nil {
		c.handoff(th.Handoff, th.Driver)
	}
	if p := th.Pending; p != nil {
		c.name(p.Nonce)
		c.name(p.OutboxID)
		var asked time.Time
		for _, e := range c.s.mem.outbox {
			if e.ID == p.OutboxID {
				asked = e.sent
			}
		}
		c.flag(asked.IsZero())
		for _, l := range c.s.mem.inbox {
			if l.done == "" && l.item.Message != nil {
				c.flag(l.item.ReceivedAt.Before(asked))
			}
		}
	}
}

func (c *canon) handoff(h *thread.Handoff, driver thread.Driver) {
	c.str(h.Signal, h.AdminPhone, h.Draft)
	c.flag(h.CallBack, len(h.Briefs) > 0)
	c.num(len(h.Engaged), len(h.Asked))
	if driver == thread.Suspended {
		c.at(h.Since)
	}
	for _, t := range h.Timers {
		c.str(t.Name)
		c.text(t.Data)
	}
	for _, raw := range h.Missed {
		c.text(raw)
	}
	for _, a := range c.s.mem.attempts {
		c.flag(a.SettledAt.Before(h.Since))
	}
}

func (c *canon) items(items []mailbox.Item) {
	for _, it := range items {
		if it.Message != nil {
			c.str("m", it.Message.Text)
			c.choice(it.Message.Choice)
			continue
		}
		e := it.Event
		c.str("e", e.Kind)
		c.text([]byte(e.Name))
		c.name(string(e.Scope))
		c.text(e.Data)
		if it.Seq == 0 {
			c.at(it.ReceivedAt)
		}
	}
	c.str("end")
}

func (c *canon) effect(e *effect) {
	c.str(e.Lane, e.Kind, string(e.Origin), string(e.State))
	c.name(e.ID)
	c.name(string(e.ThreadID))
	fresh := false
	for _, th := range c.s.mem.threads {
		fresh = fresh || th.ID == e.ThreadID && th.Epoch == e.Epoch
	}
	c.flag(fresh)
	c.num(e.Resends)
	c.num(e.Tries)
	c.from(e.DueAt, c.s.real)
	c.at(e.ExpiresAt)
	if e.Kind != outbox.SendMessage {
		c.text(e.Payload)
		return
	}
	c.choice(e.button)
	if e.after != "" {
		c.str(string(e.after))
		c.flag(outbox.Send{After: e.after}.Yields(e.Row, c.s.now))
	}
}

// laboratory writes what processes and the world have in hand.
func (c *canon) laboratory() {
	s := c.s
	for who, claim := range s.claims {
		if claim != nil {
			c.num(who)
			c.lease(*claim)
		}
	}
	for _, h := range s.hands {
		c.lease(h.claim)
		c.snapshot(h.snap)
	}
	for _, f := range s.flights {
		c.name(f.ID)
		c.str(f.pushed)
		c.num(f.Tries)
	}
	for _, p := range s.prompts {
		c.name(p.attempt)
		c.flag(p.paid, p.failed)
		if !p.paid && !p.failed {
			c.at(p.at)
		}
	}
	for _, w := range s.words {
		c.name(w.attempt.ID)
		c.str(string(w.report.Outcome.Kind))
	}
	c.choice(s.seen)
	c.num(s.asked)
	c.flag(s.acted)
	c.str(fmt.Sprint(s.left))
}

// lease writes whether a claim still holds and whether something came since.
func (c *canon) lease(claim mailbox.Claim) {
	for _, b := range c.s.mem.boxes {
		if b.key == claim.Key {
			c.str(string(claim.Key))
			c.flag(b.token == claim.Token, b.wake == claim.WakeSeq)
		}
	}
	c.num(claim.Tries, claim.Crashes)
}

// snapshot writes what a turn has read: a thread that has changed since is
// only known to have.
func (c *canon) snapshot(snap turn.Snapshot) {
	c.items(snap.Items)
	for _, it := range snap.Items {
		done := false
		for _, l := range c.s.mem.inbox {
			done = done || it.Seq != 0 && l.item.Seq == it.Seq && l.done != ""
		}
		c.flag(done)
	}
	c.flag(snap.Thread != nil, snap.AskedAt.IsZero(), snap.PaymentOpen)
	if snap.Thread != nil {
		c.version(*snap.Thread)
	}
	for _, th := range snap.Handoffs {
		c.version(th)
	}
	if snap.Attempt != nil {
		c.name(snap.Attempt.ID)
		c.str(string(snap.Attempt.Status))
	}
	for _, a := range snap.Withdrawn {
		c.name(a.ID)
	}
}

func (c *canon) version(th thread.Thread) {
	c.name(string(th.ID))
	for _, now := range c.s.mem.threads {
		if now.ID == th.ID {
			c.flag(now.Version == th.Version)
		}
	}
	if th.Handoff != nil {
		c.str(string(th.Driver), th.Handoff.AdminPhone)
	}
}
