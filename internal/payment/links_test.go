package payment_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ratiba/ratiba/internal/money"
	"github.com/ratiba/ratiba/internal/payment"
)

// asked is what a status query of a rail with details says.
func asked(kind payment.Kind, receipt string) payment.Outcome {
	o := payment.Outcome{Kind: kind, MerchantID: "m-1", CheckoutID: "ws_1", Code: string(kind), Receipt: receipt}
	if kind == payment.Success {
		o.Amount = money.Major(1500, "KES")
	}
	return o
}

func TestALinkIsOfferedOnce(t *testing.T) {
	t.Parallel()
	o := payment.Outcome{Kind: payment.Offered, CheckoutID: "ws_1", Link: "https://pay.example/1"}
	a, told, changed := payment.Settle(link(payment.Prompted), o, payment.FromPrompt, sentAt)
	want := payment.Settled{AttemptID: "att-1", Subject: "booking-7", Kind: payment.Offered, Amount: money.Major(1500, "KES"), Link: o.Link}
	if !changed || told != want || a.Status != payment.Prompted {
		t.Errorf("told %+v, status %s", told, a.Status)
	}
	if _, _, again := payment.Settle(a, o, payment.FromPrompt, sentAt); again {
		t.Error("the link is offered twice")
	}
	if _, _, over := payment.Settle(link(payment.Failed), o, payment.FromPrompt, sentAt); over {
		t.Error("a link is offered that is no longer good")
	}
}

func TestMoneyThatTheProviderTookBack(t *testing.T) {
	t.Parallel()
	now := sentAt.Add(time.Hour)
	paid, _, _ := payment.Settle(link(payment.Prompted), asked(payment.Success, "P1"), payment.FromQuery, now)
	if paid.Status != payment.Succeeded || paid.Receipt != "P1" {
		t.Fatalf("a query with every detail settles: %+v", paid)
	}
	back, told, changed := payment.Settle(paid, asked(payment.Reversed, "P1"), payment.FromQuery, now)
	if !changed || back.Status != payment.TakenBack || told.Kind != payment.Reversed || told.Receipt != "P1" {
		t.Errorf("told %+v, status %s", told, back.Status)
	}
	if _, _, again := payment.Settle(back, asked(payment.Success, "P1"), payment.FromQuery, now); again {
		t.Error("old news brought the money back")
	}
	other, told, _ := payment.Settle(back, asked(payment.Success, "P2"), payment.FromQuery, now)
	if !told.Mismatch || other.Status != payment.TakenBack || len(other.Surplus) != 1 {
		t.Errorf("other money: told %+v, attempt %+v", told, other)
	}
	wrong := asked(payment.Success, "P3")
	wrong.Amount = money.Major(15, "KES")
	a, told, _ := payment.Settle(link(payment.Prompted), wrong, payment.FromQuery, now)
	if a.Status != payment.Mismatched || !told.Mismatch {
		t.Errorf("another sum settled as %s", a.Status)
	}
	dollars := asked(payment.Success, "P4")
	dollars.Amount.Currency = "USD"
	if a, _, _ = payment.Settle(link(payment.Prompted), dollars, payment.FromQuery, now); a.Status != payment.Mismatched {
		t.Errorf("another currency settled as %s", a.Status)
	}
}

// TestP8MoneyIsNotLostOnEitherRail: on a rail whose queries have every detail
// the order of answers does not matter either, a reversal being the last word.
func TestP8MoneyIsNotLostOnEitherRail(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		one := rapid.Custom(func(t *rapid.T) payment.Outcome {
			kind := rapid.SampledFrom([]payment.Kind{
				payment.Success, payment.Success, payment.OtherFailure, payment.Pending, payment.Reversed, payment.Offered,
			}).Draw(t, "kind")
			o := asked(kind, "")
			if kind == payment.Success {
				o.Receipt = rapid.SampledFrom([]string{"P1", "P1", "P2"}).Draw(t, "receipt")
				o.Amount = money.Major(rapid.SampledFrom([]int64{1500, 1500, 15}).Draw(t, "amount"), "KES")
			}
			o.Link = "https://pay.example/1"
			return o
		})
		list := rapid.SliceOfN(one, 1, 6).Draw(t, "answers")
		var took, came bool
		for _, o := range list {
			took, came = took || o.Kind == payment.Reversed, came || o.Kind == payment.Success
		}
		start := link(rapid.SampledFrom([]payment.Status{payment.Prompted, payment.UnknownClosed, payment.Failed}).Draw(t, "status"))
		settle := func(list []payment.Outcome) payment.Attempt {
			a := start
			for n, o := range list {
				next, told, changed := payment.Settle(a, o, payment.FromQuery, sentAt.Add(time.Duration(n)*time.Second))
				if changed == cmp.Equal(a, next) {
					t.Fatalf("changed = %v: before %+v, after %+v", changed, a, next)
				}
				if !changed && told != (payment.Settled{}) {
					t.Fatalf("nothing changed and %+v was told", told)
				}
				a = next
			}
			return a
		}
		first, second := settle(list), settle(rapid.Permutation(list).Draw(t, "order"))
		switch {
		case took && (first.Status != payment.TakenBack || second.Status != payment.TakenBack):
			t.Fatalf("reversed money is %s and %s", first.Status, second.Status)
		case !took && came && truthOf(first).Status != truthOf(second).Status:
			t.Fatalf("another order, another truth: %s and %s", first.Status, second.Status)
		}
		if diff := cmp.Diff(truthOf(first).Receipts, truthOf(second).Receipts); diff != "" {
			t.Fatalf("receipts differ by order:\n%s", diff)
		}
	})
}
