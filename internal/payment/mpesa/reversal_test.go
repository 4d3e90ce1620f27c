package mpesa_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/ratiba/ratiba/internal/fault"
	"github.com/ratiba/ratiba/internal/payment"
	"github.com/ratiba/ratiba/internal/payment/mpesa"
)

func TestResultsOfReversals(t *testing.T) {
	t.Parallel()
	const good = `{"Result":{"ResultType":0,"ResultCode":0,"ResultDesc":"ok","OriginatorConversationID":"1-2-1","ConversationID":"AG_1","TransactionID":"RV1"}}`
	o, err := mpesa.ParseReversal([]byte(good))
	if err != nil || o.Kind != payment.Success || o.Receipt != "RV1" || o.CheckoutID != "AG_1" {
		t.Errorf("%+v, %v", o, err)
	}
	for _, failed := range []string{`{"Result":{"ResultCode":2001,"ConversationID":"AG_1"}}`, `{"Result":{"ResultCode":"R000002"}}`} {
		if o, err := mpesa.ParseReversal([]byte(failed)); err != nil || o.Kind != payment.OtherFailure || o.Receipt != "" {
			t.Errorf("%s: %+v, %v", failed, o, err)
		}
	}
	for body, code := range map[string]fault.Code{
		"": fault.Invalid, "{}": fault.Invalid, `{"Result":{}}`: fault.Invalid, `{"Body":{"stkCallback":{"ResultCode":0}}}`: fault.Invalid,
		strings.Repeat("x", mpesa.MaxCallback+1): fault.TooLarge,
	} {
		if _, err := mpesa.ParseReversal([]byte(body)); fault.CodeOf(err) != code {
			t.Errorf("%.30q: %v", body, err)
		}
	}
}

func TestReversalsNeedAnInitiator(t *testing.T) {
	t.Parallel()
	c, err := mpesa.New(mpesa.Config{Shortcode: "600100", Passkey: "p", ConsumerKey: "k", ConsumerSecret: "s", HTTPClient: &http.Client{Transport: nobody{}}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Refund(t.Context(), payment.Return{Receipt: "R1"})
	if refused, ok := errors.AsType[*payment.RejectedError](err); !ok || refused.Transient {
		t.Errorf("without an initiator: %v", err)
	}
}

// nobody is a network without anybody on it.
type nobody struct{}

func (nobody) RoundTrip(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }
