package mpesa

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/money"
	"github.com/ratiba/ratiba/internal/payment"
)

// MaxCallback bounds a callback's body, in bytes. Daraja's own have under 1 KB.
const MaxCallback = 16 << 10

// ParseCallback reads the body of a callback. It is lenient in form (numbers or
// strings, items in any order, with or without values) and takes nothing on
// trust: payment.Settle compares what it says with the attempt. The error is a
// fault.Invalid or fault.TooLarge.
func ParseCallback(body []byte) (payment.Outcome, error) {
	if len(body) > MaxCallback {
		return payment.Outcome{}, fault.E(fault.TooLarge, "The callback is too long.")
	}
	var c struct {
		Body struct {
			Callback *struct {
				MerchantID str `json:"MerchantRequestID"`
				CheckoutID str `json:"CheckoutRequestID"`
				ResultCode str `json:"ResultCode"`
				ResultDesc str `json:"ResultDesc"`
				Metadata   struct {
					Items []item `json:"Item"`
				} `json:"CallbackMetadata"`
			} `json:"stkCallback"`
		} `json:"Body"`
	}
	if err := json.Unmarshal(body, &c); err != nil {
		return payment.Outcome{}, fault.Wrap(err, fault.Invalid, "The callback is not readable.")
	}
	cb := c.Body.Callback
	if cb == nil || cb.ResultCode == "" || cb.CheckoutID == "" {
		return payment.Outcome{}, fault.E(fault.Invalid, "The callback names no prompt or no result.")
	}
	o := payment.Outcome{
		Kind:       kindOf(string(cb.ResultCode)),
		MerchantID: bounded(cb.MerchantID),
		CheckoutID: bounded(cb.CheckoutID),
		Code:       bounded(cb.ResultCode),
		Detail:     bounded(cb.ResultDesc),
	}
	if o.Kind != payment.Success {
		return o, nil
	}
	for _, i := range cb.Metadata.Items {
		switch i.Name {
		case "Amount":
			o.Amount = shillings(string(i.Value))
		case "MpesaReceiptNumber":
			o.Receipt = bounded(i.Value)
		case "PhoneNumber":
			o.Phone = wholeNumber(bounded(i.Value))
		}
	}
	return o, nil
}

// item is an element of the metadata. A value of another form than a string or a
// number is as good as none.
type item struct {
	Name  string
	Value str
}

// UnmarshalJSON implements json.Unmarshaler.
func (i *item) UnmarshalJSON(raw []byte) error {
	var w struct {
		Name  str             `json:"Name"`
		Value json.RawMessage `json:"Value"`
	}
	if err := json.Unmarshal(raw, &w); err != nil {
		return err
	}
	i.Name = string(w.Name)
	if len(w.Value) > 0 && i.Value.UnmarshalJSON(w.Value) != nil {
		i.Value = ""
	}
	return nil
}

// plain writes a number without an exponent: 2.5471E11 becomes 254710000000.
func plain(s string) string {
	if !strings.ContainsAny(s, "eE") {
		return s
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f < 0 || f > 1e15 {
		return ""
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// shillings reads 3500, 3500.0 or 3500.50 exactly. What cannot be read is zero,
// which equals no amount that was asked for.
func shillings(s string) money.Amount {
	whole, cents, _ := strings.Cut(plain(s), ".")
	if len(whole) > 12 || !digits(whole) {
		return money.Amount{}
	}
	cents = strings.TrimRight(cents, "0")
	if len(cents) > 2 || cents != "" && !digits(cents) {
		return money.Amount{}
	}
	minor, err := strconv.ParseInt(whole+(cents + "00")[:2], 10, 64)
	if err != nil {
		return money.Amount{}
	}
	return money.Amount{Minor: minor, Currency: "KES"}
}

// wholeNumber drops the fraction that some clients add to a number.
func wholeNumber(s string) string {
	s = plain(s)
	if whole, zeros, found := strings.Cut(s, "."); found && strings.Trim(zeros, "0") == "" {
		return whole
	}
	return s
}
