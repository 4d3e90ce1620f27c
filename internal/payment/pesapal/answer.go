package pesapal

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ratiba/ratiba/internal/lenient"
	"github.com/ratiba/ratiba/internal/money"
	"github.com/ratiba/ratiba/internal/payment"
)

// maxDetail bounds a text kept of PesaPal, in bytes.
const maxDetail = 200

type str = lenient.String

// bounded cuts a text of PesaPal's at a rune's boundary.
func bounded(s str) string {
	v := strings.TrimSpace(string(s))
	if len(v) <= maxDetail {
		return v
	}
	end := maxDetail
	for end > 0 && !utf8.RuneStart(v[end]) {
		end--
	}
	return v[:end]
}

// wireAnswer is every answer of PesaPal in one: token, registration, order,
// status, refund.
type wireAnswer struct {
	Token          str `json:"token"`
	ExpiryDate     str `json:"expiryDate"`
	NotificationID str `json:"ipn_id"`
	TrackingID     str `json:"order_tracking_id"`
	Reference      str `json:"merchant_reference"`
	RedirectURL    str `json:"redirect_url"`
	Amount         str `json:"amount"`
	Currency       str `json:"currency"`
	Confirmation   str `json:"confirmation_code"`
	StatusCode     str `json:"status_code"`
	StatusText     str `json:"payment_status_description"`
	Description    str `json:"description"`
	Message        str `json:"message"`
	Status         str `json:"status"` // "200" when all is well
	Error          *struct {
		Type    str `json:"error_type"`
		Kind    str `json:"type"`
		Code    str `json:"code"`
		Message str `json:"message"`
	} `json:"error"`
}

type notification struct {
	URL str `json:"url"`
	ID  str `json:"ipn_id"`
}

type answer struct {
	status int
	body   wireAnswer
	list   []notification
}

// read takes an answer apart. What cannot be read says nothing.
func read(status int, text []byte) answer {
	ans := answer{status: status}
	if len(text) > maxAnswer {
		return ans
	}
	if json.Unmarshal(text, &ans.list) == nil {
		return ans
	}
	ans.list = nil
	if json.Unmarshal(text, &ans.body) != nil {
		ans.body = wireAnswer{}
	}
	return ans
}

// failed reports whether there is an error object that says something: one with
// nothing in it comes with good answers too.
func (b wireAnswer) failed() bool {
	return b.Error != nil && (b.Error.Code != "" || b.Error.Message != "" || b.Error.Type != "" || b.Error.Kind != "")
}

// ok reports whether PesaPal took the request. An error may come with HTTP 200.
func (a answer) ok() bool {
	return a.status >= 200 && a.status < 300 && !a.body.failed() && (a.body.Status == "" || a.body.Status == "200")
}

// rejection makes the error of a refused request.
func (a answer) rejection() *payment.RejectedError {
	r := &payment.RejectedError{
		Code: fmt.Sprintf("HTTP %d", a.status), Detail: bounded(a.body.Message),
		Transient: a.status >= 500 || a.status == http.StatusTooManyRequests || a.status == http.StatusUnauthorized,
	}
	if e := a.body.Error; e != nil {
		if e.Code != "" {
			r.Code = bounded(e.Code)
		}
		r.Detail = bounded(e.Message)
	}
	return r
}

func (a answer) fault() error {
	r := a.rejection()
	return fmt.Errorf("PesaPal answered HTTP %d %s %s", a.status, r.Code, r.Detail)
}

// kind is what a status means. The code counts; where it is missing the text
// does, whose case varies. INVALID is an order that nobody has tried to pay yet.
func (b wireAnswer) kind() (payment.Kind, bool) {
	what := strings.ToUpper(bounded(b.StatusCode))
	if what == "" {
		what = strings.ToUpper(bounded(b.StatusText))
	}
	switch what {
	case "0", "INVALID", "PENDING":
		return payment.Pending, true
	case "1", "COMPLETED":
		return payment.Success, true
	case "2", "FAILED":
		return payment.OtherFailure, true
	case "3", "REVERSED":
		return payment.Reversed, true
	}
	return "", false
}

// decimal writes an amount as PesaPal takes it: 1500.5 shillings are 1500.50.
func decimal(a money.Amount) string { return fmt.Sprintf("%d.%02d", a.Minor/100, a.Minor%100) }

// amount reads 1500, 1500.5 or 1500.50 exactly. What cannot be read is zero,
// which equals no amount that was asked for.
func amount(s, currency string) money.Amount {
	whole, cents, _ := strings.Cut(strings.TrimSpace(s), ".")
	cents = strings.TrimRight(cents, "0")
	if !digits(whole) || len(whole) > 12 || len(cents) > 2 || cents != "" && !digits(cents) {
		return money.Amount{Currency: currency}
	}
	minor, err := strconv.ParseInt(whole+(cents + "00")[:2], 10, 64)
	if err != nil {
		return money.Amount{Currency: currency}
	}
	return money.Amount{Minor: minor, Currency: strings.ToUpper(currency)}
}

func digits(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) < 0
}
