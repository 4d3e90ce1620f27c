package sendpaymentlink_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/app/booking/calendar"
	"github.com/ratiba/ratiba/internal/app/booking/desk/desktest"
	"github.com/ratiba/ratiba/internal/money"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/tool"
)

func linkArgs(s *desktest.Shop, attempt string, b calendar.Booking) calendar.PushPaymentArgs {
	return calendar.PushPaymentArgs{
		AttemptID: attempt, BookingID: b.ID, Amount: b.Deposit, Phone: "+254700000001", HoldUntil: s.Now.Add(20 * time.Minute),
	}
}

func TestALinkIsGoodAsLongAsTheSlotIsHeld(t *testing.T) {
	t.Parallel()
	s := desktest.New(t)
	b := s.Hold("asha", "B1", desktest.At(3, 10, 0))
	args := linkArgs(s, "A1", b)
	for range 2 { // the second time nothing more happens
		got := desktest.Must[calendar.Booking](s, "asha", calendar.SendPaymentLink, args)
		if got.Status != calendar.PendingPayment || !got.HoldUntil.Equal(args.HoldUntil) {
			t.Fatalf("booking: %+v", got)
		}
	}
	want := []payment.Attempt{{
		ID: "A1", Thread: "thread", ContactID: "asha", Subject: "B1", Provider: payment.Pesapal, Reference: "RTB-spa-A1", Account: "CODEB1",
		Amount: money.Major(1000, "KES"), Phone: "+254700000001", Status: payment.Created, CreatedAt: s.Now, Until: args.HoldUntil,
	}}
	if diff := cmp.Diff(want, s.Ledger.Attempts); diff != "" {
		t.Errorf("attempts (-want +got):\n%s", diff)
	}
	wantEffects := []tool.Effect{{
		Lane: "pesapal", Kind: payment.EffectPrompt, Key: "prompt:A1", Payload: payment.EffectPayload{AttemptID: "A1"}, Expires: args.HoldUntil,
	}}
	if diff := cmp.Diff(wantEffects, s.Effects); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
}

func TestOneLinkAtATimeAndNoneBesideAPrompt(t *testing.T) {
	t.Parallel()
	s := desktest.New(t)
	b := s.Hold("asha", "B1", desktest.At(3, 10, 0))
	desktest.Must[calendar.Booking](s, "asha", calendar.SendPaymentLink, linkArgs(s, "A1", b))
	desktest.Refused[calendar.Alternatives](s, "asha", calendar.SendPaymentLink, linkArgs(s, "A2", b), calendar.PromptLive)
	desktest.Must[calendar.Booking](s, "asha", calendar.PushPayment, linkArgs(s, "A3", b)) // who has a link may choose the phone
	s.Ledger.Attempts[0].Status = payment.Failed
	desktest.Refused[calendar.Alternatives](s, "asha", calendar.SendPaymentLink, linkArgs(s, "A4", b), calendar.PromptLive)
	s.Ledger.Attempts[1].Status = payment.Failed
	desktest.Must[calendar.Booking](s, "asha", calendar.SendPaymentLink, linkArgs(s, "A4", b)) // a link needs no pause
}
