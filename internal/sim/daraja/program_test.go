package daraja_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ratiba/ratiba/internal/sim/daraja"
)

func TestProgrammedOutcomes(t *testing.T) {
	t.Parallel()
	for outcome, code := range map[string]float64{
		"success": 0, "cancelled": 1032, "timeout": 1037, "insufficient": 1, "wrong_pin": 2001, "expired": 1019,
	} {
		t.Run(outcome, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.ok("/sim/daraja/next", object{"phone": "+" + phone, "outcome": outcome, "delay_ms": 5, "deliveries": 2})
			taken := b.prompt()
			for range 2 {
				if got := b.callback(); got.Code != code || got.Checkout != taken.Checkout {
					t.Errorf("callback %+v, want code %v", got, code)
				}
			}
		})
	}
}

func TestTheCallbackCanTakeAnyShape(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ok("/sim/daraja/next", object{"outcome": "success", "shape": "strings", "amount": 1})
	b.prompt()
	got := b.callback()
	amount, _ := got.item("Amount")
	date, _ := got.item("TransactionDate")
	payer, _ := got.item("PhoneNumber")
	if got.Code != "0" || amount != "1" || date != "20260425120000" || payer != phone {
		t.Errorf("callback %+v, want strings and the amount 1", got)
	}
	b.ok("/sim/daraja/next", object{"shape": "no_balance"})
	b.prompt()
	_, _ = b.pin(object{"phone": phone, "pin": "1234"})
	if _, there := b.callback().item("Balance"); there {
		t.Error("Balance is there all the same")
	}
}

func TestTheCallbackCanBeatTheAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ok("/sim/daraja/next", object{"outcome": "success", "when": "before_response", "then": object{"outcome": "success", "delay_ms": 1}})
	taken := b.prompt()
	select {
	case <-b.callbacks:
	default:
		t.Fatal("the answer came before the callback")
	}
	if got := b.callback(); got.Checkout != taken.Checkout {
		t.Errorf("the second callback is %+v", got)
	}
}

func TestALostAnswerLeavesThePromptOnThePhone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ok("/sim/daraja/next", object{"lose_response": true})
	if code, err := b.do(http.MethodPost, "/daraja/mpesa/stkpush/v1/processrequest", b.request(), nil); err == nil {
		t.Fatalf("answered %d, want a broken connection", code)
	}
	if code, out := b.pin(object{"phone": phone, "pin": "1234"}); code != http.StatusOK || out.Result != 0 {
		t.Errorf("the PIN is answered %d %+v", code, out)
	}
	if got := b.callback(); got.Code != 0.0 {
		t.Errorf("callback %+v", got)
	}
}

func TestASuccessCanComeAfterATimeout(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ok("/sim/daraja/next", object{"outcome": "timeout", "then": object{"outcome": "success", "delay_ms": 5}})
	taken := b.prompt()
	first, second := b.callback(), b.callback()
	if first.Code != 1037.0 || second.Code != 0.0 || second.Checkout != taken.Checkout || second.Metadata == nil {
		t.Errorf("callbacks %+v and %+v", first, second)
	}
	if _, out := b.query(taken.Checkout); out["ResultCode"] != "0" {
		t.Errorf("a query answers %v", out)
	}
}

func TestQueriesCanDisagree(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ok("/sim/daraja/next", object{"outcome": "success", "query": "failed"})
	taken := b.prompt()
	b.callback()
	if code, out := b.query(taken.Checkout); code != http.StatusOK || out["ResultCode"] != "1032" {
		t.Errorf("a query answers %d %v, want 1032 for a paid prompt", code, out)
	}
	b.ok("/sim/daraja/next", object{"outcome": "success", "query": "processing"})
	taken = b.prompt()
	b.callback()
	if code, out := b.query(taken.Checkout); code != http.StatusInternalServerError || out["errorMessage"] != "The transaction is being processed" {
		t.Errorf("a query answers %d %v, want it processing", code, out)
	}
}

func TestACallbackCanBeLost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ok("/sim/daraja/next", object{"deliveries": 0})
	taken := b.prompt()
	if code, _ := b.pin(object{"phone": phone, "pin": "1234"}); code != http.StatusOK {
		t.Fatalf("the PIN is answered %d", code)
	}
	if _, out := b.query(taken.Checkout); out["ResultCode"] != "0" {
		t.Errorf("a query answers %v, want it paid", out)
	}
	b.ok("/sim/daraja/next", object{"outcome": "none"})
	silent := b.prompt()
	if code, _ := b.query(silent.Checkout); code != http.StatusInternalServerError {
		t.Errorf("a query answers %d, want it processing", code)
	}
	if code, out := b.pin(object{"phone": phone, "pin": "1234"}); code != http.StatusConflict {
		t.Errorf("a PIN for a programmed prompt: %d %+v, want 409", code, out)
	}
	b.clock.Add(60e9)
	if _, out := b.query(silent.Checkout); out["ResultCode"] != "1037" {
		t.Errorf("after its life a query answers %v, want 1037", out)
	}
	if len(b.callbacks) != 0 {
		t.Errorf("%d callbacks came, want none", len(b.callbacks))
	}
}

func TestAPushCanBeRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for code, status := range map[string]int{"500.003.02": 500, "500.003.03": 500, "503": 503, "400.002.02": 400} {
		b.ok("/sim/daraja/next", object{"refuse": code})
		if got, out := b.push(b.request()); got != status || out.ErrorCode != code {
			t.Errorf("refuse %s: %d %+v", code, got, out)
		}
	}
	b.prompt()
}

func TestTheSameAmountWithinTwoMinutesWhenAskedFor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ok("/sim/daraja/settings", object{"same_amount_window": true})
	b.prompt()
	_, _ = b.pin(object{"phone": phone, "cancel": true})
	b.callback()
	b.clock.Add(119e9)
	b.prompt()
	if got := b.callback(); got.Code != 17.0 {
		t.Errorf("within two minutes: %+v, want code 17", got)
	}
	b.clock.Add(120e9)
	b.prompt()
	if code, out := b.pin(object{"phone": phone, "pin": "1234"}); code != http.StatusOK || out.Result != 0 {
		t.Errorf("after two minutes: %d %+v, want it paid", code, out)
	}
}

func TestAProgramIsCheckedWhenItIsMade(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, body := range []string{
		``, `{"outcome":"lottery"}`, `{"outcome":"success","delay_ms":-1}`, `{"deliveries":-1}`, `{"deliveries":1000}`,
		`{"amount":-5}`, `{"shape":"round"}`, `{"when":"never"}`, `{"when":"before_response"}`, `{"query":"odd"}`, `{"times":-1}`,
		`{"then":{"outcome":"success"}}`, `{"outcome":"timeout","then":{"outcome":"none"}}`,
		`{"outcome":"timeout","then":{"outcome":"success","delay_ms":-1}}`,
	} {
		var out pinAnswer
		if code, _ := b.do(http.MethodPost, "/sim/daraja/next", body, &out); code != http.StatusBadRequest || out.Error.Message == "" {
			t.Errorf("%s: %d %+v, want 400 with a sentence", body, code, out)
		}
	}
}

func TestAPromptWhoseTextIsTooLongFails(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if err := b.sim.SetShortcodes([]daraja.Shortcode{{
		Shortcode: shortcode, Passkey: passkey, ConsumerKey: "key", ConsumerSecret: "secret", Name: strings.Repeat("Serenity ", 20),
	}}); err != nil {
		t.Fatal(err)
	}
	b.prompt()
	if got := b.callback(); got.Code != 1025.0 {
		t.Errorf("callback %+v, want 1025", got)
	}
}
