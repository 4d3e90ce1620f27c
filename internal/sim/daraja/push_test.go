package daraja_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/sim/daraja"
	"github.com/ratiba/ratiba/internal/sim/journal"
)

func TestAPromptIsPaidWithThePIN(t *testing.T) {
	t.Parallel()
	b := setup(t)
	taken := b.prompt()
	if !regexp.MustCompile(`^ws_CO_25042026120000[0-9]{3}700000101$`).MatchString(taken.Checkout) ||
		!regexp.MustCompile(`^[0-9]+-[0-9]+-1$`).MatchString(taken.Merchant) {
		t.Errorf("the push answered %+v", taken)
	}
	var prompts []object
	_, _ = b.do(http.MethodGet, "/sim/daraja/prompts?phone=0700000101", nil, &prompts)
	if len(prompts) != 1 || prompts[0]["id"] != taken.Checkout || prompts[0]["amount"] != 1750.0 || prompts[0]["phone"] != "+"+phone ||
		prompts[0]["text"] != "Do you want to pay KES 1,750 to Serenity Spa Account no. RTB4K7QX2M9A?" {
		t.Fatalf("the phone shows %v", prompts)
	}
	if code, out := b.query(taken.Checkout); code != http.StatusInternalServerError || out["errorCode"] != "500.001.1001" {
		t.Errorf("while it waits a query answers %d %v", code, out)
	}
	code, out := b.pin(object{"phone": "+" + phone, "pin": "1234"})
	if code != http.StatusOK || out.Result != 0 || out.Status != http.StatusOK || !regexp.MustCompile(`^UDP[0-9A-Z]{7}$`).MatchString(out.Receipt) {
		t.Fatalf("the PIN is answered %d %+v", code, out)
	}
	got := b.callback()
	if got.Checkout != taken.Checkout || got.Merchant != taken.Merchant || got.Code != 0.0 {
		t.Errorf("callback %+v", got)
	}
	want := []object{
		{"Name": "Amount", "Value": 1750.0},
		{"Name": "MpesaReceiptNumber", "Value": out.Receipt},
		{"Name": "Balance"},
		{"Name": "TransactionDate", "Value": 20260425120000.0},
		{"Name": "PhoneNumber", "Value": 254700000101.0},
	}
	if diff := cmp.Diff(want, got.Metadata.Item); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	if code, out := b.query(taken.Checkout); code != http.StatusOK || out["ResultCode"] != "0" || out["ResponseCode"] != "0" {
		t.Errorf("afterwards a query answers %d %v", code, out)
	}
	if code, out := b.pin(object{"phone": phone, "pin": "1234"}); code != http.StatusConflict || !strings.Contains(out.Error.Message, "already") {
		t.Errorf("the PIN a second time is answered %d %+v, want 409", code, out)
	}
	_, _ = b.do(http.MethodGet, "/sim/daraja/prompts", nil, &prompts)
	if len(prompts) != 0 {
		t.Errorf("the phone still shows %v", prompts)
	}
	_, _ = b.do(http.MethodGet, "/sim/daraja/prompts?all=true", nil, &prompts)
	if len(prompts) != 1 || prompts[0]["state"] != "ended" || prompts[0]["result_code"] != 0.0 {
		t.Errorf("all prompts: %v", prompts)
	}
}

func TestPINsThatDoNotPay(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		body object
		code float64
	}{
		{"0000 is wrong", object{"phone": phone, "pin": "0000"}, 2001},
		{"the payer declines", object{"phone": phone, "cancel": true}, 1032},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.prompt()
			if code, out := b.pin(tt.body); code != http.StatusOK || float64(out.Result) != tt.code || out.Receipt != "" {
				t.Errorf("answered %d %+v", code, out)
			}
			if got := b.callback(); got.Code != tt.code || got.Metadata != nil {
				t.Errorf("callback %+v, want code %v without metadata", got, tt.code)
			}
		})
	}
	b := setup(t)
	if code, out := b.pin(object{"phone": phone, "pin": "1234"}); code != http.StatusNotFound {
		t.Errorf("without a prompt: %d %+v, want 404", code, out)
	}
	for _, pin := range []string{"", "123", "12345", "12a4"} {
		if code, out := b.pin(object{"phone": phone, "pin": pin}); code != http.StatusBadRequest || out.Error.Message == "" {
			t.Errorf("PIN %q: %d %+v, want 400", pin, code, out)
		}
	}
}

func TestAPromptNobodyAnswersTimesOut(t *testing.T) {
	t.Parallel()
	b := setup(t)
	taken := b.prompt()
	b.clock.Add(time.Minute - time.Second)
	if n := b.sim.ExpireDue(); n != 0 {
		t.Errorf("a second before its time %d prompts ended", n)
	}
	b.clock.Add(time.Second)
	if n := b.sim.ExpireDue(); n != 1 {
		t.Errorf("at its time %d prompts ended, want 1", n)
	}
	if got := b.callback(); got.Code != 1037.0 || got.Checkout != taken.Checkout {
		t.Errorf("callback %+v, want 1037", got)
	}
	if code, out := b.query(taken.Checkout); code != http.StatusOK || out["ResultCode"] != "1037" {
		t.Errorf("a query answers %d %v", code, out)
	}
	if code, out := b.pin(object{"phone": phone, "pin": "1234"}); code != http.StatusConflict || !strings.Contains(out.Error.Message, "time") {
		t.Errorf("a late PIN is answered %d %+v, want 409", code, out)
	}
}

func TestAPushIsHeldToTheProvidersRules(t *testing.T) {
	t.Parallel()
	b := setup(t)
	old := b.clock.Now().Format("20060102150405") // UTC, three hours behind
	for _, tt := range []struct {
		name    string
		key     string
		value   any
		code    string
		message string
	}{
		{"another shortcode", "BusinessShortCode", "1", "400.002.02", "Business ShortCode"},
		{"a wrong password", "Password", "eA==", "500.001.1001", "Wrong credentials"},
		{"a timestamp that is no time", "Timestamp", "20261345000000", "400.002.02", "Timestamp"},
		{"a timestamp in UTC", "Timestamp", old, "400.002.02", "Timestamp"},
		{"no amount", "Amount", 0, "400.002.02", "Amount"},
		{"cents", "Amount", "10.50", "400.002.02", "Amount"},
		{"too much", "Amount", 250_001, "400.002.02", "Amount"},
		{"a local phone", "PhoneNumber", "0700000101", "400.002.02", "PhoneNumber"},
		{"a phone of another country", "PhoneNumber", "255700000101", "400.002.02", "PhoneNumber"},
		{"another payer", "PartyA", "x", "400.002.02", "PartyA"},
		{"another payee", "PartyB", "", "400.002.02", "PartyB"},
		{"an address that is none", "CallBackURL", "webhooks/daraja", "400.002.02", "CallBackURL"},
		{"a reference of 13 characters", "AccountReference", "1234567890123", "400.002.02", "AccountReference"},
		{"a description of 14 characters", "TransactionDesc", "12345678901234", "400.002.02", "TransactionDesc"},
		{"another type", "TransactionType", "Gift", "400.002.02", "TransactionType"},
		{"a password that is no string", "Password", 1, "400.002.05", "Payload"},
	} {
		body := b.request()
		body[tt.key] = tt.value
		code, out := b.push(body)
		if code == http.StatusOK || out.ErrorCode != tt.code || !strings.Contains(out.ErrorMessage, tt.message) || out.RequestID == "" {
			t.Errorf("%s: %d %+v, want %s about %s", tt.name, code, out, tt.code, tt.message)
		}
	}
	for _, raw := range []string{"", "{", "[]", "{} {}"} {
		if code, out := b.push(raw); code != http.StatusBadRequest || out.ErrorCode == "" {
			t.Errorf("%q: %d %+v, want 400", raw, code, out)
		}
	}
	body := b.request()
	body["Amount"], body["BusinessShortCode"] = "1750", 600981
	if code, out := b.push(body); code != http.StatusOK {
		t.Errorf("numbers and strings changed over: %d %+v, want it taken", code, out)
	}
	if code, out := b.push(b.request()); code != http.StatusInternalServerError || !strings.Contains(out.ErrorMessage, "lock subscriber") {
		t.Errorf("a second prompt on the phone: %d %+v, want it refused", code, out)
	}
}

func TestTokensExpire(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.clock.Add(3598 * time.Second)
	if code, out := b.query("ws_CO_1"); code != http.StatusBadRequest || out["errorCode"] != "400.002.02" {
		t.Errorf("an unknown prompt: %d %v", code, out)
	}
	b.clock.Add(time.Second)
	if code, out := b.push(b.request()); code != http.StatusNotFound || out.ErrorCode != "404.001.03" {
		t.Errorf("after its life: %d %+v, want 404.001.03", code, out)
	}
	b.login()
	b.ok("/sim/daraja/tokens/expire", object{})
	if code, out := b.push(b.request()); code != http.StatusNotFound || out.ErrorCode != "404.001.03" {
		t.Errorf("after being ended: %d %+v, want 404.001.03", code, out)
	}
	b.token = ""
	if code, out := b.push(b.request()); code != http.StatusNotFound || out.ErrorCode != "404.001.04" {
		t.Errorf("without a token: %d %+v, want 404.001.04", code, out)
	}
	for path, want := range map[string]string{
		"/daraja/oauth/v1/generate":                               "400.008.02",
		"/daraja/oauth/v1/generate?grant_type=client_credentials": "400.008.01",
	} {
		var out pushAnswer
		if code, _ := b.do(http.MethodGet, path, nil, &out); code != http.StatusBadRequest || out.ErrorCode != want {
			t.Errorf("%s: %d %+v, want %s", path, code, out, want)
		}
	}
}

func TestTheJournalTellsPromptAndCallback(t *testing.T) {
	t.Parallel()
	b := setup(t)
	taken := b.prompt()
	_, out := b.pin(object{"phone": phone, "pin": "1234"})
	b.callback()
	var kinds []journal.Kind
	for _, e := range b.journal.Since(0, "") {
		kinds = append(kinds, e.Kind)
		if e.ID != taken.Checkout || e.Amount != 1750 || e.Reference != "RTB4K7QX2M9A" || e.Kind == journal.CallbackPost && e.Receipt != out.Receipt {
			t.Errorf("entry %+v", e)
		}
	}
	if diff := cmp.Diff([]journal.Kind{journal.PushAccepted, journal.PromptEnded, journal.CallbackPost}, kinds); diff != "" {
		t.Errorf("journal (-want +got):\n%s", diff)
	}
}

func TestFaultsOfTheConfigurationAreAllNamed(t *testing.T) {
	t.Parallel()
	full := daraja.Shortcode{Shortcode: "600981", Passkey: "p", ConsumerKey: "k", ConsumerSecret: "s"}
	_, err := daraja.New(daraja.Config{Shortcodes: []daraja.Shortcode{{Shortcode: "x"}, {Shortcode: "1"}, full, full}})
	for _, want := range []string{"Clock", "Courier", "shortcode 1 must", "Passkey", "twice"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error %v does not name %s", err, want)
		}
	}
}
