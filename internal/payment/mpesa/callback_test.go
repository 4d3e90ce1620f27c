package mpesa_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/money"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/payment/mpesa"
)

// callback writes a body in Daraja's form around a result and its items.
func callback(result, items string) string {
	metadata := ""
	if items != "" {
		metadata = `,"CallbackMetadata":{"Item":[` + items + `]}`
	}
	return `{"Body":{"stkCallback":{"MerchantRequestID":"8841-200-1","CheckoutRequestID":"ws_CO_0903",` +
		`"ResultCode":` + result + `,"ResultDesc":"words"` + metadata + `}}}`
}

func TestParseCallbackSuccess(t *testing.T) {
	t.Parallel()
	want := payment.Outcome{
		Kind: payment.Success, MerchantID: "8841-200-1", CheckoutID: "ws_CO_0903", Code: "0", Detail: "words",
		Receipt: "SCK81ABCDE", Amount: money.Major(3500, "KES"), Phone: "254711223344",
	}
	for _, r := range []struct{ name, result, items string }{
		{"numbers as numbers", `0`, `{"Name":"Amount","Value":3500},{"Name":"MpesaReceiptNumber","Value":"SCK81ABCDE"},{"Name":"TransactionDate","Value":20260309145900},{"Name":"PhoneNumber","Value":254711223344}`},
		{"numbers as strings", `"0"`, `{"Name":"Amount","Value":"3500.0"},{"Name":"MpesaReceiptNumber","Value":"SCK81ABCDE"},{"Name":"PhoneNumber","Value":"254711223344"}`},
		{"fractions of zero", `0`, `{"Name":"Amount","Value":3500.00},{"Name":"MpesaReceiptNumber","Value":"SCK81ABCDE"},{"Name":"PhoneNumber","Value":254711223344.0}`},
		{"exponents", `0`, `{"Name":"Amount","Value":3.5E3},{"Name":"MpesaReceiptNumber","Value":"SCK81ABCDE"},{"Name":"PhoneNumber","Value":2.54711223344E11}`},
		{"another order, an item without a value", `0`, `{"Name":"PhoneNumber","Value":254711223344},{"Name":"Balance"},{"Name":"MpesaReceiptNumber","Value":"SCK81ABCDE"},{"Name":"Amount","Value":3500}`},
		{"values of strange kinds beside", `0`, `{"Name":"Balance","Value":{"a":[1]}},{"Name":"Amount","Value":3500},{"Name":"MpesaReceiptNumber","Value":"SCK81ABCDE"},{"Name":"PhoneNumber","Value":254711223344},{"Name":"Later","Value":true},{"Name":"Null","Value":null}`},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			got, err := mpesa.ParseCallback([]byte(callback(r.result, r.items)))
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("err = %v, outcome (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestParseCallbackAmounts(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		value string
		want  money.Amount
	}{
		{`1`, money.Major(1, "KES")},
		{`1.5`, money.Amount{Minor: 150, Currency: "KES"}},
		{`"0.05"`, money.Amount{Minor: 5, Currency: "KES"}},
		{`1500.000`, money.Major(1500, "KES")},
		{`1500.001`, money.Amount{}},
		{`-1500`, money.Amount{}},
		{`"1,500"`, money.Amount{}},
		{`"KES 1500"`, money.Amount{}},
		{`99999999999999999999`, money.Amount{}},
		{`1e30`, money.Amount{}},
		{`"1e"`, money.Amount{}},
		{`".5"`, money.Amount{}},
		{`"1.x"`, money.Amount{}},
		{`""`, money.Amount{}},
		{`{}`, money.Amount{}},
	} {
		got, err := mpesa.ParseCallback([]byte(callback("0", `{"Name":"Amount","Value":`+r.value+`}`)))
		if err != nil || got.Amount != r.want {
			t.Errorf("amount %s = %+v, %v; want %+v", r.value, got.Amount, err, r.want)
		}
	}
}

func TestResultCodes(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]payment.Kind{
		"0": payment.Success, "1": payment.NoFunds, "2": payment.Limit, "3": payment.Limit, "4": payment.Limit,
		"8": payment.Limit, "17": payment.Busy, "1001": payment.Busy, "1019": payment.PromptExpired,
		"1025": payment.OtherFailure, "1032": payment.Declined, "1037": payment.TimedOut, "2001": payment.WrongPIN,
		"2028": payment.OtherFailure, "8006": payment.OtherFailure, "9999": payment.OtherFailure,
		`"SFC_J_C0003"`: payment.OtherFailure, `"1032"`: payment.Declined, `" 1037 "`: payment.TimedOut, "31337": payment.OtherFailure,
	} {
		got, err := mpesa.ParseCallback([]byte(callback(code, "")))
		if err != nil || got.Kind != want || got.Code != strings.Trim(code, `" `) {
			t.Errorf("code %s = %+v, %v; want %s", code, got, err, want)
		}
	}
}

func TestParseCallbackRefuses(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		name, body string
		want       fault.Code
	}{
		{"nothing", ``, fault.Invalid},
		{"half a body", `{"Body":{"stkCallback":{`, fault.Invalid},
		{"another body", `{"Result":{"ResultCode":0}}`, fault.Invalid},
		{"no result", `{"Body":{"stkCallback":{"CheckoutRequestID":"ws_1"}}}`, fault.Invalid},
		{"no prompt", `{"Body":{"stkCallback":{"ResultCode":0}}}`, fault.Invalid},
		{"a result of a strange kind", callback(`[0]`, ""), fault.Invalid},
		{"items of a strange kind", callback(`0`, `7`), fault.Invalid},
		{"a long body", callback(`0`, "") + strings.Repeat(" ", mpesa.MaxCallback), fault.TooLarge},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			if _, err := mpesa.ParseCallback([]byte(r.body)); fault.CodeOf(err) != r.want {
				t.Errorf("err = %v, want %s", err, r.want)
			}
		})
	}
}

func TestDetailIsBounded(t *testing.T) {
	t.Parallel()
	body := strings.Replace(callback("1", ""), "words", strings.Repeat("é", 300), 1)
	got, err := mpesa.ParseCallback([]byte(body))
	if err != nil || len(got.Detail) > 200 || !utf8.ValidString(got.Detail) {
		t.Errorf("detail of %d bytes, %v", len(got.Detail), err)
	}
}

func FuzzParseCallback(f *testing.F) {
	f.Add([]byte(callback("0", `{"Name":"Amount","Value":3500},{"Name":"MpesaReceiptNumber","Value":"SCK81ABCDE"},{"Name":"Balance"}`)))
	f.Add([]byte(callback(`"SFC_J_C0003"`, "")))
	f.Add([]byte(callback(`1032`, `{"Name":"Amount","Value":"1e99999"}`)))
	f.Add([]byte(`{"Body":{"stkCallback":null}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		o, err := mpesa.ParseCallback(body)
		if err != nil {
			if c := fault.CodeOf(err); c != fault.Invalid && c != fault.TooLarge {
				t.Errorf("err = %v", err)
			}
			return
		}
		if o.CheckoutID == "" || o.Code == "" || o.Kind == "" {
			t.Errorf("incomplete outcome %+v", o)
		}
		if o.Amount.Minor < 0 || o.Kind != payment.Success && (o.Receipt != "" || !o.Amount.IsZero()) {
			t.Errorf("impossible money in %+v", o)
		}
		for _, s := range []string{o.Code, o.Detail, o.Receipt, o.Phone, o.CheckoutID} {
			if len(s) > 200 || !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
				t.Errorf("unbounded or broken text %s", fmt.Sprintf("%.40q", s))
			}
		}
	})
}
