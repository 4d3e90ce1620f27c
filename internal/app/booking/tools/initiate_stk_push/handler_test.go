package initiatestkpush_test

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

func pushArgs(s *desktest.Shop, attempt string, b calendar.Booking) calendar.PushPaymentArgs {
	return calendar.PushPaymentArgs{
		AttemptID: attempt, BookingID: b.ID, Amount: b.Deposit, Phone: "+254700000001", HoldUntil: s.Now.Add(20 * time.Minute),
	}
}

func TestAPromptIsStoredBeforeItIsSentAndKeepsTheSlot(t *testing.T) {
	t.Parallel()
	s := desktest.New(t)
	b := s.Hold("asha", "B1", desktest.At(3, 10, 0))
	args := pushArgs(s, "A1", b)
	for range 2 { // the second time nothing more happens
		got := desktest.Must[calendar.Booking](s, "asha", calendar.PushPayment, args)
		if got.Status != calendar.PendingPayment || !got.HoldUntil.Equal(args.HoldUntil) {
			t.Fatalf("booking: %+v", got)
		}
	}
	wantAttempts := []payment.Attempt{{
		ID: "A1", Thread: "thread", ContactID: "asha", Subject: "B1", Provider: "mpesa", Reference: "RTB-spa-A1", Account: "CODEB1",
		Amount: money.Major(1000, "KES"), Phone: "+254700000001", Status: payment.Created, CreatedAt: s.Now,
	}}
	if diff := cmp.Diff(wantAttempts, s.Ledger.Attempts); diff != "" {
		t.Errorf("attempts (-want +got):\n%s", diff)
	}
	wantEffects := []tool.Effect{{
		Lane: "mpesa", Kind: payment.EffectPrompt, Key: "prompt:A1", Payload: payment.EffectPayload{AttemptID: "A1"}, Expires: args.HoldUntil,
	}}
	if diff := cmp.Diff(wantEffects, s.Effects); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
}

func TestOnePromptAtATimeAndTwoMinutesBetween(t *testing.T) {
	t.Parallel()
	s := desktest.New(t)
	b := s.Hold("asha", "B1", desktest.At(3, 10, 0))
	desktest.Must[calendar.Booking](s, "asha", calendar.PushPayment, pushArgs(s, "A1", b))
	desktest.Refused[calendar.Alternatives](s, "asha", calendar.PushPayment, pushArgs(s, "A2", b), calendar.PromptLive)
	s.Ledger.Attempts[0].Status = payment.Failed
	wait := desktest.Refused[calendar.PromptWait](s, "asha", calendar.PushPayment, pushArgs(s, "A2", b), calendar.PromptTooSoon)
	if !wait.Until.Equal(s.Now.Add(2 * time.Minute)) {
		t.Fatalf("wait until %s", wait.Until)
	}
	s.Now = wait.Until
	desktest.Must[calendar.Booking](s, "asha", calendar.PushPayment, pushArgs(s, "A2", b))
	s.Ledger.Attempts[1].Status = payment.Withdrawn // never sent: no reason to wait
	desktest.Must[calendar.Booking](s, "asha", calendar.PushPayment, pushArgs(s, "A3", b))
}

func TestAPhoneHasOnePromptWhateverItIsFor(t *testing.T) {
	t.Parallel()
	s := desktest.New(t)
	first, second := s.Hold("asha", "B1", desktest.At(3, 10, 0)), s.Hold("asha", "B2", desktest.At(3, 14, 0))
	desktest.Must[calendar.Booking](s, "asha", calendar.PushPayment, pushArgs(s, "A1", first))
	s.Ledger.Attempts[0].Status, s.Ledger.Attempts[0].SentAt = payment.Prompted, s.Now.Add(20*time.Second)
	s.Now = s.Now.Add(time.Minute)
	wait := desktest.Refused[calendar.PromptWait](s, "asha", calendar.PushPayment, pushArgs(s, "A2", second), calendar.PromptTooSoon)
	if want := s.Ledger.Attempts[0].SentAt.Add(2 * time.Minute); !wait.Until.Equal(want) {
		t.Fatalf("wait until %s, want %s", wait.Until, want)
	}
	other := pushArgs(s, "A2", second)
	other.Phone = "+254700000002"
	desktest.Must[calendar.Booking](s, "asha", calendar.PushPayment, other)
	third := s.Hold("ben", "B3", desktest.At(4, 10, 0))
	s.Now = wait.Until // the first prompt has no word yet, but it is off the phone
	desktest.Must[calendar.Booking](s, "ben", calendar.PushPayment, pushArgs(s, "A3", third))
}

func TestOnlyWhatIsDueIsAskedForAndOnlyForAHold(t *testing.T) {
	t.Parallel()
	s := desktest.New(t)
	b := s.Hold("asha", "B1", desktest.At(3, 10, 0))
	wrong := pushArgs(s, "A1", b)
	wrong.Amount = money.Major(1, "KES")
	desktest.Refused[calendar.Alternatives](s, "asha", calendar.PushPayment, wrong, calendar.Changed)
	desktest.Refused[calendar.Alternatives](s, "eve", calendar.PushPayment, pushArgs(s, "A1", b), calendar.NoSuchBooking)
	done := s.Confirmed("ben", "B2", desktest.At(3, 14, 0))
	desktest.Refused[calendar.Alternatives](s, "ben", calendar.PushPayment, pushArgs(s, "A1", done), calendar.WrongState)

	s.Now = b.HoldUntil.Add(time.Second)
	s.Hold("eve", "B3", b.Start)
	alt := desktest.Refused[calendar.Alternatives](s, "asha", calendar.PushPayment, pushArgs(s, "A1", b), calendar.HoldExpired)
	if len(alt.Slots) == 0 {
		t.Fatal("no alternatives")
	}
	if len(s.Ledger.Attempts) != 0 || len(s.Effects) != 0 {
		t.Fatalf("a refused prompt left %v and %v", s.Ledger.Attempts, s.Effects)
	}
	other := desktest.Must[calendar.Booking](s, "ben", calendar.PushPayment, pushArgs(s, "A9", s.Hold("ben", "B4", desktest.At(3, 16, 0))))
	stolen := pushArgs(s, "A9", b)
	desktest.Refused[calendar.Alternatives](s, "asha", calendar.PushPayment, stolen, calendar.NoSuchBooking)
	if other.Status != calendar.PendingPayment {
		t.Fatalf("booking: %+v", other)
	}
}
