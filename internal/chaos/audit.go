package chaos

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ratiba/ratiba/internal/sim/journal"
)

// Column is what is counted.
type Column string

// The columns. All but Unavoidable must be empty.
const (
	// Unacknowledged: webhooks that never got a 200, though the providers repeat them.
	Unacknowledged Column = "webhooks never acknowledged"
	// Lost: messages that got a 200 and are not there, not done or not answered,
	// and answers that are called sent and never reached the provider.
	Lost Column = "messages lost"
	// Twice: what was answered by two turns, or reached a phone twice without
	// being unavoidable.
	Twice Column = "messages answered twice"
	// Disordered: what one conversation said, on the phone in another order.
	Disordered Column = "messages out of order"
	// Spoken: agent sends that started after a takeover.
	Spoken Column = "agent sends after a takeover"
	// MoneyLost: a customer was charged and nothing settled it.
	MoneyLost Column = "payments lost"
	// MoneyDoubled: one confirmation prompted twice, one payment credited twice,
	// or two taken for one booking and none given back.
	MoneyDoubled Column = "payments doubled"
	// Overlapping: two bookings have the same person's time, buffers included.
	Overlapping Column = "bookings overlapping"
	// Missed: timers that are overdue at the end, or that were lost.
	Missed Column = "timers missed"
	// Leaked: reservations, leases and effects that nobody will end.
	Leaked Column = "reservations leaked"
	// Unread: chats that a node gave to a person because their state was of a
	// version it does not read, while a node lived that does.
	Unread Column = "chats handed over unread"
	// Lingering: processes that were asked to stop and were not gone in ten seconds.
	Lingering Column = "processes slow to stop"
	// Unavoidable: sends that reached a phone twice because neither an answer nor
	// a receipt of the first could be had in time. Providers take no
	// idempotency key, so that there is no other way.
	Unavoidable Column = "unavoidable"
)

// Columns are all columns in the order of the table.
func Columns() []Column {
	return []Column{Unacknowledged, Lost, Twice, Disordered, Spoken, MoneyLost, MoneyDoubled, Overlapping, Missed, Leaked, Unread, Lingering, Unavoidable}
}

// Finding is one thing that is not in order.
type Finding struct {
	Column   Column
	Business string
	What     string // with the ids to look it up by
}

// Totals are what there was to audit.
type Totals struct {
	MessagesIn, MessagesOut, Turns, Threads int
	Carried                                 int // threads that went on under a later version than they began with
	PaidBookings, Prompts, Charged          int
	Deliveries, Redeliveries                int // of webhooks, all attempts and those beyond the first
	Resent, InDoubt                         int // sends repeated by the product; sends whose answer the network lost
	WebhookFaults, CallFaults               int
}

// audit is one audit under way.
type audit struct {
	e        Evidence
	accepted map[string][]journal.Entry // by the product's id of the send
	failed   map[string]bool            // sends the platform took and reported as failed
	refused  map[string]int
	posted   map[string][]journal.Entry // status posts by message id
	findings []Finding
	totals   Totals
}

// Audit reads the evidence and returns what is not in order, in the order of
// the columns.
func Audit(ctx context.Context, e Evidence) ([]Finding, Totals, error) {
	a := &audit{
		e: e, accepted: map[string][]journal.Entry{}, failed: map[string]bool{}, refused: map[string]int{},
		posted: map[string][]journal.Entry{},
	}
	if len(e.Journal) > 0 && e.Journal[0].Seq > 1 {
		return nil, a.totals, fmt.Errorf("audit: the journal begins at %d: it was too small for the run", e.Journal[0].Seq)
	}
	a.index()
	for _, what := range unacknowledged(e.Journal, e.Stopped.Add(-cutoff)) {
		a.find(Unacknowledged, "", "%s", what)
	}
	var all []*books
	for _, slug := range slices.Sorted(maps.Keys(e.Businesses)) {
		b, err := readBooks(ctx, slug, e.Businesses[slug])
		if err != nil {
			return nil, a.totals, err
		}
		all = append(all, b)
		a.count(b)
		a.answers(b)
		a.bursts(b)
		a.sends(b)
		a.order(b)
		a.silence(b)
		a.bookings(b)
		a.work(b)
	}
	a.arrivals(all)
	a.money(all)
	a.versions()
	order := map[Column]int{}
	for i, c := range Columns() {
		order[c] = i
	}
	slices.SortStableFunc(a.findings, func(x, y Finding) int {
		return cmp.Or(cmp.Compare(order[x.Column], order[y.Column]), cmp.Compare(x.Business, y.Business))
	})
	return a.findings, a.totals, nil
}

func (a *audit) find(c Column, business, format string, args ...any) {
	a.findings = append(a.findings, Finding{Column: c, Business: business, What: fmt.Sprintf(format, args...)})
}

// index arranges the journal by what its entries are about.
func (a *audit) index() {
	for _, e := range a.e.Journal {
		switch e.Kind {
		case journal.SendAccepted:
			a.accepted[e.Opaque] = append(a.accepted[e.Opaque], e)
		case journal.SendFailed:
			a.failed[e.Opaque] = true
		case journal.SendRefused:
			a.refused[e.Opaque]++
		case journal.StatusPosted:
			a.posted[e.ID] = append(a.posted[e.ID], e)
			a.delivery(e)
		case journal.InboundPosted, journal.CallbackPost:
			a.delivery(e)
		case journal.PushAccepted:
			a.totals.Prompts++
		case journal.PromptEnded:
			if e.Receipt != "" {
				a.totals.Charged++
			}
		case journal.MarkedRead, journal.PushRefused, journal.Queried, journal.CardPosted, journal.CardUpdated, journal.Whispered, journal.CardRefused, journal.TapPosted, journal.OrderAccepted,
			journal.OrderRefused, journal.OrderEnded, journal.NotifyPosted, journal.ReversalAsked, journal.ReversalTold, journal.ReversalRefused,
			journal.RefundAsked:
		}
	}
	a.totals.WebhookFaults, a.totals.CallFaults = len(a.e.Webhooks), len(a.e.Faults)
	for _, f := range a.e.Faults {
		if f.Kind == AnswerLost || f.Kind == CallLost {
			a.totals.InDoubt++
		}
	}
}

func (a *audit) delivery(e journal.Entry) {
	a.totals.Deliveries++
	if e.Attempt > 1 {
		a.totals.Redeliveries++
	}
}

func (a *audit) count(b *books) {
	a.totals.Turns += len(b.turns)
	for _, in := range b.inbound {
		if in.kind == "message" {
			a.totals.MessagesIn++
		}
	}
	for _, out := range b.outbound {
		if out.kind == sendMessage {
			a.totals.MessagesOut += len(a.accepted[out.id])
			a.totals.Resent += out.resends
		}
	}
	a.countThreads(b)
}

func (a *audit) countThreads(b *books) {
	began := map[string]int64{} // versions by thread
	for _, t := range b.turns {
		if t.version > 0 && began[t.thread] == 0 {
			began[t.thread] = t.version
		}
	}
	for _, th := range b.threads {
		if th.actor != "customer" {
			continue
		}
		a.totals.Threads++
		if n := began[th.id]; n > 0 && n < th.version {
			a.totals.Carried++
		}
	}
	for _, bk := range b.bookings {
		if bk.paid > 0 {
			a.totals.PaidBookings++
		}
	}
}

// cutoff is how long before the end a webhook must have been posted first to be
// missed: the providers stop then, in the middle of what they do.
const cutoff = 2 * time.Second

// unacknowledged lists webhooks posted before an instant that never got a 200,
// a callback that was never posted among them.
func unacknowledged(entries []journal.Entry, before time.Time) []string {
	open := map[string]int{} // attempts so far, below 0 once there was a 200
	for _, e := range entries {
		kind := e.Kind
		switch kind {
		case journal.PromptEnded:
			if kind = journal.CallbackPost; e.Type == journal.Silent {
				continue
			}
		case journal.InboundPosted, journal.StatusPosted, journal.CallbackPost, journal.ReversalTold:
		case journal.SendAccepted, journal.SendRefused, journal.SendFailed, journal.MarkedRead, journal.PushAccepted,
			journal.PushRefused, journal.Queried, journal.CardPosted, journal.CardUpdated, journal.Whispered, journal.CardRefused, journal.TapPosted, journal.OrderAccepted,
			journal.OrderRefused, journal.OrderEnded, journal.NotifyPosted, journal.ReversalAsked, journal.ReversalRefused,
			journal.RefundAsked:
			continue
		}
		key := strings.TrimSpace(fmt.Sprintf("%s %s %s", kind, e.ID, e.Status))
		switch n, known := open[key]; {
		case !known && e.At.After(before):
		case e.HTTPStatus == http.StatusOK:
			open[key] = -1
		case n >= 0 && e.Kind != journal.PromptEnded:
			open[key] = n + 1
		default:
			open[key] = n
		}
	}
	var out []string
	for _, key := range slices.Sorted(maps.Keys(open)) {
		if n := open[key]; n >= 0 {
			out = append(out, fmt.Sprintf("%s: %d attempts", key, n))
		}
	}
	return out
}

// stamp writes an instant for a finding.
func stamp(t time.Time) string { return t.UTC().Format("15:04:05.000") }
