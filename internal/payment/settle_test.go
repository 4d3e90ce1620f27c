package payment_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ratiba/ratiba/internal/money"
	"github.com/ratiba/ratiba/internal/payment"
)

var sentAt = time.Date(2026, 3, 9, 11, 30, 0, 0, time.UTC)

func attempt(status payment.Status) payment.Attempt {
	return payment.Attempt{
		ID: "att-1", Subject: "booking-7", Amount: money.Major(1500, "KES"), Phone: "+254711223344",
		MerchantID: "m-1", CheckoutID: "ws_1", Status: status, CreatedAt: sentAt, SentAt: sentAt,
	}
}

func paid(receipt string) payment.Outcome {
	return payment.Outcome{
		Kind: payment.Success, MerchantID: "m-1", CheckoutID: "ws_1", Code: "0",
		Receipt: receipt, Amount: money.Major(1500, "KES"), Phone: "254711223344",
	}
}

func failed(k payment.Kind) payment.Outcome {
	return payment.Outcome{Kind: k, CheckoutID: "ws_1", Code: "1"}
}

func TestSettle(t *testing.T) {
	t.Parallel()
	now := sentAt.Add(40 * time.Second)
	other := paid("R1")
	other.Amount = money.Major(1499, "KES")
	stranger := paid("R1")
	stranger.Phone = "0722000000"
	elsewhere := paid("R1")
	elsewhere.CheckoutID = "ws_2"
	queried := payment.Outcome{Kind: payment.Success, CheckoutID: "ws_1", Code: "0"}
	local := paid("R1")
	local.Phone = "0711223344"
	noReceipt := paid("")

	rows := []struct {
		name   string
		status payment.Status
		o      payment.Outcome
		from   payment.Source
		want   payment.Status
		told   payment.Settled // AttemptID and Subject are filled in where Kind is set
	}{
		{"a callback's success settles a prompt", payment.Prompted, paid("R1"), payment.FromCallback, payment.Succeeded, payment.Settled{Kind: payment.Success, Receipt: "R1", Amount: money.Major(1500, "KES")}},
		{"a success may come before the prompt's answer", payment.Sending, paid("R1"), payment.FromCallback, payment.Succeeded, payment.Settled{Kind: payment.Success, Receipt: "R1", Amount: money.Major(1500, "KES")}},
		{"a success may come after the answer was lost", payment.Unknown, paid("R1"), payment.FromCallback, payment.Succeeded, payment.Settled{Kind: payment.Success, Receipt: "R1", Amount: money.Major(1500, "KES")}},
		{"a success after a failure is late", payment.Failed, paid("R1"), payment.FromCallback, payment.Succeeded, payment.Settled{Kind: payment.Success, Receipt: "R1", Amount: money.Major(1500, "KES"), Late: true}},
		{"a success after closing is late", payment.UnknownClosed, paid("R1"), payment.FromCallback, payment.Succeeded, payment.Settled{Kind: payment.Success, Receipt: "R1", Amount: money.Major(1500, "KES"), Late: true}},
		{"a success after withdrawal is late", payment.Withdrawn, paid("R1"), payment.FromCallback, payment.Succeeded, payment.Settled{Kind: payment.Success, Receipt: "R1", Amount: money.Major(1500, "KES"), Late: true}},
		{"a payer written in local form is the same payer", payment.Prompted, local, payment.FromCallback, payment.Succeeded, payment.Settled{Kind: payment.Success, Receipt: "R1", Amount: money.Major(1500, "KES")}},
		{"another amount is a mismatch", payment.Prompted, other, payment.FromCallback, payment.Mismatched, payment.Settled{Kind: payment.Success, Receipt: "R1", Amount: money.Major(1499, "KES"), Mismatch: true}},
		{"another payer is a mismatch", payment.Prompted, stranger, payment.FromCallback, payment.Mismatched, payment.Settled{Kind: payment.Success, Receipt: "R1", Amount: money.Major(1500, "KES"), Mismatch: true}},
		{"another prompt's id is a mismatch", payment.Prompted, elsewhere, payment.FromCallback, payment.Mismatched, payment.Settled{Kind: payment.Success, Receipt: "R1", Amount: money.Major(1500, "KES"), Mismatch: true}},
		{"a success without a receipt is a mismatch", payment.Prompted, noReceipt, payment.FromCallback, payment.Mismatched, payment.Settled{Kind: payment.Success, Amount: money.Major(1500, "KES"), Mismatch: true}},
		{"a query's success settles a prompt", payment.Prompted, queried, payment.FromQuery, payment.Succeeded, payment.Settled{Kind: payment.Success, Amount: money.Major(1500, "KES")}},
		{"a bare success by callback proves nothing", payment.Prompted, queried, payment.FromCallback, payment.Mismatched, payment.Settled{Kind: payment.Success, Mismatch: true}},
		{"a query's success does not clear a mismatch", payment.Mismatched, queried, payment.FromQuery, payment.Mismatched, payment.Settled{}},
		{"a cancellation ends a prompt", payment.Prompted, failed(payment.Declined), payment.FromCallback, payment.Failed, payment.Settled{Kind: payment.Declined}},
		{"a refusal ends an attempt being sent", payment.Sending, payment.Outcome{Kind: payment.Rejected}, payment.FromPrompt, payment.Failed, payment.Settled{Kind: payment.Rejected}},
		{"a second failure changes nothing", payment.Failed, failed(payment.TimedOut), payment.FromQuery, payment.Failed, payment.Settled{}},
		{"a failure after a success is ignored", payment.Succeeded, failed(payment.OtherFailure), payment.FromCallback, payment.Succeeded, payment.Settled{}},
		{"a query's failure never turns a success", payment.Succeeded, failed(payment.OtherFailure), payment.FromQuery, payment.Succeeded, payment.Settled{}},
		{"a failure after a mismatch is ignored", payment.Mismatched, failed(payment.Declined), payment.FromCallback, payment.Mismatched, payment.Settled{}},
		{"a failure after closing is kept and not told", payment.UnknownClosed, failed(payment.Declined), payment.FromCallback, payment.Failed, payment.Settled{}},
		{"a failure after withdrawal is ignored", payment.Withdrawn, failed(payment.Declined), payment.FromCallback, payment.Withdrawn, payment.Settled{}},
		{"another prompt's failure is ignored", payment.Prompted, payment.Outcome{Kind: payment.Declined, CheckoutID: "ws_2"}, payment.FromCallback, payment.Prompted, payment.Settled{}},
		{"pending changes nothing", payment.Prompted, failed(payment.Pending), payment.FromQuery, payment.Prompted, payment.Settled{}},
		{"an unknown kind changes nothing", payment.Prompted, failed("odd"), payment.FromQuery, payment.Prompted, payment.Settled{}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			before := attempt(r.status)
			got, told, changed := payment.Settle(before, r.o, r.from, now)
			if r.told.Kind != "" {
				r.told.AttemptID, r.told.Subject = "att-1", "booking-7"
			}
			if diff := cmp.Diff(r.told, told); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
			if got.Status != r.want {
				t.Errorf("status = %s, want %s", got.Status, r.want)
			}
			if want := !cmp.Equal(before, got); changed != want {
				t.Errorf("changed = %v, want %v", changed, want)
			}
			if changed && !got.SettledAt.Equal(now) {
				t.Errorf("settled at %s, want %s", got.SettledAt, now)
			}
			again, told, changed := payment.Settle(got, r.o, r.from, now.Add(time.Second))
			if changed || told != (payment.Settled{}) || !cmp.Equal(got, again) {
				t.Errorf("the same outcome again changed the attempt: told %+v", told)
			}
		})
	}
}

func TestSecondPayment(t *testing.T) {
	t.Parallel()
	now := sentAt.Add(time.Minute)
	wrong := paid("R9")
	wrong.Amount = money.Major(2, "KES")

	t.Run("another receipt is kept to be given back", func(t *testing.T) {
		t.Parallel()
		a, _, _ := payment.Settle(attempt(payment.Prompted), paid("R1"), payment.FromCallback, now)
		a, told, changed := payment.Settle(a, paid("R2"), payment.FromCallback, now)
		if !changed || !told.Mismatch || told.Receipt != "R2" {
			t.Errorf("told %+v, changed %v; want a mismatch about R2", told, changed)
		}
		if a.Status != payment.Succeeded || a.Receipt != "R1" || !slices.Equal(a.Surplus, []string{"R2"}) {
			t.Errorf("attempt %+v, want it paid by R1 with R2 to give back", a)
		}
	})
	t.Run("the right payment after a wrong one settles late", func(t *testing.T) {
		t.Parallel()
		a, _, _ := payment.Settle(attempt(payment.Prompted), wrong, payment.FromCallback, now)
		a, told, _ := payment.Settle(a, paid("R1"), payment.FromCallback, now)
		if told.Mismatch || !told.Late || a.Status != payment.Succeeded || a.Receipt != "R1" || !slices.Equal(a.Surplus, []string{"R9"}) {
			t.Errorf("attempt %+v told %+v, want it paid late by R1 with R9 to give back", a, told)
		}
	})
	t.Run("a callback brings the receipt that the query had not", func(t *testing.T) {
		t.Parallel()
		q := payment.Outcome{Kind: payment.Success, CheckoutID: "ws_1"}
		a, _, _ := payment.Settle(attempt(payment.Prompted), q, payment.FromQuery, now)
		a, told, changed := payment.Settle(a, paid("R1"), payment.FromCallback, now.Add(time.Second))
		if !changed || told != (payment.Settled{}) || a.Receipt != "R1" || !a.SettledAt.Equal(now) {
			t.Errorf("attempt %+v told %+v changed %v, want the receipt and silence", a, told, changed)
		}
	})
	t.Run("a callback may show that the query's success was another sum", func(t *testing.T) {
		t.Parallel()
		q := payment.Outcome{Kind: payment.Success, CheckoutID: "ws_1"}
		a, _, _ := payment.Settle(attempt(payment.Prompted), q, payment.FromQuery, now)
		a, told, _ := payment.Settle(a, wrong, payment.FromCallback, now)
		if a.Status != payment.Mismatched || a.Receipt != "R9" || !told.Mismatch {
			t.Errorf("attempt %+v told %+v, want a mismatch", a, told)
		}
	})
	t.Run("the first callback of a lost prompt names its ids", func(t *testing.T) {
		t.Parallel()
		lost := attempt(payment.Unknown)
		lost.CheckoutID, lost.MerchantID = "", ""
		a, _, _ := payment.Settle(lost, paid("R1"), payment.FromCallback, now)
		if a.CheckoutID != "ws_1" || a.MerchantID != "m-1" {
			t.Errorf("ids %q %q, want those of the callback", a.CheckoutID, a.MerchantID)
		}
		a, _, _ = payment.Settle(lost, wrong, payment.FromCallback, now)
		if a.CheckoutID != "" {
			t.Errorf("a mismatch named the checkout id %q", a.CheckoutID)
		}
	})
}

// truth is what must not depend on the order of outcomes.
type truth struct {
	Status   payment.Status
	Receipts []string
}

func truthOf(a payment.Attempt) truth {
	out := truth{Status: a.Status}
	for _, r := range append([]string{a.Receipt}, a.Surplus...) {
		if r != "" {
			out.Receipts = append(out.Receipts, r)
		}
	}
	slices.Sort(out.Receipts)
	return out
}

type said struct {
	o    payment.Outcome
	from payment.Source
}

// outcomes draws what a provider, a forger and a broken sandbox may say about
// one prompt: everything at least once, some of it again.
func outcomes(t *rapid.T) []said {
	one := rapid.Custom(func(t *rapid.T) said {
		switch rapid.IntRange(0, 3).Draw(t, "what") {
		case 0:
			o := paid(rapid.SampledFrom([]string{"R1", "R2", ""}).Draw(t, "receipt"))
			o.Amount = money.Major(rapid.SampledFrom([]int64{1500, 1, 1501}).Draw(t, "shillings"), "KES")
			o.Phone = rapid.SampledFrom([]string{"254711223344", "0711223344", "254700000001", ""}).Draw(t, "phone")
			o.CheckoutID = rapid.SampledFrom([]string{"ws_1", "ws_1", "ws_2"}).Draw(t, "checkout")
			return said{o, payment.FromCallback}
		case 1:
			return said{payment.Outcome{Kind: payment.Success, CheckoutID: "ws_1"}, payment.FromQuery}
		}
		kind := rapid.SampledFrom([]payment.Kind{
			payment.Pending, payment.Declined, payment.WrongPIN, payment.NoFunds, payment.TimedOut, payment.OtherFailure,
		}).Draw(t, "kind")
		from := rapid.SampledFrom([]payment.Source{payment.FromCallback, payment.FromQuery}).Draw(t, "from")
		return said{failed(kind), from}
	})
	list := rapid.SliceOfN(one, 1, 6).Draw(t, "outcomes")
	return append(list, rapid.SliceOfN(rapid.SampledFrom(list), 0, 4).Draw(t, "again")...)
}

// TestP8MoneyIsNotLost: once a success is among the outcomes, every order and
// duplication of them ends in the same truth; every receipt that came is kept
// and was told exactly once; and nothing takes a success back.
func TestP8MoneyIsNotLost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := outcomes(t)
		shuffled := rapid.Permutation(list).Draw(t, "order")
		start := attempt(rapid.SampledFrom([]payment.Status{
			payment.Sending, payment.Prompted, payment.Unknown, payment.Failed, payment.Withdrawn, payment.UnknownClosed,
		}).Draw(t, "status"))

		success, proven := false, false
		for _, s := range list {
			fits := s.o.Amount == start.Amount && s.o.Receipt != "" && s.o.CheckoutID == "ws_1" &&
				(s.o.Phone == "" || payment.SamePhone(s.o.Phone, start.Phone))
			success = success || s.o.Kind == payment.Success
			proven = proven || s.from == payment.FromCallback && s.o.Kind == payment.Success && fits
		}
		first, second := run(t, start, list), run(t, start, shuffled)
		if !success {
			if first.Status == payment.Succeeded || first.Status == payment.Mismatched {
				t.Fatalf("no money came and the attempt is %s", first.Status)
			}
			return
		}
		if diff := cmp.Diff(truthOf(first), truthOf(second)); diff != "" {
			t.Fatalf("another order, another truth (-first +second):\n%s", diff)
		}
		if proven && first.Status != payment.Succeeded {
			t.Fatalf("the money asked for came and the attempt is %s", first.Status)
		}
		if want := receipts(list); !slices.Equal(want, truthOf(first).Receipts) {
			t.Fatalf("receipts %v came, %v were kept", want, truthOf(first).Receipts)
		}
	})
}

// run settles the outcomes in order and checks each step.
func run(t *rapid.T, a payment.Attempt, list []said) payment.Attempt {
	at := sentAt
	told := map[string]bool{}
	for _, s := range list {
		at = at.Add(time.Second)
		next, news, changed := payment.Settle(a, s.o, s.from, at)
		if changed == cmp.Equal(a, next) {
			t.Fatalf("changed = %v, but before %+v after %+v", changed, a, next)
		}
		if !changed && news != (payment.Settled{}) {
			t.Fatalf("nothing changed and %+v was told", news)
		}
		if a.Status == payment.Succeeded && next.Status != payment.Succeeded && a.Receipt != "" {
			t.Fatalf("a proven success became %s", next.Status)
		}
		moneyIn := func(st payment.Status) bool { return st == payment.Succeeded || st == payment.Mismatched }
		if moneyIn(a.Status) && !moneyIn(next.Status) {
			t.Fatalf("money was forgotten: %s became %s", a.Status, next.Status)
		}
		if news.Kind == payment.Success && news.Receipt != "" {
			told[news.Receipt] = true
		}
		a = next
		if again, news, changed := payment.Settle(a, s.o, s.from, at); changed || news.Kind != "" {
			t.Fatalf("the same outcome again made %+v and told %+v", again, news)
		}
	}
	for _, r := range truthOf(a).Receipts {
		// The receipt that follows a query's success is kept silently.
		if !told[r] && r != a.Receipt {
			t.Fatalf("receipt %s was kept and never told", r)
		}
	}
	return a
}

func receipts(list []said) []string {
	var out []string
	for _, s := range list {
		if s.o.Kind == payment.Success && s.o.Receipt != "" {
			out = append(out, s.o.Receipt)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func TestSamePhone(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		a, b string
		want bool
	}{
		{"+254711223344", "254711223344", true},
		{"+254711223344", "0711 223 344", true},
		{"+254711223344", "254711223345", false},
		{"+254711223344", "23344", false},
		{"", "", false},
	} {
		if got := payment.SamePhone(r.a, r.b); got != r.want {
			t.Errorf("SamePhone(%q, %q) = %v, want %v", r.a, r.b, got, r.want)
		}
	}
}
