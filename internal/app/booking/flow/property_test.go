package flow_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/money"
	"github.com/ratiba/ratiba/internal/payment"
)

// TestNothingSaidBreaksTheConversation sends what nobody would think of. The
// harness fails on a panic, an edge that is not declared, a text that lacks a
// fact or breaks a limit, and an irreversible call without a yes or a policy.
// Beside that, every payment is answered: confirmed, or given to a person.
func TestNothingSaidBreaksTheConversation(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		k := newTalk(t, rapid.SampledFrom([]string{"en", "sw"}).Draw(t, "lang"), &travelled{edges: map[string]bool{}, keys: map[string]bool{}})
		k.booked("b1", tuesday, "15:00", 1000)
		if rapid.Bool().Draw(t, "stranger") {
			k.name, k.payer = "", ""
		}
		for range rapid.IntRange(1, 14).Draw(t, "turns") {
			k.anything(t)
			k.now = k.now.Add(time.Duration(rapid.IntRange(0, 300).Draw(t, "seconds")) * time.Second)
		}
	})
}

// anything does one thing a customer, the provider or the clock may do.
func (k *talk) anything(t *rapid.T) {
	switch rapid.IntRange(0, 11).Draw(t, "what") {
	case 0, 1, 2: // goes along with what was asked
		k.anyTap(t)
	case 3, 4:
		k.yes()
	case 5:
		k.anyPayment(t)
	case 6:
		name := rapid.SampledFrom([]string{"hold", "prompt"}).Draw(t, "timer")
		if timer, ok := k.timers[name]; ok && !timer.At.IsZero() && !k.closed {
			k.rings(name)
		}
	case 7:
		k.event(rapid.SampledFrom([]string{"resume", "receipt_failed", "admin_action", "timer"}).Draw(t, "event"))
	case 8:
		tool := rapid.SampledFrom([]string{calendar.HoldSlot, calendar.PushPayment, calendar.ConfirmBooking, calendar.RescheduleBooking, calendar.CancelBooking}).Draw(t, "tool")
		code := rapid.SampledFrom([]string{
			calendar.SlotTaken, calendar.HoldExpired, calendar.Changed, calendar.PromptLive, calendar.PromptTooSoon, calendar.PolicyCutoff, "new_code",
		}).Draw(t, "code")
		k.world.refuse[tool] = refusal(t, code, nil)
	default:
		k.send(anyInput().Draw(t, "input"))
	}
}

func (k *talk) anyTap(t *rapid.T) {
	var offered []string
	for _, s := range k.last {
		for _, c := range s.choices {
			offered = append(offered, c.ID)
		}
	}
	offered = append(offered, "book", "my_bookings", "stop", "yes", "keep", "slot/1795000000/massage_90/grace", "to/x/y/z", "move/b1",
		"drop/b1", "show/b1", "on/9999-99-99", "at/25:00", "service/none", "nonsense")
	id := rapid.SampledFrom(offered).Draw(t, "tap")
	k.send(graph.Input{Choice: id, Confirmed: id == "yes" && k.pending != nil && !k.closed})
}

func (k *talk) anyPayment(t *rapid.T) {
	subject := []string{"b1", "01NOSUCH"}
	s := k.flowState()
	if s.Hold != nil {
		subject = append(subject, s.Hold.BookingID)
	}
	told := payment.Settled{
		Kind: rapid.SampledFrom([]payment.Kind{payment.Success, payment.Success, payment.TimedOut, payment.Declined}).Draw(t, "outcome"),
	}
	tasks := len(k.tasks)
	k.pays(func(p *payment.Settled) {
		p.Kind, p.Subject, p.Mismatch = told.Kind, rapid.SampledFrom(append(subject, s.Gone...)).Draw(t, "subject"), rapid.Bool().Draw(t, "mismatch")
		p.Amount, p.Receipt = money.Major(1000, "KES"), rapid.StringMatching(`[A-Z0-9]{10}`).Draw(t, "receipt")
		told = *p
	})
	if told.Kind != payment.Success || told.Mismatch {
		return
	}
	if len(k.tasks) == tasks && !slices.Contains(k.keys(), "confirmed.paid") {
		t.Errorf("a payment of %s ended in neither a booking nor a task: said %v", told.Amount, k.keys())
	}
}

func anyInput() *rapid.Generator[graph.Input] {
	return rapid.Custom(func(t *rapid.T) graph.Input {
		in := graph.Input{
			Text: rapid.String().Draw(t, "text"),
			Intent: rapid.SampledFrom([]graph.Intent{
				graph.Book, graph.Reschedule, graph.Cancel, graph.MyBookings, graph.Question, graph.Greeting, graph.Thanks, graph.Affirm,
				graph.Deny, graph.Human, graph.Complaint, graph.Feedback, graph.Unknown,
			}).Draw(t, "intent"),
			Confidence: rapid.Float64Range(0.01, 1).Draw(t, "confidence"),
			Answer:     rapid.SampledFrom([]graph.Answer{graph.NoAnswer, graph.NoAnswer, graph.Yes, graph.No}).Draw(t, "answer"),
			Number:     rapid.IntRange(-2, 14).Draw(t, "number"),
			Name:       rapid.SampledFrom([]string{"", "", "Otieno", " "}).Draw(t, "name"),
			Phone:      rapid.SampledFrom([]string{"", "", "+254711222333", "1"}).Draw(t, "phone"),
			AnyStaff:   rapid.Bool().Draw(t, "any"),
			Topic:      rapid.SampledFrom([]string{"", "price", "hours", "location", "services", "policy", "payment", "other", "?"}).Draw(t, "topic"),
		}
		if rapid.Bool().Draw(t, "when") {
			in.When = graph.When{
				Date:   rapid.SampledFrom([]string{"", sunday, monday, tuesday, christmas, "2020-01-01", "2031-01-01", "bad"}).Draw(t, "date"),
				DateTo: rapid.SampledFrom([]string{"", "", "2026-11-29", "2020-01-01", "bad"}).Draw(t, "date_to"),
				Time:   rapid.SampledFrom([]string{"", "15:00", "03:00", "23:59", "15:07", "bad"}).Draw(t, "time"),
				From:   rapid.SampledFrom([]string{"", "12:00", "22:00"}).Draw(t, "from"),
				To:     rapid.SampledFrom([]string{"", "17:00", "04:00"}).Draw(t, "to"),
				Fault:  rapid.SampledFrom([]string{"", "", "", "no_such_date", "past", "odd"}).Draw(t, "fault"),
			}
			if rapid.Bool().Draw(t, "ambiguous") {
				in.When.Options = []string{"03:00", "15:00"}
			}
		}
		if rapid.Bool().Draw(t, "entities") {
			in.Entities = map[string]graph.Entity{
				"service": {ID: rapid.SampledFrom([]string{"", "massage_60", "massage_90", "manicure", "none"}).Draw(t, "service"), Candidates: rapid.SampledFrom([][]string{nil, {"massage_60", "massage_90"}, {"none"}}).Draw(t, "candidates")},
				"staff":   {ID: rapid.SampledFrom([]string{"", "grace", "njeri", "nobody"}).Draw(t, "staff")},
			}
		}
		return in
	})
}
