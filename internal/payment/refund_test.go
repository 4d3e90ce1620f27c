package payment_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/money"
	"github.com/ratiba/ratiba/internal/payment"
)

// received is an attempt that money came for.
func received(rail payment.Rail) payment.Attempt {
	a, _, _ := payment.Settle(attempt(payment.Prompted), paid("R1"), payment.FromCallback, sentAt)
	a.Provider = rail
	return a
}

func wanted(t *testing.T, rail payment.Rail) payment.Attempt {
	t.Helper()
	a, err := payment.WantRefund(received(rail), money.Major(1500, "KES"), "cancelled", sentAt)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestWhatMayBeReturned(t *testing.T) {
	t.Parallel()
	whole := money.Major(1500, "KES")
	for _, r := range []struct {
		name   string
		a      payment.Attempt
		amount money.Amount
		ok     bool
	}{
		{"a payment", received(payment.Mpesa), whole, true},
		{"a part of it", received(payment.Mpesa), money.Major(100, "KES"), true},
		{"more than was paid", received(payment.Mpesa), money.Major(1501, "KES"), false},
		{"nothing", received(payment.Mpesa), money.Amount{Currency: "KES"}, false},
		{"another currency", received(payment.Mpesa), money.Major(1, "USD"), false},
		{"what was never paid", attempt(payment.Failed), whole, false},
		{"what goes back already", wanted(t, payment.Mpesa), whole, false},
	} {
		if _, err := payment.WantRefund(r.a, r.amount, "cancelled", sentAt); (err == nil) != r.ok || err != nil && fault.CodeOf(err) != fault.Conflict {
			t.Errorf("%s: %v", r.name, err)
		}
	}
}

func TestLifeOfARefund(t *testing.T) {
	t.Parallel()
	now := sentAt.Add(time.Hour)
	a, ok := payment.BeginRefund(wanted(t, payment.Mpesa), "hash", now)
	if !ok || a.Refund.Status != payment.RefundSending || a.RefundToken != "hash" {
		t.Fatalf("begun: %+v, %v", a.Refund, ok)
	}
	if _, again := payment.BeginRefund(a, "other", now); again {
		t.Error("a refund was begun twice")
	}
	if at := payment.NextCheck(a, now); !at.Equal(now.Add(30 * time.Minute)) {
		t.Errorf("looked at again at %s", at)
	}
	acked := payment.AcceptRefund(a, "AG_1", now)
	if acked.Refund.Status != payment.RefundAsked || acked.Refund.Conversation != "AG_1" || a.Refund.Status != payment.RefundSending {
		t.Errorf("acknowledged: %+v, before %+v", acked.Refund, a.Refund)
	}
	done, told, changed := payment.SettleRefund(acked, payment.Outcome{Kind: payment.Success, Receipt: "RV1"}, now)
	want := payment.Settled{AttemptID: "att-1", Subject: "booking-7", Kind: payment.Refunded, Amount: money.Major(1500, "KES"), Receipt: "RV1"}
	if !changed || told != want || done.Refund.Status != payment.RefundDone || done.Status != payment.Succeeded {
		t.Errorf("done: %+v, told %+v", done.Refund, told)
	}
	lost := payment.LoseRefund(a, now)
	if _, again := payment.BeginRefund(lost, "x", now); again || lost.Refund.Status != payment.RefundUnknown {
		t.Error("a refund whose acknowledgement was lost was begun again")
	}
	open, _, early := payment.CloseRefund(lost, now.Add(29*time.Minute))
	if early {
		t.Errorf("given up early: %+v", open.Refund)
	}
	closed, told, _ := payment.CloseRefund(lost, now.Add(30*time.Minute))
	if closed.Refund.Status != payment.RefundUnanswered || told.Kind != payment.NotRefunded || told.Receipt != "R1" {
		t.Errorf("given up: %+v, told %+v", closed.Refund, told)
	}
	if late, told, _ := payment.SettleRefund(closed, payment.Outcome{Kind: payment.Success}, now); late.Refund.Status != payment.RefundDone || told.Kind != payment.Refunded {
		t.Errorf("a late success: %+v, told %+v", late.Refund, told)
	}
}

func TestACardsRefundIsAskedAbout(t *testing.T) {
	t.Parallel()
	a, _ := payment.BeginRefund(wanted(t, payment.Pesapal), "hash", sentAt)
	a = payment.AcceptRefund(a, "P1", sentAt)
	if due, ask := payment.NextQuery(a, sentAt); !ask || !due.Equal(sentAt.Add(12*time.Hour)) {
		t.Fatalf("asked about at %s, %v", due, ask)
	}
	if told, ok := payment.Nudge(a, sentAt.Add(time.Minute)); !ok || !told.AskAt.Equal(sentAt.Add(time.Minute)) {
		t.Errorf("news of it are asked for at %s, %v", told.AskAt, ok)
	}
	a = payment.Asked(a, sentAt.Add(12*time.Hour))
	if due, ask := payment.NextQuery(a, sentAt.Add(12*time.Hour)); !ask || !due.Equal(sentAt.Add(24*time.Hour)) {
		t.Errorf("and again at %s, %v", due, ask)
	}
	done, told, _ := payment.Settle(a, payment.Outcome{Kind: payment.Reversed, CheckoutID: "ws_1"}, payment.FromQuery, sentAt)
	if done.Refund.Status != payment.RefundDone || told.Kind != payment.Refunded || done.Status != payment.Succeeded {
		t.Errorf("its reversal: %+v, told %+v", done.Refund, told)
	}
	if _, _, again := payment.Settle(done, payment.Outcome{Kind: payment.Reversed, CheckoutID: "ws_1"}, payment.FromQuery, sentAt); again {
		t.Error("the reversal was told twice")
	}
}

// TestP6ARefundIsAskedForOnce: whatever is heard in whatever order, and however
// often a carrier dies, the provider is asked once, and the end is told once.
func TestP6ARefundIsAskedForOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, err := payment.WantRefund(received(payment.Mpesa), money.Major(1500, "KES"), "cancelled", sentAt)
		if err != nil {
			t.Fatal(err)
		}
		asked, returned, now := 0, 0, sentAt
		for range rapid.IntRange(1, 12).Draw(t, "events") {
			now = now.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "minutes")) * time.Minute)
			before := a
			var told payment.Settled
			var changed bool
			switch rapid.IntRange(0, 5).Draw(t, "event") {
			case 0:
				var begun bool
				if a, begun = payment.BeginRefund(a, "hash", now); begun {
					asked++
				}
				continue
			case 1:
				a = payment.AcceptRefund(a, "AG", now)
				continue
			case 2:
				a = payment.LoseRefund(a, now)
				continue
			case 3:
				kind := rapid.SampledFrom([]payment.Kind{payment.Success, payment.OtherFailure, payment.TimedOut, payment.Rejected}).Draw(t, "kind")
				if before.Refund.Status == payment.RefundWanted {
					continue // nobody was asked yet
				}
				a, told, changed = payment.SettleRefund(a, payment.Outcome{Kind: kind}, now)
			case 4:
				a, told, changed = payment.CloseRefund(a, now)
			case 5:
				if _, err := payment.WantRefund(a, money.Major(1, "KES"), "again", now); err == nil {
					t.Fatal("a second refund was decided")
				}
				continue
			}
			if changed == cmp.Equal(before, a) || !changed && told != (payment.Settled{}) {
				t.Fatalf("changed %v, told %+v: %+v became %+v", changed, told, before.Refund, a.Refund)
			}
			if before.Refund.Status == payment.RefundDone && changed {
				t.Fatal("a refund that was made was unmade")
			}
			if told.Kind == payment.Refunded {
				returned++
			}
		}
		if asked > 1 || returned > 1 {
			t.Fatalf("asked %d times, told %d times that it was made", asked, returned)
		}
	})
}
