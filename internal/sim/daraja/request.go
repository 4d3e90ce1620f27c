package daraja

import (
	"bytes"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"time"
	"unicode/utf8"
)

const (
	requestLimit   = 64 << 10 // bytes
	maxReference   = 12
	maxDescription = 13
	maxPromptText  = 182
	minAmount      = 1 // shillings
	maxAmount      = 250_000
	clockSlack     = time.Hour
)

var (
	payer = regexp.MustCompile(`^254(7|1)[0-9]{8}$`) // a mobile number of Kenya
	payee = regexp.MustCompile(`^[0-9]{5,7}$`)       // a pay bill or till number
)

// loose is a JSON string or number: Daraja takes either nearly everywhere.
type loose string

// UnmarshalJSON reads a string, or a number as it is written.
func (l *loose) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return err //nolint:wrapcheck // the caller names the field.
		}
		*l = loose(s)
		return nil
	}
	var n json.Number
	if err := json.Unmarshal(raw, &n); err != nil {
		return err //nolint:wrapcheck // the caller names the field.
	}
	*l = loose(n)
	return nil
}

// pushRequest is the body of processrequest.
type pushRequest struct {
	BusinessShortCode loose
	Password          string
	Timestamp         loose
	TransactionType   string
	Amount            loose
	PartyA            loose
	PartyB            loose
	PhoneNumber       loose
	CallBackURL       string
	AccountReference  string
	TransactionDesc   string
}

// queryRequest is the body of the status query.
type queryRequest struct {
	BusinessShortCode loose
	Password          string
	Timestamp         loose
	CheckoutRequestID string
}

func readBody(w http.ResponseWriter, r *http.Request, dst any) *apiError {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, requestLimit))
	if err != nil {
		return badRequest("Request")
	}
	return parse(raw, dst)
}

// parse reads a request body, which is one JSON object.
func parse(raw []byte, dst any) *apiError {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if err := dec.Decode(dst); err != nil {
		return &apiError{HTTP: http.StatusBadRequest, RequestID: newRequestID(), Code: "400.002.05", Message: "Invalid Request Payload"}
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return &apiError{HTTP: http.StatusBadRequest, RequestID: newRequestID(), Code: "400.002.05", Message: "Invalid Request Payload"}
	}
	return nil
}

// checkPassword checks shortcode, timestamp and password against each other.
// The timestamp must be East Africa Time by the product's or the machine's
// clock. Callers hold mu.
func (s *Simulator) checkPassword(code, timestamp, password, consumerKey string) (Shortcode, *apiError) {
	c, ok := s.shortcode(code)
	if !ok || c.ConsumerKey != consumerKey {
		return Shortcode{}, badRequest("Business ShortCode")
	}
	at, err := time.ParseInLocation("20060102150405", timestamp, eat())
	if err != nil || len(timestamp) != 14 || !near(at, s.clock.Now()) && !near(at, s.real.Now()) {
		return Shortcode{}, badRequest("Timestamp")
	}
	want := base64.StdEncoding.EncodeToString([]byte(code + c.Passkey + timestamp))
	if subtle.ConstantTimeCompare([]byte(want), []byte(password)) != 1 {
		return Shortcode{}, serverError("500.001.1001", "Wrong credentials")
	}
	return c, nil
}

func near(a, b time.Time) bool { return a.Sub(b).Abs() <= clockSlack }

// validate checks the rest of a push and returns the amount in shillings.
func (r *pushRequest) validate() (int64, *apiError) {
	amount, err := strconv.ParseInt(string(r.Amount), 10, 64)
	callback, urlErr := url.Parse(r.CallBackURL)
	switch {
	case r.TransactionType != "CustomerPayBillOnline" && r.TransactionType != "CustomerBuyGoodsOnline":
		return 0, badRequest("TransactionType")
	case err != nil || amount < minAmount || amount > maxAmount:
		return 0, badRequest("Amount")
	case !payer.MatchString(string(r.PartyA)):
		return 0, badRequest("PartyA")
	case !payer.MatchString(string(r.PhoneNumber)):
		return 0, badRequest("PhoneNumber")
	case !payee.MatchString(string(r.PartyB)):
		return 0, badRequest("PartyB")
	case urlErr != nil || callback.Host == "" || callback.Scheme != "https" && callback.Scheme != "http":
		return 0, badRequest("CallBackURL")
	case r.AccountReference == "" || utf8.RuneCountInString(r.AccountReference) > maxReference:
		return 0, badRequest("AccountReference")
	case r.TransactionDesc == "" || utf8.RuneCountInString(r.TransactionDesc) > maxDescription:
		return 0, badRequest("TransactionDesc")
	}
	return amount, nil
}
