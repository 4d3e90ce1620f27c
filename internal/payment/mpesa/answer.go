package mpesa

import (
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/ratiba/ratiba/internal/lenient"
	"github.com/ratiba/ratiba/internal/payment"
)

// Codes of Daraja's error object that are not told by the HTTP status.
const (
	codeProcessing = "500.001.1001" // the prompt is being worked on
	codeBusy       = "500.003.02"   // too many requests
	codeQuota      = "500.003.03"   // quota used up
)

// maxDetail bounds a text kept of Daraja, in bytes.
const maxDetail = 200

// str is a string that Daraja also writes as a number, without spaces around it.
type str string

// UnmarshalJSON implements json.Unmarshaler.
func (s *str) UnmarshalJSON(raw []byte) error {
	err := (*lenient.String)(s).UnmarshalJSON(raw)
	*s = str(strings.TrimSpace(string(*s)))
	return err
}

// bounded cuts a text of Daraja's at a rune's boundary.
func bounded(s str) string {
	v := string(s)
	if len(v) <= maxDetail {
		return v
	}
	end := maxDetail
	for end > 0 && !utf8.RuneStart(v[end]) {
		end--
	}
	return v[:end]
}

// wireAnswer is every answer of Daraja in one: token, acknowledgement, result of
// a query, error.
type wireAnswer struct {
	AccessToken         str `json:"access_token"`
	ExpiresIn           str `json:"expires_in"`
	MerchantID          str `json:"MerchantRequestID"`
	CheckoutID          str `json:"CheckoutRequestID"`
	ResponseCode        str `json:"ResponseCode"`
	ResponseDescription str `json:"ResponseDescription"`
	ResultCode          str `json:"ResultCode"`
	ResultDesc          str `json:"ResultDesc"`
	ConversationID      str `json:"ConversationID"`
	ErrorCode           str `json:"errorCode"`
	ErrorMessage        str `json:"errorMessage"`
}

type answer struct {
	status int
	body   wireAnswer
}

func (a answer) ok() bool { return a.status >= 200 && a.status < 300 && a.body.ErrorCode == "" }

// tokenRefused reports whether the token may be at fault. Documents disagree on
// the code, so every 4xx of the families in use counts; a fault of the request
// itself, 400.002.xx, does not.
func (a answer) tokenRefused() bool {
	if a.status == http.StatusUnauthorized || a.status == http.StatusForbidden {
		return true
	}
	code := string(a.body.ErrorCode)
	return a.status >= 400 && a.status < 500 &&
		(strings.HasPrefix(code, "400.003.") || strings.HasPrefix(code, "401.") || strings.HasPrefix(code, "404.001."))
}

// refusedBusy reports an answer by which Daraja says that it is too busy to take
// anything.
func (a answer) refusedBusy() bool {
	return a.body.ErrorCode == codeBusy || a.body.ErrorCode == codeQuota || a.status == http.StatusTooManyRequests
}

// refused reports whether Daraja said that it took nothing. A 4xx without a code
// may come from a proxy behind which the prompt went out, and a 5xx from a fault
// after acceptance: both are no refusal.
func (a answer) refused() bool {
	return a.refusedBusy() || a.tokenRefused() || a.status >= 400 && a.status < 500 && a.body.ErrorCode != ""
}

// rejection makes the error of a refused prompt.
func (a answer) rejection() *payment.RejectedError {
	code := bounded(a.body.ErrorCode)
	if code == "" {
		code = fmt.Sprintf("HTTP %d", a.status)
	}
	return &payment.RejectedError{
		Code:      code,
		Detail:    bounded(a.body.ErrorMessage),
		Transient: a.refusedBusy() || a.tokenRefused(),
	}
}

func (a answer) fault() error {
	return fmt.Errorf("daraja answered HTTP %d %s %s", a.status, bounded(a.body.ErrorCode), bounded(a.body.ErrorMessage))
}

// kindOf maps a result code. Codes 2, 3, 4 and 8 are not confirmed by Safaricom;
// sources disagree on 17, and both meanings call for a wait.
func kindOf(code string) payment.Kind {
	switch code {
	case "0":
		return payment.Success
	case "1":
		return payment.NoFunds
	case "2", "3", "4", "8": // below minimum, above maximum, daily limit, full account
		return payment.Limit
	case "17", "1001": // same prompt within two minutes; another session is open
		return payment.Busy
	case "1019":
		return payment.PromptExpired
	case "1032":
		return payment.Declined
	case "1037":
		return payment.TimedOut
	case "2001":
		return payment.WrongPIN
	case codeProcessing, "4999": // still being worked on; 4999 as seen by others, not confirmed
		return payment.Pending
	}
	return payment.OtherFailure // 1025, 2028, 8006, 9999, SFC_J_C0003 and what is not known
}
