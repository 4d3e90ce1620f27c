// Package mpesa takes M-Pesa payments through Safaricom's Daraja: it puts
// prompts on phones (STK push), asks what became of them, and reads callbacks.
//
// A request to put a prompt is made at most once per call: Daraja knows no
// idempotency, so a lost answer is an error that is no RejectedError and the
// caller waits for the callback. Only a refused token is fetched anew and the
// request repeated, once. The package logs nothing, and no error of it holds a
// phone, an address or a key. It imports leaves and the contract payment.
package mpesa

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/ratiba/ratiba/internal/clock"
	"github.com/ratiba/ratiba/internal/payment"
)

// Addresses of Daraja.
const (
	LiveURL    = "https://api.safaricom.co.ke"
	SandboxURL = "https://sandbox.safaricom.co.ke"
)

// Limits of a prompt. Sources: Daraja's documentation of the STK push and of
// error 1025; transaction limit as of 2026.
const (
	MaxAccount     = 12      // characters of AccountReference
	MaxDescription = 13      // characters of TransactionDesc
	MaxShillings   = 250_000 // of one transaction
)

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 64 << 10

// Type is the kind of the business's M-Pesa number.
type Type string

// The kinds.
const (
	Paybill Type = "paybill"
	Till    Type = "till"
)

// Config is what a Client is made of.
type Config struct {
	BaseURL        string // LiveURL when empty
	Shortcode      string // the paybill, or the store number of a till; required
	Till           string // the till money goes to, when it differs from Shortcode
	Type           Type   // Paybill when empty
	Passkey        string // required, a secret
	ConsumerKey    string // required
	ConsumerSecret string // required, a secret
	// Initiator and SecurityCredential, a secret, give payments back; without them
	// none is.
	Initiator          string
	SecurityCredential string
	HTTPClient         *http.Client
	Clock              clock.Clock   // stamps the password and ends tokens; the machine's when nil
	Timeout            time.Duration // for one request, real time; 20 s
}

// Client implements payment.Gateway. It is safe for concurrent use.
type Client struct {
	cfg   Config
	http  *http.Client
	token tokens
}

var _ payment.Gateway = (*Client)(nil)

// New returns a client, or every fault of cfg at once.
func New(cfg Config) (*Client, error) {
	cfg.BaseURL = strings.TrimRight(cmp.Or(cfg.BaseURL, LiveURL), "/")
	cfg.Type = cmp.Or(cfg.Type, Paybill)
	cfg.Timeout = cmp.Or(cfg.Timeout, 20*time.Second)
	if cfg.Clock == nil {
		cfg.Clock = clock.Real{}
	}
	var faults []error
	if u, err := url.Parse(cfg.BaseURL); err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		faults = append(faults, errors.New("mpesa: BaseURL is not an http(s) address"))
	}
	if !digits(cfg.Shortcode) || cfg.Till != "" && !digits(cfg.Till) {
		faults = append(faults, errors.New("mpesa: Shortcode and Till are digits"))
	}
	if cfg.Passkey == "" || cfg.ConsumerKey == "" || cfg.ConsumerSecret == "" {
		faults = append(faults, errors.New("mpesa: Passkey, ConsumerKey and ConsumerSecret are required"))
	}
	if cfg.Type != Paybill && cfg.Type != Till {
		faults = append(faults, fmt.Errorf("mpesa: unknown Type %q; want paybill or till", cfg.Type))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	var h http.Client
	if cfg.HTTPClient != nil {
		h = *cfg.HTTPClient
	} else if t, ok := http.DefaultTransport.(*http.Transport); ok {
		h.Transport = t.Clone()
	}
	h.Timeout = 0
	// A redirect would carry the token to a host nobody chose.
	h.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{cfg: cfg, http: &h, token: newTokens()}, nil
}

func digits(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) < 0
}

// Prompt implements payment.Gateway. Beside what Daraja refuses, a prompt that
// breaks a limit and one that never reached Daraja are RejectedErrors: in each
// case nothing is on the phone.
func (c *Client) Prompt(ctx context.Context, p payment.Prompt) (payment.Accepted, error) {
	req, err := c.pushRequest(p)
	if err != nil {
		return payment.Accepted{}, err
	}
	ans, err := c.call(ctx, "/mpesa/stkpush/v1/processrequest", req)
	if err != nil {
		return payment.Accepted{}, err
	}
	switch {
	case ans.refused():
		return payment.Accepted{}, ans.rejection()
	case !ans.ok():
		return payment.Accepted{}, fmt.Errorf("prompt for payment: no clear answer: %w", ans.fault())
	case ans.body.ResponseCode == "0" && ans.body.CheckoutID != "":
		return payment.Accepted{MerchantID: string(ans.body.MerchantID), CheckoutID: string(ans.body.CheckoutID)}, nil
	case ans.body.ResponseCode != "" && ans.body.ResponseCode != "0":
		return payment.Accepted{}, &payment.RejectedError{
			Code: bounded(ans.body.ResponseCode), Detail: bounded(ans.body.ResponseDescription),
		}
	}
	return payment.Accepted{}, errors.New("prompt for payment: the answer names no prompt")
}

// Query implements payment.Gateway. A prompt still being worked on is Pending. A
// success carries no amount, receipt or phone: Daraja's answer has none.
func (c *Client) Query(ctx context.Context, checkoutID string) (payment.Outcome, error) {
	stamp, password := c.password()
	ans, err := c.call(ctx, "/mpesa/stkpushquery/v1/query", map[string]any{
		"BusinessShortCode": c.cfg.Shortcode,
		"Password":          password,
		"Timestamp":         stamp,
		"CheckoutRequestID": checkoutID,
	})
	if err != nil {
		return payment.Outcome{}, fmt.Errorf("query payment: %w", err)
	}
	switch {
	case ans.body.ErrorCode == codeProcessing:
		return payment.Outcome{Kind: payment.Pending, CheckoutID: checkoutID, Code: codeProcessing}, nil
	case !ans.ok():
		return payment.Outcome{}, fmt.Errorf("query payment: %w", ans.fault())
	case ans.body.ResultCode == "":
		return payment.Outcome{}, errors.New("query payment: the answer has no result")
	case ans.body.CheckoutID != "" && string(ans.body.CheckoutID) != checkoutID:
		return payment.Outcome{}, errors.New("query payment: the answer is about another prompt")
	}
	return payment.Outcome{
		Kind:       kindOf(string(ans.body.ResultCode)),
		MerchantID: string(ans.body.MerchantID),
		CheckoutID: checkoutID,
		Code:       bounded(ans.body.ResultCode),
		Detail:     bounded(ans.body.ResultDesc),
	}, nil
}

// pushRequest builds the prompt's request, or says which limit p breaks.
func (c *Client) pushRequest(p payment.Prompt) (map[string]any, error) {
	phone := strings.TrimPrefix(p.Phone, "+")
	callback, err := url.Parse(p.CallbackURL)
	reason := ""
	switch {
	case p.Amount.Currency != "KES":
		reason = "the amount is not in KES"
	case p.Amount.Minor <= 0 || p.Amount.Minor%100 != 0:
		reason = "the amount is not in whole shillings"
	case p.Amount.Minor/100 > MaxShillings:
		reason = fmt.Sprintf("the amount is over KES %d", MaxShillings)
	case !digits(phone) || len(phone) != 12 || !strings.HasPrefix(phone, "254"):
		reason = "the phone is not a Kenyan number"
	case p.Account == "" || utf8.RuneCountInString(p.Account) > MaxAccount:
		reason = fmt.Sprintf("the account reference is empty or over %d characters", MaxAccount)
	case p.Description == "" || utf8.RuneCountInString(p.Description) > MaxDescription:
		reason = fmt.Sprintf("the description is empty or over %d characters", MaxDescription)
	case err != nil || callback.Host == "":
		reason = "the callback address is not usable"
	}
	if reason != "" {
		return nil, &payment.RejectedError{Code: "limit", Detail: reason}
	}
	kind, receiver := "CustomerPayBillOnline", c.cfg.Shortcode
	if c.cfg.Type == Till {
		kind, receiver = "CustomerBuyGoodsOnline", cmp.Or(c.cfg.Till, c.cfg.Shortcode)
	}
	stamp, password := c.password()
	return map[string]any{
		"BusinessShortCode": c.cfg.Shortcode,
		"Password":          password,
		"Timestamp":         stamp,
		"TransactionType":   kind,
		"Amount":            p.Amount.Minor / 100,
		"PartyA":            phone,
		"PartyB":            receiver,
		"PhoneNumber":       phone,
		"CallBackURL":       p.CallbackURL,
		"AccountReference":  p.Account,
		"TransactionDesc":   p.Description,
	}, nil
}

// password returns Daraja's time stamp, in East Africa Time, and the password
// made with it.
func (c *Client) password() (stamp, password string) {
	stamp = c.cfg.Clock.Now().In(time.FixedZone("EAT", 3*60*60)).Format("20060102150405")
	return stamp, base64.StdEncoding.EncodeToString([]byte(c.cfg.Shortcode + c.cfg.Passkey + stamp))
}

// call posts body with a token. A 4xx that may mean a bad token fetches a new
// one and repeats the request once; Daraja's documents disagree on the code.
func (c *Client) call(ctx context.Context, path string, body any) (answer, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return answer{}, fmt.Errorf("write request: %w", err)
	}
	for refreshed := false; ; refreshed = true {
		token, fresh, err := c.bearer(ctx)
		if err != nil {
			return answer{}, err
		}
		ans, err := c.exchange(ctx, http.MethodPost, path, raw, func(r *http.Request) {
			r.Header.Set("Authorization", "Bearer "+token)
		})
		if err != nil || refreshed || fresh || !ans.tokenRefused() {
			return ans, err
		}
		c.token.drop(token)
	}
}

// exchange performs one request. The error is a transient RejectedError when no
// byte can have reached Daraja.
func (c *Client) exchange(ctx context.Context, method, path string, raw []byte, authorize func(*http.Request)) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	// A connection was handed out: from here on bytes may have left. The
	// transport asks for another one only when it knows that none did.
	var left atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { left.Store(false) },
		GotConn: func(httptrace.GotConnInfo) { left.Store(true) },
	})
	req, err := http.NewRequestWithContext(ctx, method, c.cfg.BaseURL+path, bytes.NewReader(raw))
	if err != nil {
		return answer{}, errors.New("mpesa: the request cannot be made")
	}
	req.Header.Set("Content-Type", "application/json")
	authorize(req)
	res, err := c.http.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // the wrapper's text holds the address
		}
		if !left.Load() {
			return answer{}, &payment.RejectedError{Code: "unreachable", Detail: "Daraja was not reached: " + err.Error(), Transient: true}
		}
		return answer{}, fmt.Errorf("no answer from Daraja: %w", err)
	}
	defer res.Body.Close() //nolint:errcheck // nothing follows from a failed close of a read body.
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return answer{}, fmt.Errorf("read Daraja's answer: %w", err)
	}
	ans := answer{status: res.StatusCode}
	if len(text) > maxAnswer || json.Unmarshal(text, &ans.body) != nil {
		ans.body = wireAnswer{} // what cannot be read says nothing
	}
	return ans, nil
}
