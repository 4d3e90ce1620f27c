package payment_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/money"
	"github.com/ratiba/ratiba/internal/payment"
)

func TestWhatDoesNotAddUp(t *testing.T) {
	t.Parallel()
	whole := money.Major(1500, "KES")
	entry := payment.Entry{Subject: "booking-7", Receipt: "R1", Paid: whole}
	other := entry
	other.Paid = money.Major(1, "KES")
	stranger := entry
	stranger.Receipt = "RX"
	credit := payment.Entry{Subject: "booking-8", Receipt: "R1", Paid: whole}
	bare := attempt(payment.Succeeded)
	bare.SettledAt = sentAt
	surplus := received(payment.Mpesa)
	surplus.Surplus = []string{"R2"}
	mismatched := received(payment.Mpesa)
	mismatched.Status = payment.Mismatched
	begun, _ := payment.BeginRefund(wanted(t, payment.Mpesa), "h", sentAt)
	failed, _, _ := payment.SettleRefund(begun, payment.Outcome{Kind: payment.OtherFailure}, sentAt)
	done, _, _ := payment.SettleRefund(begun, payment.Outcome{Kind: payment.Success}, sentAt)
	later := sentAt.Add(2 * time.Hour)
	for _, r := range []struct {
		name    string
		a       []payment.Attempt
		entries []payment.Entry
		known   map[string]payment.Attempt
		now     time.Time
		want    map[payment.Difference]string
	}{
		{"a payment and its booking", []payment.Attempt{received(payment.Mpesa)}, []payment.Entry{entry}, nil, later, nil},
		{"a payment used for another booking", []payment.Attempt{received(payment.Mpesa)}, []payment.Entry{credit}, nil, later, nil},
		{"a failure", []payment.Attempt{attempt(payment.Failed)}, nil, nil, later, nil},
		{"a prompt that is out", []payment.Attempt{attempt(payment.Prompted)}, nil, nil, sentAt.Add(5 * time.Minute), nil},
		{"a prompt that nobody gave up", []payment.Attempt{attempt(payment.Prompted)}, nil, nil, later, map[payment.Difference]string{payment.OpenTooLong: "open:att-1"}},
		{"a link that is still good", []payment.Attempt{link(payment.Prompted)}, nil, nil, sentAt.Add(20 * time.Minute), nil},
		{"one that was never sent", []payment.Attempt{attempt(payment.Created)}, nil, nil, later, map[payment.Difference]string{payment.OpenTooLong: "open:att-1"}},
		{"a payment without a booking", []payment.Attempt{received(payment.Mpesa)}, nil, nil, later, map[payment.Difference]string{payment.UnusedPayment: "refund:R1"}},
		{"one that has just come", []payment.Attempt{received(payment.Mpesa)}, nil, nil, sentAt.Add(time.Minute), nil},
		{"a booking without a payment", nil, []payment.Entry{stranger}, nil, later, map[payment.Difference]string{payment.UnknownPayment: "unknown_payment:booking-7"}},
		{"a booking paid long ago", nil, []payment.Entry{entry}, map[string]payment.Attempt{"R1": received(payment.Mpesa)}, later, nil},
		{"another sum", []payment.Attempt{received(payment.Mpesa)}, []payment.Entry{other}, nil, later, map[payment.Difference]string{payment.OtherAmount: "other_amount:booking-7"}},
		{"no receipt", []payment.Attempt{bare}, []payment.Entry{{Subject: "booking-7", Paid: whole}}, nil, later, map[payment.Difference]string{payment.NoReceipt: "receipt:att-1"}},
		{"money that does not fit", []payment.Attempt{mismatched}, nil, nil, later, map[payment.Difference]string{payment.PaymentMismatch: "mismatch:att-1"}},
		{"money twice", []payment.Attempt{surplus}, []payment.Entry{entry}, nil, later, map[payment.Difference]string{payment.SurplusPayment: "mismatch:att-1"}},
		{"a refund under way", []payment.Attempt{begun}, nil, nil, sentAt.Add(20 * time.Minute), nil},
		{"a refund without a word", []payment.Attempt{begun}, nil, nil, later, map[payment.Difference]string{payment.RefundOpen: "refund:R1"}},
		{"a refund that failed", []payment.Attempt{failed}, nil, nil, later, map[payment.Difference]string{payment.RefundMissing: "refund:R1"}},
		{"a refund that was made", []payment.Attempt{done}, nil, nil, later, nil},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			got := map[payment.Difference]string{}
			for _, d := range payment.Reconcile(r.a, r.entries, r.known, r.now) {
				got[d.What] = d.Key
				if d.Detail == "" || d.Subject == "" {
					t.Errorf("%+v says too little", d)
				}
			}
			if r.want == nil {
				r.want = map[payment.Difference]string{}
			}
			if diff := cmp.Diff(r.want, got); diff != "" {
				t.Errorf("disagreements (-want +got):\n%s", diff)
			}
		})
	}
}
