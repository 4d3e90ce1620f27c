package refundpayment_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/desk/desktest"
	"github.com/ratiba/ratiba/internal/graph"
	"github.com/ratiba/ratiba/internal/money"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/tool"
)

// paid is a shop whose booking B1 of asha was paid by the receipt RB1.
func paid(t *testing.T) *desktest.Shop {
	t.Helper()
	s := desktest.New(t)
	s.Initiator = "ratiba"
	b := s.Confirmed("asha", "B1", desktest.At(3, 10, 0))
	s.Ledger.Attempts = []payment.Attempt{{
		ID: "A1", ContactID: "asha", Subject: b.ID, Provider: payment.Mpesa, Amount: b.Deposit, Status: payment.Succeeded, Receipt: "RB1",
	}}
	return s
}

var whole = money.Major(1000, "KES")

func TestAPaymentGoesBackOnce(t *testing.T) {
	t.Parallel()
	s := paid(t)
	args := calendar.RefundPaymentArgs{BookingID: "B1", Amount: whole, Reason: "cancelled"}
	desktest.Must[graph.Result](s, "asha", calendar.RefundPayment, args)
	if r := s.Ledger.Attempts[0].Refund; r == nil || r.Status != payment.RefundWanted || r.Amount != whole {
		t.Fatalf("refund: %+v", r)
	}
	want := []tool.Effect{{Lane: "mpesa", Kind: payment.EffectRefund, Key: "refund:A1", Payload: payment.EffectPayload{AttemptID: "A1"}}}
	if diff := cmp.Diff(want, s.Effects); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
	desktest.Refused[calendar.Alternatives](s, "asha", calendar.RefundPayment, args, calendar.CannotRefund)
	args.Receipt = "RB1"
	desktest.Refused[calendar.Alternatives](s, "asha", calendar.RefundPayment, args, calendar.CannotRefund)
}

func TestWhatAPersonMustReturn(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		name   string
		change func(s *desktest.Shop, a *calendar.RefundPaymentArgs)
		who    string
		code   string
	}{
		{"the business has no initiator", func(s *desktest.Shop, _ *calendar.RefundPaymentArgs) { s.Initiator = "" }, "asha", calendar.CannotRefund},
		{"nobody knows the receipt", func(_ *desktest.Shop, a *calendar.RefundPaymentArgs) { a.Receipt = "RX" }, "asha", calendar.CannotRefund},
		{"it is more than was paid", func(_ *desktest.Shop, a *calendar.RefundPaymentArgs) { a.Amount = money.Major(1001, "KES") }, "asha", calendar.CannotRefund},
		{"it is somebody else's booking", func(*desktest.Shop, *calendar.RefundPaymentArgs) {}, "eve", calendar.NoSuchBooking},
		{"it is somebody else's payment", func(_ *desktest.Shop, a *calendar.RefundPaymentArgs) { a.Receipt = "RB1" }, "eve", calendar.CannotRefund},
		{"the rail gives nothing back", func(s *desktest.Shop, _ *calendar.RefundPaymentArgs) { s.Ledger.Attempts[0].Provider = payment.Pesapal }, "asha", calendar.CannotRefund},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			s := paid(t)
			args := calendar.RefundPaymentArgs{BookingID: "B1", Amount: whole, Reason: "cancelled"}
			r.change(s, &args)
			desktest.Refused[calendar.Alternatives](s, r.who, calendar.RefundPayment, args, r.code)
			if s.Ledger.Attempts[0].Refund != nil || len(s.Effects) > 0 {
				t.Error("a refused refund left something behind")
			}
		})
	}
}
