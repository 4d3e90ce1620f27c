package chaos

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/sim/journal"
)

// The product's words for what the auditor reads.
const (
	sendMessage  = "message.send"
	payPrompt    = "payment.prompt"
	stateSent    = "sent"
	originAgent  = "agent"
	suspended    = "SUSPENDED_FOR_HUMAN"
	doubtWait    = 60 * time.Second // a send in doubt waits so long for a receipt
	doubtMargin  = time.Second      // for two clocks' readings of it
	resumePrefix = "resume:"
)

// arrivals checks that what was acknowledged is there: every inbound message
// with a 200 has a row.
func (a *audit) arrivals(all []*books) {
	known := map[string]string{}
	for _, b := range all {
		for _, in := range b.inbound {
			if parts := strings.SplitN(in.dedupe, ":", 3); in.kind == "message" && len(parts) == 3 {
				known[parts[2]] = b.slug
			}
		}
	}
	for _, e := range a.e.Journal {
		if e.Kind == journal.InboundPosted && e.HTTPStatus == 200 && known[e.ID] == "" {
			known[e.ID] = "told"
			a.find(Lost, "", "message %s from %s was acknowledged at %s and is in no inbox", e.ID, e.Phone, stamp(e.At))
		}
	}
}

// answers checks that what came in was taken by exactly one turn, which
// answered it.
func (a *audit) answers(b *books) {
	takers := map[int64][]string{}
	turns := map[string]turnRow{}
	for _, t := range b.turns {
		turns[t.id] = t
		for _, seq := range t.items {
			takers[seq] = append(takers[seq], t.id)
		}
	}
	said := map[string]int{} // outbox rows by turn
	for _, out := range b.outbound {
		said[out.turn]++
	}
	for _, in := range b.inbound {
		name := fmt.Sprintf("%s %s (inbox %d)", in.kind, in.dedupe, in.seq)
		by := takers[in.seq]
		switch {
		case len(by) > 1:
			a.find(Twice, b.slug, "%s was taken by turns %s", name, strings.Join(by, ", "))
		case in.doneAt.IsZero():
			a.find(Lost, b.slug, "%s is not done", name)
		case len(by) == 0 || in.turn != by[0]:
			a.find(Lost, b.slug, "%s is marked done by turn %q, which did not take it", name, in.turn)
		case in.kind == "message" && said[in.turn] == 0 && turns[in.turn].driver != suspended:
			a.find(Lost, b.slug, "%s was taken by turn %s, which said nothing to anybody", name, in.turn)
		}
	}
}

// bursts checks that messages which were there long before a turn took their
// neighbours were not left to the next turn.
func (a *audit) bursts(b *books) {
	customers := map[string]bool{} // mailboxes; admins are answered one by one
	for _, th := range b.threads {
		customers[th.mailbox] = customers[th.mailbox] || th.actor == "customer"
	}
	last := map[string]turnRow{}
	rows := map[int64]inboundRow{}
	for _, in := range b.inbound {
		rows[in.seq] = in
	}
	for _, t := range b.turns {
		if len(t.items) == 0 || rows[t.items[0]].kind != "message" || !customers[t.mailbox] {
			delete(last, t.mailbox)
			continue
		}
		before, ok := last[t.mailbox]
		last[t.mailbox] = t
		if first := rows[t.items[0]]; ok && len(before.items) < maxBurst && first.received.Add(burstMargin).Before(before.committed) {
			a.find(Twice, b.slug, "message %s was there at %s, was left out by turn %s at %s and answered by turn %s",
				first.dedupe, stamp(first.received), before.id, stamp(before.committed), t.id)
		}
	}
}

// maxBurst is how many messages a turn takes at most; burstMargin how long a
// message may take from its arrival to its row.
const (
	maxBurst    = 20
	burstMargin = 2 * time.Second
)

// sends checks every message that went out against what the platform took.
func (a *audit) sends(b *books) {
	for _, out := range b.outbound {
		if out.kind != sendMessage {
			continue
		}
		took := a.accepted[out.id]
		switch {
		case out.state == stateSent && len(took) == 0:
			a.find(Lost, b.slug, "send %s is called sent and never reached the platform (sent again %d times, tries %d)", out.id, out.resends, out.tries)
		case out.state == "failed" && !a.failed[out.id]:
			a.find(Lost, b.slug, "send %s was given up after %d tries, code %d, and the platform had not failed it", out.id, out.tries, out.code)
		case out.state == "stale":
			a.find(Lost, b.slug, "send %s was dropped as stale", out.id)
		case len(took) > 1:
			a.repeated(b, out, took)
		}
	}
}

// order checks that what a customer's own turns said came to the phone as it was
// said.
func (a *audit) order(b *books) {
	mailbox := map[string]string{}
	for _, t := range b.turns {
		mailbox[t.id] = t.mailbox
	}
	last := map[string]outboundRow{}
	for _, out := range b.outbound {
		took := a.accepted[out.id]
		if out.kind != sendMessage || len(took) == 0 || mailbox[out.turn] != "contact:"+out.contact {
			continue
		}
		if before, ok := last[out.contact]; ok && took[0].Seq < a.accepted[before.id][0].Seq {
			a.find(Disordered, b.slug, "send %s was taken at %s, before send %s, which was said earlier and taken at %s",
				out.id, stamp(took[0].At), before.id, stamp(a.accepted[before.id][0].At))
		}
		last[out.contact] = out
	}
}

// repeated explains a message that reached the phone more than once, or calls
// it doubled. It is explained when the product repeated it as often, on record,
// and every repetition is explained for itself.
func (a *audit) repeated(b *books, out outboundRow, took []journal.Entry) {
	if len(took)-1 > out.resends {
		a.find(Twice, b.slug, "send %s to %s was taken %d times, and the product has a record of %d repetitions",
			out.id, took[0].Phone, len(took), out.resends)
		return
	}
	for i := range took[1:] {
		a.repetition(b, out, took[i], took[i+1])
	}
}

// repetition explains one: it came a full wait after the one before, and nothing
// the product could have known spoke against it: the answer was lost by the
// network or by a death of the process, and no receipt was acknowledged before.
func (a *audit) repetition(b *books, out outboundRow, first, second journal.Entry) {
	cause := a.answerLost(out.id, first.At, second.At)
	receipt := slices.IndexFunc(a.posted[first.ID], func(e journal.Entry) bool {
		return e.HTTPStatus == 200 && e.At.Before(second.At)
	})
	waited := second.At.Sub(first.At)
	text := fmt.Sprintf("send %s to %s was taken at %s and again after %v", out.id, first.Phone, stamp(first.At), waited.Round(time.Millisecond))
	switch {
	case receipt >= 0:
		a.find(Twice, b.slug, "%s, though a receipt of the first was acknowledged at %s", text, stamp(a.posted[first.ID][receipt].At))
	case waited < doubtWait-doubtMargin:
		a.find(Twice, b.slug, "%s, which is too soon", text)
	case cause == "":
		a.find(Twice, b.slug, "%s, and nothing kept the first answer from the product", text)
	default:
		a.find(Unavoidable, b.slug, "%s: %s, no receipt was acknowledged in between", text, cause)
	}
}

// answerLost says what kept the answer of a send, which was taken at the instant
// at, from the product, "" when nothing did.
func (a *audit) answerLost(id string, at, before time.Time) string {
	for _, f := range a.e.Faults {
		if f.Opaque == id && f.Kind == AnswerLost && f.At.Before(before) && f.At.After(at.Add(-doubtWait/2)) {
			return "the network lost the answer"
		}
	}
	nearest, gap := Kill{}, killMargin
	for _, k := range a.e.Kills {
		// The platform may note a slow send when the process is already dead.
		if d := k.At.Sub(at).Abs(); d < gap {
			nearest, gap = k, d
		}
	}
	if nearest.N == 0 {
		return ""
	}
	return fmt.Sprintf("kill %d of node %d at %s came before that could be noted", nearest.N, nearest.Node+1, stamp(nearest.At))
}

// killMargin is how long after the platform took a send a process may die with
// that unnoted: the answer's way back, and one commit.
const killMargin = 2 * time.Second

// silence checks that the agent said nothing while a person had the chat: from
// the takeover's acknowledgement on, and nothing written under it, until it was
// handed back.
func (a *audit) silence(b *books) {
	for _, ack := range b.outbound {
		if ack.after == "" || len(a.accepted[ack.id]) == 0 {
			continue
		}
		from, until := a.accepted[ack.id][0].At, b.handedBack(ack, a.e.Stopped)
		for _, out := range b.outbound {
			if out.origin != originAgent || out.contact != ack.after || out.kind != sendMessage {
				continue
			}
			under := out.created.After(ack.created) && out.created.Before(until)
			for _, took := range a.accepted[out.id] {
				if under || took.At.After(from) && took.At.Before(until) {
					a.find(Spoken, b.slug, "agent send %s, written %s, went out at %s; the takeover (turn %s, %s) was acknowledged at %s and lasted until %s",
						out.id, stamp(out.created), stamp(took.At), ack.turn, stamp(ack.created), stamp(from), stamp(until))
					break
				}
			}
		}
	}
}

// handedBack is when the takeover that ack acknowledges was over.
func (b *books) handedBack(ack outboundRow, latest time.Time) time.Time {
	for _, in := range b.inbound {
		if strings.HasPrefix(in.dedupe, resumePrefix) && in.mailbox == "contact:"+ack.after && in.received.After(ack.created) && in.received.Before(latest) {
			latest = in.received
		}
	}
	return latest
}
